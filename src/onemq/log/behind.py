"""Write-behind: batches that the journal has wait in memory, so that their segment gets many in one write.

A turn may have a few messages for each of many topics, and a write for each of them costs more than the sync of
the journal that covers all. No crash takes what waits: the journal keeps it until a checkpoint, and a checkpoint
begins with writing everything that waits. Reads find it where it belongs (`Segment.content`).
"""

from collections import deque
from collections.abc import Iterable
from contextlib import suppress

from onemq.errors import Corrupt
from onemq.log.disk import Buffer
from onemq.log.segment import Segment

SEGMENT_WAITING_BYTES_MAX = 64 << 10
WAITING_BYTES_MAX = 8 << 20
CACHED_BYTES_MAX = 1 << 30


class WriteBehind:
    """Decides when a batch is written to its segment, and knows what a checkpoint has to sync."""

    def __init__(
        self,
        segment_bytes_max: int = SEGMENT_WAITING_BYTES_MAX,
        bytes_max: int = WAITING_BYTES_MAX,
        cached_bytes_max: int = CACHED_BYTES_MAX,
    ) -> None:
        """How much may wait for one segment, and for all of them; and how much of what was written may stay cached."""
        self._segment_bytes_max = segment_bytes_max
        self._bytes_max = bytes_max
        self._segments: dict[Segment, None] = {}
        """Those for which something waits, the one that has waited longest first."""
        self._bytes = 0
        self._cached: deque[tuple[Segment, int, int]] = deque()
        """(segment, position, size) of what was appended last, and the system may have in its cache."""
        self._cached_bytes = 0
        self._cached_bytes_max = cached_bytes_max
        self.unsynced: set[Segment] = set()
        """Those whose files have bytes that a checkpoint must sync."""

    def append(self, segment: Segment, batch: Buffer, may_wait: bool) -> None:
        """Takes a batch for the end of a segment; the caller then notes it there. Raises OSError."""
        size, waiting = len(batch), segment.waiting
        if may_wait and len(waiting) + size <= self._segment_bytes_max:
            if not waiting:
                self._segments[segment] = None
            waiting += batch
            self._bytes += size
        else:
            self.write(segment, batch)

    def write(self, segment: Segment, *batches: Buffer) -> None:
        """Writes what waits for a segment, and batches behind it. Raises OSError."""
        self.unsynced.add(segment)
        self._bytes -= segment.write(*batches)
        self._segments.pop(segment, None)

    def let_go(self, segment: Segment) -> None:
        """Has the newest bytes of a segment written to disk soon, and those dropped from the cache that were appended,
        to whichever segment, longest ago.

        A cache that only ever grows costs more than it gives: measured on one machine, appending fell from 600 to
        200 MB/s once some gigabytes were cached, and stays at 600 this way (docs/benchmarks.md). But what is dropped
        costs those who read it: 2.4 ms of processor time for a MB, instead of 0.6.
        """
        first, segment.let_go_to = segment.let_go_to, segment.written
        size = segment.written - first
        segment.file.let_go(first, size)
        self._cached.append((segment, first, size))
        self._cached_bytes += size
        while self._cached_bytes > self._cached_bytes_max:
            oldest, first, size = self._cached.popleft()
            self._cached_bytes -= size
            with suppress(OSError, Corrupt):  # it may be gone
                oldest.file.let_go(first, size)

    def relieve(self) -> None:
        """Writes what has waited longest, until no more waits than may. Raises OSError."""
        while self._bytes > self._bytes_max:
            self.write(next(iter(self._segments)))

    def write_all(self) -> None:
        """Writes everything that waits. Raises OSError; what was not written waits still."""
        for segment in list(self._segments):
            self.write(segment)

    def forget(self, segments: Iterable[Segment]) -> None:
        """These are going to be removed."""
        for segment in segments:
            self.unsynced.discard(segment)
            if segment in self._segments:
                del self._segments[segment]
                self._bytes -= len(segment.waiting)

    def recount(self) -> None:
        """After segments were cut."""
        self._segments = {segment: None for segment in self._segments if segment.waiting}
        self._bytes = sum(len(segment.waiting) for segment in self._segments)
