"""`onemq pipeline dead-letters`: what failed, by reason, topic, group and time; and back with it, at a bounded rate.

A dead letter is sent back by the broker (MQ.DEAD REPLAY), which sends the message and removes the letter in one step:
so none is sent back twice, whatever is killed when.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onemq.errors import InvalidArgument, OneMQError
from onemq.pipelines.batches import duration_ms
from onemq.pipelines.broker import Broker, broker
from onemq.pipelines.fields import header
from onemq.pipelines.options import Conf, Json, Master, Password, Servers, User, finish, run_main
from onemq.pipelines.pace import Pace
from onemq.pipelines.progress import shown
from onemq.pipelines.session import opened
from onemq.pipelines.sides import dead_topics, ends_of
from onemq.pipelines.summary import Summary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DEATH = (
    "reason string, topic string, partition int, offset bigint, `group` string, deliveries int, at_ms bigint, "
    "history array<array<string>>"
)
ROUND = 500
"""So many are sent back at a time, at most."""
SHOWN = 40
"""Rows of a table, at most."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which dead letters."""

    topic: str | None = None
    """Those of its groups, or those in it; None: all there are."""
    group: str | None = None
    where: str | None = None
    """A condition in Spark SQL over the columns of `letters`."""


def letters(spark: SparkSession, broker: Broker, choice: Choice) -> DataFrame | None:
    """Dead letters as a table; None if there is no topic with any.

    Columns: reason, topic, partition, offset, group (where it failed), deliveries, at, history, id, key, value, tag,
    headers, and letter_topic, letter_partition, letter_offset (where the letter is). Key and value are text.
    """
    from pyspark.sql import functions as F

    names = _topics(broker, choice.topic)
    if not names:
        return None
    rows = broker.read(
        spark, subscribe=",".join(names), startingOffsets="earliest", endingOffsets=_json(ends_of(broker, names)),
        includeHeaders=True,
    ).load()  # fmt: skip
    found = shaped(rows)
    if choice.topic is not None and choice.topic not in names:
        found = found.where(F.col("topic") == choice.topic)
    if choice.group is not None:
        found = found.where(F.col("group") == choice.group)
    return found if choice.where is None else found.where(choice.where)


def shaped(rows: DataFrame) -> DataFrame:
    """Messages of topics with dead letters as the table that `letters` gives."""
    from pyspark.sql import functions as F

    names = ("topic", "partition", "offset")
    moved = rows.select(
        *(F.col(name).alias(f"letter_{name}") for name in names), "id", "key", "value", "tag", "headers"
    )
    told = moved.withColumn("death", F.from_json(header("_dead"), DEATH)).where("death.topic IS NOT NULL")
    return told.select(
        "death.reason", "death.topic", "death.partition", "death.offset", "death.group", "death.deliveries",
        F.timestamp_millis("death.at_ms").alias("at"), "death.history", "id",
        *(F.col(name).cast("string").alias(name) for name in ("key", "value")), "tag", "headers",
        *(f"letter_{name}" for name in names),
    )  # fmt: skip


def run(
    spark: SparkSession,
    broker: Broker,
    choice: Choice,
    *,
    every_ms: int = 3_600_000,
    replay: bool = False,
    rate: float | None = None,
    dry_run: bool = False,
    examples: int = 5,
) -> Summary:
    """Tells what there is; with `replay` sends it back, unless it is a dry run."""
    found = letters(spark, broker, choice)
    if found is None:
        return Summary("dead-letters", {"found": 0})
    found = found.persist()
    tables = {**grouped(found, every_ms), "examples": _examples(found, examples)}
    facts: dict[str, Any] = {"found": found.count()}
    if replay:
        facts |= (
            {"sent_back": 0, "dry_run": True} if dry_run else {"sent_back": send_back(broker, _places(found), rate)}
        )
    found.unpersist()
    return Summary("dead-letters", facts, {name: rows for name, rows in tables.items() if rows})


def grouped(found: DataFrame, every_ms: int) -> dict[str, list[dict[str, Any]]]:
    """How many there are by reason, topic and group, and by time."""
    from pyspark.sql import functions as F

    span = (F.count(F.lit(1)).alias("letters"), F.min("at").alias("first"), F.max("at").alias("last"))
    why = found.groupBy("reason", "topic", "group").agg(*span).orderBy(F.desc("letters"), "reason", "topic", "group")
    start = F.timestamp_millis(F.unix_millis("at") - F.pmod(F.unix_millis("at"), F.lit(every_ms)))
    when = found.groupBy(start.alias("time"), "topic", "group").agg(span[0]).orderBy("time", "topic", "group")
    return {"by_reason": _rows(why), "by_time": _rows(when)}


