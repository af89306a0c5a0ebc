"""XPENDING, XCLAIM, XAUTOCLAIM, XNACK: entries that were handed out and not acknowledged."""

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from onemq.core.delivery import COUNT_MAX, GIVEN_UP, Member
from onemq.core.group import Group
from onemq.core.locks import HELD
from onemq.core.stream import Stream
from onemq.core.stream_ids import id_of, id_text
from onemq.limits import HANDED_BYTES_MAX
from onemq.protocols.resp import replies
from onemq.protocols.resp.arguments import integer
from onemq.protocols.resp.errors import CommandError, shown, syntax_error
from onemq.protocols.resp.numbers import parse_integer
from onemq.protocols.resp.streams.arguments import stream_and_group, text_of
from onemq.protocols.resp.streams.consuming import in_order, is_idle, known_consumer, plain_offset
from onemq.protocols.resp.streams.fields import entry_reply, id_reply
from onemq.protocols.resp.streams.ids import parse_end, parse_id, parse_start

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

_SCAN_PER_CLAIM = 10
"""XAUTOCLAIM looks at so many entries for each that it may claim."""

# XPENDING


def xpending(session: "RespSession", request: list[bytes]) -> bytes:
    if len(request) == 3:
        stream, group = stream_and_group(session, request[1], request[2])
        return _summary(session, stream, group)
    if not 6 <= len(request) <= 9:
        raise syntax_error()
    idle_ms, place = 0, 3
    if request[3].lower() == b"idle":
        idle_ms = integer(request[4])
        if len(request) < 8:
            raise syntax_error()
        place = 5
    count = max(integer(request[place + 2]), 0)
    start, end = parse_start(request[place]), parse_end(request[place + 1])
    name = text_of(request[place + 3]) if len(request) > place + 3 else None
    stream, group = stream_and_group(session, request[1], request[2])
    consumer = None
    if name is not None:
        consumer = group.members.get(name)
        if consumer is None:
            return replies.EMPTY_ARRAY
    return _rows(session, stream, group, start, end, count, consumer, idle_ms)


def _summary(session: "RespSession", stream: Stream, group: Group) -> bytes:
    cursor = stream.cursor(group)
    pending = cursor.unacknowledged
    null = session.replies.null
    if not pending:
        return replies.array([replies.integer(0), null, null, session.replies.null_array])
    ids = stream.ids_of(cursor, [min(pending), max(pending)])
    owners = [(name, held) for name, member in sorted(group.members.items()) if (held := pending_of(member))]
    return replies.array([
        replies.integer(len(pending)),
        id_reply(min(ids.values(), default=0)),
        id_reply(max(ids.values(), default=0)),
        replies.array([replies.array([replies.text(name), replies.text(str(held))]) for name, held in owners]),
    ])  # fmt: skip


def pending_of(member: Member) -> int:
    """How many entries a consumer has."""
    return sum(delivery.left for delivery in member.held)


def _rows(
    session: "RespSession", stream: Stream, group: Group, start: int, end: int, count: int,
    consumer: Member | None, idle_ms: int,
) -> bytes:  # fmt: skip
    cursor = stream.cursor(group)
    now_ms = session.service.core.stage.now_ms
    found: list[int] = []
    for offset in in_order(stream, cursor, start, end) if start <= end else ():
        if len(found) >= count:
            break
        delivery = cursor.unacknowledged[offset]
        if (consumer is None or delivery.member is consumer) and is_idle(delivery, now_ms, idle_ms):
            found.append(offset)
    ids = stream.ids_of(cursor, found)
    rows = []
    for offset in found:
        delivery = cursor.unacknowledged[offset]
        name, idle = "", -1
        if delivery.member is not None:
            name, idle = delivery.member.name, max(now_ms - delivery.since_ms, 0)
        if offset in ids:
            rows.append(replies.array([
                id_reply(ids[offset]), replies.text(name), replies.integer(idle), replies.integer(delivery.count)
            ]))  # fmt: skip
    return replies.array(rows)


# XCLAIM


@dataclass(slots=True)
class _Claim:
    """The options of XCLAIM."""

    since_ms: int | None = None
    count: int | None = None
    force: bool = False
    only_ids: bool = False
    last_id: int = 0


