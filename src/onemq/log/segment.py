"""A segment: one file of record batches with its sparse index.

`<partition>-<base offset>.log` holds batches back to back, nothing else; `.index` beside it is
derived. A segment that was cleaned has a generation in its name: `<partition>-<base>.c<n>.log`.

The newest batches may wait in memory to be written (log/behind.py); reading finds them as if they were in
the file. What lies in the file beyond `written` is zeros that were written ahead, or left over from a failed write, and
does not count.

    | in the file        | waiting            |
    0                    ^ written            ^ size
    | in the file        | zeros |
    0                    ^ written

Every read checks what it gives. A stretch, which is read when it is sent (log/stretch.py), is given only where this
process wrote the bytes itself, or has checked everything before their end.

    | checked, none void |      | written by this process |
    0                    ^ plain_to                       ^ size
                                ^ written_from
"""

import errno
from collections.abc import Iterator
from struct import Struct

from crc32c import crc32c

from onemq.errors import Corrupt
from onemq.log.ahead import Ahead
from onemq.log.batch import (
    CHECKED_AT,
    HEADER_BYTES,
    LENGTH_PREFIX_BYTES,
    MAGIC,
    NOT_PERSISTENT,
    batch_size,
    is_sound,
    read_extent,
    read_header,
)
from onemq.log.disk import Buffer, File, Readable
from onemq.log.index import NO_TIME, Index
from onemq.log.indexing import load_index
from onemq.log.openfiles import OpenFiles
from onemq.log.records import first_since
from onemq.log.salvage import Place, first_unsound, next_sound
from onemq.log.scan import Scanned, scan_file
from onemq.log.stretch import Stretch

HINTS_MAX = 64
OFFSET_BYTES = 8
_MUCH_BYTES = 64 << 10
_CHECKED_FIELDS = Struct(">qi4xBIhi")
"""Of a batch: base offset, length, magic, checksum, attributes, last offset delta."""


