"""What the tests of the SDK share."""

import threading
import time
from collections.abc import Callable
from typing import Any

WAIT_SECONDS_MAX = 30.0


class Seen:
    """What handlers have seen; used by several threads."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self._changed = threading.Condition()

    def add(self, item: Any) -> None:
        with self._changed:
            self.items.append(item)
            self._changed.notify_all()

    def wait_for(self, count: int) -> list[Any]:
        """The items, when there are so many."""
        return self.wait_until(lambda items: len(items) >= count)

    def wait_until(self, condition: Callable[[list[Any]], bool]) -> list[Any]:
        """The items, when the condition holds."""
        with self._changed:
            met = self._changed.wait_for(lambda: condition(self.items), WAIT_SECONDS_MAX)
            assert met, f"still not so after {WAIT_SECONDS_MAX:g} s, with {len(self.items)}: {self.items[:20]}"
            return list(self.items)


def eventually(condition: Callable[[], bool]) -> None:
    """Returns when the condition holds."""
    give_up = time.monotonic() + WAIT_SECONDS_MAX
    while not condition():
        assert time.monotonic() < give_up, "it did not become true"
        time.sleep(0.01)
