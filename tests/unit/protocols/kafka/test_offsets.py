"""ListOffsets, OffsetForLeaderEpoch, DeleteRecords."""

from typing import Any

import pytest

from onemq.core.topics import TopicConfig
from onemq.protocols.kafka.errors import ErrorCode
from onemq.protocols.kafka.schemas.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from onemq.protocols.kafka.schemas.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from onemq.protocols.kafka.schemas.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.unit.protocols.kafka.batches import produce_request, sealed
from tests.unit.protocols.kafka.fakes import NOW_MS, Client


@pytest.fixture(params=["staged", "stored", "both"])
def client(request: pytest.FixtureRequest) -> Client:
    client = Client()
    client.core.topics.create("t")
    client.turn(NOW_MS)
    client.ask(produce_request("t", sealed(b"a", b"b", b"c", times_ms=[100, 300, 200])), 9)
    if request.param == "both":
        client.turn()
    client.ask(produce_request("t", sealed(b"d", b"e", times_ms=[150, 400])), 9)
    if request.param == "stored":
        client.turn()
    return client


def ask(client: Client, timestamp: int, topic: str = "t", number: int = 0, version: int = 11, epoch: int = -1) -> Any:
    parts = [ListOffsetsPartition(number, epoch, timestamp)]
    answer = client.ask(ListOffsetsRequest(topics=[ListOffsetsTopic(topic, parts)]), version)
    return answer.topics[0].partitions[0]


@pytest.mark.parametrize(
    ("timestamp", "offset", "time_ms"),
    [(-2, 0, -1), (-1, 5, -1), (-4, 0, -1), (-5, -1, -1), (-3, 4, 400), (0, 0, 100), (101, 1, 300), (300, 1, 300),
     (301, 4, 400), (401, -1, -1)],
)  # fmt: skip
def test_offsets_are_found_by_time(client: Client, timestamp: int, offset: int, time_ms: int) -> None:
    answer = ask(client, timestamp)
    assert (answer.error_code, answer.offset, answer.timestamp) == (0, offset, time_ms)
    assert answer.leader_epoch == (0 if offset >= 0 else -1)


@pytest.mark.parametrize("version", range(1, 12))
def test_every_version_is_answered(client: Client, version: int) -> None:
    assert ask(client, -1, version=version).offset == 5


@pytest.mark.parametrize(("timestamp", "since"), [(-1, 1), (-2, 1), (-3, 7), (-4, 8), (-5, 9), (-6, 11), (-7, 12)])
def test_what_is_no_time_can_be_asked_for_since_some_version(client: Client, timestamp: int, since: int) -> None:
    told = [version for version in range(1, 12) if ask(client, timestamp, version=version).error_code == 0]
    assert told == list(range(since, 12))
    assert ask(client, -7).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_what_is_not_there_is_told(client: Client) -> None:
    assert ask(client, -1, "nothing").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert ask(client, -1, number=1).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert ask(client, -1, epoch=1).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


def test_an_empty_partition_has_no_latest_time() -> None:
    client = Client()
    client.core.topics.create("t")
    assert (ask(client, -3).offset, ask(client, 0).offset, ask(client, -1).offset) == (-1, -1, 0)


def test_an_epoch_ends_where_the_partition_does(client: Client) -> None:
    wanted = [OffsetForLeaderPartition(0, -1, 0), OffsetForLeaderPartition(0, -1, 7), OffsetForLeaderPartition(9)]
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic("t", wanted)])
    for version in (2, 3, 4):
        answers = client.ask(request, version).topics[0].partitions
        assert [(each.error_code, each.leader_epoch, each.end_offset) for each in answers] == [
            (0, 0, 5), (0, -1, -1), (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1),
        ]  # fmt: skip


def delete(client: Client, offset: int, topic: str = "t", version: int = 2) -> tuple[int, int]:
    request = DeleteRecordsRequest([DeleteRecordsTopic(topic, [DeleteRecordsPartition(0, offset)])])
    answer = client.ask(request, version).topics[0].partitions[0]
    return answer.error_code, answer.low_watermark


def test_messages_before_an_offset_are_deleted(client: Client) -> None:
    client.turn()
    assert delete(client, 2) == (0, 2)
    assert delete(client, 1, version=0) == (0, 2)
    assert delete(client, 6) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert ask(client, -2).offset == 2
    assert delete(client, -1) == (0, 5)
    client.turn()
    assert ask(client, -2).offset == ask(client, -1).offset == 5


def test_compacted_topics_keep_their_messages(client: Client) -> None:
    client.core.topics.create("compacted", config=TopicConfig(compact=True))
    assert delete(client, 0, "compacted") == (ErrorCode.POLICY_VIOLATION, -1)
    assert delete(client, 0, "nothing") == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
