"""ConsumerGroupDescribe, key 69."""

from typing import Annotated

from msgspec import field

from onemq.protocols.kafka.schema import INT32_MIN, NO_UUID, Int8, Int16, Int32, Message, Struct, Uuid, since


class ConsumerGroupDescribeRequest(Message):
    api_key = 69
    versions = range(0, 2)
    flexible_since = 0

    group_ids: list[str] = []
    include_authorized_operations: bool = False


class TopicPartitions(Struct):
    topic_id: Uuid = NO_UUID
    topic_name: str = ""
    partitions: list[Int32] = []


class Assignment(Struct):
    topic_partitions: list[TopicPartitions] = []


class Member(Struct):
    member_id: str = ""
    instance_id: str | None = None
    rack_id: str | None = None
    member_epoch: Int32 = 0
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: list[str] = []
    subscribed_topic_regex: str | None = None
    assignment: Assignment = field(default_factory=Assignment)
    target_assignment: Assignment = field(default_factory=Assignment)
    member_type: Annotated[Int8, since(1)] = -1


class DescribedGroup(Struct):
    error_code: Int16 = 0
    error_message: str | None = None
    group_id: str = ""
    group_state: str = ""
    group_epoch: Int32 = 0
    assignment_epoch: Int32 = 0
    assignor_name: str = ""
    members: list[Member] = []
    authorized_operations: Int32 = INT32_MIN


class ConsumerGroupDescribeResponse(Message):
    api_key = 69
    versions = range(0, 2)
    flexible_since = 0

    throttle_time_ms: Int32 = 0
    groups: list[DescribedGroup] = []
