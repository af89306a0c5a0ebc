"""What was appended last, over all segments: when the disk begins with it, and when the system's cache loses it.

    appended    ── the last FRESH_BYTES_MAX: the system may write them when it likes
    before that ── the disk has begun with them, so that what is not written yet stays within bounds
    before the last CACHED_BYTES_MAX ── dropped from the cache

A burst that is read and removed again soon need not reach the disk at all, and costs a tenth less where it does not
have to. But a cache that only ever grows costs more than it gives: measured on one machine, appending fell from 600 to
200 MB/s once some gigabytes were cached, and stays at 600 this way (docs/benchmarks.md). What is dropped costs those
who read it: 2.4 ms of processor time for a MB, instead of 0.6.
"""

from collections import deque
from contextlib import suppress

from onemq.errors import Corrupt
from onemq.log.segment import Segment

FRESH_BYTES_MAX = 512 << 20
CACHED_BYTES_MAX = 1 << 30
PIECE_BYTES = 8 << 20
"""So much of a segment is looked after at a time."""

Piece = tuple[Segment, int, int]
"""(segment, position, size)"""


class Recent:
    """Tells the system what to do with what was appended."""

    def __init__(
        self, fresh_bytes_max: int = FRESH_BYTES_MAX, cached_bytes_max: int = CACHED_BYTES_MAX
    ) -> None:
        self._fresh = _Window(fresh_bytes_max)
        self._begun = _Window(cached_bytes_max - fresh_bytes_max)

    def add(self, segment: Segment) -> None:
        """Takes what a segment's file got since the last time as the newest."""
        first, segment.recent_to = segment.recent_to, segment.written
        for begun in self._fresh.push((segment, first, segment.written - first)):
            _let_go(begun)
            for dropped in self._begun.push(begun):
                _let_go(dropped)


class _Window:
    """Pieces in the order in which they came, up to so many bytes."""

    def __init__(self, bytes_max: int) -> None:
        self._pieces: deque[Piece] = deque()
        self._bytes = 0
        self._bytes_max = bytes_max

    def push(self, piece: Piece) -> list[Piece]:
        """Puts a piece behind the others; returns those that do not fit any more."""
        self._pieces.append(piece)
        self._bytes += piece[2]
        leaving: list[Piece] = []
        while self._bytes > self._bytes_max:
            leaving.append(self._pieces.popleft())
            self._bytes -= leaving[-1][2]
        return leaving


def _let_go(piece: Piece) -> None:
    """Has the disk begin with what it does not have yet, and the cache drop what it has."""
    segment, position, size = piece
    with suppress(OSError, Corrupt):  # it may be gone
        segment.file.let_go(position, size)
