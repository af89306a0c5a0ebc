"""A segment: one file of record batches with its sparse index.

`<partition>-<base offset>.log` holds batches back to back, nothing else; `.index` beside it is
derived. A segment that was cleaned has a generation in its name: `<partition>-<base>.c<n>.log`.
What lies in the file beyond `size` is left over from a failed write and does not count.
"""

import errno
from collections import OrderedDict
from collections.abc import Iterator

from onemq.errors import Corrupt
from onemq.log import index as index_file
from onemq.log.disk import Disk, File
from onemq.log.index import NO_TIME, Index
from onemq.log.records import (
    HEADER_BYTES,
    LENGTH_PREFIX_BYTES,
    MAGIC,
    BatchHeader,
    batch_size,
    decode,
    is_sound,
    read_header,
)
from onemq.log.salvage import Place, first_unsound, next_sound

SCAN_BYTES = 1 << 20
HINTS_MAX = 64
OFFSET_BYTES = 8
OFFSET_MAX = (1 << 63) - 1
_NOT_WRITABLE = (errno.EROFS, errno.EACCES, errno.EPERM)
_TOO_MANY = (errno.EMFILE, errno.ENFILE)

Scanned = tuple[int, BatchHeader, bytes, int]
"""(position in the file, header, buffer that holds the batch, where in the buffer it starts)"""


