"""The sparse index of a segment: where batches are, by offset and by time.

One row for about every 4 KiB of segment: (offset, position, time), where `time` is the highest
timestamp of all batches before that row. So one bisection finds a place to start reading from an
offset, and another a place from which to look for a time.

The index is derived: a missing or damaged file is rebuilt from the segment. On disk it is a row of
chunks, written at checkpoints:

    offset  size      field
    0       4         number of rows, big-endian as all that follows
    4       4         CRC-32C of the rows
    8       16 each   offset relative to the segment's base (4), position (4), time in ms (8)
"""

from array import array
from bisect import bisect_left, bisect_right
from struct import Struct, iter_unpack

from crc32c import crc32c

ROW = Struct(">IIq")
CHUNK = Struct(">II")
NO_TIME = -1


class Index:
    """Rows of one segment, in memory 16 bytes each."""

    __slots__ = ("interval_bytes", "next_position", "offsets", "positions", "saved", "times")

    def __init__(self, interval_bytes: int) -> None:
        self.interval_bytes = interval_bytes
        self.offsets = array("I")
        self.positions = array("I")
        self.times = array("q")
        self.next_position = 0
        self.saved = 0
        """Rows that are in the file already; 0: the file, if there is one, is written anew."""

    def add(self, relative_offset: int, position: int, time_before_ms: int) -> None:
        """Notes a batch, if the last noted one is far enough back."""
        if position >= self.next_position:
            self.offsets.append(relative_offset)
            self.positions.append(position)
            self.times.append(time_before_ms)
            self.next_position = position + self.interval_bytes

    def before_offset(self, relative_offset: int) -> tuple[int, int]:
        """The highest noted position whose batch starts at or before the offset, and where that starts."""
        row = bisect_right(self.offsets, relative_offset) - 1
        return (self.positions[row], self.offsets[row]) if row >= 0 else (0, 0)

    def room(self, position: int, size: int) -> int:
        """How many of so many bytes from a position on end where a batch begins; all of them where none is noted."""
        row = bisect_right(self.positions, position + size) - 1
        room = self.positions[row] - position if row >= 0 else 0
        return room if room > 0 else size

    def last_up_to(self, position: int) -> tuple[int, int]:
        """The highest noted position that is not beyond one, and the offset of the batch there."""
        row = bisect_right(self.positions, position) - 1
        return (self.positions[row], self.offsets[row]) if row >= 0 else (0, 0)

    def latest_before(self, relative_offset: int) -> tuple[int, int]:
        """The position as of `before_offset`, and the highest time of all batches before it."""
        row = bisect_right(self.offsets, relative_offset) - 1
        return (self.positions[row], self.times[row]) if row >= 0 else (0, NO_TIME)

    def before_time(self, timestamp_ms: int) -> int:
        """The highest noted position before which everything is older than the time."""
        row = bisect_left(self.times, timestamp_ms) - 1
        return self.positions[row] if row >= 0 else 0

    def cut(self, size: int) -> None:
        """Forgets rows at or after a position."""
        rows = bisect_left(self.positions, size)
        del self.offsets[rows:], self.positions[rows:], self.times[rows:]
        if rows < self.saved:
            self.saved = 0
        self.next_position = self.positions[-1] + self.interval_bytes if rows else 0

    def unsaved_chunk(self) -> bytes:
        """The rows that are not in the file yet as a chunk, or nothing. They then count as saved."""
        first, self.saved = self.saved, len(self.offsets)
        if first == self.saved:
            return b""
        columns = zip(self.offsets[first:], self.positions[first:], self.times[first:], strict=True)
        rows = b"".join([ROW.pack(*row) for row in columns])
        return CHUNK.pack(self.saved - first, crc32c(rows)) + rows


def parse(data: bytes, interval_bytes: int) -> Index | None:
    """The index from a file's content, or None if any of it is damaged."""
    index = Index(interval_bytes)
    position = 0
    while position < len(data):
        if position + CHUNK.size > len(data):
            return None
        count, crc = CHUNK.unpack_from(data, position)
        rows = data[position + CHUNK.size : position + CHUNK.size + count * ROW.size]
        if len(rows) != count * ROW.size or crc32c(rows) != crc:
            return None
        for offset, place, time_ms in iter_unpack(">IIq", rows):
            index.offsets.append(offset)
            index.positions.append(place)
            index.times.append(time_ms)
        position += CHUNK.size + len(rows)
    index.saved = len(index.offsets)
    if index.positions:
        index.next_position = index.positions[-1] + interval_bytes
    return index
