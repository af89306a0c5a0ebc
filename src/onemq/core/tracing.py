"""Tracing: what becomes of the messages of traced topics, told to an internal topic as it happens.

Each entry of a group of such a topic becomes one record there, however many messages it is about; so does each dead
letter. They are written at the end of the turn, with the set that they tell of, but as an async topic is: a power
cut may take the last ones. Nothing is noted for other topics, and nothing at all while no topic is traced.

A record of the topic `__trace`: its key names the traced topic, its value is a MessagePack list

    time, event, group, member or nil, partition, runs or nil (all messages), count, due, reason, place or nil

with the event as text, runs as in entries, how often the messages were handed out (one number, or one for each of
them), when they are due again (0: at once), and [topic, partition, offset] of a dead letter.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from onemq.core.cursor import Cursor
from onemq.core.entries import (
    ACKNOWLEDGE,
    CLAIM,
    DELIVER,
    DELIVER_LANE,
    HAND,
    HOLD,
    LEAVE,
    MARK,
    MOVE,
    PASS,
    RETURN,
    SEEK,
    offsets_of,
    runs_of,
)
from onemq.core.group import Group
from onemq.core.group_table import held_by
from onemq.core.groups import Groups
from onemq.core.partition import Partition
from onemq.core.sending import Sending
from onemq.core.stage import Stage
from onemq.core.topics import Topic, Topics
from onemq.log.records import NO_HEADERS
from onemq.message import PRIORITY_DEFAULT

_UNKEPT = "needs no acknowledgement"


class Told(msgspec.Struct, array_like=True):
    """What happened to some messages of a partition."""

    time_ms: int
    event: str
    group: str
    member: str | None
    partition: int
    runs: list[int] | None
    count: int | list[int] = 0
    due_ms: int = 0
    reason: str = ""
    place: tuple[str, int, int] | None = None


def trace_key(topic_id: int) -> bytes:
    """The key of all records about a topic."""
    return b"topic:%x;" % topic_id


def trace_partition(trace: Topic, topic_id: int) -> Partition:
    """Where they are."""
    return trace.partitions[topic_id % len(trace.partitions)]


class Tracing:
    """Notes what happens in a turn, and writes it at its end."""

    def __init__(self, stage: Stage, topics: Topics, groups: Groups, sending: Sending) -> None:
        self._stage = stage
        self._topics = topics
        self._groups = groups
        self._sending = sending
        self._traced: set[int] = set()
        self.noted: list[tuple[int, Told]] = []
        """(topic, what happened) in this turn."""
        topics.on_change.append(self._changed)
        topics.on_delete.append(self._deleted)
        self._notes: dict[int, Callable[[Any, Group], None]] = {
            DELIVER: self._deliver,
            DELIVER_LANE: self._deliver_lane,
            HAND: self._hand,
            HOLD: self._hold,
            ACKNOWLEDGE: self._acknowledge,
            RETURN: self._return,
            LEAVE: self._leave,
            CLAIM: self._claim,
            PASS: self._pass,
            SEEK: self._move,
            MOVE: self._move,
            MARK: self._mark,
        }

    def _changed(self, topic: Topic) -> None:
        (self._traced.add if topic.config.trace else self._traced.discard)(topic.id)
        self._groups.trace = self if self._traced else None

    def _deleted(self, topic: Topic) -> None:
        self._traced.discard(topic.id)
        self._groups.trace = self if self._traced else None

    def entry(self, entry: tuple[Any, ...], group: Group) -> None:
        """An entry is about to be applied."""
        if group.topic.id in self._traced:
            note = self._notes.get(entry[0])
            if note is not None:
                note(entry, group)

    def buried(self, cursor: Cursor, offset: int, reason: str, place: tuple[str, int, int]) -> None:
        """A message became a dead letter, which lies at a place."""
        group, number = cursor.group, cursor.partition.number
        if group.topic.id in self._traced:
            count = cursor.unacknowledged[offset].count
            self._note(group, "dead", None, number, [offset, offset], count=count, reason=reason, place=place)

    def passed(self, cursor: Cursor, offsets: list[int]) -> None:
        """The group does not hand out those messages: not wanted, expired, or done before."""
        if cursor.group.topic.id in self._traced:
            self._note(cursor.group, "passed", None, cursor.partition.number, runs_of(offsets))

    def write(self) -> None:
        """Stages what was noted. While the disk is too full for messages, it is dropped."""
        noted, self.noted = self.noted, []
        if self._sending.refusal is not None:
            return
        trace, now_ms = self._topics.ensure_trace(), self._stage.now_ms
        for topic_id, told in noted:
            partition = trace_partition(trace, topic_id)
            self._stage.message(partition)
            partition.add(now_ms, trace_key(topic_id), msgspec.msgpack.encode(told), NO_HEADERS, persistent=True)

    def _note(
        self,
        group: Group,
        event: str,
        member: str | None,
        number: int,
        runs: list[int] | None,
        count: int | list[int] = 0,
        due_ms: int = 0,
        reason: str = "",
        place: tuple[str, int, int] | None = None,
    ) -> None:
        told = Told(self._stage.now_ms, event, group.name, member, number, runs, count, due_ms, reason, place)
        self.noted.append((group.topic.id, told))

    # One for each kind of entry

    def _deliver(self, entry: Any, group: Group) -> None:
        _, _, number, member, _, next_offset, runs = entry
        if runs:
            self._note(group, "delivered", member, number, runs, count=1)
            return
        self._unkept(group, member, number, _moved(group.cursors[number], next_offset))

    def _deliver_lane(self, entry: Any, group: Group) -> None:
        _, _, number, member, _, priority, position, _, offsets = entry
        if offsets:
            self._note(group, "delivered", member, number, runs_of(offsets), count=1)
            return
        cursor = group.cursors[number]
        if member and cursor.ranked is not None:
            moved = cursor.ranked.between(priority, cursor.lanes.of(priority), position)
            self._unkept(group, member, number, moved)

    def _unkept(self, group: Group, member: str, number: int, moved: Sequence[int]) -> None:
        runs = self._rest(group, number, moved)
        if runs:
            self._note(group, "delivered", member, number, runs, count=1, reason=_UNKEPT)

    def _rest(self, group: Group, number: int, offsets: Sequence[int]) -> list[int]:
        """What a group moves over, less what it has just passed."""
        last = self.noted[-1][1] if self.noted else None
        if last is not None and (last.event, last.group, last.partition) == ("passed", group.name, number):
            passed = set(offsets_of(last.runs or []))
            offsets_left = [offset for offset in offsets if offset not in passed]
            return runs_of(offsets_left) if offsets_left else []
        return runs_of(offsets) if offsets else []

    def _hold(self, entry: Any, group: Group) -> None:
        _, _, number, _, _, offsets, _, _ = entry
        if offsets:
            self._note(group, "held", None, number, runs_of(sorted(offsets)))

    def _hand(self, entry: Any, group: Group) -> None:
        _, _, number, member, _, offsets, counts = entry
        deliveries = group.cursors[number].unacknowledged
        offsets = sorted(offsets)
        count = [deliveries[offset].count + counts for offset in offsets]
        event = "delivered" if counts else "claimed"
        self._note(group, event, member, number, runs_of(offsets), count[0] if len(set(count)) == 1 else count)

    def _acknowledge(self, entry: Any, group: Group) -> None:
        _, _, number, runs = entry
        self._note(group, "acknowledged", None, number, runs)  # the very list: later ones of the turn come into it

    def _return(self, entry: Any, group: Group) -> None:
        _, _, number, offsets, due_ms, _, reason, _ = entry
        self._put_back(group, number, offsets, due_ms, reason)

    def _leave(self, entry: Any, group: Group) -> None:
        _, _, name, _, reason = entry
        by_number: dict[int, list[int]] = {}
        for cursor, offset in held_by(group.members[name]):
            by_number.setdefault(cursor.partition.number, []).append(offset)
        for number, offsets in by_number.items():
            self._put_back(group, number, offsets, 0, reason)

    def _put_back(self, group: Group, number: int, offsets: list[int], due_ms: int, reason: str) -> None:
        member = group.cursors[number].unacknowledged[offsets[0]].member
        event = "failed" if reason else "returned"
        name = member.name if member is not None else None
        self._note(group, event, name, number, runs_of(sorted(offsets)), due_ms=due_ms, reason=reason)

    def _claim(self, entry: Any, group: Group) -> None:
        _, _, number, member, _, offsets, counts = entry
        by_offset = dict(zip(offsets, counts, strict=True))
        runs = runs_of(sorted(by_offset))
        event = "given up" if member is None else "claimed"
        self._note(group, event, member, number, runs, [by_offset[offset] for offset in sorted(by_offset)])

    def _pass(self, entry: Any, group: Group) -> None:
        _, _, number, next_offset = entry
        runs = self._rest(group, number, _moved(group.cursors[number], next_offset))
        if runs:
            self._note(group, "passed", None, number, runs, reason="there was nothing that can be read")

    def _move(self, entry: Any, group: Group) -> None:
        _, _, number, offset = entry
        self._note(group, "moved", None, number, None, reason=f"the group goes on at offset {offset}")

    def _mark(self, entry: Any, group: Group) -> None:
        self._move(entry[:4], group)


def _moved(cursor: Cursor, next_offset: int) -> Sequence[int]:
    """What a group moves over when it goes on at an offset of the default lane."""
    lanes = cursor.ranked
    if lanes is None:
        return range(cursor.next, next_offset)
    return lanes.between(PRIORITY_DEFAULT, cursor.next, next_offset)
