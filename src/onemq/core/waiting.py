"""Waiting readers: those who read by offset and reached the end (long poll), or whose topic is not there yet.

They are told when the calls of a turn are over, never amid one: they answer their clients, who may do anything then.
"""

from collections.abc import Callable, Sequence

from onemq.core.deadlines import Deadlines
from onemq.core.partition import Partition
from onemq.core.topics import Topic

_Awaited = dict[bytes, dict["Wait", None]]


class Wait:
    """Someone waits for something in any of some partitions, for a topic, or for a time. Told once."""

    __slots__ = ("_awaited", "_names", "_partitions", "_then", "over")

    def __init__(
        self, partitions: list[Partition], names: Sequence[bytes], awaited: _Awaited, then: Callable[[], None]
    ) -> None:
        self._partitions = partitions
        self._names = names
        self._awaited = awaited
        self._then = then
        self.over = False
        for partition in partitions:
            partition.waiting[self] = None
        for name in names:
            awaited.setdefault(name, {})[self] = None

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
        for name in self._names:
            waiting = self._awaited.get(name, {})
            waiting.pop(self, None)
            if not waiting:
                self._awaited.pop(name, None)


class Waiting:
    """All waiting readers."""

    def __init__(self) -> None:
        self._deadlines: Deadlines[Wait] = Deadlines(lambda wait: wait.over)
        self._awaited: _Awaited = {}
        """Who waits for a topic to come, by its name."""
        self.stirred: list[Wait] = []
        """Who has to look again at the end of the turn, although no message came."""

    def wait(
        self, partitions: list[Partition], until_ms: int, then: Callable[[], None], names: Sequence[bytes] = ()
    ) -> Wait:
        """Calls `then` once: when a message comes to one of the partitions or its topic goes, when a topic of one of
        the names comes, or at a time."""
        wait = Wait(partitions, names, self._awaited, then)
        self._deadlines.add(until_ms, wait)
        return wait

    def next_due_ms(self) -> int | None:
        """When the next one's time is up."""
        return self._deadlines.next_due_ms()

    def stir(self, partitions: list[Partition]) -> None:
        """Something else than new messages: who waits for these partitions has to look again."""
        for partition in partitions:
            self.stirred += partition.waiting

    def topic_came(self, topic: Topic) -> None:
        """There is a topic of that name now."""
        self.name_came(topic.name.encode())

    def name_came(self, name: bytes) -> None:
        """The same, for a name that stood for something else."""
        self.stirred += self._awaited.get(name, ())

    def topic_went(self, topic: Topic) -> None:
        """There is no topic of that name any more."""
        self.stir(topic.partitions)

    def settle(self, grown: list[Partition]) -> None:
        """Tells those who wait for messages in partitions that have new ones, and those who have to look again."""
        stirred, self.stirred = self.stirred, []
        for wait in stirred:
            wait.tell()
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
