"""XINFO and XCFGSET: what there is to know about streams, their groups and consumers."""

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

from onemq.core.delivery import Member
from onemq.core.group import Group
from onemq.core.stream import Stream
from onemq.core.stream_ids import id_of
from onemq.core.window import DURATION_MS, NAMES_MAX, Window
from onemq.protocols.resp import replies
from onemq.protocols.resp.arguments import INTEGER_MAX, integer
from onemq.protocols.resp.errors import CommandError, misused_subcommand, syntax_error
from onemq.protocols.resp.streams.arguments import existing_stream
from onemq.protocols.resp.streams.entries import Entries
from onemq.protocols.resp.streams.fields import entry_reply, id_reply
from onemq.protocols.resp.streams.groups import named_group
from onemq.protocols.resp.streams.pending import pending_of

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

_FULL_COUNT = 10
_DURATION_S_MAX = 86_400
_NAMES_MAX = 10_000


def _map(session: "RespSession", facts: dict[str, bytes]) -> bytes:
    return session.replies.map((replies.text(name), value) for name, value in facts.items())


def stream(session: "RespSession", request: list[bytes]) -> bytes:
    """XINFO STREAM key [FULL [COUNT n]]"""
    count: int | None = None
    found = existing_stream(session, request[2])
    if len(request) > 3:
        if request[3].lower() != b"full" or len(request) not in (4, 6):
            raise misused_subcommand(request)
        count = _FULL_COUNT
        if len(request) == 6:
            if request[4].lower() != b"count":
                raise misused_subcommand(request)
            count = integer(request[5])
            count = count if count >= 0 else _FULL_COUNT
    facts = _facts(session, found)
    if count is None:
        first, last, null = found.first(), found.last(), session.replies.null
        facts["groups"] = replies.integer(len(found.topic.groups))
        facts["first-entry"] = null if first is None else entry_reply(first)
        facts["last-entry"] = null if last is None else entry_reply(last)
    else:
        entries = islice(found.records(found.partition.start, count or None), count or None)
        facts["entries"] = Entries(entries).reply()
        facts["groups"] = replies.array([
            _full_group(session, found, group, count) for _, group in sorted(found.topic.groups.items())
        ])  # fmt: skip
    return _map(session, facts)


