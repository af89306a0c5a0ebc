"""`onemq pipeline dedupe`: a topic without repeated messages of the same business key.

Spark's `dropDuplicatesWithinWatermark` would drop, beside repeats, every message that is older than the watermark: a
partition that lags behind the others would lose messages. So this pipeline remembers the keys itself (state.py). A
message is left out only if it is a repeat; what comes too late to be compared is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from onemq.errors import InvalidArgument
from onemq.pipelines.batches import Batches, duration_ms
from onemq.pipelines.broker import Broker, broker
from onemq.pipelines.copies import copied, in_order
from onemq.pipelines.fields import check_field, identity, time_ms
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
from onemq.pipelines.repeats import SEEN, remembered, repeats
from onemq.pipelines.session import opened
from onemq.pipelines.state import State, schema_of
from onemq.pipelines.summary import Summary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEEP = 2
"""Keys are remembered for so many windows: partitions are not read in step."""


def run(
    spark: SparkSession,
    broker: Broker,
    source: str,
    target: str,
    *,
    by: Sequence[str],
    within_ms: int,
    checkpoint: str,
    time: str = "@timestamp",
    most: int | None = None,
    once: bool = True,
    interval: str | None = None,
    group: str | None = None,
) -> Summary:
    """Copies what is no repeat, from where the checkpoint stands; order by key is kept."""
    if source == target:
        raise InvalidArgument("a topic cannot be copied into itself: name another one with --to")
    rows = broker.read_stream(
        spark, subscribe=source, startingOffsets="earliest", maxOffsetsPerTrigger=most, includeHeaders=True, group=group
    ).load()
    what = f"{' '.join(by)} {time} {within_ms}"
    state = State(spark, f"{checkpoint.rstrip('/')}/seen", schema_of(SEEN), what)
    counts = {"copied": 0, "repeats": 0, "without_a_key": 0}

    def batch(messages: DataFrame, number: int, unit: str) -> None:
        seen, _ = state.before(number)
        judged = repeats(_named(messages, by, time), seen, within_ms).persist()
        fresh = in_order(judged.where("NOT is_repeat"))
        broker.write(copied(fresh), topic=target, unit=unit, unitNumber=number).save()
        state.keep(number, remembered(judged, seen, KEEP * within_ms), {})
        for name, several in _counts(judged).items():
            counts[name] += several
        judged.unpersist()

    progress = Batches(rows, checkpoint, "dedupe").run(batch, once, interval)
    facts = {"messages": progress.rows, **counts, "batches": progress.batches, "seconds": round(progress.seconds, 1)}
    return Summary("dedupe", facts)


def _named(messages: DataFrame, by: Sequence[str], time: str) -> DataFrame:
    """With `identity` and `event_ms`; a message without a time of its own has the one at which it was stored."""
    from pyspark.sql import functions as F

    moment = F.coalesce(time_ms(time), F.unix_millis("timestamp"))
    return messages.withColumn("identity", identity(by)).withColumn("event_ms", moment)


def _counts(judged: DataFrame) -> dict[str, int]:
    from pyspark.sql import functions as F

    row = judged.agg(
        F.count_if(~F.col("is_repeat")).alias("copied"),
        F.count_if("is_repeat").alias("repeats"),
        F.count_if(F.col("identity").isNull()).alias("without_a_key"),
    ).first()
    assert row is not None
    return dict(row.asDict())


def command(
    source: Annotated[str, typer.Argument(metavar="TOPIC", help="Where the messages are.")],
    to: Annotated[str, typer.Option(metavar="TOPIC", help="Where those go that are no repeats.")],
    by: Annotated[list[str], typer.Option(metavar="FIELD", help="The business key; several fields add up.")],
    within: Annotated[str, typer.Option(metavar="DURATION", help="Repeats come in this time.")],
    checkpoint: Annotated[str, typer.Option(metavar="FOLDER", help="Keeps how far it is, and the keys.")],
    time: Annotated[str, typer.Option(metavar="FIELD", help="The time of a message.")] = "@timestamp",
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
    """Copies a topic without repeated messages of the same business key, exactly once."""
    fields, within_ms = [check_field(each) for each in by], duration_ms(within)
    with opened(master, "onemq dedupe", conf) as spark:
        summary = run(
            spark, broker(servers, user, password), source, to, by=fields, within_ms=within_ms, checkpoint=checkpoint,
            time=check_field(time), most=most, once=once, interval=interval, group=group,
        )  # fmt: skip
        finish(summary, as_json)


def main(argv: Sequence[str] | None = None) -> None:
    """The command line by itself."""
    run_main(command, argv)


if __name__ == "__main__":
    main()
