"""`onemq pipeline window`: counts and sums over windows of event time, with late messages counted and kept.

Spark's own streaming aggregation drops what comes too late and does not tell what that was. So this pipeline keeps
the open windows itself (state.py), and every message is accounted for: it is in all of its windows, or it is kept
aside with how many it missed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onemq.errors import InvalidArgument
from onemq.pipelines.batches import Batches, duration_ms
from onemq.pipelines.broker import Broker, broker
from onemq.pipelines.copies import copied, header
from onemq.pipelines.fields import time_ms
from onemq.pipelines.options import (
    Conf,
    Interval,
    Json,
    Master,
    Once,
    Password,
    Servers,
    User,
    finish,
    run_main,
)
from onemq.pipelines.outlet import CONSOLE, TOPIC, Outlet, as_messages, parse_outlet
from onemq.pipelines.session import opened
from onemq.pipelines.state import State
from onemq.pipelines.summary import Summary
from onemq.pipelines.windows import Plan, parse_aggregate, shape

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NEVER_MS = -(1 << 53)
"""The watermark before the first message."""
LATE, UNTIMED, AHEAD = "late", "without a time", "from the future"


@dataclass(frozen=True, slots=True)
class Limits:
    """How late a message may be, and how far its time may lie behind the moment at which it was stored."""

    delay_ms: int
    ahead_ms: int


def run(
    spark: SparkSession,
    broker: Broker,
    topics: str,
    plan: Plan,
    *,
    checkpoint: str,
    delay_ms: int,
    ahead_ms: int = 86_400_000,
    to: Outlet,
    late: Outlet | None = None,
    starting: str = "earliest",
    most: int | None = None,
    once: bool = True,
    interval: str | None = None,
    group: str | None = None,
) -> Summary:
    """Reads topics (with commas) from where the checkpoint stands, and writes each window when it is closed."""
    late = late or parse_outlet(f"{checkpoint.rstrip('/')}/late")
    rows = broker.read_stream(
        spark, subscribe=topics, startingOffsets=starting, maxOffsetsPerTrigger=most, group=group, includeHeaders=True
    ).load()
    state = State(spark, f"{checkpoint.rstrip('/')}/windows", plan.schema, str(plan))
    work = _Work(broker, plan, Limits(delay_ms, ahead_ms), state, to, late)
    progress = Batches(rows, checkpoint, "window").run(work.batch, once, interval)
    facts = {"messages": progress.rows, "batches": progress.batches, "seconds": round(progress.seconds, 1)}
    return Summary("window", {**facts, **work.told()})


class _Work:
    """One batch after the other."""

    def __init__(self, broker: Broker, plan: Plan, limits: Limits, state: State, to: Outlet, late: Outlet) -> None:
        self._broker = broker
        self._plan = plan
        self._limits = limits
        self._state = state
        self._to = to
        self._late = late
        self._closed = 0
        self._aside: dict[str, int] = {}
        self._last: dict[str, Any] = {}

    def batch(self, messages: DataFrame, number: int, unit: str) -> None:
        """Reads the state before, writes what is closed now and what came too late, and leaves its own state."""
        from pyspark.sql import functions as F

        state, facts = self._state.before(number)
        before_ms = facts.get("watermark_ms", NEVER_MS)
        timed = judged(messages, self._plan.time, self._limits.ahead_ms).persist()
        newest_ms = timed.where("reason IS NULL").agg(F.max("event_ms")).first()[0]  # type: ignore[index]
        after_ms = before_ms if newest_ms is None else max(before_ms, newest_ms - self._limits.delay_ms)
        good = timed.where("reason IS NULL").drop("reason")
        pieces, late = self._plan.split(good, state, before_ms)
        merged = self._plan.merge(pieces).persist()
        aside = _aside(timed, late).persist()
        self._write(merged.where(F.col("end_ms") <= after_ms), aside, number, unit)
        still_open = merged.where(F.col("end_ms") > after_ms)
        self._last = {"watermark_ms": after_ms}
        self._state.keep(number, still_open, self._last)
        for frame in (aside, merged, timed):
            frame.unpersist()

    def _write(self, closed: DataFrame, aside: DataFrame, number: int, unit: str) -> None:
        results = self._plan.results(closed).orderBy("window_start", *self._plan.groups)
        count = closed.count()
        self._closed += count
        if count:
            rows = as_messages(results, self._plan.groups) if self._to.kind == TOPIC else results
            self._to.write(self._broker, rows, unit, number)
        counts = {row["reason"]: row["count"] for row in aside.groupBy("reason").count().collect()}
        for reason, several in counts.items():
            self._aside[reason] = self._aside.get(reason, 0) + several
        if counts:
            rows = _aside_messages(aside) if self._late.kind == TOPIC else aside
            self._late.write(self._broker, rows, f"late-{unit}", number)

    def told(self) -> dict[str, Any]:
        """For the summary."""
        from datetime import UTC, datetime

        watermark_ms = self._last.get("watermark_ms", NEVER_MS)
        known = watermark_ms > NEVER_MS
        return {
            "windows_closed": self._closed,
            "late": self._aside.get(LATE, 0),
            "without_a_time": self._aside.get(UNTIMED, 0),
            "from_the_future": self._aside.get(AHEAD, 0),
            "watermark": datetime.fromtimestamp(watermark_ms / 1000, UTC) if known else None,
        }


def judged(messages: DataFrame, time: str, ahead_ms: int) -> DataFrame:
    """Messages with `event_ms`, and in `reason` why that is of no use: a time far ahead of the clock would close
    every window, and make late what is not."""
    from pyspark.sql import functions as F

    latest = F.unix_millis("timestamp") + ahead_ms
    reason = F.when(F.col("event_ms").isNull(), UNTIMED).when(F.col("event_ms") > latest, AHEAD)
    return messages.withColumn("event_ms", time_ms(time)).withColumn("reason", reason)


def _aside(timed: DataFrame, late: DataFrame) -> DataFrame:
    """What is in no window, or not in all of its windows, with the reason."""
    from pyspark.sql import functions as F

    useless = timed.where("reason IS NOT NULL").withColumn("windows_missed", F.lit(None).cast("int"))
    return late.withColumn("reason", F.lit(LATE)).unionByName(useless)


def _aside_messages(aside: DataFrame) -> DataFrame:
    """For a topic: the message as it was, with the headers `late-reason` and `late-from`."""
    from pyspark.sql import functions as F

    place = F.concat_ws("-", "topic", "partition", "offset")
    return copied(aside, header("late-reason", F.col("reason")), header("late-from", place))


def command(
    topics: Annotated[str, typer.Argument(metavar="TOPIC[,TOPIC...]", help="Where the messages are.")],
    checkpoint: Annotated[str, typer.Option(metavar="FOLDER", help="Keeps how far it is, and the open windows.")],
    time: Annotated[str, typer.Option(metavar="FIELD", help="The time in the message.")] = "@timestamp",
    size: Annotated[str | None, typer.Option(metavar="DURATION", help="Windows of this length: 1m, 1h.")] = None,
    slide: Annotated[str | None, typer.Option(metavar="DURATION", help="One begins so often; they overlap.")] = None,
    gap: Annotated[str | None, typer.Option(metavar="DURATION", help="Sessions, ended by so much silence.")] = None,
    by: Annotated[list[str] | None, typer.Option(metavar="FIELD", help="A result for each value of it.")] = None,
    aggregate: Annotated[
        list[str] | None, typer.Option(metavar="FUNCTION(FIELD)", help="sum, avg, min, max or count of a field.")
    ] = None,
    watermark: Annotated[str, typer.Option(metavar="DURATION", help="So late a message may be.")] = "1m",
    ahead: Annotated[str, typer.Option(metavar="DURATION", help="A time so far ahead of the clock is wrong.")] = "1d",
    to: Annotated[str, typer.Option(metavar="PLACE", help="topic:NAME, a path or URL, or console.")] = CONSOLE,
    late: Annotated[
        str | None, typer.Option(metavar="PLACE", help="Where late messages are kept.  [late in the checkpoint]")
    ] = None,
    starting: Annotated[str, typer.Option(metavar="earliest|latest|JSON", help="Where it begins.")] = "earliest",
    most: Annotated[int | None, typer.Option("--max-per-batch", metavar="N", help="Messages in a batch.")] = None,
    group: Annotated[str | None, typer.Option(metavar="GROUP", help="Shows its position as this group.")] = None,
    servers: Servers = None,
    user: User = None,
    password: Password = None,
    master: Master = None,
    conf: Conf = None,
    once: Once = True,
    interval: Interval = None,
    as_json: Json = False,
) -> None:
    """Counts and sums over windows of event time; late messages are counted and kept."""
    lengths = [None if each is None else duration_ms(each) for each in (size, slide, gap)]
    plan = Plan(shape(*lengths), time, by or [], [parse_aggregate(each) for each in aggregate or []])
    outlets = parse_outlet(to), None if late is None else parse_outlet(late)
    if outlets[1] is not None and outlets[1].kind == CONSOLE:
        raise InvalidArgument("--late console would not keep them: name a topic or a path")
    limits = {"delay_ms": duration_ms(watermark), "ahead_ms": duration_ms(ahead)}
    with opened(master, "onemq window", conf) as spark:
        summary = run(
            spark, broker(servers, user, password), topics, plan, checkpoint=checkpoint, **limits, to=outlets[0],
            late=outlets[1], starting=starting, most=most, once=once, interval=interval, group=group,
        )  # fmt: skip
        finish(summary, as_json)


def main(argv: Sequence[str] | None = None) -> None:
    """The command line by itself."""
    run_main(command, argv)


if __name__ == "__main__":
    main()
