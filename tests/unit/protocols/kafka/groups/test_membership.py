"""Members of groups over the wire, in every version, and what administrators see of them."""

from struct import pack

import pytest

from onemq.protocols.kafka.errors import ErrorCode
from onemq.protocols.kafka.schemas.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from onemq.protocols.kafka.schemas.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from onemq.protocols.kafka.schemas.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from onemq.protocols.kafka.schemas.heartbeat import HeartbeatRequest, HeartbeatResponse
from onemq.protocols.kafka.schemas.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from onemq.protocols.kafka.schemas.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from onemq.protocols.kafka.schemas.list_groups import ListGroupsRequest, ListGroupsResponse
from onemq.protocols.kafka.schemas.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from onemq.protocols.kafka.schemas.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from onemq.protocols.kafka.schemas.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from onemq.protocols.kafka.schemas.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from tests.unit.protocols.kafka.groups.talk import House, Talk

SUBSCRIPTION = pack(">hih", 1, 1, 1) + b"t" + pack(">i", -1)
ASSIGNMENT = pack(">hih", 1, 1, 1) + b"t" + pack(">iii", 1, 0, -1)
LAST = {"join": 9, "sync": 5, "beat": 4, "leave": 5}


@pytest.fixture
def house() -> House:
    made = House()
    made.topic("t", messages=5)
    return made


class Member:
    def __init__(self, house: House, instance: str | None = None) -> None:
        self.house = house
        self.talk = house.connect()
        self.instance = instance
        self.id = ""
        self.generation = -1

    def join(self, version: int = LAST["join"]) -> JoinGroupResponse:
        """Waits for the others, and comes again with the id that it is given."""
        self.ask_to_join(version)
        self.house.pass_ms(300)
        answer = self.joined()
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            return self.join(version)
        return answer

    def ask_to_join(self, version: int = LAST["join"]) -> None:
        protocols = [JoinGroupRequestProtocol("range", SUBSCRIPTION)]
        request = JoinGroupRequest("g", 1_000, 2_000, self.id, self.instance, "consumer", protocols)
        self.talk.send(request, version)

    def joined(self) -> JoinGroupResponse:
        answer = self.talk.answer(JoinGroupResponse)
        assert answer is not None
        self.id, self.generation = answer.member_id, answer.generation_id
        return answer

    def sync(self, version: int = LAST["sync"]) -> SyncGroupResponse:
        """As a leader that takes everything."""
        rows = [SyncGroupRequestAssignment(self.id, ASSIGNMENT)]
        request = SyncGroupRequest("g", self.generation, self.id, self.instance, "consumer", "range", rows)
        return self.talk.ask(request, SyncGroupResponse, version)

    def beat(self, version: int = LAST["beat"]) -> ErrorCode:
        request = HeartbeatRequest("g", self.generation, self.id, self.instance)
        return ErrorCode(self.talk.ask(request, HeartbeatResponse, version).error_code)

    def commit(self, version: int = 8) -> ErrorCode:
        topics = [OffsetCommitRequestTopic("t", partitions=[OffsetCommitRequestPartition(0, 3)])]
        request = OffsetCommitRequest("g", self.generation, self.id, topics=topics)
        return ErrorCode(self.talk.ask(request, OffsetCommitResponse, version).topics[0].partitions[0].error_code)


@pytest.mark.parametrize("version", range(10))
def test_a_member_joins_in_every_version(house: House, version: int) -> None:
    one = Member(house)
    answer = one.join(version)
    assert (answer.error_code, answer.generation_id, answer.leader) == (0, 1, one.id)
    assert answer.protocol_name == "range"
    assert answer.protocol_type == ("consumer" if version >= 7 else None)
    assert [(each.member_id, each.metadata) for each in answer.members] == [(one.id, SUBSCRIPTION)]
    assert one.id.startswith("tests-")


@pytest.mark.parametrize("version", range(6))
def test_a_member_gets_its_assignment_in_every_version(house: House, version: int) -> None:
    one = Member(house)
    one.join()
    answer = one.sync(version)
    assert (answer.error_code, answer.assignment) == (0, ASSIGNMENT)
    assert answer.protocol_name == ("range" if version >= 5 else None)


@pytest.mark.parametrize("version", range(5))
def test_a_member_shows_that_it_lives_in_every_version(house: House, version: int) -> None:
    one = Member(house)
    one.join()
    one.sync()
    for _ in range(30):
        assert one.beat(version) is ErrorCode.NONE
        house.pass_ms(50)
    assert one.commit() is ErrorCode.NONE
    house.pass_ms(1_100)
    assert one.beat(version) is ErrorCode.UNKNOWN_MEMBER_ID
    assert one.commit() is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", range(6))
def test_a_member_leaves_in_every_version(house: House, version: int) -> None:
    one = Member(house)
    one.join()
    one.sync()
    members = [MemberIdentity(one.id), MemberIdentity("stranger")]
    request = LeaveGroupRequest("g", one.id) if version < 3 else LeaveGroupRequest("g", members=members)
    answer = one.talk.ask(request, LeaveGroupResponse, version)
    assert answer.error_code == ErrorCode.NONE
    codes = [(each.member_id, each.error_code) for each in answer.members]
    assert codes == ([] if version < 3 else [(one.id, 0), ("stranger", ErrorCode.UNKNOWN_MEMBER_ID)])
    answer = one.talk.ask(request, LeaveGroupResponse, version)
    assert (answer.error_code or answer.members[0].error_code) == ErrorCode.UNKNOWN_MEMBER_ID


def test_two_members_wait_for_each_other(house: House) -> None:
    one, two = Member(house), Member(house)
    one.join()
    one.sync()
    two.ask_to_join(3)
    assert two.talk.answer(JoinGroupResponse) is None
    assert one.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    one.ask_to_join()
    assert one.joined().generation_id == two.joined().generation_id == 2


