"""TxnOffsetCommit, key 28."""

from typing import Annotated

from onemq.protocols.kafka.schema import NO_UUID, Int16, Int32, Int64, Message, Struct, Uuid, since, until


class TxnOffsetCommitRequestPartition(Struct):
    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Annotated[Int32, since(2)] = -1
    committed_metadata: str | None = ""


class TxnOffsetCommitRequestTopic(Struct):
    name: Annotated[str, until(5)] = ""
    topic_id: Annotated[Uuid, since(6)] = NO_UUID
    partitions: list[TxnOffsetCommitRequestPartition] = []


class TxnOffsetCommitRequest(Message):
    api_key = 28
    versions = range(0, 7)
    flexible_since = 3

    transactional_id: str = ""
    group_id: str = ""
    producer_id: Int64 = 0
    producer_epoch: Int16 = 0
    generation_id_or_member_epoch: Annotated[Int32, since(3)] = -1
    member_id: Annotated[str, since(3)] = ""
    group_instance_id: Annotated[str | None, since(3)] = None
    topics: list[TxnOffsetCommitRequestTopic] = []


class TxnOffsetCommitResponsePartition(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0


class TxnOffsetCommitResponseTopic(Struct):
    name: Annotated[str, until(5)] = ""
    topic_id: Annotated[Uuid, since(6)] = NO_UUID
    partitions: list[TxnOffsetCommitResponsePartition] = []


class TxnOffsetCommitResponse(Message):
    api_key = 28
    versions = range(0, 7)
    flexible_since = 3

    throttle_time_ms: Int32 = 0
    topics: list[TxnOffsetCommitResponseTopic] = []
