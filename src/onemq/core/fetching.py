"""Fetching: whole batches for those who read in bulk, without the messages that nobody is to see.

Batches without such messages are given as they are stored, and not looked into: nearly always those are all. The
messages that are left of other batches, and those that a filter selects, are sealed anew, with their own offsets and
times.
"""

from collections.abc import Callable
from struct import Struct

from onemq.core.decoding import decode_batch
from onemq.core.filter import Filter
from onemq.core.partition import Partition
from onemq.core.reading import Reading, is_void
from onemq.core.unreadable import Unreadable, UnreadableBatches
from onemq.limits import RECEIVE_BYTES_MAX
from onemq.log.batch import HEADER_BYTES, LENGTH_PREFIX_BYTES, NOT_PERSISTENT, BatchHeader, walk
from onemq.log.batch_builder import BatchBuilder
from onemq.log.records import NO_HEADERS, encode_headers
from onemq.log.stretch import Stretch
from onemq.message import Headers, Record

Then = Callable[[bytes, int], None]
"""Told the batches, and the offset after everything that was looked at."""
WITHOUT_END = 1 << 63
_EXTENT = Struct(">qi9xhi")
"""Of a batch: base offset, length, attributes, last offset delta."""


def fetch(
    reading: Reading,
    partition: Partition,
    offset: int,
    bytes_max: int,
    then: Then,
    until: int = WITHOUT_END,
    filter: Filter | None = None,
) -> None:
    """Batches from the one that holds the offset on, up to the one that holds `until`. Looks at so many bytes at
    most, unless one batch is larger, and at fewer where each message must be looked at: there may be none among them
    that is wanted, and still more behind. Messages before the offset or from `until` on may be given, too, and batches
    whose records cannot be decoded, unless each message must be looked at. Raises `OffsetOutOfRange`, `Corrupt`."""
    deleted = partition.deleted
    sifted = filter is not None or (deleted is not None and deleted.high > offset)
    start = offset
    if deleted is not None and deleted.is_done(offset):
        # Else all that was deleted would be read.
        start = min(deleted.next_live(offset), partition.end, max(until, offset))
    if sifted:
        bytes_max = min(bytes_max, RECEIVE_BYTES_MAX)

    def found(data: bytes) -> None:
        whole = None if sifted else _whole(partition, data, until)
        if not data:
            then(b"", partition.end)
        elif whole is not None:
            then(data[: whole[0]], whole[1])
        else:
            sieve = _Sieve(partition, data, offset, filter, reading.unreadable)
            sieve.take_all(until)
            then(sieve.batches(), sieve.next_offset)

    if start >= until and partition.start <= start <= partition.end:
        then(b"", start)
    else:
        reading.batches(partition, start, bytes_max, found)


def fetch_unread(reading: Reading, partition: Partition, offset: int, bytes_max: int) -> tuple[Stretch, int] | None:
    """What `fetch` without `until` and filter would give, or some less, where nobody need look at it; else None."""
    deleted = partition.deleted
    if deleted is not None and deleted.high > offset:
        return None
    return reading.stretch(partition, offset, bytes_max)


def _whole(partition: Partition, data: bytes, until: int) -> tuple[int, int] | None:
    """Where in the data the batches end that are to be given, and the offset to go on at. None if any is void: this
    is the quick way for batches that are given as they are, of which there may be very many."""
    unpack, boot, next_offset = _EXTENT.unpack_from, partition.boot, 0
    position, end = 0, len(data) - HEADER_BYTES
    while position <= end:
        base_offset, length, attributes, last_delta = unpack(data, position)
        if base_offset >= until:
            return position, base_offset
        if attributes & NOT_PERSISTENT and base_offset < boot:
            return None
        position += LENGTH_PREFIX_BYTES + length
        next_offset = base_offset + last_delta + 1
    return position, next_offset


class _Sieve:
    """Goes through batches that were read, and gathers what is to be given of them."""

    def __init__(
        self, partition: Partition, data: bytes, offset: int, filter: Filter | None, unreadable: UnreadableBatches
    ) -> None:
        self._partition = partition
        self._unreadable = unreadable
        self._data = data
        self._offset = self.next_offset = offset
        self._filter = filter
        self._given: list[bytes] = []
        self._whole_from = self._whole_to = 0
        """Where batches lie that are given as they are, and not put to the others yet."""
        self._builder: BatchBuilder | None = None

    def take_all(self, until: int) -> None:
        for position, header in walk(self._data):
            if header.base_offset >= until:
                self.next_offset = header.base_offset
                return
            try:
                self._take(position, header)
            except Unreadable as damage:  # it holds nothing for those who want single messages
                self._unreadable.note(self._partition, damage)
            self.next_offset = header.next_offset

    def batches(self) -> bytes:
        """All that was gathered."""
        self._end_whole()
        self._end_built()
        return b"".join(self._given)

    def _take(self, position: int, header: BatchHeader) -> None:
        if is_void(self._partition, header):
            return
        deleted, first = self._partition.deleted, max(header.base_offset, self._offset)
        if self._filter is None and (deleted is None or not deleted.has_done(first, header.next_offset)):
            self._end_built()
            if self._whole_to != position:
                self._end_whole()
                self._whole_from = position
            self._whole_to = position + header.size
            return
        self._build([record for record in self._selected(position, header) if record[0] >= first], header)

    def _selected(self, position: int, header: BatchHeader) -> list[Record]:
        records = decode_batch(self._data, position, header)
        deleted = self._partition.deleted
        if deleted is not None:
            records = [record for record in records if not deleted.is_done(record[0])]
        return records if self._filter is None else self._filter.select(records)

    def _build(self, records: list[Record], header: BatchHeader) -> None:
        if not records:
            return
        self._end_whole()
        if self._builder is None:
            self._builder = BatchBuilder(records[0][0], header.base_timestamp_ms)
        builder = self._builder
        last: Headers = ()
        block = NO_HEADERS
        for offset, timestamp_ms, key, value, headers in records:
            if headers is not last:  # messages of one kind share theirs
                last, block = headers, encode_headers(headers) if headers else NO_HEADERS
            builder.skip_to(offset)
            builder.add(timestamp_ms, key, value, block)

    def _end_whole(self) -> None:
        if self._whole_from < self._whole_to:
            self._given.append(self._data[self._whole_from : self._whole_to])
        self._whole_from = self._whole_to

    def _end_built(self) -> None:
        if self._builder is not None:
            self._given.append(self._builder.seal())
            self._builder = None
