"""Share groups: who joins, what a member may fetch, and who is gone."""

import pytest

from onemq.core.redelivery import Immediate, Ladder
from onemq.core.topics import Topic
from onemq.protocols.kafka.errors import ErrorCode, Refused
from onemq.protocols.kafka.sharing.members import Heartbeat, ShareMembers
from tests.unit.core.broker import Broker, in_memory

Told = list[tuple[str, range]]


class Members:
    """The members of share groups, one heartbeat to a turn."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.silent: list[tuple[str, str, str]] = []
        self.members = ShareMembers(broker.core, lambda *told: self.silent.append(told))

    def beat(
        self, epoch: int, topics: list[str] | None = None, member: str = "m", group: str = "g"
    ) -> tuple[int, Told | None]:
        with self.broker.turn():
            answer = self.members.heartbeat(Heartbeat(group, member, epoch, topics))
        return answer.epoch, None if answer.assignment is None else [_told(*row) for row in answer.assignment]

    def refusal(self, epoch: int, topics: list[str] | None = None, member: str = "m") -> ErrorCode:
        with pytest.raises(Refused) as refused:
            self.beat(epoch, topics, member)
        return refused.value.error


def _told(topic: Topic, numbers: range) -> tuple[str, range]:
    return topic.name, numbers


@pytest.fixture
def members() -> Members:
    return Members(in_memory())


def test_every_member_gets_all_partitions_of_its_topics(members: Members) -> None:
    members.broker.topic("a", partitions=3)
    members.broker.topic("b")
    assert members.beat(0, ["a", "b"], "m")[1] == [("a", range(3)), ("b", range(1))]
    assert members.beat(0, ["a"], "n")[1] == [("a", range(3))]


def test_a_heartbeat_that_changes_nothing_is_told_nothing_new(members: Members) -> None:
    members.broker.topic("a")
    epoch, _ = members.beat(0, ["a"])
    assert epoch > 0
    assert members.beat(epoch) == (epoch, None)


def test_new_partitions_are_told_with_a_new_epoch(members: Members) -> None:
    members.broker.topic("a")
    epoch, _ = members.beat(0, ["a"])
    with members.broker.turn() as core:
        core.topics.alter("a", partitions=2)
    later, told = members.beat(epoch)
    assert (later > epoch, told) == (True, [("a", range(2))])


def test_an_answer_that_was_lost_is_told_again(members: Members) -> None:
    members.broker.topic("a")
    epoch, _ = members.beat(0, ["a"])
    later, told = members.beat(epoch, ["a", "b"])
    assert later == epoch
    members.broker.topic("b")
    later, told = members.beat(epoch)
    assert later > epoch
    assert members.beat(epoch) == (later, told)


def test_a_wrong_epoch_is_fenced(members: Members) -> None:
    members.broker.topic("a")
    epoch, _ = members.beat(0, ["a"])
    assert members.refusal(epoch + 5) == ErrorCode.FENCED_MEMBER_EPOCH
    assert members.beat(0, ["a"])[0] > epoch


def test_who_did_not_join_is_unknown(members: Members) -> None:
    assert members.refusal(3) == ErrorCode.GROUP_ID_NOT_FOUND
    members.beat(0, ["a"], "other")
    assert members.refusal(3) == ErrorCode.UNKNOWN_MEMBER_ID
    assert members.refusal(-1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_after_a_restart_members_are_unknown_but_not_their_groups(members: Members) -> None:
    epoch, _ = members.beat(0, ["a"])
    members.members = ShareMembers(members.broker.core, lambda *told: None)
    assert members.refusal(epoch) == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(("member", "topics"), [("", ["a"]), ("m", None)])
def test_joining_needs_an_id_and_topics(members: Members, member: str, topics: list[str] | None) -> None:
    assert members.refusal(0, topics, member) == ErrorCode.INVALID_REQUEST


def test_a_member_that_leaves_is_gone(members: Members) -> None:
    members.broker.topic("a")
    epoch, _ = members.beat(0, ["a"])
    assert members.beat(-1) == (-1, None)
    assert members.silent == []
    assert members.refusal(epoch) == ErrorCode.UNKNOWN_MEMBER_ID
    assert members.members.groups == {}


def test_a_member_that_is_not_heard_of_is_gone(members: Members) -> None:
    members.broker.topic("a")
    epoch, _ = members.beat(0, ["a"])
    members.broker.pass_ms(45_000 - 1)
    members.beat(epoch)
    members.broker.pass_ms(45_000 - 1)
    assert members.silent == []
    members.broker.pass_ms(1)
    assert [name for _, name, _ in members.silent] == ["m"]


def test_a_name_with_members_of_another_kind_is_taken(members: Members) -> None:
    members.members.is_taken = {"g"}.__contains__
    assert members.refusal(0, ["a"]) == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_group_has_so_many_members_only(members: Members, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onemq.protocols.kafka.sharing.members.SHARE_MEMBERS_MAX", 1)
    members.beat(0, ["a"], "m")
    assert members.refusal(0, ["a"], "n") == ErrorCode.GROUP_MAX_SIZE_REACHED
    members.beat(0, ["a"], "m")


def test_a_new_group_begins_at_the_end_with_the_defaults_of_kafka(members: Members) -> None:
    topic = members.broker.topic("a")
    members.broker.send(b"old", topic="a")
    members.beat(0, ["a"])
    group = topic.groups["g"]
    assert (group.lag, group.config.lease_ms, group.policy) == (0, 30_000, Immediate(5))


def test_a_group_that_is_there_stays_as_it_is(members: Members) -> None:
    topic = members.broker.topic("a")
    members.broker.send(b"old", topic="a")
    group = members.broker.group("a", "g", policy=Ladder((1,)))
    members.beat(0, ["a"])
    assert topic.groups["g"] is group
    assert (group.lag, group.policy, group.config.lease_ms) == (1, Ladder((1,)), 0)


def test_the_policy_of_the_topic_holds_for_new_groups(members: Members) -> None:
    topic = members.broker.topic("a", group={"policy": ["ladder", [1]], "lease_ms": 7})
    members.beat(0, ["a"])
    assert (topic.groups["g"].policy, topic.groups["g"].config.lease_ms) == (Ladder((1,)), 7)


def test_a_topic_that_a_member_waited_for_is_read_from_its_first_message_on(members: Members) -> None:
    epoch, told = members.beat(0, ["a"])
    assert told == []
    topic = members.broker.topic("a")
    members.broker.send(b"first", topic="a")
    assert members.beat(epoch)[1] == [("a", range(1))]
    assert topic.groups["g"].lag == 1


def test_who_waits_for_a_topic_comes_again_soon(members: Members) -> None:
    with members.broker.turn():
        assert members.members.heartbeat(Heartbeat("g", "m", 0, ["a"])).heartbeat_ms == 500
    members.broker.topic("a")
    with members.broker.turn():
        assert members.members.heartbeat(Heartbeat("g", "m", 0, ["a"])).heartbeat_ms == 5_000


def test_topics_of_the_broker_itself_are_not_given_out(members: Members) -> None:
    with members.broker.turn() as core:
        core.topics.ensure_internal("__schedule")
    assert members.beat(0, ["__schedule"])[1] == []
