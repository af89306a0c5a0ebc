"""Lingering: a loop that has just answered a few clients looks out for their next requests before it goes to sleep.

A processor that sleeps takes some tens of microseconds to wake up, and more in a virtual machine. A client that sends a
request when it has the answer to the last one would pay for that with each of them: a tenth of its time, where every
request is synced to the disk. Where many clients are busy, there is nearly always something to do; so nobody is looked
out for then. Nor is it done where it was mostly for nothing, so that clients who ask now and then cost no more than
they did; nor after a flush that took less time than waking up does, so that it never is the most of what a client
costs.
"""

import asyncio
import time
from collections.abc import Callable

from onemq.net.trust import Trust

LINGER_SECONDS = 80e-6
"""Nine of ten clients have asked again by then, who ask again at once."""
FLUSH_SECONDS_MIN = 50e-6
"""One that takes so long syncs."""


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
        self._trust = Trust()

    def answered(self, flush_seconds: float) -> None:
        """A turn has ended whose flush took so long, and by which clients got their answers."""
        if self._is_looking:
            self._trust.grow()  # they had asked meanwhile
        if flush_seconds >= FLUSH_SECONDS_MIN and self._trust.is_worth_trying():
            self._until = self._clock() + LINGER_SECONDS
            if not self._is_looking:
                self._is_looking = True
                self._loop.call_soon(self._look)

    def _look(self) -> None:
        if self._has_work():
            self._is_looking = False
            self._trust.grow()
        elif self._clock() < self._until:
            self._loop.call_soon(self._look)
        else:
            self._is_looking = False
            self._trust.shrink()
