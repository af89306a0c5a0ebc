"""Record batches: the one storage format, Kafka's v2, in segments, in memory and on Kafka's wire.

    offset  size  field
    0       8     base offset                  big-endian throughout
    8       4     length of what follows this field
    12      4     partition leader epoch       0; -1: sealed by a producer, and stored as it came
    16      1     magic                        2
    17      4     CRC-32C of everything from the attributes on
    21      2     attributes                   bits 0-2 compression, 3 timestamp type, 4 transactional,
                                               5 control, 14 not persistent (ours; others ignore it)
    23      4     last offset delta
    27      8     base timestamp, ms
    35      8     maximum timestamp, ms
    43      8     producer id                  -1: none
    51      2     producer epoch               -1: none
    53      4     base sequence                -1: none
    57      4     number of records
    61      ...   records                      drawn in records.py

The base offset and the epoch lie before the CRC'd part, so a ready-made batch is placed by
rewriting its first eight bytes only.
"""

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

from onemq.errors import Corrupt, InvalidArgument

Buffer = bytes | bytearray | memoryview

HEADER = Struct(">qiiBIhiqqqhii")
HEADER_BYTES = HEADER.size
LENGTH_PREFIX_BYTES = 12
MAGIC = 2
NOT_PERSISTENT = 1 << 14
COMPRESSION_MASK = 7
STAMPED = 1 << 3
"""All records have the time at which the batch was stored, its maximum timestamp (Kafka's LogAppendTime)."""
TRANSACTIONAL, CONTROL = 1 << 4, 1 << 5
NO_PRODUCER = (-1, -1, -1)
FOREIGN_EPOCH = -1
"""In place of the epoch of batches that are stored as their producer sealed them. Kafka's clients take it for none."""

PREFIX = Struct(">qiiBI")
"""What lies before the part that has a checksum."""
CHECKED = Struct(">hiqqqhii")
"""What that part has before the records."""
CHECKED_AT = 21
_OFFSET = Struct(">q")
_PLACE = Struct(">qii")
_EXTENT = Struct(">q15xiqq")


class BatchHeader(NamedTuple):
    """The 61 bytes in front of a batch's records."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        """Bytes of the whole batch."""
        return LENGTH_PREFIX_BYTES + self.length

    @property
    def next_offset(self) -> int:
        """The offset after the last one that this batch covers."""
        return self.base_offset + self.last_offset_delta + 1


def read_header(data: Buffer, position: int = 0) -> BatchHeader:
    """The header at `position`; there must be 61 bytes."""
    return tuple.__new__(BatchHeader, HEADER.unpack_from(data, position))  # as _make, at half the cost


def read_extent(data: Buffer, position: int = 0) -> tuple[int, int, int, int]:
    """(base offset, next offset, base timestamp, maximum timestamp): what placing a batch needs, quickly."""
    base_offset, last_offset_delta, base_ms, max_ms = _EXTENT.unpack_from(data, position)
    return base_offset, base_offset + last_offset_delta + 1, base_ms, max_ms


def batch_size(data: Buffer, position: int) -> int:
    """Bytes of the batch at `position`, of which at least the first twelve must be there."""
    return LENGTH_PREFIX_BYTES + int.from_bytes(data[position + 8 : position + 12], "big")


def placed_at(batch: bytes, base_offset: int) -> bytes:
    """The same batch at another base offset; its checksum stays right."""
    if batch.startswith(_OFFSET.pack(base_offset)):
        return batch
    return _OFFSET.pack(base_offset) + batch[8:]


def placed_foreign(batch: Buffer, base_offset: int) -> bytes:
    """A batch as its producer sealed it, at a base offset, and marked as such; its checksum stays right."""
    place = _PLACE.pack(base_offset, len(batch) - LENGTH_PREFIX_BYTES, FOREIGN_EPOCH)
    return b"".join((place, memoryview(batch)[_PLACE.size :]))


def is_sound(data: Buffer, position: int, header: BatchHeader) -> bool:
    """Whether the batch at `position` is whole and matches its checksum."""
    end = position + header.size
    if header.magic != MAGIC or header.length < HEADER_BYTES - LENGTH_PREFIX_BYTES or end > len(data):
        return False
    return int(crc32c(memoryview(data)[position + CHECKED_AT : end])) == header.crc


def walk(data: Buffer, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """(position, header) of each whole batch in `data`; stops before a cut one. Checks no checksum."""
    end = len(data)
    while position + HEADER_BYTES <= end:
        header = read_header(data, position)
        after = position + header.size
        if after > end or header.length < HEADER_BYTES - LENGTH_PREFIX_BYTES:
            return
        yield position, header
        position = after


def check_ready_made(batch: Buffer) -> BatchHeader:
    """The header of a batch that a producer sealed itself, or `Corrupt`/`InvalidArgument`."""
    if len(batch) < HEADER_BYTES:
        raise Corrupt("the batch is shorter than a batch header")
    header = read_header(batch)
    if header.magic != MAGIC:
        raise InvalidArgument(f"message format {header.magic} is not supported, only 2")
    if header.size != len(batch):
        raise Corrupt("the batch header does not fit the batch")
    if not is_sound(batch, 0, header):
        raise Corrupt("the batch does not match its checksum")
    if header.record_count < 1 or header.last_offset_delta < header.record_count - 1:
        raise InvalidArgument("the batch header does not fit the batch")
    return header


def stamped(batch: Buffer, header: BatchHeader, now_ms: int) -> bytes:
    """The batch as of now: its records have this time, whatever their producer wrote. Its producer, epoch and
    sequence are those of the header that is given."""
    attributes = header.attributes | STAMPED
    checked = CHECKED.pack(attributes, header.last_offset_delta, now_ms, now_ms, *header[9:]) + batch[HEADER_BYTES:]
    return PREFIX.pack(header.base_offset, header.length, 0, MAGIC, crc32c(checked)) + checked
