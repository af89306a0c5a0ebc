"""Ranking: which messages have other than the default priority. Keeps the lanes of all partitions (lanes.py)."""

import sys
from array import array
from collections.abc import Callable
from typing import Any

from onemq.core.cursor import Cursor
from onemq.core.entries import RANK, UNRANK
from onemq.core.lanes import Lanes
from onemq.core.partition import Partition
from onemq.core.stage import Stage
from onemq.core.topics import Topic, Topics
from onemq.errors import InvalidArgument
from onemq.limits import LANE_MESSAGES_KEPT, LANE_MESSAGES_MAX
from onemq.message import PRIORITY, PRIORITY_DEFAULT, PRIORITY_MAX, Headers


def with_priority(headers: Headers, priority: int) -> Headers:
    """The headers of a message of a priority. Raises `InvalidArgument` if it is none."""
    if priority == PRIORITY_DEFAULT:
        return headers
    if not 0 <= priority <= PRIORITY_MAX:
        raise InvalidArgument(f"a priority is 0 to {PRIORITY_MAX}, not {priority}")
    return ((PRIORITY, b"%d" % priority), *headers)


class Ranking:
    """The lanes of all partitions, and the groups' positions in them."""

    def __init__(self, stage: Stage, topics: Topics) -> None:
        self._stage = stage
        self._topics = topics

    def rank(self, partition: Partition, offset: int, priority: int) -> None:
        """The message that was just staged has a priority. All of a turn make one entry for each partition."""
        lanes = partition.lanes
        if lanes is None:
            topic = self._topics.by_id(partition.topic_id)
            if topic is None or topic.internal:
                return  # where the broker keeps messages for later, nobody receives them
            lanes = partition.lanes = Lanes()
        elif len(lanes) >= LANE_MESSAGES_MAX:
            return
        lanes.add(offset, priority)
        if lanes.staged is None:
            lanes.staged = []
            self._stage.entry((RANK, partition.topic_id, partition.number, lanes.staged), partition.sync)
        lanes.staged += (offset, priority)

    def forget_passed(self, now_ms: int) -> None:
        """Forgets the priorities of messages that all groups have passed, where that makes much room."""
        for topic in self._topics:
            for partition in topic.partitions if topic.groups else ():
                lanes = partition.lanes
                if lanes is None or len(lanes) <= LANE_MESSAGES_KEPT:
                    continue
                below = min(cursor.fresh_low for cursor in _cursors(topic, partition))
                if lanes.count_between(0, below) * 2 > len(lanes):
                    entry = (UNRANK, topic.id, partition.number, below)
                    self._apply_unrank(entry)
                    self._stage.entry(entry, topic.sync)

    # State

    def appliers(self) -> dict[int, Callable[[Any], None]]:
        """What applies each kind of entry."""
        return {RANK: self._apply_rank, UNRANK: self._apply_unrank}

    def dump(self) -> object:
        """For the snapshot."""
        return [
            [topic.id, partition.number, _dump_lanes(partition.lanes), _dump_positions(topic, partition)]
            for topic in self._topics
            for partition in topic.partitions
            if partition.lanes is not None
        ]

    def load(self, state: Any) -> None:
        """The reverse of `dump`."""
        for topic_id, number, lanes, positions in state:
            topic = self._topics.by_id(topic_id)
            assert topic is not None, "lanes belong to a topic that exists"
            topic.partitions[number].lanes = _load_lanes(lanes)
            cursors = {group.id: group.cursors[number] for group in topic.groups.values()}
            for group_id, base, places in positions:
                cursors[group_id].lanes.base = base
                cursors[group_id].lanes.places = dict(places)

    def place_all(self) -> None:
        """After recovery, when the bounds of all partitions are known."""
        for topic in self._topics:
            for partition in topic.partitions:
                if partition.lanes is not None:
                    partition.lanes.cut(partition.end)
                    partition.trim_lanes(partition.start)

    def _apply_rank(self, entry: Any) -> None:
        _, topic_id, number, pairs = entry
        partition = self._partition(topic_id, number)
        lanes = partition.lanes
        if lanes is None:
            lanes = partition.lanes = Lanes()
        for offset, priority in zip(pairs[::2], pairs[1::2], strict=True):
            lanes.add(offset, priority)

    def _apply_unrank(self, entry: Any) -> None:
        _, topic_id, number, offset = entry
        partition = self._partition(topic_id, number)
        partition.trim_lanes(offset)
        topic = self._topics.by_id(topic_id)
        for cursor in _cursors(topic, partition) if topic is not None else ():
            cursor.forget_ahead()

    def _partition(self, topic_id: int, number: int) -> Partition:
        topic = self._topics.by_id(topic_id)
        assert topic is not None, "lanes belong to a topic that exists"
        return topic.partitions[number]


def _cursors(topic: Topic, partition: Partition) -> list[Cursor]:
    return [group.cursors[partition.number] for group in topic.groups.values()]


def _dump_lanes(lanes: Lanes) -> list[object]:
    return [[priority, _little_endian(lane).tobytes()] for priority, lane in lanes]


def _load_lanes(dump: Any) -> Lanes:
    return Lanes({priority: _little_endian(array("q", offsets)) for priority, offsets in dump})


def _dump_positions(topic: Topic, partition: Partition) -> list[object]:
    return [
        [cursor.group.id, cursor.lanes.base, list(cursor.lanes.places.items())] for cursor in _cursors(topic, partition)
    ]


def _little_endian(numbers: "array[int]") -> "array[int]":
    """The numbers in the byte order of the snapshot, or back."""
    if sys.byteorder != "little":
        numbers = numbers[:]
        numbers.byteswap()
    return numbers
