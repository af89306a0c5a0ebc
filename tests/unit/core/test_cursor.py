"""A cursor: how far a group is on a partition, whatever is acknowledged in which order."""

import pytest

from onemq.core.group import Group
from tests.unit.core.broker import SECOND_MS, Broker, in_flight


@pytest.fixture
def group(broker: Broker) -> Group:
    """A group on a topic with six messages, 0 to 5."""
    broker.topic()
    broker.send(*[b"%d" % number for number in range(6)])
    return broker.group()


def test_what_is_handed_out_is_in_flight_until_it_is_acknowledged(broker: Broker, group: Group) -> None:
    """C9"""
    assert broker.bodies(group, most=2) == [b"0", b"1"]
    assert in_flight(group) == {0: ("m", 1), 1: ("m", 1)}
    assert broker.acknowledge(group, 0) == 1
    assert in_flight(group) == {1: ("m", 1)}
    assert broker.bodies(group) == [b"2", b"3", b"4", b"5"]
    assert broker.bodies(group) == []


def test_the_low_mark_follows_the_lowest_message_that_is_not_acknowledged(broker: Broker, group: Group) -> None:
    cursor = group.cursors[0]
    broker.receive(group, most=5)
    assert cursor.low == 0
    for acknowledged, low in (([1], 0), ([0], 2), ([4, 3], 2), ([2], 5)):
        broker.acknowledge(group, *acknowledged)
        assert cursor.low == low
    broker.receive(group)
    assert cursor.low == 5
    broker.acknowledge(group, 5)
    assert cursor.low == cursor.next == 6


def test_messages_can_be_acknowledged_in_any_order(broker: Broker, group: Group) -> None:
    """C9"""
    broker.receive(group)
    for offset in (5, 0, 3, 1, 4, 2):
        assert broker.acknowledge(group, offset) == 1
    assert (group.lag, group.cursors[0].low) == (0, 6)


def test_only_what_was_not_acknowledged_before_counts(broker: Broker, group: Group) -> None:
    broker.receive(group, most=3)
    assert broker.acknowledge(group) == 0
    assert broker.acknowledge(group, 1, 1, 4, 99, -1) == 1
    assert broker.acknowledge(group, 1, 2) == 1
    assert broker.acknowledge(group, 1) == 0


def test_lag_is_what_is_not_acknowledged(broker: Broker, group: Group) -> None:
    """C15"""
    assert group.lag == 6
    broker.receive(group, most=4)
    assert group.lag == 6
    broker.acknowledge(group, 1, 2)
    assert group.lag == 4
    broker.send(b"6")
    assert group.lag == 5
    broker.fail(group, 0, delay_ms=SECOND_MS)
    assert group.lag == 5


def test_lag_is_counted_over_all_partitions(broker: Broker) -> None:
    """C15"""
    broker.topic("t", 3)
    broker.send(*[b"x"] * 7)
    group = broker.group()
    assert group.lag == 7
    assert [cursor.lag for cursor in group.cursors] == [3, 2, 2]
