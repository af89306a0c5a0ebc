"""The journal: every atomic set as one entry, in the order in which sets were appended.

Files `journal/<first sequence>.journal`, each a header and then entries back to back:

    header   0   4   "OMQJ"
             4   4   format version, big-endian as all that follows
             8   8   sequence of the first entry

    entry    0   4   length of the payload
             4   4   CRC-32C of everything after this field
             8   8   sequence: 1, 2, 3, ... over the life of the log
             16  8   the highest sequence known to be on stable storage when this was written
             24  ..  payload

The last field tells a torn tail from damage. After a power cut the unsynced end of the file may
hold anything, good entries after bad ones included; that is cut. But if any later entry says that
the bad one had been synced, stored data was damaged, and nobody may pretend otherwise.

Behind the last entry there may be zeros, which are written ahead: an entry over them changes only bytes, and
its sync takes two thirds of the time of one that must keep a new length of the file, too.
"""

import errno
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from struct import Struct
from time import perf_counter

from crc32c import crc32c

from onemq.errors import FolderError
from onemq.log.disk import OUT_OF_SPACE, Buffer, Disk, File, write_whole

FOLDER = "journal"
FILE_HEADER = Struct(">4sIQ")
FILE_MAGIC = b"OMQJ"
VERSION = 1
ENTRY = Struct(">IIQQ")
_CHECKED = Struct(">QQ")
_PREFIX = Struct(">II")
_SEQUENCES_AHEAD = 1 << 20
_NAME = re.compile(r"\d{20}\.journal")
_ZEROS_AT_ONCE = 1 << 16
_JOINED_BYTES_MAX = 16 << 10
"""Up to here it is quicker to copy the parts of an entry than to work on each of them."""
RESERVE_BYTES = 256 << 10
_ENTRIES_PER_RESERVE_MIN = 16
"""Larger entries are just appended: writing everything twice would cost more than it saves."""


def path_of(first_sequence: int) -> str:
    """The file whose first entry has this sequence."""
    return f"{FOLDER}/{first_sequence:020d}.journal"


def list_files(disk: Disk) -> list[int]:
    """The first sequences of the files that are there."""
    return [int(name[:20]) for name in disk.list(FOLDER) if _NAME.fullmatch(name)]


def remove_before(disk: Disk, first: int) -> None:
    """Removes files all of whose entries are below a sequence."""
    for this, following in pairwise(list_files(disk)):
        if following <= first:
            disk.remove(path_of(this))


class Journal:
    """The file that is appended to."""

    def __init__(self, disk: Disk, reserve_bytes: int = RESERVE_BYTES) -> None:
        """So many zeros are written ahead at a time."""
        self._disk = disk
        self._reserve_bytes = reserve_bytes
        self._reserved = 0  # up to where there are entries or zeros
        self._last = 0  # where the last entry begins
        self._file: File | None = None
        self._previous: File | None = None
        self.sequence = 0
        """Sequence of the last entry."""
        self.synced = 0
        """The highest sequence that is on stable storage."""
        self.size = 0
        self.first = 1

    @property
    def file(self) -> File:
        """The open file."""
        assert self._file is not None, "the journal is not open"
        return self._file

    def start_file(self) -> None:
        """Goes on in a new file, whose name is durable when this returns; in the same one if that has no entry yet."""
        first = self.sequence + 1
        if self._file is not None and first == self.first:
            return  # a snapshot may rely on it: starting it over could lose it
        file = self._disk.open(path_of(first), create=True)
        try:
            if file.size():
                file.truncate(0)
            file.append([FILE_HEADER.pack(FILE_MAGIC, VERSION, first)])
            file.sync()
            self._disk.sync_folder(FOLDER)
        except OSError:
            file.close()
            self._remove_unstarted(first)
            raise
        if self._previous is not None:
            self._previous.close()
        if self._file is not None and self._reserved:
            with suppress(OSError):  # zeros do no harm
                self._file.truncate(self.size)
        # A sync of the old file may be under way on another thread, so it stays open for a while.
        self._previous = self._file
        self._file, self.first, self.size, self._reserved = file, first, FILE_HEADER.size, 0

    def _remove_unstarted(self, first: int) -> None:
        """Removes a file that could not be started, durably: more entries may go to the one before it."""
        try:
            self._disk.remove(path_of(first))
            self._disk.sync_folder(FOLDER)
        except OSError as problem:
            raise OSError(errno.EIO, f"{path_of(first)} can be neither used nor removed") from problem

    def continue_file(self, first: int, size: int, anew: bool = False) -> None:
        """Goes on in an existing file after cutting it to `size`; in a copy of it if the disk may not have it all."""
        if anew:
            write_whole(self._disk, path_of(first), [JournalFile(self._disk, first).data[:size]])
        self._file = self._disk.open(path_of(first))
        self._file.truncate(size)
        self._disk.sync_folder(FOLDER)  # whoever started the file may have been killed before doing so
        self.first, self.size, self._reserved = first, size, 0

    def append(self, parts: Sequence[Buffer]) -> None:
        """Writes the next entry. After an OSError the caller uses `cut_back`."""
        sequence = self.sequence + 1
        checked = _CHECKED.pack(sequence, self.synced)
        length = sum(map(len, parts))
        if length <= _JOINED_BYTES_MAX:
            parts = (b"".join((checked, *parts)),)
            crc = crc32c(parts[0])
        else:
            parts = (checked, *parts)
            crc = 0
            for part in parts:
                crc = crc32c(part, crc)
        size = ENTRY.size + length
        if self.size + size > self._reserved and size * _ENTRIES_PER_RESERVE_MIN <= self._reserve_bytes:
            self._reserve()
        self.file.append((_PREFIX.pack(length, crc), *parts))
        self.sequence = sequence
        self._last = self.size
        self.size += size

    def begin_sync(self) -> float:
        """Has the disk begin with the last entry, so that a sync which follows after some work takes less long.
        Returns when that was."""
        self.file.let_go(self._last, self.size - self._last)
        return perf_counter()

    def _reserve(self) -> None:
        """Writes zeros ahead; without them, too, entries can be appended."""
        try:
            self.file.reserve(self._reserve_bytes)
        except OSError as problem:
            if problem.errno not in OUT_OF_SPACE:
                raise
            self.file.truncate(self.size)
        self._reserved = self.size + self._reserve_bytes

    def cut_back(self) -> None:
        """Removes what a failed `append` may have left, for good: a later entry must not be followed by it."""
        self.file.truncate(self.size)
        self._reserved = 0
        self.file.sync()

    def sync(self) -> None:
        """Makes everything appended so far durable."""
        sequence = self.sequence
        self.file.sync()
        self.synced = max(self.synced, sequence)

    def close(self) -> None:
        """Closes the file."""
        for file in (self._file, self._previous):
            if file is not None:
                file.close()
        self._file = self._previous = None


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """An entry as it was read back."""

    sequence: int
    synced: int
    payload: memoryview
    position: int
    size: int


