"""OffsetForLeaderEpoch: where an epoch of the leader ended. There is one, and it ends where the partition does."""

from onemq.core.topics import Topic
from onemq.errors import OneMQError
from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.epochs import NO_EPOCH, check_epoch
from onemq.protocols.kafka.errors import code_of
from onemq.protocols.kafka.identity import LEADER_EPOCH
from onemq.protocols.kafka.places import partition_of
from onemq.protocols.kafka.schemas.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)


def offset_for_leader_epoch(call: Call[OffsetForLeaderEpochRequest]) -> OffsetForLeaderEpochResponse:
    topics = call.service.topics
    return OffsetForLeaderEpochResponse(topics=[
        OffsetForLeaderTopicResult(each.topic, [_end(topics.find(each.topic), wanted) for wanted in each.partitions])
        for each in call.request.topics
    ])  # fmt: skip


def _end(topic: Topic | None, wanted: OffsetForLeaderPartition) -> EpochEndOffset:
    try:
        partition = partition_of(topic, wanted.partition)
        check_epoch(wanted.current_leader_epoch)
    except OneMQError as error:
        return EpochEndOffset(code_of(error), wanted.partition)
    if wanted.leader_epoch != LEADER_EPOCH:
        return EpochEndOffset(0, wanted.partition, NO_EPOCH, -1)
    return EpochEndOffset(0, wanted.partition, LEADER_EPOCH, partition.end)
