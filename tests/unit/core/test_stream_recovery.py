"""What streams and their groups are after a restart, a power cut, retention and growth."""

from random import Random

import pytest

from onemq.core.group import Group
from onemq.core.stream import Stream
from onemq.core.stream_ids import NUMBER_BITS, id_of
from onemq.core.topics import TopicConfig
from onemq.errors import InvalidArgument
from tests.sim.disk import SimDisk
from tests.unit.core.broker import HOUR_MS, NOW_MS, Broker

KEY = b"stream-s"
"""One of the names whose state the broker of the tests compares with what the log gives, after every turn."""
ENDS = ("kill", "stop")


def id(ms: int, number: int = 0) -> int:
    return ms << NUMBER_BITS | number


def make(broker: Broker, *ids: int, flush: str = "sync") -> Stream:
    with broker.turn() as core:
        stream = core.streams.create(KEY, TopicConfig(flush=flush))  # type: ignore[arg-type]
        for each in ids:
            core.streams.add(stream, b"body", (), each)
    return stream


def found(broker: Broker, key: bytes = KEY) -> Stream:
    stream = broker.core.streams.get(key)
    assert stream is not None
    return stream


def group_of(broker: Broker, key: bytes = KEY) -> Group:
    return found(broker, key).topic.groups["g"]


def make_group(broker: Broker, last_id: int = 0, read: int | None = None) -> Group:
    group = broker.group(KEY.decode())
    with broker.turn() as core:
        core.stream_groups.place(found(broker), group, last_id, read)
    return group


def pending(broker: Broker, key: bytes = KEY) -> dict[int, tuple[str | None, int]]:
    """Id -> owner and count of everything in flight, in the order in which it went."""
    stream, cursor = found(broker, key), group_of(broker, key).cursors[0]
    ids = stream.ids_of(cursor, list(cursor.unacknowledged))
    deliveries = cursor.unacknowledged.items()
    return {ids[offset]: (each.member.name if each.member else None, each.count) for offset, each in deliveries}


def last_delivered(broker: Broker) -> int:
    return broker.core.stream_groups.last_delivered(found(broker), group_of(broker))


@pytest.mark.parametrize("how", ENDS)
def test_ids_and_deletions_survive(local: Broker, how: str) -> None:
    stream = make(local, id(1), id(2), id(3), id(4), id(5))
    with local.turn() as core:
        core.removing.delete(stream, [1, 3, 4])
    local.restart(how)
    stream = found(local)
    assert [id_of(record) for record in stream.records(0)] == [id(1), id(3)]
    assert (stream.last_id, stream.max_deleted_id, stream.added, len(stream)) == (id(5), id(5), 5, 2)


@pytest.mark.parametrize("how", ENDS)
def test_a_trimmed_message_in_flight_stays_listed(local: Broker, how: str) -> None:
    stream = make(local, id(1), id(2), id(3))
    local.receive(make_group(local), most=2)
    with local.turn() as core:
        core.removing.trim(stream, 3)
    expected = {id(1): ("m", 1), id(2): ("m", 1)}
    assert pending(local) == expected
    local.restart(how)
    assert pending(local) == expected
    groups = local.core.stream_groups
    assert groups.pending_offset(found(local), group_of(local), id(2)) == 1
    local.acknowledge(group_of(local), 0, 1)
    local.restart(how)
    assert pending(local) == {}
    assert group_of(local).cursors[0].ghosts == {}


@pytest.mark.parametrize("how", ENDS)
def test_what_was_given_up_stays_so_in_order(local: Broker, how: str) -> None:
    make(local, id(1), id(2), id(3))
    group = make_group(local)
    local.receive(group)
    for offset in (2, 0):
        with local.turn() as core:
            core.claims.give_up(group, 0, {offset: 5})
    local.restart(how)
    given_up = [each for each, (owner, _) in pending(local).items() if owner is None]
    assert given_up == [id(3), id(1)]
    assert pending(local) == {id(2): ("m", 1), id(3): (None, 5), id(1): (None, 5)}
    assert local.receive(group_of(local), "other") == [], "nobody gets it unasked"


