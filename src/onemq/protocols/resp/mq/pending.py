"""MQ.PENDING, MQ.CLAIM: what was handed out and is not acknowledged, and taking it over."""

from heapq import nsmallest
from typing import TYPE_CHECKING

from onemq.core.cursor import Cursor
from onemq.core.delivery import READY, Delivery
from onemq.core.group import Group
from onemq.limits import MQ_COUNT_MAX
from onemq.protocols.resp import replies
from onemq.protocols.resp.mq.arguments import Words, text_of
from onemq.protocols.resp.mq.connection import connection_of
from onemq.protocols.resp.mq.messages import attempts_reply, map_reply, message_reply, optional_integer, optional_text
from onemq.protocols.resp.mq.places import existing_group
from onemq.protocols.resp.mq.receipts import delivered

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

_COUNT = 100
Pending = tuple[Cursor, int, Delivery]


def pending(session: "RespSession", request: list[bytes]) -> bytes:
    words = Words(request, 3, "MQ.PENDING")
    member, count = None, _COUNT
    while words:
        match words.option():
            case "MEMBER":
                member = words.text("MEMBER")
            case "COUNT":
                count = words.integer("COUNT", 1, MQ_COUNT_MAX)
            case other:
                raise words.unknown(other)
    group = existing_group(session, request[1], request[2])
    found = [
        each for each in _all(group) if member is None or (each[2].member is not None and each[2].member.name == member)
    ]
    first = nsmallest(count, found, key=lambda each: (each[0].partition.number, each[1]))
    return replies.array([_pending_reply(session, each) for each in first])


def _all(group: Group) -> list[Pending]:
    """What was handed out; not what only stands in line."""
    return [
        (cursor, offset, delivery)
        for cursor in group.cursors
        for offset, delivery in cursor.unacknowledged.items()
        if delivery.member is not None or delivery.count
    ]


def _pending_reply(session: "RespSession", pending: Pending) -> bytes:
    cursor, offset, delivery = pending
    form, now_ms = session.replies, session.service.now_ms
    return map_reply(form, {
        "receipt": replies.text(f"{cursor.partition.number}:{offset}"),
        "member": optional_text(form, delivery.member.name if delivery.member is not None else None),
        "since": replies.integer(delivery.since_ms),
        "idle": replies.integer(max(now_ms - delivery.since_ms, 0)),
        "deliveries": replies.integer(delivery.count),
        "due": optional_integer(form, delivery.due_ms if delivery.due_ms > READY else None),
        "history": attempts_reply(form, delivery.history),
    })  # fmt: skip


def claim(session: "RespSession", request: list[bytes]) -> bytes:
    words = Words(request, 4, "MQ.CLAIM")
    idle_ms, count = 0, MQ_COUNT_MAX
    while words and not words.peek()[:1].isdigit():
        match words.option():
            case "IDLE":
                idle_ms = words.duration_ms("IDLE")
            case "COUNT":
                count = words.integer("COUNT", 1, MQ_COUNT_MAX)
            case other:
                raise words.unknown(other)
    receipts = words.rest()
    core = session.service.core
    core.check_writable()
    group = existing_group(session, request[1], request[2])
    member = text_of("the name of a member", request[3])
    connection_of(session).bind(group, member)
    chosen = _named(group, receipts) if receipts else _longest_idle(group, core.stage.now_ms - idle_ms, count)
    found: list[bytes] = []
    for cursor, offsets in chosen.items():
        number = cursor.partition.number
        records = {record[0]: record for record in core.reading.page_at(cursor.partition, offsets)}
        for offset in core.claims.claim(group, number, list(records), member, idle_ms):
            deliveries = cursor.unacknowledged[offset].count
            found.append(message_reply(session, group.topic, number, records[offset], deliveries))
    return replies.array(found)


def _named(group: Group, receipts: list[bytes]) -> dict[Cursor, list[int]]:
    return {cursor: list(offsets) for cursor, offsets in delivered(group, receipts).items()}


def _longest_idle(group: Group, before_ms: int, count: int) -> dict[Cursor, list[int]]:
    idle = [each for each in _all(group) if each[2].since_ms <= before_ms]
    chosen: dict[Cursor, list[int]] = {}
    for cursor, offset, _ in nsmallest(count, idle, key=lambda each: (each[2].since_ms, each[1])):
        chosen.setdefault(cursor, []).append(offset)
    return {cursor: sorted(offsets) for cursor, offsets in chosen.items()}
