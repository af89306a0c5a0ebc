"""What a partition stores, as those read it who read single messages."""

from onemq.core.core import Core
from onemq.core.topics import Topic
from onemq.log.records import decode
from onemq.message import Record


def records_of(core: Core, topic: Topic, number: int) -> list[Record]:
    """All records of a partition, as stored."""
    partition = topic.partitions[number]
    found: list[Record] = []
    offset = partition.start
    while offset < partition.end:
        chunks: list[bytes] = []
        core.reading.batches(partition, offset, 1 << 16, chunks.append)
        if not chunks[0]:
            break
        for position, header in core.reading.walk(partition, chunks[0]):
            found += [each for each in decode(chunks[0], position, header) if each[0] >= partition.start]
            offset = header.next_offset
    return found


def keeps_all(core: Core, topic_id: int) -> bool:
    """Whether the topic is there and drops no message."""
    topic = core.topics.by_id(topic_id)
    if topic is None:
        return False
    config = topic.config
    dropping = config.retention_ms is not None or config.retention_bytes is not None or config.compact
    return config.kind == "stream" and not dropping
