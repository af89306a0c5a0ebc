"""Windows over event time, as DataFrames: which windows a row belongs to, which rows come too late, what is closed.

Times are milliseconds since 1970. A piece is a part of a window: its bounds, the group, and aggregates that can be
merged. A row is a piece, an open window is one, and merging pieces gives pieces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onemq.errors import InvalidArgument
from onemq.pipelines.fields import check_field, field, name_of, names_of, number

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

_AGGREGATE = re.compile(r"(sum|avg|min|max|count)\((.+)\)")
_MERGE = {"sum": "sum", "count": "sum", "min": "min", "max": "max"}
"""How parts of one aggregate become one."""
BOUNDS = ("start_ms", "end_ms")
RESULT = ("window_start", "window_end", "count")


@dataclass(frozen=True, slots=True)
class Shape:
    """Tumbling windows of a size; sliding ones that begin every `slide_ms`; or sessions that end after a gap."""

    size_ms: int = 0
    slide_ms: int = 0
    gap_ms: int = 0

    @property
    def is_session(self) -> bool:
        return self.gap_ms > 0


def shape(size_ms: int | None, slide_ms: int | None, gap_ms: int | None) -> Shape:
    """Checks what was asked for; raises `InvalidArgument`."""
    if gap_ms is not None and size_ms is None and slide_ms is None and gap_ms > 0:
        return Shape(gap_ms=gap_ms)
    if gap_ms is not None or not size_ms:
        raise InvalidArgument("give either --size (and --slide for windows that overlap) or --gap for sessions")
    slide_ms = size_ms if slide_ms is None else slide_ms
    if not 0 < slide_ms <= size_ms:
        raise InvalidArgument("--slide must be above 0 and not longer than --size: else messages fall between windows")
    return Shape(size_ms, slide_ms)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`sum(amount)`: what to compute of which field."""

    function: str
    field: str

    @property
    def name(self) -> str:
        return f"{self.function}_{name_of(self.field)}"

    @property
    def parts(self) -> list[str]:
        """What is kept of it while a window is open."""
        return ["sum", "count"] if self.function == "avg" else [self.function]


def parse_aggregate(text: str) -> Aggregate:
    """Raises `InvalidArgument`."""
    match = _AGGREGATE.fullmatch(text.replace(" ", ""))
    if match is None:
        raise InvalidArgument(f"{text!r} is no aggregate: write sum(field), avg, min, max or count of a field")
    return Aggregate(match[1], check_field(match[2]))


