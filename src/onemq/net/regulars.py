"""Regulars: the few clients who asked in the last turns, and who ask again as soon as they are answered.

A sync takes as long for one request as for many. Whoever of some clients asks first would have one for itself, and the
others wait for the end of it and for another one: from then on they go by turns, and each waits twice as long as it
need. So the first one waits a moment for those who were answered with it or just before it, and they are synced
together:

    by turns     A sync  B sync  A sync  B sync
    together     A,B wait sync  A,B wait sync

Nobody is waited for where a flush takes little time, where so many ask that there are always some, or where waiting was
mostly for nothing.
"""

import time
from collections.abc import Callable, Sequence

from onemq.net.lingering import FLUSH_SECONDS_MIN
from onemq.net.trust import Trust

WAIT_SECONDS = 60e-6
REGULARS_MAX = 16
"""Where more ask, some come while others are synced, and groups form by themselves."""


class Regulars:
    """Knows how many are expected."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._last: set[int] = set()  # who asked in the last turn
        self._before: set[int] = set()  # and in the one before
        self._expected = 0
        self._until = 0.0  # the first ones wait so long; 0: nobody waits
        self._first_count = 0
        self._trust = Trust()

    def are_missing(self, count: int) -> bool:
        """Whether the first ones, so many, shall wait: asked until it is not so."""
        if not self._until:
            if count >= self._expected or not self._trust.is_worth_trying():
                return False
            self._until, self._first_count = self._clock() + WAIT_SECONDS, count
            return True
        if count < self._expected and self._clock() < self._until:
            return True
        self._until = 0.0
        if count > self._first_count:
            self._trust.grow()
        else:
            self._trust.shrink()
        return False

    def served(self, arrived: Sequence[tuple[object, bytes]], flush_seconds: float) -> None:
        """A turn has ended in which these asked, each with what it sent, and whose flush took so long."""
        if flush_seconds < FLUSH_SECONDS_MIN:
            self._expected = 0
            return
        self._before, self._last = self._last, {id(who) for who, _ in arrived}
        expected = len(self._last | self._before)
        self._expected = expected if expected <= REGULARS_MAX else 0
