"""ConsumerGroupHeartbeat, key 68."""

from typing import Annotated

from onemq.protocols.kafka.schema import NO_UUID, Int16, Int32, Message, Struct, Uuid, since


class TopicPartitions(Struct):
    topic_id: Uuid = NO_UUID
    partitions: list[Int32] = []


class ConsumerGroupHeartbeatRequest(Message):
    api_key = 68
    versions = range(0, 2)
    flexible_since = 0

    group_id: str = ""
    member_id: str = ""
    member_epoch: Int32 = 0
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: Int32 = -1
    subscribed_topic_names: list[str] | None = None
    subscribed_topic_regex: Annotated[str | None, since(1)] = None
    server_assignor: str | None = None
    topic_partitions: list[TopicPartitions] | None = None


class Assignment(Struct):
    topic_partitions: list[TopicPartitions] = []


class ConsumerGroupHeartbeatResponse(Message):
    api_key = 68
    versions = range(0, 2)
    flexible_since = 0

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: Int32 = 0
    heartbeat_interval_ms: Int32 = 0
    assignment: Assignment | None = None