def test_a_connection_that_is_lost_while_it_joins_is_left_out(house: House) -> None:
    one, two = Member(house), Member(house)
    one.join()
    one.sync()
    two.ask_to_join(3)
    with house.turn():
        two.talk.session.lost()
    for _ in range(30):
        one.beat()
        house.pass_ms(50)
    one.ask_to_join()
    assert len(one.joined().members) == 1


def test_other_protocols_see_who_reads_what(house: House) -> None:
    one = Member(house)
    one.join()
    one.sync()
    assert house.core.readers.of("t", "g") == {one.id: [0]}
    one.talk.ask(LeaveGroupRequest("g", one.id), LeaveGroupResponse, 0)
    assert house.core.readers.of("t", "g") == {}


def test_a_group_whose_messages_are_shared_takes_no_other_members(house: House) -> None:
    one, other = Member(house), house.connect()
    heartbeat = ShareGroupHeartbeatRequest("g", "sharer", 0, None, ["t"])
    assert other.ask(heartbeat, ShareGroupHeartbeatResponse, 1).error_code == ErrorCode.NONE
    assert one.join().error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    beat = ConsumerGroupHeartbeatRequest("g", "m", 0, rebalance_timeout_ms=1, subscribed_topic_names=["t"])
    assert other.ask(beat, ConsumerGroupHeartbeatResponse, 1).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert listed(other) == [("g", "share", "Stable", "share")]


# Administration


def described(talk: Talk, name: str = "g", version: int = 5) -> DescribedGroup:
    request = DescribeGroupsRequest([name], include_authorized_operations=version >= 3)
    return talk.ask(request, DescribeGroupsResponse, version).groups[0]


def listed(talk: Talk, version: int = 5, **filters: list[str]) -> list[tuple[str, str, str, str]]:
    answer = talk.ask(ListGroupsRequest(**filters), ListGroupsResponse, version)
    return [(each.group_id, each.protocol_type, each.group_state, each.group_type) for each in answer.groups]


@pytest.mark.parametrize("version", range(7))
def test_groups_are_described_in_every_version(house: House, version: int) -> None:
    one = Member(house, instance="i")
    one.join()
    assert described(one.talk, version=version).group_state == "CompletingRebalance"
    one.sync()
    group = described(one.talk, version=version)
    assert (group.error_code, group.group_state, group.protocol_type) == (0, "Stable", "consumer")
    assert group.protocol_data == "range"
    (member,) = group.members
    assert (member.member_id, member.client_id, member.client_host) == (one.id, "tests", "/10.0.0.1")
    assert member.group_instance_id == ("i" if version >= 4 else None)
    assert (member.member_metadata, member.member_assignment) == (SUBSCRIPTION, ASSIGNMENT)
    missing = described(one.talk, "missing", version)
    assert missing.group_state == "Dead"
    assert missing.error_code == (ErrorCode.GROUP_ID_NOT_FOUND if version >= 6 else 0)


def test_groups_of_all_protocols_are_listed(house: House) -> None:
    one = Member(house)
    one.join()
    one.sync()
    own = house.broker.group("t", "own")
    house.broker.bodies(own, "worker", most=1)
    house.broker.group("t", "idle")
    rows = [("g", "consumer", "Stable", "classic"), ("own", "", "Stable", "classic"), ("idle", "", "Empty", "classic")]
    assert listed(one.talk) == rows
    assert listed(one.talk, states_filter=["empty"]) == rows[2:]
    assert listed(one.talk, types_filter=["Classic"]) == rows
    assert listed(one.talk, types_filter=["share"]) == []
    assert [row[0] for row in listed(one.talk, version=0)] == ["g", "own", "idle"]
    assert [each.member_id for each in described(one.talk, "own").members] == ["worker"]
    assert described(one.talk, "idle").group_state == "Empty"


def deleted(talk: Talk, *names: str, version: int = 2) -> list[ErrorCode]:
    answer = talk.ask(DeleteGroupsRequest(list(names)), DeleteGroupsResponse, version)
    return [ErrorCode(each.error_code) for each in answer.results]


@pytest.mark.parametrize("version", range(3))
def test_groups_without_members_are_deleted(house: House, version: int) -> None:
    one = Member(house)
    one.join()
    one.sync()
    one.commit()
    house.topic("u")
    house.broker.group("u", "g")
    own = house.broker.group("t", "own")
    house.broker.bodies(own, most=1)
    busy = ErrorCode.NON_EMPTY_GROUP
    assert deleted(one.talk, "g", "own", "x", version=version) == [busy, busy, ErrorCode.GROUP_ID_NOT_FOUND]
    one.talk.ask(LeaveGroupRequest("g", one.id), LeaveGroupResponse, 0)
    assert deleted(one.talk, "g", version=version) == [ErrorCode.NONE]
    assert [topic.groups.keys() for topic in house.service.topics.all()] == [{"own"}, set()]
    assert [row[0] for row in listed(one.talk)] == ["own"]


def test_offsets_of_topics_that_members_read_are_not_deleted(house: House) -> None:
    one = Member(house)
    house.topic("u")
    house.broker.group("u", "g")
    one.join()
    one.sync()
    one.commit()
    request = OffsetDeleteRequest(
        "g", [OffsetDeleteRequestTopic(name, [OffsetDeleteRequestPartition(0)]) for name in ("t", "u")]
    )
    answer = one.talk.ask(request, OffsetDeleteResponse, 0)
    codes = [topic.partitions[0].error_code for topic in answer.topics]
    assert codes == [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, ErrorCode.NONE]
