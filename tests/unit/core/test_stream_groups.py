"""The groups of streams: the ids that they have come to, and what they do not get."""

from collections.abc import Iterator
from random import Random

import pytest

from onemq.core.delivery import Delivery
from onemq.core.group import Group
from onemq.core.stream import Stream
from onemq.core.stream_ids import id_of
from tests.unit.core.broker import NOW_MS, Broker
from tests.unit.core.test_stream import add, delete, id, make, trim


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


@pytest.mark.parametrize("seed", range(20))
def test_what_is_in_flight_is_found_by_any_id_after_any_removal(broker: Broker, seed: int) -> None:
    random = Random(seed)
    stream = make(broker)
    group = group_of(broker, stream)
    ids: list[int] = []
    for number in range(30):
        ids.append(random.choice([id(NOW_MS, number), id(number + 1), id(number + 1, 7)]))
        with broker.turn() as core:
            if ids[-1] <= stream.last_id:
                ids[-1] = stream.last_id + random.choice([1, 1 << 64])
            core.streams.add(stream, b"body", (), ids[-1])
    broker.receive(group, most=25)
    for _ in range(10):
        broker.acknowledge(group, random.randrange(25))
        delete(broker, stream, random.randrange(30))
    trim(broker, stream, random.randrange(15))
    pending = group.cursors[0].unacknowledged
    for offset, each in enumerate(ids):
        expected = offset if offset in pending else None
        assert broker.core.stream_groups.pending_offset(stream, group, each) == expected
        assert broker.core.stream_groups.pending_offset(stream, group, each + 1_000) is None


class Unlisted(dict[int, Delivery]):
    """Much that is in flight."""

    def __iter__(self) -> Iterator[int]:
        raise AssertionError("all of it was looked at")


def test_for_an_id_that_is_not_in_flight_nobody_looks_at_all_that_is(broker: Broker) -> None:
    stream = make(broker, id(1), id(2), id(NOW_MS, 2), id(NOW_MS, 3))
    group = group_of(broker, stream)
    broker.receive(group)
    trim(broker, stream, 1)
    cursor = group.cursors[0]
    pending, cursor.unacknowledged = cursor.unacknowledged, Unlisted(cursor.unacknowledged)
    found = [broker.core.stream_groups.pending_offset(stream, group, each) for each in (id(1), id(2), id(9))]
    assert found == [0, 1, None]
    cursor.unacknowledged = pending
    broker.acknowledge(group, 2)
    delete(broker, stream, 2)
    cursor.unacknowledged = Unlisted(cursor.unacknowledged)
    assert broker.core.stream_groups.pending_offset(stream, group, id(NOW_MS, 2)) is None, "acknowledged once more"


def test_to_trim_little_nobody_looks_at_all_that_is_in_flight(broker: Broker) -> None:
    stream = make(broker, *map(id, range(1, 9)))
    cursor = group_of(broker, stream).cursors[0]
    broker.receive(cursor.group)
    cursor.unacknowledged = Unlisted(cursor.unacknowledged)
    with broker.turn() as core:
        core.removing.trim(stream, 2)
        core.removing.trim(stream, 3)
        core.topics.trim(stream.topic, stream.partition, 5)
        assert cursor.ghosts == {0: id(1), 1: id(2), 2: id(3)}
        assert len(cursor.unacknowledged) == 6, "what retention takes is in flight no more"
        cursor.unacknowledged = dict(cursor.unacknowledged.items())
