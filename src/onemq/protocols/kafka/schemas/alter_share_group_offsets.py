"""AlterShareGroupOffsets, key 91."""

from onemq.protocols.kafka.schema import NO_UUID, Int16, Int32, Int64, Message, Struct, Uuid


class AlterShareGroupOffsetsRequestPartition(Struct):
    partition_index: Int32 = 0
    start_offset: Int64 = 0


class AlterShareGroupOffsetsRequestTopic(Struct):
    topic_name: str = ""
    partitions: list[AlterShareGroupOffsetsRequestPartition] = []


class AlterShareGroupOffsetsRequest(Message):
    api_key = 91
    versions = range(0, 1)
    flexible_since = 0

    group_id: str = ""
    topics: list[AlterShareGroupOffsetsRequestTopic] = []


class AlterShareGroupOffsetsResponsePartition(Struct):
    partition_index: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None


class AlterShareGroupOffsetsResponseTopic(Struct):
    topic_name: str = ""
    topic_id: Uuid = NO_UUID
    partitions: list[AlterShareGroupOffsetsResponsePartition] = []


class AlterShareGroupOffsetsResponse(Message):
    api_key = 91
    versions = range(0, 1)
    flexible_since = 0

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    responses: list[AlterShareGroupOffsetsResponseTopic] = []
