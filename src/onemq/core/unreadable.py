"""Unreadable batches: those with a right checksum whose records cannot be decoded, because a producer made them wrong.

Batches that a producer sealed are stored without a look at their records, so it is those who read single messages who
find out. To them such a batch holds no messages: groups and streams pass over it. An operator is told of it once.
"""

from collections.abc import Callable

from onemq import limits
from onemq.core.partition import Partition
from onemq.errors import Corrupt


class Unreadable(Corrupt):
    """The records of a batch cannot be decoded. `offset` is where it begins, `resume_offset` where it ends."""

    def __init__(self, text: str, offset: int, resume_offset: int) -> None:
        super().__init__(text, resume_offset, offset)
        self.base_offset = offset
        self.next_offset = resume_offset


class UnreadableBatches:
    """Those that were met since the start, as many as are remembered."""

    def __init__(self) -> None:
        self._known: set[tuple[int, int, int]] = set()
        self._is_full_told = False
        self.on_new: Callable[[Partition, Unreadable], None] = lambda partition, damage: None
        """Told of each when it is met first."""
        self.on_full: Callable[[], None] = lambda: None
        """Told once that further ones are not told of."""

    @property
    def count(self) -> int:
        return len(self._known)

    def note(self, partition: Partition, damage: Unreadable) -> None:
        """One of them was met, perhaps again."""
        place = (partition.topic_id, partition.number, damage.base_offset)
        if place in self._known:
            return
        if len(self._known) < limits.UNREADABLE_BATCHES_MAX:
            self._known.add(place)
            self.on_new(partition, damage)
        elif not self._is_full_told:
            self._is_full_told = True
            self.on_full()
