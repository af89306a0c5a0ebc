"""Choices that clients may take for random: drawn from a seed, so that a run can be repeated."""

from random import Random

from onemq.errors import TooLarge

DRAWN_MAX = 1024 * 1024
"""How many a command may draw with repetitions: no more than a request has arguments."""


class Chance:
    """Draws numbers and indexes."""

    def __init__(self, seed: int = 0) -> None:
        self._random = Random(seed)

    def number(self) -> int:
        """Any number of 32 bits."""
        return self._random.getrandbits(32)

    def index(self, length: int) -> int:
        """An index of something that is not empty."""
        return self._random.randrange(length)

    def indexes(self, length: int, count: int) -> list[int]:
        """Up to `count` different indexes, or -`count` that may repeat. Raises TooLarge for over DRAWN_MAX of these."""
        if not length or not count:
            return []
        if count < -DRAWN_MAX:
            raise TooLarge(f"more than {DRAWN_MAX} elements with repetitions")
        if count < 0:
            return self._random.choices(range(length), k=-count)
        if count >= length:
            return list(range(length))
        return self._random.sample(range(length), count)
