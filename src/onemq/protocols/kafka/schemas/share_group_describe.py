"""ShareGroupDescribe, key 77."""

from msgspec import field

from onemq.protocols.kafka.schema import INT32_MIN, NO_UUID, Int16, Int32, Message, Struct, Uuid


class ShareGroupDescribeRequest(Message):
    api_key = 77
    versions = range(1, 2)
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
    rack_id: str | None = None
    member_epoch: Int32 = 0
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: list[str] = []
    assignment: Assignment = field(default_factory=Assignment)


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


class ShareGroupDescribeResponse(Message):
    api_key = 77
    versions = range(1, 2)
    flexible_since = 0

    throttle_time_ms: Int32 = 0
    groups: list[DescribedGroup] = []
