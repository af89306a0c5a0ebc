"""The window of a stream: messages that producers gave a name, remembered for a while.

Who sends a message again under the same name gets the id of the first one. Each producer has names of its
own; so many are kept of each, for so long.
"""

from collections import OrderedDict
from typing import Any

from onemq.core.stream_ids import NUMBER_BITS, pack_id, unpack_id

DURATION_MS = 100_000
NAMES_MAX = 100


class Window:
    """What is remembered."""

    __slots__ = ("added", "duplicates", "duration_ms", "names_max", "producers")

    def __init__(self) -> None:
        self.duration_ms = DURATION_MS
        self.names_max = NAMES_MAX
        self.producers: OrderedDict[bytes, dict[bytes, int]] = OrderedDict()
        """Producer -> name -> id of the message, oldest first; the producer that was silent for longest first. A plain
        dict would be slow at telling the first one where many before it are gone."""
        self.added = self.duplicates = 0

    def find(self, producer: bytes, name: bytes, now_ms: int) -> int | None:
        """The id of the message that has the name, if it is remembered."""
        id = self.producers.get(producer, {}).get(name)
        if id is None or self._is_over(id, now_ms):
            return None
        self.duplicates += 1
        return id

    def remember(self, producer: bytes, name: bytes, id: int, now_ms: int) -> None:
        """The message has that name from now on. Producers that nothing is remembered of any more are forgotten: here
        and not as time passes, so that a replay of the log forgets the same."""
        names = self.producers.setdefault(producer, {})
        self.producers.move_to_end(producer)
        names.pop(name, None)
        names[name] = id
        self.added += 1
        while len(names) > self.names_max or self._is_over(next(iter(names.values())), now_ms):
            del names[next(iter(names))]
            if not names:
                del self.producers[producer]
                break
        while self.producers and self._is_silent(next(iter(self.producers)), now_ms):
            del self.producers[next(iter(self.producers))]

    def set_limits(self, duration_ms: int, names_max: int) -> None:
        """Other limits make it forget everything."""
        if (duration_ms, names_max) != (self.duration_ms, self.names_max):
            self.duration_ms, self.names_max = duration_ms, names_max
            self.producers.clear()

    def tracked(self, now_ms: int) -> tuple[int, int]:
        """How many producers, and how many names of theirs, are remembered."""
        counts = [sum(not self._is_over(id, now_ms) for id in names.values()) for names in self.producers.values()]
        return sum(map(bool, counts)), sum(counts)

    def dump(self) -> list[object]:
        """For the snapshot."""
        names = [[producer, list(ids), list(map(pack_id, ids.values()))] for producer, ids in self.producers.items()]
        return [self.duration_ms, self.names_max, self.added, self.duplicates, names]

    def load(self, state: Any) -> None:
        """The reverse of `dump`."""
        self.duration_ms, self.names_max, self.added, self.duplicates, producers = state
        for producer, names, ids in producers:
            self.producers[producer] = dict(zip(names, map(unpack_id, ids), strict=True))

    def _is_silent(self, producer: bytes, now_ms: int) -> bool:
        """Whether the time of all its names is over; the newest one mostly tells."""
        return all(self._is_over(id, now_ms) for id in reversed(self.producers[producer].values()))

    def _is_over(self, id: int, now_ms: int) -> bool:
        return (id >> NUMBER_BITS) + self.duration_ms <= now_ms
