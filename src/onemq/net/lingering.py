"""Lingering: a loop that has just answered one client alone looks out for the next request before it goes to sleep.

A processor that sleeps takes some tens of microseconds to wake up, and more in a virtual machine. A client that sends a
request when it has the answer to the last one would pay for that with each of them: a tenth of its time, where every
request is synced to the disk. Where many clients are busy, there is nearly always something to do; so nobody is looked
out for then. Nor is it done where it was mostly for nothing, so that clients who ask now and then cost no more than
they did; nor after a turn that took less time than waking up does, so that it never is the most of what a client costs.
"""

import asyncio
import time
from collections.abc import Callable

LINGER_SECONDS = 80e-6
"""Nine of ten clients have asked again by then, who ask again at once."""
TURN_SECONDS_MIN = 50e-6
TRUST_MAX = 8
TRIED_AGAIN_AFTER = 64


class Lingering:
    """Keeps the loop awake for a moment."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        has_work: Callable[[], bool],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """`has_work` tells whether something has come."""
        self._loop = loop
        self._has_work = has_work
        self._clock = clock
        self._until = 0.0
        self._is_looking = False
        self._trust = TRUST_MAX
        """Grows when it was worth while, and shrinks by twice as much when it was not."""
        self._left_out = 0

    def end(self, end_turn: Callable[[], None]) -> None:
        """Ends a turn by which a client gets its answer."""
        began = self._clock()
        end_turn()
        now = self._clock()
        if now - began >= TURN_SECONDS_MIN and self._is_worth_while():
            self._until = now + LINGER_SECONDS
            if not self._is_looking:
                self._is_looking = True
                self._loop.call_soon(self._look)

    def _is_worth_while(self) -> bool:
        if not self._trust:
            self._left_out += 1
            if self._left_out < TRIED_AGAIN_AFTER:
                return False
        self._left_out = 0
        return True

    def _look(self) -> None:
        if self._has_work():
            self._is_looking = False
            self._trust = min(self._trust + 1, TRUST_MAX)
        elif self._clock() < self._until:
            self._loop.call_soon(self._look)
        else:
            self._is_looking = False
            self._trust = max(self._trust - 2, 0)
