"""DescribeLogDirs: how much the partitions take on disk. There is one folder."""

from onemq.core.topics import Topic
from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.schemas.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)


def describe_log_dirs(call: Call[DescribeLogDirsRequest]) -> DescribeLogDirsResponse:
    """Of all topics if none are named. Partitions that do not exist are left out."""
    asked, topics = call.request.topics, call.service.topics
    if asked is None:
        chosen = [(topic, list(range(len(topic.partitions)))) for topic in topics.all()]
    else:
        chosen = [(topic, each.partitions) for each in asked if (topic := topics.find(each.topic)) is not None]
    folder = DescribeLogDirsResult(
        log_dir=call.service.facts.folder,
        topics=[_sizes(call, topic, numbers) for topic, numbers in chosen],
    )
    return DescribeLogDirsResponse(results=[folder])


def _sizes(call: Call[DescribeLogDirsRequest], topic: Topic, numbers: list[int]) -> DescribeLogDirsTopic:
    log, partitions = call.service.core.log, topic.partitions
    chosen = [partitions[number] for number in numbers if 0 <= number < len(partitions)]
    return DescribeLogDirsTopic(
        topic.name,
        [
            # The log may not even know a partition that has come in this turn.
            DescribeLogDirsPartition(each.number, 0 if each.all_staged else log.stored_bytes(topic.id, each.number))
            for each in chosen
        ],
    )
