"""OffsetDelete, key 47."""

from onemq.protocols.kafka.schema import NEVER, Int16, Int32, Message, Struct


class OffsetDeleteRequestPartition(Struct):
    partition_index: Int32 = 0


class OffsetDeleteRequestTopic(Struct):
    name: str = ""
    partitions: list[OffsetDeleteRequestPartition] = []


class OffsetDeleteRequest(Message):
    api_key = 47
    versions = range(0, 1)
    flexible_since = NEVER

    group_id: str = ""
    topics: list[OffsetDeleteRequestTopic] = []


class OffsetDeleteResponsePartition(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0


class OffsetDeleteResponseTopic(Struct):
    name: str = ""
    partitions: list[OffsetDeleteResponsePartition] = []


class OffsetDeleteResponse(Message):
    api_key = 47
    versions = range(0, 1)
    flexible_since = NEVER

    error_code: Int16 = 0
    throttle_time_ms: Int32 = 0
    topics: list[OffsetDeleteResponseTopic] = []
