"""The keyspace: what clients keep beside topics, under keys of any bytes.

A small state machine on the same log as the topics. It owns strings, lists, hashes, sets and sorted
sets, their expiry and their versions. It has no clock and makes no random choice: the same entries,
applied in the same order, lead to the same keyspace.

    keyspace.py     the keys whatever they hold: delete, expire, rename, scan, snapshot
    strings.py lists.py hashes.py sets.py sorted_sets.py      the commands of each type
    combining.py                                              sorted sets and sets made of several
    entries.py      what is written to the log
    table.py        the keys and values that all of these work on
    values.py ranking.py ordered_pairs.py                     the values themselves
    frozen.py       all of it as the bytes of a snapshot, piece by piece
    deadlines.py key_order.py watches.py                      expiry, scanning, WATCH
    glob.py indexes.py integers.py decimals.py ranges.py      how arguments are understood
"""

from itertools import compress, repeat
from operator import is_not
from typing import Any

from onemq.core.keyspace.entries import (
    EXPIRY_CLEARED,
    EXPIRY_SET,
    KEY_COPIED,
    KEY_RENAMED,
    KEYS_DELETED,
    KEYS_EXPIRED,
    KEYS_FLUSHED,
    Appliers,
    Entry,
)
from onemq.core.keyspace.glob import matcher
from onemq.core.keyspace.hashes import Hashes
from onemq.core.keyspace.lists import Lists
from onemq.core.keyspace.sets import Sets
from onemq.core.keyspace.sorted_sets import SortedSets
from onemq.core.keyspace.strings import Strings
from onemq.core.keyspace.table import Table
from onemq.core.keyspace.values import TYPE_NAMES, TopicKey, duplicate, pack, unpack
from onemq.errors import Corrupt, InvalidArgument, NotFound

EXPIRED_PER_TICK_MAX = 1000
SNAPSHOT_VERSION = 1


