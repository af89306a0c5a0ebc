"""Lanes: the messages of a partition by priority, without copying them.

    offsets     0  1  2  3  4  5  6  7  8  9        the partition, in the order in which messages came
    lane 9            2        5                    kept: the offsets of each priority but the default one
    lane 4      0  1     3        6     8  9        not kept: all the others
    lane 0                  4        7

A group goes through each lane with a position of its own (`LanePositions`): a message was handed out for the
first time, or passed, if its offset lies below the position of its lane. The position of the default lane is the
cursor's `next`. An offset that is not in the index, because it was forgotten (UNRANK) or never was (ready-made
batches), is in the default lane.

A priority is known by its header (`priority_in`), if only headers with reserved names stand before it: a field
of that name in a Redis stream is the sender's own.
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import NamedTuple

from onemq.limits import LANE_STREAK_MAX
from onemq.log.records import decode_headers
from onemq.message import PRIORITY, PRIORITY_DEFAULT, PRIORITY_MAX, RESERVED, Headers, Record

PRIORITY_MARK = b"\x08" + PRIORITY
"""How the header looks in an encoded block: what a sender looks for, with `find` (`in` takes four times as long),
before it calls `priority_in`."""


def priority_in(headers: bytes) -> int:
    """The priority that encoded headers tell; the default one if they tell none."""
    return priority_of(decode_headers(headers))


def priority_of(headers: Headers) -> int:
    """The priority that headers tell; the default one if they tell none."""
    for name, value in headers:
        if name == PRIORITY:
            known = value is not None and len(value) == 1 and value.isdigit() and int(value) <= PRIORITY_MAX
            return int(value) if value is not None and known else PRIORITY_DEFAULT
        if name not in RESERVED:
            break
    return PRIORITY_DEFAULT


class Lanes:
    """The offsets of a partition's messages of other than the default priority."""

    __slots__ = ("_offsets", "staged")

    def __init__(self, offsets: "dict[int, array[int]] | None" = None) -> None:
        self._offsets: dict[int, array[int]] = offsets or {}
        """Priority -> ascending offsets; the highest priority first, and no empty ones."""
        self.staged: list[int] | None = None
        """The pairs in the RANK entry of this turn, if it has one already."""

    def __len__(self) -> int:
        return sum(map(len, self._offsets.values()))

    def __iter__(self) -> Iterator[tuple[int, "array[int]"]]:
        return iter(self._offsets.items())

    def add(self, offset: int, priority: int) -> None:
        """The newest message has a priority."""
        lane = self._offsets.get(priority)
        if lane is None:
            lane = self._offsets[priority] = array("q")
            self._offsets = dict(sorted(self._offsets.items(), reverse=True))
        lane.append(offset)

    def trim(self, start: int) -> None:
        """Forgets the messages before an offset."""
        for priority, lane in list(self._offsets.items()):
            del lane[: bisect_left(lane, start)]
            if not lane:
                del self._offsets[priority]

    def cut(self, end: int) -> None:
        """Forgets the messages from an offset on."""
        for priority, lane in list(self._offsets.items()):
            del lane[bisect_left(lane, end) :]
            if not lane:
                del self._offsets[priority]

    def priority_of(self, offset: int) -> int:
        """The lane that a message is in."""
        for priority, lane in self._offsets.items():
            place = bisect_left(lane, offset)
            if place < len(lane) and lane[place] == offset:
                return priority
        return PRIORITY_DEFAULT

    def some_from(self, priority: int, offset: int, most: int) -> list[int]:
        """The first offsets of a lane from one on."""
        lane = self._offsets.get(priority)
        if lane is None:
            return []
        place = bisect_left(lane, offset)
        return lane[place : place + most].tolist()

    def between(self, priority: int, first: int, end: int) -> list[int]:
        """The offsets of a lane from one to before another."""
        if priority != PRIORITY_DEFAULT:
            lane = self._offsets.get(priority)
            return [] if lane is None else lane[bisect_left(lane, first) : bisect_left(lane, end)].tolist()
        return sorted(set(range(first, end)) - self._others(first, end))

    def _others(self, first: int, end: int) -> set[int]:
        found: set[int] = set()
        for lane in self._offsets.values():
            found.update(lane[bisect_left(lane, first) : bisect_left(lane, end)])
        return found

    def count_between(self, first: int, end: int) -> int:
        """How many messages from an offset to before another are not in the default lane."""
        return sum(bisect_left(lane, end) - bisect_left(lane, first) for lane in self._offsets.values())

    def default_from(self, offset: int, end: int) -> int:
        """The first offset of the default lane at or after one; the end if there is none before it."""
        if offset >= end or self.priority_of(offset) == PRIORITY_DEFAULT:
            return offset
        low, step = offset, 1  # everything from the offset to `low` is in other lanes
        while low + step < end and self._is_without_default(offset, low + step):
            low += step
            step *= 2
        high = min(low + step, end)
        while high - low > 1:
            middle = (low + high) // 2
            if self._is_without_default(offset, middle):
                low = middle
            else:
                high = middle
        return high

    def _is_without_default(self, first: int, last: int) -> bool:
        return self.count_between(first, last + 1) == last + 1 - first

    def only_default(self, records: list[Record]) -> list[Record]:
        """Of records in order, those in the default lane."""
        if not records:
            return records
        others = self._others(records[0][0], records[-1][0] + 1)
        return [record for record in records if record[0] not in others] if others else records


