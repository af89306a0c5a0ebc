"""The groups of streams: the ids that they have come to, and what they do not get."""

from onemq.core.group import Group
from onemq.core.stream import Stream
from onemq.core.stream_ids import id_of
from tests.unit.core.broker import Broker
from tests.unit.core.test_stream import add, id, make, trim


def group_of(broker: Broker, stream: Stream, last_id: int = 0, read: int | None = None) -> Group:
    group = broker.group(stream.topic.name)
    with broker.turn() as core:
        core.stream_groups.place(stream, group, last_id, read)
    return group


def test_a_group_has_come_to_the_id_of_what_it_got_last(broker: Broker) -> None:
    stream = make(broker, id(1), id(5), id(9))
    group = group_of(broker, stream)
    assert broker.core.stream_groups.last_delivered(stream, group) == 0
    broker.receive(group, most=2)
    assert broker.core.stream_groups.last_delivered(stream, group) == id(5)
    assert broker.core.stream_groups.entries_read(stream, group) == 2


def test_a_group_that_is_placed_keeps_the_id_that_nothing_has(broker: Broker) -> None:
    stream = make(broker, id(1), id(5))
    group = group_of(broker, stream, last_id=id(3), read=7)
    assert broker.core.stream_groups.last_delivered(stream, group) == id(3)
    assert broker.core.stream_groups.entries_read(stream, group) == 7
    assert [id_of(record) for _, record, _ in broker.receive(group)] == [id(5)]
    assert broker.core.stream_groups.last_delivered(stream, group) == id(5)
    assert broker.core.stream_groups.entries_read(stream, group) == 8


def test_a_group_that_is_ahead_does_not_get_what_comes_before_its_id(broker: Broker) -> None:
    stream = make(broker, id(1))
    group = group_of(broker, stream, last_id=id(5))
    add(broker, stream, id(4), id(5))
    assert broker.receive(group) == []
    add(broker, stream, id(6))
    assert [id_of(record) for _, record, _ in broker.receive(group)] == [id(6)]


def test_what_is_in_flight_is_found_by_its_id_also_when_it_is_gone(broker: Broker) -> None:
    stream = make(broker, id(1), id(2), id(3))
    group = group_of(broker, stream)
    broker.receive(group, most=2)
    trim(broker, stream, 1)
    found = [broker.core.stream_groups.pending_offset(stream, group, id(number)) for number in (1, 2, 3, 4)]
    assert found == [0, 1, None, None]
