"""A partition on disk: its segments in order, the first kept offset and the end."""

from bisect import bisect_right

from onemq.errors import OffsetOutOfRange
from onemq.log.batch import read_extent
from onemq.log.behind import WriteBehind
from onemq.log.index import NO_TIME
from onemq.log.openfiles import OpenFiles
from onemq.log.recent import PIECE_BYTES
from onemq.log.segment import Segment
from onemq.log.stretch import Stretch

RELATIVE_OFFSET_MAX = (1 << 32) - 1
POSITION_MAX = (1 << 32) - 1
RECLAIM_BYTES_MIN = 1 << 20

Mark = tuple[int, int, tuple[int, int, int, int]]
"""(end, number of segments, the last one's extent)"""


class Partition:
    """The segments of one partition of a topic."""

    __slots__ = (
        "_behind",
        "_files",
        "_interval_bytes",
        "compacted_to",
        "end",
        "folder",
        "number",
        "segment_bytes",
        "segment_ms",
        "segments",
        "start",
    )

    def __init__(
        self, files: OpenFiles, behind: WriteBehind, folder: str, number: int, interval_bytes: int
    ) -> None:
        self._files = files
        self._behind = behind
        self._interval_bytes = interval_bytes
        self.folder = folder
        self.number = number
        self.segment_bytes = POSITION_MAX
        self.segment_ms = 0
        self.segments: list[Segment] = []
        self.start = self.end = 0
        self.compacted_to = 0
        """Segments below this base were compacted since the last start."""

    def path(self, base: int, generation: int = 0) -> str:
        """The file of a segment."""
        suffix = f".c{generation}" if generation else ""
        return f"{self.folder}/{self.number}-{base:020d}{suffix}.log"

    def new_segment(self, base: int, path: str | None = None) -> Segment:
        """A segment object at the end of the list."""
        segment = Segment(self._files, path or self.path(base), base, self._interval_bytes)
        self.segments.append(segment)
        return segment

    def append(self, batch: bytes, may_wait: bool) -> Segment:
        """Puts a batch behind the others, not synced; one that may wait reaches the file later. Returns where it went.
        Raises OSError."""
        # Paid for each topic that a turn writes to.
        base_offset, next_offset, _, max_ms = read_extent(batch)
        assert base_offset >= self.end, "a batch must come after what is there"
        size = len(batch)
        segment = self.segments[-1] if self.segments else self._begin(base_offset)
        if self._is_full(segment, size, next_offset, max_ms):
            segment = self._begin(base_offset)
        self._behind.append(segment, batch, may_wait)
        segment.note(base_offset, next_offset, max_ms, size)
        self.end = next_offset
        if segment.size - segment.recent_to >= PIECE_BYTES:
            self._behind.recent.add(segment)
        return segment

    def base_for(self, batch: bytes) -> int:
        """The base of the segment to which `append` would put a batch; -1 if that would be a new one."""
        if not self.segments:
            return -1
        _, next_offset, _, max_ms = read_extent(batch)
        segment = self.segments[-1]
        return -1 if self._is_full(segment, len(batch), next_offset, max_ms) else segment.base

    def _is_full(self, segment: Segment, size: int, next_offset: int, max_ms: int) -> bool:
        """Whether a batch must go to another segment."""
        return segment.size > 0 and (
            segment.size + size > self.segment_bytes
            or next_offset - segment.base > RELATIVE_OFFSET_MAX
            or 0 < self.segment_ms < max_ms - segment.first_timestamp_ms
        )

    def append_all(self, batches: list[bytes]) -> list[int]:
        """As `append`, for batches that may not wait: those that fit the last segment reach it in one write. Returns
        the bases of their segments. Raises OSError."""
        segment = self.segments[-1] if self.segments else None
        extents = [read_extent(batch) for batch in batches]
        size = sum(map(len, batches))
        if (
            segment is None
            or not segment.size
            or segment.size + size > self.segment_bytes
            or extents[-1][1] - segment.base > RELATIVE_OFFSET_MAX
            or 0 < self.segment_ms < max([extent[3] for extent in extents]) - segment.first_timestamp_ms
        ):
            return [self.append(batch, may_wait=False).base for batch in batches]
        assert extents[0][0] >= self.end, "a batch must come after what is there"
        self._behind.write(segment, *batches)
        for (base_offset, next_offset, _, max_ms), batch in zip(extents, batches, strict=True):
            segment.note(base_offset, next_offset, max_ms, len(batch))
        self.end = segment.end
        if segment.size - segment.recent_to >= PIECE_BYTES:
            self._behind.recent.add(segment)
        return [segment.base] * len(batches)

    def _begin(self, base_offset: int) -> Segment:
        """A new segment: there is none, or the last one is full or old. That one gets all that waits for it."""
        if self.segments:
            last = self.segments[-1]
            if last.waiting:
                self._behind.write(last)  # cleaning reads it from the file
            last.cut_ahead()
        segment = self.new_segment(base_offset)
        segment.create()
        return segment

    def mark(self) -> Mark:
        """Where the partition stands now, for `restore`."""
        if not self.segments:
            return self.end, 0, (0, 0, 0, 0)
        last = self.segments[-1]
        return self.end, len(self.segments), (last.size, last.end, last.first_timestamp_ms, last.max_timestamp_ms)

    def restore(self, mark: Mark) -> list[str]:
        """Back to a mark. Returns paths of segments that are no longer wanted; cuts the last one. Raises OSError."""
        self.end, count, (size, end, first_ms, max_ms) = mark
        unwanted = self.segments[count:]
        del self.segments[count:]
        self._behind.forget(unwanted)
        if self.segments:
            last = self.segments[-1]
            in_file = last.cut(size, end)
            last.first_timestamp_ms, last.max_timestamp_ms = first_ms, max_ms
            if in_file:
                last.file.truncate(size)
        return [segment.path for segment in unwanted]

    def read(self, offset: int, bytes_max: int) -> bytes:
        """Whole batches from `offset` on; empty at the end."""
        if not self.start <= offset <= self.end:
            raise OffsetOutOfRange(f"offset {offset} is not in {self.start} to {self.end}")
        place = max(bisect_right(self.segments, offset, key=_base) - 1, 0)
        for segment in self.segments[place : place + 3]:
            data = segment.read(offset, bytes_max)
            if data:
                return data
        return self._read_over_gap(offset, place + 3, bytes_max)

    def stretch(self, offset: int, bytes_max: int, boot: int) -> tuple[Stretch, int] | None:
        """See `Segment.stretch`; None also at the end and where segments do not adjoin."""
        place = bisect_right(self.segments, offset, key=_base) - 1
        if place < 0 or not self.start <= offset < self.segments[place].end:
            return None
        return self.segments[place].stretch(offset, bytes_max, boot)

    def _read_over_gap(self, offset: int, place: int, bytes_max: int) -> bytes:
        for segment in self.segments[place:]:
            if segment.size:
                return segment.read(offset, bytes_max)
        return b""

    def offset_at(self, timestamp_ms: int) -> int:
        """The first offset stored at or after the time; the end if there is none."""
        for segment in self.segments:
            if segment.max_timestamp_ms >= timestamp_ms:
                found = segment.offset_at(timestamp_ms, self.start)
                if found is not None:
                    return found
        return self.end

    def latest_before(self, offset: int) -> int:
        """The highest time of what is kept before an offset; `NO_TIME` without anything."""
        latest_ms = NO_TIME
        for segment in self.segments:
            if segment.base >= offset:
                break
            latest_ms = max(latest_ms, segment.latest_before(offset))
        return latest_ms

    def trim(self, start: int) -> list[Segment]:
        """Raises the first kept offset. Returns the segments that hold nothing any more."""
        self.start = max(self.start, min(start, self.end))
        gone = []
        while self.segments and self.segments[0].end <= self.start:
            gone.append(self.segments.pop(0))
        return gone

    def expired(self, before_ms: int | None, bytes_max: int | None, below: int | None) -> int:
        """The first offset to keep, in whole segments."""
        start, stored = self.start, self.stored_bytes()
        for segment in self.segments:
            last = segment is self.segments[-1]
            too_old = before_ms is not None and segment.max_timestamp_ms < before_ms
            # Size never takes the segment that is being written: it holds the newest messages.
            too_large = bytes_max is not None and stored - segment.size >= bytes_max and not last
            # A small file that is being written is not worth a new one each time a queue runs empty.
            unneeded = below is not None and segment.end <= below and (not last or segment.size >= RECLAIM_BYTES_MIN)
            if not (too_old or too_large or unneeded):
                break
            start, stored = segment.end, stored - segment.size
        return start

    def stored_bytes(self) -> int:
        """Bytes in segments."""
        return sum(segment.size for segment in self.segments)

    def meta(self) -> list[object]:
        """What a snapshot keeps of the partition."""
        return [self.start, self.end, [[segment.path, segment.meta()] for segment in self.segments]]


def _base(segment: Segment) -> int:
    return segment.base
