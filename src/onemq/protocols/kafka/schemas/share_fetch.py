"""ShareFetch, key 78."""

from typing import Annotated

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
)


class AcknowledgementBatch(Struct):
    first_offset: Int64 = 0
    last_offset: Int64 = 0
    acknowledge_types: list[Int8] = []


class FetchPartition(Struct):
    partition_index: Int32 = 0
    acknowledgement_batches: list[AcknowledgementBatch] = []


class FetchTopic(Struct):
    topic_id: Uuid = NO_UUID
    partitions: list[FetchPartition] = []


class ForgottenTopic(Struct):
    topic_id: Uuid = NO_UUID
    partitions: list[Int32] = []


class ShareFetchRequest(Message):
    api_key = 78
    versions = range(1, 3)
    flexible_since = 0

    group_id: str | None = None
    member_id: str | None = ""
    share_session_epoch: Int32 = 0
    max_wait_ms: Int32 = 0
    min_bytes: Int32 = 0
    max_bytes: Int32 = INT32_MAX
    max_records: Int32 = 0
    batch_size: Int32 = 0
    share_acquire_mode: Annotated[Int8, since(2)] = 0
    is_renew_ack: Annotated[bool, since(2)] = False
    topics: list[FetchTopic] = []
    forgotten_topics_data: list[ForgottenTopic] = []


class LeaderIdAndEpoch(Frozen, frozen=True):
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0


class AcquiredRecords(Struct):
    first_offset: Int64 = 0
    last_offset: Int64 = 0
    delivery_count: Int16 = 0


class PartitionData(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    acknowledge_error_code: Int16 = 0
    acknowledge_error_message: str | None = None
    current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch()
    records: Records = b""
    acquired_records: list[AcquiredRecords] = []


class ShareFetchableTopicResponse(Struct):
    topic_id: Uuid = NO_UUID
    partitions: list[PartitionData] = []


class NodeEndpoint(Struct):
    node_id: Int32 = 0
    host: str = ""
    port: Int32 = 0
    rack: str | None = None


class ShareFetchResponse(Message):
    api_key = 78
    versions = range(1, 3)
    flexible_since = 0

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    acquisition_lock_timeout_ms: Int32 = 0
    responses: list[ShareFetchableTopicResponse] = []
    node_endpoints: list[NodeEndpoint] = []
