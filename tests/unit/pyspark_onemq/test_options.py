"""Options of a read: what is taken, and the one sentence for what is not."""

from typing import Any

import pytest

from onemq.errors import InvalidArgument
from pyspark_onemq.columns import table_schema
from pyspark_onemq.options import Bound, Topics, check_kind, read_options


def read(**options: str) -> Any:
    return read_options({"subscribe": "orders"} | options)


def test_names_are_taken_in_any_case() -> None:
    options = read(STARTINGOFFSETS="Earliest", maxoffsetspertrigger="10", IncludeHeaders="TRUE")
    assert (options.start, options.offsets_per_trigger_max, options.with_headers) == (Bound("earliest"), 10, True)


def test_defaults_are_those_of_sparks_kafka_source() -> None:
    options = read()
    assert options.starting("latest") == Bound("latest")
    assert options.starting("earliest") == Bound("earliest")
    assert options.fail_on_data_loss
    assert not options.with_headers
    assert options.server.servers == "localhost:6379"


def test_topics_are_named_listed_or_assigned() -> None:
    assert read(subscribe=" orders, payments,orders ").topics == Topics(names=("orders", "payments"))
    assert read_options({"subscribePattern": "ord.*"}).topics == Topics(pattern="ord.*")
    assert read_options({"assign": '{"orders": [1, 0]}'}).topics == Topics(assigned=(("orders", (0, 1)),))


def test_offsets_are_json_by_hand_or_from_a_checkpoint() -> None:
    assert read(startingOffsets='{"orders": {"0": 5, "1": -2}}').start == Bound(offsets={"orders": {0: 5, 1: -2}})
    checkpoint = '{"orders": {"id": 3, "partitions": {"0": 5}}}'
    assert read(startingOffsets=checkpoint).start == Bound(offsets={"orders": {0: 5}})
    assert read(endingOffsets='{"orders": {"0": -1}}').end == Bound(offsets={"orders": {0: -1}})


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "which topics? name them with the option subscribe"),
        ({"subscrib": "orders"}, "no option subscrib for reading with onemq: did you mean subscribe?"),
        ({"subscribe": "a", "startingoffset": "latest"}, "did you mean startingOffsets?"),
        ({"subscribe": "a", "kafka.bootstrap.servers": "b:1"}, "did you mean servers?"),
        ({"topic": "a"}, "did you mean subscribe?"),
        ({"subscribe": "a", "taste": "sweet"}, "there is no option taste for reading with onemq; there are servers"),
        ({"subscribe": "a", "assign": '{"a": [0]}'}, "subscribe and assign contradict each other"),
        ({"subscribe": " , "}, "names no topic"),
        ({"subscribe": " "}, "the option subscribe is empty"),
        ({"subscribePattern": "a("}, "'a(' is no regular expression"),
        ({"assign": '{"a": 0}'}, 'assign is JSON such as {"orders": [0, 1]}'),
        ({"assign": "a"}, "assign is JSON"),
        ({"subscribe": "a", "startingOffsets": "first"}, 'startingOffsets is "earliest" or "latest", or JSON'),
        ({"subscribe": "a", "startingOffsets": '{"a": {"0": "x"}}'}, "startingOffsets is"),
        ({"subscribe": "a", "startingOffsets": '{"a": {"0": -3}}'}, "startingOffsets is"),
        ({"subscribe": "a", "endingOffsets": "earliest"}, 'endingOffsets is "latest", or JSON'),
        ({"subscribe": "a", "endingOffsets": '{"a": {"0": -2}}'}, "endingOffsets is"),
        ({"subscribe": "a", "startingOffsets": "latest", "startingTimestamp": "1"}, "contradict each other"),
        ({"subscribe": "a", "startingTimestamp": "yesterday"}, "startingTimestamp is in milliseconds since 1970"),
        ({"subscribe": "a", "maxOffsetsPerTrigger": "0"}, "maxOffsetsPerTrigger is a number from 1 on, not '0'"),
        ({"subscribe": "a", "minPartitions": "two"}, "minPartitions is a number from 1 on, not 'two'"),
        ({"subscribe": "a", "failOnDataLoss": "no"}, "failOnDataLoss is \"true\" or \"false\", not 'no'"),
        ({"subscribe": "a", "user": "me"}, "the option user needs the option password"),
        ({"subscribe": "a", "group": ""}, "the option group is empty"),
    ],
)
def test_a_mistake_is_told_in_one_sentence(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        read_options(options)
    assert sentence in caught.value.text
    assert "\n" not in caught.value.text


@pytest.mark.parametrize(
    ("options", "is_stream", "sentence"),
    [
        ({"endingOffsets": "latest"}, True, "endingOffsets is for a batch read, and this is a stream read"),
        ({"endingTimestamp": "5"}, True, "endingTimestamp is for a batch read"),
        ({"maxoffsetspertrigger": "5"}, False, "maxOffsetsPerTrigger is for a stream read, and this is a batch read"),
        ({"group": "spark"}, False, "group is for a stream read"),
        ({"startingOffsets": "latest"}, False, "leaves nothing for a batch read"),
    ],
)
def test_options_of_the_other_kind_of_read_are_refused(
    options: dict[str, str], is_stream: bool, sentence: str
) -> None:
    with pytest.raises(InvalidArgument, match=sentence):
        check_kind(options, is_stream)


def test_columns_are_those_of_the_kafka_source_and_id_and_tag() -> None:
    names = ["key", "value", "topic", "partition", "offset", "timestamp", "id", "tag"]
    assert table_schema(read()).fieldNames() == names
    assert table_schema(read(includeHeaders="true")).fieldNames() == [*names, "headers"]


def test_fewer_columns_can_be_asked_for() -> None:
    assert table_schema(read(columns="offset, value")).fieldNames() == ["value", "offset"]
    with pytest.raises(InvalidArgument, match="there is no column price: columns are key"):
        table_schema(read(columns="price"))
    with pytest.raises(InvalidArgument, match="it needs includeHeaders=true"):
        table_schema(read(columns="headers"))


def test_fields_of_bodies_stand_in_place_of_the_value_and_win_a_name() -> None:
    schema = table_schema(read(schema="id BIGINT, name STRING", columns="value,id,offset"))
    assert schema.fieldNames() == ["id", "name", "offset", "_id"]
    with pytest.raises(InvalidArgument, match="which the option columns leaves out"):
        table_schema(read(schema="id BIGINT", columns="offset"))
