"""Fetch, key 1."""

from typing import Annotated

from onemq.log.stretch import Stretch
from onemq.protocols.kafka.schema import (
    INT32_MAX,
    NO_UUID,
    Frozen,
    Int8,
    Int16,
    Int32,
    Int64,
    Message,
    Records,
    Struct,
    Uuid,
    since,
    tagged,
    until,
)


class ReplicaState(Frozen, frozen=True):
    replica_id: Int32 = -1
    replica_epoch: Int64 = -1


class FetchPartition(Struct):
    partition: Int32 = 0
    current_leader_epoch: Annotated[Int32, since(9)] = -1
    fetch_offset: Int64 = 0
    last_fetched_epoch: Annotated[Int32, since(12)] = -1
    log_start_offset: Annotated[Int64, since(5)] = -1
    partition_max_bytes: Int32 = 0
    replica_directory_id: Annotated[Uuid, since(17), tagged(0)] = NO_UUID
    high_watermark: Annotated[Int64, since(18), tagged(1)] = 9223372036854775807


class FetchTopic(Struct):
    topic: Annotated[str, until(12)] = ""
    topic_id: Annotated[Uuid, since(13)] = NO_UUID
    partitions: list[FetchPartition] = []


class ForgottenTopic(Struct):
    topic: Annotated[str, until(12)] = ""
    topic_id: Annotated[Uuid, since(13)] = NO_UUID
    partitions: list[Int32] = []


class FetchRequest(Message):
    api_key = 1
    versions = range(4, 19)
    flexible_since = 12

    cluster_id: Annotated[str | None, since(12), tagged(0)] = None
    replica_id: Annotated[Int32, until(14)] = -1
    replica_state: Annotated[ReplicaState, since(15), tagged(1)] = ReplicaState()
    max_wait_ms: Int32 = 0
    min_bytes: Int32 = 0
    max_bytes: Int32 = INT32_MAX
    isolation_level: Int8 = 0
    session_id: Annotated[Int32, since(7)] = 0
    session_epoch: Annotated[Int32, since(7)] = -1
    topics: list[FetchTopic] = []
    forgotten_topics_data: Annotated[list[ForgottenTopic], since(7)] = []
    rack_id: Annotated[str, since(11)] = ""


class EpochEndOffset(Frozen, frozen=True):
    epoch: Int32 = -1
    end_offset: Int64 = -1


class LeaderIdAndEpoch(Frozen, frozen=True):
    leader_id: Int32 = -1
    leader_epoch: Int32 = -1


class SnapshotId(Frozen, frozen=True):
    end_offset: Int64 = -1
    epoch: Int32 = -1


class AbortedTransaction(Struct):
    producer_id: Int64 = 0
    first_offset: Int64 = 0


class PartitionData(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0
    high_watermark: Int64 = 0
    last_stable_offset: Int64 = -1
    log_start_offset: Annotated[Int64, since(5)] = -1
    diverging_epoch: Annotated[EpochEndOffset, since(12), tagged(0)] = EpochEndOffset()
    current_leader: Annotated[LeaderIdAndEpoch, since(12), tagged(1)] = LeaderIdAndEpoch()
    snapshot_id: Annotated[SnapshotId, since(12), tagged(2)] = SnapshotId()
    aborted_transactions: list[AbortedTransaction] | None = []
    preferred_read_replica: Annotated[Int32, since(11)] = -1
    records: Records | Stretch | None = None


class FetchableTopicResponse(Struct):
    topic: Annotated[str, until(12)] = ""
    topic_id: Annotated[Uuid, since(13)] = NO_UUID
    partitions: list[PartitionData] = []


class NodeEndpoint(Struct):
    node_id: Int32 = 0
    host: str = ""
    port: Int32 = 0
    rack: str | None = None


class FetchResponse(Message):
    api_key = 1
    versions = range(4, 19)
    flexible_since = 12

    throttle_time_ms: Int32 = 0
    error_code: Annotated[Int16, since(7)] = 0
    session_id: Annotated[Int32, since(7)] = 0
    responses: list[FetchableTopicResponse] = []
    node_endpoints: Annotated[list[NodeEndpoint], since(16), tagged(0)] = []
