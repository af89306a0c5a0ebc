"""The order in which SCAN visits the keys.

Every key gets the next number when it comes to be. A scan goes from the highest number down, and
its cursor is the number that it has come down to:

    numbers    base                                 base + len(keys)
    keys       [ k, k, (gone), k, k, (gone), k, k ]
                       <-- still to visit | cursor

A key that stays is met, a key that comes during a scan stands behind the cursor and is not waited
for: every scan ends. Numbers of keys that are gone are skipped. When they outnumber the others,
all keys are numbered anew from above the highest number; a cursor from before that then lies at or
under `base` and its scan starts over, which may repeat keys but misses none. So a cursor needs
nothing remembered for it and holds across a restart.
"""

from collections.abc import Iterable, Iterator

_GONE_MIN = 1000


class KeyOrder:
    """The numbered keys; those that are gone still stand in it."""

    def __init__(self) -> None:
        self._base = 0
        self._keys: list[bytes] = []
        self._keys_max = _GONE_MIN

    def add(self, key: bytes, keys: Iterable[bytes]) -> None:
        """Numbers a new key. `keys` are all that exist, in case they are numbered anew."""
        self._keys.append(key)
        if len(self._keys) > self._keys_max:
            self.renumber(self.next_number(), keys)

    def next_number(self) -> int:
        """Above every number and every cursor there ever was."""
        return self._base + len(self._keys)

    def renumber(self, base: int, keys: Iterable[bytes]) -> None:
        """Gives the keys the numbers from `base` on."""
        self._base = base
        self._keys = list(keys)
        self._keys_max = 2 * len(self._keys) + _GONE_MIN

    def page(self, cursor: int, count: int) -> tuple[int, list[bytes]]:
        """The next `count` numbers of a scan: the cursor to go on with, 0 at the end, and the keys.

        Cursor 0 begins. Keys may be gone, or come twice if they went and came back.
        """
        end = len(self._keys)
        if cursor > self._base:
            end = min(cursor - self._base, end)
        first = max(end - count, 0)
        return (self._base + first if first else 0), self._keys[first:end]

    def down_from(self, number: int) -> Iterator[bytes]:
        """All keys once around, from the one at the number, modulo how many they are, downwards. They may be gone."""
        count = len(self._keys)
        for step in range(count):
            yield self._keys[(number - step) % count]
