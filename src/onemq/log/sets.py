"""The payload of a journal entry: one atomic set in bytes.

    0   4   length of the MessagePack part, big-endian; the highest bit is set if it deletes, trims or swaps
    4   ..  MessagePack [creates, deletes, trims, swaps, rows, entries]
            creates  [id, name, partitions, segment bytes, segment ms]
            deletes  topic id
            trims    [topic, partition, first kept offset]
            swaps    [topic, partition, base, new path, [base, size, end, first ms, max ms]]: a cleaned segment
            rows     [topic, partition, base offset, size, CRC-32C, segment base, journaled]: a batch
            entries  the core's own
    ..  ..  the bytes of the journaled batches, in the order of their rows

A batch that is not journaled is in its segment only: written before the journal entry, so a killed
process loses nothing, but not synced with it.
"""

from collections.abc import Iterator, Sequence
from struct import Struct
from typing import Any, NamedTuple

import msgspec

from onemq.log.engine import Batch, WriteSet

_LENGTH = Struct(">I")
_REMOVES = 1 << 31
_encode = msgspec.msgpack.Encoder().encode
_CRC = Struct(">17xI")

RowFields = tuple[int, int, int, int, int, int, bool]
"""A `Row`, where it is only written."""


class Row(NamedTuple):
    """Where a batch belongs, and how to know it."""

    topic: int
    partition: int
    base_offset: int
    size: int
    crc: int
    segment: int
    journaled: bool


class StoredSet(NamedTuple):
    """A set as it was read back."""

    creates: list[Any]
    deletes: list[int]
    trims: list[Any]
    swaps: list[Any]
    rows: list[Any]
    entries: list[list[object]]
    data: memoryview

    def batches(self) -> Iterator[tuple[Row, memoryview | None]]:
        """Each row with the bytes of its batch, if they are in the journal."""
        position = 0
        for fields in self.rows:
            row = Row._make(fields)
            if row.journaled:
                yield row, self.data[position : position + row.size]
                position += row.size
            else:
                yield row, None


def row_of(batch: Batch, segment: int) -> RowFields:
    """The row of a batch that goes to the segment of this base."""
    topic, partition, base_offset, data, journaled = batch
    return topic, partition, base_offset, len(data), _CRC.unpack_from(data)[0], segment, journaled


def encode(writes: WriteSet, rows: Sequence[RowFields], swaps: list[Any]) -> bytes:
    """The payload of a set but for the bytes of its journaled batches, which the caller adds."""
    meta = _encode([writes.creates, writes.deletes, writes.trims, swaps, rows, writes.entries])
    flag = _REMOVES if writes.deletes or writes.trims or swaps else 0
    return _LENGTH.pack(len(meta) | flag) + meta


def removes(payload: memoryview) -> bool:
    """Whether files may be gone because of this set. Tells without decoding it."""
    return payload[0] >= 0x80


def decode(payload: memoryview) -> StoredSet:
    """The reverse of `encode`."""
    (length,) = _LENGTH.unpack_from(payload)
    length &= ~_REMOVES
    meta = msgspec.msgpack.decode(payload[4 : 4 + length])
    return StoredSet._make([*meta, payload[4 + length :]])
