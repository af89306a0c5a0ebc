"""Routes: what a producer knows of a topic, and the choice of a partition."""

from collections.abc import Callable
from dataclasses import dataclass, field

from crc32c import crc32c

from onemq.client.lane import Lane

Selector = Callable[[bytes | None, int], int]
"""Chooses a partition: called with the ordering key (or the key, or None) and the number of partitions."""


@dataclass(slots=True)
class Route:
    """A topic as a producer sees it."""

    topic: str
    topic_id: int
    batch_bytes_max: int
    lanes: list[Lane] = field(default_factory=list)
    turn: int = -1

    def choose(self, key: bytes | None) -> int:
        """By the hash of the key, as the broker does; without a key each in turn."""
        count = len(self.lanes)
        if count == 1:
            return 0
        if key is not None:
            return int(crc32c(key) % count)
        self.turn = (self.turn + 1) % count
        return self.turn
