"""A `Disk` in memory that does, from a seed, what real disks do at the worst moment.

A file is its content as the running system sees it, and how much of that is safe:

    content    | safe, on the disk | appended since the last sync |
                                   ^ safe_size
    cut          safe bytes that a truncation took from behind safe_size and that may come back
    written_over ranges of safe zeros with something new in them: any block of it may still be zeros on the disk

A folder is its entries and, for each change since its last sync, what the change replaced. A crash takes
back a random number of the latest changes. So no operation copies a whole file or folder.
"""

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from random import Random

from onemq.log.disk import Buffer

BLOCK_BYTES = 512
ENDLESS_BYTES = 1 << 40


class Crash(BaseException):
    """The machine stopped, or the process. No `except Exception` sees it, as no code runs after it."""


class StoredFile:
    """A file on the disk, whatever its names."""

    __slots__ = ("content", "cut", "doubtful", "safe_size", "written_over")

    def __init__(self) -> None:
        self.content = bytearray()
        self.safe_size = 0
        self.cut = b""
        self.written_over: list[tuple[int, int]] = []
        self.doubtful: list[tuple[int, int]] = []  # ranges whose sync failed, whatever later ones say

    def write(self, position: int, data: bytes) -> None:
        """Puts data at the end, or over reserved zeros."""
        if data and position < self.safe_size:
            self.written_over.append((position, min(position + len(data), self.safe_size)))
        self.content[position : position + len(data)] = data

    def write_back(self) -> None:
        """Make everything safe but what a failed sync has left in doubt."""
        self.safe_size = len(self.content)
        self.cut = b""
        self.written_over.clear()

    def fail_sync(self) -> None:
        self.doubtful += self.written_over
        if self.safe_size < len(self.content):
            self.doubtful.append((self.safe_size, len(self.content)))

    def truncate(self, size: int, random: Random) -> None:
        assert size <= len(self.content), "a truncation must not grow the file"
        if random.random() < 0.5:
            self.write_back()  # as the system may at any time; then these bytes, too, may come back
        if size < self.safe_size:
            self.cut = bytes(self.content[size : self.safe_size]) + self.cut
            self.safe_size = size
        self.forget(size)

    def forget(self, size: int) -> None:
        """Drop what is behind `size` from the content."""
        del self.content[size:]
        self.doubtful = _within(self.doubtful, size)
        self.written_over = _within(self.written_over, size)

    def crash(self, random: Random) -> None:
        """Leave what the disk holds after a power cut."""
        if self.cut and random.random() < 0.6:
            self._undo_truncation(random)
        elif self.safe_size < len(self.content):
            self._tear(random)
        for start, end in self.doubtful + self.written_over:
            self._blank(start, min(end, len(self.content)), random)
        self.doubtful.clear()
        self.write_back()

    def _undo_truncation(self, random: Random) -> None:
        """Bring the cut bytes back, maybe with some blocks of what was written over them."""
        start, over = self.safe_size, bytes(self.content[self.safe_size :])
        self.content[start:] = self.cut
        written = random.choice((0.0, 0.5, 1.0))
        # A block goes to the disk whole: what was appended, then zeros, as the file ended there.
        touched = _block_end(start + max(0, len(over) - 1))
        for first, end in _blocks(start, min(touched, len(self.content))):
            if random.random() < written:
                self.content[first:end] = over[first - start : end - start].ljust(end - first, b"\0")

    def _tear(self, random: Random) -> None:
        """Lose some of the unsynced end: any length of it, and blocks within that were not written yet."""
        fate = random.random()
        if fate < 0.2:
            return
        if fate < 0.4:
            self.forget(self.safe_size)
            return
        if fate < 0.8:
            self.forget(random.randint(self.safe_size, len(self.content)))
        if fate >= 0.6:
            self._blank(self.safe_size, len(self.content), random)

    def _blank(self, start: int, end: int, random: Random) -> None:
        share = random.choice((0.1, 0.5, 1.0))
        for first, last in _blocks(start, end):
            if random.random() < share:
                self.content[first:last] = bytes(last - first)


