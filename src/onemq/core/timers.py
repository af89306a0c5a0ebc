"""Timers of what is in memory: things that are due at a time, many of them, not durable themselves."""

from typing import Generic, TypeVar

from onemq.core.wheel import Wheel

Thing = TypeVar("Thing")


class Timers(Generic[Thing]):
    """Things by the time at which they are due. Whether that still holds is for whoever takes them out to see."""

    def __init__(self) -> None:
        self._wheel = Wheel()
        self._things: dict[int, Thing] = {}
        self._next_id = 0

    def add(self, due_ms: int, thing: Thing) -> None:
        """The thing is due at a time."""
        self._next_id += 1
        self._things[self._next_id] = thing
        self._wheel.add(due_ms, self._next_id)

    def pop_due(self, now_ms: int, most: int) -> list[Thing]:
        """Up to so many things that are due."""
        return [self._things.pop(id) for id in self._wheel.pop_due(now_ms, most)]

    def next_due_ms(self, now_ms: int) -> int | None:
        """When the next one may be due."""
        return self._wheel.next_due_ms(now_ms)
