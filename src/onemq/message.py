"""The neutral message: what every protocol's messages have in common, in no protocol's shape.

A stored message is a record: key, body, time and headers. Fields beyond those travel as headers with
short reserved names that begin with an underscore; values are text, so that a Kafka client can read
them. What a protocol has beyond these travels under a prefix of its own and comes back unchanged.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from onemq.errors import InvalidArgument
from onemq.limits import NAME_BYTES_MAX

Headers = tuple[tuple[bytes, bytes | None], ...]
Record = tuple[int, int, bytes | None, bytes | None, Headers]
"""A stored message as the log hands it out: (offset, time in ms, key, value, headers). A plain tuple, since
decoding is paid for every message."""

# Reserved header names.
ID = b"_id"
"""The message id, where it differs from what the place of the message says."""
STREAM_ID = b"_sid"
"""The id in its stream, `ms-number`, where it is not made of the time and the offset; always the first header."""
DUE = b"_due"
"""When a scheduled message was due, ms."""
SERIES_ID = b"_series"
"""The id of the scheduled message that comes again and again, in each of its copies."""
TARGET = b"_to"
"""Topic that a scheduled or half message goes to; only while it is parked."""
TARGET_ID = b"_toid"
"""The id of that topic, which it keeps when it is renamed."""
TARGET_PARTITION = b"_part"
TAG = b"_tag"
PRIORITY = b"_pri"
"""0 to 9, where it is not the default."""
EXPIRES = b"_exp"
"""When the message is of no use any more, ms since 1970."""
ORDER_KEY = b"_order"
"""What decides on the partition and on the order, where that is not the key."""
REPLY_TO = b"_reply"
CORRELATION = b"_corr"
CONTENT_TYPE = b"_type"
"""What the body is: text, bytes or json; for the SDK and for people."""
ENCODING = b"_enc"
"""How the body was compressed by its sender, if it was."""
BORN = b"_born"
"""When the sender made the message, ms since 1970, by its own clock."""
PRODUCER_GROUP = b"_pgroup"
"""Who can say what became of a half message."""
TRANSACTION = b"_tx"
DEAD = b"_dead"
"""Why, whence and after what history a message became a dead letter: JSON."""

RESERVED = frozenset(value for value in list(vars().values()) if isinstance(value, bytes))
"""All reserved header names: every constant above."""

PRIORITY_DEFAULT = 4
PRIORITY_MAX = 9


@dataclass(frozen=True, slots=True)
class Message:
    """A message as a receiver sees it."""

    topic: str
    partition: int
    offset: int
    id: str
    key: bytes | None
    body: bytes
    headers: Headers
    stored_ms: int
    deliveries: int
    """How often it was handed out to this group, this time included; 0 where no group is involved."""


def message_id(topic_id: int, partition: int, offset: int) -> str:
    """The id that a message has by its first place in the log."""
    return f"{topic_id:x}-{partition:x}-{offset:x}"


def header(headers: Iterable[tuple[bytes, bytes | None]], name: bytes) -> bytes | None:
    """The value of the first header of that name."""
    for found, value in headers:
        if found == name:
            return value
    return None


def id_of(topic_id: int, partition: int, record: Record) -> str:
    """The id of a stored message. It never changes, wherever the message moves."""
    stored = header(record[4], ID) if record[4] else None
    return message_id(topic_id, partition, record[0]) if stored is None else stored.decode(errors="replace")


def check_name(what: str, name: str) -> str:
    """The name, or `InvalidArgument` saying what is wrong with it."""
    if not name:
        raise InvalidArgument(f"a {what} name must not be empty")
    size = len(name.encode("utf-8", "surrogatepass"))
    if size > NAME_BYTES_MAX:
        raise InvalidArgument(f"a {what} name may have {NAME_BYTES_MAX} bytes, this one has {size}")
    if not name.isprintable():
        raise InvalidArgument(f"a {what} name must have printable characters only: {name!r}")
    return name