class StoredFolder:
    """A folder on the disk."""

    __slots__ = ("changes", "entries")

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.changes: list[list[tuple[str, Entry | None]]] = []

    def change(self, new: "dict[str, Entry | None]") -> None:
        """Set or remove entries as one change, unsynced."""
        self.changes.append([(name, self.entries.get(name)) for name in new])
        self._set(new.items())

    def crash(self, random: Random) -> None:
        """Leave what the disk holds after a power cut, in the folder and all within."""
        kept = random.randint(0, len(self.changes))
        for replaced in reversed(self.changes[kept:]):
            self._set(replaced)
        self.changes.clear()
        for entry in self.entries.values():
            entry.crash(random)

    def _set(self, entries: "Iterable[tuple[str, Entry | None]]") -> None:
        for name, entry in entries:
            if entry is None:
                self.entries.pop(name, None)
            else:
                self.entries[name] = entry


Entry = StoredFile | StoredFolder


class Process:
    """The run between two crashes; file handles belong to one."""

    __slots__ = ("dead",)

    def __init__(self) -> None:
        self.dead = False


class SimFile:
    """A `File` of a `SimDisk`. Once its process is dead every call but `close` raises Crash."""

    __slots__ = ("_closed", "_disk", "_end", "_process", "_read_only", "_stored")

    def __init__(self, disk: "SimDisk", process: Process, stored: StoredFile, read_only: bool) -> None:
        self._disk = disk
        self._process = process
        self._stored = stored
        self._read_only = read_only
        self._end: int | None = None  # in front of reserved zeros
        self._closed = False

    def append(self, parts: Sequence[Buffer]) -> None:
        self._check()
        if self._read_only:
            raise _error(errno.EBADF)
        self._append(b"".join(parts))

    def _append(self, data: bytes) -> None:
        end = len(self._stored.content) if self._end is None else self._end
        self._disk.append(self._stored, end, data)
        if self._end is not None:
            self._end += len(data)

    def reserve(self, size: int) -> None:
        self._check()
        if self._end is None:
            self._end = len(self._stored.content)
        present = len(self._stored.content)
        self._disk.append(self._stored, present, bytes(max(0, self._end + size - present)), "reserve")

    def read(self, position: int, size: int) -> bytes:
        self._check()
        self._disk.fail_if_due("read")
        return bytes(memoryview(self._stored.content)[position : position + size])

    def size(self) -> int:
        self._check()
        return len(self._stored.content)

    def truncate(self, size: int) -> None:
        self._check()
        if self._read_only:
            raise _error(errno.EINVAL)
        self._disk.truncate(self._stored, size)
        if self._end is not None:
            self._end = size

    def sync(self) -> None:
        self._check()
        self._disk.sync(self._stored)

    def stretch(self, position: int, size: int) -> None:
        """Everything is read at once here."""

    def let_go(self, position: int, size: int) -> None:
        self._check()

    def close(self) -> None:
        self._closed = True

    def _check(self) -> None:
        if self._process.dead:
            raise Crash
        if self._closed:
            raise _error(errno.EBADF)


