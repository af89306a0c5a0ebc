"""Waiting readers: those who read by offset and reached the end (long poll)."""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

from onemq.core.partition import Partition
from onemq.core.stage import Stage


class Wait:
    """Someone waits for messages in any of some partitions, or for a time. Told once."""

    __slots__ = ("_then", "over")

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then
        self.over = False

    def tell(self) -> None:
        """Something came, or the time is up."""
        if not self.over:
            self.over = True
            self._then()

    def cancel(self) -> None:
        """Nobody waits any more."""
        self.over = True


class Waiting:
    """All waiting readers."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._deadlines: list[tuple[int, int, Wait]] = []
        self._order = count()

    def wait(self, partitions: list[Partition], until_ms: int, then: Callable[[], None]) -> Wait:
        """Calls `then` once: when a message comes to one of the partitions, or at a time."""
        wait = Wait(then)
        for partition in partitions:
            partition.waiting = [each for each in partition.waiting if not each.over]
            partition.waiting.append(wait)
        heappush(self._deadlines, (until_ms, next(self._order), wait))
        return wait

    def settle(self) -> None:
        """Tells those for whom this turn brought messages."""
        for partition in self._stage.touched:
            if partition.waiting:
                waiting, partition.waiting = partition.waiting, []
                for wait in waiting:
                    wait.tell()

    def tick(self, now_ms: int) -> int | None:
        """Tells those whose time is up. Returns when to come again."""
        deadlines = self._deadlines
        while deadlines and (deadlines[0][0] <= now_ms or deadlines[0][2].over):
            heappop(deadlines)[2].tell()
        return deadlines[0][0] if deadlines else None

    def release_all(self) -> None:
        """Tells everyone."""
        while self._deadlines:
            heappop(self._deadlines)[2].tell()
