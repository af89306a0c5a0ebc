"""What must hold when groups with a filter, an order, an assignment or once hand out messages that may expire."""

from random import Random
from typing import TYPE_CHECKING, Any

import msgspec

from onemq.core.assignment import Attributes
from onemq.core.cursor import Cursor
from onemq.core.expiry import expires_at_ms
from onemq.core.group import Group
from onemq.core.locks import HELD
from onemq.core.topics import Topic
from onemq.message import EXPIRES, ORDER_KEY, TAG, Headers, Record, header
from tests.sim.records import records_of
from tests.sim.streams import NAMES

if TYPE_CHECKING:
    from tests.sim.world import World

BUSINESS = b"biz"


def any_headers(random: Random, now_ms: int) -> Headers:
    """Headers of a message, most often none."""
    if random.random() < 0.5:
        return ()
    choices = [
        (TAG, random.choice([b"a", b"b"])),
        (EXPIRES, b"%d" % (now_ms + random.choice([0, 2_000, 60_000]))),
        (ORDER_KEY, b"o%d" % random.randint(0, 2)),
        (BUSINESS, b"b%d" % random.randint(0, 8)),
    ]
    return tuple(random.sample(choices, random.randint(1, 2)))


def any_settings(random: Random) -> dict[str, Any]:
    """Settings of a group that decide on what it hands out: none, one, or some of them."""
    roll = random.random()
    if roll < 0.4:
        return {}
    settings = {
        "filter": random.choice([None, None, "a", "biz IS NULL OR biz <> 'b1'"]),
        "order": random.choice(["none", "partition", "key", "key"]),
        "assign": random.choice(["none", "none", "none", "average", "circle", "config", "room", "hash"]),
        "once": random.choice([None, None, "key", "header:biz", "id"]),
        "once_ms": random.choice([10_000, 10**9]),
    }
    one = random.choice(["filter", "order", "order", "assign", "once"])
    return settings if roll < 0.7 else {one: settings[one]}


def any_attributes(random: Random) -> Attributes | None:
    return random.choice([None, Attributes(room="r"), Attributes(partitions=(0, 1)), Attributes("s", (2,))])


