"""The turns' alarm clock: rings when something may be due, whether or not anybody asks.

One timer serves two wishes. What is known to be due sets it to a time that stands. Turns that somebody asked for want
another look at the clock a moment later, and only the newest of them: while turns follow each other the timer is left
where it is, and put off when it rings.
"""

import asyncio
from collections.abc import Callable

LOOK_SECONDS = 0.002
"""So long after the last turn in which somebody asked for what may be due soon, the clock is looked at again. Not one
millisecond: loops count in whole ones, so it could not be told then whether that was the last."""
LOOK_SECONDS_MAX = 0.02
"""And so long after one that only read, or in which somebody began to wait for longer."""


class Alarm:
    """Rings at the earliest of the times that are wanted."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> None:
        self._loop = loop
        self._ring = ring
        self._timer: asyncio.TimerHandle | None = None
        self._time = 0.0
        self._look_time = 0.0

    def ring_in(self, seconds: float) -> None:
        """Rings in at most this time."""
        self._ring_by(self._loop.time() + seconds)

    def look_in(self, seconds: float) -> None:
        """The same, within the limits of a look. Of these, the last one counts; see `put_off`."""
        self._look_time = self._loop.time() + min(max(seconds, LOOK_SECONDS), LOOK_SECONDS_MAX)
        self._ring_by(self._look_time)

    def is_early(self) -> bool:
        """When it rings: whether another look was asked for meanwhile, at a later time."""
        return self._look_time - self._loop.time() > LOOK_SECONDS / 10

    def put_off(self) -> None:
        """Rings again when that look is wanted."""
        self._ring_at(self._look_time)

    def stop(self) -> None:
        """Rings no more, until somebody asks again."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ring_by(self, time: float) -> None:
        if self._timer is None or self._time > time:
            self._ring_at(time)

    def _ring_at(self, time: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._time = time
        self._timer = self._loop.call_at(time, self._rings)

    def _rings(self) -> None:
        self._timer = None
        self._ring()
