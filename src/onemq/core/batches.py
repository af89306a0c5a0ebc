"""Whole batches by the runs of offsets in which they lie, as they are stored."""

from collections.abc import Callable

from onemq.core.partition import Partition
from onemq.core.reading import Reading
from onemq.errors import Corrupt, OffsetOutOfRange
from onemq.log.batch import walk


class BatchesIn:
    """Reads the batches of some runs, step by step. A class for the same reason as in reading.py."""

    __slots__ = ("_arrived", "_found", "_index", "_looping", "_lost", "_offset", "_partition", "_reading", "_runs",
                 "_then")  # fmt: skip

    def __init__(
        self,
        reading: Reading,
        partition: Partition,
        runs: list[list[int]],
        lost: Callable[[int, str], None],
        then: Callable[[list[list[bytes]]], None],
    ) -> None:
        """A run is [first offset, last offset, bytes, ...]. `lost` is told of what cannot be read: an offset, and
        why."""
        self._reading = reading
        self._partition = partition
        self._runs = runs
        self._lost = lost
        self._then = then
        self._found: list[list[bytes]] = [[] for _ in runs]
        self._index = 0
        self._offset = runs[0][0] if runs else 0
        self._arrived = self._looping = False

    def go_on(self) -> None:
        """Reads until an answer takes longer, or all is there."""
        self._looping = self._arrived = True
        while self._index < len(self._runs) and self._arrived:
            self._arrived = False
            try:
                self._reading.batches(self._partition, self._offset, self._runs[self._index][2], self._take)
            except (Corrupt, OffsetOutOfRange) as damage:
                self._pass(damage)
        self._looping = False
        if self._arrived:
            self._then(self._found)

    def _take(self, data: bytes) -> None:
        self._arrived = True
        begin, last = self._offset, self._runs[self._index][1]
        for position, header in walk(data):
            if header.base_offset > last:
                break
            if header.base_offset > self._offset:
                self._lost(self._offset, "the stored batch cannot be found")
            self._found[self._index].append(data[position : position + header.size])
            self._offset = header.next_offset
        if self._offset == begin:
            self._lost(self._offset, "the stored batch cannot be found")
            self._offset = last + 1
        self._next_run()
        if not self._looping:
            self.go_on()

    def _pass(self, damage: Corrupt | OffsetOutOfRange) -> None:
        """Goes on behind what cannot be read."""
        self._lost(self._offset, damage.text)
        resume = damage.resume_offset if isinstance(damage, Corrupt) else None
        last = self._runs[self._index][1]
        self._offset = last + 1 if resume is None else max(resume, self._offset + 1)
        self._arrived = True
        self._next_run()

    def _next_run(self) -> None:
        if self._offset > self._runs[self._index][1]:
            self._index += 1
            if self._index < len(self._runs):
                self._offset = self._runs[self._index][0]
