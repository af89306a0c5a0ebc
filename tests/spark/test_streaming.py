"""Streaming reads of the data source `onemq` on local[2]."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame

from pyspark_onemq.connection import Connection
from tests.spark.source import WAIT_SECONDS_MAX, Source, send, values


def wait_for(is_so: Callable[[], bool]) -> None:
    give_up = time.monotonic() + WAIT_SECONDS_MAX
    while not is_so():
        assert time.monotonic() < give_up, "it does not come"
        time.sleep(0.05)


def lag(connection: Connection, topic: str, group: str) -> int:
    return int(connection.call("MQ.GROUP", "INFO", topic, group)["lag"])


def test_available_now_drains_exactly_what_was_there(source: Source, connection: Connection, tmp_path: Path) -> None:
    connection.call("MQ.TOPIC", "CREATE", "orders", "PARTITIONS", 2)
    send(connection, "orders", range(30), "PARTITION", 0)
    send(connection, "orders", range(30, 50), "PARTITION", 1)
    got: list[list[str]] = []

    def take(batch: DataFrame, number: int) -> None:
        got.append(values(batch.collect()))
        send(connection, "orders", ["later"], "PARTITION", number % 2)

    options = {"subscribe": "orders", "startingOffsets": "earliest", "maxOffsetsPerTrigger": "20", "group": "spark"}
    writer = source.stream(**options).writeStream.foreachBatch(take).option("checkpointLocation", str(tmp_path))
    assert writer.trigger(availableNow=True).start().awaitTermination(WAIT_SECONDS_MAX)
    assert [len(each) for each in got] == [20, 20, 10]
    assert sorted(value for each in got for value in each) == sorted(map(str, range(50)))
    assert lag(connection, "orders", "spark") == 3

    rows, sizes = source.drain(tmp_path, **options)
    assert (values(rows), sizes) == (["later"] * 3, [3])
    assert lag(connection, "orders", "spark") == 0


def test_a_running_query_sees_new_messages_and_new_topics(
    source: Source, connection: Connection, tmp_path: Path
) -> None:
    send(connection, "live.a", ["old"])
    frame = source.stream(subscribePattern="live[.].*", group="viewer", columns="value,topic")
    writer = frame.writeStream.format("memory").queryName("live").option("checkpointLocation", str(tmp_path))
    query = writer.start()
    try:
        wait_for(lambda: query.status["message"] == "Waiting for data to arrive")
        send(connection, "live.a", ["new"])
        send(connection, "live.b", ["other"])
        shown = source.spark.table("live")
        wait_for(lambda: shown.count() == 2)
        assert sorted((row["topic"], row["value"]) for row in shown.collect()) == [
            ("live.a", b"new"), ("live.b", b"other"),
        ]  # fmt: skip
        wait_for(lambda: lag(connection, "live.b", "viewer") == 0)
        assert query.lastProgress is not None
        wait_for(lambda: '"live.b"' in query.lastProgress["sources"][0]["latestOffset"])  # type: ignore[index]
    finally:
        query.stop()


def test_messages_that_retention_took_are_an_error_or_a_gap(
    source: Source, connection: Connection, tmp_path: Path
) -> None:
    options = {"subscribe": "short", "startingOffsets": "earliest"}
    send(connection, "short", range(5))
    assert source.drain(tmp_path, **options)[1] == [5]
    send(connection, "short", range(5, 20))
    connection.call("XTRIM", "short", "MAXLEN", "=", 8)
    with pytest.raises(StreamingQueryException, match=r"7 messages of short/0 .* or set failOnDataLoss=false"):
        source.drain(tmp_path, **options)
    rows, _ = source.drain(tmp_path, **options, failOnDataLoss="false")
    assert values(rows) == sorted(map(str, range(12, 20)))
