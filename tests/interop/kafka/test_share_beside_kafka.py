"""The same requests of share consumers to OneMQ and to a real Apache Kafka, which answer alike."""

import socket
import time
from collections.abc import Callable, Iterator
from struct import unpack
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic
from msgspec.structs import astuple

from onemq.protocols.kafka.codec import decode
from onemq.protocols.kafka.errors import ErrorCode
from onemq.protocols.kafka.schemas import share_acknowledge, share_fetch
from onemq.protocols.kafka.schemas.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from onemq.protocols.kafka.schemas.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from onemq.protocols.kafka.schemas.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from onemq.protocols.kafka.schemas.share_fetch import ShareFetchRequest, ShareFetchResponse
from onemq.protocols.kafka.schemas.share_group_describe import ShareGroupDescribeRequest, ShareGroupDescribeResponse
from onemq.protocols.kafka.schemas.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from tests.apache_kafka import ApacheKafka, missing
from tests.process import Serve
from tests.unit.protocols.kafka.fakes import framed

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
    pytest.mark.xdist_group("apache-kafka"),
]

MEMBER = "c2hhcmUtbWVtYmVyLTEyMw"
ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4
SECONDS_MAX = 60
NOT_YET = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)
Batch = tuple[int, int, list[int]]


class Raw:
    """A share consumer that sends what a test tells it to."""

    def __init__(self, port: int, topic: str) -> None:
        self._connection = socket.create_connection(("127.0.0.1", port), timeout=SECONDS_MAX)
        self._numbers = 0
        (row,) = self.ask(MetadataRequest([MetadataRequestTopic(name=topic)]), 12, MetadataResponse).topics
        self.topic_id = row.topic_id
        self.topic = topic
        self._find_coordinator()

    def _find_coordinator(self) -> None:
        """Waits until the server is ready for the group."""
        give_up = time.monotonic() + SECONDS_MAX
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=["beside"])
        while (
            self.ask(request, 4, FindCoordinatorResponse).coordinators[0].error_code
            or self.heartbeat(99).error_code in NOT_YET
        ):
            assert time.monotonic() < give_up, "there is no coordinator"
            time.sleep(0.2)

    def ask(self, request: Any, version: int, response: type[Any]) -> Any:
        self._numbers += 1
        self._connection.sendall(framed(request, version, self._numbers))
        (size,) = unpack(">i", self._exactly(4))
        return decode(response, version, bytes(4) + self._exactly(size), 9)

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self._connection.recv(size - len(data))
            assert more, "the connection was closed"
            data += more
        return data

    def close(self) -> None:
        self._connection.close()

    def heartbeat(self, epoch: int, topics: list[str] | None = None, member: str = MEMBER) -> Any:
        request = ShareGroupHeartbeatRequest("beside", member, epoch, None, topics)
        return self.ask(request, 1, ShareGroupHeartbeatResponse)

    def fetch(self, epoch: int, acks: list[Batch] | None = None, named: bool = True, **more: Any) -> Any:
        rows = [share_fetch.AcknowledgementBatch(*batch) for batch in acks or ()]
        topics = [share_fetch.FetchTopic(self.topic_id, [share_fetch.FetchPartition(0, rows)])] if named else []
        fields = {"max_wait_ms": 200, "min_bytes": 1, "max_bytes": 1 << 20, "max_records": 100, "batch_size": 100}
        fields |= more
        request = ShareFetchRequest("beside", MEMBER, epoch, topics=topics, **fields)
        return self.ask(request, 2, ShareFetchResponse)

    def describe(self, group: str, with_operations: bool = False) -> Any:
        """The group as administrators see it; of the epochs, only which of them are the same."""
        request = ShareGroupDescribeRequest([group], with_operations)
        (row,) = self.ask(request, 1, ShareGroupDescribeResponse).groups
        members = [
            (each.member_id, each.rack_id, each.client_id, each.client_host, each.member_epoch == row.group_epoch,
             [name == self.topic for name in each.subscribed_topic_names],
             [(place.topic_id == self.topic_id, place.topic_name == self.topic, place.partitions)
              for place in each.assignment.topic_partitions])
            for each in row.members
        ]  # fmt: skip
        return (ErrorCode(row.error_code).name, row.group_id, row.group_state, row.assignor_name,
                row.assignment_epoch == row.group_epoch or not members, row.authorized_operations, members)  # fmt: skip

    def acknowledge(self, epoch: int, *batches: Batch, renewing: bool = False) -> Any:
        rows = [share_acknowledge.AcknowledgementBatch(*batch) for batch in batches]
        partitions = [share_acknowledge.AcknowledgePartition(0, rows)]
        topics = [share_acknowledge.AcknowledgeTopic(self.topic_id, partitions)]
        request = ShareAcknowledgeRequest("beside", MEMBER, epoch, renewing, topics)
        return self.ask(request, 2, ShareAcknowledgeResponse)


def acquired(answer: Any) -> list[Any]:
    rows = [row for topic in answer.responses for row in topic.partitions]
    return [astuple(each) for row in rows for each in row.acquired_records]


def codes(answer: Any) -> tuple[str, list[str]]:
    """The error of an answer, and those of its acknowledgements."""
    rows = [row for topic in answer.responses for row in topic.partitions]
    each = [getattr(row, "acknowledge_error_code", row.error_code) for row in rows]
    return ErrorCode(answer.error_code).name, [ErrorCode(code).name for code in each]


@pytest.fixture(scope="module")
def ports(kafka: Serve) -> Iterator[tuple[int, int]]:
    with ApacheKafka() as theirs:
        theirs.wait_until_serving()
        yield kafka.kafka_port, theirs.port