class Keyspace(Table):
    """All keys, and the commands that do not care what a key holds.

    A key whose time has come is not there for any command, whether or not `tick` removed it yet.
    """

    def __init__(self, entries: list[tuple[Any, ...]]) -> None:
        super().__init__(entries)
        self.strings = Strings(self)
        self.lists = Lists(self)
        self.hashes = Hashes(self)
        self.sets = Sets(self)
        self.sorted_sets = SortedSets(self)

    def appliers(self) -> Appliers:
        """What applies each kind of entry, for recovery; commands have applied theirs already."""
        return {
            KEYS_DELETED: self.removed,
            KEYS_EXPIRED: self.removed,
            EXPIRY_SET: self._expiry_set,
            EXPIRY_CLEARED: self._expiry_cleared,
            KEY_RENAMED: self._renamed,
            KEYS_FLUSHED: self._flushed,
            KEY_COPIED: self._copied,
            **self.strings.appliers(),
            **self.lists.appliers(),
            **self.hashes.appliers(),
            **self.sets.appliers(),
            **self.sorted_sets.appliers(),
        }

    def tick(self, now_ms: int) -> int | None:
        """Sets the time and removes up to EXPIRED_PER_TICK_MAX keys whose time has come.

        Returns when it wants to be called next, which is not after `now_ms` if some are left, or None.
        """
        self.now_ms = now_ms
        if self.deadlines.any_due(now_ms):
            keys = self.deadlines.due(now_ms, EXPIRED_PER_TICK_MAX)
            if keys:
                self.expire(keys)
        return self.deadlines.next_ms()

    def delete(self, *keys: bytes) -> int:
        """Removes keys; returns how many were there."""
        gone = [key for key in dict.fromkeys(keys) if key in self.values]
        visible = sum(map(self.holds, gone))
        if gone:
            entry = (KEYS_DELETED, gone)
            self.removed(entry)
            self.stage(entry)
        return visible

    def flush(self) -> None:
        """Removes every key."""
        if self.values:
            entry = (KEYS_FLUSHED,)
            self._flushed(entry)
            self.stage(entry)

    def exists(self, *keys: bytes) -> int:
        """How many of the keys are there; one named twice counts twice."""
        return sum(map(self.holds, keys))

    def type_of(self, key: bytes) -> str | None:
        """string, list, hash, set, zset, or None."""
        return TYPE_NAMES[type(self.values[key])] if self.holds(key) else None

    def rename(self, key: bytes, target: bytes, *, if_absent: bool = False) -> bool:
        """Moves value and expiry to another key, over whatever is there.

        With `if_absent` it does nothing and returns False if the target is there. Raises NotFound.
        """
        self.evict(key)
        if key not in self.values:
            raise NotFound("no such key")
        self.evict(target)
        if if_absent and target in self.values:
            return False
        if type(self.values[key]) is TopicKey and key != target:
            self._rename_topic(key, target)
        elif key != target:
            entry = (KEY_RENAMED, key, target)
            self._renamed(entry)
            self.stage(entry)
            self._turned_up(target)
        return True

    def copy(self, key: bytes, target: bytes, *, replace: bool = False) -> bool:
        """Puts the same value and expiry under another key; returns whether there was something to copy.

        Without `replace` it does nothing and returns False if the target is there. Raises InvalidArgument for a
        topic.
        """
        assert key != target
        self.evict(target)
        if not self.holds(key) or (target in self.values and not replace):
            return False
        if type(self.values[key]) is TopicKey:
            raise InvalidArgument("a stream cannot be copied")
        entry = (KEY_COPIED, key, target)
        self._copied(entry)
        self.stage(entry)
        self._turned_up(target)
        return True

    def _rename_topic(self, key: bytes, target: bytes) -> None:
        expires_at_ms = self.expires_at_ms.get(key)
        self.on_topic_renamed(key, target)
        if expires_at_ms is not None:
            self.expire_at(target, expires_at_ms)

    def expire_at(
        self,
        key: bytes,
        at_ms: int,
        *,
        if_absent: bool = False,
        if_present: bool = False,
        if_greater: bool = False,
        if_less: bool = False,
    ) -> bool:
        """Sets when the key goes; a time that has come removes it. Returns whether the conditions held.

        They compare with the expiry that the key has; one without is taken to stay for ever.
        """
        if not self.holds(key):
            return False
        old_ms = self.expires_at_ms.get(key)
        if old_ms is None:
            refused = if_present or if_greater
        else:
            refused = if_absent or (if_greater and at_ms <= old_ms) or (if_less and at_ms >= old_ms)
        if refused:
            return False
        if at_ms <= self.now_ms:
            self.delete(key)
        else:
            entry = (EXPIRY_SET, key, at_ms)
            self._expiry_set(entry)
            self.stage(entry)
        return True

    def persist(self, key: bytes) -> bool:
        """Takes the expiry from the key; returns whether it had one."""
        self.evict(key)
        if key not in self.expires_at_ms:
            return False
        entry = (EXPIRY_CLEARED, key)
        self._expiry_cleared(entry)
        self.stage(entry)
        return True

    def expiry(self, key: bytes) -> int | None:
        """When the key goes, in milliseconds; None if it stays or is not there."""
        return None if self.expired(key) else self.expires_at_ms.get(key)

    def any_key(self, number: int) -> bytes | None:
        """One of the keys, another one for another number as a rule; None if there is none."""
        for key in self.order.down_from(number):
            if self.holds(key):
                return key
        return None

    def count(self) -> int:
        """The number of keys."""
        count = len(self.values)
        if self.deadlines.any_due(self.now_ms):
            count -= sum(at_ms <= self.now_ms for at_ms in self.expires_at_ms.values())
        return count

    def matching(self, pattern: bytes) -> list[bytes]:
        """The keys that match the glob pattern. Raises TooLarge for the pattern."""
        found = list(self.values) if pattern == b"*" else list(filter(matcher(pattern), self.values))
        return self._visible(found)

    def scan(
        self, cursor: int, count: int = 10, pattern: bytes | None = None, type_name: str | None = None
    ) -> tuple[int, list[bytes]]:
        """A part of the keys: the cursor to go on with, 0 at the end, and the keys found on this part.

        Begins with cursor 0. Looks at about `count` keys. What is there from the beginning to the end
        of a scan is found; it may be found more than once.
        """
        cursor, keys = self.order.page(cursor, count)
        found = self._visible([key for key in dict.fromkeys(keys) if key in self.values])
        if pattern is not None and pattern != b"*":
            found = list(filter(matcher(pattern), found))
        if type_name is not None:
            found = [key for key in found if TYPE_NAMES[type(self.values[key])] == type_name]
        return cursor, found

    def dump(self) -> dict[str, Any]:
        """Everything, for `msgspec.msgpack`; shares nothing with the keyspace that can change."""
        keys, values = self._packed()
        return {
            "version": SNAPSHOT_VERSION,
            "keys": keys,
            "values": values,
            "expiring": list(self.expires_at_ms),
            "expires_at_ms": list(self.expires_at_ms.values()),
            "next_number": self.order.next_number(),
        }

    def _packed(self) -> tuple[list[bytes], list[Any]]:
        """All keys but topics, and their values. Everybody waits for this, and there may be millions of strings: these
        are not looked at one by one."""
        keys, values = list(self.values), list(self.values.values())
        no_strings = map(is_not, map(type, values), repeat(bytes))
        kept = bytearray(b"\1") * len(keys)
        for at in list(compress(range(len(keys)), no_strings)):
            if type(values[at]) is TopicKey:
                kept[at] = 0
            else:
                values[at] = pack(values[at])
        if 0 in kept:
            keys, values = list(compress(keys, kept)), list(compress(values, kept))
        return keys, values

    def load(self, state: Any) -> None:
        """Fills a keyspace that has nothing but topics with what `dump` gave. Raises Corrupt if that is not understood.
        """
        if state.get("version") != SNAPSHOT_VERSION:
            raise Corrupt(f"snapshot of the keyspace: unknown version {state.get('version')}")
        self.hidden_topics.update(key for key in state["keys"] if key in self.values)
        self.values.update(zip(state["keys"], map(unpack, state["values"]), strict=True))
        self.deadlines.fill(dict(zip(state["expiring"], state["expires_at_ms"], strict=True)))
        self.order.renumber(state["next_number"], self.values)

    def _turned_up(self, key: bytes) -> None:
        """Tells of a list or sorted set that is there at once with all its elements."""
        if self.on_push is not None and self.type_of(key) in ("list", "zset"):
            self.on_push(key)

    def _visible(self, keys: list[bytes]) -> list[bytes]:
        if not self.deadlines.any_due(self.now_ms):
            return keys
        return [key for key in keys if not self.expired(key)]

    def _flushed(self, entry: Entry) -> None:
        for key in self.watched:
            if key in self.values:
                self.changed(key)
        topics = [key for key, value in self.values.items() if type(value) is TopicKey]
        for key in (*topics, *self.hidden_topics):
            self.on_topic_removed(key)
        self.values.clear()
        self.deadlines.clear()
        self.order.renumber(self.order.next_number(), ())

    def _renamed(self, entry: Entry) -> None:
        _, key, target = entry
        value = self.values[key]
        expires_at_ms = self.expires_at_ms.get(key)
        self.drop(key)
        self.put(target, value)
        if expires_at_ms is not None:
            self.deadlines.set(target, expires_at_ms)
        if self.watched:
            self.changed(key)
            self.changed(target)

    def _copied(self, entry: Entry) -> None:
        _, key, target = entry
        expires_at_ms = self.expires_at_ms.get(key)
        self.put(target, duplicate(self.values[key]))
        if expires_at_ms is not None:
            self.deadlines.set(target, expires_at_ms)
        if self.watched:
            self.changed(target)

    def _expiry_set(self, entry: Entry) -> None:
        _, key, at_ms = entry
        self.deadlines.set(key, at_ms)
        if self.watched:
            self.changed(key)

    def _expiry_cleared(self, entry: Entry) -> None:
        _, key = entry
        del self.expires_at_ms[key]
        if self.watched:
            self.changed(key)
