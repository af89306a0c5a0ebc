"""What a group has not acknowledged in a partition, as runs of offsets.

Everything before the end of the partition that is in none of them is acknowledged. A run may hold offsets of messages
that are gone.
"""

from itertools import pairwise

from onemq.core.cursor import Cursor
from onemq.core.lanes import Lanes

Run = tuple[int, int]
"""First and last offset."""


def backlog(cursor: Cursor, first: int, most: int) -> tuple[list[Run], int | None]:
    """The runs that end at an offset or after it, in order, so many at most; and where to go on, if there are more."""
    lanes = cursor.ranked
    known = cursor.unacknowledged.keys() - cursor.ghosts.keys()
    taken: set[int] = set()
    if lanes is not None:
        waiting, taken = _by_lanes(cursor, lanes)
        known = known | waiting
    before = _runs(sorted(offset for offset in known if offset < cursor.next))
    fresh = _without(cursor.next, cursor.partition.end, sorted(taken - known))
    found = [run for run in [*before, *fresh] if run[1] >= first]
    return found[:most], found[most][0] if len(found) > most else None


def _by_lanes(cursor: Cursor, lanes: Lanes) -> tuple[set[int], set[int]]:
    """Of messages with another than the default priority: those before `next` that were not handed out, since others
    overtook them; those after it that were."""
    waiting: set[int] = set()
    taken: set[int] = set()
    for priority, _ in lanes:
        place = cursor.lanes.of(priority)
        waiting.update(lanes.between(priority, place, cursor.next))
        taken.update(lanes.between(priority, cursor.next, place))
    return waiting, taken


def _runs(offsets: list[int]) -> list[Run]:
    runs: list[Run] = []
    for offset in offsets:
        if runs and runs[-1][1] == offset - 1:
            runs[-1] = (runs[-1][0], offset)
        else:
            runs.append((offset, offset))
    return runs


def _without(first: int, end: int, holes: list[int]) -> list[Run]:
    """The offsets from one to before another but for some of them, which are ascending."""
    edges = [first - 1, *holes, end]
    return [(low + 1, high - 1) for low, high in pairwise(edges) if high - low > 1]
