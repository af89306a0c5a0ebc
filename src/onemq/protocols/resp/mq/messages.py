"""Messages as replies: as maps for people, and as flat arrays for subscriptions."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from onemq.core.deadletters import death_of
from onemq.core.receive import Handed
from onemq.core.topics import Topic
from onemq.message import (
    BORN,
    CONTENT_TYPE,
    CORRELATION,
    DEAD,
    DUE,
    ENCODING,
    EXPIRES,
    ID,
    ORDER_KEY,
    PRIORITY,
    PRIORITY_DEFAULT,
    PRIORITY_MAX,
    PRODUCER_GROUP,
    REPLY_TO,
    SERIES_ID,
    STREAM_ID,
    TAG,
    TARGET,
    TARGET_ID,
    TARGET_PARTITION,
    TRANSACTION,
    Record,
    id_of,
)
from onemq.protocols.resp import replies
from onemq.protocols.resp.replies import Replies
from onemq.protocols.resp.streams.fields import FIELD

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

RESERVED = frozenset((
    BORN, CONTENT_TYPE, CORRELATION, DEAD, DUE, ENCODING, EXPIRES, FIELD, ID, ORDER_KEY, PRIORITY, PRODUCER_GROUP,
    REPLY_TO, SERIES_ID, STREAM_ID, TAG, TARGET, TARGET_ID, TARGET_PARTITION, TRANSACTION,
))  # fmt: skip
"""Headers that have a field of their own, or that nobody needs to see."""
_TEXTS = ((CONTENT_TYPE, "type"), (ENCODING, "encoding"), (ORDER_KEY, "order"), (REPLY_TO, "reply_to"),
          (CORRELATION, "correlation"), (TRANSACTION, "transaction"),
          (SERIES_ID, "series"))  # fmt: skip
_TIMES = ((BORN, "born"), (EXPIRES, "expires"), (DUE, "due"))
_PUSH = b">3\r\n$11\r\nmq.messages\r\n"
_NULL = b"_\r\n"
_ITEMS = 7


def message_reply(session: "RespSession", topic: Topic, partition: int, record: Record, deliveries: int = 0) -> bytes:
    """A message as a map."""
    offset = record[0]
    place = {
        "id": replies.text(id_of(topic.id, partition, record)),
        "topic": replies.text(topic.name),
        "partition": replies.integer(partition),
        "offset": replies.integer(offset),
        "receipt": replies.text(f"{partition}:{offset}"),
    }
    return map_reply(session.replies, place | content_facts(session.replies, record, deliveries))


def content_facts(form: Replies, record: Record, deliveries: int = 0) -> dict[str, bytes]:
    """What a message has beside its place."""
    _, stored_ms, key, body, headers = record
    values = dict(reversed(headers))  # the first of a name counts
    facts = {
        "key": optional(form, key),
        "tag": optional(form, values.get(TAG)),
        "body": optional(form, body),
        "headers": form.map(
            (replies.bulk(name), optional(form, value)) for name, value in headers if name not in RESERVED
        ),
        "priority": replies.integer(priority_of(values.get(PRIORITY))),
        "deliveries": replies.integer(deliveries),
        "stored": replies.integer(stored_ms),
    }
    if values:
        facts |= {name: replies.bulk(value) for each, name in _TEXTS if (value := values.get(each)) is not None}
        facts |= {name: time_reply(value) for each, name in _TIMES if (value := values.get(each)) is not None}
        if DEAD in values:
            facts["dead"] = death_reply(form, record)
    return facts


def map_reply(form: Replies, facts: dict[str, bytes]) -> bytes:
    """A map whose values are encoded already."""
    return form.map((replies.text(name), value) for name, value in facts.items())


def optional(form: Replies, value: bytes | None) -> bytes:
    return form.null if value is None else replies.bulk(value)


def optional_integer(form: Replies, value: int | None) -> bytes:
    return form.null if value is None else replies.integer(value)


def optional_text(form: Replies, value: str | None) -> bytes:
    return form.null if value is None else replies.text(value)


def time_reply(value: bytes) -> bytes:
    """Milliseconds; a sender may have written anything."""
    return replies.integer(int(value)) if value.isdigit() and len(value) < 19 else replies.bulk(value)


def priority_of(value: bytes | None) -> int:
    if value is None or len(value) != 1 or not value.isdigit():
        return PRIORITY_DEFAULT
    return min(int(value), PRIORITY_MAX)


def death_reply(form: Replies, record: Record) -> bytes:
    death = death_of(record)
    if death is None:
        return form.null
    return map_reply(form, {
        "reason": replies.text(death.reason),
        "topic": replies.text(death.topic),
        "partition": replies.integer(death.partition),
        "offset": replies.integer(death.offset),
        "group": replies.text(death.group),
        "deliveries": replies.integer(death.deliveries),
        "at": replies.integer(death.at_ms),
        "history": attempts_reply(form, death.history),
    })  # fmt: skip


def attempts_reply(form: Replies, attempts: Iterable[tuple[int, str, int, str]]) -> bytes:
    """Failed deliveries."""
    return replies.array([
        map_reply(form, {
            "handed": replies.integer(handed_ms),
            "member": replies.text(member),
            "failed": replies.integer(failed_ms),
            "reason": replies.text(reason),
        })
        for handed_ms, member, failed_ms, reason in attempts
    ])  # fmt: skip


# Pushes


def push(subscription: int, got: list[Handed]) -> bytes:
    """The messages of a subscription in one frame. Paid for every message: neighbours mostly differ in their
    offset, key and body only, so what is around these is put together once."""
    parts = [b"%b:%d\r\n*%d\r\n" % (_PUSH, subscription, _ITEMS * len(got))]
    add, bulk = parts.append, replies.bulk
    same_partition = same_deliveries = same_ms = same_size = -1
    same_headers: object = None
    before = middle = length = after = b""
    for partition, record, deliveries in got:
        offset, stored_ms, key, body, headers = record
        if stored_ms != same_ms or deliveries != same_deliveries or partition != same_partition:
            same_partition, same_deliveries, same_ms = partition, deliveries, stored_ms
            before, middle = b":%d\r\n:" % partition, b"\r\n:%d\r\n:%d\r\n" % (deliveries, stored_ms)
        if headers is not same_headers:
            same_headers = headers
            after = b"\r\n" + _headers(headers)
        if body is None:
            shown_key = _NULL if key is None else bulk(key)
            add(b"%b%d%b%b_%b" % (before, offset, middle, shown_key, after))
            continue
        if len(body) != same_size:
            same_size = len(body)
            length = b"$%d\r\n" % same_size
        if key is None:
            add(b"%b%d%b_\r\n%b%b%b" % (before, offset, middle, length, body, after))
        else:
            add(b"%b%d%b%b%b%b%b" % (before, offset, middle, bulk(key), length, body, after))
    return b"".join(parts)


def _headers(headers: Iterable[tuple[bytes, bytes | None]]) -> bytes:
    if not headers:
        return _NULL
    words: list[bytes] = []
    for name, value in headers:
        words += (replies.bulk(name), _NULL if value is None else replies.bulk(value))
    return replies.array(words)
