"""How a read is cut into tasks, and how much of a backlog one micro-batch takes. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from pyspark_onemq.offsets import Place

TASK_OFFSETS_MAX = 1 << 18
"""A larger range is split, so that one partition keeps several cores busy."""
TASKS_MANY = 32
"""From so many ranges on, small ones share a task: a task costs more than reading a small partition."""


@dataclass(frozen=True, slots=True)
class Range:
    """The offsets of one partition from `first` up to, and without, `end`."""

    topic: str
    topic_id: int
    partition: int
    first: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.first

    def cut(self, pieces: int) -> list["Range"]:
        """As many ranges of equal size, or one less of each that would be empty."""
        bounds = [self.first + self.size * number // pieces for number in range(pieces + 1)]
        edges = pairwise(bounds)
        return [Range(self.topic, self.topic_id, self.partition, low, high) for low, high in edges if low < high]


def plan(ranges: Iterable[Range], partitions_min: int | None) -> list[list[Range]]:
    """The ranges of each task: about equal, at least `partitions_min` tasks if there are as many messages."""
    there = [each for each in ranges if each.size > 0]
    total = sum(each.size for each in there)
    if not there:
        return []
    piece = min(TASK_OFFSETS_MAX, max(1, total // partitions_min)) if partitions_min else TASK_OFFSETS_MAX
    pieces = [part for each in there for part in each.cut(-(-each.size // piece))]
    many = max(TASKS_MANY, partitions_min or 0)
    return _combined(pieces, -(-total // many)) if len(pieces) > many else [[each] for each in pieces]


def _combined(pieces: list[Range], size: int) -> list[list[Range]]:
    """Neighbours share a task until it has `size` offsets."""
    tasks: list[list[Range]] = []
    room = 0
    for piece in pieces:
        if not tasks or piece.size > room:
            tasks.append([])
            room = size
        tasks[-1].append(piece)
        room -= piece.size
    return tasks


def admit(starts: dict[Place, int], ends: dict[Place, int], most: int) -> dict[Place, int]:
    """Where a micro-batch of at most so many offsets ends: each partition in proportion to its backlog.

    Every partition that has something gets at least one offset, if there are enough; else they take turns.
    """
    backlog = {place: ends[place] - starts[place] for place in sorted(ends) if ends[place] > starts[place]}
    total = sum(backlog.values())
    if total <= most:
        return dict(ends)
    if len(backlog) >= most:
        places = list(backlog)
        turn = sum(starts.values()) % len(places)
        share = dict.fromkeys((places[turn:] + places[:turn])[:most], 1)
    else:
        share = _proportional(backlog, total, most)
    return {place: min(starts[place] + share.get(place, 0), ends[place]) for place in ends}


def _proportional(backlog: dict[Place, int], total: int, most: int) -> dict[Place, int]:
    spare = most - len(backlog)
    share = {place: 1 + (size - 1) * spare // total for place, size in backlog.items()}
    left = most - sum(share.values())
    for place in sorted(backlog, key=lambda place: share[place] - backlog[place]):
        extra = min(left, backlog[place] - share[place])
        share[place] += extra
        left -= extra
    return share
