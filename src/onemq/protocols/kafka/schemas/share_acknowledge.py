"""ShareAcknowledge, key 79."""

from typing import Annotated

from onemq.protocols.kafka.schema import NO_UUID, Frozen, Int8, Int16, Int32, Int64, Message, Struct, Uuid, since


class AcknowledgementBatch(Struct):
    first_offset: Int64 = 0
    last_offset: Int64 = 0
    acknowledge_types: list[Int8] = []


class AcknowledgePartition(Struct):
    partition_index: Int32 = 0
    acknowledgement_batches: list[AcknowledgementBatch] = []


class AcknowledgeTopic(Struct):
    topic_id: Uuid = NO_UUID
    partitions: list[AcknowledgePartition] = []


class ShareAcknowledgeRequest(Message):
    api_key = 79
    versions = range(1, 3)
    flexible_since = 0

    group_id: str | None = None
    member_id: str | None = ""
    share_session_epoch: Int32 = 0
    is_renew_ack: Annotated[bool, since(2)] = False
    topics: list[AcknowledgeTopic] = []


class LeaderIdAndEpoch(Frozen, frozen=True):
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0


class PartitionData(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch()


class ShareAcknowledgeTopicResponse(Struct):
    topic_id: Uuid = NO_UUID
    partitions: list[PartitionData] = []


class NodeEndpoint(Struct):
    node_id: Int32 = 0
    host: str = ""
    port: Int32 = 0
    rack: str | None = None


class ShareAcknowledgeResponse(Message):
    api_key = 79
    versions = range(1, 3)
    flexible_since = 0

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    acquisition_lock_timeout_ms: Annotated[Int32, since(2)] = 0
    responses: list[ShareAcknowledgeTopicResponse] = []
    node_endpoints: list[NodeEndpoint] = []
