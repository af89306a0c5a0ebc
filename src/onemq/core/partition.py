"""A partition as the core sees it: its bounds, and the messages of this turn on their way to the log."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from onemq.core.bitmap import Bitmap
from onemq.core.lanes import Lanes
from onemq.log.batch import NOT_PERSISTENT, placed_at, read_header
from onemq.log.batch_builder import BatchBuilder
from onemq.log.records import first_since

if TYPE_CHECKING:
    from onemq.core.waiting import Wait

Staged = tuple[int, int, bytes]
"""(base offset, next offset, batch)"""


class Partition:
    """One partition of a topic."""

    __slots__ = (
        "_persistent",
        "boot",
        "builder",
        "deleted",
        "end",
        "expiring_end",
        "floor_ms",
        "identify",
        "journaled",
        "lanes",
        "number",
        "sealed",
        "start",
        "sync",
        "topic_id",
        "waiting",
    )

    def __init__(self, topic_id: int, number: int, sync: bool) -> None:
        self.topic_id = topic_id
        self.number = number
        self.sync = sync
        self.start = self.end = 0
        """First kept offset, and the offset that the next message gets."""
        self.expiring_end = 0
        """Of the messages from here on, none says itself when it expires (expiry.py)."""
        self.floor_ms = -1
        """For a stream that has batches as their producers sealed them: the highest time of all that is not kept any
        more (reading.py). -1: it has none."""
        self.boot = 0
        """The end when the broker started: messages before it that were not persistent are void."""
        self.deleted: Bitmap | None = None
        """Messages that were deleted one by one, if any: nobody reads them any more."""
        self.identify: Callable[[Partition], bytes | None] | None = None
        """For a stream whose last id may lie ahead of the time: gives the next message its id, if it needs one."""
        self.lanes: Lanes | None = None
        """Messages of other than the default priority, if there are any."""
        self.builder: BatchBuilder | None = None
        self.sealed: list[Staged] = []
        self.journaled = False
        self.waiting: dict[Wait, None] = {}
        """Readers that reached the end."""
        self._persistent = True

    def add_alike(self, now_ms: int, bodies: Sequence[bytes], headers: bytes) -> int:
        """Stages messages that differ in their bodies only and returns the first one's offset."""
        builder = self.builder
        if builder is None or not self._persistent:
            builder = self._open(now_ms, persistent=True)
        offset = builder.add_alike(now_ms, bodies, headers)
        self.end = builder.next_offset
        return offset

    def _open(self, now_ms: int, persistent: bool) -> BatchBuilder:
        if self.builder is not None:
            self.seal()
        self.builder = BatchBuilder(self.end, now_ms)
        self._persistent = persistent
        return self.builder

    def add(self, now_ms: int, key: bytes | None, body: bytes | None, headers: bytes, persistent: bool) -> int:
        """Stages one message and returns its offset."""
        builder = self.builder
        if builder is None or persistent != self._persistent:
            builder = self._open(now_ms, persistent)
        offset = builder.add(now_ms, key, body, headers)
        self.end = offset + 1
        return offset

    def add_batch(self, batch: bytes, next_offset_delta: int) -> int:
        """Stages a batch that was sealed elsewhere and returns its first offset."""
        self.seal()
        base_offset = self.end
        self.end += next_offset_delta
        self.sealed.append((base_offset, self.end, placed_at(batch, base_offset)))
        return base_offset

    def add_placed(self, batch: bytes, next_offset_delta: int) -> int:
        """As `add_batch`, for one that says already that it lies at the end."""
        self.seal()
        base_offset = self.end
        self.end += next_offset_delta
        self.sealed.append((base_offset, self.end, batch))
        return base_offset

    def seal(self) -> None:
        """Closes the batch that is being built."""
        builder = self.builder
        if builder is not None:
            self.sealed.append((builder.base_offset, self.end, builder.seal(0 if self._persistent else NOT_PERSISTENT)))
            self.builder = None

    def staged_from(self, offset: int, bytes_max: int) -> bytes | None:
        """Staged batches from an offset on; None if that offset is not staged."""
        self.seal()
        if not self.sealed or offset < self.sealed[0][0]:
            return None
        found: list[bytes] = []
        size = 0
        for _, next_offset, data in self.sealed:
            if next_offset > offset:
                if found and size + len(data) > bytes_max:
                    break
                found.append(data)
                size += len(data)
        return b"".join(found)

    def staged_at(self, timestamp_ms: int) -> int:
        """The first staged offset of that time or later; the end if there is none."""
        self.seal()
        for _, _, data in self.sealed:
            found = first_since(data, 0, read_header(data), timestamp_ms, self.start)
            if found is not None:
                return found
        return self.end

    @property
    def logged_end(self) -> int:
        """The end of what the log has; what follows is staged."""
        return self.sealed[0][0] if self.sealed else self.builder.base_offset if self.builder else self.end

    @property
    def all_staged(self) -> bool:
        """Whether the log has none of its messages yet."""
        return self.logged_end == self.start

    @property
    def staged_bytes(self) -> int:
        """Bytes that wait for the end of the turn."""
        self.seal()
        return sum(len(data) for _, _, data in self.sealed)

    def written(self) -> None:
        """The log has what was staged."""
        self.sealed.clear()
        self.builder = None
        self.journaled = False
        if self.lanes is not None:
            self.lanes.staged = None

    def trim_lanes(self, start: int) -> None:
        """Forgets the priorities of the messages before an offset."""
        if self.lanes is not None:
            self.lanes.trim(start)
            if not self.lanes:
                self.lanes = None
