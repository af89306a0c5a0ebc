"""DeleteRecords: the messages before an offset go."""

from onemq.core.topics import Topic
from onemq.errors import OneMQError
from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.errors import ErrorCode, Refused, code_of
from onemq.protocols.kafka.places import partition_of
from onemq.protocols.kafka.schemas.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

_ALL = -1


def delete_records(call: Call[DeleteRecordsRequest]) -> DeleteRecordsResponse:
    topics = call.service.topics
    return DeleteRecordsResponse(topics=[
        DeleteRecordsTopicResult(each.name, [_delete(call, topics.find(each.name), part) for part in each.partitions])
        for each in call.request.topics
    ])  # fmt: skip


def _delete(
    call: Call[DeleteRecordsRequest], topic: Topic | None, wanted: DeleteRecordsPartition
) -> DeleteRecordsPartitionResult:
    try:
        partition = partition_of(topic, wanted.partition_index)
        assert topic is not None
        start = partition.end if wanted.offset == _ALL else wanted.offset
        if not 0 <= start <= partition.end:
            raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE)
        if topic.config.compact and topic.config.retention_ms is None and topic.config.retention_bytes is None:
            raise Refused(ErrorCode.POLICY_VIOLATION, "a compacted topic keeps the last message of each key")
        call.service.core.removing.trim_at(topic, partition.number, start)
    except OneMQError as error:
        return DeleteRecordsPartitionResult(wanted.partition_index, -1, code_of(error))
    return DeleteRecordsPartitionResult(wanted.partition_index, partition.start)
