"""Windows over event time, on plain DataFrames."""

import json
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from onemq.pipelines.window import NEVER_MS, judged
from onemq.pipelines.windows import Plan, Shape, parse_aggregate

SCHEMA = "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp"
STORED = datetime(2026, 11, 16, tzinfo=UTC)


def messages(spark: SparkSession, bodies: list[dict[str, Any]]) -> DataFrame:
    rows = [(None, json.dumps(body).encode(), "t", 0, offset, STORED) for offset, body in enumerate(bodies)]
    return judged(spark.createDataFrame(rows, SCHEMA), "at", 86_400_000).drop("reason")


def run(plan: Plan, steps: list[tuple[DataFrame, int, int]]) -> tuple[list[Any], list[Any], list[Any]]:
    """Windows in the order in which they are closed, late offsets with how many they missed, and what is open."""
    spark = steps[0][0].sparkSession
    state: list[Any] = []
    closed, late = [], []
    for rows, before_ms, after_ms in steps:
        pieces, missed = plan.split(rows, spark.createDataFrame(state, plan.schema), before_ms)
        late += [(row["offset"], row["windows_missed"]) for row in missed.orderBy("offset").collect()]
        merged = plan.merge(pieces).orderBy("start_ms", *plan.groups).collect()
        closed += [row for row in merged if row["end_ms"] <= after_ms]
        state = [row for row in merged if row["end_ms"] > after_ms]
    results = plan.results(spark.createDataFrame(closed, plan.schema)).collect()
    return [(int(row[0].timestamp()), *row[2:]) for row in results], late, [tuple(row) for row in state]


def test_tumbling_windows_are_merged_over_batches_and_closed_by_the_watermark(spark: SparkSession) -> None:
    plan = Plan(
        Shape(10_000, 10_000), "at", ["who"], [parse_aggregate(f"{f}(n)") for f in ("sum", "avg", "min", "max")]
    )
    first = messages(
        spark, [{"at": 1, "who": "a", "n": 1}, {"at": 9, "who": "a", "n": 5}, {"at": 12, "who": "b", "n": 2}]
    )
    second = messages(spark, [{"at": 2, "who": "a"}, {"at": 8, "who": "b", "n": "x"}, {"at": 25, "who": "b", "n": 7}])
    third = messages(spark, [{"at": 9, "who": "a", "n": 1}, {"at": 13, "who": "b", "n": 4}])
    closed, late, still_open = run(plan, [(first, NEVER_MS, 7_000), (second, 7_000, 10_000), (third, 10_000, 20_000)])
    assert closed == [
        (0, "a", 3, 6.0, 3.0, 1.0, 5.0),
        (0, "b", 1, None, None, None, None),
        (10, "b", 2, 6.0, 3.0, 2.0, 4.0),
    ]
    assert late == [(0, 1)]
    assert [row[:4] for row in still_open] == [("b", 20_000, 30_000, 1)]


def test_a_message_may_be_late_for_one_sliding_window_and_in_time_for_the_next(spark: SparkSession) -> None:
    plan = Plan(Shape(20_000, 10_000), "at")
    rows = messages(spark, [{"at": 15}])
    closed, late, still_open = run(plan, [(rows, 20_000, 20_000)])
    assert closed == []
    assert late == [(0, 1)]
    assert still_open == [(10_000, 30_000, 1)]


def test_sessions_grow_meet_and_end_after_a_gap(spark: SparkSession) -> None:
    plan = Plan(Shape(gap_ms=10_000), "at", ["who"])
    first = messages(
        spark, [{"at": 0, "who": "a"}, {"at": 5, "who": "a"}, {"at": 25, "who": "a"}, {"at": 5, "who": "b"}]
    )
    second = messages(spark, [{"at": 15, "who": "a"}, {"at": 60, "who": "a"}])
    third = messages(spark, [{"at": 1, "who": "b"}, {"at": 3, "who": "a"}, {"at": 55, "who": "a"}])
    closed, late, still_open = run(plan, [(first, NEVER_MS, 12_000), (second, 12_000, 45_000), (third, 45_000, 45_000)])
    assert closed == [(0, "a", 4), (5, "b", 1)]
    assert late == [(0, 1), (1, 1)]
    assert still_open == [("a", 55_000, 70_000, 2)]


def test_a_message_that_looks_late_and_falls_into_an_open_session_is_in_time(spark: SparkSession) -> None:
    plan = Plan(Shape(gap_ms=10_000), "at")
    first = messages(spark, [{"at": each} for each in (0, 9, 18, 27, 27)])
    closed, late, still_open = run(plan, [(first, NEVER_MS, 20_000), (messages(spark, [{"at": 5}]), 20_000, 20_000)])
    assert (closed, late) == ([], [])
    assert still_open == [(0, 37_000, 6)]


def test_times_are_iso_texts_or_numbers_and_others_are_put_aside(spark: SparkSession) -> None:
    times = ["2026-11-16T10:00:00Z", "2026-11-16 10:00:00", 1794823200, 1794823200000, "soon", None, -9e18, 4e9]
    rows = [(None, json.dumps({"at": time}).encode(), "t", 0, 0, STORED) for time in times]
    found = judged(spark.createDataFrame(rows, SCHEMA), "at", 86_400_000).collect()
    assert [row["event_ms"] for row in found[:4]] == [1794823200000] * 4
    assert [row["reason"] for row in found] == [None] * 4 + ["without a time"] * 3 + ["from the future"]