Place = tuple[str, str, str]
"""The topic that a letter is in, the group, and the id of the message."""


def send_back(broker: Broker, places: Iterable[Place], rate: float | None, pace: Pace | None = None) -> int:
    """Sends dead letters back to where they came from, at most so many a second; returns how many were still there."""
    size, sent = max(1, min(ROUND, int(rate or ROUND))), 0
    pace = pace or Pace(rate)
    with broker.connect() as connection, shown("sending back") as show:
        for topic, group, ids in _rounds(places, size):
            reply = connection.call("MQ.DEAD", "REPLAY", topic, "GROUP", group, "IDS", *ids)
            sent += reply["sent"]
            show(f"{sent:,} dead letters")
            pace.wait(len(ids))
    return sent


def _rounds(places: Iterable[Place], size: int) -> Iterator[tuple[str, str, list[str]]]:
    for (topic, group), several in groupby(places, key=lambda place: place[:2]):
        ids: list[str] = []
        for place in several:
            ids.append(place[2])
            if len(ids) == size:
                yield topic, group, ids
                ids = []
        if ids:
            yield topic, group, ids


def _places(found: DataFrame) -> Iterator[Place]:
    order = ("letter_topic", "group", "letter_partition", "letter_offset")
    return (row[:3] for row in found.orderBy(*order).select("letter_topic", "group", "id").toLocalIterator())


def _topics(broker: Broker, topic: str | None) -> list[str]:
    with broker.connect() as connection:
        dead = sorted(each["name"].decode() for each in connection.call("MQ.TOPIC", "LIST") if each["dead"])
    if topic is None:
        return dead
    return [topic] if topic in dead else dead_topics(broker, topic)


def _examples(found: DataFrame, most: int) -> list[dict[str, Any]]:
    """The newest ones."""
    from pyspark.sql import functions as F

    columns = ("at", "topic", "group", "id", "deliveries", "reason", "key", F.substring("value", 1, 80).alias("value"))
    return _rows(found.orderBy(F.desc("at"), "id").select(*columns), most)


def _rows(frame: DataFrame, most: int = SHOWN) -> list[dict[str, Any]]:
    return [row.asDict() for row in frame.limit(most).collect()]


def _json(value: object) -> str:
    import json

    return json.dumps(value)


def command(
    topic: Annotated[
        str | None, typer.Argument(metavar="[TOPIC]", help="Where they failed, or a topic of dead letters; else all.")
    ] = None,
    group: Annotated[str | None, typer.Option(metavar="GROUP", help="Those of this group only.")] = None,
    where: Annotated[
        str | None, typer.Option(metavar="SQL", help="reason LIKE '%stock%' AND get_json_object(value, '$.amount') > 9")
    ] = None,
    every: Annotated[str, typer.Option(metavar="DURATION", help="The step of the table by time.")] = "1h",
    replay: Annotated[bool, typer.Option("--replay", help="Send them back to where they came from.")] = False,
    rate: Annotated[float | None, typer.Option(metavar="N", help="At most so many a second.", min=0.1)] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell which it would be.")] = False,
    examples: Annotated[int, typer.Option(metavar="N", help="Show so many, the newest first.", min=0)] = 5,
    servers: Servers = None,
    user: User = None,
    password: Password = None,
    master: Master = None,
    conf: Conf = None,
    as_json: Json = False,
) -> None:
    """Dead letters by reason, topic, group and time; with --replay they are sent again, each once."""
    every_ms = duration_ms(every)
    if not every_ms:
        raise InvalidArgument("--every must be above 0")
    if (dry_run or rate is not None) and not replay:
        raise OneMQError("--dry-run and --rate go with --replay")
    with opened(master, "onemq dead-letters", conf) as spark:
        summary = run(
            spark, broker(servers, user, password), Choice(topic, group, where), every_ms=every_ms, replay=replay,
            rate=rate, dry_run=dry_run, examples=examples,
        )  # fmt: skip
        finish(summary, as_json)


def main(argv: Sequence[str] | None = None) -> None:
    """The command line by itself."""
    run_main(command, argv)


if __name__ == "__main__":
    main()
