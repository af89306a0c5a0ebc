"""Choices that clients may take for random: drawn from a seed, so that a run can be repeated."""

from collections.abc import Sequence
from random import Random

from onemq.errors import TooLarge

DRAWN_MAX = 1024 * 1024
"""How many a command may draw with repetitions: no more than a request has arguments."""


class Chance:
    """Draws elements."""

    def __init__(self, seed: int = 0) -> None:
        self._random = Random(seed)

    def number(self) -> int:
        """Any number of 32 bits."""
        return self._random.getrandbits(32)

    def one(self, items: Sequence[bytes]) -> bytes:
        """One of the items."""
        return self._random.choice(items)

    def some(self, items: Sequence[bytes], count: int) -> list[bytes]:
        """Up to `count` distinct items, or -`count` that may repeat. Raises TooLarge for over DRAWN_MAX of these."""
        if not items or not count:
            return []
        if count < -DRAWN_MAX:
            raise TooLarge(f"more than {DRAWN_MAX} elements with repetitions")
        if count < 0:
            return self._random.choices(items, k=-count)
        if count >= len(items):
            return list(items)
        return self._random.sample(items, count)
