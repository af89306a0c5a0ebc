"""Partitions by their numbers, as clients name them."""

from onemq.core.partition import Partition
from onemq.core.topics import Topic
from onemq.protocols.kafka.errors import ErrorCode, Refused


def partition_of(topic: Topic | None, number: int) -> Partition:
    """Raises UNKNOWN_TOPIC_OR_PARTITION."""
    if topic is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "there is no such topic")
    if not 0 <= number < len(topic.partitions):
        last = len(topic.partitions) - 1
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {topic.name!r} has partitions 0 to {last}")
    return topic.partitions[number]
