"""OffsetCommit, key 8."""

from typing import Annotated

from onemq.protocols.kafka.schema import NO_UUID, Int16, Int32, Int64, Message, Struct, Uuid, since, until


class OffsetCommitRequestPartition(Struct):
    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Annotated[Int32, since(6)] = -1
    committed_metadata: str | None = ""


class OffsetCommitRequestTopic(Struct):
    name: Annotated[str, until(9)] = ""
    topic_id: Annotated[Uuid, since(10)] = NO_UUID
    partitions: list[OffsetCommitRequestPartition] = []


class OffsetCommitRequest(Message):
    api_key = 8
    versions = range(2, 11)
    flexible_since = 8

    group_id: str = ""
    generation_id_or_member_epoch: Int32 = -1
    member_id: str = ""
    group_instance_id: Annotated[str | None, since(7)] = None
    retention_time_ms: Annotated[Int64, until(4)] = -1
    topics: list[OffsetCommitRequestTopic] = []


class OffsetCommitResponsePartition(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0


class OffsetCommitResponseTopic(Struct):
    name: Annotated[str, until(9)] = ""
    topic_id: Annotated[Uuid, since(10)] = NO_UUID
    partitions: list[OffsetCommitResponsePartition] = []


class OffsetCommitResponse(Message):
    api_key = 8
    versions = range(2, 11)
    flexible_since = 8

    throttle_time_ms: Annotated[Int32, since(3)] = 0
    topics: list[OffsetCommitResponseTopic] = []
