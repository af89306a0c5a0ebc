"""Dead letters that are sent again or removed."""

from typing import TYPE_CHECKING

from onemq.core.deadletters import death_of
from onemq.core.topics import Topic
from onemq.message import DUE, TRANSACTION, Record, header

if TYPE_CHECKING:
    from tests.sim.world import World


class DeadCalls:
    """Random calls on topics of dead letters."""

    def __init__(self, world: "World") -> None:
        self._world = world

    def call(self) -> None:
        world, random = self._world, self._world.random
        topics = [topic for topic in world.core.topics if topic.config.dead]
        if not topics:
            return
        topic = random.choice(topics)
        number = random.randrange(len(topic.partitions))
        letters = [each for each in self._letters(topic, number) if _is_plain(each)]
        some = sorted(random.sample(letters, random.randint(0, min(len(letters), 5))))
        if random.random() < 0.5:
            self._replay(topic, number, some)
        else:
            assert world.core.dead_letters.delete(topic, number, [letter[0] for letter in some]) == len(some)

    def _replay(self, topic: Topic, number: int, letters: list[Record]) -> None:
        world = self._world
        core = world.core
        before = {each: each.end for topic in core.topics for each in topic.partitions}
        sent = core.dead_letters.replay(topic, number, letters)
        assert sent == sum(map(self._has_origin, letters))
        for other in core.topics:
            for partition in other.partitions:
                if partition.end > before[partition] and not other.internal:
                    records, _ = core.reading.page(partition, before[partition], 1 << 20)
                    for record in records:
                        assert record[3] is not None
                        world.note(other, partition.number, record[0], record[3], sure=topic.sync or other.sync)

    def _has_origin(self, letter: Record) -> bool:
        death = death_of(letter)
        return death is not None and self._world.core.topics.find(death.topic) is not None

    def _letters(self, topic: Topic, number: int) -> list[Record]:
        partition = topic.partitions[number]
        found: list[Record] = []
        offset = partition.start
        while offset < partition.end:
            records, offset = self._world.core.reading.page(partition, offset)
            found += records
        return found


def _is_plain(letter: Record) -> bool:
    """Neither scheduled nor of a transaction: those are looked for by their headers elsewhere."""
    return header(letter[4], DUE) is None and header(letter[4], TRANSACTION) is None
