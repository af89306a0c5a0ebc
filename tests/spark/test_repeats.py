"""Repeats of a business key, and the shape of dead letters, on plain DataFrames."""

import json
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from onemq.pipelines.dead_letters import grouped, shaped
from onemq.pipelines.repeats import SEEN, remembered, repeats


def test_a_repeat_comes_within_the_window_of_the_last_one_of_its_key(spark: SparkSession) -> None:
    rows = [
        ("a", 0), ("a", 9), ("a", 18), ("a", 29), ("b", 5), (None, 1), (None, 1), ("c", 100), ("d", 95),
    ]  # fmt: skip
    messages = spark.createDataFrame(
        [(identity, at, 0, offset) for offset, (identity, at) in enumerate(rows)],
        "identity string, event_ms bigint, partition int, offset bigint",
    )
    seen = spark.createDataFrame([("c", 91), ("d", 100), ("e", 60)], SEEN)
    found = {row["offset"] for row in repeats(messages, seen, 10).where("is_repeat").collect()}
    assert {rows[offset] for offset in found} == {("a", 9), ("a", 18), ("c", 100), ("d", 95)}
    kept = remembered(messages, seen, 40).orderBy("identity").collect()
    assert [tuple(row) for row in kept] == [("c", 100), ("d", 100), ("e", 60)]


def test_dead_letters_are_a_table(spark: SparkSession) -> None:
    death = {"reason": "no stock", "topic": "orders", "partition": 1, "offset": 7, "group": "points", "deliveries": 3,
             "at_ms": 1_794_823_205_000, "history": [[1, "a", 2, "no stock"]]}  # fmt: skip
    headers = [("source", b"web"), ("_dead", json.dumps(death).encode())]
    schema = (
        "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
        "id string, tag string, headers array<struct<key:string,value:binary>>"
    )
    at = datetime(2026, 11, 16, tzinfo=UTC)
    rows = [(b"k", b"{}", "orders.points.dead", 0, offset, at, f"1-0-{offset}", None, headers) for offset in range(2)]
    rows.append((b"k", b"{}", "orders.points.dead", 0, 2, at, "1-0-2", None, []))
    found = shaped(spark.createDataFrame(rows, schema))
    first = found.first()
    assert first is not None
    assert (first["topic"], first["offset"], first["value"]) == ("orders", 7, "{}")
    assert first["letter_topic"] == "orders.points.dead"
    tables = grouped(found, 60_000)
    assert [(row["reason"], row["letters"]) for row in tables["by_reason"]] == [("no stock", 2)]
    assert tables["by_time"][0]["time"].replace(tzinfo=UTC) == datetime(2026, 11, 16, 10, 0, tzinfo=UTC)