@pytest.mark.parametrize("how", ENDS)
def test_a_group_that_was_moved_back_or_ahead_goes_on_there(local: Broker, how: str) -> None:
    stream = make(local, id(1), id(2), id(3))
    group = make_group(local)
    local.receive(group, most=2)
    with local.turn() as core:
        core.stream_groups.place(stream, group, id(1), None)
    local.restart(how)
    assert [id_of(record) for _, record, _ in local.receive(group_of(local), "other")] == [id(2), id(3)]
    with local.turn() as core:
        core.stream_groups.place(found(local), group_of(local), id(9), 7)
    local.restart(how)
    assert last_delivered(local) == id(9)
    with local.turn() as core:
        for each in (id(8), id(9), id(10)):
            core.streams.add(found(local), b"", (), each)
    assert [id_of(record) for _, record, _ in local.receive(group_of(local))] == [id(10)]
    assert local.core.stream_groups.entries_read(found(local), group_of(local)) == 8


@pytest.mark.parametrize("how", ENDS)
def test_a_group_that_passed_over_deleted_messages_did_not_read_them(local: Broker, how: str) -> None:
    stream = make(local, id(1), id(2), id(3))
    group = make_group(local)
    local.receive(group, most=1)
    with local.turn() as core:
        core.removing.delete(stream, [1, 2])
    assert local.receive(group) == []
    local.restart(how)
    cursor = group_of(local).cursors[0]
    assert (cursor.last, cursor.next, last_delivered(local)) == (1, 3, id(1))


@pytest.mark.parametrize("how", ENDS)
def test_a_last_id_that_was_set_back_stays_so(local: Broker, how: str) -> None:
    stream = make(local, id(1), id(5))
    with local.turn() as core:
        core.removing.delete(stream, [1])
        core.streams.set(stream, id(2), stream.max_deleted_id, 10)
    local.restart(how)
    assert (found(local).last_id, found(local).added) == (id(2), 12)


@pytest.mark.parametrize("how", ENDS)
def test_names_of_messages_survive(local: Broker, how: str) -> None:
    stream = make(local)
    with local.turn() as core:
        core.streams.set_window(stream, 50_000, 10)
        core.streams.add(stream, b"", (), id(NOW_MS))
        core.streams.remember(stream, b"p", b"name", id(NOW_MS))
    local.restart(how)
    with local.turn() as core:
        assert core.streams.repeated(found(local), b"p", b"name") == id(NOW_MS)
    window = found(local).window
    assert window is not None
    assert (window.duration_ms, window.names_max, window.added) == (50_000, 10, 1)


@pytest.mark.parametrize("how", ENDS)
def test_another_name_and_expiry_survive(local: Broker, how: str) -> None:
    make(local, id(1), id(2))
    local.receive(make_group(local), most=1)
    with local.turn() as core:
        core.keys.expire_at(KEY, NOW_MS + HOUR_MS)
        core.keys.strings.set(b"stream-t", b"in the way")
        core.keys.rename(KEY, b"stream-t")
    with local.turn() as core:
        core.streams.create(KEY, TopicConfig())
    local.restart(how)
    assert pending(local, b"stream-t") == {id(1): ("m", 1)}
    assert local.core.keys.expiry(b"stream-t") == NOW_MS + HOUR_MS
    assert local.core.keys.expiry(KEY) is None
    assert len(found(local)) == 0
    local.pass_ms(HOUR_MS)
    local.restart(how)
    assert local.core.streams.get(b"stream-t") is None
    assert local.core.keys.type_of(b"stream-t") is None


@pytest.mark.parametrize("name", [b"\xff", b"__own", b"", b"a\nb", b"x" * 300])
def test_a_stream_that_cannot_have_a_name_leaves_what_has_it_alone(broker: Broker, name: bytes) -> None:
    make(broker, id(1))
    with broker.turn() as core:
        core.keys.strings.set(name, b"in the way")
        with pytest.raises(InvalidArgument):
            core.keys.rename(KEY, name)
    assert broker.core.keys.strings.get(name) == b"in the way"
    assert len(found(broker)) == 1


# Claims of what is not in flight


def test_a_claim_of_what_was_acknowledged_moves_the_low_mark_back(broker: Broker) -> None:
    make(broker, id(1), id(2), id(3), id(4))
    group = make_group(broker)
    cursor = group.cursors[0]
    broker.receive(group)
    broker.acknowledge(group, 0, 1, 2)
    assert cursor.low == 3
    broker.acknowledge(group, 3)
    with broker.turn() as core:
        core.claims.take(group, 0, "other", NOW_MS, {1: 2})
    assert cursor.low == 1
    broker.acknowledge(group, 1)
    assert cursor.low == 4


