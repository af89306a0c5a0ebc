"""Classic groups: joins, generations, assignments, heartbeats, static members, and members that go."""

from collections.abc import Iterator
from itertools import count

import pytest

from onemq.limits import KAFKA_GROUP_DELAY_MS, KAFKA_GROUP_IDLE_MS, KAFKA_GROUP_MEMBERS_MAX, KAFKA_MEMBER_BYTES_MAX
from onemq.protocols.kafka.errors import ErrorCode
from onemq.protocols.kafka.groups.alarms import Alarms
from onemq.protocols.kafka.groups.classic import ClassicGroup, State
from onemq.protocols.kafka.groups.coordinator import Coordinator
from onemq.protocols.kafka.groups.member import Join
from onemq.protocols.kafka.schemas.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from onemq.protocols.kafka.schemas.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from tests.unit.protocols.kafka.groups.shelf import Shelf

SESSION_MS = 1_000
REBALANCE_MS = 3_000
DYNAMIC = 3
"""A version that asks for no member id first."""


class World:
    """A coordinator whose clock is in the test's hands."""

    def __init__(self, delay_ms: int = 0) -> None:
        self.now_ms = 1_000_000
        ids = count(1)
        self.alarms = Alarms(lambda: self.now_ms, lambda due_ms: None)
        self.coordinator = Coordinator(self.alarms, Shelf(), lambda: str(next(ids)), delay_ms)

    def pass_ms(self, duration_ms: int) -> None:
        for _ in range(duration_ms // 10):
            self.now_ms += 10
            self.alarms.ring()

    @property
    def group(self) -> ClassicGroup:
        group = self.coordinator.groups["g"]
        assert isinstance(group, ClassicGroup)
        return group


class Client:
    """A consumer as the coordinator sees it."""

    def __init__(self, world: World, name: str, instance: str | None = None, version: int = DYNAMIC) -> None:
        self.world = world
        self.name = name
        self.instance = instance
        self.version = version
        self.member_id = ""
        self.generation = -1
        self.protocols: dict[str, bytes] = {"range": name.encode()}
        self.joined: list[JoinGroupResponse] = []
        self.synced: list[SyncGroupResponse] = []

    def join(self, **changes: object) -> ErrorCode | None:
        """The error it was answered at once, if it was answered."""
        fields: dict[str, object] = {
            "group_id": "g",
            "session_timeout_ms": SESSION_MS,
            "rebalance_timeout_ms": REBALANCE_MS,
            "member_id": self.member_id,
            "group_instance_id": self.instance,
            "protocol_type": "consumer",
            "protocols": [JoinGroupRequestProtocol(*each) for each in self.protocols.items()],
        }
        before = len(self.joined)
        self.waits = Join(JoinGroupRequest(**(fields | changes)), self.version, self.name, "here", self._joined)  # type: ignore[arg-type]
        self.world.coordinator.join(self.waits)
        return ErrorCode(self.joined[-1].error_code) if len(self.joined) > before else None

    def _joined(self, response: JoinGroupResponse) -> None:
        self.joined.append(response)
        if response.error_code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            self.member_id, self.generation = response.member_id, response.generation_id

    def sync(self, assignment: dict[str, bytes] | None = None, **changes: object) -> ErrorCode | None:
        rows = [SyncGroupRequestAssignment(*each) for each in (assignment or {}).items()]
        fields: dict[str, object] = {
            "group_id": "g",
            "generation_id": self.generation,
            "member_id": self.member_id,
            "group_instance_id": self.instance,
            "assignments": rows,
        }
        before = len(self.synced)
        self.world.coordinator.sync(SyncGroupRequest(**(fields | changes)), self.synced.append)  # type: ignore[arg-type]
        return ErrorCode(self.synced[-1].error_code) if len(self.synced) > before else None

    def beat(self) -> ErrorCode:
        return self.world.coordinator.heartbeat("g", self.member_id, self.instance, self.generation)

    def commit(self) -> ErrorCode:
        return self.world.coordinator.check_commit("g", self.member_id, self.instance, self.generation, 8)

    def leave(self) -> ErrorCode:
        return self.world.coordinator.leave("g", self.member_id, self.instance)

    @property
    def is_leader(self) -> bool:
        return self.joined[-1].leader == self.member_id


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.pass_ms(REBALANCE_MS * 3)
    made.now_ms += KAFKA_GROUP_IDLE_MS
    made.alarms.ring()
    assert made.coordinator.groups == {}, "nobody is left, so nothing is left"
    assert len(made.alarms) == 0


def stable(*clients: Client) -> None:
    """All of them join, and the leader assigns everybody its own name."""
    for client in clients:
        client.join()
    for client in clients:
        if client.joined and client.world.group.state is State.PREPARING:
            client.join()
    leader = next(client for client in clients if client.is_leader)
    for client in clients:
        client.sync({each.member_id: each.name.encode() for each in clients} if client is leader else None)
    assert all(client.synced[-1].assignment == client.name.encode() for client in clients)


# Joining


def test_the_first_member_leads(world: World) -> None:
    one = Client(world, "one")
    assert one.join() is ErrorCode.NONE
    answer = one.joined[0]
    assert (answer.generation_id, answer.leader, answer.member_id) == (1, "one-1", "one-1")
    assert (answer.protocol_type, answer.protocol_name) == ("consumer", "range")
    assert [(each.member_id, each.metadata) for each in answer.members] == [("one-1", b"one")]
    assert world.group.state is State.COMPLETING


def test_from_version_4_on_a_member_must_come_with_the_id_that_it_was_given(world: World) -> None:
    one = Client(world, "one", version=4)
    assert one.join() is ErrorCode.MEMBER_ID_REQUIRED
    assert (one.member_id, world.group.state) == ("one-1", State.EMPTY)
    assert one.join() is ErrorCode.NONE
    assert one.joined[-1].member_id == "one-1"


def test_an_id_that_nobody_came_back_with_is_forgotten_after_the_session_timeout(world: World) -> None:
    one, two = Client(world, "one"), Client(world, "two", version=4)
    stable(one)
    assert two.join() is ErrorCode.MEMBER_ID_REQUIRED
    assert one.join() is None, "the group waits for the other"
    world.pass_ms(SESSION_MS)
    assert one.joined[-1].generation_id == 2
    assert two.join() is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_id_that_the_group_does_not_know_is_refused(world: World) -> None:
    stranger = Client(world, "stranger")
    stranger.member_id = "stranger-9"
    assert stranger.join() is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.coordinator.groups == {}
    stable(Client(world, "one"))
    assert stranger.join() is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"session_timeout_ms": 99}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": 1_800_001}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"protocols": []}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": ""}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": [JoinGroupRequestProtocol("range", bytes(1 << 20))]}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_joins_that_make_no_sense_are_refused(world: World, changes: dict[str, object], code: ErrorCode) -> None:
    assert Client(world, "one").join(**changes) is code


