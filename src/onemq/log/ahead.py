"""Zeros ahead: where a file is written in small pieces, zeros are written first, and the pieces go over them.

    | batches, written        | zeros             |
    0                         ^                   ^ a multiple of the unit

The system's cache makes pages as large as what is written at once: one for the zeros, where it would make several for
the pieces. These are then written in two thirds of the time, and sent in four fifths (docs/benchmarks.md).

A handle that has reserved zeros appends in front of them, any other one behind them. So they are cut off before
another one writes, and when nothing more comes.
"""

from contextlib import suppress

from onemq.log.disk import File

AHEAD_BYTES = 64 << 10
"""The unit. A file that has less, and pieces that are not smaller, go without."""


class Ahead:
    """The zeros of one file."""

    __slots__ = ("_file", "_to")

    def __init__(self) -> None:
        self._file: File | None = None
        self._to = 0

    @property
    def any(self) -> bool:
        """Whether there may be some."""
        return self._file is not None

    def is_short(self, end: int) -> bool:
        """Whether what is written up to `end` would go beyond them."""
        return end > self._to

    def write(self, file: File, written: int, end: int, unit: int) -> None:
        """Has zeros from `written`, where batches end, up to `end` and the next multiple of the unit. Where that cannot
        be, it goes without."""
        end = -(-end // unit) * unit
        with suppress(OSError):
            if file is self._file or file.size() == written:
                self._file, self._to = file, end
                file.reserve(end - written)

    def allows(self, file: File) -> bool:
        """Whether a handle appends right behind the batches."""
        return self._file is None or file is self._file

    def cut(self, file: File, written: int) -> None:
        """Removes what nothing was written over. Raises OSError."""
        if self._file is not None:
            file.truncate(written)
            self._file, self._to = None, 0

    def were_cut(self) -> None:
        """Somebody may have cut the file."""
        self._to = 0
