"""From rows to batches: placed, brought into the order of partitions, and sealed."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from onemq.limits import KIB, MIB
from pyspark_onemq.encoding import Numbers, seal
from pyspark_onemq.placing import Turn, place
from pyspark_onemq.rows import Rows, taken

BATCH_BYTES_MAX = 1 * MIB
"""Where a batch ends and the next one begins; also what a topic takes at most, if that is less."""
BATCH_ROOM_BYTES = 1 * KIB
"""What a batch's own header may take of it."""


@dataclass(slots=True)
class Route:
    """A topic as a task sees it."""

    topic: str
    partitions: int
    bytes_max: int
    """What the topic takes at a time."""
    turn: Turn

    @property
    def batch_bytes_max(self) -> int:
        return max(1, min(self.bytes_max, BATCH_BYTES_MAX) - BATCH_ROOM_BYTES)


class Append(NamedTuple):
    """A batch on its way to a partition."""

    topic: str
    partition: int
    batch: bytes


def appends(rows: Rows, route: Route) -> list[Append]:
    """The batches of rows of one topic. Rows of one partition stay in their order."""
    sizes = rows.sizes()
    by = rows.key if rows.order is None else rows.order
    placed = place(route.topic, route.partitions, rows.partition, by, sizes, route.turn)
    order = np.argsort(placed, kind="stable")
    rows, placed = taken(rows, order), placed[order]
    starts = _starts(placed, sizes[order], route.batch_bytes_max)
    sealed = seal(rows.value, rows.key, rows.headers, starts)
    partitions = placed[starts].tolist()
    return [Append(route.topic, number, batch) for number, batch in zip(partitions, sealed, strict=True)]


def _starts(placed: Numbers, sizes: Numbers, bytes_max: int) -> Numbers:
    """The first row of each batch: of one partition, and of so many bytes unless one row has more."""
    edges = [*(np.flatnonzero(np.diff(placed)) + 1).tolist(), len(placed)]
    ends = np.cumsum(sizes)
    starts, first = [], 0
    for edge in edges:
        while first < edge:
            starts.append(first)
            begun = ends[first] - sizes[first]
            full = int(np.searchsorted(ends, begun + bytes_max, side="right"))
            first = min(max(full, first + 1), edge)
    return np.array(starts, np.int64)