class Pick(NamedTuple):
    """Which lane a group takes its next messages from."""

    priority: int
    most: int | None
    """How many at most before it must choose again."""
    streak: int
    """How many were taken in a row while lower ones waited, before these."""


class LanePositions:
    """How far a group has come in each lane of a partition but the default one."""

    __slots__ = ("ahead", "base", "places", "streak")

    def __init__(self, base: int) -> None:
        self.base = base
        """Where the group began, or was moved to: its position in lanes of which it got nothing since."""
        self.places: dict[int, int] = {}
        """Priority -> position."""
        self.ahead: dict[int, tuple[list[Record], bool]] = {}
        """What the cursor has as `ahead` and `plain` when it turns to a lane, where that was read before."""
        self.streak = 0
        """How many messages were handed out in a row while lower ones waited."""

    def of(self, priority: int) -> int:
        """The position in a lane."""
        return self.places.get(priority, self.base)

    @property
    def high(self) -> int:
        """The highest of the positions."""
        return max(self.base, *self.places.values()) if self.places else self.base

    def reset(self, base: int) -> None:
        """Goes on at an offset in all lanes."""
        self.base = base
        self.streak = 0
        self.places.clear()

    def cut(self, end: int) -> None:
        """The messages from an offset on never survived."""
        self.base = min(self.base, end)
        self.places = {priority: min(place, end) for priority, place in self.places.items()}

    def first_waiting(self, lanes: Lanes) -> list[tuple[int, int]]:
        """(priority, offset) of the first message in each lane that was not handed out, highest priority first."""
        found: list[tuple[int, int]] = []
        for priority, lane in lanes:
            place = self.of(priority)
            if lane[-1] >= place:
                found.append((priority, lane[bisect_left(lane, place)]))
        return found

    def has_waiting(self, lanes: Lanes) -> bool:
        """Whether any lane has a message that was not handed out."""
        return any(lane[-1] >= self.of(priority) for priority, lane in lanes)

    def count_waiting(self, lanes: Lanes) -> int:
        """How many messages of these lanes were not handed out."""
        return sum(len(lane) - bisect_left(lane, self.of(priority)) for priority, lane in lanes)

    def waiting_copy(self, lanes: Lanes, end: int) -> Callable[[int], bool]:
        """Says of each offset before an end whether it waits in one of these lanes, as of now; can be asked on
        another thread."""
        copies = [lane[bisect_left(lane, self.of(priority)) : bisect_left(lane, end)] for priority, lane in lanes]
        copies = [lane for lane in copies if lane]

        def is_waiting(offset: int) -> bool:
            return any(
                lane[0] <= offset <= lane[-1] and lane[bisect_left(lane, offset)] == offset for lane in copies
            )  # fmt: skip

        return is_waiting

    def pick(self, waiting: list[tuple[int, int]]) -> Pick:
        """The lane to take from, given what waits: the highest one; or, after so many in a row from higher
        lanes, the one whose message is the oldest, so that all get their turn."""
        if len(waiting) == 1:
            return Pick(waiting[0][0], None, 0)
        if self.streak >= LANE_STREAK_MAX:
            return Pick(min(waiting, key=lambda each: each[1])[0], 1, -1)
        return Pick(waiting[0][0], LANE_STREAK_MAX - self.streak, self.streak)

    def took(self, pick: Pick, count: int) -> None:
        """So many messages were handed out as picked."""
        self.streak = pick.streak + count if pick.most is not None else 0
