"""DeleteShareGroupOffsets, key 92."""

from onemq.protocols.kafka.schema import NO_UUID, Int16, Int32, Message, Struct, Uuid


class DeleteShareGroupOffsetsRequestTopic(Struct):
    topic_name: str = ""


class DeleteShareGroupOffsetsRequest(Message):
    api_key = 92
    versions = range(0, 1)
    flexible_since = 0

    group_id: str = ""
    topics: list[DeleteShareGroupOffsetsRequestTopic] = []


class DeleteShareGroupOffsetsResponseTopic(Struct):
    topic_name: str = ""
    topic_id: Uuid = NO_UUID
    error_code: Int16 = 0
    error_message: str | None = None


class DeleteShareGroupOffsetsResponse(Message):
    api_key = 92
    versions = range(0, 1)
    flexible_since = 0

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    responses: list[DeleteShareGroupOffsetsResponseTopic] = []
