"""Admission: what becomes of a record that is about to be handed out to a group.

    HAND   a receiver gets it
    PASS   it counts as acknowledged, and nobody sees it
    DEAD   it becomes a dead letter
    HOLD   it stands in line with others of its key, and a receiver gets it when it is the first (locks.py)

Groups without settings of that kind have no admission: what they hand out is looked at only if it may expire.
"""

from enum import Enum
from typing import TYPE_CHECKING

from onemq.core.expiry import is_expired
from onemq.core.filter import Filter, compile_filter
from onemq.core.locks import NO_HASH, order_hash
from onemq.core.once import NO_KEY, digest, key_of
from onemq.message import ORDER_KEY, Record, header

if TYPE_CHECKING:
    from onemq.core.cursor import Cursor
    from onemq.core.group import GroupConfig

NO_LIMIT = 1 << 64
NOTHING = 0
EXPIRED = "expired"
"""The reason of a dead letter that nobody asked for in time."""


class Verdict(Enum):
    """What becomes of a record."""

    HAND = 0
    PASS = 1
    DEAD = 2
    HOLD = 3


class Admission:
    """What the settings of a group say about its messages."""

    def __init__(self, config: "GroupConfig") -> None:
        self._filter: Filter | None = compile_filter(config.filter) if config.filter is not None else None
        self._filters: dict[int, Filter] = {}
        """That of each partition, since a filter may ask for the place of a message."""
        self._order = config.order
        self._assigned = config.assign != "none"
        self._once = config.once
        self._once_key_of = key_of(config.once) if config.once is not None else None
        self.locking = config.order == "key" or config.once is not None
        """Whether messages of one key wait for each other."""

    def fresh(self, cursor: "Cursor", record: Record, now_ms: int) -> Verdict:
        """Of a record that was never handed out."""
        if self._filter is not None and not self._filter_at(cursor, self._filter).matches(record):
            return Verdict.PASS
        verdict = self.again(cursor, record, now_ms)
        return Verdict.HOLD if self.locking and verdict is Verdict.HAND else verdict

    def _filter_at(self, cursor: "Cursor", filter: Filter) -> Filter:
        partition = cursor.partition
        found = self._filters.get(partition.number)
        if found is None:
            found = self._filters[partition.number] = filter.at(partition.topic_id, partition.number)
        return found

    def again(self, cursor: "Cursor", record: Record, now_ms: int) -> Verdict:
        """Of a record that the group has come to before."""
        group = cursor.group
        if is_expired(group.topic, record, now_ms):
            return Verdict.DEAD if group.topic.config.expired == "dead" else Verdict.PASS
        if group.once_keys is not None:
            key = self.once_key(cursor, record)
            if key and group.once_keys.has(key, now_ms):
                return Verdict.PASS
        return Verdict.HAND

    def order_key(self, record: Record) -> int:
        """The hash of what keeps a message in order with others."""
        if self._order != "key":
            return NO_HASH
        key = header(record[4], ORDER_KEY) if record[4] else None
        key = record[2] if key is None else key
        return NO_HASH if key is None else order_hash(key)

    def once_key(self, cursor: "Cursor", record: Record) -> bytes:
        """The digest of what makes a message the same as others."""
        if self._once is None or self._once_key_of is None:
            return NO_KEY
        key = self._once_key_of(cursor.partition, record)
        return NO_KEY if key is None else digest(self._once, key)

    def limit(self, cursor: "Cursor", member: str) -> int:
        """Only messages before this offset may be handed to the member now."""
        if self._assigned and cursor.group.assignment[cursor.partition.number] != member:
            return NOTHING
        if self._order == "partition":
            return NOTHING if cursor.busy else _free_below(cursor, member)
        if self._order == "key" and self._assigned and _is_with_another(cursor, member):
            return NOTHING
        return NO_LIMIT


def _free_below(cursor: "Cursor", member: str) -> int:
    """Where the first message lies that must be done before the member gets anything after it."""
    limit = NO_LIMIT
    for offset, delivery in cursor.unacknowledged.items():
        if delivery.member is not None:
            if delivery.member.name != member:
                return NOTHING
        elif delivery.due_ms and offset < limit:
            limit = offset
    return limit


def _is_with_another(cursor: "Cursor", member: str) -> bool:
    owners = {delivery.member for delivery in cursor.unacknowledged.values()}
    return any(owner is not None and owner.name != member for owner in owners)
