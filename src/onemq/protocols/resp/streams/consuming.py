"""What XREADGROUP hands out: new entries, a consumer's own pending ones, claimed ones; and XACK."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from onemq.core.core import Core
from onemq.core.cursor import Cursor
from onemq.core.delivery import COUNT_MAX, READY, Delivery, Member
from onemq.core.group import Group
from onemq.core.receive import Handed
from onemq.core.stream import Stream
from onemq.core.stream_ids import ID_MAX, id_of, id_text
from onemq.errors import InvalidArgument, WrongType
from onemq.message import Record
from onemq.protocols.resp import replies
from onemq.protocols.resp.streams.arguments import group_of
from onemq.protocols.resp.streams.entries import Entries
from onemq.protocols.resp.streams.fields import fields_reply, id_reply
from onemq.protocols.resp.streams.ids import DIGITS_MAX, numbers_of_one_time, parse_id
from onemq.protocols.resp.streams.leases import Lease

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

ALL = 1 << 30
_NAMES_MAX = 100_000
"""More entries than this with ids of their own are looked up when they are acknowledged."""
_LATEST = b"\xff"
"""After every time as text."""
_ZERO, _ONE = replies.integer(0), replies.integer(1)


def known_consumer(session: "RespSession", group: Group, name: str) -> Member:
    """The consumer, made if it is new. One whose group gives deliveries back with the connection is bound to it."""
    core = session.service.core
    leased = group.config.lease_connection
    lease = Lease(session.service.leases, group.topic.id, group.name, name) if leased else None
    if lease is not None:
        session.service.leases.begin(lease)
    member = group.members.get(name)
    if member is None or leased != member.leased:
        member = core.groups.join(group, name, leased)
    if lease is not None:
        session.on_lost[lease] = None
    member.seen_ms = core.stage.now_ms
    return member


def entries_of(cursor: Cursor, records: list[Record]) -> Entries:
    """Entries that were handed out just now. What is needed to know them by their ids when they are acknowledged
    is kept."""
    entries = Entries(records)
    place = 0
    while place < len(records):  # they may have been handed out in several deliveries, each of messages in a row
        delivery = cursor.unacknowledged.get(records[place][0])
        if delivery is not None and cursor.partition.lanes is None:  # else they are not in the order of their offsets
            delivery.times = entries.times
        place += 1 if delivery is None else len(delivery.offsets)
    if entries.named:
        if len(cursor.names) > _NAMES_MAX:
            cursor.names.clear()
        cursor.names.update(entries.named)
    return entries


def new_entries(
    session: "RespSession", stream: Stream, group: Group, consumer: str, count: int | None, acknowledge: bool,
    bytes_max: int,
) -> Entries:  # fmt: skip
    """Entries that the group has not handed out yet, or that came back; now in flight with the consumer."""
    cursor = stream.cursor(group)
    if not cursor.available:
        return Entries()
    if group.config.lease_connection:
        known_consumer(session, group, consumer)
    core = session.service.core
    records = core.receiving.take_fresh(group, consumer, count or ALL, acknowledge)
    if records is None:
        records = _received(core, group, consumer, count, acknowledge, bytes_max)
    if records:
        known_consumer(session, group, consumer)
    return entries_of(cursor, records)


def _received(
    core: Core, group: Group, consumer: str, count: int | None, acknowledge: bool, bytes_max: int
) -> list[Record]:
    """What a group hands out at once. Nobody would see what it finds later, in a long run that its filter does not
    want: so the request does not stay."""
    got: list[Handed] = []
    receive = core.receiving.receive
    receive(group, consumer, count or ALL, got.extend, in_flight=acknowledge, bytes_max=bytes_max).cancel()
    return [record for _, record, _ in got]


def wait_for_new(
    session: "RespSession", group: Group, consumer: str, count: int | None, until_ms: int,
    then: Callable[[list[Handed]], None], acknowledge: bool,
) -> Callable[[], None]:  # fmt: skip
    """Asks for entries when there are some, or for nothing when the time is up or the stream has another name. Returns
    what takes that back."""
    if group.config.lease_connection:
        known_consumer(session, group, consumer)
    request = session.service.core.receiving.receive(
        group, consumer, count or ALL, then, until_ms, in_flight=acknowledge
    )
    request.topic_name = group.topic.name
    return request.cancel


# Pending entries


def in_order(stream: Stream, cursor: Cursor, start: int, end: int = ID_MAX) -> list[int]:
    """The pending offsets of a group whose ids lie in an interval."""
    pending = sorted(cursor.unacknowledged)  # mostly they are in order already, which takes a few ms for a million
    first = _place_of(stream, cursor, pending, start) if start > 1 else 0
    after = _place_of(stream, cursor, pending, end + 1) if end < ID_MAX else len(pending)
    return pending[first:after]


def _place_of(stream: Stream, cursor: Cursor, pending: list[int], id: int) -> int:
    """Where those begin, of pending offsets, that have this id or a higher one."""
    offset = stream.find(id)
    place = bisect_left(pending, offset) if stream.is_live(offset) else len(pending)
    if not place or stream.is_live(pending[place - 1]):
        return place
    # Entries were deleted before the first that is there: as for all others, their ids grow with their offsets.
    return bisect_left(pending, id, 0, place, key=lambda offset: stream.ids_of(cursor, [offset]).get(offset, 0))


def history(
    session: "RespSession", stream: Stream, group: Group, consumer: str, after: int, count: int | None, bytes_max: int
) -> Entries:
    """Entries that the consumer has and did not acknowledge, once more."""
    member = known_consumer(session, group, consumer)
    cursor = stream.cursor(group)
    entries = Entries()
    if after >= ID_MAX:
        return entries
    core = session.service.core
    own: list[int] = []
    for offset in in_order(stream, cursor, after + 1):
        if len(own) == count:
            break
        if cursor.unacknowledged[offset].member is member and not core.claims.bury_if_worn_out(cursor, offset):
            own.append(offset)
    own, records = stream.first_at(own, bytes_max)
    if records:
        again = {offset: min(cursor.unacknowledged[offset].count + 1, COUNT_MAX) for offset in records}
        core.claims.take(group, 0, consumer, core.stage.now_ms, again)
    ids = stream.ids_of(cursor, [offset for offset in own if offset not in records])
    for offset in own:
        if offset in records:
            entries.add([records[offset]])
        elif offset in ids:
            entries.add_encoded(replies.array([id_reply(ids[offset]), session.replies.null_array]))
    return entries


def is_idle(delivery: Delivery, now_ms: int, idle_ms: int) -> bool:
    """Whether a pending entry may be claimed; one that was given up always may. One that waits for its next attempt
    is idle since it was given back."""
    return _is_free(delivery, now_ms) or now_ms - delivery.since_ms >= idle_ms


def _is_free(delivery: Delivery, now_ms: int) -> bool:
    """Whether nobody has the entry, and it waits for no time."""
    return delivery.member is None and delivery.due_ms <= now_ms


def claim_entries(
    session: "RespSession", stream: Stream, group: Group, consumer: str, count: int | None, idle_ms: int,
    acknowledge: bool, bytes_max: int,
) -> Entries:  # fmt: skip
    """Pending entries that are idle for long enough, then new ones; each with its idle time and delivery count."""
    core, cursor = session.service.core, stream.cursor(group)
    now_ms = core.stage.now_ms
    deliveries = cursor.unacknowledged
    idle = [offset for offset, each in deliveries.items() if is_idle(each, now_ms, idle_ms)]
    idle = [offset for offset in idle if stream.is_live(offset)]
    entries = Entries()
    if not idle and not cursor.has_fresh:
        return entries
    known_consumer(session, group, consumer)
    idle.sort(key=lambda offset: _claim_order(deliveries[offset], offset, now_ms))
    idle, records = stream.first_at(idle[:count], bytes_max)
    before = {offset: (max(now_ms - deliveries[offset].since_ms, 0), deliveries[offset].count) for offset in idle}
    claimed = set(core.claims.claim(group, 0, [offset for offset in idle if offset in records], consumer))
    for offset in idle:
        if offset in claimed:
            entries.add_encoded(_with_numbers(records[offset], *before[offset]))
    left = None if count is None else count - entries.count
    bytes_max -= entries.size()
    if left != 0 and bytes_max > 0 and cursor.has_fresh:
        for record in _received(core, group, consumer, left, acknowledge, bytes_max):
            entries.add_encoded(_with_numbers(record, 0, 0))
    return entries


def _claim_order(delivery: Delivery, offset: int, now_ms: int) -> tuple[int, int]:
    """First what was given up, in the order in which that happened, then the longest idle."""
    return (0, 0) if _is_free(delivery, now_ms) else (delivery.since_ms + 1, offset)


def _with_numbers(record: Record, idle_ms: int, count: int) -> bytes:
    return replies.array([
        id_reply(id_of(record)), fields_reply(record), replies.integer(idle_ms), replies.integer(count)
    ])  # fmt: skip


def claimable_at(stream: Stream, group: Group, idle_ms: int) -> int | None:
    """When the next pending entry will have been idle for long enough, or need not wait any more."""
    deliveries = stream.cursor(group).unacknowledged
    live = [each for offset, each in deliveries.items() if stream.is_live(offset)]
    if not live:
        return None
    idle_at_ms = min([each.since_ms for each in live]) + idle_ms
    return min([idle_at_ms, *(each.due_ms for each in live if each.due_ms > READY)])


# XACK


def xack(session: "RespSession", request: list[bytes]) -> bytes:
    core = session.service.core
    if core.stage.refusal is not None:
        core.check_writable()
    stream = core.streams.get(request[1])
    group = group_of(stream, request[2])
    if stream is None or group is None:
        return _ZERO
    cursor = group.cursors[0]
    if len(request) == 4:
        offset = plain_offset(cursor, request[3])
        if offset is None:
            offset = _other_offset(session, stream, group, request[3])
        if offset is None or not core.groups.acknowledge_one(group, 0, offset):
            return _ZERO
        return _ONE
    words = request[3:]
    known = _plain_offsets(cursor, words)
    if known is not None:
        core.groups.acknowledge_known(group, 0, known)
        return replies.integer(len(known))
    found = [_other_offset(session, stream, group, word) for word in words]
    return replies.integer(core.groups.acknowledge(group, 0, [offset for offset in found if offset is not None]))


def acknowledge_many(
    session: "RespSession", words: list[bytes], ids: list[bytes], counts: list[int]
) -> list[bytes] | None:
    """Many `XACK key group id` for one group, executed at once; see runs.py."""
    core = session.service.core
    if len(words) != 3 or core.stage.refusal is not None:
        return None
    try:
        group = group_of(core.streams.get(words[1]), words[2])
    except (InvalidArgument, WrongType):
        return None
    if group is None:
        return None
    known = _plain_offsets(group.cursors[0], ids)
    if known is None:
        return None
    core.groups.acknowledge_known(group, 0, known)
    return [_ONE] * len(counts) if len(ids) == len(counts) else [_ONE * count for count in counts]


def _plain_offsets(cursor: Cursor, words: Sequence[bytes]) -> Sequence[int] | None:
    """The offsets of pending entries whose ids are made of time and offset, ascending; None if that is not known of
    all of them, or one comes twice."""
    same = numbers_of_one_time(words)
    known = _offsets_of_one_time(cursor, *same) if same is not None else None
    if known is not None:
        return known
    parts = b"-".join(words).split(b"-")
    numbers = parts[1::2]
    if len(parts) != 2 * len(words) or not b"".join(numbers).isdigit() or max(map(len, numbers)) > DIGITS_MAX:
        return None
    offsets = list(map(int, numbers)) if all(numbers) else []
    times = _times_of(cursor, offsets)
    if times is not None and len(set(offsets)) == len(words):
        is_known = parts[::2] == [times[bisect_right(times, (each, _LATEST)) - 1][1] for each in offsets]
        return sorted(offsets) if is_known else None
    found = {offset for word in words if (offset := plain_offset(cursor, word)) is not None}
    return sorted(found) if len(found) == len(words) else None


def _offsets_of_one_time(cursor: Cursor, ms: bytes, numbers: Sequence[int]) -> Sequence[int] | None:
    """The same where the ids have one time, and were handed out together."""
    times = _times_of(cursor, numbers)
    offsets = numbers if isinstance(numbers, range) else sorted(numbers)
    if times is None or (offsets is not numbers and len(set(offsets)) != len(offsets)):
        return None
    at = bisect_right(times, (offsets[0], _LATEST)) - 1
    is_one_time = at == bisect_right(times, (offsets[-1], _LATEST)) - 1
    return offsets if is_one_time and times[at][1] == ms else None


def _times_of(cursor: Cursor, offsets: Sequence[int]) -> list[tuple[int, bytes]] | None:
    """The times of pending entries, if they were handed out together."""
    deliveries = set(map(cursor.unacknowledged.get, offsets))
    delivery = deliveries.pop() if deliveries else None
    return delivery.times if delivery is not None and not deliveries else None


def plain_offset(cursor: Cursor, word: bytes) -> int | None:
    """The offset of a pending entry whose id is made of time and offset, if that is known."""
    ms, _, number = word.partition(b"-")
    if not number.isdigit() or len(number) > DIGITS_MAX:
        return None
    offset = int(number)
    delivery = cursor.unacknowledged.get(offset)
    if delivery is None or delivery.times is None:
        return None
    times = delivery.times
    _, time = times[-1] if len(times) == 1 else times[bisect_right(times, (offset, _LATEST)) - 1]
    return offset if time == ms else None


def _other_offset(session: "RespSession", stream: Stream, group: Group, word: bytes) -> int | None:
    """The offset of any pending entry."""
    id = parse_id(word)
    offset = group.cursors[0].names.pop(id_text(id), None)
    return session.service.core.stream_groups.pending_offset(stream, group, id) if offset is None else offset