def _facts(session: "RespSession", found: Stream) -> dict[str, bytes]:
    first = found.first()
    nodes = (len(found) + 99) // 100
    window = found.window or Window()
    producers, names = window.tracked(session.service.core.stage.now_ms)
    return {
        "length": replies.integer(len(found)),
        "radix-tree-keys": replies.integer(nodes),
        "radix-tree-nodes": replies.integer(nodes + 1),
        "last-generated-id": id_reply(found.last_id),
        "max-deleted-entry-id": id_reply(found.max_deleted_id),
        "entries-added": _count(found.added),
        "recorded-first-entry-id": id_reply(0 if first is None else id_of(first)),
        "idmp-duration": replies.integer(window.duration_ms // 1000),
        "idmp-maxsize": replies.integer(window.names_max),
        "pids-tracked": replies.integer(producers),
        "iids-tracked": replies.integer(names),
        "iids-added": replies.integer(window.added),
        "iids-duplicates": replies.integer(window.duplicates),
    }


def _count(number: int) -> bytes:
    """A count that somebody may have set as high as can be, and that went on from there."""
    return replies.integer(min(number, INTEGER_MAX))


def _position(session: "RespSession", found: Stream, group: Group) -> dict[str, bytes]:
    groups = session.service.core.stream_groups
    read = groups.entries_read(found, group)
    cursor = found.cursor(group)
    passed = cursor.next - cursor.last
    in_order = found.added - read - passed - found.deleted_from(cursor.next)
    return {
        "last-delivered-id": id_reply(groups.last_delivered(found, group)),
        "entries-read": _count(read),
        "lag": _count(max(in_order if cursor.partition.lanes is None else cursor.unread, 0)),
    }


def _full_group(session: "RespSession", found: Stream, group: Group, count: int) -> bytes:
    cursor = found.cursor(group)
    offsets = sorted(cursor.unacknowledged)
    listed = offsets[: count or None]
    ids = found.ids_of(cursor, listed)
    pending = []
    for offset in listed:
        delivery = cursor.unacknowledged[offset]
        owner = delivery.member
        if offset in ids:
            pending.append(replies.array([
                id_reply(ids[offset]),
                replies.text(owner.name if owner else ""),
                replies.integer(delivery.since_ms if owner else 0),
                replies.integer(delivery.count),
            ]))  # fmt: skip
    nacked = sum(delivery.member is None for delivery in cursor.unacknowledged.values())
    consumers = [_full_consumer(session, found, group, each, count) for _, each in sorted(group.members.items())]
    return _map(session, {
        "name": replies.text(group.name),
        **_position(session, found, group),
        "pel-count": replies.integer(len(offsets)),
        "nacked-count": replies.integer(nacked),
        "pending": replies.array(pending),
        "consumers": replies.array(consumers),
    })  # fmt: skip


def _full_consumer(session: "RespSession", found: Stream, group: Group, member: Member, count: int) -> bytes:
    cursor = found.cursor(group)
    own = sorted(offset for offset, each in cursor.unacknowledged.items() if each.member is member)
    ids = found.ids_of(cursor, own[: count or None])
    rows = [
        replies.array([
            id_reply(id),
            replies.integer(cursor.unacknowledged[offset].since_ms),
            replies.integer(cursor.unacknowledged[offset].count),
        ])
        for offset, id in sorted(ids.items())
    ]  # fmt: skip
    return _map(session, {
        "name": replies.text(member.name),
        "seen-time": replies.integer(member.seen_ms),
        "pel-count": replies.integer(len(own)),
        "pending": replies.array(rows),
    })  # fmt: skip


def groups(session: "RespSession", request: list[bytes]) -> bytes:
    found = existing_stream(session, request[2])
    return replies.array([_group(session, found, group) for _, group in sorted(found.topic.groups.items())])


def _group(session: "RespSession", found: Stream, group: Group) -> bytes:
    return _map(session, {
        "name": replies.text(group.name),
        "consumers": replies.integer(len(group.members)),
        "pending": replies.integer(len(found.cursor(group).unacknowledged)),
        **_position(session, found, group),
    })  # fmt: skip


def consumers(session: "RespSession", request: list[bytes]) -> bytes:
    found = existing_stream(session, request[2])
    members = named_group(found, request[2], request[3]).members
    return replies.array([_consumer(session, member) for _, member in sorted(members.items())])


def _consumer(session: "RespSession", member: Member) -> bytes:
    now_ms = session.service.core.stage.now_ms
    return _map(session, {
        "name": replies.text(member.name),
        "pending": replies.integer(pending_of(member)),
        "idle": replies.integer(max(now_ms - member.seen_ms, 0)),
    })  # fmt: skip


def xcfgset(session: "RespSession", request: list[bytes]) -> bytes:
    """XCFGSET key [IDMP-DURATION seconds] [IDMP-MAXSIZE n]"""
    core = session.service.core
    core.check_writable()
    found = existing_stream(session, request[1])
    given: dict[bytes, int] = {}
    for name, value in _pairs(request[2:]):
        given[name] = _limit(name, value, given)
    if not given:
        raise CommandError("ERR At least one parameter must be specified")
    window = found.window
    duration_ms, names_max = (window.duration_ms, window.names_max) if window else (DURATION_MS, NAMES_MAX)
    if b"idmp-duration" in given:
        duration_ms = given[b"idmp-duration"] * 1000
    core.streams.set_window(found, duration_ms, given.get(b"idmp-maxsize", names_max))
    return replies.OK


def _pairs(words: list[bytes]) -> Iterable[tuple[bytes, bytes]]:
    for place in range(0, len(words), 2):
        if place + 1 == len(words):
            raise syntax_error()
        yield words[place].lower(), words[place + 1]


def _limit(name: bytes, value: bytes, given: dict[bytes, int]) -> int:
    limits = {b"idmp-duration": (_DURATION_S_MAX, "seconds"), b"idmp-maxsize": (_NAMES_MAX, "entries")}
    if name not in limits:
        raise syntax_error()
    most, unit = limits[name]
    word = name.decode().upper()
    if name in given:
        raise CommandError(f"ERR {word} specified multiple times")
    number = integer(value)
    if not 1 <= number <= most:
        raise CommandError(f"ERR {word} must be between 1 and {most} {unit}")
    return number
