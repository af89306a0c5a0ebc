"""Starting points: where a new group, or one that is moved, begins to read."""

from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

from onemq.core.partition import Partition
from onemq.core.topics import Topic
from onemq.errors import InvalidArgument
from onemq.log.engine import Log


class Start(NamedTuple):
    """The first message, the next one to come, an offset of each partition, or a time."""

    kind: Literal["first", "last", "offset", "time"]
    value: int = 0


FIRST = Start("first")
LAST = Start("last")


def positions(log: Log, topic: Topic, start: Start, then: Callable[[list[int]], None]) -> None:
    """The offset of a starting point in each partition of a topic."""
    partitions = topic.partitions
    if start.kind == "first":
        then([partition.start for partition in partitions])
    elif start.kind == "last":
        then([partition.end for partition in partitions])
    elif start.kind == "offset":
        if start.value < 0:
            raise InvalidArgument(f"an offset is 0 or more, not {start.value}")
        then([min(max(start.value, each.start), each.end) for each in partitions])
    else:
        _positions_at(log, topic, start.value, then)


def _positions_at(log: Log, topic: Topic, timestamp_ms: int, then: Callable[[list[int]], None]) -> None:
    found: dict[int, int] = {}

    def take(number: int, offset: int) -> None:
        found[number] = offset
        if len(found) == len(topic.partitions):
            then([found[each] for each in range(len(found))])

    for partition in topic.partitions:
        position_at(log, partition, timestamp_ms, partial(take, partition.number))


def position_at(log: Log, partition: Partition, timestamp_ms: int, then: Callable[[int], None]) -> None:
    """The first offset of a time or later in a partition; its end if there is none."""
    logged_end, staged = partition.logged_end, partition.staged_at(timestamp_ms)

    def found(offset: int) -> None:
        then(offset if offset < logged_end else staged)

    if partition.all_staged:
        then(staged)
    else:
        log.offset_at(partition.topic_id, partition.number, timestamp_ms, found)
