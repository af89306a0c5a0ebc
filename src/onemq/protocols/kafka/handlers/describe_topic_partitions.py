"""DescribeTopicPartitions: topics and their partitions, page by page."""

from collections.abc import Iterator

from onemq.core.topics import Topic
from onemq.errors import OneMQError
from onemq.limits import KAFKA_PAGE_PARTITIONS_MAX
from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.errors import ErrorCode, Refused, code_of
from onemq.protocols.kafka.identity import LEADER_EPOCH, NODE_ID
from onemq.protocols.kafka.operations import TOPIC_OPERATIONS
from onemq.protocols.kafka.schemas.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)


def describe_topic_partitions(call: Call[DescribeTopicPartitionsRequest]) -> DescribeTopicPartitionsResponse:
    """As many partitions as the client wants, in the order of names, and where the next page begins."""
    request = call.request
    room = min(max(request.response_partition_limit, 1), KAFKA_PAGE_PARTITIONS_MAX)
    response = DescribeTopicPartitionsResponse()
    for name, first in _places(call):
        if room == 0:
            response.next_cursor = Cursor(name, first)
            break
        topic = call.service.topics.find(name)
        if topic is None:
            response.topics.append(_unknown(name))
            continue
        page = range(first, min(first + room, len(topic.partitions)))
        response.topics.append(_described(call, topic, page))
        room -= len(page)
        if page.stop < len(topic.partitions):
            response.next_cursor = Cursor(name, page.stop)
            break
    return response


def refuse(request: DescribeTopicPartitionsRequest, error: OneMQError) -> DescribeTopicPartitionsResponse:
    """Every topic that was asked for has failed."""
    topics = [DescribeTopicPartitionsResponseTopic(code_of(error), name) for name in _names(request)]
    return DescribeTopicPartitionsResponse(topics=topics)


def _places(call: Call[DescribeTopicPartitionsRequest]) -> Iterator[tuple[str, int]]:
    """The topics of this page and of later ones, each with the partition that it begins with."""
    request, cursor = call.request, call.request.cursor
    names = _names(request)
    if cursor is None:
        cursor = Cursor()
    elif cursor.partition_index < 0 or (names and cursor.topic_name not in names):
        raise Refused(ErrorCode.INVALID_REQUEST, "the page begins where nothing was asked for")
    for name in names or [topic.name for topic in call.service.topics.all()]:
        if name >= cursor.topic_name:
            yield name, cursor.partition_index if name == cursor.topic_name else 0


def _names(request: DescribeTopicPartitionsRequest) -> list[str]:
    return sorted({topic.name for topic in request.topics})


def _unknown(name: str) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name, topic_authorized_operations=TOPIC_OPERATIONS
    )


def _described(
    call: Call[DescribeTopicPartitionsRequest], topic: Topic, page: range
) -> DescribeTopicPartitionsResponseTopic:
    nodes = [NODE_ID]
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=call.service.topics.id_of(topic),
        partitions=[
            DescribeTopicPartitionsResponsePartition(
                partition_index=number,
                leader_id=NODE_ID,
                leader_epoch=LEADER_EPOCH,
                replica_nodes=nodes,
                isr_nodes=nodes,
                eligible_leader_replicas=[],
                last_known_elr=[],
            )
            for number in page
        ],
        topic_authorized_operations=TOPIC_OPERATIONS,
    )
