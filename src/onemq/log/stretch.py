"""A stretch of a file that is to be sent, and read no earlier than that, if at all.

    answer:  bytes  |  stretch  |  bytes  |  stretch  |  bytes

Whoever has a stretch can read it also after its file was closed, removed, or replaced by another one of its name.
"""

import errno
import os


class StretchedFile:
    """A file as its stretches have it open. It is closed when there are none any more."""

    __slots__ = ("__weakref__", "descriptor")

    count = 0
    """How many there are. Slow clients keep files open that are long closed for everybody else."""

    def __init__(self, descriptor: int) -> None:
        """Takes nothing from who has the descriptor. Raises OSError."""
        self.descriptor = -1
        self.descriptor = os.dup(descriptor)
        StretchedFile.count += 1

    def __del__(self) -> None:
        if self.descriptor >= 0:
            StretchedFile.count -= 1
            os.close(self.descriptor)


class Stretch:
    """Bytes of a file, which are read once, from the first to the last. Its length is what was not read yet."""

    __slots__ = ("_end", "_file", "_position")

    def __init__(self, file: StretchedFile, position: int, size: int) -> None:
        self._file = file
        self._position = position
        self._end = position + size

    def __len__(self) -> int:
        return self._end - self._position

    def read(self, size: int) -> bytes:
        """The next bytes, up to so many. Raises OSError, also if the file ends before the stretch does."""
        data = os.pread(self._file.descriptor, min(size, self._end - self._position), self._position)
        self._advance(len(data))
        return data

    def send(self, socket: int) -> None:
        """Has the system send the next bytes, as many as the socket takes. Raises OSError: BlockingIOError if it takes
        none, and as `read`."""
        self._advance(os.sendfile(socket, self._file.descriptor, self._position, self._end - self._position))

    def _advance(self, size: int) -> None:
        if not size and len(self):
            raise OSError(errno.EIO, "the file is shorter than it was")
        self._position += size