class HandOutChecks:
    """Knows what was handed out and acknowledged, and what must not be."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.altered: set[int] = set()
        """Groups whose settings or position changed: what follows from their settings alone is not known of them."""
        self._seen: set[tuple[int, int, int]] = set()
        """(group, partition, offset) of everything that was ever handed out."""
        self._acknowledged: dict[tuple[int, bytes], tuple[int, int]] = {}
        """(group, key) -> (until when it is remembered, turn)"""
        self._latest_ms = 0

    def forget_after(self, turn: int) -> None:
        """What was acknowledged in turns after this one never was."""
        self._acknowledged = {each: told for each, told in self._acknowledged.items() if told[1] <= turn}

    # What is handed out

    def handed(self, group: Group, handed: list[Any]) -> None:
        """Messages were handed out just now."""
        now_ms = self._world.core.stage.now_ms
        self._latest_ms = max(self._latest_ms, now_ms)
        for number, record, count in handed:
            self._seen.add((group.id, number, record[0]))
            at_ms = expires_at_ms(group.topic, record)
            assert at_ms is None or at_ms > now_ms, "handed out after it expired"
            if group.id in self.altered:
                continue
            if group.config.filter is not None and count <= 1:
                assert _matches(group.config.filter, record), "handed out, though the filter says no"
            self._check_once(group, record)
            cursor = group.cursors[number]
            if group.config.order == "partition":
                self._check_partition_order(cursor, record[0])
            elif group.config.order == "key":
                self._check_key_order(cursor, record)

    def _check_once(self, group: Group, record: Record) -> None:
        key = once_key(group, record)
        until_ms, _ = self._acknowledged.get((group.id, key or b""), (0, 0))
        assert until_ms <= self._latest_ms, f"the key {key!r} was acknowledged before"

    def _check_partition_order(self, cursor: Cursor, offset: int) -> None:
        mine = cursor.unacknowledged[offset].member
        for other, each in cursor.unacknowledged.items():
            assert other >= offset or each.member is mine, "handed out before an earlier one was done"

    def _check_key_order(self, cursor: Cursor, record: Record) -> None:
        key = order_key(record)
        if key is None:
            return
        records = {each[0]: each for each in records_of(self._world.core, cursor.group.topic, cursor.partition.number)}
        for other in cursor.unacknowledged:
            earlier = other < record[0] and other in records
            assert not earlier or order_key(records[other]) != key, "handed out before an earlier one of its key"

    # What is done

    def done(self, group: Group, number: int, offsets: list[int]) -> None:
        """Messages are about to be acknowledged."""
        if group.config.once is None or group.id in self.altered:
            return
        cursor = group.cursors[number]
        records = {each[0]: each for each in records_of(self._world.core, group.topic, number)}
        for offset in set(offsets) & cursor.unacknowledged.keys() & records.keys():
            key = once_key(group, records[offset])
            if key is not None:
                until_ms = self._world.core.stage.now_ms + group.config.once_ms
                self._acknowledged[group.id, key] = (until_ms, self._world.turn + 1)

    # At all times

    def check_group(self, group: Group) -> None:
        """Nobody has what others must be done with first, and whoever is held back waits for somebody."""
        if group.locks is not None:
            self._check_lines(group)
        elif group.config.order == "partition" and group.id not in self.altered:
            for cursor in group.cursors:
                owners = {each.member for each in cursor.unacknowledged.values() if each.member is not None}
                assert len(owners) <= 1, "a partition is with two members"
                _check_nothing_overtakes(cursor)
        if group.locks is None:
            deliveries = [each for cursor in group.cursors for each in cursor.unacknowledged.values()]
            assert all(each.due_ms != HELD for each in deliveries), "held back by nobody"

    def _check_lines(self, group: Group) -> None:
        assert group.locks is not None
        rows, wall = group.locks.dump()
        first: dict[object, tuple[int, int]] = {}
        for number, offset, *keys in rows:
            for key in filter(None, keys):
                first.setdefault(key, (number, offset))
        for number, offset, *keys in rows:
            each = group.cursors[number].unacknowledged[offset]
            is_first = all(first[key] == (number, offset) for key in keys if key)
            assert (each.due_ms == HELD) != is_first, "held back without a reason, or not held back"
            assert is_first or each.member is None, "two of one key are in flight"
        for number, offset in wall:
            assert offset in group.cursors[number].unacknowledged, "what is done must not keep others waiting"

    # At the end

    def prepare_end(self, group: Group) -> None:
        """Partitions that nobody is assigned to could never be drained."""
        if group.config.assign != "none":
            config = msgspec.structs.replace(group.config, assign="none")
            self._world.core.groups.alter(group, config)

    def check_end(self, topic: Topic, group: Group) -> None:
        """Whatever was never handed out has a reason."""
        moved = group.id in self.altered or topic.name in NAMES  # groups of streams are moved by other calls
        if moved or topic.config.compact or group.config.once is not None:
            return
        for partition in topic.partitions:
            for record in records_of(self._world.core, topic, partition.number):
                place = (topic.id, partition.number, record[0])
                unknown = place not in self._world.sent or place in self._world.fleeting
                if unknown or (group.id, partition.number, record[0]) in self._seen:
                    continue
                unwanted = group.config.filter is not None and not _matches(group.config.filter, record)
                expired = expires_at_ms(topic, record) is not None
                assert unwanted or expired, f"{group.name} never got {place}"


def _check_nothing_overtakes(cursor: Cursor) -> None:
    flying = [offset for offset, each in cursor.unacknowledged.items() if each.member is not None]
    parked = [offset for offset, each in cursor.unacknowledged.items() if each.member is None]
    assert not flying or not parked or max(flying) < min(parked), "in flight, though an earlier one comes again"


def order_key(record: Record) -> bytes | None:
    key = header(record[4], ORDER_KEY)
    return record[2] if key is None else key


def once_key(group: Group, record: Record) -> bytes | None:
    """The business key, where it does not depend on the place of the message."""
    if group.config.once == "key":
        return record[2]
    return header(record[4], BUSINESS) if group.config.once == "header:biz" else None


def _matches(text: str, record: Record) -> bool:
    """What the two filters of `any_settings` mean."""
    if text == "a":
        return header(record[4], TAG) == b"a"
    return header(record[4], BUSINESS) != b"b1"