class SimDisk:
    """The disk, and the machine and process around it as far as they can fail.

    Mutating operations are append, reserve, truncate, sync, rename, remove, sync_folder, and the creation of a file or
    folder; `operations` counts them.
    """

    def __init__(self, random: Random, limit_bytes: int | None = None) -> None:
        self.limit_bytes = limit_bytes
        self.operations = 0
        self._random = random
        self._root = StoredFolder()
        self._process = Process()
        self._crash_at = 0
        self._faults: dict[str, list[int]] = {}
        self._used: int | None = 0  # bytes in all files; None when it has to be counted anew

    # What can go wrong

    @property
    def crashed(self) -> bool:
        """Whether every call raises Crash until `crash` or `kill` is called."""
        return self._process.dead

    def crash_after(self, operations: int) -> None:
        """Raise Crash in the mutating operation that is the given number from now, 1 being the next.

        It may have been done, in part for an append. From then on every call raises Crash, until `crash` or
        `kill` says what it was that happened.
        """
        self._crash_at = self.operations + operations

    def crash(self) -> "SimDisk":
        """Cut the power and start again: what was not synced is lost, torn or reordered. Returns itself."""
        self._root.crash(self._random)
        self._used = None
        return self.kill()

    def kill(self) -> "SimDisk":
        """Kill the process and start again: what was written is there, safe or not. Returns itself."""
        self._process.dead = True
        self._process = Process()
        self._crash_at = 0
        self._faults.clear()
        return self

    def fail_next(self, kind: str, code: int) -> None:
        """Let the next operation of a kind raise OSError with this errno; call again for the one after it.

        Kinds: append and reserve (which may leave a prefix), sync (whose bytes may be lost even if it succeeds later),
        truncate, create, rename, remove, sync_folder, make_folder, read.
        """
        self._faults.setdefault(kind, []).append(code)

    def flip_bit(self, path: str, position: int) -> None:
        """Change one bit of the byte at `position`, for good."""
        self._stored_file(path).content[position] ^= 1 << self._random.randrange(8)

    def cut(self, path: str, size: int) -> None:
        """Lose what is behind `size` in a file, for good."""
        stored = self._stored_file(path)
        stored.forget(size)
        stored.write_back()
        self._used = None

    def lose(self, path: str) -> None:
        """Lose a file or a folder, for good."""
        folder, name = self._locate(path)
        del folder.entries[name]
        folder.changes.clear()
        self._used = None

    def files(self) -> Iterator[str]:
        """The paths of all files, to choose from for damage."""
        return (path for path, _ in _walk(self._root, ""))

    # What a disk does

    def open(self, path: str, create: bool = False, read_only: bool = False) -> SimFile:
        folder, name = self._locate(path)
        stored = folder.entries.get(name)
        if stored is None:
            if not create:
                raise _error(errno.ENOENT, path)
            stored = StoredFile()
            self._change("create", (folder, {name: stored}))
        if isinstance(stored, StoredFolder):
            raise _error(errno.EISDIR, path)
        return SimFile(self, self._process, stored, read_only)

    def exists(self, path: str) -> bool:
        try:
            folder, name = self._locate(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return not name or name in folder.entries

    def list(self, folder: str) -> list[str]:
        try:
            return sorted(self._folder(folder).entries)
        except FileNotFoundError:
            return []

    def make_folder(self, path: str) -> None:
        self._check()
        folder = self._root
        for name in filter(None, path.split("/")):
            made = folder.entries.get(name)
            if made is None:
                made = StoredFolder()
                self._change("make_folder", (folder, {name: made}))
            if isinstance(made, StoredFile):
                raise _error(errno.EEXIST, path)
            self._sync_folder(folder)
            folder = made

    def rename(self, old: str, new: str) -> None:
        (old_folder, old_name), (new_folder, new_name) = self._locate(old), self._locate(new)
        entry = old_folder.entries.get(old_name)
        replaced = new_folder.entries.get(new_name)
        if entry is None:
            raise _error(errno.ENOENT, old)
        if entry is replaced:
            return
        _check_replacement(entry, replaced, new)
        if old_folder is new_folder:
            self._change("rename", (old_folder, {old_name: None, new_name: entry}))
        else:
            self._change("rename", (new_folder, {new_name: entry}), (old_folder, {old_name: None}))

    def remove(self, path: str) -> None:
        try:
            folder, name = self._locate(path)
        except FileNotFoundError:
            return
        if isinstance(folder.entries.get(name), StoredFolder):
            raise _error(errno.EISDIR, path)
        if name in folder.entries:
            self._change("remove", (folder, {name: None}))

    def remove_folder(self, path: str) -> None:
        try:
            folder, name = self._locate(path)
        except FileNotFoundError:
            return
        if name in folder.entries:
            self._remove_tree(folder, name, self._folder(path))

    def sync_folder(self, path: str) -> None:
        self._sync_folder(self._folder(path))

    def free(self) -> tuple[int, int]:
        self._check()
        total = ENDLESS_BYTES if self.limit_bytes is None else self.limit_bytes
        return max(0, total - self.used()), total

    def used(self) -> int:
        """Bytes in all files that have a name."""
        if self._used is None:
            self._used = sum(len(stored.content) for _, stored in _walk(self._root, ""))
        return self._used

    # What its files do

    def append(self, stored: StoredFile, position: int, data: bytes, kind: str = "append") -> None:
        """Write at the end, or over zeros that were reserved there."""
        failure: BaseException | None = None
        try:
            self._begin(kind)
            self._end()
        except (OSError, Crash) as raised:
            failure = raised
        size = len(stored.content)
        if self.limit_bytes is not None and position + len(data) - size > (room := self.limit_bytes - self.used()):
            data = data[: size - position + max(0, room)]
            failure = failure or _error(errno.ENOSPC)
        if failure is not None:
            data = data[: self._random.choice((0, self._random.randint(0, len(data)), len(data)))]
        stored.write(position, data)
        if self._used is not None:
            self._used += len(stored.content) - size
        if failure is not None:
            raise failure

    def truncate(self, stored: StoredFile, size: int) -> None:
        self._begin("truncate")
        stored.truncate(size, self._random)
        self._used = None
        self._end()

    def sync(self, stored: StoredFile) -> None:
        try:
            self._begin("sync")
        except OSError:
            stored.fail_sync()
            raise
        stored.write_back()
        self._end()

    def fail_if_due(self, kind: str) -> None:
        """Raise the error asked for with `fail_next`, if one was."""
        if self._faults and (codes := self._faults.get(kind)):
            raise _error(codes.pop(0))

    # The steps they are made of

    def _begin(self, kind: str) -> None:
        """Count a mutating operation. The one that crashes does so here or, having been done, in `_end`."""
        self._check()
        self.operations += 1
        if self.operations == self._crash_at:
            self._process.dead = True
            if self._random.random() < 0.5:
                raise Crash
        else:
            self.fail_if_due(kind)

    def _end(self) -> None:
        self._check()

    def _check(self) -> None:
        if self._process.dead:
            raise Crash

    def _change(self, kind: str, *changes: tuple[StoredFolder, dict[str, Entry | None]]) -> None:
        self._begin(kind)
        for folder, new in changes:
            folder.change(new)
        self._used = None
        self._end()

    def _sync_folder(self, folder: StoredFolder) -> None:
        self._begin("sync_folder")
        folder.changes.clear()
        self._end()

    def _remove_tree(self, parent: StoredFolder, name: str, folder: StoredFolder) -> None:
        names = sorted(folder.entries)
        self._random.shuffle(names)
        for child_name in names:
            child = folder.entries[child_name]
            if isinstance(child, StoredFolder):
                self._remove_tree(folder, child_name, child)
            else:
                self._change("remove", (folder, {child_name: None}))
        self._change("remove", (parent, {name: None}))

    def _locate(self, path: str) -> tuple[StoredFolder, str]:
        folder, _, name = path.rpartition("/")
        return self._folder(folder), name

    def _folder(self, path: str) -> StoredFolder:
        self._check()
        entry: Entry | None = self._root
        for name in filter(None, path.split("/")):
            if isinstance(entry, StoredFolder):
                entry = entry.entries.get(name)
        if entry is None:
            raise _error(errno.ENOENT, path)
        if isinstance(entry, StoredFile):
            raise _error(errno.ENOTDIR, path)
        return entry

    def _stored_file(self, path: str) -> StoredFile:
        folder, name = self._locate(path)
        stored = folder.entries[name]
        assert isinstance(stored, StoredFile)
        return stored


def _check_replacement(entry: Entry, replaced: Entry | None, new: str) -> None:
    if isinstance(entry, StoredFile) and isinstance(replaced, StoredFolder):
        raise _error(errno.EISDIR, new)
    if isinstance(entry, StoredFolder) and isinstance(replaced, StoredFile):
        raise _error(errno.ENOTDIR, new)
    if isinstance(replaced, StoredFolder) and replaced.entries:
        raise _error(errno.ENOTEMPTY, new)


def _walk(folder: StoredFolder, prefix: str) -> Iterator[tuple[str, StoredFile]]:
    """Every file within, with its path, in the order of their names."""
    for name in sorted(folder.entries):
        entry = folder.entries[name]
        if isinstance(entry, StoredFolder):
            yield from _walk(entry, f"{prefix}{name}/")
        else:
            yield prefix + name, entry


def _within(ranges: list[tuple[int, int]], size: int) -> list[tuple[int, int]]:
    """What of the ranges lies before `size`."""
    return [(start, min(end, size)) for start, end in ranges if start < size]


def _blocks(start: int, end: int) -> Iterator[tuple[int, int]]:
    """The range from `start` to `end` in pieces that lie in one block each."""
    while start < end:
        yield start, min(_block_end(start), end)
        start = _block_end(start)


def _block_end(position: int) -> int:
    return position - position % BLOCK_BYTES + BLOCK_BYTES


def _error(code: int, path: str | None = None) -> OSError:
    return OSError(code, os.strerror(code), path) if path else OSError(code, os.strerror(code))
