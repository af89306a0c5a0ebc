"""Lists: values in a row, added and taken at both ends.

`left` is the end of index 0. Values are the bytes that were pushed, one pointer each.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from onemq.core.keyspace.entries import (
    LIST_ITEM_INSERTED,
    LIST_ITEM_MOVED,
    LIST_ITEM_SET,
    LIST_POPPED,
    LIST_PUSHED,
    LIST_TRIMMED,
    LIST_VALUE_REMOVED,
    Appliers,
    Entry,
)
from onemq.core.keyspace.indexes import clip
from onemq.core.keyspace.table import Table
from onemq.errors import InvalidArgument, NotFound

_NO_ENTRY = (0,)


class Lists:
    """The commands on lists. All raise WrongType for a key of another type; no key is an empty list."""

    def __init__(self, keys: Table) -> None:
        self._keys = keys

    def appliers(self) -> Appliers:
        """What applies each kind of entry."""
        return {
            LIST_PUSHED: self._pushed,
            LIST_POPPED: self._popped,
            LIST_ITEM_SET: self._item_set,
            LIST_ITEM_INSERTED: self._item_inserted,
            LIST_VALUE_REMOVED: self._value_removed,
            LIST_TRIMMED: self._trimmed,
            LIST_ITEM_MOVED: self._item_moved,
        }

    def push(self, key: bytes, values: list[bytes], left: bool) -> int:
        """Adds values, at least one, one after the other at one end; returns the length.

        The list of values is kept for the log: the caller must not change it any more.
        """
        keys = self._keys
        if type(keys.values.get(key)) is not deque or key in keys.expires_at_ms:
            keys.writing(key, deque)
        length = self._add(key, left, values)
        entries = keys.entries
        last = entries[-1] if entries else _NO_ENTRY
        if last[0] == LIST_PUSHED and last[1] == key and last[2] is left:
            last[3].extend(values)  # pushes that follow each other are one entry
        else:
            entries.append((LIST_PUSHED, key, left, values))
        if keys.on_push is not None:
            keys.on_push(key)
        return length

    def push_existing(self, key: bytes, values: list[bytes], left: bool) -> int:
        """Like `push`, but does nothing and returns 0 if there is no such list."""
        return self.push(key, values, left) if self._keys.writing(key, deque) else 0

    def pop_one(self, key: bytes, left: bool) -> bytes | None:
        """Takes a value from one end; None if there is none."""
        keys = self._keys
        plain = type(keys.values.get(key)) is deque and key not in keys.expires_at_ms
        if not plain and keys.writing(key, deque) is None:
            return None
        value = self._take(key, left)
        entries = keys.entries
        last = entries[-1] if entries else _NO_ENTRY
        if last[0] == LIST_POPPED and last[1] == key and last[2] is left:
            entries[-1] = (LIST_POPPED, key, left, last[3] + 1)  # as are pops
        else:
            entries.append((LIST_POPPED, key, left, 1))
        return value

    def pop(self, key: bytes, left: bool, count: int = 1) -> list[bytes]:
        """Takes up to `count` values from one end, in the order in which they are taken."""
        keys = self._keys
        items = keys.writing(key, deque)
        if items is None or not count:
            return []
        if count > len(items):
            count = len(items)
        entry = (LIST_POPPED, key, left, count)
        popped = self._popped(entry)
        keys.stage(entry)
        return popped

    def move(self, source: bytes, target: bytes, from_left: bool, to_left: bool) -> bytes | None:
        """Takes one value from an end of one list and adds it to an end of another or the same.

        Returns the value, or None if the source is empty.
        """
        keys = self._keys
        if keys.writing(source, deque) is None:
            return None
        keys.writing(target, deque)
        entry = (LIST_ITEM_MOVED, source, target, from_left, to_left)
        value = self._item_moved(entry)
        keys.stage(entry)
        if keys.on_push is not None:
            keys.on_push(target)
        return value

    def length(self, key: bytes) -> int:
        """The number of values."""
        items = self._keys.reading(key, deque)
        return 0 if items is None else len(items)

    def bytes_at_end(self, key: bytes, left: bool, count: int) -> int:
        """How much the values are that `pop` would take."""
        items = self._keys.reading(key, deque)
        return 0 if items is None else sum(map(len, islice(items if left else reversed(items), count)))

    def range(self, key: bytes, start: int, stop: int) -> list[bytes]:
        """The values from index `start` to `stop`, both included; negative ones count from the end."""
        items = self._keys.reading(key, deque)
        return [] if items is None else _slice(items, *clip(start, stop, len(items)))

    def index(self, key: bytes, index: int) -> bytes | None:
        """The value at the index, negative from the end, or None."""
        items = self._keys.reading(key, deque)
        if items is None or not -len(items) <= index < len(items):
            return None
        value: bytes = items[index]
        return value

    def position(self, key: bytes, value: bytes, rank: int = 1, count: int = 0, maxlen: int = 0) -> list[int]:
        """The indexes at which the value stands: from the rank-th match on, `count` of them (0: all).

        A negative rank searches from the end. `maxlen` limits how many values are looked at (0: all).
        """
        items = self._keys.reading(key, deque) or deque()
        order = items if rank > 0 else reversed(items)
        matches = _matches(islice(order, maxlen or None), value)
        skipped = abs(rank) - 1
        if skipped >= len(items):
            return []
        places = list(islice(matches, skipped, skipped + min(count, len(items)) if count else None))
        return places if rank > 0 else [len(items) - 1 - place for place in places]

    def set_at(self, key: bytes, index: int, value: bytes) -> None:
        """Replaces the value at the index, negative from the end. Raises NotFound, InvalidArgument."""
        items = self._keys.writing(key, deque)
        if items is None:
            raise NotFound("no such key")
        if not -len(items) <= index < len(items):
            raise InvalidArgument("index out of range")
        entry = (LIST_ITEM_SET, key, index % len(items), value)
        self._item_set(entry)
        self._keys.stage(entry)

    def insert(self, key: bytes, pivot: bytes, value: bytes, before: bool) -> int:
        """Puts a value before or after the first one equal to the pivot.

        Returns the length, 0 if there is no list, -1 if the pivot is not in it.
        """
        items = self._keys.writing(key, deque)
        if items is None:
            return 0
        if pivot not in items:
            return -1
        entry = (LIST_ITEM_INSERTED, key, items.index(pivot) + (not before), value)
        self._item_inserted(entry)
        self._keys.stage(entry)
        if self._keys.on_push is not None:
            self._keys.on_push(key)
        return len(items)

    def remove(self, key: bytes, value: bytes, count: int = 0) -> int:
        """Removes the first `count` values equal to this, the last -`count`, or all for 0.

        Returns how many it removed.
        """
        items = self._keys.writing(key, deque) or deque()
        found = items.count(value)
        removed = min(abs(count), found) if count else found
        if removed:
            entry = (LIST_VALUE_REMOVED, key, count >= 0, removed, value)
            self._value_removed(entry)
            self._keys.stage(entry)
        return removed

    def trim(self, key: bytes, start: int, stop: int) -> None:
        """Keeps only the values from index `start` to `stop`, both included. The list has changed, even if all stay."""
        items = self._keys.writing(key, deque)
        if items is None:
            return
        first, end = clip(start, stop, len(items))
        if end - first < len(items):
            entry = (LIST_TRIMMED, key, first, end)
            self._trimmed(entry)
            self._keys.stage(entry)
        elif self._keys.watched:
            self._keys.changed(key)

    def _pushed(self, entry: Entry) -> None:
        _, key, left, values = entry
        self._add(key, left, values)

    def _add(self, key: bytes, left: bool, values: Sequence[bytes]) -> int:
        keys = self._keys
        items = keys.values.get(key)
        if items is None:
            items = deque()
            keys.create(key, items)
        if left:
            items.extendleft(values)
        else:
            items.extend(values)
        if keys.watched:
            keys.changed(key)
        return len(items)

    def _popped(self, entry: Entry) -> list[bytes]:
        _, key, left, count = entry
        if count == 1:
            return [self._take(key, left)]
        items = self._keys.values[key]
        take = items.popleft if left else items.pop
        popped = [take() for _ in range(count)]
        self._shrunk(key, items)
        return popped

    def _take(self, key: bytes, left: bool) -> bytes:
        keys = self._keys
        items = keys.values[key]
        value: bytes = items.popleft() if left else items.pop()
        if not items:
            keys.drop(key)
        if keys.watched:
            keys.changed(key)
        return value

    def _item_moved(self, entry: Entry) -> bytes:
        _, source, target, from_left, to_left = entry
        items = self._keys.values[source]
        value: bytes = items.popleft() if from_left else items.pop()
        self._add(target, to_left, (value,))
        self._shrunk(source, items)
        return value

    def _item_set(self, entry: Entry) -> None:
        _, key, index, value = entry
        self._keys.values[key][index] = value
        if self._keys.watched:
            self._keys.changed(key)

    def _item_inserted(self, entry: Entry) -> None:
        _, key, index, value = entry
        self._keys.values[key].insert(index, value)
        if self._keys.watched:
            self._keys.changed(key)

    def _value_removed(self, entry: Entry) -> None:
        _, key, left, count, value = entry
        items = self._keys.values[key]
        if not left:
            items.reverse()
        if count == 1:
            items.remove(value)
        else:
            _remove_first(items, value, count)
        if not left:
            items.reverse()
        self._shrunk(key, items)

    def _trimmed(self, entry: Entry) -> None:
        _, key, first, end = entry
        items = self._keys.values[key]
        surplus = len(items) - end
        if first + surplus > end - first:
            items = self._keys.values[key] = deque(_slice(items, first, end))
        else:
            for _ in range(first):
                items.popleft()
            for _ in range(surplus):
                items.pop()
        self._shrunk(key, items)

    def _shrunk(self, key: bytes, items: deque[bytes]) -> None:
        if not items:
            self._keys.drop(key)
        if self._keys.watched:
            self._keys.changed(key)


def _matches(items: Iterable[bytes], value: bytes) -> Iterator[int]:
    """At which places the value stands."""
    for at, item in enumerate(items):
        if item == value:
            yield at


def _slice(items: deque[bytes], first: int, end: int) -> list[bytes]:
    """The items first..end-1, walked to from the nearer end."""
    if first <= len(items) - end:
        return list(islice(items, first, end))
    found = list(islice(reversed(items), len(items) - end, len(items) - first))
    found.reverse()
    return found


def _remove_first(items: deque[bytes], value: bytes, count: int) -> None:
    """Removes the first `count` items equal to the value in one walk."""
    for _ in range(len(items)):
        item = items.popleft()
        if count and item == value:
            count -= 1
        else:
            items.append(item)