def test_who_has_no_protocol_in_common_with_the_others_is_refused(world: World) -> None:
    stable(Client(world, "one"))
    two = Client(world, "two")
    assert two.join(protocols=[JoinGroupRequestProtocol("sticky", b"")]) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert two.join(protocol_type="connect") is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_the_protocol_is_the_one_that_most_like_best_of_those_that_all_know(world: World) -> None:
    clients = [Client(world, name) for name in ("one", "two", "three")]
    clients[0].protocols = {"sticky": b"s1", "range": b"r1", "other": b"o1"}
    clients[1].protocols = {"other": b"o2", "range": b"r2"}
    clients[2].protocols = {"range": b"r3", "other": b"o3"}
    stable(*clients)
    assert {client.joined[-1].protocol_name for client in clients} == {"range"}


def test_a_group_that_is_full_takes_nobody_else(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert KAFKA_GROUP_MEMBERS_MAX == 1_000
    monkeypatch.setattr("onemq.protocols.kafka.groups.roster.KAFKA_GROUP_MEMBERS_MAX", 1)
    one = Client(world, "one")
    stable(one)
    assert Client(world, "two").join() is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert Client(world, "two", version=5).join() is ErrorCode.GROUP_MAX_SIZE_REACHED
    one.leave()


def test_those_who_start_together_begin_together() -> None:
    world = World(delay_ms=KAFKA_GROUP_DELAY_MS)
    one, two = Client(world, "one"), Client(world, "two")
    assert one.join() is None
    world.pass_ms(50)
    assert two.join() is None
    world.pass_ms(50)
    assert one.joined == [], "somebody came, so there may be more"
    world.pass_ms(100)
    assert [one.generation, two.generation] == [1, 1]


# Rebalances


def test_a_second_member_makes_all_join_again(world: World) -> None:
    one, two = Client(world, "one"), Client(world, "two")
    stable(one)
    assert one.beat() is ErrorCode.NONE
    assert two.join() is None
    assert world.group.state is State.PREPARING
    assert one.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert one.commit() is ErrorCode.NONE, "what it has done so far may be told"
    assert one.join() is ErrorCode.NONE
    assert [one.generation, two.generation] == [2, 2]
    assert [one.is_leader, two.is_leader] == [True, False]
    assert (len(one.joined[-1].members), two.joined[-1].members) == (2, [])


def test_followers_wait_for_the_leaders_assignment(world: World) -> None:
    one, two = Client(world, "one"), Client(world, "two")
    stable(one)
    two.join()
    one.join()
    assert two.sync() is None
    assert two.commit() is ErrorCode.REBALANCE_IN_PROGRESS
    assert two.beat() is ErrorCode.NONE
    assert one.sync({one.member_id: b"a", two.member_id: b"b"}) is ErrorCode.NONE
    assert (one.synced[-1].assignment, two.synced[-1].assignment) == (b"a", b"b")
    assert two.sync() is ErrorCode.NONE, "again, in case the answer was lost"
    assert two.commit() is ErrorCode.NONE


def test_who_is_not_assigned_anything_gets_nothing(world: World) -> None:
    one = Client(world, "one")
    one.join()
    assert one.sync({}) is ErrorCode.NONE
    assert one.synced[-1].assignment == b""


def test_who_does_not_join_again_in_time_is_left_out(world: World) -> None:
    one, two = Client(world, "one"), Client(world, "two")
    stable(one)
    two.join(rebalance_timeout_ms=600)
    for _ in range(REBALANCE_MS // 100):
        one.beat()
        assert two.joined == []
        world.pass_ms(100)
    assert two.joined[-1].generation_id == 2
    assert two.is_leader
    assert one.beat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_who_does_not_ask_for_its_assignment_in_time_is_left_out(world: World) -> None:
    one, two = Client(world, "one"), Client(world, "two")
    stable(one)
    two.join()
    one.join()
    two.sync()
    for _ in range(REBALANCE_MS // 100):
        one.beat()
        world.pass_ms(100)
    assert two.synced[-1].error_code is ErrorCode.REBALANCE_IN_PROGRESS
    assert one.beat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_follower_that_joins_again_with_nothing_new_disturbs_nobody(world: World) -> None:
    one, two = Client(world, "one"), Client(world, "two")
    stable(one, two)
    generation = world.group.generation
    assert two.join() is ErrorCode.NONE
    assert (world.group.state, two.generation) == (State.STABLE, generation)
    assert two.sync() is ErrorCode.NONE


def test_a_follower_with_other_topics_and_a_leader_in_any_case_begin_a_rebalance(world: World) -> None:
    one, two = Client(world, "one"), Client(world, "two")
    stable(one, two)
    two.protocols = {"range": b"other topics"}
    assert two.join() is None
    assert one.join() is ErrorCode.NONE
    stable(one, two)
    assert one.join() is None
    assert world.group.state is State.PREPARING


def test_a_join_while_others_wait_for_the_assignment_sends_them_back(world: World) -> None:
    one, two, three = (Client(world, name) for name in ("one", "two", "three"))
    stable(one)
    two.join()
    one.join()
    two.sync()
    three.join()
    assert two.synced[-1].error_code is ErrorCode.REBALANCE_IN_PROGRESS
    assert one.sync({}) is ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"generation_id": 0}, ErrorCode.ILLEGAL_GENERATION),
        ({"member_id": "x"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"group_id": "other"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_name": "sticky"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": "consumer", "protocol_name": "range"}, ErrorCode.NONE),
    ],
)
def test_asking_for_an_assignment_is_checked(world: World, changes: dict[str, object], code: ErrorCode) -> None:
    one = Client(world, "one")
    one.join()
    assert one.sync({}, **changes) is code