@dataclass(frozen=True, slots=True)
class Ending:
    """How reading a journal file ended."""

    good_bytes: int
    torn_bytes: int
    """Behind those, without the zeros at the end."""
    damage: str | None


class JournalFile:
    """Reads one file of the journal."""

    def __init__(self, disk: Disk, first: int, path: str | None = None) -> None:
        self.path = path or path_of(first)
        self.first = first
        file = disk.open(self.path, read_only=True)
        self.data = file.read(0, file.size())
        file.close()
        self.ending = Ending(0, len(self.data), None)

    def entries(self) -> Iterator[JournalEntry]:
        """The good entries; afterwards `ending` tells what came after them."""
        position, expected = FILE_HEADER.size, self.first
        if not self._header_is_good():
            if len(self.data) > FILE_HEADER.size:  # entries follow only when the header is durable
                self.ending = Ending(0, len(self.data), f"{self.path} is damaged at byte 0: its header cannot be read")
            return
        while (entry := self._entry_at(position)) is not None and entry.sequence == expected:
            yield entry
            position += entry.size
            expected += 1
        torn_bytes = len(self.data[position:].rstrip(b"\0"))
        self.ending = Ending(position, torn_bytes, self._damage_after(position, expected) if torn_bytes else None)

    def _header_is_good(self) -> bool:
        if len(self.data) < FILE_HEADER.size:
            return False
        magic, version, first = FILE_HEADER.unpack_from(self.data)
        if magic == FILE_MAGIC and version > VERSION:
            raise FolderError(f"{self.path} has format {version}, newer than this OneMQ reads ({VERSION}): upgrade")
        return (magic, first) == (FILE_MAGIC, self.first)

    def _entry_at(self, position: int, after: int = 0) -> JournalEntry | None:
        data = self.data
        if position + ENTRY.size > len(data):
            return None
        length, crc, sequence, synced = ENTRY.unpack_from(data, position)
        end = position + ENTRY.size + length
        if sequence <= after or end > len(data) or crc32c(memoryview(data)[position + 8 : end]) != crc:
            return None
        payload = memoryview(data)[position + ENTRY.size : end]
        return JournalEntry(sequence, synced, payload, position, ENTRY.size + length)

    def _damage_after(self, position: int, expected: int) -> str | None:
        """A text if a later good entry proves that the one at `position` had been stored safely."""
        for entry in self.entries_behind(position, expected):
            if entry.synced >= expected:
                return f"{self.path} is damaged at byte {position}: entry {expected} was stored and cannot be read"
        return None

    def entries_behind(self, position: int, after: int) -> Iterator[JournalEntry]:
        """Good entries behind a place and after a sequence, wherever they start: found by their sequences."""
        for sequence in range(after + 1, after + _SEQUENCES_AHEAD, 1 << 16):
            prefix = (sequence >> 16).to_bytes(6, "big")
            found = self.data.find(prefix, position + 8)
            while found >= 0:
                entry = self._entry_at(found - 8, after)
                if entry is not None:
                    yield entry
                found = self.data.find(prefix, self._behind_zeros(found))

    def _behind_zeros(self, position: int) -> int:
        """The next place where a sequence may start: not among zeros, of which a torn tail may have millions."""
        if self.data[position : position + 8].strip(b"\0"):
            return position + 1
        while position < len(self.data):
            chunk = self.data[position : position + _ZEROS_AT_ONCE]
            rest = len(chunk.lstrip(b"\0"))
            position += len(chunk) - rest
            if rest:
                return position - 7
        return position
