"""Locks: which messages of a group wait for which others, because they have a key in common.

Messages of one key stand in line, in the order in which the group came to them. Only the first of each line may be
handed out; it leaves the line when it is done. A message may stand in two lines, that of its order key and that of
its once key, and needs to be first in both; since everyone joined all lines at once, someone always is. Keys are
known by hashes, so two keys may share a line: then one waits longer than it had to, and nothing else.
"""

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from crc32c import crc32c

from onemq.core.once import NO_KEY

if TYPE_CHECKING:
    from onemq.core.group import Group

HELD = -3
"""The due time of a message that stands in line behind another one."""
NO_HASH = 0

Place = tuple[int, int]
"""(partition, offset)"""
Key = int | bytes


def order_hash(key: bytes) -> int:
    """The hash of an order key."""
    return int(crc32c(key)) or 1


class Locks:
    """The lines of one group."""

    def __init__(self, group: "Group") -> None:
        self._group = group
        self._keys: dict[Place, tuple[int, bytes]] = {}
        """(order hash, once digest) of everyone in line."""
        self._lines: dict[Key, deque[Place]] = {}
        self._held: dict[int, set[int]] = {}
        """Partition -> offsets of those that are not first in all of their lines."""
        self.wall: set[Place] = set()
        """What was unacknowledged when the settings changed: before it is done, nothing new is taken in."""

    def build_wall(self) -> None:
        """The settings have changed: what was handed out before was handed out by other rules."""
        self.wall = {(each.partition.number, offset) for each in self._group.cursors for offset in each.unacknowledged}

    def add(self, number: int, offset: int, order: int, once: bytes) -> None:
        """A message stands in line from now on, unless it has no key. It is unacknowledged and ready."""
        place = (number, offset)
        if order or once:
            self._keys[place] = (order, once)
            for key in _lines_of(order, once):
                self._lines.setdefault(key, deque()).append(place)
            if not self._is_first(place):
                self._group.cursors[number].unacknowledged[offset].due_ms = HELD
                self._held.setdefault(number, set()).add(offset)

    def release(self, number: int, offsets: Iterable[int]) -> None:
        """Messages are done, or gone: those behind them become ready."""
        for offset in offsets:
            place = (number, offset)
            self.wall.discard(place)
            keys = self._keys.pop(place, None)
            if keys is not None:
                self._held.get(number, set()).discard(offset)
                for key in _lines_of(*keys):
                    self._leave(key, place)

    def release_all(self) -> None:
        """Nobody stands in line any more."""
        for number, offsets in self._held.items():
            for offset in offsets:
                self._group.cursors[number].make_ready(offset)
        self._held.clear()
        self._lines.clear()
        self._keys.clear()
        self.wall.clear()

    def held(self, number: int) -> int:
        """How many messages of a partition wait for others."""
        return len(self._held.get(number, ()))

    def once_keys(self, number: int, offsets: Iterable[int]) -> list[bytes]:
        """The once keys of messages."""
        found = (self._keys.get((number, offset), (NO_HASH, NO_KEY))[1] for offset in offsets)
        return [key for key in found if key]

    def dump(self) -> list[Any]:
        """For the snapshot: who stands in line, in the order in which they joined, and the wall."""
        return [[[*place, *keys] for place, keys in self._keys.items()], sorted(self.wall)]

    def load(self, state: Any) -> None:
        """The reverse of `dump`, when the unacknowledged messages are there already."""
        rows, wall = state
        for number, offset, order, once in rows:
            self.add(number, offset, order, once)
        self.wall = {(number, offset) for number, offset in wall}

    def _is_first(self, place: Place) -> bool:
        return all(self._lines[key][0] == place for key in _lines_of(*self._keys[place]))

    def _leave(self, key: Key, place: Place) -> None:
        line = self._lines[key]
        if line[0] != place:
            line.remove(place)
            return
        line.popleft()
        if not line:
            del self._lines[key]
            return
        number, offset = first = line[0]
        if first in self._keys and offset in self._held.get(number, ()) and self._is_first(first):
            self._held[number].discard(offset)
            self._group.cursors[number].make_ready(offset)


def _lines_of(order: int, once: bytes) -> list[Key]:
    return [key for key in (order, once) if key]
