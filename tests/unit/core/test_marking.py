"""Readers that keep their own place: what they told, where they never were, and what others see of it."""

import pytest

from onemq.core import marking
from onemq.core.group import Group, GroupConfig
from onemq.core.marking import Place
from onemq.core.topics import Topic
from onemq.errors import InvalidArgument
from onemq.log.local import LocalLog
from tests.unit.core.broker import Broker


@pytest.fixture
def topic(broker: Broker) -> Topic:
    """Two partitions; the first has six messages, 0 to 5."""
    found = broker.topic()
    broker.send(*[b"%d" % number for number in range(6)])
    with broker.turn() as core:
        core.topics.alter("t", partitions=2)
    return found


def commit(broker: Broker, topic: Topic, **places: Place) -> bool:
    """`p0=Place(3)`; returns whether the group is new."""
    with broker.turn() as core:
        numbered = {int(name[1:]): place for name, place in places.items()}
        return marking.commit(core.groups, topic, "g", numbered, GroupConfig())


def marks(group: Group) -> list[tuple[bool, int, str]]:
    """(begun, low, remark) per partition."""
    return [(cursor.begun, cursor.low, cursor.remark_here) for cursor in group.cursors]


def test_the_first_mark_makes_a_group_that_has_not_begun_elsewhere(broker: Broker, topic: Topic) -> None:
    assert commit(broker, topic, p0=Place(4, "four"))
    assert marks(topic.groups["g"]) == [(True, 4, "four"), (False, 0, "")]
    assert topic.groups["g"].lag == 2
    assert not commit(broker, topic, p1=Place(0))
    assert marks(topic.groups["g"]) == [(True, 4, "four"), (True, 0, "")]


def test_offsets_that_do_not_exist_count_as_the_nearest_that_do(broker: Broker, topic: Topic) -> None:
    with broker.turn() as core:
        core.topics.trim(topic, topic.partitions[0], 2)
    commit(broker, topic, p0=Place(0), p1=Place(99))
    assert marks(topic.groups["g"]) == [(True, 2, ""), (True, 0, "")]
    commit(broker, topic, p0=Place(99))
    assert topic.groups["g"].cursors[0].next == 6


def test_telling_the_same_place_again_writes_nothing(broker: Broker, topic: Topic) -> None:
    commit(broker, topic, p0=Place(4, "x"))
    with broker.turn() as core:
        marking.commit(core.groups, topic, "g", {0: Place(4, "x")}, GroupConfig())
        assert core.stage.entries == []
        marking.commit(core.groups, topic, "g", {0: Place(4, "y")}, GroupConfig())
        assert len(core.stage.entries) == 1


def test_marks_survive_a_restart_from_journal_and_snapshot(broker: Broker, topic: Topic) -> None:
    if not isinstance(broker.log, LocalLog):
        pytest.skip("a log in memory does not outlive its process")
    commit(broker, topic, p0=Place(4, "four"))
    for how in ("kill", "stop"):
        broker.restart(how)
        group = broker.core.groups.get("t", "g")
        assert marks(group) == [(True, 4, "four"), (False, 0, "")]


def test_a_group_has_begun_when_it_was_handed_something(broker: Broker, topic: Topic) -> None:
    commit(broker, topic, p1=Place(0))
    group = topic.groups["g"]
    assert not group.cursors[0].begun
    assert broker.bodies(group, most=2) == [b"0", b"1"]
    assert marks(group)[0] == (True, 0, "")


def test_a_remark_is_of_its_place_only(broker: Broker, topic: Topic) -> None:
    commit(broker, topic, p0=Place(2, "two"))
    group = topic.groups["g"]
    broker.bodies(group, most=1)
    assert group.cursors[0].remark_here == "two"
    broker.acknowledge(group, 2)
    assert (group.cursors[0].low, group.cursors[0].remark_here) == (3, "")
    with broker.turn() as core:
        core.groups.seek(group, 0, 2)
    assert group.cursors[0].remark_here == ""


def test_a_mark_settles_what_was_in_flight(broker: Broker, topic: Topic) -> None:
    group = broker.group()
    broker.bodies(group, most=4)
    commit(broker, topic, p0=Place(3))
    assert (group.cursors[0].low, group.lag, len(group.cursors[0].unacknowledged)) == (3, 3, 0)


def test_a_group_made_by_hand_has_begun_everywhere_and_not_in_partitions_that_come_later(
    broker: Broker, topic: Topic
) -> None:
    group = broker.group()
    with broker.turn() as core:
        core.topics.alter("t", partitions=3)
    assert [cursor.begun for cursor in group.cursors] == [True, True, False]


def test_a_forgotten_mark_takes_the_group_with_it_when_it_was_the_last(broker: Broker, topic: Topic) -> None:
    commit(broker, topic, p0=Place(4), p1=Place(0))
    group = topic.groups["g"]
    with broker.turn() as core:
        assert not marking.forget(core.groups, group, [0])
    assert marks(group) == [(False, 0, ""), (True, 0, "")]
    assert group.lag == 6
    with broker.turn() as core:
        assert marking.forget(core.groups, group, [0, 1])
    assert topic.groups == {}


def test_marks_of_a_partition_with_priorities_cost_nothing_twice(broker: Broker) -> None:
    topic = broker.topic()
    broker.send(b"0", b"1", b"2", b"3", b"4", b"5")
    broker.send(b"urgent", priority=9)
    commit(broker, topic, p0=Place(5))
    with broker.turn() as core:
        marking.commit(core.groups, topic, "g", {0: Place(5)}, GroupConfig())
        assert core.stage.entries == []
    group = topic.groups["g"]
    assert group.lag == 2
    broker.bodies(group, most=1)
    commit(broker, topic, p0=Place(5))
    assert (group.cursors[0].low, group.lag) == (5, 2)


def test_marks_beyond_the_end_are_refused_where_the_reader_must_know(broker: Broker, topic: Topic) -> None:
    with broker.turn() as core, pytest.raises(InvalidArgument, match="ends at offset 6, before 7"):
        marking.mark(core.groups, topic, "g", {0: 7}, GroupConfig())