def prepared(port: int, topic: str) -> Raw:
    """A topic with six messages, and a group that begins with the first of them."""
    address = {"bootstrap.servers": f"127.0.0.1:{port}"}
    admin = AdminClient(address)
    admin.create_topics([NewTopic(topic, 1)])[topic].result(SECONDS_MAX)
    earliest = ConfigEntry("share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET)
    group = ConfigResource(ConfigResource.Type.GROUP, "beside", incremental_configs=[earliest])
    admin.incremental_alter_configs([group])[group].result(SECONDS_MAX)
    producer = Producer(address)
    for number in range(6):
        producer.produce(topic, b"%d" % number)
    assert producer.flush(SECONDS_MAX) == 0
    return Raw(port, topic)


def member_story(raw: Raw) -> Iterator[Any]:
    """What a member is told."""
    yield ErrorCode(raw.heartbeat(3).error_code).name
    yield ErrorCode(raw.heartbeat(0).error_code).name
    yield ErrorCode(raw.heartbeat(0, [raw.topic], member="").error_code).name
    joined = raw.heartbeat(0, [raw.topic])
    yield joined.error_code, joined.member_id, joined.heartbeat_interval_ms
    epoch = joined.member_epoch
    yield ErrorCode(raw.heartbeat(epoch + 7).error_code).name
    left = raw.heartbeat(-1)
    yield left.error_code, left.member_epoch
    yield ErrorCode(raw.heartbeat(epoch).error_code).name


def described_story(raw: Raw) -> Iterator[Any]:
    """What administrators are told of a group."""
    yield raw.describe("nobody-of-that-name")
    joined_and_fetching(raw)
    yield raw.describe("beside")
    yield raw.describe("beside", with_operations=True)
    raw.fetch(-1, named=False)
    raw.heartbeat(-1)
    yield raw.describe("beside")


def session_story(raw: Raw) -> Iterator[Any]:
    """What a share session is told, of messages that were acquired, and of those that were not."""
    yield codes(raw.fetch(1))
    yield codes(raw.fetch(-1, named=False))
    yield codes(raw.acknowledge(1, (0, 0, [ACCEPT])))
    yield codes(raw.fetch(0, [(0, 0, [ACCEPT])]))
    assignment, got, epoch = joined_and_fetching(raw)
    yield assignment, got
    yield codes(raw.acknowledge(0, (0, 0, [ACCEPT])))
    yield codes(raw.acknowledge(epoch + 5, (0, 0, [ACCEPT])))
    yield codes(raw.acknowledge(epoch, (0, 0, [ACCEPT]), (1, 1, [RELEASE]), (2, 2, [REJECT])))
    for step, batches in enumerate(WRONG, 1):
        yield batches, codes(raw.acknowledge(epoch + step, *batches))
    epoch += len(WRONG) + 1
    yield codes(raw.acknowledge(epoch, (3, 3, [RENEW]), renewing=True))
    again = raw.fetch(epoch + 1, [(3, 4, [ACCEPT, RELEASE])])
    yield codes(again)
    got, epoch = gathered(raw, again, 2, epoch + 2)
    yield got
    yield codes(raw.fetch(epoch, [(5, 5, [ACCEPT])], max_records=0, max_wait_ms=0))
    yield codes(raw.acknowledge(-1, (1, 1, [ACCEPT])))
    yield codes(raw.fetch(epoch + 1))


WRONG: list[list[Batch]] = [
    [(0, 0, [ACCEPT])],
    [(3, 3, [9])],
    [(3, 3, [-1])],
    [(3, 4, [ACCEPT, ACCEPT, ACCEPT])],
    [(3, 4, [])],
    [(4, 3, [ACCEPT])],
    [(3, 4, [ACCEPT]), (4, 5, [ACCEPT])],
    [(100, 100, [ACCEPT])],
    [(3, 3, [RENEW])],
]
"""Acknowledgements that are refused."""


def joined_and_fetching(raw: Raw) -> tuple[Any, list[Any], int]:
    """Joins, and opens a session that has acquired what is there: (assignment, acquired, next epoch)."""
    answer = raw.heartbeat(0, [raw.topic])
    give_up = time.monotonic() + SECONDS_MAX
    while answer.assignment is None or not answer.assignment.topic_partitions:
        assert time.monotonic() < give_up, "nothing was assigned"
        time.sleep(0.2)
        answer = raw.heartbeat(answer.member_epoch)
    assignment = [row.partitions for row in answer.assignment.topic_partitions]
    return assignment, *gathered(raw, raw.fetch(0), 1, 1)


def gathered(raw: Raw, fetched: Any, runs: int, epoch: int) -> tuple[list[Any], int]:
    """So many runs of acquired messages, beginning with those of an answer, and the next epoch."""
    give_up = time.monotonic() + SECONDS_MAX
    got = acquired(fetched)
    while len(got) < runs:
        assert time.monotonic() < give_up, f"only {got} was acquired"
        got += acquired(raw.fetch(epoch, named=False))
        epoch += 1
    return got, epoch


@pytest.mark.parametrize("story", [member_story, described_story, session_story])
def test_both_tell_the_same_story(
    ports: tuple[int, int], topic: str, story: Callable[[Raw], Iterator[Any]]
) -> None:
    told = []
    for port in ports:
        raw = prepared(port, f"{topic}-{port}")
        try:
            told.append(list(story(raw)))
        finally:
            raw.close()
    ours, theirs = told
    assert [pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]] == []
