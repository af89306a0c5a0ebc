"""Consumer groups (KIP-848): the broker shares out, and members come to it one by one."""

from collections.abc import Iterator
from itertools import count
from random import Random

import pytest

from onemq.limits import KAFKA_CONSUMER_SESSION_MS, KAFKA_GROUP_IDLE_MS, KAFKA_MEMBER_BYTES_MAX
from onemq.protocols.kafka.errors import ErrorCode, Refused
from onemq.protocols.kafka.groups.alarms import Alarms
from onemq.protocols.kafka.groups.assignors import ASSIGNORS, Shares, ranges, uniform
from onemq.protocols.kafka.groups.consumer import ConsumerGroup
from onemq.protocols.kafka.groups.coordinator import Coordinator
from onemq.protocols.kafka.operations import GROUP_OPERATIONS
from onemq.protocols.kafka.schemas.consumer_group_describe import ConsumerGroupDescribeRequest
from onemq.protocols.kafka.schemas.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from tests.unit.protocols.kafka.fakes import Client as Kafka
from tests.unit.protocols.kafka.groups.shelf import Shelf

REBALANCE_MS = 3_000
Owned = set[tuple[str, int]]


class World:
    """A coordinator whose clock is in the test's hands, and a topic `t` with six partitions."""

    def __init__(self) -> None:
        self.now_ms = 1_000_000
        ids = count(1)
        self.alarms = Alarms(lambda: self.now_ms, lambda due_ms: None)
        self.shelf = Shelf(t=6)
        self.coordinator = Coordinator(self.alarms, self.shelf, lambda: str(next(ids)), 0)

    def pass_ms(self, duration_ms: int) -> None:
        for _ in range(duration_ms // 100):
            self.now_ms += 100
            self.alarms.ring()

    @property
    def group(self) -> ConsumerGroup:
        group = self.coordinator.groups["g"]
        assert isinstance(group, ConsumerGroup)
        return group


class Client:
    """A consumer that does what it is told."""

    def __init__(self, world: World, name: str, instance: str | None = None) -> None:
        self.world = world
        self.name = name
        self.instance = instance
        self.epoch = 0
        self.owned: Owned = set()
        self.told: Owned = set()

    def beat(self, obey: bool = True, **changes: object) -> ConsumerGroupHeartbeatResponse:
        fields: dict[str, object] = {
            "group_id": "g", "member_id": self.name, "member_epoch": self.epoch, "instance_id": self.instance,
        }  # fmt: skip
        if self.epoch == 0:
            fields |= {"rebalance_timeout_ms": REBALANCE_MS, "subscribed_topic_names": ["t"], "topic_partitions": []}
        elif obey:
            fields |= {"topic_partitions": self._owned()}
        request = ConsumerGroupHeartbeatRequest(**(fields | changes))  # type: ignore[arg-type]
        answer = self.world.coordinator.consume(request, 1, "client", "/host")
        self.epoch = max(answer.member_epoch, 0)
        if answer.assignment is not None:
            self.told = {
                (chr(int.from_bytes(each.topic_id, "big")), number)
                for each in answer.assignment.topic_partitions
                for number in each.partitions
            }
        if obey:
            self.owned = set(self.told)
        return answer

    def _owned(self) -> list[TopicPartitions]:
        return [TopicPartitions(ord(topic).to_bytes(16, "big"), [number]) for topic, number in sorted(self.owned)]

    def leave(self, epoch: int = -1) -> ConsumerGroupHeartbeatResponse:
        self.owned = self.told = set()
        return self.beat(obey=False, member_epoch=epoch)


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.now_ms += KAFKA_CONSUMER_SESSION_MS
    made.alarms.ring()
    made.now_ms += KAFKA_GROUP_IDLE_MS
    made.alarms.ring()
    assert made.coordinator.groups == {}, "nobody is left, so nothing is left"
    assert len(made.alarms) == 0


def settle(*clients: Client) -> None:
    """All of them show that they live until nothing changes any more."""
    for _ in range(10):
        for client in clients:
            client.beat()
    owned = [place for client in clients for place in client.owned]
    assert len(owned) == len(set(owned)), "nobody reads what another reads"


def refused(client: Client, **changes: object) -> ErrorCode:
    with pytest.raises(Refused) as found:
        client.beat(**changes)  # type: ignore[arg-type]
    return found.value.error


def test_the_first_member_gets_everything(world: World) -> None:
    one = Client(world, "one")
    answer = one.beat()
    assert (answer.error_code, answer.member_id, answer.member_epoch) == (0, "one", 1)
    assert answer.heartbeat_interval_ms > 0
    assert one.owned == {("t", number) for number in range(6)}
    assert world.group.state == "Stable"


def test_a_heartbeat_without_news_tells_none(world: World) -> None:
    one = Client(world, "one")
    one.beat()
    assert one.beat(obey=False).assignment is None


def test_a_second_member_gets_its_share_when_the_first_has_given_it_up(world: World) -> None:
    one, two = Client(world, "one"), Client(world, "two")
    one.beat()
    two.beat()
    assert two.owned == set()
    assert world.group.state == "Reconciling"
    answer = one.beat(obey=False)
    assert (len(one.told), answer.member_epoch) == (3, 1), "it has to give up three, and stays in its epoch until then"
    two.beat()
    assert two.owned == set()
    one.owned = set(one.told)
    assert one.beat().member_epoch == 2
    two.beat()
    assert two.owned | one.owned == {("t", number) for number in range(6)}
    assert len(two.owned) == len(one.owned) == 3
    assert world.group.state == "Stable"


def test_who_keeps_what_it_must_give_up_is_put_out(world: World) -> None:
    one, two = Client(world, "one"), Client(world, "two")
    one.beat()
    two.beat()
    one.beat(obey=False)
    for _ in range(REBALANCE_MS // 100):
        one.beat(obey=False)
        two.beat()
        world.pass_ms(100)
    assert refused(one, obey=False) is ErrorCode.UNKNOWN_MEMBER_ID
    two.beat()
    assert len(two.owned) == 6


def test_a_member_that_leaves_or_falls_silent_is_replaced(world: World) -> None:
    one, two, three = (Client(world, name) for name in ("one", "two", "three"))
    settle(one, two, three)
    assert [len(each.owned) for each in (one, two, three)] == [2, 2, 2]
    assert three.leave().member_epoch == -1
    settle(one, two)
    assert [len(each.owned) for each in (one, two)] == [3, 3]
    for _ in range(KAFKA_CONSUMER_SESSION_MS // 100):
        one.beat()
        world.pass_ms(100)
    one.beat()
    assert len(one.owned) == 6
    assert refused(two) is ErrorCode.UNKNOWN_MEMBER_ID


def test_new_partitions_and_other_wishes_begin_a_new_epoch(world: World) -> None:
    one = Client(world, "one")
    one.beat()
    world.shelf.put(t=8)
    one.beat()
    assert (len(one.owned), one.epoch) == (8, 2)
    world.shelf.put(u=1)
    one.beat()
    assert one.epoch == 2
    one.beat(subscribed_topic_names=["u", "missing"])
    settle(one)
    assert one.owned == {("u", 0)}


def test_topics_can_be_chosen_by_an_expression(world: World) -> None:
    one = Client(world, "one")
    one.beat(subscribed_topic_names=None, subscribed_topic_regex="[a-t]")
    assert len(one.owned) == 6
    world.shelf.put(a=2, z=1)
    one.beat()
    assert len(one.owned) == 8
    for wrong in ("(", "x" * 1_001, r"(a)\1", "(?=a)", "(((a{1000}){1000}){1000})"):
        assert refused(one, subscribed_topic_regex=wrong) is ErrorCode.INVALID_REGULAR_EXPRESSION


def test_epochs_are_checked(world: World) -> None:
    one = Client(world, "one")
    one.beat()
    assert refused(one, member_epoch=7) is ErrorCode.FENCED_MEMBER_EPOCH
    world.shelf.put(t=7)
    one.beat()
    assert one.epoch == 2
    assert one.beat(member_epoch=1).member_epoch == 2, "it has not got the last answer"
    assert refused(one, member_epoch=1, topic_partitions=None) is ErrorCode.FENCED_MEMBER_EPOCH
    assert refused(Client(world, "stranger"), member_epoch=2) is ErrorCode.UNKNOWN_MEMBER_ID
    assert one.beat(member_epoch=0, rebalance_timeout_ms=1, subscribed_topic_names=["t"], topic_partitions=[])
    assert len(one.owned) == 7, "it may begin again at any time"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"rebalance_timeout_ms": -1}, ErrorCode.INVALID_REQUEST),
        ({"subscribed_topic_names": None}, ErrorCode.INVALID_REQUEST),
        ({"topic_partitions": [TopicPartitions(bytes(16), [1])]}, ErrorCode.INVALID_REQUEST),
        ({"server_assignor": "magic"}, ErrorCode.UNSUPPORTED_ASSIGNOR),
        ({"member_epoch": 3}, ErrorCode.GROUP_ID_NOT_FOUND),
        ({"member_id": ""}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_joins_that_make_no_sense_are_refused(world: World, changes: dict[str, object], code: ErrorCode) -> None:
    assert refused(Client(world, "one"), **changes) is code


def test_a_static_member_comes_back_to_what_it_had(world: World) -> None:
    one, two = Client(world, "one", "i1"), Client(world, "two", "i2")
    settle(one, two)
    epoch, had = world.group.epoch, set(one.owned)
    assert refused(Client(world, "thief", "i1")) is ErrorCode.UNRELEASED_INSTANCE_ID
    assert one.leave(-2).member_epoch == -2
    two.beat()
    back = Client(world, "one again", "i1")
    back.beat()
    assert (back.owned, back.epoch) == (had, epoch)
    one.epoch = epoch
    assert refused(one) is ErrorCode.FENCED_INSTANCE_ID


def test_commits_and_fetches_come_from_members_of_the_same_epoch(world: World) -> None:
    one = Client(world, "one")
    one.beat()
    commit, fetch = world.coordinator.check_commit, world.coordinator.check_fetch
    assert commit("g", "one", None, 1, 9) is ErrorCode.NONE
    assert commit("g", "one", None, 1, 8) is ErrorCode.UNSUPPORTED_VERSION
    assert commit("g", "one", None, 2, 9) is ErrorCode.STALE_MEMBER_EPOCH
    assert commit("g", "two", None, 1, 9) is ErrorCode.UNKNOWN_MEMBER_ID
    assert commit("g", "", None, -1, 9) is ErrorCode.UNKNOWN_MEMBER_ID
    assert fetch("g", None, -1) is ErrorCode.NONE
    assert fetch("g", "one", 1) is ErrorCode.NONE
    assert fetch("g", "one", 2) is ErrorCode.STALE_MEMBER_EPOCH
    assert fetch("g", "two", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    one.leave()
    assert commit("g", "", None, -1, 9) is ErrorCode.NONE


def test_what_a_member_had_all_along_it_may_commit_in_an_earlier_epoch(world: World) -> None:
    one = Client(world, "one")
    one.beat()
    world.shelf.put(t=8)
    one.beat()
    assert world.coordinator.check_commit("g", "one", None, 1, 9) is ErrorCode.NONE
    assert world.coordinator.check_commit("g", "one", None, 1, 9, transactional=True) is ErrorCode.STALE_MEMBER_EPOCH
    assert world.coordinator.stale("g", "one", 1, ord("t"), range(9)) == {6, 7, 8}
    assert world.coordinator.stale("g", "one", 2, ord("t"), range(9)) == set()
    assert world.coordinator.stale("other", "one", 1, ord("t"), range(9)) == set()


# Assignors


def even(shares: Shares) -> bool:
    sizes = [len(each) for each in shares.values()]
    return max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("seed", range(30))
def test_everything_is_shared_out_once_among_those_who_want_it(seed: int) -> None:
    random = Random(seed)
    sizes = {topic: random.randint(1, 12) for topic in range(random.randint(1, 5))}
    names = [f"m{number}" for number in range(random.randint(1, 7))]
    before: dict[str, Shares] = {name: {} for name in ASSIGNORS}
    for _ in range(8):
        wishes = {
            name: frozenset(topic for topic in sizes if random.random() < 0.7)
            for name in names
            if random.random() < 0.8
        } or {"m0": frozenset(sizes)}
        for name, assignor in ASSIGNORS.items():
            shares = before[name] = assignor(sizes, wishes, before[name])
            places = [place for share in shares.values() for place in share]
            wanted = {topic for topics in wishes.values() for topic in topics}
            assert sorted(places) == [(topic, number) for topic in sorted(wanted) for number in range(sizes[topic])]
            assert all(topic in wishes[member] for member, share in shares.items() for topic, _ in share)


def test_uniform_is_even_and_moves_as_little_as_it_can() -> None:
    sizes, everything = {1: 7, 2: 5}, frozenset({1, 2})
    one = uniform(sizes, {"a": everything}, {})
    two = uniform(sizes, {"a": everything, "b": everything}, one)
    assert even(two)
    assert two["a"] <= one["a"]
    three = uniform(sizes, dict.fromkeys("abc", everything), two)
    assert even(three)
    assert three["a"] <= two["a"]
    assert three["b"] <= two["b"]
    back = uniform(sizes, dict.fromkeys("ac", everything), three)
    assert even(back)
    assert back["a"] >= three["a"]


def test_ranges_are_neighbours() -> None:
    shares = ranges({1: 5}, dict.fromkeys("ab", frozenset({1})), {})
    assert shares == {"a": {(1, 0), (1, 1), (1, 2)}, "b": {(1, 3), (1, 4)}}


def test_a_group_is_described_as_by_kafka() -> None:
    client = Kafka()
    client.core.topics.create("t", partitions=2)
    joined = ConsumerGroupHeartbeatRequest(
        "g", "m", 0, rebalance_timeout_ms=5_000, subscribed_topic_names=["t"], topic_partitions=[]
    )
    assert client.ask(joined).error_code == 0
    known, unknown = client.ask(ConsumerGroupDescribeRequest(["g", "x"], True)).groups
    (member,) = known.members
    assert (member.member_id, member.subscribed_topic_names, member.subscribed_topic_regex) == ("m", ["t"], "")
    assert known.authorized_operations == GROUP_OPERATIONS
    assert (unknown.error_code, unknown.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "")


def test_a_member_says_no_more_of_itself_than_it_may(world: World) -> None:
    for much in ({"subscribed_topic_names": ["x"] * 30_000}, {"rack_id": "r" * KAFKA_MEMBER_BYTES_MAX}):
        assert refused(Client(world, "one"), **much) is ErrorCode.INVALID_REQUEST
    assert not world.group.members
