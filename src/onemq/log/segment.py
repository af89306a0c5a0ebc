"""A segment: one file of record batches with its sparse index.

`<partition>-<base offset>.log` holds batches back to back, nothing else; `.index` beside it is
derived. A segment that was cleaned has a generation in its name: `<partition>-<base>.c<n>.log`.
What lies in the file beyond `size` is left over from a failed write and does not count.
"""

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

SCAN_BYTES = 1 << 20
HINTS_MAX = 64

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
            file = self._files[path] = self.disk.open(path, create=create)
        elif len(self._files) * 2 > self._most:
            self._files.move_to_end(path)
        return file

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
        position = self._find(offset)
        if position >= self.size:
            return b""
        data = self.file.read(position, max(min(bytes_max, self.size - position), HEADER_BYTES))
        first = batch_size(data, 0) if len(data) >= LENGTH_PREFIX_BYTES else 0
        if len(data) < first <= self.size - position:
            data = self.file.read(position, first)
        end = self._sound_end(data, position, offset)
        return data if end == len(data) else data[:end]

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
        return scan_file(self.file, self.path, position, self.size)

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

    def _find(self, offset: int) -> int:
        """The position of the batch that covers the offset or, in a gap, of the next one."""
        hint = self._hints.get(offset)
        if hint is not None:
            return hint
        position = self.index.before_offset(max(offset - self.base, 0))
        data = self.file.read(position, min(2 * self._interval_bytes, self.size - position))
        at = 0
        while position + at < self.size:
            if at + HEADER_BYTES > len(data):
                position, at = position + at, 0
                data = self.file.read(position, min(2 * self._interval_bytes, self.size - position))
                if len(data) < HEADER_BYTES:
                    raise self._damaged(position, offset)
            header = read_header(data, at)
            if header.magic != MAGIC or header.length <= 0:
                raise self._damaged(position + at, offset)
            if header.next_offset > offset:
                break
            at += header.size
        return position + at

    def _sound_end(self, data: bytes, position: int, offset: int) -> int:
        """How much of `data`, read at `position` for an offset, is whole and sound. Raises if nothing is."""
        at, size, next_offset = 0, len(data), offset
        while at + HEADER_BYTES <= size:
            header = read_header(data, at)
            if (at and at + header.size > size) or not is_sound(data, at, header):
                break
            at += header.size
            next_offset = header.next_offset
        if at == 0:
            raise self._damaged(position, offset)
        if len(self._hints) >= HINTS_MAX:
            self._hints.clear()
        self._hints[next_offset] = position + at
        return at

    def _damaged(self, position: int, offset: int) -> Corrupt:
        resume = self._resume_after(position)
        return Corrupt(
            f"{self.path} is damaged at byte {position} (offset {offset}); "
            f"the next readable offset is {resume}; run `onemq log verify` for the whole picture",
            resume,
            offset,
        )

    def _resume_after(self, position: int) -> int:
        """The offset of the next sound batch after a damaged one."""
        head = self.file.read(position, HEADER_BYTES)
        guesses = []
        if len(head) == HEADER_BYTES:
            guesses.append(position + read_header(head).size)
        following = self.index.after_position(position)
        while following is not None:
            guesses.append(following)
            following = self.index.after_position(following)
        for guess in guesses:
            try:
                for _, header, _, _ in scan_file(self.file, self.path, guess, self.size):
                    return header.base_offset
            except Corrupt:
                continue
        return self.end

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
        time_ms = NO_TIME
        try:
            for position, header, _, _ in self.scan():
                index.add(header.base_offset - self.base, position, time_ms)
                time_ms = max(time_ms, header.max_timestamp_ms)
        except Corrupt:
            pass  # what can be reached is indexed; reading the damaged place says what is wrong
        return index


def scan_file(file: File, path: str, position: int, size: int) -> Iterator[Scanned]:
    """Every batch of a file from a position up to a size, checked. Raises `Corrupt` at an unsound one."""
    expected = -1
    while position < size:
        data = file.read(position, min(SCAN_BYTES, size - position))
        at = 0
        while at + HEADER_BYTES <= len(data):
            header = read_header(data, at)
            if at + header.size > len(data) and (at or position + header.size <= size):
                break
            if header.base_offset < expected or not is_sound(data, at, header):
                raise Corrupt(f"{path} is damaged at byte {position + at}")
            yield position + at, header, data, at
            expected = header.next_offset
            at += header.size
        if at == 0:
            at = _scan_large(file, path, position, size)
            data = file.read(position, at)
            header = read_header(data)
            if not is_sound(data, 0, header):
                raise Corrupt(f"{path} is damaged at byte {position}")
            yield position, header, data, 0
            expected = header.next_offset
        position += at


def _scan_large(file: File, path: str, position: int, size: int) -> int:
    """The size of the batch at `position` that did not fit the scan buffer."""
    head = file.read(position, HEADER_BYTES)
    if len(head) < HEADER_BYTES or not HEADER_BYTES <= read_header(head).size <= size - position:
        raise Corrupt(f"{path} is damaged at byte {position}")
    return read_header(head).size
