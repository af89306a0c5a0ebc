"""Batch reads: what is there when the query is planned, or a part of it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from onemq.errors import NotFound
from pyspark_onemq.catalog import Extent, extents, resolve
from pyspark_onemq.connection import Connection
from pyspark_onemq.loss import Losses
from pyspark_onemq.options import Bound, ReadOptions
from pyspark_onemq.planning import Range, plan
from pyspark_onemq.tasks import connect, read, tasks_of

if TYPE_CHECKING:
    import pyarrow


class OneMQReader(DataSourceReader):
    """Made on the driver, which calls `partitions`; a pickled copy of it reads on the executors."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        options = self._options
        with connect(options.server) as connection:
            found = _extents_at(connection, options, options.starting("earliest"))
            if not found:
                raise NotFound(f"no topic matches subscribePattern {options.topics.pattern!r}")
            starts = resolve(options.starting("earliest"), found).next
            ends = resolve(options.end, _extents_at(connection, options, options.end)).next
        losses = Losses(options.fail_on_data_loss)
        ranges = []
        for each in found:
            first = losses.first_readable(each, starts[each.place])
            end = ends.get(each.place, first)
            if end > each.end and options.end.offsets is not None:
                losses.end_missing(each, end)
                end = each.end
            ranges.append(Range(each.topic, each.topic_id, each.number, first, end))
        return tasks_of(plan(ranges, options.partitions_min), options)

    def read(self, partition: InputPartition) -> "Iterator[pyarrow.RecordBatch]":
        return read(partition)


def _extents_at(connection: Connection, options: ReadOptions, bound: Bound) -> list[Extent]:
    return extents(connection, options.topics, time_ms=bound.time_ms)