class Segment:
    """A run of batches from `base` up to `end` in one file."""

    __slots__ = (
        "_ahead",
        "_files",
        "_hints",
        "_index",
        "_interval_bytes",
        "base",
        "end",
        "first_timestamp_ms",
        "max_timestamp_ms",
        "path",
        "plain_to",
        "recent_to",
        "size",
        "waiting",
        "written_from",
    )

    def __init__(self, files: OpenFiles, path: str, base: int, interval_bytes: int) -> None:
        self._files = files
        self._ahead = Ahead()
        self._interval_bytes = interval_bytes
        self._index: Index | None = None
        self._hints: dict[int, int] = {}
        self.path = path
        self.base = self.end = base
        self.size = 0
        self.waiting = bytearray()
        """The end of it, which is not in the file yet."""
        self.recent_to = 0
        """Up to here it is looked after by `Recent`."""
        self.plain_to = 0
        """Up to here everything was read and found sound, and has no messages that are not persistent."""
        self.written_from = 0
        """From here on everything was written by this process, or compared with the journal when it started."""
        self.first_timestamp_ms = self.max_timestamp_ms = NO_TIME

    @property
    def file(self) -> File:
        """The open file. Raises `Corrupt` if it is missing."""
        try:
            return self._files.get(self.path)
        except FileNotFoundError:
            raise Corrupt(f"{self.path} is missing: restore it from a backup", self.end, self.base) from None

    @property
    def written(self) -> int:
        """How much of it is in the file."""
        return self.size - len(self.waiting)

    @property
    def content(self) -> Readable:
        """All of its bytes, those that wait included."""
        return _Content(self) if self.waiting else self.file

    def create(self) -> None:
        """Makes the file, empty even if a failed write left one of that name."""
        file = self._files.get(self.path, create=True)
        if file.size():
            file.truncate(0)

    def write_ahead(self, size: int, unit: int) -> None:
        """Has zeros in the file for the next `size` bytes (log/ahead.py). They are cut off when it is written to no
        more."""
        written = self.written
        if self._ahead.is_short(written + size):
            self._ahead.write(self._files.get(self.path), written, written + size, unit)

    def cut_ahead(self) -> None:
        """Removes zeros that nothing was written over. Raises OSError."""
        if self._ahead.any:
            self._ahead.cut(self._files.get(self.path), self.written)

    def write(self, *batches: Buffer) -> int:
        """Writes what waits, and batches behind it that the caller then notes. Syncs nothing. Returns how much had
        waited. Raises OSError; then it waits still, and the file is as before."""
        waiting = self.waiting
        file = self._files.get(self.path)
        try:
            if not self._ahead.allows(file):
                self._ahead.cut(file, self.written)
            file.append((waiting, *batches) if waiting else batches)
        except OSError:
            self._cut_back(file)
            raise
        if waiting:
            self.waiting = bytearray()
        return len(waiting)

    def _cut_back(self, file: File) -> None:
        """Removes what a failed write may have left: the next one must not come behind it."""
        self._ahead.were_cut()
        try:
            file.truncate(self.written)
        except OSError as problem:
            raise OSError(errno.EIO, f"{self.path} can be neither written nor cut back") from problem

    @property
    def index_path(self) -> str:
        """Where the index is kept."""
        return self.path.removesuffix(".log") + ".index"

    @property
    def index(self) -> Index:
        """The index, read from its file or, where that is missing or wrong, rebuilt from the segment."""
        if self._index is None:
            self._index = load_index(self, self._files.disk, self._interval_bytes)
        return self._index

    def note(self, base_offset: int, next_offset: int, max_ms: int, size: int) -> None:
        """Takes a batch into account that is in the file, or waits, at `size`. The segment counts as old as its first
        batch's latest message, as in Kafka: a batch of old and new ones must not make a segment for every batch."""
        position, index = self.size, self._index if self._index is not None else self.index
        if position >= index.next_position:
            index.add(base_offset - self.base, position, self.max_timestamp_ms)
        if not position:
            self.first_timestamp_ms = max_ms
        if max_ms > self.max_timestamp_ms:
            self.max_timestamp_ms = max_ms
        self.size = position + size
        self.end = next_offset

    def read(self, offset: int, bytes_max: int) -> bytes:
        """Whole batches from the one that covers `offset` or follows it. Raises `Corrupt`."""
        try:
            return self._read(offset, bytes_max)
        except OSError as problem:
            raise Corrupt(f"{self.path} cannot be read ({problem}): check the disk", self.end, offset) from None

    def stretch(self, offset: int, bytes_max: int, boot: int) -> tuple[Stretch, int] | None:
        """What `read` would give, or some less, unread, and the offset behind it. None where it must be looked at: it
        may be damaged, or not persistent and before `boot`; where it is little; and where only reading can tell."""
        try:
            return self._stretch(offset, bytes_max, boot)
        except (OSError, Corrupt):
            return None

    def _stretch(self, offset: int, bytes_max: int, boot: int) -> tuple[Stretch, int] | None:
        position = self._find(offset)[0]
        end, next_offset = self.size, self.end
        if min(position + bytes_max, self.written) < end:
            end, relative_offset = self.index.last_up_to(min(position + bytes_max, self.written))
            next_offset = self.base + relative_offset
            if end <= position:
                end, next_offset = self._first_end(position)
        is_sure = end <= self.plain_to or (position >= self.written_from and offset >= boot)
        if not is_sure or end - position < _MUCH_BYTES:
            return None
        stretch = self.file.stretch(position, end - position)
        if stretch is None:
            return None
        self._hint(next_offset, end)
        return stretch, next_offset

    def _first_end(self, position: int) -> Place:
        """Where the batch at a position ends, and the offset there; the same position if that was not written yet."""
        data = self.file.read(position, HEADER_BYTES)
        header = read_header(data, 0) if len(data) == HEADER_BYTES else None
        if header is None or header.length <= 0 or position + header.size > self.written:
            return position, 0
        return position + header.size, header.next_offset

    def _read(self, offset: int, bytes_max: int) -> bytes:
        if bytes_max <= HEADER_BYTES:
            batch = self._read_one(offset)
            if batch:
                return batch
        place = self._find(offset)
        while place[0] < self.size:
            data = self._read_at(place[0], self._whole_bytes(place[0], bytes_max))
            end = self._sound_end(data, place)
            if end:
                return data if end == len(data) else data[:end]
            following = self.behind(place)
            if offset < following[1]:
                raise self._damaged(place, offset)
            place = self._find_from(following, offset)  # the damaged batch only seemed to cover the offset
        return b""

    def _read_one(self, offset: int) -> bytes:
        """The batch that holds an offset, by one read; nothing where anything about it is unusual."""
        position, relative_offset = self.index.before_offset(offset - self.base)
        data = self.content.read(position, min(2 * self._interval_bytes, self.size - position))
        at, lowest, end = 0, self.base + relative_offset, len(data)
        while at + HEADER_BYTES <= end:
            base_offset, next_offset, _, _ = read_extent(data, at)
            after = at + batch_size(data, at)
            if not lowest <= base_offset < next_offset or not at + HEADER_BYTES <= after <= end:
                break
            if next_offset > offset:
                ends = (lowest + next_offset - base_offset, next_offset)
                following = data[after : after + OFFSET_BYTES]
                sound = base_offset <= offset and is_sound(data, at, read_header(data, at))
                return data[at:after] if sound and self._is_borne_out(following, position + after, ends) else b""
            at, lowest = after, next_offset
        return b""

    def _whole_bytes(self, position: int, bytes_max: int) -> int:
        """How much to read at once: where it is much, not more than can be given, since the rest would have to be cut
        off, which copies everything."""
        if bytes_max < _MUCH_BYTES or position + bytes_max >= self.size:
            return bytes_max
        return self.index.room(position, bytes_max)

    def _read_at(self, position: int, bytes_max: int) -> bytes:
        content = self.content
        data = content.read(position, max(min(bytes_max, self.size - position), HEADER_BYTES))
        first = batch_size(data, 0) if len(data) >= LENGTH_PREFIX_BYTES else 0
        if len(data) < first <= self.size - position:
            data = content.read(position, first)
        return data

    def offset_at(self, timestamp_ms: int, start: int) -> int | None:
        """The first offset from `start` on that was stored at or after the time, if there is one."""
        for _, header, data, at in self.scan(self.index.before_time(timestamp_ms)):
            found = first_since(data, at, header, timestamp_ms, start)
            if found is not None:
                return found
        return None

    def latest_before(self, offset: int) -> int:
        """The highest time of the batches that end at or before an offset; `NO_TIME` without any."""
        if offset >= self.end:
            return self.max_timestamp_ms
        position, latest_ms = self.index.latest_before(offset - self.base)
        # Batches that begin further behind have a row of their own in the index.
        data = self.content.read(position, min(self._interval_bytes + HEADER_BYTES, self.size - position))
        at = 0
        while at + HEADER_BYTES <= len(data):
            _, next_offset, _, max_ms = read_extent(data, at)
            if next_offset > offset:
                break
            latest_ms = max(latest_ms, max_ms)
            at += max(batch_size(data, at), HEADER_BYTES)
        return latest_ms

    def scan(self, position: int = 0) -> Iterator[Scanned]:
        """Every batch from a position on, checked. Raises `Corrupt` at the first unsound one."""
        return scan_file(self.content, self.path, position, self.size, (self.base, self.end))

    def cut(self, size: int, end: int) -> bool:
        """Forgets what lies after `size`, where the next offset was `end`. Returns whether the file has some of it."""
        written = self.written
        del self.waiting[max(size - written, 0) :]
        self.size, self.end = size, end
        self._ahead.were_cut()
        self.plain_to, self.written_from = min(self.plain_to, size), min(self.written_from, size)
        self._hints.clear()
        if self._index is not None:
            self._index.cut(size)
        return size < written

    def replace_index(self) -> None:
        """Drops the index in memory, so that it is read or rebuilt when next needed."""
        self._index = None

    def unsaved_index(self) -> tuple[bytes, bool]:
        """What the index file does not have yet, and whether that replaces what it has."""
        if self._index is None:
            return b"", False
        anew = not self._index.saved
        return self._index.unsaved_chunk(), anew

    def save_index_anew(self) -> None:
        """Makes the whole index count as unsaved."""
        if self._index is not None:
            self._index.saved = 0

    def meta(self) -> list[int]:
        """What a snapshot keeps of the segment."""
        return [self.base, self.size, self.end, self.first_timestamp_ms, self.max_timestamp_ms]

    def restore_meta(self, meta: list[int]) -> None:
        """The reverse of `meta`."""
        self.base, self.size, self.end, self.first_timestamp_ms, self.max_timestamp_ms = meta
        self.plain_to, self.written_from = 0, self.size

    def _find(self, offset: int) -> Place:
        """The batch that covers the offset or, in a gap, the next one. Passes over damage before it."""
        hint = self._hints.get(offset)
        if hint is not None:
            return hint, offset
        position, relative_offset = self.index.before_offset(max(offset - self.base, 0))
        return self._find_from((position, self.base + relative_offset), offset)

    def _find_from(self, place: Place, offset: int) -> Place:
        found = False
        while not found:
            place, found = self._walk(place, offset)
        return place

    def _walk(self, start: Place, offset: int) -> tuple[Place, bool]:
        """The place, or the one behind some damage from which to go on, and which of both. Reads headers only."""
        (position, lowest), at, data = start, 0, b""
        while position + at < self.size:
            if at + HEADER_BYTES > len(data):
                position, at = position + at, 0
                data = self.content.read(position, min(2 * self._interval_bytes, self.size - position))
            if len(data) < HEADER_BYTES:
                return self._pass_over(start, offset)
            header = read_header(data, at)
            if header.magic != MAGIC or header.length <= 0 or not lowest <= header.base_offset < header.next_offset:
                return self._pass_over(start, offset)
            if header.next_offset > offset:
                return (position + at, lowest), True
            at += header.size
            lowest = header.next_offset
        if position + at > self.size:
            return self._pass_over(start, offset)
        return (position + at, lowest), True

    def _pass_over(self, start: Place, offset: int) -> tuple[Place, bool]:
        """Where to go on behind damage that lies before the offset. Raises `Corrupt` if that is damaged itself."""
        damaged = first_unsound(self.content, start, self.size, self.end)
        following = self.behind(damaged)
        if offset < following[1]:
            raise self._damaged(damaged, offset)
        return following, False

    def behind(self, damaged: Place) -> Place:
        """The next sound batch after a damaged one, or the end."""
        return next_sound(self.content, damaged[0], self.size, damaged[1], self.end) or (self.size, self.end)

    def _sound_end(self, data: bytes, start: Place) -> int:
        """How much of `data`, read at a place, is whole and sound."""
        # Paid for each batch that is read: hence no header is made of what it says.
        (position, lowest), at, before, size = start, 0, (0, 0), len(data)
        view, unpack, all_attributes = memoryview(data), _CHECKED_FIELDS.unpack_from, 0
        while at + HEADER_BYTES <= size:
            base_offset, length, magic, crc, attributes, last_delta = unpack(data, at)
            after = at + LENGTH_PREFIX_BYTES + length
            fits = at + HEADER_BYTES <= after <= size and base_offset >= lowest and magic == MAGIC
            if not fits or crc32c(view[at + CHECKED_AT : after]) != crc:
                break
            before, at, lowest = (at, lowest), after, base_offset + last_delta + 1
            all_attributes |= attributes
            earliest_end = before[1] + last_delta + 1
        if at and not self._is_borne_out(data[at : at + OFFSET_BYTES], position + at, (earliest_end, lowest)):
            at, lowest = before
        if at:
            self._hint(lowest, position + at)
            if position <= self.plain_to < position + at and not all_attributes & NOT_PERSISTENT:
                self.plain_to = position + at
        return at

    def _hint(self, offset: int, position: int) -> None:
        """Where an offset lies that a reader is going to ask for."""
        if len(self._hints) >= HINTS_MAX:
            self._hints.clear()
        self._hints[offset] = position

    def _is_borne_out(self, following: bytes, position: int, ends: tuple[int, int]) -> bool:
        """Whether what follows a batch, of which the lowest possible and the stated end are given, agrees with it:
        its checksum does not cover where it starts."""
        if position >= self.size:
            return ends[1] <= self.end
        if len(following) < OFFSET_BYTES:
            following = self.content.read(position, OFFSET_BYTES)
        return not ends[0] <= int.from_bytes(following, "big", signed=True) < ends[1]

    def _damaged(self, damaged: Place, offset: int) -> Corrupt:
        self.plain_to, self.written_from = min(self.plain_to, damaged[0]), self.size
        resume = self.behind(damaged)[1]
        return Corrupt(
            f"{self.path} is damaged at byte {damaged[0]} (offset {offset}); "
            f"the next readable offset is {resume}; run `onemq log verify` for the whole picture",
            resume,
            offset,
        )


class _Content:
    """A segment's bytes: those in its file and, behind them, those that wait."""

    __slots__ = ("_segment",)

    def __init__(self, segment: Segment) -> None:
        self._segment = segment

    def read(self, position: int, size: int) -> bytes:
        """See `File.read`."""
        segment = self._segment
        in_file, data = min(segment.written - position, size), b""
        if in_file > 0:
            data = segment.file.read(position, in_file)
            if len(data) < in_file:
                return data
        start = position + len(data) - segment.written
        return data + segment.waiting[start : start + size - len(data)]
