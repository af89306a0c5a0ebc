"""Waiting readers: those who read by offset and reached the end (long poll)."""

from collections.abc import Callable

from onemq.core.deadlines import Deadlines
from onemq.core.partition import Partition


class Wait:
    """Someone waits for messages in any of some partitions, or for a time. Told once."""

    __slots__ = ("_partitions", "_then", "over")

    def __init__(self, partitions: list[Partition], then: Callable[[], None]) -> None:
        self._partitions = partitions
        self._then = then
        self.over = False
        for partition in partitions:
            partition.waiting[self] = None

    def tell(self) -> None:
        """Something came, or the time is up."""
        if not self.over:
            self.cancel()
            self._then()

    def cancel(self) -> None:
        """Nobody waits any more."""
        self.over = True
        for partition in self._partitions:
            partition.waiting.pop(self, None)


class Waiting:
    """All waiting readers."""

    def __init__(self) -> None:
        self._deadlines: Deadlines[Wait] = Deadlines(lambda wait: wait.over)

    def wait(self, partitions: list[Partition], until_ms: int, then: Callable[[], None]) -> Wait:
        """Calls `then` once: when a message comes to one of the partitions, or at a time."""
        wait = Wait(partitions, then)
        self._deadlines.add(until_ms, wait)
        return wait

    def next_due_ms(self) -> int | None:
        """When the next one's time is up."""
        return self._deadlines.next_due_ms()

    def settle(self, grown: list[Partition]) -> None:
        """Tells those who wait for messages in partitions that have new ones."""
        for partition in grown:
            for wait in list(partition.waiting):
                wait.tell()

    def tick(self, now_ms: int) -> int | None:
        """Tells those whose time is up. Returns when to come again."""
        for wait in self._deadlines.pop_due(now_ms):
            wait.tell()
        return self._deadlines.next_due_ms()

    def release_all(self) -> None:
        """Tells everyone."""
        for wait in self._deadlines.pop_all():
            wait.tell()
