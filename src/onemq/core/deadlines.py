"""Deadlines: until when someone waits, and whose time is up.

Whoever got an answer before that is dropped when it comes up, and when such ones may outnumber the
others, all of them are: many short waits with far deadlines must not pile up.
"""

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Generic, TypeVar

_TIDY_MIN = 128

Waiter = TypeVar("Waiter")


class Deadlines(Generic[Waiter]):
    """Those who wait, by the time until which they do."""

    def __init__(self, is_over: Callable[[Waiter], bool]) -> None:
        """`is_over` says of someone whether the wait has ended already."""
        self._is_over = is_over
        self._heap: list[tuple[int, int, Waiter]] = []
        self._order = count()
        self._tidy_at = _TIDY_MIN

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, until_ms: int, waiter: Waiter) -> None:
        """Someone waits from now on."""
        if len(self._heap) >= self._tidy_at:
            self._heap = [row for row in self._heap if not self._is_over(row[2])]
            heapify(self._heap)
            self._tidy_at = max(2 * len(self._heap), _TIDY_MIN)
        heappush(self._heap, (until_ms, next(self._order), waiter))

    def pop_due(self, now_ms: int) -> Iterator[Waiter]:
        """Those whose time is up and who still wait, in order."""
        while self._heap and (self._heap[0][0] <= now_ms or self._is_over(self._heap[0][2])):
            waiter = heappop(self._heap)[2]
            if not self._is_over(waiter):
                yield waiter

    def next_due_ms(self) -> int | None:
        """When the next one's time is up, if anyone waits."""
        return self._heap[0][0] if self._heap else None

    def pop_all(self) -> Iterator[Waiter]:
        """Everyone who still waits."""
        heap, self._heap = self._heap, []
        for _, _, waiter in sorted(heap):
            if not self._is_over(waiter):
                yield waiter
