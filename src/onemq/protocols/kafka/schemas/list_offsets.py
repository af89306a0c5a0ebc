"""ListOffsets, key 2."""

from typing import Annotated

from onemq.protocols.kafka.schema import Int8, Int16, Int32, Int64, Message, Struct, since


class ListOffsetsPartition(Struct):
    partition_index: Int32 = 0
    current_leader_epoch: Annotated[Int32, since(4)] = -1
    timestamp: Int64 = 0


class ListOffsetsTopic(Struct):
    name: str = ""
    partitions: list[ListOffsetsPartition] = []


class ListOffsetsRequest(Message):
    api_key = 2
    versions = range(1, 12)
    flexible_since = 6

    replica_id: Int32 = 0
    isolation_level: Annotated[Int8, since(2)] = 0
    topics: list[ListOffsetsTopic] = []
    timeout_ms: Annotated[Int32, since(10)] = 0


class ListOffsetsPartitionResponse(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0
    timestamp: Int64 = -1
    offset: Int64 = -1
    leader_epoch: Annotated[Int32, since(4)] = -1


class ListOffsetsTopicResponse(Struct):
    name: str = ""
    partitions: list[ListOffsetsPartitionResponse] = []


class ListOffsetsResponse(Message):
    api_key = 2
    versions = range(1, 12)
    flexible_since = 6

    throttle_time_ms: Annotated[Int32, since(2)] = 0
    topics: list[ListOffsetsTopicResponse] = []
