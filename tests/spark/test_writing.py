"""Batch and streaming writes, seen through the SDK, redis-py and Spark itself."""

import pytest
import redis
from crc32c import crc32c
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

import onemq
from tests.process import Serve

ROWS = 500


@pytest.fixture
def servers(broker):
    return f"127.0.0.1:{broker.port}"


@pytest.fixture
def writing(servers):
    """A batch write with options."""

    def write(frame, **options):
        frame.write.format("onemq").mode("append").options(servers=servers, **options).save()

    return write


@pytest.fixture
def stored(connection):
    """The messages of a topic by partition, as MQ.READ tells them."""

    def read(topic):
        partitions = connection.call("MQ.TOPIC", "INFO", topic)["partitions"]
        return [
            connection.call("MQ.READ", topic, "PARTITION", number, "OFFSET", 0, "COUNT", 10_000)
            for number in range(partitions)
        ]

    return read


def test_columns_arrive_intact_through_the_sdk_and_redis(spark, broker, writing, connection):
    headers = F.array(
        F.struct(F.lit("source").alias("key"), F.lit(b"spark").alias("value")),
        F.struct(F.lit("number").alias("key"), F.col("id").cast("string").cast("binary").alias("value")),
    )
    frame = spark.range(0, ROWS, 1, 3).select(
        F.concat(F.lit("key-"), F.col("id") % 50).alias("key"),
        F.concat(F.lit("Größe "), F.col("id")).alias("value"),
        F.when(F.col("id") % 2 == 0, "even").alias("tag"),
        F.when(F.col("id") % 5 != 0, headers).alias("headers"),
    )
    writing(frame, topic="columns", partitions="4")
    with onemq.connect(f"onemq://127.0.0.1:{broker.port}") as mq:
        messages = [each for number in range(4) for each in mq.read("columns", partition=number, start=0, count=1000)]
    found = {int(each.text().split()[1]): each for each in messages}
    assert len(messages) == ROWS
    assert sorted(found) == list(range(ROWS))
    for number, message in found.items():
        assert message.value == f"Größe {number}"
        assert message.key == f"key-{number % 50}"
        assert message.partition == crc32c(message.key.encode()) % 4
        assert message.tag == ("even" if number % 2 == 0 else None)
        expected = {} if number % 5 == 0 else {"source": "spark", "number": str(number)}
        assert message.headers == expected
    writing(spark.createDataFrame([("k", b"\x00\xff")], "key string, value binary"), topic="stream")
    with redis.Redis(port=broker.port) as client:
        (_, entry), *rest = client.xrange("stream")
        assert b"\x00\xff" in entry.values()
        assert not rest
    assert connection.call("MQ.TX", "LIST") == []


def test_rows_choose_their_topic_and_partition_and_those_without_a_key_are_spread(spark, writing, stored):
    frame = spark.range(60).selectExpr(
        "concat('chosen-', id % 2) topic", "cast(id % 3 as int) partition", "cast(id as string) value"
    )
    writing(frame.coalesce(1), partitions="3")
    for number in range(2):
        for partition, messages in enumerate(stored(f"chosen-{number}")):
            bodies = [int(each["body"]) for each in messages]
            assert bodies == [each for each in range(60) if each % 2 == number and each % 3 == partition]
    writing(spark.range(0, 8, 1, 8).selectExpr("cast(id as string) value"), topic="spread", partitions="4")
    assert [len(messages) for messages in stored("spread")] == [2, 2, 2, 2]


def test_rows_of_a_commit_are_in_the_order_of_sparks_partitions(spark, writing, stored):
    writing(spark.range(0, 2000, 1, 7).selectExpr("cast(id as string) value"), topic="ordered")
    assert [int(each["body"]) for each in stored("ordered")[0]] == list(range(2000))


def test_a_job_that_fails_leaves_nothing(spark, writing, stored, connection):
    frame = spark.range(0, 4000, 1, 4).selectExpr(
        "if(id = 3999, raise_error('no more'), cast(id as string)) value"
    )
    with pytest.raises(PySparkException, match="no more"):
        writing(frame, topic="failed")
    assert stored("failed") == [[]]
    assert connection.call("MQ.TX", "LIST") == []


def test_a_unit_is_written_once(spark, writing, stored):
    for unit, number, count in (("load", 1, 3), ("load", 1, 3), ("load", 0, 3), ("load", 2, 1), ("other", 1, 1)):
        frame = spark.range(count).selectExpr(f"'{unit} {number}' value")
        writing(frame, topic="units", unit=unit, unitNumber=str(number))
    assert [each["body"] for each in stored("units")[0]] == [b"load 1"] * 3 + [b"load 2", b"other 1"]


def test_an_empty_frame_writes_nothing(spark, writing, stored):
    writing(spark.range(0).selectExpr("cast(id as string) value"), topic="empty")
    assert stored("empty") == [[]]


@pytest.mark.parametrize(
    ("columns", "options", "sentence"),
    [
        ("id", {"topic": "t"}, "the column 'id' cannot be written: a message has the columns value"),
        ("'x' value", {}, "no topic is named"),
        ("'x' value", {"topic": "t", "topics": "t"}, "there is no option topics for writing"),
        ("'x' value", {"topic": "nowhere", "createTopic": "false"}, "there is no topic 'nowhere'"),
        ("'x' value", {"topic": "t", "servers": "127.0.0.1:1"}, "no OneMQ broker answers at 127.0.0.1:1"),
    ],
)
def test_what_is_wrong_is_told_before_a_job_starts(spark, servers, columns, options, sentence):
    spark.sparkContext.setJobGroup("wrong", "")
    frame = spark.range(1).selectExpr(columns)
    with pytest.raises(PySparkException) as told:
        frame.write.format("onemq").mode("append").options(**{"servers": servers} | options).save()
    assert sentence in str(told.value)
    assert list(spark.sparkContext.statusTracker().getJobIdsForGroup("wrong")) == []


def test_messages_are_not_overwritten(spark, servers):
    writer = spark.range(1).selectExpr("'x' value").write.format("onemq").options(servers=servers, topic="t")
    with pytest.raises(PySparkException, match="write with mode\\('append'\\)"):
        writer.mode("overwrite").save()


def test_a_stream_goes_on_while_its_broker_is_killed_and_restarted(spark, tmp_path):
    source, count = tmp_path / "rows", 6
    for number in range(count):
        rows = spark.range(number * 1000, number * 1000 + 1000, 1, 1)
        rows.selectExpr("concat('k', id % 9) key", "cast(id as string) value").write.mode("append").parquet(str(source))
    with Serve(tmp_path / "data") as first:
        first.wait_until_serving()
        stream = (
            spark.readStream.schema("key string, value string").option("maxFilesPerTrigger", 1).parquet(str(source))
            .writeStream.format("onemq")
            .options(servers=f"127.0.0.1:{first.port}", topic="t", partitions="2")
            .option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        )  # fmt: skip
        query = stream.start()
        while query.isActive and (query.lastProgress is None or query.lastProgress["batchId"] < 1):
            query.awaitTermination(0.05)
        first.kill()
    with Serve(tmp_path / "data", port=first.port) as second:
        second.wait_until_serving()
        assert query.awaitTermination(120)
        assert query.exception() is None
        stored = spark.read.format("onemq").options(servers=f"127.0.0.1:{second.port}", subscribe="t").load()
        rows = [(row.key, int(row.value)) for row in stored.orderBy("partition", "offset").collect()]
        assert second.command(f"MQ.TX UNIT {query.id}") == f":{count - 1}\r\n".encode()
    assert sorted(number for _, number in rows) == list(range(count * 1000))
