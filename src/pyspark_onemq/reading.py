"""What an executor does to read: fetches its ranges from the broker and gives Spark Arrow batches.

A task knows everything from its `ReadTask`, and has one connection, which it closes. While a page is decoded the next
one is fetched by a thread.
"""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pyarrow
from pyspark.sql.datasource import InputPartition
from pyspark.sql.pandas.types import to_arrow_schema

from onemq.errors import OneMQError
from onemq.log.batch import walk
from onemq.memory import keep_large_blocks
from pyspark_onemq.bodies import Bodies
from pyspark_onemq.catalog import extents_there
from pyspark_onemq.columns import body_schema, message_schema, table_schema
from pyspark_onemq.connection import Connection, Refused, Word
from pyspark_onemq.decoding import decode
from pyspark_onemq.loss import Losses
from pyspark_onemq.options import ReadOptions
from pyspark_onemq.planning import Range
from pyspark_onemq.tasks import ReadTask, connect

PAGE_BYTES = 4 << 20
Page = tuple[Range, int, int, bytes]
"""A range, the offset that was asked for, where to go on, and the record batches."""


def rows(partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
    """The rows of one task."""
    if not isinstance(partition, ReadTask):  # Spark's own, of a read without any
        return
    keep_large_blocks()
    options = partition.options
    schema = to_arrow_schema(message_schema(options), timezone="UTC")
    body = body_schema(options)
    bodies = None if body is None else Bodies(body, to_arrow_schema(table_schema(options), timezone="UTC"))
    with connect(options.server) as connection:
        losses = Losses(options.fail_on_data_loss)
        for page in _Pages(connection, options, losses).of(partition.ranges):
            for found in decoded(page, schema, losses):
                if found.num_rows:
                    yield found if bodies is None else bodies.expand(found)


def decoded(page: Page, schema: pyarrow.Schema, losses: Losses) -> Iterator[pyarrow.RecordBatch]:
    """The messages of a page, without batches that cannot be decoded, which are a loss."""
    range, first, next_offset, batches = page

    def messages(data: bytes) -> pyarrow.RecordBatch:
        end = min(next_offset, range.end)
        return decode(data, first, end, range.topic, range.partition, range.topic_id, schema)

    try:
        yield messages(batches)
    except OneMQError:
        for position, header in walk(batches):
            try:
                yield messages(batches[position : position + header.size])
            except OneMQError as problem:
                where = f"{range.topic}/{range.partition}"
                losses.unreadable(where, header.base_offset, header.next_offset, problem)


class _Pages:
    """Fetches the ranges of a task one page after the other."""

    def __init__(self, connection: Connection, options: ReadOptions, losses: Losses) -> None:
        self._connection = connection
        self._filter: tuple[Word, ...] = () if options.filter is None else ("FILTER", options.filter)
        self._losses = losses

    def of(self, ranges: list[Range]) -> Iterator[Page]:
        with ThreadPoolExecutor(1) as ahead:
            left = iter(self._readable(ranges))
            page = self._next(ahead, left, None)
            while page is not None:
                got = page.result()
                page = self._next(ahead, left, got)
                if got[3]:
                    yield got

    def _next(self, ahead: ThreadPoolExecutor, left: Iterator[Range], got: Page | None) -> "Future[Page] | None":
        """Starts fetching what comes after a page: the rest of its range, or the next one."""
        if got is not None and got[2] < got[0].end:
            return ahead.submit(self._fetch, got[0], got[2])
        range = next(left, None)
        return None if range is None else ahead.submit(self._fetch, range, range.first)

    def _fetch(self, range: Range, offset: int) -> Page:
        try:
            reply = self._connection.insist(
                "MQ.FETCH", range.topic, range.partition, offset, "MAXBYTES", PAGE_BYTES, "UNTIL", range.end,
                *self._filter,
            )  # fmt: skip
        except Refused as refused:
            if refused.word not in ("OUTOFRANGE", "NOTOPIC"):
                raise
            rest = Range(range.topic, range.topic_id, range.partition, offset, range.end)
            again = self._readable([rest])
            if again == [rest]:
                raise
            return (range, offset, again[0].first if again else range.end, b"")
        if reply["next"] <= offset:  # the partition ends before the range does
            self._readable([Range(range.topic, range.topic_id, range.partition, offset, range.end)])
            return (range, offset, range.end, b"")
        return (range, offset, reply["next"], reply["batches"])

    def _readable(self, ranges: list[Range]) -> list[Range]:
        """The ranges without what is gone, which is a loss."""
        there = extents_there(self._connection, {each.topic for each in ranges})
        extents = {each.place: each for each in there}
        readable = []
        for range in ranges:
            extent = extents.get((range.topic, range.partition))
            if extent is None:
                self._losses.topic_gone(range.topic)
            elif extent.topic_id != range.topic_id:
                self._losses.topic_made_again(range.topic, range.topic_id, extent.topic_id)
            else:
                first = self._losses.first_readable(extent, range.first)
                if extent.end < range.end:
                    self._losses.end_missing(extent, range.end)
                end = min(range.end, extent.end)
                readable.append(Range(range.topic, range.topic_id, range.partition, min(first, end), end))
        return [each for each in readable if each.size > 0]