def test_a_claim_ahead_of_the_group_is_no_delivery_of_the_rest(broker: Broker) -> None:
    make(broker, id(1), id(2), id(3))
    group = make_group(broker)
    with broker.turn() as core:
        core.claims.take(group, 0, "other", NOW_MS, {1: 2})
    assert group.cursors[0].low == 0
    assert len(broker.receive(group)) == 3
    assert pending(broker) == {id(2): ("m", 1), id(1): ("m", 1), id(3): ("m", 1)}
    assert not group.members["other"].held


# Retention, growth


@pytest.mark.parametrize("how", ENDS)
def test_retention_leaves_the_last_ids(local: Broker, how: str) -> None:
    make(local, id(1), id(2))
    local.receive(make_group(local), most=1)
    with local.turn() as core:
        core.topics.alter(KEY.decode(), retention_ms=1_000)
    local.pass_ms(HOUR_MS)
    assert len(found(local)) == 0
    local.restart(how)
    assert (found(local).last_id, last_delivered(local)) == (id(2), id(1))
    assert pending(local) == {}


@pytest.mark.parametrize("how", ENDS)
def test_a_stream_that_got_more_partitions_keeps_what_it_knew(local: Broker, how: str) -> None:
    stream = make(local, id(1), id(2), id(3), id(4))
    group = make_group(local)
    local.receive(group)
    with local.turn() as core:
        core.removing.delete(stream, [2])
        core.removing.trim(stream, 1)
        core.topics.alter(KEY.decode(), partitions=2)
    local.restart(how)
    topic = local.core.topics.get(KEY.decode())
    partition, cursor = topic.partitions[0], topic.groups["g"].cursors[0]
    assert partition.deleted is not None
    assert [partition.deleted.is_done(offset) for offset in range(1, 4)] == [False, True, False]
    assert (list(cursor.unacknowledged), cursor.ghosts) == ([0, 1, 2, 3], {0: id(1)})


def test_marks_of_groups_that_are_gone_are_not_kept(local: Broker) -> None:
    make(local, id(1))
    group = make_group(local)
    with local.turn() as core:
        core.groups.delete(group)
    local.restart("stop")
    assert local.core.stream_groups._marks == {}


# A power cut


def test_what_a_power_cut_took_leaves_no_marks() -> None:
    """Over many disks, since each loses something else: some lose messages but not what was done to them."""
    lost = 0
    for seed in range(60):
        broker = Broker(SimDisk(Random(seed)))
        stream = make(broker, id(1), id(2), flush="async")
        group = make_group(broker)
        broker.topic("other")
        for each in range(3, 9):
            with broker.turn() as core:
                core.streams.add(stream, b"x" * 300, (), id(each))
        broker.receive(group, most=8)
        with broker.turn() as core:
            core.removing.delete(stream, [3, 6])
            core.stream_groups.place(stream, group, id(8), None)
            core.claims.give_up(group, 0, {5: 1})
            core.send("other", b"whose sync makes the journal safe")
        broker.restart("power cut")
        stream, cursor = found(broker), group_of(broker).cursors[0]
        end = stream.partition.end
        if end == 8:
            continue
        lost += 1
        assert cursor.next <= end
        assert cursor.last <= end
        assert all(offset < end for offset in cursor.unacknowledged)
        assert stream.partition.deleted is None or stream.partition.deleted.high <= end
        with broker.turn() as core:
            for _ in range(8):
                core.streams.add(stream, b"", (), stream.next_id(core.stage.now_ms))
        assert len(broker.receive(group_of(broker))) == 8, "what comes is not taken for what was deleted"
        assert last_delivered(broker) == stream.last_id
        broker.check()
    assert lost > 5, "the disks lost too little for this to mean anything"


def test_a_message_survives_together_with_its_name() -> None:
    """Else its producer would be told later that it was added."""
    for seed in range(60):
        broker = Broker(SimDisk(Random(seed)))
        stream = make(broker, flush="async")
        broker.topic("other")
        with broker.turn() as core:
            core.streams.add(stream, b"x" * 300, (), id(NOW_MS))
            core.streams.remember(stream, b"p", b"name", id(NOW_MS))
        broker.send(b"whose sync makes the journal safe", topic="other")
        broker.restart("power cut")
        with broker.turn() as core:
            assert core.streams.repeated(found(broker), b"p", b"name") == id(NOW_MS)
        assert [id_of(record) for record in found(broker).records(0)] == [id(NOW_MS)]
