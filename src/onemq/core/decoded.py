"""Decoded batches: large batches of which parts are read again and again, kept as records for a while.

What somebody sent in one pipeline is one batch. Those who read it ten messages at a time, or look up single ones, would
have it read, checked and passed through for each part. So after a few parts all of it is decoded, once. The last few
such batches are kept, up to a number of bytes, as long as somebody reads them.
"""

from bisect import bisect_left, bisect_right, insort
from collections import OrderedDict
from contextlib import suppress
from operator import itemgetter

from onemq.core.decoding import decode_batch
from onemq.core.measure import bytes_of
from onemq.core.partition import Partition
from onemq.core.unreadable import Unreadable
from onemq.limits import DECODED_BYTES_MAX
from onemq.log.batch import BatchHeader
from onemq.message import Record

RECORDS_MIN = 64
"""Smaller batches are decoded in no time."""
_PARTS = 3
"""After so many, the whole batch is decoded."""
_KNOWN_MAX = 64
"""Of so many batches it is known how many parts were read."""

_offset_of = itemgetter(0)


class DecodedBatch:
    """The records of one batch."""

    __slots__ = ("_base_offset", "_is_dense", "_records", "next_offset", "size", "used")

    def __init__(self, records: list[Record], base_offset: int, next_offset: int) -> None:
        self._records = records
        self._base_offset = base_offset
        self._is_dense = len(records) == next_offset - base_offset
        self.next_offset = next_offset
        self.size = bytes_of(records)
        self.used = True
        """Whether it was since the last look."""

    def _index(self, offset: int) -> int:
        """Where the records from an offset on begin."""
        if self._is_dense:
            return min(max(offset - self._base_offset, 0), len(self._records))
        return bisect_left(self._records, offset, key=_offset_of)

    def first(self, offset: int, most: int) -> tuple[list[Record], int]:
        """Up to so many records from an offset on, and the offset behind them."""
        at = self._index(offset)
        found = self._records[at : at + most]
        return found, found[-1][0] + 1 if len(found) == most else self.next_offset

    def at(self, offsets: list[int]) -> list[Record]:
        """The records at ascending offsets, without those that are not there."""
        found = self._records[self._index(offsets[0]) : self._index(offsets[-1] + 1)]
        if len(found) == len(offsets) == offsets[-1] + 1 - offsets[0]:
            return found
        wanted = set(offsets)
        return [record for record in found if record[0] in wanted]


class DecodedBatches:
    """Those of all partitions that were read lately."""

    __slots__ = ("_bases", "_batches", "_bytes", "_parts")

    def __init__(self) -> None:
        self._batches: OrderedDict[tuple[Partition, int], DecodedBatch] = OrderedDict()
        """By their first offsets, the oldest first."""
        self._bases: dict[Partition, list[int]] = {}
        """Their first offsets, ascending."""
        self._bytes = 0
        self._parts: OrderedDict[tuple[Partition, int], int] = OrderedDict()

    def holding(self, partition: Partition, offset: int) -> DecodedBatch | None:
        """The batch that spans an offset, if it is here."""
        bases = self._bases.get(partition)
        if bases is None or offset < bases[0]:
            return None
        batch = self._batches[partition, bases[bisect_right(bases, offset) - 1]]
        if offset >= batch.next_offset:
            return None
        batch.used = True
        return batch

    def part_of(
        self, partition: Partition, data: bytes, position: int, header: BatchHeader, most: int
    ) -> DecodedBatch | None:
        """Told of each batch of which no more than so many messages are needed. All of it, if it is worth while now."""
        if header.record_count < max(RECORDS_MIN, most + 1) or header.size > DECODED_BYTES_MAX:
            return None
        place = (partition, header.base_offset)
        parts = self._parts.pop(place, 0) + 1
        if parts < _PARTS:
            self._parts[place] = parts
            if len(self._parts) > _KNOWN_MAX:
                self._parts.popitem(last=False)
            return None
        with suppress(Unreadable):  # what is needed of it may be readable
            batch = DecodedBatch(decode_batch(data, position, header), header.base_offset, header.next_offset)
            self._keep(place, batch)
            return batch
        return None

    def _keep(self, place: tuple[Partition, int], batch: DecodedBatch) -> None:
        if place in self._batches:  # it has grown since
            self._drop(place)
        self._batches[place] = batch
        self._bytes += batch.size
        insort(self._bases.setdefault(place[0], []), place[1])
        while self._bytes > DECODED_BYTES_MAX:
            self._drop(next(iter(self._batches)))

    def _drop(self, place: tuple[Partition, int]) -> None:
        self._bytes -= self._batches.pop(place).size
        partition, base_offset = place
        bases = self._bases[partition]
        del bases[bisect_left(bases, base_offset)]
        if not bases:
            del self._bases[partition]

    def forget_unused(self) -> None:
        """Lets go of those that nobody has read since the last time."""
        for place, batch in list(self._batches.items()):
            if batch.used:
                batch.used = False
            else:
                self._drop(place)

    def forget(self) -> None:
        """Lets go of all: what lies in the log may have changed."""
        self._batches.clear()
        self._bases.clear()
        self._parts.clear()
        self._bytes = 0
