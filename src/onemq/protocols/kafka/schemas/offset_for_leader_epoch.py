"""OffsetForLeaderEpoch, key 23."""

from typing import Annotated

from onemq.protocols.kafka.schema import Int16, Int32, Int64, Message, Struct, since


class OffsetForLeaderPartition(Struct):
    partition: Int32 = 0
    current_leader_epoch: Int32 = -1
    leader_epoch: Int32 = 0


class OffsetForLeaderTopic(Struct):
    topic: str = ""
    partitions: list[OffsetForLeaderPartition] = []


class OffsetForLeaderEpochRequest(Message):
    api_key = 23
    versions = range(2, 5)
    flexible_since = 4

    replica_id: Annotated[Int32, since(3)] = -2
    topics: list[OffsetForLeaderTopic] = []


class EpochEndOffset(Struct):
    error_code: Int16 = 0
    partition: Int32 = 0
    leader_epoch: Int32 = -1
    end_offset: Int64 = -1


class OffsetForLeaderTopicResult(Struct):
    topic: str = ""
    partitions: list[EpochEndOffset] = []


class OffsetForLeaderEpochResponse(Message):
    api_key = 23
    versions = range(2, 5)
    flexible_since = 4

    throttle_time_ms: Int32 = 0
    topics: list[OffsetForLeaderTopicResult] = []
