"""Timers of what is in memory: things that are due at a time, many of them, not durable themselves.

What is over before its time need not be taken out: when such things may outnumber the others, all of them are.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from onemq.core.wheel import Wheel

_TIDY_MIN = 128

Thing = TypeVar("Thing")


class Timers(Generic[Thing]):
    """Things by the time at which they are due. Whether that still holds is for whoever takes them out to see."""

    def __init__(self, is_over: Callable[[Thing], bool]) -> None:
        """`is_over` says of a thing whether it would be due in vain."""
        self._is_over = is_over
        self._wheel = Wheel()
        self._things: dict[int, tuple[int, Thing]] = {}
        self._next_id = 0
        self._tidy_at = _TIDY_MIN

    def __len__(self) -> int:
        return len(self._things)

    def add(self, due_ms: int, thing: Thing) -> None:
        """The thing is due at a time."""
        if len(self._things) >= self._tidy_at:
            self._tidy()
        self._next_id += 1
        self._things[self._next_id] = (due_ms, thing)
        self._wheel.add(due_ms, self._next_id)

    def pop_due(self, now_ms: int, most: int) -> list[Thing]:
        """Up to so many things that are due."""
        return [self._things.pop(id)[1] for id in self._wheel.pop_due(now_ms, most)]

    def next_due_ms(self, now_ms: int) -> int | None:
        """When the next one may be due."""
        return self._wheel.next_due_ms(now_ms)

    def _tidy(self) -> None:
        over = [(due_ms, id) for id, (due_ms, thing) in self._things.items() if self._is_over(thing)]
        for due_ms, id in over:
            self._wheel.discard(due_ms, id)
            del self._things[id]
        self._tidy_at = max(2 * len(self._things), _TIDY_MIN)
