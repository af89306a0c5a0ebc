"""DeleteRecords, key 21."""

from onemq.protocols.kafka.schema import Int16, Int32, Int64, Message, Struct


class DeleteRecordsPartition(Struct):
    partition_index: Int32 = 0
    offset: Int64 = 0


class DeleteRecordsTopic(Struct):
    name: str = ""
    partitions: list[DeleteRecordsPartition] = []


class DeleteRecordsRequest(Message):
    api_key = 21
    versions = range(0, 3)
    flexible_since = 2

    topics: list[DeleteRecordsTopic] = []
    timeout_ms: Int32 = 0


class DeleteRecordsPartitionResult(Struct):
    partition_index: Int32 = 0
    low_watermark: Int64 = 0
    error_code: Int16 = 0


class DeleteRecordsTopicResult(Struct):
    name: str = ""
    partitions: list[DeleteRecordsPartitionResult] = []


class DeleteRecordsResponse(Message):
    api_key = 21
    versions = range(0, 3)
    flexible_since = 2

    throttle_time_ms: Int32 = 0
    topics: list[DeleteRecordsTopicResult] = []
