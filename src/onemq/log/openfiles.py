"""The files that are open."""

import errno
from collections import OrderedDict

from onemq.log.disk import Disk, File

_NOT_WRITABLE = (errno.EROFS, errno.EACCES, errno.EPERM)
_TOO_MANY = (errno.EMFILE, errno.ENFILE)


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