# Going


def test_a_member_that_leaves_makes_the_others_share(world: World) -> None:
    one, two = Client(world, "one"), Client(world, "two")
    stable(one, two)
    assert one.leave() is ErrorCode.NONE
    assert one.leave() is ErrorCode.UNKNOWN_MEMBER_ID
    assert two.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert two.join() is ErrorCode.NONE
    assert two.is_leader


def test_the_last_member_leaves_an_empty_group_that_remembers_its_generation(world: World) -> None:
    one = Client(world, "one")
    stable(one)
    one.leave()
    assert (world.group.state, world.group.generation) == (State.EMPTY, 2)
    assert one.beat() is ErrorCode.UNKNOWN_MEMBER_ID
    again = Client(world, "again")
    again.join()
    assert again.generation == 3


def test_a_silent_member_is_gone_after_its_session_timeout(world: World) -> None:
    one, two = Client(world, "one"), Client(world, "two")
    stable(one, two)
    for _ in range(SESSION_MS // 100 + 1):
        last = one.beat()
        world.pass_ms(100)
    assert last is ErrorCode.REBALANCE_IN_PROGRESS
    assert list(world.group.members) == [one.member_id]


def test_who_waits_need_not_show_that_it_lives(world: World) -> None:
    one, two = Client(world, "one"), Client(world, "two")
    stable(one)
    two.join()
    for _ in range(20):
        one.beat()
        world.pass_ms(100)
    assert (two.joined, len(world.group.members)) == ([], 2)


def test_who_waits_and_is_lost_must(world: World) -> None:
    one, two = Client(world, "one"), Client(world, "two")
    stable(one)
    two.join()
    two.waits.lost()
    for _ in range(SESSION_MS // 100 + 1):
        one.beat()
        world.pass_ms(100)
    assert one.join() is ErrorCode.NONE
    assert list(world.group.members) == [one.member_id]


def test_members_can_be_put_out_while_they_wait(world: World) -> None:
    one, two = Client(world, "one"), Client(world, "two")
    stable(one)
    two.join()
    (waiting,) = [id for id in world.group.members if id != one.member_id]
    assert world.coordinator.leave("g", waiting, None) is ErrorCode.NONE
    assert two.joined[-1].error_code is ErrorCode.UNKNOWN_MEMBER_ID


def test_leaving_with_an_id_that_was_only_promised_is_fine(world: World) -> None:
    one = Client(world, "one", version=4)
    one.join()
    assert one.leave() is ErrorCode.NONE
    assert one.join() is ErrorCode.UNKNOWN_MEMBER_ID


def test_nothing_is_kept_of_a_group_that_is_deleted(world: World) -> None:
    before = len(world.alarms)
    for _ in range(100):
        one = Client(world, "one", version=4)
        assert one.join() is ErrorCode.MEMBER_ID_REQUIRED
        assert world.coordinator.forget("g")
    assert len(world.alarms) - before < 100  # those that are over go some at a time
    assert one.join() is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_says_no_more_of_itself_than_it_may(world: World) -> None:
    """Many empty names are much, too."""
    one = Client(world, "one")
    one.protocols = {"range": bytes(KAFKA_MEMBER_BYTES_MAX)}
    assert one.join() is ErrorCode.INVALID_REQUEST
    one.protocols = {}
    protocols = [JoinGroupRequestProtocol("", b"")] * 30_000
    assert one.join(protocols=protocols) is ErrorCode.INVALID_REQUEST
    assert Client(world, "two", instance="i" * KAFKA_MEMBER_BYTES_MAX).join() is ErrorCode.INVALID_REQUEST
    assert not world.coordinator.groups


# Static members


def test_a_static_member_comes_back_without_a_rebalance(world: World) -> None:
    one, two = Client(world, "one", instance="i1"), Client(world, "two", instance="i2")
    stable(one, two)
    follower = one if two.is_leader else two
    generation, old_id = follower.generation, follower.member_id
    back = Client(world, follower.name, instance=follower.instance, version=5)
    assert back.join() is ErrorCode.NONE
    assert back.generation == generation
    assert back.member_id != old_id
    assert back.sync() is ErrorCode.NONE
    assert back.synced[-1].assignment == follower.name.encode()
    assert world.group.state is State.STABLE
    assert follower.beat() is ErrorCode.FENCED_INSTANCE_ID
    assert follower.commit() is ErrorCode.FENCED_INSTANCE_ID
    assert follower.join() is ErrorCode.FENCED_INSTANCE_ID
    assert follower.leave() is ErrorCode.FENCED_INSTANCE_ID


@pytest.mark.parametrize("version", [5, 9])
def test_a_static_leader_that_comes_back_need_not_assign(world: World, version: int) -> None:
    one = Client(world, "one", instance="i1")
    stable(one)
    back = Client(world, "one", instance="i1", version=version)
    assert back.join() is ErrorCode.NONE
    answer = back.joined[-1]
    assert answer.skip_assignment == (version == 9)
    assert (answer.leader == back.member_id) == (version == 9)
    assert len(answer.members) == (1 if version == 9 else 0)
    assert back.sync() is ErrorCode.NONE
    assert back.synced[-1].assignment == b"one"


def test_a_static_member_that_others_wait_for_is_replaced_while_they_do(world: World) -> None:
    one, two = Client(world, "one", instance="i1"), Client(world, "two")
    stable(one)
    two.join()
    back = Client(world, "one", instance="i1")
    assert back.join() is ErrorCode.NONE
    assert two.joined[-1].generation_id == back.generation == 2


def test_a_static_member_that_waits_to_join_is_fenced_when_another_takes_its_name(world: World) -> None:
    one, two = Client(world, "one", instance="i1"), Client(world, "two")
    stable(two)
    assert one.join() is None
    again = Client(world, "one", instance="i1")
    assert again.join() is None
    assert one.joined[-1].error_code is ErrorCode.FENCED_INSTANCE_ID
    assert two.join() is ErrorCode.NONE
    assert again.generation == two.generation


def test_a_static_member_that_waits_for_its_assignment_is_fenced_when_another_takes_its_name(world: World) -> None:
    one, two = Client(world, "one", instance="i1"), Client(world, "two")
    stable(two)
    one.join()
    two.join()
    assert one.sync() is None
    again = Client(world, "one", instance="i1")
    assert again.join() is None
    assert one.synced[-1].error_code is ErrorCode.FENCED_INSTANCE_ID
    assert two.beat() is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_static_member_stays_in_when_it_does_not_join_in_time(world: World) -> None:
    one, two = Client(world, "one", instance="i1"), Client(world, "two")
    stable(one, two)
    two.protocols = {"range": b"other"}
    two.join()
    for _ in range(REBALANCE_MS // 100 + 1):
        one.beat()
        two.beat()
        world.pass_ms(100)
    assert two.joined[-1].generation_id == world.group.generation
    assert set(world.group.members) == {one.member_id, two.member_id}


def test_static_members_are_put_out_by_their_names(world: World) -> None:
    one = Client(world, "one", instance="i1")
    stable(one)
    assert world.coordinator.leave("g", "", "other") is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.coordinator.leave("g", "", "i1") is ErrorCode.NONE
    assert world.group.state is State.EMPTY


# Who may commit


def test_commits_without_a_group_come_from_those_who_need_none(world: World) -> None:
    check = world.coordinator.check_commit
    assert check("g", "", None, -1, 8) is ErrorCode.NONE
    assert check("g", "m", None, 1, 8) is ErrorCode.ILLEGAL_GENERATION
    assert check("g", "m", None, 1, 9) is ErrorCode.GROUP_ID_NOT_FOUND


def test_commits_to_a_group_with_members_come_from_them_and_of_their_generation(world: World) -> None:
    one = Client(world, "one")
    stable(one)
    check = world.coordinator.check_commit
    assert check("g", "", None, -1, 8) is ErrorCode.UNKNOWN_MEMBER_ID
    assert check("g", "", None, -1, 8, transactional=True) is ErrorCode.NONE
    assert check("g", "x", None, one.generation, 8) is ErrorCode.UNKNOWN_MEMBER_ID
    assert check("g", one.member_id, None, one.generation - 1, 8) is ErrorCode.ILLEGAL_GENERATION
    assert check("g", one.member_id, "i", one.generation, 8) is ErrorCode.UNKNOWN_MEMBER_ID
    assert one.commit() is ErrorCode.NONE
    one.leave()
    assert check("g", "", None, -1, 8) is ErrorCode.NONE


def test_committing_shows_that_a_member_lives(world: World) -> None:
    one = Client(world, "one")
    stable(one)
    for _ in range(20):
        assert one.commit() is ErrorCode.NONE
        world.pass_ms(100)
