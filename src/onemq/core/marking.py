"""Marks: the positions of a reader that keeps its own place and only tells how far it is.

To others such a reader is a group like any: it shows in the lists with its lag, and what is kept until all groups
have acknowledged it waits for it.
"""

from collections.abc import Mapping

from onemq.core.group import Cursor, GroupConfig
from onemq.core.groups import Groups
from onemq.core.partition import Partition
from onemq.core.topics import Topic
from onemq.errors import InvalidArgument


def mark(groups: Groups, topic: Topic, name: str, places: Mapping[int, int], config: GroupConfig) -> None:
    """In these partitions, everything before an offset is acknowledged and nothing from there on. All of it is done,
    or nothing. A group that is not there is made with the settings; it begins with the first message of the other
    partitions. Raises `InvalidArgument`."""
    for number, offset in places.items():
        _check(topic, number, offset)
    group = topic.groups.get(name)
    if group is None:
        positions = [_kept(each, places.get(each.number, 0)) for each in topic.partitions]
        groups.create(topic.name, name, positions, config)
        return
    for number, offset in places.items():
        cursor, offset = group.cursors[number], _kept(topic.partitions[number], offset)
        if not _stands_at(cursor, offset):
            groups.seek(group, number, offset)


def _check(topic: Topic, number: int, offset: int) -> None:
    if not 0 <= number < len(topic.partitions):
        raise InvalidArgument(f"topic {topic.name!r} has no partition {number}")
    end = topic.partitions[number].end
    if offset > end:
        raise InvalidArgument(f"partition {number} of topic {topic.name!r} ends at offset {end}, before {offset}")


def _kept(partition: Partition, offset: int) -> int:
    """The offset, or that of the first message that is kept: those before it are gone and need no reader."""
    return max(offset, partition.start)


def _stands_at(cursor: Cursor, offset: int) -> bool:
    return cursor.partition.lanes is None and cursor.next == cursor.low == offset
