"""Batch reads of the data source `onemq` on local[2]."""

import time

import pytest
from pyspark.errors import AnalysisException

from pyspark_onemq.connection import Connection
from tests.process import free_port
from tests.spark.source import Source, send, values


def test_rows_are_the_messages_with_all_that_belongs_to_them(source: Source, connection: Connection) -> None:
    connection.call("MQ.TOPIC", "CREATE", "orders", "PARTITIONS", 2)
    send(connection, "orders", range(3), "PARTITION", 0)
    sent = connection.call(
        "MQ.SEND", "orders", "paid", "PARTITION", 1, "KEY", "k1", "TAG", "paid", "HEADER", "shop", "web"
    )
    rows = source.read(subscribe="orders", includeHeaders="true").collect()
    assert values(rows) == ["0", "1", "2", "paid"]
    paid = next(row for row in rows if row["partition"] == 1)
    assert (paid["key"], paid["topic"], paid["offset"], paid["tag"]) == (b"k1", "orders", 0, "paid")
    assert paid["id"] == sent["id"].decode()
    assert [tuple(each) for each in paid["headers"]] == [("shop", b"web")]
    assert abs(paid["timestamp"].timestamp() - time.time()) < 600
    plain = min(rows, key=lambda row: (row["partition"], row["offset"]))
    assert (plain["key"], plain["tag"], plain["headers"], plain["offset"]) == (None, None, [], 0)


def test_one_partition_is_read_by_many_tasks(source: Source, connection: Connection) -> None:
    send(connection, "long", range(100))
    frame = source.read(subscribe="long", minPartitions="4", columns="value,offset")
    assert frame.rdd.getNumPartitions() == 4
    assert frame.columns == ["value", "offset"]
    assert {row["offset"]: row["value"] for row in frame.collect()} == {n: str(n).encode() for n in range(100)}


def test_offsets_and_times_bound_what_is_read(source: Source, connection: Connection) -> None:
    connection.call("MQ.TOPIC", "CREATE", "parts", "PARTITIONS", 2)
    send(connection, "parts", range(10), "PARTITION", 0)
    send(connection, "parts", range(10, 20), "PARTITION", 1)
    part = source.read(
        subscribe="parts", startingOffsets='{"parts": {"0": 4, "1": -2}}', endingOffsets='{"parts": {"0": -1, "1": 3}}'
    )
    assert values(part.collect()) == sorted(["4", "5", "6", "7", "8", "9", "10", "11", "12"])


def test_times_bound_what_is_read(source: Source, connection: Connection) -> None:
    def stored(offset: int) -> int:
        return int(connection.call("MQ.READ", "timed", "OFFSET", offset)[0]["stored"])

    send(connection, "timed", range(5))
    last = 4
    while stored(last) == stored(4):
        last = connection.call("MQ.SEND", "timed", "late")["offset"]
    between = str(stored(last))
    late = source.read(assign='{"timed": [0]}', startingTimestamp=between)
    early = source.read(subscribe="timed", endingTimestamp=between)
    assert [row["offset"] for row in late.collect()] == [last]
    assert [row["offset"] for row in early.collect()] == list(range(last))


def test_the_broker_filters_and_bodies_become_columns(source: Source, connection: Connection) -> None:
    for number in range(20):
        send(connection, "json", [f'{{"n": {number}, "id": "o{number}"}}'], "TAG", "odd" if number % 2 else "even")
    frame = source.read(subscribe="json", filter="tag = 'odd'", schema="n INT, id STRING")
    assert frame.columns == ["key", "n", "id", "topic", "partition", "offset", "timestamp", "_id", "tag"]
    rows = frame.collect()
    assert [(row["n"], row["id"], row["offset"]) for row in rows] == [(n, f"o{n}", n) for n in range(1, 20, 2)]


def test_a_pattern_finds_topics(source: Source, connection: Connection) -> None:
    for number in range(40):
        send(connection, f"small.{number}", [number])
    send(connection, "smaller", ["no"])
    frame = source.read(subscribePattern=r"small\.\d+")
    assert frame.rdd.getNumPartitions() < 40
    assert values(frame.collect()) == sorted(map(str, range(40)))


def test_what_lies_before_the_first_kept_message_fails_or_is_left_out(source: Source, connection: Connection) -> None:
    send(connection, "trimmed", range(10))
    connection.call("XTRIM", "trimmed", "MAXLEN", "=", 4)
    from_zero = {"subscribe": "trimmed", "startingOffsets": '{"trimmed": {"0": 0}}'}
    assert values(source.read(subscribe="trimmed").collect()) == ["6", "7", "8", "9"]
    with pytest.raises(AnalysisException, match=r"6 messages of trimmed/0 \(offsets 0 to 5\) were removed"):
        source.read(**from_zero).collect()
    assert values(source.read(**from_zero, failOnDataLoss="false").collect()) == ["6", "7", "8", "9"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"subscribe": "nowhere"}, "there is no topic 'nowhere' at the broker"),
        ({"assign": '{"there": [3]}'}, "the topic 'there' has no partition 3: it has 1, counted from 0"),
        ({"subscribe": "there", "startingOfsets": "earliest"}, "did you mean startingOffsets?"),
        ({"subscribe": "there", "filter": "tag ="}, "filter: it ends after character 5"),
        ({"subscribe": "there", "schema": "n INTEGRAL"}, "the option schema is not understood at 'integral'"),
        ({"subscribe": "there", "group": "g"}, "the option group is for a stream read"),
        ({"subscribe": "there", "startingOffsets": '{"there": {"0": 0, "1": 0}}'}, "have there/1, which are not read"),
        ({"subscribePattern": "x.*y"}, "no topic matches subscribePattern 'x.*y'"),
    ],
)
def test_wrong_options_are_told_before_a_job_starts(
    source: Source, connection: Connection, options: dict[str, str], sentence: str
) -> None:
    send(connection, "there", ["x"])
    with pytest.raises(AnalysisException) as caught:
        source.read(**options).rdd.getNumPartitions()
    assert sentence in str(caught.value)


def test_a_server_that_is_not_there_is_named(source: Source) -> None:
    port = free_port()
    with pytest.raises(AnalysisException, match=rf"no OneMQ broker answers at 127.0.0.1:{port} \(Connection refused\)"):
        source.spark.read.format("onemq").options(servers=f"127.0.0.1:{port}", subscribe="orders").load()


def test_a_schema_of_ones_own_is_refused(source: Source, connection: Connection) -> None:
    send(connection, "there", ["x"])
    frame = source.spark.read.format("onemq").schema("n INT").options(servers=source.servers, subscribe="there")
    with pytest.raises(AnalysisException, match="fields of JSON bodies are named with the option schema"):
        frame.load().rdd.getNumPartitions()
