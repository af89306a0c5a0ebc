"""Admission: what becomes of records that are about to be handed out to a group.

A receiver gets them, at once or when they are the first in line of their key (locks.py); or they become dead letters;
or they pass: they count as acknowledged, and nobody sees them.

Groups without settings of that kind have no admission: what they hand out is looked at only if it may expire.
"""

from typing import TYPE_CHECKING

from onemq.core.expiry import is_expired, may_expire
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

    def fresh(self, cursor: "Cursor", records: list[Record], now_ms: int) -> tuple[list[Record], list[int]]:
        """Of records that were never handed out: those that are, and the offsets of dead letters. The others pass."""
        if self._filter is not None:
            records = self._filter_at(cursor, self._filter).select(records)
        return self.again(cursor, records, now_ms)

    def again(self, cursor: "Cursor", records: list[Record], now_ms: int) -> tuple[list[Record], list[int]]:
        """The same of records that the group has come to before."""
        group, topic = cursor.group, cursor.group.topic
        if not records or (group.once_keys is None and not may_expire(topic, cursor.partition, records)):
            return records, []
        handed: list[Record] = []
        expired: list[int] = []
        for record in records:
            if is_expired(topic, record, now_ms):
                expired.append(record[0])
            elif not self._is_done(cursor, record, now_ms):
                handed.append(record)
        return handed, expired if topic.config.expired == "dead" else []

    def _filter_at(self, cursor: "Cursor", filter: Filter) -> Filter:
        partition = cursor.partition
        found = self._filters.get(partition.number)
        if found is None:
            found = self._filters[partition.number] = filter.at(partition.topic_id, partition.number)
        return found

    def _is_done(self, cursor: "Cursor", record: Record, now_ms: int) -> bool:
        """Whether another message of the same business key was acknowledged."""
        once_keys = cursor.group.once_keys
        key = self.once_key(cursor, record) if once_keys is not None else NO_KEY
        return once_keys is not None and bool(key) and once_keys.has(key, now_ms)

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
