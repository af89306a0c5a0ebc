"""A disk over another one that changes nothing there: what is written stays in memory.

So that recovery and repair can be tried on a folder, even one in use, before or instead of doing them.
A file is the first bytes of the one below and what was appended here; no file is copied.
"""

from collections.abc import Sequence
from contextlib import closing
from errno import ENOENT

from onemq.log.disk import Buffer, Disk


class OverlayFile:
    """A `File` of an `Overlay`. It holds no file of the disk below open, so there may be any number of them."""

    def __init__(self, disk: Disk, below: str | None) -> None:
        self._disk = disk
        self._below = below
        self._kept = 0
        self._tail = bytearray()
        if below is not None:
            with closing(disk.open(below, read_only=True)) as file:
                self._kept = file.size()

    def append(self, parts: Sequence[Buffer]) -> None:
        self._tail += b"".join(parts)

    def reserve(self, size: int) -> None:
        pass

    def read(self, position: int, size: int) -> bytes:
        below, data = min(size, self._kept - position), b""
        if self._below is not None and below > 0:
            with closing(self._disk.open(self._below, read_only=True)) as file:
                data = file.read(position, below)
            if len(data) < below:  # somebody cut the file below meanwhile
                return data
        start = position + len(data) - self._kept
        return data + bytes(self._tail[start : start + size - len(data)])

    def size(self) -> int:
        return self._kept + len(self._tail)

    def truncate(self, size: int) -> None:
        del self._tail[max(0, size - self._kept) :]
        self._kept = min(self._kept, size)

    def sync(self) -> None:
        pass

    def stretch(self, position: int, size: int) -> None:
        pass

    def let_go(self, position: int, size: int) -> None:
        pass

    def close(self) -> None:
        pass


class Overlay:
    """A `Disk` that keeps its changes to itself."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._files: dict[str, OverlayFile] = {}
        self._written: set[str] = set()
        self._removed: set[str] = set()

    def open(self, path: str, create: bool = False, read_only: bool = False) -> OverlayFile:
        file = self._files.get(path)
        if file is None:
            below = None if self._is_removed(path) or not self._disk.exists(path) else path
            if below is None and not create:
                raise FileNotFoundError(ENOENT, "no such file", path)
            file = OverlayFile(self._disk, below)
            if not read_only:
                self._files[path] = file
            if below is None:
                self._written.add(path)
        return file

    def exists(self, path: str) -> bool:
        if path in self._written or any(name.startswith(path + "/") for name in self._written):
            return True
        return not self._is_removed(path) and self._disk.exists(path)

    def list(self, folder: str) -> list[str]:
        prefix = folder + "/" if folder else ""
        names = {path[len(prefix) :].partition("/")[0] for path in self._written if path.startswith(prefix)}
        if not self._is_removed(folder):
            names |= {name for name in self._disk.list(folder) if not self._is_removed(prefix + name)}
        return sorted(names)

    def make_folder(self, path: str) -> None:
        pass

    def rename(self, old: str, new: str) -> None:
        file = self.open(old)
        self.remove(old)
        self._files[new] = file
        self._written.add(new)

    def remove(self, path: str) -> None:
        self._files.pop(path, None)
        self._written.discard(path)
        self._removed.add(path)

    def remove_folder(self, path: str) -> None:
        self.remove(path)
        for name in [name for name in self._written if name.startswith(path + "/")]:
            self.remove(name)

    def sync_folder(self, path: str) -> None:
        pass

    def free(self) -> tuple[int, int]:
        return self._disk.free()

    def _is_removed(self, path: str) -> bool:
        parts = path.split("/")
        return any("/".join(parts[:count]) in self._removed for count in range(1, len(parts) + 1))
