"""Streams in the simulation: random calls, what a stream's state is, and what must hold of it.

Streams are topics with names of their own. Whoever adds to them, ids must grow with offsets. Groups on them are
also used by the calls that the simulation makes on all groups.
"""

from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any

from onemq.core.bitmap import Bitmap
from onemq.core.core import Core
from onemq.core.cursor import Cursor
from onemq.core.delivery import GIVEN_UP
from onemq.core.group import Group
from onemq.core.redelivery import Immediate, Ladder
from onemq.core.start import FIRST
from onemq.core.stream import Stream
from onemq.core.stream_groups import NOWHERE
from onemq.core.stream_ids import NUMBER_BITS, id_of
from onemq.core.topics import Topic, TopicConfig
from onemq.log.records import NO_HEADERS
from tests.sim.records import records_of

if TYPE_CHECKING:
    from tests.sim.world import World

NAMES = ("stream-s", "stream-t", "stream-u")
_KEYS = tuple(name.encode() for name in NAMES)
HOUR_MS = 3_600_000
_SAMPLE = 5
"""Every so many messages are looked up: each takes a few reads."""


class StreamCalls:
    """Random calls on the streams of a world, and what is known of their messages."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._random: Random = world.random
        self._added: dict[tuple[int, int], tuple[int, int, bool]] = {}
        """(topic, offset) -> (id, turn, whether a producer named it)"""
        self._deleted: dict[tuple[int, int], int] = {}
        """(topic, offset) -> turn"""
        self._calls = [self._add, self._send, self._delete, self._trim, self._group, self._take, self._give_up,
                       self._place, self._set, self._window, self._key]  # fmt: skip
        self._weights = [36, 4, 12, 5, 8, 8, 5, 6, 2, 2, 2]

    @property
    def _core(self) -> Core:
        return self._world.core

    def call(self) -> None:
        """One random call."""
        self._random.choices(self._calls, self._weights)[0]()

    # Calls

    def _any(self) -> Stream | None:
        return self._core.streams.get(self._random.choice(_KEYS))

    def _any_group(self) -> tuple[Stream, Group] | None:
        stream = self._any()
        if stream is None or not stream.topic.groups:
            return None
        return stream, self._random.choice(list(stream.topic.groups.values()))

    def _add(self) -> None:
        random, core = self._random, self._core
        key = random.choice(_KEYS)
        stream = core.streams.get(key)
        if stream is None:
            flush, retention_ms = random.choice(["sync", "async"]), random.choice([None, None, HOUR_MS])
            config = TopicConfig(flush=flush, retention_ms=retention_ms, segment_bytes=4_096)
            stream = core.streams.create(key, config)
        for _ in range(random.choice([1, 1, 3])):
            self._add_one(stream)

    def _add_one(self, stream: Stream) -> None:
        random, core, now_ms = self._random, self._core, self._world.now_ms
        offset, body = stream.partition.end, self._world.body()
        roll = random.random()
        bodies = [body, *(self._world.body() for _ in range(random.choice([0, 0, 2])))]
        if roll < 0.3 and core.streams.add_plain(stream.key, bodies, NO_HEADERS) == offset:
            for place, each in enumerate(bodies, offset):
                self._note(stream, place, now_ms << NUMBER_BITS | place, each, False)
            return
        producer, name = random.choice([b"p", b"q"]), b"%d" % random.randint(0, 9)
        named = roll > 0.7
        if named:
            known = core.streams.repeated(stream, producer, name)
            if known is not None:
                return
        id = stream.next_id(now_ms) if roll < 0.6 or named else stream.last_id + random.choice([1, 7, 1 << NUMBER_BITS])
        core.streams.add(stream, body, (), id)
        if named:
            core.streams.remember(stream, producer, name, id)
        self._note(stream, offset, id, body, named)

    def _note(self, stream: Stream, offset: int, id: int, body: bytes, named: bool) -> None:
        self._world.note(stream.topic, 0, offset, body, stream.topic.sync or named)
        self._added[stream.topic.id, offset] = (id, self._world.turn + 1, named)

    def _send(self) -> None:
        """As other protocols do: now or later, without a thought of ids."""
        stream, world = self._any(), self._world
        if stream is not None and self._random.random() < 0.3:
            body = world.body()
            self._core.send(stream.topic.name, body, deliver_at_ms=world.now_ms + 2_000)
            world.scheduled[body] = world.turn + 1
        elif stream is not None:
            body = world.body()
            _, offset = self._core.send(stream.topic.name, body, number=0)
            world.note(stream.topic, 0, offset, body, stream.topic.sync)

    def _delete(self) -> None:
        stream, random = self._any(), self._random
        if stream is None or not len(stream):
            return
        partition = stream.partition
        near = random.choice([partition.start, max(partition.start, partition.end - 10)])
        offsets = [random.randint(near, min(near + 10, partition.end)) for _ in range(random.randint(1, 5))]
        live = [offset for offset in set(offsets) if stream.is_live(offset)]
        assert self._core.removing.delete(stream, offsets, random.random() < 0.2) == len(live)
        self._deleted.update({(stream.topic.id, offset): self._world.turn + 1 for offset in live})

    def _trim(self) -> None:
        stream, random = self._any(), self._random
        if stream is not None:
            partition = stream.partition
            kept = random.choice([0, 1, 5, 20])
            self._core.removing.trim(stream, max(partition.start, partition.end - kept))

    def _group(self) -> None:
        stream, random = self._any(), self._random
        if stream is None:
            return
        name = random.choice("gh")
        group = stream.topic.groups.get(name)
        if group is None:
            policy = random.choice([None, None, Immediate(2), Ladder((10, 1_000))])
            entry = policy.to_entry() if policy else None
            self._core.create_group(stream.topic.name, name, FIRST, policy=entry)
            group = stream.topic.groups[name]
            last_id = random.choice([0, stream.last_id])
            self._core.stream_groups.place(stream, group, last_id, random.choice([None, 3]))
        elif random.random() < 0.1:
            self._core.groups.delete(group)

    def _take(self) -> None:
        """As XCLAIM does, of what is in flight or not."""
        place, random = self._any_group(), self._random
        if place is None or not len(place[0]):
            return
        stream, group = place
        cursor = stream.cursor(group)
        some = [random.randrange(stream.partition.start, stream.partition.end), *list(cursor.unacknowledged)[:2]]
        live = [offset for offset in some if stream.is_live(offset)]
        counts = {offset: self._count(cursor, offset) for offset in live}
        if counts:
            since_ms = self._world.now_ms - random.choice([0, 10_000])
            self._core.claims.take(group, 0, random.choice("mno"), since_ms, counts)

    def _count(self, cursor: Cursor, offset: int) -> int:
        delivery = cursor.unacknowledged.get(offset)
        return delivery.count if delivery is not None else 1

    def _give_up(self) -> None:
        place = self._any_group()
        if place is not None and place[1].policy is None:
            stream, group = place
            cursor = stream.cursor(group)
            some = self._random.sample(list(cursor.unacknowledged), min(len(cursor.unacknowledged), 3))
            if some:
                self._core.claims.give_up(group, 0, {offset: self._count(cursor, offset) for offset in some})

    def _place(self) -> None:
        place, random = self._any_group(), self._random
        if place is None:
            return
        stream, group = place
        partition = stream.partition
        ids = [0, stream.last_id, stream.last_id + (5 << NUMBER_BITS)]
        if partition.start < partition.end:
            found = stream.first()
            ids += [id_of(found)] if found is not None else []
            ids += [each[0] for (topic, _), each in list(self._added.items())[-5:] if topic == stream.topic.id]
        self._core.stream_groups.place(stream, group, random.choice(ids), random.choice([None, None, 2]))

    def _set(self) -> None:
        stream, random = self._any(), self._random
        if stream is not None:
            higher = stream.last_id + random.choice([0, 1, 1 << NUMBER_BITS])
            self._core.streams.set(stream, higher, stream.max_deleted_id, stream.added_before + random.randint(0, 3))

    def _window(self) -> None:
        stream = self._any()
        if stream is not None:
            self._core.streams.set_window(stream, self._random.choice([1_000, 100_000]), self._random.choice([3, 100]))

    def _key(self) -> None:
        keys, random = self._core.keys, self._random
        key, other = random.choice(_KEYS), random.choice(_KEYS)
        roll = random.random()
        if roll < 0.4 and keys.holds(key):
            keys.rename(key, other)
        elif roll < 0.7:
            keys.expire_at(key, self._world.now_ms + random.choice([5_000, HOUR_MS]))
        elif roll < 0.8:
            keys.persist(key)
        elif roll < 0.9:
            keys.delete(key)
        elif roll < 0.95:
            keys.strings.set(key, b"a string")
        elif (topic := self._core.topics.find(key.decode())) is not None:
            self._core.topics.alter(topic.name, partitions=2)

    # What must hold

    def forget_after(self, number: int) -> None:
        """What was done in turns after this one never happened."""
        self._added = {place: each for place, each in self._added.items() if each[1] <= number}
        self._deleted = {place: turn for place, turn in self._deleted.items() if turn <= number}

    def check_recovered(self) -> None:
        """Ids are as they were and grow, what was deleted is gone, and everything else can be found."""
        for topic in self._core.topics:
            if topic.name in NAMES:
                self._check(topic)
        there = {topic.id: topic.partitions[0].end for topic in self._core.topics}
        self._added = {place: each for place, each in self._added.items() if place[1] < there.get(place[0], 0)}
        self._deleted = {place: each for place, each in self._deleted.items() if place[1] < there.get(place[0], 0)}

    def _check(self, topic: Topic) -> None:
        partition = topic.partitions[0]
        records = records_of(self._core, topic, 0)
        stored = {record[0]: id_of(record) for record in records}
        ids = list(stored.values())
        assert all(one < other for one, other in pairwise(ids)), "ids do not grow"
        for (topic_id, offset), (id, _, named) in self._added.items():
            if topic_id == topic.id and offset >= partition.start:
                assert stored.get(offset, id) == id, f"{topic.name} {offset} had another id"
                assert offset in stored or not named, f"{topic.name} {offset} is lost, but its name is remembered"
        deleted = partition.deleted
        if deleted is not None:
            assert partition.start <= deleted.low <= deleted.high <= partition.end, "marks on what is not there"
        gone = {offset for topic_id, offset in self._deleted if topic_id == topic.id}
        for offset in gone & stored.keys():
            assert deleted is not None, f"{topic.name} {offset} was deleted and is back"
            assert deleted.is_done(offset), f"{topic.name} {offset} was deleted and is back"
        if len(topic.partitions) == 1:
            self._check_stream(self._core.streams.of(topic), stored, gone)

    def _check_stream(self, stream: Stream, stored: dict[int, int], gone: set[int]) -> None:
        live = [record[0] for record in stream.records(stream.partition.start)]
        assert live == [offset for offset in stored if offset not in gone], "not exactly what was not deleted"
        assert [record[0] for record in stream.records_back(stream.partition.end)] == live[::-1]
        assert stream.last_id >= max(stored.values(), default=0), "the last id was forgotten"
        for offset in live[::_SAMPLE]:
            assert stream.offset_of(stored[offset]) == offset, "a message is not found by its id"
        for group in stream.topic.groups.values():
            assert self._core.stream_groups.last_delivered(stream, group) >= 0
            cursor = stream.cursor(group)
            ids = stream.ids_of(cursor, list(cursor.unacknowledged)[::_SAMPLE])
            for offset, id in ids.items():
                assert self._core.stream_groups.pending_offset(stream, group, id) == offset, "pending, but not found"


def check_cursor(cursor: Cursor) -> None:
    """What is in flight is there, unless it is known to be gone."""
    partition = cursor.partition
    ghosts = cursor.ghosts
    for offset in cursor.unacknowledged:
        assert offset >= partition.start or offset in ghosts, "in flight, but gone"
        assert offset < max(cursor.next, cursor.high) <= partition.end
    assert ghosts.keys() <= cursor.unacknowledged.keys(), "a ghost of what is not in flight"
    assert cursor.last <= cursor.next <= partition.end
    assert cursor.low == min([each for each in cursor.unacknowledged if each not in ghosts] + [cursor.fresh_low])


# The state


def streams_of(core: Core) -> dict[str, Any]:
    """What streams have beyond topics and groups."""
    found = {}
    for topic in core.topics:
        if topic.name in NAMES:
            stream = core.streams.of(topic)
            deleted = topic.partitions[0].deleted
            found[topic.name] = {
                "last id": stream.last_id,
                "numbers": (stream.max_deleted_id, stream.added_before),
                "deleted": _marked(deleted) if deleted is not None else [],
                "groups": {group.name: _position(core, group) for group in topic.groups.values()},
                "window": _window(stream),
                "floor": topic.partitions[0].floor_ms,
            }
    return found


def _marked(deleted: Bitmap) -> list[int]:
    return [offset for offset in range(deleted.low, deleted.high) if deleted.is_done(offset)]


def _position(core: Core, group: Group) -> dict[str, Any]:
    cursor = group.cursors[0]
    mark = core.stream_groups._marks.get(group.id)
    return {
        "last": cursor.last,
        "ghosts": dict(cursor.ghosts),
        "mark": tuple(mark) if mark is not None else None,
        "given up": [each for each, delivery in cursor.unacknowledged.items() if _is_given_up(delivery)],
    }


def _is_given_up(delivery: Any) -> bool:
    return delivery.member is None and delivery.due_ms == GIVEN_UP


def _window(stream: Stream) -> Any:
    window = stream.window
    if window is None:
        return None
    producers = {producer: dict(names) for producer, names in window.producers.items()}
    return window.duration_ms, window.names_max, window.added, producers


def after_power_cut_of(streams: dict[str, Any], core: Core) -> dict[str, Any]:
    """The state of streams as a power cut leaves it, when async ones lost messages at their end."""
    return {name: _cut(state, name, core) for name, state in streams.items()}


def _cut(state: dict[str, Any], name: str, core: Core) -> dict[str, Any]:
    topic = core.topics.find(name)
    if topic is None or topic.sync:
        return state
    end = topic.partitions[0].end
    return state | {
        # Whatever the last message is now: that ids grow is checked elsewhere.
        "last id": min(state["last id"], core.streams.of(topic).last_id),
        "deleted": [offset for offset in state["deleted"] if offset < end],
        "groups": {group: _cut_position(position, end) for group, position in state["groups"].items()},
    }


def _cut_position(position: dict[str, Any], end: int) -> dict[str, Any]:
    mark = position["mark"]
    return position | {
        "last": min(position["last"], end),
        "mark": mark if mark is None or mark[0] <= end else (NOWHERE, *mark[1:]),
        "given up": [offset for offset in position["given up"] if offset < end],
    }
