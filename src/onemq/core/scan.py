"""Scans: a look through partitions that goes on over many turns, a few steps in each.

A scan changes nothing and hinders nobody: it goes up to the end that each partition had when it began, reads past
damage, and ends with what it found so far if that is as much as it may hold.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from onemq.core.partition import Partition
from onemq.core.reading import Reading
from onemq.core.topics import Topic, Topics
from onemq.core.unreadable import Unreadable
from onemq.errors import Busy, Corrupt, NotFound, OneMQError
from onemq.limits import DAMAGES_TOLD, SCAN_STEP_BYTES, SCAN_STEPS_PER_TURN, SCANS_MAX, SEARCH_BYTES_MAX
from onemq.message import Record

Found = tuple[int, Record]
"""(partition, record)"""
Select = Callable[[Partition, list[Record]], list[Record]]
"""Those of some records of a partition that are wanted."""

_WINDOW = 256
_WINDOW_MAX = 65_536
"""Offsets in one piece when looking from the end: first few, then more and more, since each begins with a read."""
_BUSY_WAIT_MS = 10


class Span(NamedTuple):
    """Offsets of a partition: from the first on, before the end."""

    partition: Partition
    first: int
    end: int


@dataclass(slots=True)
class ScanResult:
    """What a scan found."""

    found: list[Found] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)
    """What could not be read and was passed over; the first few."""
    cut: bool = False
    """Whether it ended early because it had found as many bytes as it may hold."""
    error: OneMQError | None = None
    """Why it could not be finished, if so."""

    def note_damage(self, damage: Corrupt) -> None:
        """Remembers what could not be read."""
        if len(self.damage) < DAMAGES_TOLD:
            self.damage.append(damage.text)


Then = Callable[[ScanResult], None]


class Scan:
    """One look through some spans: each gives its first `most` wanted messages, or its last; of all these the `most`
    oldest, or newest, are the result."""

    __slots__ = (
        "_at", "_here", "_high", "_index", "_low", "_most", "_needle", "_newest", "_reading", "_select", "_spans",
        "_then", "_window", "_window_bytes", "busy", "over", "result", "topic",
    )  # fmt: skip

    def __init__(
        self,
        reading: Reading,
        topic: Topic,
        spans: list[Span],
        select: Select,
        then: Then,
        *,
        most: int,
        newest: bool = False,
        needle: bytes | None = None,
    ) -> None:
        """`needle` is something that each wanted record has in its bytes, if known: that makes it quicker."""
        self._reading = reading
        self.topic = topic
        self._spans = spans
        self._select = select
        self._then = then
        self._most = most
        self._newest = newest
        self._needle = needle
        self.result = ScanResult()
        self.busy = False
        """Whether a read of the log is under way."""
        self.over = False
        self._index = -1
        self._here: list[Record] = []
        """What the span gave so far, in the order of the result."""
        self._low = self._high = self._at = 0
        """The piece of the span that is being read, and how far that is."""
        self._window: list[Record] = []
        """What was found in that piece, by offset."""
        self._window_bytes = 0
        self._next_span()

    def cancel(self) -> None:
        """Nobody waits for the result any more."""
        self.over = True

    def finish(self, error: OneMQError | None = None) -> None:
        """Answers with what was found, once."""
        if not self.over:
            self.over = True
            self.result.error = error
            self._then(self.result)

    def step(self) -> None:
        """Reads a little further."""
        if self._index >= len(self._spans):
            self.finish()
            return
        partition = self._spans[self._index].partition
        self._at = max(self._at, partition.start)
        if self._at >= self._high:
            self._window_done()
            return
        self.busy = True
        try:
            self._reading.records(partition, self._at, SCAN_STEP_BYTES, self._arrived, needle=self._needle)
        except Corrupt as damage:
            self.busy = False
            self.result.note_damage(damage)
            if isinstance(damage, Unreadable):
                self._reading.unreadable.note(partition, damage)
            resume = damage.resume_offset
            self._at = resume if resume is not None and resume > self._at else self._high

    def _arrived(self, records: list[Record], next_offset: int) -> None:
        self.busy = False
        self._at = max(next_offset, self._at + 1)
        if records and records[-1][0] >= self._high:
            records = [record for record in records if record[0] < self._high]
        if records:
            self._keep(self._select(self._spans[self._index].partition, records))
        enough = len(self._window) >= self._most or self.result.cut
        if self._at >= self._high or (enough and not self._newest):
            self._window_done()

    def _keep(self, records: list[Record]) -> None:
        """Adds to the window, as many and as much as can be in the result."""
        window = self._window
        window += records
        if len(window) > self._most:
            if self._newest:
                del window[: -self._most]
            else:
                del window[self._most :]
        self._window_bytes += size_of(records)
        if self._window_bytes > SEARCH_BYTES_MAX:
            self.result.cut = size_of(window) > SEARCH_BYTES_MAX
            while size_of(window) > SEARCH_BYTES_MAX and len(window) > 1:
                window.pop(0 if self._newest else -1)
            self._window_bytes = size_of(window)

    def _window_done(self) -> None:
        span = self._spans[self._index]
        self._here += reversed(self._window) if self._newest else self._window
        more = len(self._here) < self._most and not self.result.cut
        if self._newest and more and self._low > span.first:
            self._open_window(max(span.first, self._low - min(2 * (self._high - self._low), _WINDOW_MAX)), self._low)
            return
        self._take(span.partition.number, self._here[: self._most])
        self._next_span()

    def _take(self, number: int, records: list[Record]) -> None:
        found = self.result.found
        found += [(number, record) for record in records]
        if len(self._spans) > 1:
            found.sort(key=lambda each: (each[1][1], each[0], each[1][0]), reverse=self._newest)
            del found[self._most :]
        while size_of(record for _, record in found) > SEARCH_BYTES_MAX and len(found) > 1:
            found.pop()
            self.result.cut = True
        if self.result.cut:
            self._index = len(self._spans)

    def _next_span(self) -> None:
        self._index += 1
        self._here = []
        while self._index < len(self._spans) and self._spans[self._index].first >= self._spans[self._index].end:
            self._index += 1
        if self._index < len(self._spans):
            _, first, end = self._spans[self._index]
            self._open_window(max(first, end - _WINDOW) if self._newest else first, end)

    def _open_window(self, low: int, high: int) -> None:
        self._low = self._at = low
        self._high = high
        self._window = []
        self._window_bytes = 0


def size_of(records: Iterable[Record]) -> int:
    """The bytes of their bodies."""
    return sum(len(record[3] or b"") for record in records)


class Scans:
    """All scans under way."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._open: dict[Scan, None] = {}

    def __len__(self) -> int:
        return len(self._open)

    def check(self) -> None:
        """Raises `Busy` if no more can begin."""
        if len(self._open) >= SCANS_MAX:
            self._forget_cancelled()
        if len(self._open) >= SCANS_MAX:
            raise Busy(f"{SCANS_MAX} searches are under way, and more are not taken at a time: ask again later")

    def begin(self, scan: Scan) -> Scan:
        """Takes a scan. The first step is made at once: it often is the only one."""
        self.check()
        self._open[scan] = None
        self._step(scan)
        return scan

    def tick(self, now_ms: int) -> int | None:
        """Goes on with all scans in turn. Returns when to come again."""
        self._forget_cancelled()
        for _ in range(SCAN_STEPS_PER_TURN):
            scan = next((each for each in self._open if not each.busy), None)
            if scan is None:
                break
            del self._open[scan]
            self._open[scan] = None
            self._step(scan)
        if not self._open:
            return None
        return now_ms + _BUSY_WAIT_MS if all(each.busy for each in self._open) else now_ms

    def release_all(self) -> None:
        """The broker took its state from the log again: those who wait are told to ask again."""
        scans, self._open = list(self._open), {}
        for scan in scans:
            scan.finish(Busy("the search was interrupted, because the log could not be written: ask again"))

    def _step(self, scan: Scan) -> None:
        if self._topics.by_id(scan.topic.id) is not scan.topic:
            scan.finish(NotFound(f"topic {scan.topic.name!r} was deleted during the search"))
        else:
            scan.step()
        if scan.over:
            self._open.pop(scan, None)

    def _forget_cancelled(self) -> None:
        for scan in [scan for scan in self._open if scan.over]:
            del self._open[scan]
