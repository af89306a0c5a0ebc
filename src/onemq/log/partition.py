"""A partition on disk: its segments in order, the first kept offset and the end."""

from bisect import bisect_right

from onemq.errors import OffsetOutOfRange
from onemq.log.engine import Batch
from onemq.log.records import BatchHeader, read_header
from onemq.log.segment import OpenFiles, Segment

RELATIVE_OFFSET_MAX = (1 << 32) - 1
POSITION_MAX = (1 << 32) - 1
RECLAIM_BYTES_MIN = 1 << 20
LET_GO_BYTES = 8 << 20
KEEP_CACHED_BYTES = 64 << 20


class Partition:
    """The segments of one partition of a topic."""

    __slots__ = (
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

    def __init__(self, files: OpenFiles, folder: str, number: int, interval_bytes: int) -> None:
        self._files = files
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

    def place(self, header: BatchHeader) -> Segment:
        """The segment that a batch goes to: the last one, or a new one when that is full or old."""
        if self.segments:
            last = self.segments[-1]
            too_large = last.size + header.size > self.segment_bytes
            too_old = 0 < self.segment_ms < header.max_timestamp_ms - last.first_timestamp_ms
            too_wide = header.next_offset - last.base > RELATIVE_OFFSET_MAX
            if not last.size or not (too_large or too_old or too_wide):
                return last
        segment = self.new_segment(header.base_offset)
        segment.create()
        return segment

    def append(self, batches: list[Batch]) -> list[Segment]:
        """Writes batches to the end, not synced. Returns where each one went."""
        places: list[Segment] = []
        waiting: list[bytes] = []
        for batch in batches:
            header = read_header(batch.data)
            assert header.base_offset >= self.end, "a batch must come after what is there"
            segment = self.place(header)
            if waiting and segment is not places[-1]:
                places[-1].file.append(waiting)
                waiting = []
            waiting.append(batch.data)
            segment.note(header)
            places.append(segment)
            self.end = header.next_offset
        places[-1].file.append(waiting)
        if places[-1].size - places[-1].let_go_to >= LET_GO_BYTES:
            self._let_go()
        return places

    def _let_go(self) -> None:
        """Has the newest bytes written to disk soon, and those far behind them dropped from the cache.

        A cache that only ever grows costs more than it gives: measured on one machine, appending fell from
        600 to 200 MB/s once some gigabytes were cached, and stays at 600 this way (docs/benchmarks.md).
        """
        last = self.segments[-1]
        first, last.let_go_to = last.let_go_to, last.size
        last.file.let_go(first, last.size - first)
        if first > KEEP_CACHED_BYTES:
            last.file.let_go(0, first - KEEP_CACHED_BYTES)
        elif len(self.segments) > 1:
            self.segments[-2].file.let_go(0, self.segments[-2].size)

    def mark(self) -> tuple[int, int, list[int]]:
        """Where the partition stands now, for `restore`."""
        return self.end, len(self.segments), self.segments[-1].meta() if self.segments else []

    def restore(self, mark: tuple[int, int, list[int]]) -> list[str]:
        """Back to a mark. Returns paths of segments that are no longer wanted; cuts the last one."""
        self.end, count, meta = mark
        unwanted = [segment.path for segment in self.segments[count:]]
        del self.segments[count:]
        if self.segments:
            last = self.segments[-1]
            last.cut(meta[1], meta[2])
            last.restore_meta(meta)
            last.file.truncate(last.size)
        return unwanted

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