class Plan:
    """What to compute: over which windows, by which fields, which aggregates."""

    def __init__(self, shape: Shape, time: str, by: Sequence[str] = (), aggregates: Sequence[Aggregate] = ()) -> None:
        self.shape = shape
        self.time = check_field(time)
        self.by = [check_field(each) for each in by]
        self.groups = names_of(self.by, (*RESULT, *BOUNDS, "message", "event_ms"))
        self.aggregates = aggregates
        self._parts = [
            (f"part{index}_{part}", part, each) for index, each in enumerate(aggregates) for part in each.parts
        ]

    def __str__(self) -> str:
        """The same for plans that compute the same."""
        return " ".join([str(self.shape), self.time, *self.by, *map(str, self.aggregates)])

    @property
    def schema(self) -> StructType:
        """Of pieces."""
        from pyspark.sql.types import StructType

        schema = StructType()
        for name in self.groups:
            schema = schema.add(name, "string")
        for name in (*BOUNDS, "count"):
            schema = schema.add(name, "long")
        for name, part, _ in self._parts:
            schema = schema.add(name, "long" if part == "count" else "double")
        return schema

    def split(self, messages: DataFrame, state: DataFrame, before_ms: int) -> tuple[DataFrame, DataFrame]:
        """Pieces of windows, those of the state among them, and the messages that came too late for one.

        `messages` have their event time in `event_ms`. What ended at `before_ms` or earlier was given out and is
        closed. The late ones have the column `windows_missed`: a message may be too late for one sliding window and
        in time for the next.
        """
        return (
            self._split_sessions(messages, state, before_ms)
            if self.shape.is_session
            else self._split_fixed(messages, state, before_ms)
        )

    def merge(self, pieces: DataFrame) -> DataFrame:
        """One piece for each window and group."""
        from pyspark.sql import functions as F

        window = ["island"] if "island" in pieces.columns else list(BOUNDS)
        merged = [_merged(part)(name).alias(name) for name, part, _ in self._parts]
        bounds = [F.min("start_ms").alias("start_ms"), F.max("end_ms").alias("end_ms")] if window == ["island"] else []
        rows = pieces.groupBy(*self.groups, *window).agg(F.sum("count").alias("count"), *bounds, *merged)
        return rows.select(*self.schema.names)

    def results(self, pieces: DataFrame) -> DataFrame:
        """Pieces as people want to see them."""
        from pyspark.sql import functions as F

        bounds = [F.timestamp_millis(each).alias(name) for each, name in zip(BOUNDS, RESULT, strict=False)]
        names = names_of([each.name for each in self.aggregates], (*RESULT, *self.groups))
        values = [self._value(index).alias(name) for index, name in enumerate(names)]
        return pieces.select(*bounds, *self.groups, "count", *values)

    def _value(self, index: int) -> Column:
        from pyspark.sql import functions as F

        function = self.aggregates[index].function
        if function != "avg":
            return F.col(f"part{index}_{function}")
        return F.try_divide(f"part{index}_sum", f"part{index}_count")

    def _split_fixed(self, messages: DataFrame, state: DataFrame, before_ms: int) -> tuple[DataFrame, DataFrame]:
        from pyspark.sql import functions as F

        size, slide, time = self.shape.size_ms, self.shape.slide_ms, F.col("event_ms")
        first = time - size - F.pmod(time - size, F.lit(slide)) + slide
        starts = F.sequence(first, time - F.pmod(time, F.lit(slide)), F.lit(slide).cast("bigint"))
        missed = F.size(F.filter(starts, lambda start: start + size <= before_ms))
        late = messages.withColumn("windows_missed", missed).where("windows_missed > 0")
        open_starts = F.filter(starts, lambda start: start + size > before_ms)
        pieces = self._pieces(messages.withColumn("start_ms", F.explode(open_starts)), size)
        return state.unionByName(pieces.select(*self.schema.names)), late

    def _split_sessions(self, messages: DataFrame, state: DataFrame, before_ms: int) -> tuple[DataFrame, DataFrame]:
        from pyspark.sql import functions as F

        message = F.struct(*messages.columns).alias("message")
        alone = self._pieces(messages.withColumn("start_ms", F.col("event_ms")), self.shape.gap_ms, message)
        pieces = self._with_islands(alone.unionByName(state, allowMissingColumns=True))
        is_late = F.col("closing_ms") <= before_ms
        late = pieces.where(is_late).select("message.*", F.lit(1).alias("windows_missed"))
        return pieces.where(~is_late).drop("message", "closing_ms"), late

    def _with_islands(self, pieces: DataFrame) -> DataFrame:
        """Pieces of one group that touch or overlap, directly or through others, are an island: a session.

        Pieces with the same bounds are peers: the sum over their range gives all of them the same number.
        """
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        group = Window.partitionBy(*self.groups) if self.groups else Window.partitionBy(F.lit(0))
        line = group.orderBy(*BOUNDS)
        reached = F.max("end_ms").over(line.rowsBetween(Window.unboundedPreceding, -1))
        begins = F.when(F.col("start_ms") <= reached, 0).otherwise(1)
        numbered = pieces.withColumn("begins", begins).withColumn(
            "island", F.sum("begins").over(line.rangeBetween(Window.unboundedPreceding, Window.currentRow))
        )
        island = Window.partitionBy(*self.groups, "island")
        return numbered.withColumn("closing_ms", F.max("end_ms").over(island)).drop("begins")

    def _pieces(self, messages: DataFrame, length_ms: int, *kept: Column) -> DataFrame:
        """Messages with `start_ms`, as pieces."""
        from pyspark.sql import functions as F

        groups = [field(text).alias(name) for name, text in zip(self.groups, self.by, strict=True)]
        parts = [_part(part, each).alias(name) for name, part, each in self._parts]
        end, one = (F.col("start_ms") + length_ms).alias("end_ms"), F.lit(1).cast("bigint").alias("count")
        return messages.select(*groups, "start_ms", end, one, *parts, *kept)


def _part(part: str, aggregate: Aggregate) -> Column:
    from pyspark.sql import functions as F

    value = number(aggregate.field)
    if part != "count":
        return value
    present = field(aggregate.field) if aggregate.function == "count" else value
    return F.when(present.isNotNull(), 1).otherwise(0).cast("bigint")


def _merged(part: str) -> Callable[[str], Column]:
    from pyspark.sql import functions as F

    function: Callable[[str], Column] = getattr(F, _MERGE[part])
    return function
