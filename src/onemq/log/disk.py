"""The disk seam: every byte that OneMQ keeps passes through a `File` of a `Disk`.

This is the only module that calls the operating system on data files. The log is written against the two
protocols `Disk` and `File`; `OsDisk` is the real one, and the tests have a faulty twin that crashes, tears
writes and fills up. What a caller may rely on after a power cut:

    append, truncate, reserve  kept once `File.sync` has returned; before that any part of it may be there
    open(create=True),         kept once `Disk.sync_folder` of its folder has returned, in the order in which
    rename, remove             they were made; before that the first few of them may be there
    make_folder                kept once it has returned
    write_whole                all or nothing at any time, kept once it has returned

A killed process loses nothing but the rest of the call it was in. After a failed `File.sync` the unsynced
bytes may be lost for good even if a later sync succeeds, so the caller stops relying on that file.

Paths are relative to the data folder and separated by '/'; the empty path is the data folder itself.
"""

import errno
import fcntl
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Protocol
from weakref import ReferenceType, ref

from onemq.limits import STRETCHED_FILES_MAX
from onemq.log.stretch import Stretch, StretchedFile

Buffer = bytes | bytearray | memoryview
"""What can be appended. A memoryview is contiguous and of single bytes (format 'B')."""

# Messages are private to the account that runs the broker.
FILE_MODE = 0o600
FOLDER_MODE = 0o700

BUFFERS_PER_WRITE_MAX = os.sysconf("SC_IOV_MAX")
OUT_OF_SPACE = (errno.ENOSPC, errno.EDQUOT)
"""The numbers of errors that pass when there is room again."""
_NOT_TRACKED = -1
_ZEROS = memoryview(bytes(1 << 20))


class Readable(Protocol):
    """Bytes that can be read at any place: a file, or what stands for one."""

    def read(self, position: int, size: int) -> bytes:
        """The `size` bytes from `position`; fewer, or none, only where the file ends before that."""


class File(Readable, Protocol):
    """An open file. A closed one raises OSError from every call but `close`."""

    def append(self, parts: Sequence[Buffer]) -> None:
        """Write all parts, in order, at the end of the file; one call for a list or tuple of any length.

        Raises OSError, for example on a full disk; an unknown prefix of the parts may then be in the file.
        """

    def reserve(self, size: int) -> None:
        """See to it that at least `size` zeros lie behind the end. Appends of this handle go over them from now on.

        A sync of bytes that were written over zeros is quicker: it has no new length to keep. And the system's cache
        takes many zeros at once in larger pages than the pieces that go over them. The file must have no other writer.
        Raises OSError; some of the zeros may then be there, and appends still go in front of them.
        """

    def size(self) -> int:
        """The length in bytes now, whichever handle wrote them; zeros that were reserved count."""

    def truncate(self, size: int) -> None:
        """Cut the file to `size` bytes, at most its present size. The next append goes there; nothing is reserved."""

    def sync(self) -> None:
        """Return when the content and length of the file are on stable storage. Raises OSError if not."""

    def stretch(self, position: int, size: int) -> Stretch | None:
        """These bytes, to be read at any time, also after the file was closed or removed; None if that cannot be.

        They must be there, and stay as they are until then.
        """

    def let_go(self, position: int, size: int) -> None:
        """Tell the system that these bytes will not be read soon: it begins to write what is not on disk yet,
        and need not cache what is. Changes nothing that can be seen."""

    def close(self) -> None:
        """Release the handle, without syncing. Fine if already closed."""