def _claim_options(words: list[bytes], now_ms: int) -> _Claim:
    claim = _Claim()
    place = 0
    while place < len(words):
        name, more = words[place].lower(), place + 1 < len(words)
        step = 2
        if name == b"force":
            claim.force, step = True, 1
        elif name == b"justid":
            claim.only_ids, step = True, 1
        elif name == b"idle" and more:
            claim.since_ms = now_ms - integer(words[place + 1], "Invalid IDLE option argument for XCLAIM")
        elif name == b"time" and more:
            claim.since_ms = integer(words[place + 1], "Invalid TIME option argument for XCLAIM")
        elif name == b"retrycount" and more:
            claim.count = integer(words[place + 1], "Invalid RETRYCOUNT option argument for XCLAIM")
        elif name == b"lastid" and more:
            claim.last_id = parse_id(words[place + 1])
        else:
            raise CommandError(f"ERR Unrecognized XCLAIM option '{shown(words[place])}'")
        place += step
    if claim.since_ms is None or not 0 <= claim.since_ms <= now_ms:
        claim.since_ms = now_ms
    return claim


def xclaim(session: "RespSession", request: list[bytes]) -> bytes:
    core = session.service.core
    core.check_writable()
    stream, group = stream_and_group(session, request[1], request[2])
    idle_ms = max(integer(request[4], "Invalid min-idle-time argument for XCLAIM"), 0)
    ids: list[int] = []
    for word in request[5:]:
        try:
            ids.append(parse_id(word))
        except CommandError:
            break
    claim = _claim_options(request[5 + len(ids) :], core.stage.now_ms)
    if claim.last_id > core.stream_groups.last_delivered(stream, group):
        core.stream_groups.place(stream, group, claim.last_id, core.stream_groups.entries_read(stream, group))
    consumer = text_of(request[3])
    entries: list[bytes] = []
    bytes_left = HANDED_BYTES_MAX
    for id in ids:
        entry = _claim_one(session, stream, group, consumer, id, idle_ms, claim)
        if entry:
            entries.append(entry)
            bytes_left -= len(entry)
            if bytes_left <= 0:
                break  # the rest stays as it is, as if others had claimed it
    return replies.array(entries)


def _claim_one(
    session: "RespSession", stream: Stream, group: Group, consumer: str, id: int, idle_ms: int, claim: _Claim
) -> bytes:
    core, cursor = session.service.core, stream.cursor(group)
    offset = plain_offset(cursor, id_text(id))
    if offset is None:
        offset = stream.offset_of(id)
    if offset is None or not stream.is_live(offset):
        gone = core.stream_groups.pending_offset(stream, group, id)
        core.groups.acknowledge(group, 0, [] if gone is None else [gone])
        return b""
    delivery = cursor.unacknowledged.get(offset)
    if delivery is None:
        if not claim.force:
            return b""
        count = 1
    else:
        if delivery.due_ms == HELD:
            return b""  # not anybody's yet
        if idle_ms and not is_idle(delivery, core.stage.now_ms, idle_ms):
            return b""
        count = delivery.count
    if claim.count is not None and claim.count >= 0:
        count = claim.count
    elif not claim.only_ids:
        if delivery is not None and core.claims.bury_if_worn_out(cursor, offset):
            return b""
        count = min(count + 1, COUNT_MAX)
    assert claim.since_ms is not None
    known_consumer(session, group, consumer)
    core.claims.take(group, 0, consumer, claim.since_ms, {offset: count})
    if claim.only_ids:
        return id_reply(id)
    return entry_reply(stream.records_at([offset])[offset])


# XAUTOCLAIM


def xautoclaim(session: "RespSession", request: list[bytes]) -> bytes:
    core = session.service.core
    core.check_writable()
    idle_ms = max(integer(request[4], "Invalid min-idle-time argument for XAUTOCLAIM"), 0)
    start = parse_start(request[5])
    count, only_ids = _autoclaim_options(request[6:])
    stream, group = stream_and_group(session, request[1], request[2])
    consumer = text_of(request[3])
    cursor = stream.cursor(group)
    scan = in_order(stream, cursor, start)
    claimed: list[bytes] = []
    gone: list[int] = []
    looked, bytes_left = 0, HANDED_BYTES_MAX
    for offset in islice(scan, count * _SCAN_PER_CLAIM):
        if len(claimed) + len(gone) >= count or bytes_left <= 0:
            break
        looked += 1
        if not stream.is_live(offset):
            gone.append(offset)
        elif is_idle(cursor.unacknowledged[offset], core.stage.now_ms, idle_ms):
            record = stream.records_at([offset]).get(offset)
            if record is None:  # not deleted, but lost: a power cut took it, or it was not persistent
                gone.append(offset)
                continue
            known_consumer(session, group, consumer)
            if core.claims.claim(group, 0, [offset], consumer, counts=not only_ids):
                claimed.append(id_reply(id_of(record)) if only_ids else entry_reply(record))
                bytes_left -= len(claimed[-1])
    left = scan[looked : looked + 1]
    ids = stream.ids_of(cursor, [*gone, *left])
    core.groups.acknowledge(group, 0, gone)
    return replies.array([
        id_reply(ids.get(left[0], 0) if left else 0),
        replies.array(claimed),
        replies.array([id_reply(ids[offset]) for offset in gone if offset in ids]),
    ])  # fmt: skip


