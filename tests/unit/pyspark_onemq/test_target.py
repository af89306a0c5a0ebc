import pytest
from pyspark.sql.types import ArrayType, MapType, StringType, StructType

from onemq.errors import InvalidArgument
from pyspark_onemq.options import Server
from pyspark_onemq.sink_schema import check_schema
from pyspark_onemq.target import Target, Unit, target_of, unit_of, write_options

HEADERS = ArrayType(StructType().add("key", "string").add("value", "binary"))


def schema(**columns):
    found = StructType()
    for name, kind in columns.items():
        found.add(name, kind)
    return found


def test_options_are_found_in_any_case():
    given = {"Servers": "a:1,b:2", "TOPIC": "orders", "createtopic": "false", "partitions": "8", "user": "u"}
    options = write_options(given | {"password": "p", "checkpointLocation": "/tmp/x"}, is_stream=True)
    assert target_of(options, is_text=True) == Target(Server("a:1,b:2", "u", "p"), "orders", False, 8, "text")
    assert target_of({}, is_text=False) == Target()
    assert target_of({"contentType": "json"}, is_text=True).content_type == "json"
    assert target_of({"contentType": "bytes"}, is_text=True).content_type is None


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"tpoic": "orders"}, "there is no option tpoic for writing with onemq: did you mean topic?"),
        ({"kafka.bootstrap.servers": "x"}, "for writing with onemq: did you mean servers?"),
        ({"unit": "a", "unitNumber": "1"}, "unit and unitNumber are for batch writes"),
    ],
)
def test_an_option_that_is_not_there_is_told(given, sentence):
    with pytest.raises(InvalidArgument) as told:
        write_options(given, is_stream=True)
    assert sentence in str(told.value)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"createTopic": "yes"}, "createTopic is \"true\" or \"false\", not 'yes'"),
        ({"partitions": "0"}, "partitions is a number from 1 to 10000, not '0'"),
        ({"partitions": "many"}, "partitions is a number from 1 to 10000, not 'many'"),
        ({"contentType": "xml"}, "contentType is one of text, bytes, json, msgpack, not 'xml'"),
        ({"topic": ""}, "a topic name must not be empty"),
    ],
)
def test_a_wrong_value_is_told(given, sentence):
    with pytest.raises(InvalidArgument) as told:
        target_of(given, is_text=True)
    assert str(told.value) == sentence


def test_a_unit_has_a_name_and_a_number():
    assert unit_of(write_options({"Unit": "a", "unitnumber": "7"}, is_stream=False)) == Unit("a", 7)
    assert unit_of({}) is None
    for given in ({"unit": "a"}, {"unitNumber": "1"}):
        with pytest.raises(InvalidArgument, match="unit and unitNumber go together"):
            unit_of(given)
    with pytest.raises(InvalidArgument, match="unitNumber is a number"):
        unit_of({"unit": "a", "unitNumber": "-1"})


def test_a_schema_with_all_columns_is_taken():
    text = dict.fromkeys(("key", "topic", "tag"), "string")
    check_schema(schema(value="binary", partition="integer", headers=HEADERS, **text), None)
    check_schema(schema(value="string"), "orders")
    check_schema(schema(value="string", key="binary", partition="long"), "orders")


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"amount": "integer"}, "the column 'amount' cannot be written: a message has the columns value, key,"),
        ({"value": "integer"}, "the column 'value' must be a string or binary, not int"),
        ({"partition": "string"}, "the column 'partition' must be an int, not string"),
        ({"tag": "binary"}, "the column 'tag' must be a string, not binary"),
        ({"headers": MapType(StringType(), StringType())}, "the column 'headers' must be an array<struct<key: string"),
        ({"headers": ArrayType(StringType())}, "not array<string>"),
    ],
)
def test_a_wrong_schema_is_told(columns, sentence):
    with pytest.raises(InvalidArgument) as told:
        check_schema(schema(**({"value": "string"} | columns)), "orders")
    assert sentence in str(told.value)


def test_rows_without_a_value_or_a_topic_are_told():
    with pytest.raises(InvalidArgument, match="there is no column 'value'"):
        check_schema(schema(key="string"), "orders")
    with pytest.raises(InvalidArgument, match="no topic is named"):
        check_schema(schema(value="string"), None)
