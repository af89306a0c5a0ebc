"""The table of keys under the types: who is there, until when, and who wants to know.

`Keyspace` is this table with its commands; `Strings`, `Lists`, `Hashes`, `Sets` and `SortedSets` work
on it. A command looks its key up with `reading` or `writing`, decides, makes an entry, applies it and
stages it. The method that applies an entry never looks at the time or at the type: the command did.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from onemq.core.keyspace.deadlines import Deadlines
from onemq.core.keyspace.entries import KEYS_EXPIRED, Entry
from onemq.core.keyspace.key_order import KeyOrder
from onemq.core.keyspace.values import TOPIC_KEY, TopicKey, Value
from onemq.core.keyspace.watches import Watches
from onemq.errors import WrongType

Kind = TypeVar("Kind", bound=Value)


class Table:
    """The keys and their values.

    `now_ms` is the time of this turn. `on_push`, if somebody set it, is told the key of every list and
    sorted set that gained elements, as the last thing its command does, after the entry was staged.
    """

    def __init__(self, entries: list[tuple[Any, ...]]) -> None:
        """`entries` are those of the turn, taken away from the list at its end; new ones are added."""
        self.entries = entries
        self.stage = entries.append
        self.on_push: Callable[[bytes], None] | None = None
        self.on_topic_removed: Callable[[bytes], None] = _nobody_waits
        """Told of a key that stands for a topic before it goes; removes the topic."""
        self.on_topic_renamed: Callable[[bytes, bytes], None] = _nobody_minds
        """Asked to rename the topic of a key over whatever is there; tells the keyspace by `topic_gone` and
        `topic_created`."""
        self.on_topic_shown: Callable[[bytes], None] = _nobody_waits
        """Told of a key that stands for a topic again, which was hidden under it."""
        self.hidden_topics: set[bytes] = set()
        """Topics that another protocol, or the broker, made under a name that a key has: the key is what clients of
        the keyspace see, until it goes."""
        self.now_ms = 0
        # Any, because `reading` and `writing` check what no type checker can: the class for the key.
        self.values: dict[bytes, Any] = {}
        self.deadlines = Deadlines()
        self.expires_at_ms = self.deadlines.at_ms
        self.order = KeyOrder()
        self._watches = Watches()
        # Empty most of the time: whoever applies an entry looks here before calling `changed`.
        self.watched = self._watches.versions
        self.changed = self._watches.changed

    def reading(self, key: bytes, kind: type[Kind]) -> Kind | None:
        """The value of the key, or None if there is none (any more). Raises WrongType."""
        value: Kind | None = self.values.get(key)
        if value is None:
            return None
        due_ms = self.expires_at_ms.get(key)
        if due_ms is not None and due_ms <= self.now_ms:
            return None
        if type(value) is not kind:
            raise _wrong_type()
        return value

    def writing(self, key: bytes, kind: type[Kind]) -> Kind | None:
        """Like `reading`, for a command that may change the key: one that has expired is removed first."""
        value: Kind | None = self.values.get(key)
        if value is None:
            return None
        due_ms = self.expires_at_ms.get(key)
        if due_ms is not None and due_ms <= self.now_ms:
            self.expire([key])
            return None
        if type(value) is not kind:
            raise _wrong_type()
        return value

    def expired(self, key: bytes) -> bool:
        """Whether the key's time has come, removed or not."""
        due_ms = self.expires_at_ms.get(key)
        return due_ms is not None and due_ms <= self.now_ms

    def holds(self, key: bytes) -> bool:
        """Whether the key is there, of whatever type."""
        return key in self.values and not self.expired(key)

    def evict(self, key: bytes) -> None:
        """Removes the key if its time has come."""
        if self.expired(key):
            self.expire([key])

    def expire(self, keys: list[bytes]) -> None:
        """Removes keys whose time has come."""
        entry = (KEYS_EXPIRED, keys)
        self.removed(entry)
        self.stage(entry)

    def removed(self, entry: Entry) -> None:
        """Applies KEYS_DELETED and KEYS_EXPIRED."""
        for key in entry[1]:
            self.drop(key)
            if self.watched:
                self.changed(key)

    def create(self, key: bytes, value: Value) -> None:
        """Puts a value under a key that is not there."""
        self.values[key] = value
        self.order.add(key, self.values)

    def put(self, key: bytes, value: Value) -> None:
        """Puts a value under a key in place of whatever is there, without expiry."""
        if type(self.values.get(key)) is TopicKey:
            self.on_topic_removed(key)
        if key in self.values:
            self.values[key] = value
            if key in self.expires_at_ms:
                del self.expires_at_ms[key]
        else:
            self.create(key, value)

    def drop(self, key: bytes) -> None:
        """Removes a key."""
        if type(self.values.get(key)) is TopicKey:
            self.on_topic_removed(key)
        self.values.pop(key, None)
        if key in self.expires_at_ms:
            del self.expires_at_ms[key]
        if key in self.hidden_topics:
            self.hidden_topics.remove(key)
            self.create(key, TOPIC_KEY)
            self.on_topic_shown(key)

    def topic_created(self, key: bytes) -> None:
        """There is a topic of that name now."""
        if key not in self.values:
            self.create(key, TOPIC_KEY)
            self.topic_changed(key)
        elif type(self.values[key]) is not TopicKey:
            self.hidden_topics.add(key)

    def topic_changed(self, key: bytes) -> None:
        """The messages or groups of a topic changed."""
        if self.watched:
            self.changed(key)

    def topic_gone(self, key: bytes) -> None:
        """There is no topic of that name any more."""
        self.hidden_topics.discard(key)
        if type(self.values.get(key)) is TopicKey:
            del self.values[key]
            if key in self.expires_at_ms:
                del self.expires_at_ms[key]
            self.topic_changed(key)

    def watch(self, key: bytes) -> int:
        """Begins to count changes of the key for one watcher; returns its version now.

        Every call needs one of `unwatch`.
        """
        self.evict(key)
        return self._watches.add(key)

    def version(self, key: bytes) -> int:
        """The version of a watched key: another one after every change, expiry and flush."""
        self.evict(key)
        return self.watched[key]

    def unwatch(self, key: bytes) -> None:
        """Ends one `watch` of the key."""
        self._watches.remove(key)


def _wrong_type() -> WrongType:
    return WrongType("Operation against a key holding the wrong kind of value")


def _nobody_minds(key: bytes, target: bytes) -> None:
    pass


def _nobody_waits(key: bytes) -> None:
    pass
