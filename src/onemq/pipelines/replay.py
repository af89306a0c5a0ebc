"""`onemq pipeline replay`: a time range of an archived topic into a topic, exactly once and at a bounded rate.

The messages are cut into portions of neighbouring offsets. The plan is kept in the archive before the first one is
sent, and each portion is committed at the broker as a numbered unit: a replay that is killed and started again goes on
with the portion after the last one that was committed.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from onemq.errors import InvalidArgument, NotFound, OneMQError
from onemq.pipelines import archived
from onemq.pipelines.broker import Broker, broker
from onemq.pipelines.options import Conf, Json, Master, Password, Servers, User, finish, run_main
from onemq.pipelines.progress import shown
from onemq.pipelines.session import check_installed, opened
from onemq.pipelines.store import OURS, TABLES, Archive
from onemq.pipelines.summary import Summary

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

PORTION_ROWS = 200_000
PORTION_SECONDS = 2
"""With a rate, a portion holds what may be sent in so many seconds."""
BUCKET_OFFSETS_MAX = 10_000
MEMORY_DAYS = 29
"""For so long the broker is sure to remember which portions were committed."""


@dataclass(frozen=True, slots=True)
class Portion:
    """Messages that are sent together: a range of offsets of each partition."""

    ranges: dict[str, tuple[int, int]]
    count: int


@dataclass(frozen=True, slots=True)
class Choice:
    """What is replayed."""

    topic: str
    start: datetime | None = None
    end: datetime | None = None
    where: str | None = None

    def of(self, rows: DataFrame) -> DataFrame:
        """Dates narrow down the folders, timestamps the messages; `end` itself is left out."""
        from pyspark.sql import functions as F

        if self.start is not None:
            rows = rows.where(F.col("date") >= F.lit(self.start.date())).where(F.col("timestamp") >= F.lit(self.start))
        if self.end is not None:
            rows = rows.where(F.col("date") <= F.lit(self.end.date())).where(F.col("timestamp") < F.lit(self.end))
        return rows if self.where is None else rows.where(self.where)


def run(
    spark: SparkSession,
    broker: Broker,
    url: str,
    choice: Choice,
    to: str,
    *,
    rate: int | None = None,
    name: str | None = None,
    keep_partitions: bool = False,
    dry_run: bool = False,
) -> Summary:
    """Sends what was chosen to the topic `to`, at most `rate` messages a second; the order in each partition is kept.

    A replay has a name, by default one made of what is replayed and where to; one that is done is not done again.
    """
    begun = time.monotonic()
    spark = _in_utc(spark)
    archive = Archive.at(spark, url)
    archive.check_there()
    name = name or _name_of(archive.url, choice, to)
    plan = f"{OURS}/replays/{name}.json"
    facts = {"name": name, "from": archive.url, "topic": choice.topic, "to": to}
    if _is_done(archive, plan):
        return Summary("replay", {**facts, "messages": 0, "state": "was done before; another --name does it again"})
    rows = _chosen(spark, archive, choice)
    portions = _planned(archive, plan, rows, _portion_rows(rate), dry_run)
    total = sum(portion.count for portion in portions)
    if dry_run:
        return Summary("replay", {**facts, "messages": 0, "found": total, "state": "dry run"})
    sent, before = _send(broker, _as_messages(rows, broker, to, keep_partitions), portions, to, name, rate)
    archive.files.write_text(plan, json.dumps({"done": True}))
    seconds = round(time.monotonic() - begun, 1)
    return Summary("replay", {**facts, "messages": sent, "sent_before": before, "state": "done", "seconds": seconds})


def _send(
    broker: Broker, rows: DataFrame, portions: Sequence[Portion], to: str, name: str, rate: int | None
) -> tuple[int, int]:
    """Sends the portions that were not committed yet. Returns how many messages they hold, and the others."""
    unit = f"replay.{name}"
    with broker.connect() as connection:
        done = int(connection.call("MQ.TX", "UNIT", unit) or 0)
    before, sent, begun = sum(each.count for each in portions[:done]), 0, time.monotonic()
    with shown("replay") as show:
        for number, portion in enumerate(portions[done:], done + 1):
            some = rows.where(_within(portion)).drop("source_partition", "offset")
            broker.write(some, topic=to, unit=unit, unitNumber=number).save()
            sent += portion.count
            show(f"{sent + before:,} of {sum(each.count for each in portions):,} messages")
            if rate is not None:
                time.sleep(max(0.0, begun + sent / rate - time.monotonic()))
    return sent, before


def _as_messages(rows: DataFrame, broker: Broker, to: str, keep_partitions: bool) -> DataFrame:
    """As the sink takes them: by key to the partition of the key, else to that of the same number, in order."""
    from pyspark.sql import functions as F

    count = _partition_count(broker, to)
    same = F.col("partition")
    partition = same if keep_partitions else F.when(F.col("key").isNull(), same % count)
    columns = [*map(F.col, ("key", "value", "tag", "headers")), partition.cast("int").alias("partition")]
    return (
        rows.withColumn("source_partition", same)
        .repartition(F.col("source_partition"))
        .sortWithinPartitions("source_partition", "offset")
        .select(*columns, F.col("source_partition"), F.col("offset"))
    )


def _partition_count(broker: Broker, topic: str) -> int:
    """Of a topic that is not there yet, the one that it will get."""
    from pyspark_onemq.catalog import extents_of

    with broker.connect() as connection:
        try:
            return len(extents_of(connection, [topic]))
        except NotFound:
            return 1


def _chosen(spark: SparkSession, archive: Archive, choice: Choice) -> DataFrame:
    snapshot = archive.snapshot([choice.topic])
    if not any(snapshot.files.values()):
        raise NotFound(f"the archive at {archive.url} has no topic {choice.topic!r}")
    first, second = (archived.rows(spark, archive, snapshot, table) for table in TABLES)
    return choice.of(first.unionByName(second))


def _planned(archive: Archive, plan: str, rows: DataFrame, most: int, dry_run: bool) -> list[Portion]:
    """The plan of an earlier start, else a new one, which is kept."""
    if archive.files.exists(plan):
        kept = json.loads(archive.files.read_text(plan))
        if time.time() - kept["begun"] > MEMORY_DAYS * 86_400:
            raise OneMQError(f"this replay was begun over {MEMORY_DAYS} days ago: replay the rest under another --name")
        return [Portion(**each) for each in kept["portions"]]
    portions = _portions(rows, most)
    if not dry_run:
        listed = [{"ranges": each.ranges, "count": each.count} for each in portions]
        archive.files.write_text(plan, json.dumps({"begun": int(time.time()), "portions": listed}))
    return portions


def _portions(rows: DataFrame, most: int) -> list[Portion]:
    """Cuts the offsets of every partition into buckets, and puts neighbouring buckets together."""
    from pyspark.sql import functions as F

    size = max(1, min(BUCKET_OFFSETS_MAX, most // 4))
    bucket = F.floor(F.col("offset") / size).alias("bucket")
    found = rows.groupBy("partition", bucket).agg(F.count(F.lit(1)), F.min("offset"), F.max("offset")).collect()
    first = {partition: low for partition, low, *_ in sorted(found, reverse=True)}
    ordered = sorted(map(tuple, found), key=lambda each: (each[1] - first[each[0]], each[0]))
    return list(_together(ordered, most))


def _together(buckets: Iterable[tuple[int, ...]], most: int) -> Iterator[Portion]:
    ranges: dict[str, tuple[int, int]] = {}
    count = 0
    for partition, _, messages, low, high in buckets:
        if count and count + messages > most:
            yield Portion(ranges, count)
            ranges, count = {}, 0
        first, _ = ranges.get(str(partition), (low, high))
        ranges[str(partition)] = (min(first, low), high)
        count += messages
    if count:
        yield Portion(ranges, count)


def _within(portion: Portion) -> Column:
    from pyspark.sql import functions as F

    wanted = F.lit(False)
    for partition, (low, high) in portion.ranges.items():
        wanted = wanted | ((F.col("source_partition") == int(partition)) & F.col("offset").between(low, high))
    return wanted


def _portion_rows(rate: int | None) -> int:
    return PORTION_ROWS if rate is None else max(1, min(PORTION_ROWS, rate * PORTION_SECONDS))


def _in_utc(spark: SparkSession) -> SparkSession:
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    return session


def _is_done(archive: Archive, plan: str) -> bool:
    return archive.files.exists(plan) and bool(json.loads(archive.files.read_text(plan)).get("done"))


def _name_of(url: str, choice: Choice, to: str) -> str:
    words = json.dumps([url, choice.topic, str(choice.start), str(choice.end), choice.where, to])
    return hashlib.sha256(words.encode()).hexdigest()[:12]


def parse_time(option: str, text: str | None) -> datetime | None:
    """`2026-11-16T08:00:00Z`, or milliseconds since 1970; without a zone it is UTC. Raises `InvalidArgument`."""
    if text is None:
        return None
    try:
        parsed = datetime.fromtimestamp(int(text) / 1000, UTC) if text.isdecimal() else datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise InvalidArgument(f"{option} {text}: write a time like 2026-11-16T08:00:00Z") from None
    return parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)


def command(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The archived topic.")],
    archive: Annotated[str, typer.Option("--archive", metavar="URL", help="Where it is archived.")],
    to: Annotated[str, typer.Option("--to", metavar="TOPIC", help="The topic that gets the messages.")],
    start: Annotated[str | None, typer.Option("--from", metavar="TIME", help="Stored then or later.")] = None,
    end: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Stored before then.")] = None,
    where: Annotated[str | None, typer.Option(metavar="SQL", help="Only those, e.g. \"tag = 'paid'\".")] = None,
    rate: Annotated[int | None, typer.Option(metavar="N", min=1, help="At most so many messages a second.")] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Of this replay; done once under each name.")] = None,
    keep_partitions: Annotated[
        bool, typer.Option("--keep-partitions", help="Each to the partition of the same number.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell how many it would be.")] = False,
    servers: Servers = None,
    user: User = None,
    password: Password = None,
    master: Master = None,
    conf: Conf = None,
    as_json: Json = False,
) -> None:
    """Sends archived messages to a topic, each exactly once, in the order of each partition."""
    choice = Choice(topic, parse_time("--from", start), parse_time("--until", end), where)
    check_installed()
    there = broker(servers, user, password)
    there.connect().close()
    with opened(master, "onemq replay", conf) as spark:
        summary = run(
            spark, there, archive, choice, to, rate=rate, name=name, keep_partitions=keep_partitions, dry_run=dry_run
        )
    finish(summary, as_json)


def main(argv: Sequence[str] | None = None) -> None:
    """`python -m onemq.pipelines.replay`, or under spark-submit."""
    run_main(command, argv)


if __name__ == "__main__":
    main()
