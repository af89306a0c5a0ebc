"""Sets: distinct members under one key, in the order in which they came."""

from collections.abc import Sequence
from itertools import islice

from onemq.core.keyspace.entries import KEYS_DELETED, SET_ADDED, SET_REMOVED, SET_STORED, Appliers, Entry
from onemq.core.keyspace.table import Table
from onemq.core.keyspace.values import Members


class Sets:
    """The commands on sets. All raise WrongType for a key of another type; no key is an empty set."""

    def __init__(self, keys: Table) -> None:
        self._keys = keys

    def appliers(self) -> Appliers:
        """What applies each kind of entry."""
        return {SET_ADDED: self._added, SET_REMOVED: self._removed, SET_STORED: self._stored}

    def add(self, key: bytes, members: Sequence[bytes]) -> int:
        """Adds members; returns how many are new."""
        old = self._keys.writing(key, Members) or ()
        new = [member for member in dict.fromkeys(members) if member not in old]
        if new:
            entry = (SET_ADDED, key, new)
            self._added(entry)
            self._keys.stage(entry)
        return len(new)

    def remove(self, key: bytes, members: Sequence[bytes]) -> int:
        """Removes members; returns how many were in."""
        old = self._keys.writing(key, Members) or ()
        gone = [member for member in dict.fromkeys(members) if member in old]
        if gone:
            self._remove(key, gone)
        return len(gone)

    def pop(self, key: bytes, count: int = 1) -> list[bytes]:
        """Removes and returns up to `count` members, the youngest first."""
        members = self._keys.writing(key, Members)
        if members is None or not count:
            return []
        # popitem gives the place back at once: the end of a dict whose items were deleted is walked to each time.
        gone = [members.popitem()[0] for _ in range(min(count, len(members)))]
        self._shrunk(key, members)
        self._keys.stage((SET_REMOVED, key, gone))
        return gone

    def bytes_at_end(self, key: bytes, count: int) -> int:
        """How much the members are that `pop` would take."""
        return sum(map(len, islice(reversed(self._keys.reading(key, Members) or Members()), count)))

    def move(self, source: bytes, target: bytes, member: bytes) -> bool:
        """Moves a member from one set to another; returns whether it was in the source."""
        members = self._keys.writing(source, Members)
        if members is None:
            return False
        self._keys.writing(target, Members)
        if member not in members:
            return False
        if source != target:
            self._remove(source, [member])
            self.add(target, [member])
        return True

    def store(self, key: bytes, members: Sequence[bytes]) -> int:
        """Puts a set of these members in place of whatever is there; returns how many they are.

        Without members the key is gone.
        """
        keys = self._keys
        members = list(dict.fromkeys(members))
        if members:
            entry: tuple[object, ...] = (SET_STORED, key, members)
            self._stored(entry)
            keys.stage(entry)
        elif key in keys.values:
            entry = (KEYS_DELETED, [key])
            keys.removed(entry)
            keys.stage(entry)
        return len(members)

    def members(self, key: bytes) -> list[bytes]:
        """All members."""
        return list(self._keys.reading(key, Members) or ())

    def at(self, key: bytes, index: int) -> bytes:
        """The member at an index, counted from the oldest. It must be there."""
        return next(islice(self._keys.reading(key, Members) or (), index, None))

    def contains(self, key: bytes, member: bytes) -> bool:
        """Whether the member is in."""
        return member in (self._keys.reading(key, Members) or ())

    def cardinality(self, key: bytes) -> int:
        """The number of members."""
        return len(self._keys.reading(key, Members) or ())

    def union(self, keys: Sequence[bytes]) -> list[bytes]:
        """What is in any of the sets."""
        found = Members()
        for members in self._all(keys):
            found.update(members)
        return list(found)

    def intersection(self, keys: Sequence[bytes]) -> list[bytes]:
        """What is in all of the sets."""
        smallest, *others = sorted(self._all(keys), key=len)
        return [member for member in smallest if all(member in other for other in others)]

    def difference(self, keys: Sequence[bytes]) -> list[bytes]:
        """What is in the first set and in none of the others."""
        first, *others = self._all(keys)
        return [member for member in first if not any(member in other for other in others)]

    def _all(self, keys: Sequence[bytes]) -> list[Members]:
        return [self._keys.reading(key, Members) or Members() for key in keys]

    def _remove(self, key: bytes, members: list[bytes]) -> None:
        entry = (SET_REMOVED, key, members)
        self._removed(entry)
        self._keys.stage(entry)

    def _added(self, entry: Entry) -> None:
        _, key, new = entry
        keys = self._keys
        members = keys.values.get(key)
        if members is None:
            members = Members()
            keys.create(key, members)
        members.update(dict.fromkeys(new))
        if keys.watched:
            keys.changed(key)

    def _removed(self, entry: Entry) -> None:
        _, key, gone = entry
        members = self._keys.values[key]
        for member in gone:
            del members[member]
        self._shrunk(key, members)

    def _shrunk(self, key: bytes, members: Members) -> None:
        if not members:
            self._keys.drop(key)
        if self._keys.watched:
            self._keys.changed(key)

    def _stored(self, entry: Entry) -> None:
        _, key, members = entry
        self._keys.put(key, Members(dict.fromkeys(members)))
        if self._keys.watched:
            self._keys.changed(key)
