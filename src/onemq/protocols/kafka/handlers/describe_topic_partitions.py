"""DescribeTopicPartitions: topics and their partitions, page by page."""

from onemq.core.topics import Topic
from onemq.limits import KAFKA_PAGE_PARTITIONS_MAX
from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.errors import ErrorCode
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
    request, topics = call.request, call.service.topics
    names = sorted({topic.name for topic in request.topics}) or [topic.name for topic in topics.all()]
    first_name, first = (request.cursor.topic_name, request.cursor.partition_index) if request.cursor else ("", 0)
    room = min(max(request.response_partition_limit, 1), KAFKA_PAGE_PARTITIONS_MAX)
    response = DescribeTopicPartitionsResponse()
    for name in names:
        if name < first_name:
            continue
        begin = max(first, 0) if name == first_name else 0
        if room == 0:
            response.next_cursor = Cursor(name, begin)
            break
        topic = topics.find(name)
        if topic is None:
            response.topics.append(_unknown(name))
            continue
        page = range(begin, min(begin + room, len(topic.partitions)))
        response.topics.append(_described(call, topic, page))
        room -= len(page)
        if begin + len(page) < len(topic.partitions):
            response.next_cursor = Cursor(name, begin + len(page))
            break
    return response


def _unknown(name: str) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name=name)


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
