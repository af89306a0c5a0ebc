"""When keys expire: the time of each, and which one is next.

`at_ms` is the truth. The heap finds the next one; times in it that no longer hold are skipped when
they come up, and when they outnumber those that hold, the heap is made anew.
"""

from heapq import heapify, heappop, heappush

_STALE_MIN = 1000


class Deadlines:
    """The expiry of every key that has one."""

    def __init__(self) -> None:
        self.at_ms: dict[bytes, int] = {}
        self._heap: list[tuple[int, bytes]] = []

    def set(self, key: bytes, at_ms: int) -> None:
        """Sets or moves the expiry of the key."""
        if self.at_ms.get(key) == at_ms:
            return
        self.at_ms[key] = at_ms
        heappush(self._heap, (at_ms, key))
        self._tidy()

    def fill(self, at_ms: dict[bytes, int]) -> None:
        """Sets the expiry of many keys at once."""
        self.at_ms.update(at_ms)
        self._rebuild()

    def clear(self) -> None:
        """Forgets every expiry."""
        self.at_ms.clear()
        self._heap.clear()

    def due(self, now_ms: int, limit: int) -> list[bytes]:
        """Up to `limit` keys whose time has come, earliest first. They stay until they are removed.

        The caller must remove them: they are not named again.
        """
        self._tidy()
        heap = self._heap
        keys: dict[bytes, None] = {}
        for _ in range(limit):
            if not heap or heap[0][0] > now_ms:
                break
            at_ms, key = heappop(heap)
            if self.at_ms.get(key) == at_ms:
                keys[key] = None
        return list(keys)

    def any_due(self, now_ms: int) -> bool:
        """Whether a key may be due: False is certain."""
        return bool(self._heap) and self._heap[0][0] <= now_ms

    def next_ms(self) -> int | None:
        """The earliest time at which a key may be due."""
        return self._heap[0][0] if self._heap else None

    def _tidy(self) -> None:
        if len(self._heap) > 2 * len(self.at_ms) + _STALE_MIN:
            self._rebuild()

    def _rebuild(self) -> None:
        self._heap = [(at_ms, key) for key, at_ms in self.at_ms.items()]
        heapify(self._heap)