def _autoclaim_options(words: list[bytes]) -> tuple[int, bool]:
    count, only_ids = 100, False
    place = 0
    while place < len(words):
        if words[place].lower() == b"count" and place + 1 < len(words):
            count = integer(words[place + 1], "COUNT must be > 0")
            if not 1 <= count <= COUNT_MAX // 16:
                raise CommandError("ERR COUNT must be > 0")
            place += 2
        elif words[place].lower() == b"justid":
            only_ids = True
            place += 1
        else:
            raise syntax_error()
    return count, only_ids


# XNACK


@dataclass(slots=True)
class _Nack:
    """The options of XNACK."""

    ids: list[bytes] | None = None
    count: int | None = None
    force: bool = False


def _nack_options(words: list[bytes]) -> _Nack:
    nack = _Nack()
    place = 0
    while place < len(words):
        name, more = words[place].lower(), place + 1 < len(words)
        if name == b"ids" and more and nack.ids is None:
            number = parse_integer(words[place + 1])
            if number is None or number < 1:
                raise CommandError("ERR numids must be a positive integer")
            nack.ids = words[place + 2 : place + 2 + number]
            if len(nack.ids) < number:
                raise CommandError("ERR number of IDs doesn't match numids")
            place += 2 + number
        elif name == b"retrycount" and more:
            nack.count = integer(words[place + 1])
            if nack.count < 0:
                raise CommandError("ERR Invalid RETRYCOUNT value, must be >= 0")
            place += 2
        elif name == b"force":
            nack.force = True
            place += 1
        else:
            raise CommandError(f"ERR Unrecognized XNACK option '{shown(words[place])}'")
    return nack


def xnack(session: "RespSession", request: list[bytes]) -> bytes:
    """Gives entries up. A group with a redelivery policy hands them out again as that says; others leave them
    for whoever claims them."""
    core = session.service.core
    core.check_writable()
    stream, group = stream_and_group(session, request[1], request[2])
    mode = request[3].lower()
    if mode not in (b"silent", b"fail", b"fatal"):
        raise CommandError("ERR mode must be SILENT, FAIL, or FATAL")
    nack = _nack_options(request[4:])
    if nack.ids is None:
        raise CommandError("ERR syntax error, expected IDS keyword")
    ids = [parse_id(word) for word in nack.ids]
    released = sum(_release(session, stream, group, id, mode, nack) for id in ids)
    if released:
        core.waiting.stir([stream.partition])
    return replies.integer(released)


def _release(session: "RespSession", stream: Stream, group: Group, id: int, mode: bytes, nack: _Nack) -> bool:
    core, cursor = session.service.core, stream.cursor(group)
    offset = plain_offset(cursor, id_text(id))
    if offset is None:
        offset = core.stream_groups.pending_offset(stream, group, id)
    if offset is None:
        offset = stream.offset_of(id)
        if not nack.force or offset is None or not stream.is_live(offset):
            return False
        count = 0
        if group.policy is not None and not cursor.is_fresh(offset):
            core.claims.give_up(group, 0, {offset: count})
            return _fail(session, group, offset, mode, nack.count)
    else:
        delivery = cursor.unacknowledged[offset]
        if delivery.due_ms == HELD:
            return False
        if group.policy is not None:
            waits_already = delivery.member is None and delivery.due_ms != GIVEN_UP
            return waits_already or _fail(session, group, offset, mode, nack.count)
        count = max(delivery.count - (mode == b"silent"), 0)
    if mode == b"fatal":
        count = COUNT_MAX
    core.claims.give_up(group, 0, {offset: count if nack.count is None else nack.count})
    return True


def _fail(session: "RespSession", group: Group, offset: int, mode: bytes, count: int | None) -> bool:
    """The policy decides what becomes of the entry, by how often it was handed out or by the count that is given."""
    groups = session.service.core.groups
    if mode == b"silent":
        if count is not None:
            return groups.give_back_as(group, 0, offset, count)
        return groups.give_back(group, 0, [offset]) > 0
    if mode == b"fatal":
        return groups.reject(group, 0, offset, "rejected by its consumer", count)
    return groups.fail(group, 0, [offset], "refused by its consumer", count=count) > 0
