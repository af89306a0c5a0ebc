"""What a partition stores, as those read it who read single messages."""

from onemq.core.core import Core
from onemq.core.topics import Topic
from onemq.core.whole import Share
from onemq.log.batch import walk
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


def handed_of(share: Share) -> list[tuple[int, Record, int]]:
    """What a receiver of whole batches finds in them: each of its messages once, in the order of offsets."""
    counts = {offset: count for first, last, count in share.runs for offset in range(first, last + 1)}
    decoded = [decode(share.batches, position, header) for position, header in walk(share.batches)]
    records = [record for batch in decoded for record in batch if record[0] in counts]
    assert [record[0] for record in records] == list(counts), "the batches hold something else than the runs say"
    return [(share.number, record, counts[record[0]]) for record in records]


def keeps_all(core: Core, topic_id: int) -> bool:
    """Whether the topic is there and drops no message."""
    topic = core.topics.by_id(topic_id)
    if topic is None:
        return False
    config = topic.config
    dropping = config.retention_ms is not None or config.retention_bytes is not None or config.compact
    return config.kind == "stream" and not dropping