class Disk(Protocol):
    """The data folder."""

    def open(self, path: str, create: bool = False, read_only: bool = False) -> File:
        """Open a file; `create` makes an empty one if it is absent, in a folder that exists.

        Raises FileNotFoundError if it is absent and not `create`, or if its folder is.
        """

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder of this name. Raises OSError if that cannot be told."""

    def list(self, folder: str) -> list[str]:
        """The names of the files and folders in `folder`, sorted; empty if the folder is absent."""

    def make_folder(self, path: str) -> None:
        """Make a folder, and those above it, durably. Fine if it is there."""

    def rename(self, old: str, new: str) -> None:
        """Give a file or folder a new name at one stroke, replacing a file that has that name.

        Until both are synced, a crash during a rename between two folders may find it in either, both or
        neither.
        """

    def remove(self, path: str) -> None:
        """Remove a file. Fine if it is absent. Handles open on it stay readable."""

    def remove_folder(self, path: str) -> None:
        """Remove a folder and all within. Fine if it is absent. A crash may leave any part of it."""

    def sync_folder(self, path: str) -> None:
        """Return when the creations, renames and removals made in the folder so far are durable."""

    def free(self) -> tuple[int, int]:
        """Bytes still free for us, and bytes in all, on the volume of the data folder."""


def write_whole(disk: Disk, path: str, parts: Iterable[Buffer]) -> None:
    """Make `parts` the whole content of a file: after a crash at any time it has the old content or the new.

    Each part is written when it comes. Writes `path + ".tmp"` and renames it; a crash may leave that file behind, and
    the next call reuses it. Raises OSError, and then the content is the old one unless the last step, syncing the
    folder, failed.
    """
    temporary = path + ".tmp"
    try:
        _write_synced(disk, temporary, parts)
    except OSError:
        with suppress(OSError):  # a full disk needs the space back; the first error is the one to tell
            disk.remove(temporary)
        raise
    disk.rename(temporary, path)
    disk.sync_folder(path.rpartition("/")[0])


def _write_synced(disk: Disk, path: str, parts: Iterable[Buffer]) -> None:
    file = disk.open(path, create=True)
    try:
        if file.size():
            file.truncate(0)
        for part in parts:
            file.append((part,))
        file.sync()
    finally:
        file.close()


class OsFile:
    """A `File` of the operating system, opened with O_APPEND.

    The kernel thus finds the end of the file at each append. A position tracked here could be wrong after a
    failed append, or after a truncation through another handle, and writing at it would leave a hole of
    zeros or overwrite what was appended in between. Only a file with reserved zeros is written at a position, the
    `_end`; it has no other writer, and who fails to append to it truncates it.
    """

    __slots__ = ("_descriptor", "_end", "_stretched", "_zeros_end")

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._stretched: ReferenceType[StretchedFile] | None = None  # stretches may be there for longer than this
        self._end = _NOT_TRACKED
        self._zeros_end = 0

    def append(self, parts: Sequence[Buffer]) -> None:
        if 0 < len(parts) <= BUFFERS_PER_WRITE_MAX:
            written = self._write(parts)
            if written != sum(map(len, parts)):
                self._append_slices(parts, written)
        else:
            self._append_slices(parts, 0)

    def _write(self, parts: Sequence[Buffer]) -> int:
        if self._end < 0:
            return os.writev(self._descriptor, parts)
        written = os.pwritev(self._descriptor, parts, self._end)
        self._end += written
        return written

    def reserve(self, size: int) -> None:
        if self._end < 0:
            self._end = self._zeros_end = self.size()
            # With this flag Linux appends whatever position it is told.
            flags = fcntl.fcntl(self._descriptor, fcntl.F_GETFL)
            fcntl.fcntl(self._descriptor, fcntl.F_SETFL, flags & ~os.O_APPEND)
        wanted, self._zeros_end = self._end + size, max(self._zeros_end, self._end)
        while self._zeros_end < wanted:
            zeros = _ZEROS[: wanted - self._zeros_end]
            self._zeros_end += os.pwrite(self._descriptor, zeros, self._zeros_end)

    def _append_slices(self, parts: Sequence[Buffer], written: int) -> None:
        """Append what is left of `parts` after their first `written` bytes, in as many writes as it takes."""
        rest = [memoryview(part) for part in parts if len(part)]
        first = 0
        while True:
            while first < len(rest) and written >= len(rest[first]):
                written -= len(rest[first])
                first += 1
            if first == len(rest):
                return
            rest[first] = rest[first][written:]
            written = self._write(rest[first : first + BUFFERS_PER_WRITE_MAX])
            if not written:
                raise OSError(errno.EIO, "the disk took none of the bytes to append")

    def read(self, position: int, size: int) -> bytes:
        data = os.pread(self._descriptor, size, position)
        if len(data) == size or not data:
            return data
        return self._read_on(data, position, size)

    def _read_on(self, data: bytes, position: int, size: int) -> bytes:
        # A read may be short before the end: above 2 GB, and on network file systems.
        pieces = [data]
        while data and (size := size - len(data)):
            position += len(data)
            data = os.pread(self._descriptor, size, position)
            pieces.append(data)
        return b"".join(pieces)

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)
        if self._end >= 0:
            self._end = self._zeros_end = size

    def sync(self) -> None:
        _sync_data(self._descriptor)

    def stretch(self, position: int, size: int) -> Stretch | None:
        file = self._stretched() if self._stretched is not None else None
        if file is None:
            if StretchedFile.count >= STRETCHED_FILES_MAX:
                return None
            file = StretchedFile(self._descriptor)
            self._stretched = ref(file)
        return Stretch(file, position, size)

    def let_go(self, position: int, size: int) -> None:
        if hasattr(os, "posix_fadvise"):  # not on macOS
            try:  # noqa: SIM105 - each synced request comes by here
                os.posix_fadvise(self._descriptor, position, size, os.POSIX_FADV_DONTNEED)
            except OSError:
                pass  # advice that a file system cannot take is no failure of a write

    def close(self) -> None:
        # The number is forgotten first: the system gives it to the next file that is opened.
        descriptor, self._descriptor = self._descriptor, -1
        self._stretched = None
        if descriptor >= 0:
            os.close(descriptor)


if sys.platform == "darwin":

    def _sync_data(descriptor: int) -> None:
        # fsync on macOS leaves the bytes in the drive's own cache.
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)

else:
    _sync_data = os.fdatasync


class OsDisk:
    """The `Disk` of the operating system under a root folder, which `make_folder("")` makes if need be."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = os.path.abspath(root)

    def open(self, path: str, create: bool = False, read_only: bool = False) -> OsFile:
        flags = os.O_RDONLY if read_only else os.O_RDWR | os.O_APPEND
        if create:
            flags |= os.O_CREAT
        return OsFile(os.open(self._at(path), flags | os.O_CLOEXEC, FILE_MODE))

    def exists(self, path: str) -> bool:
        try:
            os.stat(self._at(path))
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def list(self, folder: str) -> list[str]:
        try:
            return sorted(os.listdir(self._at(folder)))
        except FileNotFoundError:
            return []

    def make_folder(self, path: str) -> None:
        _make_missing_folders(self._root)
        folder = self._root
        for name in filter(None, path.split("/")):
            parent, folder = folder, f"{folder}/{name}"
            _make_one_folder(folder)
            # Also when it was there: the process that made it may have been killed before this.
            _sync_folder(parent)

    def rename(self, old: str, new: str) -> None:
        os.replace(self._at(old), self._at(new))

    def remove(self, path: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._at(path))

    def remove_folder(self, path: str) -> None:
        with suppress(FileNotFoundError):
            shutil.rmtree(self._at(path))

    def sync_folder(self, path: str) -> None:
        _sync_folder(self._at(path))

    def free(self) -> tuple[int, int]:
        volume = os.statvfs(self._root)
        return volume.f_bavail * volume.f_frsize, volume.f_blocks * volume.f_frsize

    def _at(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root


def _make_missing_folders(folder: str) -> None:
    """Make a folder given by its absolute path, and those missing above it; touch none that is there."""
    if os.path.isdir(folder):
        return
    parent = os.path.dirname(folder)
    _make_missing_folders(parent)
    _make_one_folder(folder)
    _sync_folder(parent)


def _make_one_folder(folder: str) -> None:
    try:
        os.mkdir(folder, FOLDER_MODE)
    except FileExistsError:
        if not os.path.isdir(folder):
            raise


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems cannot sync a folder and say so with EINVAL: no more can be asked of them.
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)
