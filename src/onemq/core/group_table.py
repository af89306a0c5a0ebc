"""The table of groups: what applies their entries, and their state in a snapshot. Groups (groups.py) decide."""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

import msgspec

from onemq.core.assignment import NO_ATTRIBUTES, Attributes
from onemq.core.cursor import Cursor
from onemq.core.delivery import COUNT_MAX, GIVEN_UP, READY, Attempt, Delivery, Member
from onemq.core.entries import (
    ACKNOWLEDGE,
    CLAIM,
    DELIVER,
    DELIVER_LANE,
    GROUP_ALTER,
    GROUP_CREATE,
    GROUP_DELETE,
    HAND,
    HOLD,
    JOIN,
    LEAVE,
    MARK,
    MOVE,
    ONCE,
    PASS,
    RETURN,
    SEEK,
    offsets_of,
)
from onemq.core.group import Group, GroupConfig
from onemq.core.locks import NO_HASH
from onemq.core.once import NO_KEY
from onemq.core.partition import Partition
from onemq.core.stage import Stage
from onemq.core.timers import Timers
from onemq.core.topics import Topic, Topics
from onemq.limits import HISTORY_MAX


class GroupTable:
    """The groups of all topics as the entries made them."""

    def __init__(self, stage: Stage, topics: Topics) -> None:
        self._stage = stage
        self._topics = topics
        self._by_id: dict[int, Group] = {}
        self._next_id = 1
        self._retries: Timers[Delivery] = Timers(_is_done)
        self._leases: Timers[Delivery] = Timers(_is_done)
        self.hot: dict[Group, None] = {}
        """Groups that may have something for those who wait."""
        topics.on_delete.append(self._topic_deleted)
        topics.on_trim.append(self._wake_locked)
        self._appliers = self.appliers()

    def by_id(self, id: int) -> Group:
        """The group of an id, which must exist."""
        return self._by_id[id]

    def find(self, id: int) -> Group | None:
        """The group of an id, if it still exists."""
        return self._by_id.get(id)

    def has(self, group: Group) -> bool:
        """Whether the group still exists."""
        return self._by_id.get(group.id) is group

    def release_all(self) -> None:
        """Answers everyone who waits with nothing."""
        for group in {**dict.fromkeys(self._by_id.values()), **self.hot}:
            self.release(group)

    def release(self, group: Group) -> None:
        """Answers everyone who waits in a group with nothing."""
        waiting, group.waiting = group.waiting, OrderedDict()  # those who are told may ask again
        for request in waiting:
            request.finish()

    # State

    def appliers(self) -> dict[int, Callable[[Any], None]]:
        """What applies each kind of entry."""
        return {
            GROUP_CREATE: self._apply_create,
            GROUP_ALTER: self._apply_alter,
            GROUP_DELETE: self._apply_delete,
            SEEK: self._apply_seek,
            JOIN: self._apply_join,
            LEAVE: self._apply_leave,
            DELIVER: self._apply_deliver,
            DELIVER_LANE: self._apply_deliver_lane,
            PASS: self._apply_pass,
            HAND: self._apply_hand,
            CLAIM: self._apply_claim,
            MOVE: self._apply_move,
            MARK: self._apply_mark,
            ACKNOWLEDGE: self._apply_acknowledge,
            RETURN: self._apply_return,
            HOLD: self._apply_hold,
            ONCE: self._apply_once,
        }

    def dump(self) -> object:
        """For the snapshot."""
        return [self._next_id, [self._dump_group(group) for group in self._by_id.values()]]

    def _dump_group(self, group: Group) -> list[object]:
        members = [[each.name, each.leased, _attributes_entry(each.attributes)] for each in group.members.values()]
        cursors = [self._dump_cursor(cursor) for cursor in group.cursors]
        row = [group.id, group.topic.id, group.name, msgspec.to_builtins(group.config), members, cursors]
        locks = group.locks.dump() if group.locks is not None else None
        once = group.once_keys.dump() if group.once_keys is not None else None
        return [*row, [locks, once]]

    def _dump_cursor(self, cursor: Cursor) -> list[object]:
        return [cursor.next, self._dump_deliveries(cursor), cursor.last, cursor.begun, cursor.remark]

    def _dump_deliveries(self, cursor: Cursor) -> list[object]:
        """Each delivery once, with the offsets that are still in it."""
        together: dict[Delivery, list[int]] = {}
        for offset, delivery in cursor.unacknowledged.items():
            together.setdefault(delivery, []).append(offset)
        return [
            [each.member.name if each.member else None, each.since_ms, each.count, each.history, each.due_ms, offsets]
            for each, offsets in together.items()
        ]

    def load(self, state: Any) -> None:
        """The reverse of `dump`."""
        next_id, groups = state
        for id, topic, name, config, members, cursors, *held in groups:
            self._apply_create((GROUP_CREATE, id, topic, name, [next_offset for next_offset, *_ in cursors], config))
            for member in members:
                self._apply_join((JOIN, id, *member))
            for cursor, (_, deliveries, *more) in zip(self._by_id[id].cursors, cursors, strict=True):
                cursor.last = more[0] if more else cursor.next
                if len(more) > 1:
                    cursor.begun, cursor.remark = more[1], (more[2][0], more[2][1]) if more[2] else None
                for fields in deliveries:
                    self._load_delivery(cursor, *fields)
                cursor.high = max(cursor.next, max(cursor.unacknowledged, default=-1) + 1)
                cursor.settle_low()
            for locks, once in held:
                self._load_held(self._by_id[id], locks, once)
        self._next_id = next_id

    def _load_held(self, group: Group, locks: Any, once: Any) -> None:
        if group.locks is not None and locks is not None:
            group.locks.load(locks)
        if group.once_keys is not None and once is not None:
            group.once_keys.load(once)

    def _load_delivery(
        self, cursor: Cursor, member: str | None, since_ms: int, count: int, history: Any, due_ms: int, offsets: Any
    ) -> None:
        owner = cursor.group.members[member] if member is not None else None
        attempts: tuple[Attempt, ...] = tuple(tuple(attempt) for attempt in history)
        if owner is not None or due_ms == GIVEN_UP:
            self._own(Delivery(cursor, owner, offsets, since_ms, count, attempts, due_ms))
        else:
            for offset in offsets:
                self._park(offset, Delivery(cursor, None, [offset], since_ms, count, attempts, max(due_ms, READY)))

    def clamp(self) -> None:
        """Forgets messages that are gone: a power cut may have taken the last ones of async topics."""
        for group in self._by_id.values():
            for cursor in group.cursors:
                cursor.settle_low()
                cursor.trim(cursor.partition.start)
                cursor.cut(cursor.partition.end)

    # Applying

    def _apply_create(self, entry: Any) -> None:
        _, id, topic_id, name, positions, config, *idle = entry
        topic = self._topics.by_id(topic_id)
        assert topic is not None, "a group is created on a topic that exists"
        group = Group(id, topic, name, msgspec.convert(config, GroupConfig))
        for partition, position in zip(topic.partitions, positions, strict=True):
            group.add_cursor(partition, position, begun=True)
        for number in idle[0] if idle else ():
            group.cursors[number].begun = False
        topic.groups[name] = self._by_id[id] = group
        self._next_id = max(self._next_id, id + 1)

    def _apply_alter(self, entry: Any) -> None:
        self._by_id[entry[1]].set_config(msgspec.convert(entry[2], GroupConfig))

    def _apply_delete(self, entry: Any) -> None:
        group = self._by_id.pop(entry[1])
        del group.topic.groups[group.name]
        self._gone(group)

    def _topic_deleted(self, topic: Topic) -> None:
        for group in topic.groups.values():
            self._by_id.pop(group.id, None)
            self._gone(group)

    def _gone(self, group: Group) -> None:
        """Who waits is told at the end of the turn: it may ask for anything then."""
        if group.waiting:
            self.hot[group] = None
        else:
            self.hot.pop(group, None)

    def _wake_locked(self, topic: Topic, partition: Partition, start: int) -> None:
        """What is trimmed may be what other messages wait for."""
        self.hot.update((group, None) for group in topic.groups.values() if group.locks is not None)

    def _apply_seek(self, entry: Any) -> None:
        _, id, number, offset = entry
        self._by_id[id].cursors[number].seek(offset)

    def _apply_move(self, entry: Any) -> None:
        _, id, number, offset = entry
        self._by_id[id].cursors[number].move(offset)

    def _apply_mark(self, entry: Any) -> None:
        _, id, number, offset, remark = entry
        self._by_id[id].cursors[number].mark(offset, remark)

    def _apply_join(self, entry: Any) -> None:
        _, id, name, leased, *attributes = entry
        group = self._by_id[id]
        member = group.members.setdefault(name, Member(name, leased, self._stage.now_ms))
        member.leased = leased
        if attributes and attributes[0] is not None:
            member.attributes = msgspec.convert(attributes[0], Attributes)
        group.members_changed()

    def _apply_leave(self, entry: Any) -> None:
        _, id, name, now_ms, reason = entry
        group = self._by_id[id]
        member = group.members[name]
        for cursor, offset in held_by(member):
            self._put_back(cursor, offset, READY, now_ms, reason, 0)
        del group.members[name]
        group.members_changed()

    def _apply_deliver(self, entry: Any) -> None:
        _, id, number, name, now_ms, next_offset, runs = entry
        cursor = self._by_id[id].cursors[number]
        if cursor.next < cursor.high:
            self._release(cursor, offsets_of(runs) if runs else ())
        cursor.next = cursor.last = next_offset
        cursor.begun = True
        if runs:
            self._own(Delivery(cursor, self._member(cursor.group, name), offsets_of(runs), now_ms, 1))

    def _apply_deliver_lane(self, entry: Any) -> None:
        _, id, number, name, now_ms, priority, position, next_offset, offsets = entry
        cursor = self._by_id[id].cursors[number]
        cursor.lanes.places[priority] = position
        cursor.next = next_offset
        cursor.begun = True
        if offsets:
            self._release(cursor, offsets)
            self._own(Delivery(cursor, self._member(cursor.group, name), offsets, now_ms, 1))
            cursor.high = max(cursor.high, offsets[-1] + 1)

    def _apply_pass(self, entry: Any) -> None:
        _, id, number, next_offset = entry
        cursor = self._by_id[id].cursors[number]
        cursor.next = next_offset
        cursor.begun = True

    def _apply_hand(self, entry: Any) -> None:
        _, id, number, name, now_ms, offsets, counts = entry
        cursor = self._by_id[id].cursors[number]
        alike: dict[tuple[int, tuple[Attempt, ...]], list[int]] = {}
        for offset in offsets:
            old = cursor.unacknowledged[offset]
            old.release()
            alike.setdefault((min(old.count + counts, COUNT_MAX), old.history), []).append(offset)
        for (count, history), together in alike.items():
            self._own(Delivery(cursor, self._member(cursor.group, name), together, now_ms, count, history))

    def _apply_claim(self, entry: Any) -> None:
        _, id, number, name, since_ms, offsets, counts = entry
        cursor = self._by_id[id].cursors[number]
        member = None if name is None else self._member(cursor.group, name)
        for offset, count in zip(offsets, counts, strict=True):
            old = cursor.unacknowledged.get(offset)
            history = old.history if old is not None else ()
            self._release(cursor, (offset,))
            if member is None:
                cursor.unacknowledged.pop(offset, None)  # the order tells who was given up first
            self._own(Delivery(cursor, member, [offset], since_ms, count, history, GIVEN_UP))
            cursor.reopen(offset)
        cursor.begun = True

    def _apply_acknowledge(self, entry: Any) -> None:
        _, id, number, runs = entry
        cursor = self._by_id[id].cursors[number]
        if cursor.group.locks is not None:
            cursor.group.locks.release(number, offsets_of(runs))
        together, last = 0, None
        done = list(map(cursor.unacknowledged.pop, offsets_of(runs)))
        if done.count(done[0]) == len(done):  # mostly they were handed out together
            together, last = len(done), done.pop()
            done.clear()
        for delivery in done:
            if delivery is not last:
                if last is not None:
                    last.release(together)
                together, last = 0, delivery
            together += 1
        if last is not None:
            last.release(together)
        if cursor.ghosts:
            for offset in offsets_of(runs):
                cursor.ghosts.pop(offset, None)

    def _apply_return(self, entry: Any) -> None:
        _, id, number, offsets, due_ms, now_ms, reason, uncount = entry
        cursor = self._by_id[id].cursors[number]
        for offset in offsets:
            self._put_back(cursor, offset, due_ms, now_ms, reason, uncount)

    def _apply_hold(self, entry: Any) -> None:
        _, id, number, now_ms, next_offset, offsets, order_keys, once_keys = entry
        cursor = self._by_id[id].cursors[number]
        cursor.next = cursor.last = next_offset
        cursor.begun = True
        locks = cursor.group.locks
        for place, offset in enumerate(offsets):
            if offset in cursor.unacknowledged:
                continue  # the group was moved back, and this one is not done yet
            cursor.high = max(cursor.high, offset + 1)
            self._park(offset, Delivery(cursor, None, [offset], now_ms, 0))
            if locks is not None:
                order = order_keys[place] if order_keys else NO_HASH
                locks.add(number, offset, order, once_keys[place] if once_keys else NO_KEY)

    def _apply_once(self, entry: Any) -> None:
        _, id, keys, until_ms, now_ms = entry
        remembered = self._by_id[id].once_keys
        if remembered is not None:
            remembered.remember(keys, until_ms, now_ms)

    # Small steps

    def _put_back(self, cursor: Cursor, offset: int, due_ms: int, now_ms: int, reason: str, uncount: int) -> None:
        old = cursor.unacknowledged[offset]
        history = old.history
        if reason:
            owner = old.member.name if old.member else ""
            history = (*history, (old.since_ms, owner, now_ms, reason))[-HISTORY_MAX:]
        old.release()
        self._park(offset, Delivery(cursor, None, [offset], now_ms, max(old.count - uncount, 0), history, due_ms))

    def _park(self, offset: int, delivery: Delivery) -> None:
        """The message belongs to nobody: ready at once, or when it is due."""
        cursor = delivery.cursor
        cursor.unacknowledged[offset] = delivery
        if delivery.due_ms == READY:
            cursor.make_ready(offset)
        else:
            self._retries.add(delivery.due_ms, delivery)

    def _own(self, delivery: Delivery) -> None:
        """The messages belong to a member, for as long as its lease lasts, or to nobody, given up."""
        cursor = delivery.cursor
        cursor.unacknowledged.update(zip(delivery.offsets, repeat(delivery), strict=False))
        lease_ms = cursor.group.config.lease_ms
        if lease_ms and delivery.member is not None:
            self._leases.add(delivery.since_ms + lease_ms, delivery)

    def _release(self, cursor: Cursor, offsets: Iterable[int]) -> None:
        """Those of the messages that are in flight are about to be handed out anew."""
        for offset in offsets:
            old = cursor.unacknowledged.get(offset)
            if old is not None:
                old.release()

    def _member(self, group: Group, name: str) -> Member:
        member = group.members.get(name)
        if member is None:
            member = group.members[name] = Member(name, False, self._stage.now_ms)
            group.members_changed()
        return member


def _attributes_entry(attributes: Attributes) -> Any:
    return None if attributes == NO_ATTRIBUTES else msgspec.to_builtins(attributes)


def _is_done(delivery: Delivery) -> bool:
    """Whether all its messages are done, or in other deliveries."""
    return not delivery.left


def held_by(member: Member) -> list[tuple[Cursor, int]]:
    """What a member has in flight."""
    return [
        (delivery.cursor, offset)
        for delivery in member.held
        for offset in delivery.offsets
        if delivery.cursor.unacknowledged.get(offset) is delivery
    ]
