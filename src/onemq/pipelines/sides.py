"""The two sides of the books: messages of topics, archives, groups and dead letters, in one form.

| text | messages |
|---|---|
| `topic:orders` | those of a topic |
| `group:orders/points` | those of a topic that a group has acknowledged, and that are no dead letters of it |
| `archive:/lake`, `archive:/lake#orders` | those of Parquet files, all or of one topic |
| `dead:orders`, `dead:orders/points` | the dead letters of a topic's groups, or of one group |
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onemq.errors import InvalidArgument
from onemq.pipelines.archived import read
from onemq.pipelines.broker import Broker
from onemq.pipelines.fields import field, header, identity
from onemq.pipelines.files import Files
from onemq.pipelines.store import ABOUT

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

KINDS = ("topic", "group", "archive", "dead")
RESENT = "resent-from"
"""The header of a message that was sent again: the place of the one that was lost."""
Ends = dict[str, dict[str, int]]
"""Topic -> partition -> offset."""
PLACE = ("timestamp", "topic", "partition", "offset")
BODY = ("value", "key", "tag", "headers")
BIN = 4096
"""Ranges of offsets are cut into bins of this length, so that a message is compared with few of them."""
Runs = list[tuple[int, int, int]]
"""(partition, first offset, last offset)"""
DEATH = "reason string, topic string, partition int, offset bigint, `group` string, deliveries int, at_ms bigint"


@dataclass(frozen=True, slots=True)
class Side:
    """One side of the books."""

    kind: str
    name: str
    """A topic, or the URL of an archive."""
    part: str | None = None
    """The group, or the topic within an archive."""

    def __str__(self) -> str:
        joint = "#" if self.kind == "archive" else "/"
        return f"{self.kind}:{self.name}{joint + self.part if self.part else ''}"

    @property
    def is_ordered(self) -> bool:
        """Whether it tells in which order messages were handled: a group only tells which."""
        return self.kind in ("topic", "archive")


def parse_side(text: str) -> Side:
    """Raises `InvalidArgument`."""
    kind, colon, rest = text.partition(":")
    if kind not in KINDS or not colon or not rest:
        raise InvalidArgument(f"{text!r} is no side: write topic:T, group:T/G, archive:URL, archive:URL#T, dead:T/G")
    joint = "#" if kind == "archive" else "/"
    name, found, part = (rest, "", "") if kind == "topic" else rest.rpartition(joint)
    if kind == "group" and not (name and part):
        raise InvalidArgument(f"{text!r} names no group: write group:TOPIC/GROUP")
    return Side(kind, name, part) if found and name else Side(kind, rest)


class Sides:
    """Loads sides. All DataFrames have the columns of PLACE and BODY, `id`, `identity`, `line` and `resent`."""

    def __init__(self, spark: SparkSession, broker: Broker, by: Sequence[str], order_by: str) -> None:
        self._spark = spark
        self._broker = broker
        self._by = by
        self._order_by = order_by

    def load(self, side: Side) -> DataFrame:
        """The messages of a side."""
        if side.kind == "topic":
            return self._topic(side.name)
        if side.kind == "archive":
            return self._archive(side)
        return self.letters(side.name, side.part) if side.kind == "dead" else self.group(side)[0]

    def group(self, side: Side) -> tuple[DataFrame, DataFrame]:
        """What a group has acknowledged, without its dead letters, and what is open. Of messages with the same id, a
        dead letter that was sent again and its original, the last one tells."""
        from pyspark.sql import functions as F

        assert side.part is not None
        runs, ends = backlog(self._broker, side.name, side.part)
        rows = _last_of_each(self._messages({side.name: ends}))
        ranges, is_in = ranges_of(self._spark, runs)
        letters = self.letters(side.name, side.part).select(F.col("origin").alias("place"))
        place = F.concat_ws("-", "topic", "partition", "offset")
        done = rows.join(ranges, is_in, "left_anti").withColumn("place", place)
        return done.join(letters, "place", "left_anti").drop("place"), rows.join(ranges, is_in, "left_semi")

    def letters(self, topic: str, group: str | None) -> DataFrame:
        """Dead letters of a topic, with `reason`, and the place that they had there as `origin`."""
        from pyspark.sql import functions as F

        names = dead_topics(self._broker, topic)
        if not names:
            empty = self._spark.createDataFrame([], self._topic(topic).schema)
            return empty.withColumns({"reason": F.lit(None).cast("string"), "origin": F.lit(None).cast("string")})
        death = F.from_json(header("_dead"), DEATH)
        rows = (
            self._messages(ends_of(self._broker, names)).withColumn("death", death).where(F.col("death.topic") == topic)
        )
        rows = rows.where(F.col("death.group") == group) if group is not None else rows
        origin = F.concat_ws("-", "death.topic", "death.partition", "death.offset")
        return rows.withColumns({"reason": F.col("death.reason"), "origin": origin}).drop("death")

    def _topic(self, name: str) -> DataFrame:
        return self._messages(ends_of(self._broker, [name]))

    def _messages(self, ends: Ends) -> DataFrame:
        """Up to these ends, however often and whenever Spark reads them."""
        reader = self._broker.read(
            self._spark, subscribe=",".join(ends), includeHeaders=True, startingOffsets="earliest",
            endingOffsets=json.dumps(ends),
        )  # fmt: skip
        return self._named(reader.load())

    def _archive(self, side: Side) -> DataFrame:
        from pyspark.sql import functions as F

        rows = _archived(self._spark, side)
        missing = [name for name in ("value", *PLACE) if name not in rows.columns]
        if missing:
            raise InvalidArgument(f"{side} is no archive of messages: it has no column {', '.join(missing)}")
        kinds = {"key": "binary", "tag": "string", "headers": "array<struct<key:string,value:binary>>", "id": "string"}
        rows = rows.withColumns(
            {name: F.lit(None).cast(kind) for name, kind in kinds.items() if name not in rows.columns}
        )
        return self._named(rows)

    def _named(self, rows: DataFrame) -> DataFrame:
        """With the business key as `identity`, what is kept in order as `line`, and whether it was sent again."""
        from pyspark.sql import functions as F

        place = F.concat_ws("-", "topic", "partition", "offset")
        made = {
            "identity": identity(self._by),
            "line": field(self._order_by),
            "resent": header(RESENT),
            "id": F.coalesce("id", place),
        }
        return rows.withColumns(made).select(*PLACE, *BODY, *made)


def _archived(spark: SparkSession, side: Side) -> DataFrame:
    """The messages of an archive, or of any Parquet files that have such columns."""
    from pyspark.sql import functions as F

    if Files(spark, side.name).exists(ABOUT):
        return read(spark, side.name, None if side.part is None else [side.part])
    rows = spark.read.parquet(side.name)
    return rows if side.part is None else rows.where(F.col("topic") == side.part)


def ranges_of(spark: SparkSession, runs: Runs) -> tuple[DataFrame, Column]:
    """Ranges of offsets, and the condition that a message is in one of them."""
    from pyspark.sql import functions as F

    cut = [
        (partition, number, max(first, number * BIN), min(last, number * BIN + BIN - 1))
        for partition, first, last in runs
        for number in range(first // BIN, last // BIN + 1)
    ]
    rows = F.broadcast(spark.createDataFrame(cut, "of int, bin bigint, first bigint, last bigint"))
    is_near = (F.col("partition") == F.col("of")) & (F.floor(F.col("offset") / BIN) == F.col("bin"))
    return rows, is_near & F.col("offset").between(F.col("first"), F.col("last"))


def backlog(broker: Broker, topic: str, group: str) -> tuple[Runs, dict[str, int]]:
    """Everything that a group has not acknowledged, and where the partitions ended then."""
    runs: Runs = []
    ends: dict[str, int] = {}
    with broker.connect() as connection:
        for partition in range(len(connection.call("MQ.GROUP", "INFO", topic, group)["partitions"])):
            further: int | None = 0
            while further is not None:
                reply = connection.call("MQ.GROUP", "BACKLOG", topic, group, partition, "FROM", further)
                edges, further = reply["ranges"], reply["next"]
                runs += [(partition, *edges[at : at + 2]) for at in range(0, len(edges), 2)]
            ends[str(partition)] = reply["end"]
    return runs, ends


def is_beyond(ends: Mapping[str, int]) -> Column:
    """Whether a message is at the end of its partition or behind it."""
    from pyspark.sql import functions as F

    known = F.create_map(*(F.lit(int(each)) for pair in ends.items() for each in pair)).cast("map<int,bigint>")
    return F.coalesce(F.col("offset") >= F.try_element_at(known, F.col("partition")), F.lit(True))


def ends_of(broker: Broker, topics: Sequence[str]) -> Ends:
    """Where the partitions of topics end now."""
    with broker.connect() as connection:
        return {topic: {str(place[0]): place[2] for place in connection.call("MQ.OFFSETS", topic)} for topic in topics}


def dead_topics(broker: Broker, topic: str) -> list[str]:
    """The topics with dead letters of a topic's groups, those of groups that are gone included."""
    with broker.connect() as connection:
        listed = connection.call("MQ.TOPIC", "LIST")
        dead = {each["name"].decode() for each in listed if each["dead"]}
        groups = [each["name"] for each in connection.call("MQ.GROUP", "LIST", topic)]
        named = {connection.call("MQ.GROUP", "INFO", topic, group)["dead"].decode() for group in groups}
    return sorted(name for name in dead if name in named or name.startswith(f"{topic}."))


def _last_of_each(rows: DataFrame) -> DataFrame:
    """Of messages with the same id the last one."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    line = Window.partitionBy("id").orderBy(*(F.desc(name) for name in PLACE))
    return rows.withColumn("turn", F.row_number().over(line)).where("turn = 1").drop("turn")


def union(frames: Sequence[DataFrame]) -> DataFrame:
    """All rows of several frames."""
    first, *rest = frames
    for frame in rest:
        first = first.unionByName(frame, allowMissingColumns=True)
    return first
