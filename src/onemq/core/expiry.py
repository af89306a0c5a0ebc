"""Expiry: from when on a message is of no use any more.

A message may say so itself, in a header, and its topic may say it for all of its messages; the earlier one counts.
"""

from operator import itemgetter
from typing import TYPE_CHECKING

from onemq.message import EXPIRES, Record, header

if TYPE_CHECKING:
    from onemq.core.topics import Topic

_DIGITS_MAX = 18
_headers_of = itemgetter(4)


def expires_at_ms(topic: "Topic", record: Record) -> int | None:
    """When a message of a topic expires, if ever."""
    told = header(record[4], EXPIRES) if record[4] else None
    own_ms = int(told) if told is not None and told.isdigit() and len(told) <= _DIGITS_MAX else None
    if topic.config.expires_ms is None:
        return own_ms
    stored_ms = record[1] + topic.config.expires_ms
    return stored_ms if own_ms is None else min(own_ms, stored_ms)


def is_expired(topic: "Topic", record: Record, now_ms: int) -> bool:
    """Whether a message of a topic is of no use any more."""
    at_ms = expires_at_ms(topic, record)
    return at_ms is not None and at_ms <= now_ms


def may_expire(topic: "Topic", records: list[Record]) -> bool:
    """Whether any of the messages can expire at all; quick, since it is asked about all that are read."""
    return topic.config.expires_ms is not None or any(map(_headers_of, records))