class OpenFiles:
    """The open files of a disk, at most so many: the longest unused one is closed first."""

    def __init__(self, disk: Disk, most: int) -> None:
        self.disk = disk
        self._most = most
        self._files: OrderedDict[str, File] = OrderedDict()

    def get(self, path: str, create: bool = False) -> File:
        """The open file at the path."""
        file = self._files.get(path)
        if file is None:
            while len(self._files) >= self._most:
                self._files.popitem(last=False)[1].close()
            file = self._files[path] = self._open(path, create)
        elif len(self._files) * 2 > self._most:
            self._files.move_to_end(path)
        return file

    def _open(self, path: str, create: bool) -> File:
        try:
            return self.disk.open(path, create=create)
        except OSError as problem:
            if problem.errno in _TOO_MANY and self._files:
                self.close()  # the process may open fewer: give all back, and keep fewer from now on
                self._most = max(self._most // 2, 1)
                return self.disk.open(path, create=create)
            if problem.errno not in _NOT_WRITABLE or create:
                raise
        return self.disk.open(path, read_only=True)  # appending to it fails, but reads go on

    def forget(self, path: str) -> None:
        """Closes the file, if it is open."""
        file = self._files.pop(path, None)
        if file is not None:
            file.close()

    def close(self) -> None:
        """Closes all."""
        while self._files:
            self._files.popitem()[1].close()


class Segment:
    """A run of batches from `base` up to `end` in one file."""

    __slots__ = (
        "_files",
        "_hints",
        "_index",
        "_interval_bytes",
        "base",
        "end",
        "first_timestamp_ms",
        "let_go_to",
        "max_timestamp_ms",
        "path",
        "size",
    )

    def __init__(self, files: OpenFiles, path: str, base: int, interval_bytes: int) -> None:
        self._files = files
        self._interval_bytes = interval_bytes
        self._index: Index | None = None
        self._hints: dict[int, int] = {}
        self.path = path
        self.base = self.end = base
        self.size = 0
        self.let_go_to = 0
        """Up to here the system was told to write, and need not cache."""
        self.first_timestamp_ms = self.max_timestamp_ms = NO_TIME

    @property
    def file(self) -> File:
        """The open file. Raises `Corrupt` if it is missing."""
        try:
            return self._files.get(self.path)
        except FileNotFoundError:
            raise Corrupt(f"{self.path} is missing: restore it from a backup", self.end, self.base) from None

    def create(self) -> None:
        """Makes the file, empty even if a failed write left one of that name."""
        file = self._files.get(self.path, create=True)
        if file.size():
            file.truncate(0)

    @property
    def index_path(self) -> str:
        """Where the index is kept."""
        return self.path.removesuffix(".log") + ".index"

    @property
    def index(self) -> Index:
        """The index, read from its file or, where that is missing or wrong, rebuilt from the segment."""
        if self._index is None:
            self._index = self._load_index() if self.size else Index(self._interval_bytes)
        return self._index

    def note(self, header: BatchHeader) -> None:
        """Takes a batch into account that is in the file at `size`."""
        self.index.add(header.base_offset - self.base, self.size, self.max_timestamp_ms)
        if not self.size:
            self.first_timestamp_ms = header.base_timestamp_ms
        if header.max_timestamp_ms > self.max_timestamp_ms:
            self.max_timestamp_ms = header.max_timestamp_ms
        self.size += header.size
        self.end = header.next_offset

    def read(self, offset: int, bytes_max: int) -> bytes:
        """Whole batches from the one that covers `offset` or follows it. Raises `Corrupt`."""
        try:
            return self._read(offset, bytes_max)
        except OSError as problem:
            raise Corrupt(f"{self.path} cannot be read ({problem}): check the disk", self.end, offset) from None

    def _read(self, offset: int, bytes_max: int) -> bytes:
        place = self._find(offset)
        while place[0] < self.size:
            data = self._read_at(place[0], bytes_max)
            end = self._sound_end(data, place)
            if end:
                return data if end == len(data) else data[:end]
            following = self._behind(place)
            if offset < following[1]:
                raise self._damaged(place, offset)
            place = self._find_from(following, offset)  # the damaged batch only seemed to cover the offset
        return b""

    def _read_at(self, position: int, bytes_max: int) -> bytes:
        data = self.file.read(position, max(min(bytes_max, self.size - position), HEADER_BYTES))
        first = batch_size(data, 0) if len(data) >= LENGTH_PREFIX_BYTES else 0
        if len(data) < first <= self.size - position:
            data = self.file.read(position, first)
        return data

    def offset_at(self, timestamp_ms: int, start: int) -> int | None:
        """The first offset from `start` on that was stored at or after the time, if there is one."""
        for _, header, data, at in self.scan(self.index.before_time(timestamp_ms)):
            if header.max_timestamp_ms >= timestamp_ms and header.next_offset > start:
                for record in decode(data, at, header):
                    if record[1] >= timestamp_ms and record[0] >= start:
                        return record[0]
        return None

    def scan(self, position: int = 0) -> Iterator[Scanned]:
        """Every batch from a position on, checked. Raises `Corrupt` at the first unsound one."""
        return scan_file(self.file, self.path, position, self.size, (self.base, self.end))

    def cut(self, size: int, end: int) -> None:
        """Forgets what lies after `size`, where the next offset was `end`."""
        self.size, self.end = size, end
        self._hints.clear()
        if self._index is not None:
            self._index.cut(size)

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
                data = self.file.read(position, min(2 * self._interval_bytes, self.size - position))
            if len(data) < HEADER_BYTES:
                return self._pass_over(start, offset)
            header = read_header(data, at)
            if header.magic != MAGIC or header.length <= 0 or header.base_offset < lowest:
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
        damaged = first_unsound(self.file, start, self.size, self.end)
        following = self._behind(damaged)
        if offset < following[1]:
            raise self._damaged(damaged, offset)
        return following, False

    def _behind(self, damaged: Place) -> Place:
        """The next sound batch after a damaged one, or the end."""
        return next_sound(self.file, damaged[0], self.size, damaged[1], self.end) or (self.size, self.end)

    def _sound_end(self, data: bytes, start: Place) -> int:
        """How much of `data`, read at a place, is whole and sound."""
        (position, lowest), at, before = start, 0, (0, 0)
        while at + HEADER_BYTES <= len(data):
            header = read_header(data, at)
            whole = not at or at + header.size <= len(data)
            if not whole or header.base_offset < lowest or not is_sound(data, at, header):
                break
            before, at, lowest = (at, lowest), at + header.size, header.next_offset
            earliest_end = before[1] + header.last_offset_delta + 1
        if at and not self._is_borne_out(data[at : at + OFFSET_BYTES], position + at, (earliest_end, lowest)):
            at, lowest = before
        if at:
            if len(self._hints) >= HINTS_MAX:
                self._hints.clear()
            self._hints[lowest] = position + at
        return at

    def _is_borne_out(self, following: bytes, position: int, ends: tuple[int, int]) -> bool:
        """Whether what follows a batch, of which the lowest possible and the stated end are given, agrees with it:
        its checksum does not cover where it starts."""
        if position >= self.size:
            return ends[1] <= self.end
        if len(following) < OFFSET_BYTES:
            following = self.file.read(position, OFFSET_BYTES)
        return not ends[0] <= int.from_bytes(following, "big", signed=True) < ends[1]

    def _damaged(self, damaged: Place, offset: int) -> Corrupt:
        resume = self._behind(damaged)[1]
        return Corrupt(
            f"{self.path} is damaged at byte {damaged[0]} (offset {offset}); "
            f"the next readable offset is {resume}; run `onemq log verify` for the whole picture",
            resume,
            offset,
        )

    def _load_index(self) -> Index:
        disk = self._files.disk
        if disk.exists(self.index_path):
            file = disk.open(self.index_path, read_only=True)
            data = file.read(0, file.size())
            file.close()
            index = index_file.parse(data, self._interval_bytes)
            if index is not None:
                index.cut(self.size)  # rows of a checkpoint that was not finished
                return index
        return self._rebuild_index()

    def _rebuild_index(self) -> Index:
        index = Index(self._interval_bytes)
        place = (0, self.base)
        while place[0] < self.size:
            index.next_position = place[0]  # a row for the first sound batch behind damage
            place = self._index_from(index, place)
        return index

    def _index_from(self, index: Index, start: Place) -> Place:
        """Indexes sound batches; returns where others begin behind damage. Reading that says what is wrong."""
        time_ms = self.max_timestamp_ms if start[0] else NO_TIME
        try:
            for position, header, _, _ in self.scan(start[0]):
                index.add(header.base_offset - self.base, position, time_ms)
                time_ms = max(time_ms, header.max_timestamp_ms)
        except Corrupt:
            damaged = first_unsound(self.file, start, self.size, self.end)
            index.cut(damaged[0])
            return self._behind(damaged)
        return self.size, self.end


def scan_file(
    file: File, path: str, position: int, size: int, offsets: tuple[int, int] = (0, OFFSET_MAX)
) -> Iterator[Scanned]:
    """Every batch of a file from a position up to a size, checked. Raises `Corrupt` at an unsound one."""
    lowest, end = offsets
    while position < size:
        data = file.read(position, min(SCAN_BYTES, size - position))
        at = 0
        while at + HEADER_BYTES <= len(data):
            header = read_header(data, at)
            if at + header.size > len(data) and (at or position + header.size <= size):
                break
            if header.base_offset < lowest or header.next_offset > end or not is_sound(data, at, header):
                raise Corrupt(f"{path} is damaged at byte {position + at}")
            yield position + at, header, data, at
            lowest = header.next_offset
            at += header.size
        if at == 0:
            at = _scan_large(file, path, position, size)
            data = file.read(position, at)
            header = read_header(data)
            if header.base_offset < lowest or header.next_offset > end or not is_sound(data, 0, header):
                raise Corrupt(f"{path} is damaged at byte {position}")
            yield position, header, data, 0
            lowest = header.next_offset
        position += at


def _scan_large(file: File, path: str, position: int, size: int) -> int:
    """The size of the batch at `position` that did not fit the scan buffer."""
    head = file.read(position, HEADER_BYTES)
    if len(head) < HEADER_BYTES or not HEADER_BYTES <= read_header(head).size <= size - position:
        raise Corrupt(f"{path} is damaged at byte {position}")
    return read_header(head).size
