"""ShareGroupHeartbeat, key 76."""

from onemq.protocols.kafka.schema import NO_UUID, Int16, Int32, Message, Struct, Uuid


class ShareGroupHeartbeatRequest(Message):
    api_key = 76
    versions = range(1, 2)
    flexible_since = 0

    group_id: str = ""
    member_id: str = ""
    member_epoch: Int32 = 0
    rack_id: str | None = None
    subscribed_topic_names: list[str] | None = None


class TopicPartitions(Struct):
    topic_id: Uuid = NO_UUID
    partitions: list[Int32] = []


class Assignment(Struct):
    topic_partitions: list[TopicPartitions] = []


class ShareGroupHeartbeatResponse(Message):
    api_key = 76
    versions = range(1, 2)
    flexible_since = 0

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: Int32 = 0
    heartbeat_interval_ms: Int32 = 0
    assignment: Assignment | None = None
