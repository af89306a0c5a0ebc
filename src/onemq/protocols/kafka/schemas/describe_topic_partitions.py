"""DescribeTopicPartitions, key 75."""

from onemq.protocols.kafka.schema import INT32_MIN, NO_UUID, Int16, Int32, Message, Struct, Uuid


class TopicRequest(Struct):
    name: str = ""


class Cursor(Struct):
    topic_name: str = ""
    partition_index: Int32 = 0


class DescribeTopicPartitionsRequest(Message):
    api_key = 75
    versions = range(0, 1)
    flexible_since = 0

    topics: list[TopicRequest] = []
    response_partition_limit: Int32 = 2000
    cursor: Cursor | None = None


class DescribeTopicPartitionsResponsePartition(Struct):
    error_code: Int16 = 0
    partition_index: Int32 = 0
    leader_id: Int32 = 0
    leader_epoch: Int32 = -1
    replica_nodes: list[Int32] = []
    isr_nodes: list[Int32] = []
    eligible_leader_replicas: list[Int32] | None = None
    last_known_elr: list[Int32] | None = None
    offline_replicas: list[Int32] = []


class DescribeTopicPartitionsResponseTopic(Struct):
    error_code: Int16 = 0
    name: str | None = ""
    topic_id: Uuid = NO_UUID
    is_internal: bool = False
    partitions: list[DescribeTopicPartitionsResponsePartition] = []
    topic_authorized_operations: Int32 = INT32_MIN


class DescribeTopicPartitionsResponse(Message):
    api_key = 75
    versions = range(0, 1)
    flexible_since = 0

    throttle_time_ms: Int32 = 0
    topics: list[DescribeTopicPartitionsResponseTopic] = []
    next_cursor: Cursor | None = None
