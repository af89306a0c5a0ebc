"""Which member serves which partition."""

from collections import Counter

import pytest

from onemq.core.assignment import Attributes, assign
from onemq.core.group import Group, GroupConfig
from onemq.errors import InvalidArgument
from tests.unit.core.broker import Answers, Broker

NONE = Attributes()


def members(*names: str) -> dict[str, Attributes]:
    return dict.fromkeys(names, NONE)


@pytest.mark.parametrize("way", ["average", "circle", "config", "room", "hash"])
def test_without_members_nobody_serves(way: str) -> None:
    assert list(assign(way, 3, {})) == [None] * 3


@pytest.mark.parametrize("way", ["average", "circle", "config", "room", "hash"])
def test_the_same_members_are_assigned_the_same_whoever_came_first(way: str) -> None:
    assert assign(way, 7, members("a", "b", "c")) == assign(way, 7, members("c", "b", "a"))


def test_average_gives_runs_of_neighbours() -> None:
    assert assign("average", 7, members("a", "b", "c")) == list("aaabbcc")
    assert assign("average", 2, members("a", "b", "c")) == list("ab")


def test_circle_gives_them_in_turn() -> None:
    assert assign("circle", 7, members("a", "b", "c")) == list("abcabca")


def test_config_gives_what_members_name() -> None:
    named = {"b": Attributes(partitions=(0, 3)), "a": Attributes(partitions=(1, 0, 9)), "c": NONE}
    assert assign("config", 4, named) == ["a", "a", None, "b"]


def test_a_room_shares_its_part_among_its_members() -> None:
    rooms = {name: Attributes(room=name[0]) for name in ("x1", "x2", "y1")}
    assert assign("room", 6, rooms) == ["x1", "y1", "x1", "y1", "x2", "y1"]
    assert assign("room", 4, {"x1": rooms["x1"]}) == ["x1"] * 4


def test_a_ring_of_hashes_moves_few_when_a_member_goes() -> None:
    before = assign("hash", 1_000, members("a", "b", "c", "d"))
    after = assign("hash", 1_000, members("a", "b", "c"))
    assert all(new == old for old, new in zip(before, after, strict=True) if old != "d")
    counts = Counter(before)
    assert set(counts) == set("abcd")
    assert max(counts.values()) < 500


def joined(broker: Broker, *names: str, partitions: int = 4, **settings: object) -> Group:
    broker.topic(partitions=partitions)
    group = broker.group(**settings)
    with broker.turn() as core:
        for name in names:
            core.groups.join(group, name, leased=True)
    return group


def numbers(broker: Broker, group: Group, member: str) -> set[int]:
    return {number for number, _, _ in broker.receive(group, member)}


def test_a_member_gets_messages_of_its_partitions_only(broker: Broker) -> None:
    group = joined(broker, "a", "b", assign="average")
    for number in range(4):
        broker.send(b"x", number=number)
    assert numbers(broker, group, "b") == {2, 3}
    assert numbers(broker, group, "a") == {0, 1}


def test_whoever_asks_is_a_member(broker: Broker) -> None:
    group = joined(broker, assign="circle")
    broker.send(b"x", number=1)
    assert numbers(broker, group, "a") == {1}


def test_partitions_move_when_members_come_and_go(broker: Broker) -> None:
    group = joined(broker, "a", partitions=2, assign="average")
    answers = Answers(broker, group)
    with broker.turn() as core:
        core.groups.join(group, "b", leased=True)
        answers.ask("a")
    broker.send(b"x", number=1)
    assert answers.told == {}
    with broker.turn() as core:
        core.groups.leave(group, "b")
    assert answers.told == {"a": [b"x"]}


@pytest.mark.parametrize("order", ["partition", "key"])
def test_in_an_ordered_group_a_partition_moves_when_the_old_member_is_done(broker: Broker, order: str) -> None:
    group = joined(broker, "b", partitions=1, assign="average", order=order)
    broker.send(b"1", key=b"k")
    broker.send(b"2", key=b"l")
    assert broker.bodies(group, "b", most=1) == [b"1"]
    with broker.turn() as core:
        core.groups.join(group, "a", leased=True)
    assert broker.bodies(group, "b") == []
    assert broker.bodies(group, "a") == []
    broker.acknowledge(group, 0)
    assert broker.bodies(group, "b") == []
    assert broker.bodies(group, "a") == [b"2"]


def test_a_new_partition_is_assigned_too(broker: Broker) -> None:
    group = joined(broker, "a", "b", partitions=1, assign="circle")
    with broker.turn() as core:
        core.topics.alter("t", partitions=2)
    broker.send(b"x", number=1)
    assert numbers(broker, group, "b") == {1}


@pytest.mark.parametrize("how", ["kill", "stop", "power cut"])
def test_attributes_survive_a_restart(local: Broker, how: str) -> None:
    local.topic(partitions=2)
    group = local.group(assign="config")
    with local.turn() as core:
        core.groups.join(group, "a", False, Attributes(room="r", partitions=(1,)))
        core.groups.join(group, "b", False, Attributes(partitions=(0,)))
        core.groups.join(group, "b", False)
    local.restart(how)
    group = local.core.groups.get("t", "g")
    assert group.assignment == ["b", "a"]
    assert group.members["a"].attributes.room == "r"


def test_a_group_can_be_altered_to_assign_and_back(broker: Broker) -> None:
    group = joined(broker, "a", "b", partitions=2)
    for config, expected in ((GroupConfig(assign="circle"), {1}), (GroupConfig(), {0})):
        for number in (0, 1):
            broker.send(b"x", number=number)
        with broker.turn() as core:
            core.groups.alter(group, config)
        assert expected <= numbers(broker, group, "b")


def test_an_unknown_way_is_refused(broker: Broker) -> None:
    broker.topic()
    with pytest.raises(InvalidArgument, match="assign"):
        broker.group(assign="best")
