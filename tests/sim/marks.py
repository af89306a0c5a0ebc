"""Readers that keep their own place and tell it: what they told is found again, and nothing is told twice."""

from typing import TYPE_CHECKING

from onemq.core import marking
from onemq.core.entries import GROUP_CREATE, MARK
from onemq.core.group import GroupConfig
from onemq.core.marking import Place
from onemq.core.topics import Topic

if TYPE_CHECKING:
    from tests.sim.world import World

READER = "k"


class MarkCalls:
    """Random marks, in groups that others receive from as well."""

    def __init__(self, world: "World") -> None:
        self._world = world

    def call(self) -> None:
        topic, random = self._world.any_topic(), self._world.random
        if topic is None:
            return
        name = random.choice(["g", READER, READER, READER])
        if name in topic.groups and random.random() < 0.15:
            self._forget(topic, name)
        else:
            self._mark(topic, name)

    def _mark(self, topic: Topic, name: str) -> None:
        random = self._world.random
        chosen = random.sample(topic.partitions, random.randint(1, len(topic.partitions)))
        places = {
            each.number: Place(random.randint(each.start - 3, each.end + 3), random.choice(["", "", "here", "é" * 9]))
            for each in chosen
        }
        marking.commit(self._world.core.groups, topic, name, places, GroupConfig())
        self._world.handout.altered.add(topic.groups[name].id)
        for number, (offset, remark) in places.items():
            cursor, partition = topic.groups[name].cursors[number], topic.partitions[number]
            expected = (True, min(max(offset, partition.start), partition.end), remark, 0)
            assert (cursor.begun, cursor.low, cursor.remark_here, len(cursor.unacknowledged)) == expected
        entries = self._world.core.stage.entries
        before = len(entries)
        marking.commit(self._world.core.groups, topic, name, places, GroupConfig())
        assert not any(entry[0] in (MARK, GROUP_CREATE) for entry in entries[before:]), "the same place was told twice"

    def _forget(self, topic: Topic, name: str) -> None:
        group, random = topic.groups[name], self._world.random
        self._world.handout.altered.add(group.id)
        numbers = random.sample(range(len(topic.partitions)), random.randint(1, len(topic.partitions)))
        gone = marking.forget(self._world.core.groups, group, numbers)
        assert gone == (name not in topic.groups)
        assert not any(group.cursors[number].begun for number in numbers)
