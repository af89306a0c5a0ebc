"""A bounded rate."""

import time
from collections.abc import Callable


class Pace:
    """Lets so many a second through, counted from the first one; no burst makes up for a slow time."""

    def __init__(
        self,
        per_second: float | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._per_second = per_second
        self._clock = clock
        self._sleep = sleep
        self._free_at = clock()

    def wait(self, count: int) -> None:
        """Called after `count` were sent: returns when the next ones may be."""
        if self._per_second is None:
            return
        now = self._clock()
        self._free_at = max(self._free_at, now - count / self._per_second) + count / self._per_second
        if self._free_at > now:
            self._sleep(self._free_at - now)
