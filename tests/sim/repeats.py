"""What repeats, in the simulation: messages that come again and again, and messages that are sent again.

Each occurrence of a series comes exactly once, and in order; each key is stored exactly once.
"""

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

from onemq.core.core import Core
from onemq.core.placed import HALF, Placed
from onemq.core.sender import InTransaction
from onemq.core.topics import Topic
from onemq.message import DUE, SERIES_ID, header
from tests.sim.records import keeps_all, records_of

if TYPE_CHECKING:
    from tests.sim.world import World

WINDOW_MS = 3_600_000


class RepeatCalls:
    """Random calls, and what is known of them."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._random: Random = world.random
        self._series: dict[int, tuple[bytes, int | None, int, int]] = {}
        """Timer -> (body, how often, turn, topic)"""
        self._came: dict[bytes, int] = {}
        """Body -> how often it must have come."""
        self._keys: dict[tuple[int, bytes], tuple[Placed, int, int, bytes]] = {}
        """(topic, key) -> (place, until, turn, body)"""
        self._doubtful: set[tuple[int, bytes]] = set()

    @property
    def _core(self) -> Core:
        return self._world.core

    def call(self) -> None:
        """One random call."""
        self._random.choice([self._repeat, self._once, self._once])()

    def _repeat(self) -> None:
        world, random = self._world, self._random
        topic, times = world.any_topic(), random.choice([None, 1, 2, 20])
        if topic is None or len(self._live()) > 20:
            return
        body = world.body()
        if random.random() < 0.7:
            _, id = self._core.send(topic.name, body, every_ms=random.choice([500, 5_000, 3_600_000]), times=times)
        else:
            cron = random.choice(["* * * * *", "*/7 * * * * *", "0 8 * * *"])
            zone = random.choice(["UTC", "Asia/Tokyo"])
            _, id = self._core.send(topic.name, body, cron=cron, zone=zone, times=times)
        self._series[id] = (body, times, world.turn + 1, topic.id)

    def _live(self) -> list[int]:
        return [id for id in self._series if self._core.schedule.series(id) is not None]

    def _once(self) -> None:
        """Sends under a key that may have been used, in one of the ways to send."""
        world, random, core = self._world, self._random, self._core
        topic, key, body = world.any_topic(), b"key %d" % random.randint(0, 5), world.body()
        if topic is None:
            return
        doubtful = self._forget_old(topic.id, key)
        known = self._keys.get((topic.id, key))
        roll = random.random()
        if roll < 0.6:
            placed = core.send(topic.name, body, once_key=key, once_ms=WINDOW_MS)
        elif roll < 0.8:
            due_ms = world.now_ms + 5_000
            placed = core.send(topic.name, body, deliver_at_ms=due_ms, once_key=key, once_ms=WINDOW_MS)
        else:
            placed = core.send(topic.name, body, once_key=key, once_ms=WINDOW_MS, transaction=InTransaction("once"))
        if known is not None:
            assert placed.duplicate, "a key that was forgotten"
            assert placed == known[0], "a repetition has another place"
        elif placed.duplicate:
            assert doubtful, "a key that nobody used"
        else:
            self._sent(topic, key, placed, body)

    def _forget_old(self, topic_id: int, key: bytes) -> bool:
        """Forgets the keys whose time was up once. If the clock went back since then, the broker may know them
        still: says whether it may know this one."""
        old = {place for place, each in self._keys.items() if each[1] <= self._world.now_ms}
        self._doubtful |= old
        for place in old:
            del self._keys[place]
        return (topic_id, key) in self._doubtful

    def _sent(self, topic: Topic, key: bytes, placed: Placed, body: bytes) -> None:
        world, core = self._world, self._core
        self._keys[topic.id, key] = (placed, world.now_ms + WINDOW_MS, world.turn + 1, body)
        if placed.partition >= 0:
            world.note(topic, placed.partition, placed.offset, body, sure=False)
        elif placed.partition == HALF:
            world.halves.note(core.halves.parking.message_id(placed.offset), body, topic.id)

    # What must hold

    def forget_after(self, number: int) -> None:
        """What was done in turns after this one never happened."""
        self._series = {id: each for id, each in self._series.items() if each[2] <= number}
        self._keys = {key: each for key, each in self._keys.items() if each[2] <= number}

    def check_recovered(self) -> None:
        """A key is remembered together with its message."""
        self._forget_old(0, b"")
        for (topic_id, key), (placed, *_) in self._keys.items():
            topic = self._core.topics.by_id(topic_id)
            if topic is not None:
                assert self._core.sent_once.find(topic, key) == placed
                if placed.partition >= 0:
                    assert topic.partitions[placed.partition].end > placed.offset, "a key without its message"

    def cancel_all(self) -> None:
        """No series goes on."""
        for id in self._live():
            body, times, _, topic_id = self._series[id]
            series = self._core.schedule.series(id)
            if times is not None and series is not None and series.left is not None and keeps_all(self._core, topic_id):
                self._came[body] = times - series.left
            self._core.schedule.cancel(id)

    def finish(self) -> None:
        """Each occurrence came once, and none more often than asked for."""
        came: Counter[bytes] = Counter()
        timers = {body: (id, times) for id, (body, times, *_) in self._series.items()}
        parking = self._core.schedule.parking
        for topic in self._core.topics:
            if topic.internal or topic.config.dead:
                continue
            dues: dict[bytes, list[int]] = {}
            for partition in topic.partitions:
                for record in records_of(self._core, topic, partition.number):
                    if header(record[4], SERIES_ID) is not None:
                        assert record[3] is not None
                        assert record[3] in timers, "of a series that was never sent"
                        name = parking.message_id(timers[record[3]][0]).encode()
                        assert header(record[4], SERIES_ID) == name
                        dues.setdefault(record[3], []).append(int(header(record[4], DUE) or 0))
            for body, found in dues.items():
                came[body] += len(found)
                assert len(found) == len(set(found)), "an occurrence came twice"
                times = timers[body][1]
                assert times is None or len(found) <= times, "came too often"
        for body, expected in self._came.items():
            assert came[body] == expected, "an occurrence did not come"
