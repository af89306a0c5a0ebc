"""A cursor: a group's position on one partition.

Everything before its `next` offset was handed out; of that, what is in `unacknowledged` is in flight, waiting for a
retry, or ready to be handed out again. All the rest before `next` is acknowledged: the acknowledged set takes no
memory, and offsets that do not exist (compacted, void) need no bookkeeping. Where messages have priorities, the same
holds in each lane (lanes.py): `next` is the position in the default one.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from onemq.core.delivery import READY, Delivery
from onemq.core.lanes import LanePositions, Lanes, Pick
from onemq.core.partition import Partition
from onemq.message import PRIORITY_DEFAULT, Record

if TYPE_CHECKING:
    from onemq.core.group import Group

WHATEVER = Pick(PRIORITY_DEFAULT, None, 0)


class Cursor:
    """A group's position on one partition."""

    __slots__ = (
        "_low", "again", "ahead", "begun", "busy", "ghosts", "group", "high", "lane", "lanes", "last", "names", "next",
        "partition", "plain", "ready", "remark", "unacknowledged",
    )  # fmt: skip

    def __init__(self, group: "Group", partition: Partition, position: int) -> None:
        self.group = group
        self.partition = partition
        self.next = self._low = self.high = self.last = position
        """`last` is after the last message that was handed out: between it and `next` there is none any more.
        `high` is above everything that was ever handed out since the start: `next` may have been moved back."""
        self.lanes = LanePositions(position)
        self.lane = PRIORITY_DEFAULT
        """The lane that is being handed out from: `ahead` has its records."""
        self.unacknowledged: dict[int, Delivery] = {}
        self.ghosts: dict[int, int] = {}
        """Unacknowledged offsets whose messages were removed, but stay listed, with their stream ids."""
        self.names: dict[bytes, int] = {}
        """Offsets that were handed out by the names that a protocol has for them; may lack any of them."""
        self.ready: list[int] = []
        """Heap of offsets to hand out again; stale ones are passed over."""
        self.ahead: list[Record] = []
        """Records that were decoded and not yet handed out, the next one last."""
        self.plain = True
        """Whether those can be handed out without looking at each of them."""
        self.again: dict[int, Record] = {}
        """Records that are ready and were read already: the log brought them late, or they were held back by no one."""
        self.busy = False
        """Whether a read of the log is under way."""
        self.begun = True
        """Whether anybody has said where the group is here, or was handed anything. If not, a reader that keeps its
        own place may choose; everybody else begins at `next`."""
        self.remark: tuple[int, str] | None = None
        """(offset, what a reader said of it) when it last told how far it is."""

    @property
    def available(self) -> bool:
        """Whether there is something to hand out now."""
        return self.has_fresh or self.has_ready()

    @property
    def has_fresh(self) -> bool:
        """Whether there is something that was never handed out, and no read of it under way."""
        if self.partition.lanes is None:
            return not self.busy and self.next < self.partition.end
        return not self.busy and self.unread > 0

    @property
    def ranked(self) -> Lanes | None:
        """The lanes that the group goes through, if it does: a group that keeps an order has no eye for priorities."""
        return self.partition.lanes if self.group.config.order == "none" else None

    @property
    def position(self) -> int:
        """Where it goes on in the lane that is being handed out from."""
        return self.next if self.lane == PRIORITY_DEFAULT else self.lanes.of(self.lane)

    def pick(self) -> Pick:
        """Turns to the lane that the next messages come from, of which there must be some."""
        lanes = self.ranked
        if lanes is None:
            return WHATEVER
        pick = self.lanes.pick(self._waiting_lanes(lanes))
        self.turn_to(pick.priority)
        return pick

    def turn_to(self, lane: int) -> None:
        """Hands out from a lane; what was read ahead of the last one is kept."""
        if lane != self.lane:
            if self.ahead:
                self.lanes.ahead[self.lane] = (self.ahead, self.plain)
            self.ahead, self.plain = self.lanes.ahead.pop(lane, ([], True))
            self.lane = lane

    def is_fresh(self, offset: int) -> bool:
        """Whether a message at this offset was neither handed out nor passed."""
        lanes = self.ranked
        priority = PRIORITY_DEFAULT if lanes is None else lanes.priority_of(offset)
        return offset >= (self.next if priority == PRIORITY_DEFAULT else self.lanes.of(priority))

    def waiting_lanes(self) -> list[int]:
        """The lanes that have something fresh, highest priority first."""
        lanes = self.ranked
        return [PRIORITY_DEFAULT] if lanes is None else [priority for priority, _ in self._waiting_lanes(lanes)]

    def _waiting_lanes(self, lanes: Lanes) -> list[tuple[int, int]]:
        """(priority, first offset) of these."""
        end = self.partition.end
        waiting = self.lanes.first_waiting(lanes)
        first = lanes.default_from(self.next, end)
        if first < end:
            waiting.append((PRIORITY_DEFAULT, first))
            waiting.sort(reverse=True)
        return waiting

    def overtaken_copy(self) -> Callable[[int], bool]:
        """Says of each offset before `next` whether it still waits in its lane, as of now; can be asked on another
        thread."""
        lanes = self.ranked
        return _never if lanes is None else self.lanes.waiting_copy(lanes, self.next)

    @property
    def fresh_low(self) -> int:
        """Everything below was handed out or passed."""
        lanes = self.ranked
        if lanes is None:
            return self.next
        return min([self.next, *(offset for _, offset in self.lanes.first_waiting(lanes))])

    @property
    def fresh_high(self) -> int:
        """Everything from here on was neither handed out nor passed."""
        return self.next if self.ranked is None else max(self.next, self.lanes.high)

    def has_ready(self) -> bool:
        """Whether something is to be handed out again; drops stale offsets on the way."""
        while self.ready:
            delivery = self.unacknowledged.get(self.ready[0])
            if delivery is not None and delivery.member is None and delivery.due_ms == READY:
                return True
            heappop(self.ready)
        return False

    def make_ready(self, offset: int) -> None:
        """The message can be handed out again from now on."""
        self.unacknowledged[offset].due_ms = READY
        heappush(self.ready, offset)

    def pop_ready(self) -> int:
        """The lowest offset that is ready; `has_ready` must hold."""
        return heappop(self.ready)

    @property
    def low(self) -> int:
        """Everything below is acknowledged."""
        if self.partition.lanes is not None:
            self.settle_low()
        elif not self.unacknowledged:
            self._low = self.next
        elif self.high > self.next or self.ghosts or len(self.unacknowledged) < self.next - self._low:
            self.settle_low()
        else:
            while self._low not in self.unacknowledged:
                self._low += 1
        return self._low

    def settle_low(self) -> None:
        """Finds the low mark anew."""
        pending = self.unacknowledged.keys() - self.ghosts.keys() if self.ghosts else self.unacknowledged
        fresh_low = self.fresh_low
        self._low = min(min(pending, default=fresh_low), fresh_low)

    @property
    def lag(self) -> int:
        """Messages not yet acknowledged."""
        return max(self.unread, 0) + len(self.unacknowledged)

    @property
    def unread(self) -> int:
        """Messages that were neither handed out nor passed."""
        end, lanes = self.partition.end, self.ranked
        if lanes is None:
            return end - self.next
        return end - self.next - lanes.count_between(self.next, end) + self.lanes.count_waiting(lanes)

    def seek(self, offset: int) -> None:
        """Goes on at an offset and forgets what was in flight."""
        self._unlock(list(self.unacknowledged))
        for delivery in self.unacknowledged.values():
            delivery.release()
        self.unacknowledged.clear()
        self.ready.clear()
        self.again.clear()
        self.ghosts.clear()
        self.names.clear()
        self.forget_ahead()
        self.lanes.reset(offset)
        self.next = self._low = self.high = self.last = offset
        self.begun, self.remark = True, None

    def mark(self, offset: int, remark: str | None) -> None:
        """A reader that keeps its own place is at an offset, of which it has something to say. Nothing at all, not
        even the empty text: nobody is anywhere here from now on."""
        self.seek(offset)
        self.begun = remark is not None
        self.remark = (offset, remark) if remark else None

    @property
    def remark_here(self) -> str:
        """What the reader said of the place where the group still is."""
        return self.remark[1] if self.remark is not None and self.remark[0] == self.low else ""

    def is_marked(self, offset: int, remark: str) -> bool:
        """Whether a mark would change nothing."""
        if not self.begun or self.next != offset or self.unacknowledged or self.remark_here != remark:
            return False
        return self.partition.lanes is None or (self.lanes.base == offset and not self.lanes.places)

    def move(self, offset: int) -> None:
        """Goes on at an offset; what is in flight stays in flight."""
        self.begun, self.remark = True, None
        self.high = max(self.high, self.next)
        self.next = self.last = offset
        self.forget_ahead()
        self.lanes.reset(offset)
        self.settle_low()

    def level(self, offset: int) -> None:
        """Goes on at an offset in all lanes, since the group gets, or had, no eye for priorities. What overtook
        others beyond it comes again."""
        self.high = max(self.high, self.next)
        self.next, self.last = offset, min(self.last, offset)
        self.forget_ahead()
        self.lanes.reset(offset)
        self.settle_low()

    def forget_ahead(self) -> None:
        """What was decoded ahead must be read again."""
        self.ahead.clear()
        self.lanes.ahead.clear()
        self.lane = PRIORITY_DEFAULT

    def reopen(self, offset: int) -> None:
        """A message is in flight now that need not have been handed out, or was acknowledged already."""
        self.high = max(self.high, offset + 1)
        self._low = min(self._low, offset)

    def trim(self, start: int) -> None:
        """The messages before an offset are gone."""
        if self.next < start:
            self.next = start
            self.forget_ahead()
        elif self.lanes.ahead or self.lane != PRIORITY_DEFAULT:
            self.forget_ahead()
        self.last = max(self.last, start)
        if self._low < start:
            gone = [offset for offset in self.unacknowledged_among(self._low, start) if offset not in self.ghosts]
            self._unlock(gone)
            for offset in gone:
                self.unacknowledged.pop(offset).release()
            self._low = start

    def unacknowledged_among(self, first: int, end: int) -> list[int]:
        """Those from an offset to before another, ascending: in the shorter way, since either may be much."""
        if end - first < len(self.unacknowledged):
            return [offset for offset in range(first, end) if offset in self.unacknowledged]
        return sorted([offset for offset in self.unacknowledged if first <= offset < end])

    def cut(self, end: int) -> None:
        """The messages from an offset on never survived; only after a power cut, on async topics."""
        self.next = min(self.next, end)
        self.last = min(self.last, end)
        self.high = min(max(self.high, self.next), end)
        self.lanes.cut(end)
        self.forget_ahead()
        self._low = min(self._low, end)
        if self.remark is not None and self.remark[0] > end:
            self.remark = None
        gone = [offset for offset in self.unacknowledged if offset >= end]
        self._unlock(gone)
        for offset in gone:
            self.unacknowledged.pop(offset).release()

    def _unlock(self, gone: list[int]) -> None:
        """Messages are about to go: those of the same keys need not wait for them any more."""
        if self.group.locks is not None:
            self.group.locks.release(self.partition.number, gone)


def _never(offset: int) -> bool:
    return False
