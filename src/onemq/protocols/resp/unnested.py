"""Work that may give rise to more of its kind: done one after the other, not one within the other.

A client that is answered goes on with its further requests at once, and they may have another one answered. Within each
other, a chain of some hundred of them would be too deep.
"""

from collections import deque
from collections.abc import Callable


class Unnested:
    """Work that waits to be done."""

    def __init__(self) -> None:
        self._work: deque[Callable[[], None]] = deque()
        self._running = False

    def add(self, work: Callable[[], None]) -> None:
        """Puts something behind what is there."""
        self._work.append(work)

    def run(self) -> None:
        """Does all of it. From within such work this does nothing: whoever runs it does that as well."""
        if self._running:
            return
        self._running = True
        try:
            while self._work:
                self._work.popleft()()
        finally:
            self._running = False
