"""Idempotency keys: what is sent again under the same key is stored once, and the answer is the first one's place.

Each topic remembers its keys, each for as long as its sender asked, and forgets them with itself. A key is kept as
a digest, so that long ones take no more memory than short ones. A topic that has as many keys as it may have
forgets those first whose time would be up first, and the operator is told: refusing messages would be worse than
knowing late repetitions no longer.
"""

from collections.abc import Callable, Iterator
from hashlib import blake2b
from heapq import heapify, heappop, heappush
from typing import Any

from onemq.core.entries import SENT_ONCE
from onemq.core.partition import Partition
from onemq.core.placed import Duplicate, Placed
from onemq.core.stage import Stage
from onemq.core.topics import Topic, Topics
from onemq.errors import InvalidArgument
from onemq.limits import SENT_ONCE_KEYS_MAX, SENT_ONCE_MS_MAX

DIGEST_BYTES = 16
Kept = tuple[int, int, int]
"""(until, partition, offset)"""
_NOTHING: Kept = (-1, 0, 0)
_DROPPED_AT_ONCE = 8
"""More than one, so that they go faster than they come, and few, so that no message waits for it."""


class Keys:
    """The keys of one topic."""

    def __init__(self) -> None:
        self.kept: dict[bytes, Kept] = {}
        self._order: list[tuple[int, bytes]] = []
        """By the time until which they are kept: a heap, since each sender asks for a time of its own."""

    def find(self, key: bytes, now_ms: int) -> Kept | None:
        """What is kept under a key whose time is not up."""
        kept = self.kept.get(key)
        return None if kept is None or kept[0] <= now_ms else kept

    def keep(self, key: bytes, kept: Kept, now_ms: int) -> bool:
        """Keeps one more, and drops some whose time is up. Says whether another one had to go before its time."""
        self.kept[key] = kept
        heappush(self._order, (kept[0], key))
        for _ in range(_DROPPED_AT_ONCE):
            if self._first_until_ms() > now_ms:
                break
            self._drop_first()
        if len(self.kept) <= SENT_ONCE_KEYS_MAX:
            return False
        is_early = self._first_until_ms() > now_ms
        self._drop_first()
        return is_early

    def _first_until_ms(self) -> int:
        """Of the one whose time is up first. There is one: the one that came last."""
        while self.kept.get(self._order[0][1], _NOTHING)[0] != self._order[0][0]:
            heappop(self._order)  # kept anew since then
        return self._order[0][0]

    def _drop_first(self) -> None:
        del self.kept[heappop(self._order)[1]]

    def rows(self) -> list[object]:
        """For the snapshot: the keys and what is kept under them, in columns."""
        ordered = sorted((kept, key) for key, kept in self.kept.items())
        columns = [[kept[column] for kept, _ in ordered] for column in range(3)]
        return [b"".join(key for _, key in ordered), *columns]

    @classmethod
    def from_rows(cls, rows: Any) -> "Keys":
        """The reverse of `rows`."""
        keys, *columns = rows
        found = cls()
        digests = (keys[at : at + DIGEST_BYTES] for at in range(0, len(keys), DIGEST_BYTES))
        found.kept = dict(zip(digests, zip(*columns, strict=True), strict=True))
        found._order = [(kept[0], key) for key, kept in found.kept.items()]
        heapify(found._order)
        return found


class SentOnce:
    """The keys of all topics."""

    def __init__(self, stage: Stage, topics: Topics) -> None:
        self._stage = stage
        self._by_topic: dict[int, Keys] = {}
        self._told: set[int] = set()
        self.on_full: Callable[[Topic], None] = lambda topic: None
        """Told, once, of each topic that has to forget keys before their time."""
        topics.on_delete.append(self._topic_deleted)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """(topic, how many keys it remembers)"""
        return ((topic, len(keys.kept)) for topic, keys in self._by_topic.items())

    def find(self, topic: Topic, key: bytes) -> Placed | None:
        """The place of the message that was sent to the topic under this key, if that is remembered."""
        keys = self._by_topic.get(topic.id)
        kept = keys.find(_digest(key), self._stage.now_ms) if keys is not None else None
        return None if kept is None else Duplicate(*kept[1:])

    def remember(self, topic: Topic, key: bytes, window_ms: int, placed: Placed, partition: Partition | None) -> None:
        """A message was sent under this key, just now. It survives together with it, in its partition if it has
        one already."""
        if partition is not None:
            partition.journaled = True
        now_ms = self._stage.now_ms
        entry = (SENT_ONCE, topic.id, _digest(key), now_ms + window_ms, *placed, now_ms)
        if self._apply(entry) and topic.id not in self._told:
            self._told.add(topic.id)
            self.on_full(topic)
        self._stage.entry(entry, topic.sync)

    def check(self, window_ms: int) -> None:
        """Raises `InvalidArgument` for a window that is none."""
        if not 1 <= window_ms <= SENT_ONCE_MS_MAX:
            raise InvalidArgument(f"an idempotency key is remembered for 1 to {SENT_ONCE_MS_MAX} ms, not {window_ms}")

    def _apply(self, entry: Any) -> bool:
        _, topic_id, key, until_ms, partition, offset, now_ms = entry
        keys = self._by_topic.get(topic_id)
        if keys is None:
            keys = self._by_topic[topic_id] = Keys()
        return keys.keep(key, (until_ms, partition, offset), now_ms)

    def _topic_deleted(self, topic: Topic) -> None:
        self._by_topic.pop(topic.id, None)
        self._told.discard(topic.id)

    def appliers(self) -> dict[int, Callable[[Any], object]]:
        """What applies each kind of entry."""
        return {SENT_ONCE: self._apply}

    def dump(self) -> object:
        """For the snapshot."""
        return [[topic_id, *keys.rows()] for topic_id, keys in self._by_topic.items()]

    def load(self, state: Any) -> None:
        """The reverse of `dump`."""
        for topic_id, *rows in state:
            self._by_topic[topic_id] = Keys.from_rows(rows)


def _digest(key: bytes) -> bytes:
    return blake2b(key, digest_size=DIGEST_BYTES).digest()
