"""Marks: the positions of a reader that keeps its own place and only tells how far it is.

To others such a reader is a group like any: it shows in the lists with its lag, and what is kept until all groups
have acknowledged it waits for it. Where it never told a place the group has not begun: its cursor stands at the first
message, so that nothing is dropped that nobody has read, and the reader may still begin elsewhere.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from onemq.core.group import Group, GroupConfig
from onemq.core.groups import Groups
from onemq.core.partition import Partition
from onemq.core.topics import Topic
from onemq.errors import InvalidArgument


class Place(NamedTuple):
    """How far a reader is in a partition: everything before the offset is acknowledged, nothing from there on."""

    offset: int
    remark: str = ""
    """Anything that it wants to find there again."""


FIRST = Place(0)


def mark(groups: Groups, topic: Topic, name: str, places: Mapping[int, int], config: GroupConfig) -> None:
    """In these partitions, everything before an offset is acknowledged and nothing from there on. All of it is done,
    or nothing. A group that is not there is made with the settings; it begins with the first message of the other
    partitions. Raises `InvalidArgument`."""
    for number, offset in places.items():
        _check(topic, number, offset)
    commit(groups, topic, name, {number: Place(offset) for number, offset in places.items()}, config)


def commit(groups: Groups, topic: Topic, name: str, places: Mapping[int, Place], config: GroupConfig) -> bool:
    """The same for partitions that exist and any offsets: one before the first message that is kept counts as that
    one, one beyond the end as the end. What stays as it was costs nothing. Returns whether the group is new."""
    group = topic.groups.get(name)
    is_new = group is None
    if group is None:
        positions = [_kept(each, places.get(each.number, FIRST).offset) for each in topic.partitions]
        idle = [each.number for each in topic.partitions if each.number not in places]
        group = groups.create(topic.name, name, positions, config, idle)
    for number, (offset, remark) in places.items():
        offset = _kept(topic.partitions[number], offset)
        if not group.cursors[number].is_marked(offset, remark):
            groups.mark(group, number, offset, remark)
    return is_new


def forget(groups: Groups, group: Group, numbers: Iterable[int]) -> bool:
    """The group has not begun in those partitions. Returns whether that was all there was of it, and it is gone."""
    for number in numbers:
        if group.cursors[number].begun:
            groups.mark(group, number, group.topic.partitions[number].start, None)
    if group.members or any(cursor.begun for cursor in group.cursors):
        return False
    groups.delete(group)
    return True


def _check(topic: Topic, number: int, offset: int) -> None:
    if not 0 <= number < len(topic.partitions):
        raise InvalidArgument(f"topic {topic.name!r} has no partition {number}")
    end = topic.partitions[number].end
    if offset > end:
        raise InvalidArgument(f"partition {number} of topic {topic.name!r} ends at offset {end}, before {offset}")


def _kept(partition: Partition, offset: int) -> int:
    """The offset, or the next one to it where a message is or will be."""
    return min(max(offset, partition.start), partition.end)
