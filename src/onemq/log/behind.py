"""Write-behind: batches that the journal has wait in memory, so that their segment gets many in one write.

A turn may have a few messages for each of many topics, and a write for each of them costs more than the sync of
the journal that covers all. No crash takes what waits: the journal keeps it until a checkpoint, and a checkpoint
begins with writing everything that waits. Reads find it where it belongs (`Segment.content`).
"""

from collections.abc import Iterable

from onemq.log.ahead import AHEAD_BYTES
from onemq.log.disk import Buffer
from onemq.log.recent import Recent
from onemq.log.segment import Segment

SEGMENT_WAITING_BYTES_MAX = 64 << 10
WAITING_BYTES_MAX = 8 << 20


class WriteBehind:
    """Decides when a batch is written to its segment, and knows what a checkpoint has to sync."""

    def __init__(
        self,
        segment_bytes_max: int = SEGMENT_WAITING_BYTES_MAX,
        bytes_max: int = WAITING_BYTES_MAX,
        ahead_bytes: int = AHEAD_BYTES,
    ) -> None:
        """How much may wait for one segment, and for all of them; and how many zeros are written ahead, if any."""
        self._segment_bytes_max = segment_bytes_max
        self._bytes_max = bytes_max
        self._ahead_bytes = ahead_bytes
        self._segments: dict[Segment, None] = {}
        """Those for which something waits, the one that has waited longest first."""
        self._bytes = 0
        self.recent = Recent()
        self.unsynced: dict[Segment, int] = {}
        """Those whose files have bytes that a checkpoint must sync, and from which position on."""

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
        written, ahead_bytes = segment.written, self._ahead_bytes
        self.unsynced.setdefault(segment, written)
        size = len(segment.waiting) + sum(map(len, batches))
        if size < ahead_bytes <= written:
            segment.write_ahead(size, ahead_bytes)
        self._bytes -= segment.write(*batches)
        self._segments.pop(segment, None)

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
            self.unsynced.pop(segment, None)
            if segment in self._segments:
                del self._segments[segment]
                self._bytes -= len(segment.waiting)

    def unsynced_bytes(self) -> int:
        """What a checkpoint must sync, of segments that are still there."""
        return sum([segment.written - first for segment, first in self.unsynced.items()])

    def recount(self) -> None:
        """After segments were cut."""
        self._segments = {segment: None for segment in self._segments if segment.waiting}
        self._bytes = sum(len(segment.waiting) for segment in self._segments)
