"""CreatePartitions, key 37."""

from onemq.protocols.kafka.schema import Int16, Int32, Message, Struct


class CreatePartitionsAssignment(Struct):
    broker_ids: list[Int32] = []


class CreatePartitionsTopic(Struct):
    name: str = ""
    count: Int32 = 0
    assignments: list[CreatePartitionsAssignment] | None = []


class CreatePartitionsRequest(Message):
    api_key = 37
    versions = range(0, 4)
    flexible_since = 2

    topics: list[CreatePartitionsTopic] = []
    timeout_ms: Int32 = 0
    validate_only: bool = False


class CreatePartitionsTopicResult(Struct):
    name: str = ""
    error_code: Int16 = 0
    error_message: str | None = None


class CreatePartitionsResponse(Message):
    api_key = 37
    versions = range(0, 4)
    flexible_since = 2

    throttle_time_ms: Int32 = 0
    results: list[CreatePartitionsTopicResult] = []
