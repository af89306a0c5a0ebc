"""The same requests about groups to Apache Kafka and to OneMQ: the answers are the same."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from struct import pack
from typing import Any

import pytest

from onemq.protocols.kafka.errors import ErrorCode
from onemq.protocols.kafka.schema import Message
from onemq.protocols.kafka.schemas.consumer_group_describe import ConsumerGroupDescribeRequest
from onemq.protocols.kafka.schemas.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from onemq.protocols.kafka.schemas.delete_groups import DeleteGroupsRequest
from onemq.protocols.kafka.schemas.describe_groups import DescribeGroupsRequest
from onemq.protocols.kafka.schemas.find_coordinator import FindCoordinatorRequest
from onemq.protocols.kafka.schemas.heartbeat import HeartbeatRequest
from onemq.protocols.kafka.schemas.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from onemq.protocols.kafka.schemas.leave_group import LeaveGroupRequest, MemberIdentity
from onemq.protocols.kafka.schemas.list_groups import ListGroupsRequest
from onemq.protocols.kafka.schemas.metadata import MetadataRequest, MetadataRequestTopic
from onemq.protocols.kafka.schemas.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from onemq.protocols.kafka.schemas.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from onemq.protocols.kafka.schemas.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from onemq.protocols.kafka.schemas.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests import apache_kafka
from tests.apache_kafka import ApacheKafka
from tests.interop.kafka.raw import Raw
from tests.process import Serve
from tests.unit.protocols.kafka.fakes import framed

MISSING = apache_kafka.missing()
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(MISSING is not None, reason=str(MISSING)),
    pytest.mark.xdist_group("apache-kafka"),
]

SETTINGS = ("group.min.session.timeout.ms=100", "group.max.size=4", "num.partitions=3")
SUBSCRIPTION = pack(">hih", 1, 1, 1) + b"t" + pack(">i", -1)
NO_MATTER = ("throttle_time_ms", "error_message", "committed_leader_epoch", "client_host")
TOPIC_IDS_SINCE = 10
"""The version of OffsetCommit and OffsetFetch from which on topics have ids there instead of names."""
STRANGER = bytes(15) + b"1"


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int]]:
    """Of Apache Kafka and of OneMQ, both with the topic `t`."""
    folder = tmp_path_factory.mktemp("beside")
    config = folder / "onemq.toml"
    config.write_text("[kafka]\npartitions = 3\n")
    with ApacheKafka(*SETTINGS) as apache, Serve(folder / "data", "--config", str(config), kafka=True) as serve:
        serve.wait_until_serving()
        for port in (apache.port, serve.kafka_port):
            _prepare(port)
        yield apache.port, serve.kafka_port


class Client(Raw):
    """A connection that may wait for an answer while others ask."""

    _waits: tuple[Message, int]

    def post(self, request: Message, version: int) -> None:
        self._waits = (request, version)
        self.send(framed(request, version))

    def take(self) -> Any:
        return self.answer(*self._waits)


def _prepare(port: int) -> None:
    give_up = time.monotonic() + 60
    with Client(port) as client:
        while True:
            topics = client.ask(MetadataRequest([MetadataRequestTopic(name="t")], True), 9).topics
            found = client.ask(FindCoordinatorRequest(key="g"), 2)
            join = JoinGroupRequest("warm", 6_000, 6_000, "", None, "", [])
            ready = client.ask(join, 5).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
            if topics[0].error_code == 0 and len(topics[0].partitions) == 3 and found.error_code == 0 and ready:
                return
            assert time.monotonic() < give_up
            time.sleep(0.1)


class Scene:
    """One broker, and what was observed of it, with names instead of the ids that it makes up."""

    def __init__(self, port: int, group: str) -> None:
        self.port = port
        self.group = group
        self.seen: list[object] = []
        self._names: dict[str, str] = {"": ""}
        self._clients: list[Client] = []
        self.client = self.connect()
        (topic,) = self.client.ask(MetadataRequest([MetadataRequestTopic(name="t")]), 12).topics
        self._topic_id = topic.topic_id

    def connect(self) -> Client:
        self._clients.append(Client(self.port))
        return self._clients[-1]

    def close(self) -> None:
        for client in self._clients:
            client.socket.close()

    def id_of(self, topic: str) -> bytes:
        return self._topic_id if topic == "t" else STRANGER

    def see(self, answer: Any) -> Any:
        """Notes an answer, and returns it."""
        self.seen.append(self._plain(answer))
        return answer

    def _plain(self, value: Any, name: str = "") -> object:
        if isinstance(value, list):
            rows = [self._plain(each) for each in value]
            return sorted(rows, key=repr)
        if hasattr(value, "__struct_fields__"):
            fields = [each for each in value.__struct_fields__ if each not in NO_MATTER]
            return (type(value).__name__, {each: self._plain(getattr(value, each), each) for each in fields})
        if name == "topic_id":
            return "t" if value == self._topic_id else value
        if name in ("member_id", "leader") and isinstance(value, str):
            return self._names.setdefault(value, f"member {len(self._names)}")
        return ErrorCode(value).name if name == "error_code" else value


class Member:
    """A member that a scene asks for things."""

    def __init__(self, scene: Scene, instance: str | None = None) -> None:
        self.scene = scene
        self.client = scene.connect()
        self.instance = instance
        self.id = ""
        self.generation = -1

    def send_join(self, version: int = 5, **changes: Any) -> None:
        fields: dict[str, Any] = {
            "group_id": self.scene.group,
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 10_000,
            "member_id": self.id,
            "group_instance_id": self.instance,
            "protocol_type": "consumer",
            "protocols": [JoinGroupRequestProtocol("range", SUBSCRIPTION)],
        }
        self.client.post(JoinGroupRequest(**(fields | changes)), version)

    def take_join(self) -> Any:
        answer = self.client.take()
        if answer.error_code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            self.id, self.generation = answer.member_id, answer.generation_id
        return self.scene.see(answer)

    def join(self, version: int = 5, **changes: Any) -> Any:
        self.send_join(version, **changes)
        return self.take_join()

    def enter(self, version: int = 5) -> None:
        """With the id that it is given first."""
        if self.instance is None and version >= 4:
            self.join(version)
        self.join(version)

    def send_sync(self, assignment: bytes | None = None, version: int = 5, **changes: Any) -> None:
        rows = [] if assignment is None else [SyncGroupRequestAssignment(self.id, assignment)]
        fields: dict[str, Any] = {
            "group_id": self.scene.group,
            "generation_id": self.generation,
            "member_id": self.id,
            "group_instance_id": self.instance,
            "protocol_type": "consumer",
            "protocol_name": "range",
            "assignments": rows,
        }
        self.client.post(SyncGroupRequest(**(fields | changes)), version)

    def sync(self, assignment: bytes | None = None, version: int = 5, **changes: Any) -> None:
        self.send_sync(assignment, version, **changes)
        self.scene.see(self.client.take())

    def beat(self, generation: int | None = None) -> None:
        told = self.generation if generation is None else generation
        self.scene.see(self.client.ask(HeartbeatRequest(self.scene.group, told, self.id, self.instance), 4))

    def commit(self, version: int = 8, offset: int = 0, number: int = 0, **changes: Any) -> None:
        rows = [OffsetCommitRequestPartition(number, offset, committed_metadata="text")]
        fields: dict[str, Any] = {
            "group_id": self.scene.group,
            "generation_id_or_member_epoch": self.generation,
            "member_id": self.id,
            "group_instance_id": self.instance,
            "topics": [OffsetCommitRequestTopic("t", self.scene.id_of("t"), rows)],
        }
        self.scene.see(self.client.ask(OffsetCommitRequest(**(fields | changes)), version))

    def leave(self, version: int = 5, *others: MemberIdentity) -> None:
        if version < 3:
            request = LeaveGroupRequest(self.scene.group, self.id)
        else:
            request = LeaveGroupRequest(self.scene.group, members=[MemberIdentity(self.id, self.instance), *others])
        self.scene.see(self.client.ask(request, version))


def describe(scene: Scene, version: int = 6) -> None:
    scene.see(scene.client.ask(DescribeGroupsRequest([scene.group], version > 2), version))


def described_by_broker(scene: Scene) -> None:
    """What ConsumerGroupDescribe says; of the epochs, only which of them are the same."""
    for version in (0, 1):
        for everything in (False, True):
            answer = scene.client.ask(ConsumerGroupDescribeRequest([scene.group], everything), version)
            (group,) = answer.groups
            scene.see([member.member_epoch == group.group_epoch for member in group.members])
            scene.see(group.assignment_epoch == group.group_epoch or not group.members)
            group.group_epoch = group.assignment_epoch = 0
            for member in group.members:
                member.member_epoch = 0
                assert member.client_host == "/127.0.0.1"
            scene.see(answer)


def listed(scene: Scene, version: int = 5, **filters: list[str]) -> None:
    answer = scene.client.ask(ListGroupsRequest(**filters), version)
    answer.groups = [each for each in answer.groups if each.group_id == scene.group]
    scene.see(answer)


def offsets(scene: Scene, version: int = 8, numbers: tuple[int, ...] = (0, 1), topic: str = "t") -> None:
    if version < 8:
        request = OffsetFetchRequest(scene.group, [OffsetFetchRequestTopic(topic, list(numbers))])
    else:
        wanted = [OffsetFetchRequestTopics(topic, scene.id_of(topic), list(numbers))]
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(scene.group, topics=wanted)])
    scene.see(scene.client.ask(request, version))


# Scenes


def one_member(scene: Scene) -> None:
    one = Member(scene)
    one.enter()
    describe(scene)
    listed(scene)
    one.beat()
    one.commit()
    one.sync(b"mine", protocol_name=None)
    one.sync(b"mine", protocol_name="other")
    one.sync(b"mine")
    describe(scene)
    describe(scene, 0)
    described_by_broker(scene)
    listed(scene)
    one.beat()
    one.beat(generation=7)
    one.commit()
    one.commit(generation_id_or_member_epoch=9)
    one.commit(member_id="stranger")
    one.commit(generation_id_or_member_epoch=-1, member_id="")
    one.join()
    one.leave()
    one.leave()
    describe(scene)
    listed(scene)
    one.beat()
    one.commit()
    one.commit(generation_id_or_member_epoch=-1, member_id="")
    offsets(scene)


def every_version(scene: Scene) -> None:
    for version in range(10):
        one = Member(scene)
        one.enter(version)
        one.sync(b"mine", min(version, 5))
        one.beat()
        one.leave(min(version, 5))


def two_members(scene: Scene) -> None:
    one, two = Member(scene), Member(scene)
    one.enter()
    one.sync(b"mine")
    two.join()
    two.send_join()
    _until_rebalance(one)
    one.commit()
    one.sync()
    describe(scene)
    one.send_join()
    one.take_join()
    two.take_join()
    two.commit()
    two.beat()
    two.send_sync()
    one.sync(b"leader")
    scene.see(two.client.take())
    two.sync()
    two.join()
    two.join(protocols=[JoinGroupRequestProtocol("other", SUBSCRIPTION)])
    two.join(protocol_type="connect")
    two.leave()
    _until_rebalance(one)
    one.join()
    one.leave()


def _until_rebalance(member: Member) -> None:
    """The broker may take a moment to begin it."""
    give_up = time.monotonic() + 10
    request = HeartbeatRequest(member.scene.group, member.generation, member.id, member.instance)
    while member.client.ask(request, 4).error_code != ErrorCode.REBALANCE_IN_PROGRESS:
        assert time.monotonic() < give_up
        time.sleep(0.01)
    member.beat()


def strangers(scene: Scene) -> None:
    stranger = Member(scene)
    stranger.id, stranger.generation = "stranger", 3
    stranger.beat()
    stranger.sync()
    stranger.commit()
    stranger.commit(version=9)
    stranger.join()
    stranger.leave()
    stranger.leave(2)
    describe(scene)
    describe(scene, 5)
    described_by_broker(scene)
    listed(scene)
    offsets(scene)
    scene.see(scene.client.ask(DeleteGroupsRequest([scene.group]), 2))
    stranger.id = ""
    stranger.join(group_id="")
    stranger.join(session_timeout_ms=10)
    stranger.join(session_timeout_ms=10_000_000)
    stranger.join(protocols=[])
    stranger.join(protocol_type="")


def static_members(scene: Scene) -> None:
    one, two = Member(scene, "i1"), Member(scene, "i2")
    one.enter()
    one.sync(b"one")
    two.send_join()
    _until_rebalance(one)
    one.send_join()
    one.take_join()
    two.take_join()
    two.send_sync()
    one.sync(b"one")
    scene.see(two.client.take())
    again = Member(scene, "i2")
    again.join()
    again.sync()
    again.beat()
    two.beat()
    two.commit()
    two.join()
    two.leave()
    for version in (5, 9):
        leader = Member(scene, "i1")
        leader.join(version)
        leader.sync()
    describe(scene)
    unknown = Member(scene, "i3")
    unknown.id, unknown.generation = again.id, again.generation
    unknown.beat()
    unknown.commit()
    remover = MemberIdentity("", "i1"), MemberIdentity("", "i9"), MemberIdentity("x", "i1")
    again.leave(5, *remover)
    describe(scene)


def simple_offsets(scene: Scene) -> None:
    lone = Member(scene)
    for version in range(2, 11):
        lone.commit(version, offset=0, number=version % 3)
        lone.commit(version, number=7)
        unknown = OffsetCommitRequestTopic("none", STRANGER, [OffsetCommitRequestPartition(0, 1)])
        lone.commit(version, topics=[unknown])
    for version in range(1, 11):
        offsets(scene, version, (0, 1, 2, 7))
        offsets(scene, version, (0,), "none")
    for version in (2, 7):
        scene.see(scene.client.ask(OffsetFetchRequest(scene.group, None), version))
    for version in (8, 9, 10):
        every = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(scene.group, topics=None)])
        scene.see(scene.client.ask(every, version))
    listed(scene)
    listed(scene, states_filter=["Empty"])
    listed(scene, states_filter=["Stable"])
    listed(scene, types_filter=["consumer"])
    listed(scene, types_filter=["classic"])
    describe(scene)
    delete_offsets(scene, "t", 0, 7)
    delete_offsets(scene, "none", 0)
    offsets(scene)
    for version in range(3):
        scene.see(scene.client.ask(DeleteGroupsRequest([scene.group]), version))
    delete_offsets(scene, "t", 0)
    offsets(scene)


def delete_offsets(scene: Scene, topic: str, *numbers: int) -> None:
    rows = [OffsetDeleteRequestPartition(each) for each in numbers]
    scene.see(scene.client.ask(OffsetDeleteRequest(scene.group, [OffsetDeleteRequestTopic(topic, rows)]), 0))


def deleting_in_use(scene: Scene) -> None:
    one = Member(scene)
    one.enter()
    one.sync(b"mine")
    one.commit()
    delete_offsets(scene, "t", 0)
    delete_offsets(scene, "u", 0)
    scene.see(scene.client.ask(DeleteGroupsRequest([scene.group]), 2))
    other = Member(scene)
    scene.group, group = f"{scene.group}-connect", scene.group
    other.join(protocol_type="connect")
    other.join(protocol_type="connect")
    other.sync(b"")
    delete_offsets(scene, "t", 0)
    other.leave()
    scene.group = group
    one.leave()


class ConsumerMember:
    """A member of a group whose partitions the broker shares out."""

    def __init__(self, scene: Scene, name: str) -> None:
        self.scene = scene
        self.name = name
        self.epoch = 0
        self.told: list[TopicPartitions] = []

    def ask(self, **changes: Any) -> Any:
        fields: dict[str, Any] = {"group_id": self.scene.group, "member_id": self.name, "member_epoch": self.epoch}
        if self.epoch == 0:
            fields |= {"rebalance_timeout_ms": 5_000, "subscribed_topic_names": ["t"], "topic_partitions": []}
        answer = self.scene.client.ask(ConsumerGroupHeartbeatRequest(**(fields | changes)), 1)
        answer.heartbeat_interval_ms = min(answer.heartbeat_interval_ms, 1)
        if answer.assignment is not None:
            self.told, answer.assignment = answer.assignment.topic_partitions, None
        return answer

    def beat(self, **changes: Any) -> None:
        """Notes the answer, but for the number of the epoch: Kafka may share out later, in another one."""
        answer = self.ask(**changes)
        if answer.error_code == 0:
            self.epoch, answer.member_epoch = max(answer.member_epoch, 0), min(answer.member_epoch, 1)
        self.scene.see(answer)

    def until(self, size: int, **changes: Any) -> None:
        """Until it is told of so many partitions."""
        give_up = time.monotonic() + 20
        while True:
            answer = self.ask(**changes)
            assert answer.error_code == 0, answer
            self.epoch = answer.member_epoch
            if sum(len(each.partitions) for each in self.told) == size:
                return
            assert time.monotonic() < give_up, answer
            time.sleep(0.05)

    def settle(self) -> None:
        """Has what it was told, and comes to the newest epoch."""
        for _ in range(40):
            self.epoch = self.ask(topic_partitions=self.told).member_epoch
            time.sleep(0.05)


def broker_shares_out(scene: Scene) -> None:
    one, two, three = (ConsumerMember(scene, name) for name in ("one", "two", "three"))
    one.until(3)
    one.settle()
    old_epoch = one.epoch
    described_by_broker(scene)
    one.beat()
    one.beat(member_epoch=99)
    ConsumerMember(scene, "stranger").beat(member_epoch=3)
    two.beat()
    one.until(2)
    assert one.epoch == old_epoch
    two.beat()
    one.settle()
    two.until(1)
    two.settle()
    one.settle()
    described_by_broker(scene)
    one.beat(member_epoch=old_epoch)
    one.beat(server_assignor="magic")
    three.beat(rebalance_timeout_ms=-1)
    three.beat(subscribed_topic_names=None)
    three.beat(topic_partitions=[TopicPartitions(bytes(15) + b"1", [0])])
    three.beat(member_id="")
    three.beat(group_id="")
    lone = Member(scene)
    for lone.id, lone.generation in (("one", one.epoch), ("one", old_epoch), ("stranger", one.epoch), ("", -1)):
        lone.commit(version=9)
        lone.commit(version=10)
    lone.commit(version=8)
    lone.id, lone.generation = "one", one.epoch
    lone.commit(version=8)
    lone.beat()
    listed(scene)
    describe(scene)
    describe(scene, 5)
    for member_id, epoch in (("one", one.epoch), ("one", 99), ("stranger", one.epoch), (None, -1)):
        topics = [OffsetFetchRequestTopics("t", partition_indexes=[0])]
        wanted = OffsetFetchRequestGroup(scene.group, member_id, epoch, topics)
        scene.see(scene.client.ask(OffsetFetchRequest(groups=[wanted]), 9))
        wanted.topics = [OffsetFetchRequestTopics(topic_id=scene.id_of("t"), partition_indexes=[0])]
        scene.see(scene.client.ask(OffsetFetchRequest(groups=[wanted]), 10))
    delete_offsets(scene, "t", 0)
    scene.see(scene.client.ask(DeleteGroupsRequest([scene.group]), 2))
    two.beat(member_epoch=-1)
    two.beat(member_epoch=-1)
    one.beat(member_epoch=-1)
    listed(scene)
    described_by_broker(scene)
    delete_offsets(scene, "t", 0)
    scene.see(scene.client.ask(DeleteGroupsRequest([scene.group]), 2))
    listed(scene)


SCENES = [
    one_member, every_version, two_members, strangers, static_members, simple_offsets, deleting_in_use,
    broker_shares_out,
]  # fmt: skip


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_answers_are_the_same(ports: tuple[int, int], scene: Callable[[Scene], None], tmp_path: Path) -> None:
    seen: list[list[object]] = []
    for port in ports:
        made = Scene(port, f"{scene.__name__}-{tmp_path.name}")
        try:
            scene(made)
        finally:
            made.close()
        seen.append(made.seen)
    apache, ours = seen
    rows = enumerate(zip(apache, ours, strict=True))
    different = [f"{place}: OneMQ\n{own}\nKafka\n{theirs}" for place, (theirs, own) in rows if own != theirs]
    assert not different, "\n".join(different)
