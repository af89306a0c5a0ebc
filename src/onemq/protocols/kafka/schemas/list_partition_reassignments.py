"""ListPartitionReassignments, key 46."""

from onemq.protocols.kafka.schema import Int16, Int32, Message, Struct


class ListPartitionReassignmentsTopics(Struct):
    name: str = ""
    partition_indexes: list[Int32] = []


class ListPartitionReassignmentsRequest(Message):
    api_key = 46
    versions = range(0, 1)
    flexible_since = 0

    timeout_ms: Int32 = 60000
    topics: list[ListPartitionReassignmentsTopics] | None = None


class OngoingPartitionReassignment(Struct):
    partition_index: Int32 = 0
    replicas: list[Int32] = []
    adding_replicas: list[Int32] = []
    removing_replicas: list[Int32] = []


class OngoingTopicReassignment(Struct):
    name: str = ""
    partitions: list[OngoingPartitionReassignment] = []


class ListPartitionReassignmentsResponse(Message):
    api_key = 46
    versions = range(0, 1)
    flexible_since = 0

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    topics: list[OngoingTopicReassignment] = []
