"""Scans of large hashes, sets and sorted sets: the members as they were when it began, given out in pages.

What is there from the beginning to the end of a scan is in its list, so it is given out once. A cursor is the
number of the scan and the place in its list. Only so many lists are kept, and none whose end was given out; whoever
comes with the cursor of one that is gone gets all members at once, and the scan is over.
"""

from collections import OrderedDict
from collections.abc import Callable

LISTS_MAX = 64
WHOLE_MAX = 512
"""A collection of so many members is given out in one page, whatever the count, as Redis does with small ones."""
_PLACES = 1 << 32
_NUMBERS = 1 << 20


class Scans:
    """The scans under way."""

    def __init__(self) -> None:
        self._lists: OrderedDict[int, tuple[bytes, list[bytes]]] = OrderedDict()
        self._number = 0

    def page(
        self, key: bytes, cursor: int, count: int, size: int, members: Callable[[], list[bytes]]
    ) -> tuple[int, list[bytes]]:
        """The cursor to go on with, 0 at the end, and the members to look at, some of which may be gone.

        `size` is how many are there now, and `members` lists them.
        """
        if size <= WHOLE_MAX and cursor == 0:
            return 0, members()
        number, place = divmod(cursor, _PLACES)
        if cursor == 0:
            number = self._begin(key, members())
        scanned, listed = self._lists.get(number, (None, []))
        if scanned != key:
            return 0, members()
        self._lists.move_to_end(number)
        end = place + count
        if end >= len(listed):
            del self._lists[number]
            return 0, listed[place:]
        return number * _PLACES + end, listed[place:end]

    def _begin(self, key: bytes, members: list[bytes]) -> int:
        self._number = self._number % _NUMBERS + 1
        self._lists[self._number] = (key, members)
        if len(self._lists) > LISTS_MAX:
            self._lists.popitem(last=False)
        return self._number
