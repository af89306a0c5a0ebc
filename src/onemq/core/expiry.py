"""Expiry: from when on a message is of no use any more.

A message may say so itself, in a header, and its topic may say it for all of its messages; the earlier one counts.
The header counts if only headers with reserved names stand before it: a field of that name in a Redis stream is the
sender's own. So that nobody need look for it in all the messages that are handed out, a partition knows before which
offset there may be such messages.
"""

from typing import TYPE_CHECKING

from onemq.core.partition import Partition
from onemq.message import EXPIRES, RESERVED, Record

if TYPE_CHECKING:
    from onemq.core.topics import Topic

EXPIRES_MARK = b"\x08" + EXPIRES
"""How the header looks like in encoded headers, and so in a batch that is not compressed."""
_DIGITS_MAX = 18


def expires_at_ms(topic: "Topic", record: Record) -> int | None:
    """When a message of a topic expires, if ever."""
    own_ms = _told_ms(record) if record[4] else None
    if topic.config.expires_ms is None:
        return own_ms
    stored_ms = record[1] + topic.config.expires_ms
    return stored_ms if own_ms is None else min(own_ms, stored_ms)


def is_expired(topic: "Topic", record: Record, now_ms: int) -> bool:
    """Whether a message of a topic is of no use any more."""
    at_ms = expires_at_ms(topic, record)
    return at_ms is not None and at_ms <= now_ms


def may_expire(topic: "Topic", partition: Partition, records: list[Record]) -> bool:
    """Whether any of some messages of a partition, in order or in reverse, can expire at all. It is asked about all
    that are read, so it is quick where there are none such."""
    if topic.config.expires_ms is not None:
        return True
    first = min(records[0][0], records[-1][0])
    return first < partition.expiring_end and any(_told_ms(record) is not None for record in records if record[4])


def _told_ms(record: Record) -> int | None:
    for name, value in record[4]:
        if name == EXPIRES:
            known = value is not None and value.isdigit() and len(value) <= _DIGITS_MAX
            return int(value) if value is not None and known else None
        if name not in RESERVED:
            break
    return None
