"""Screening: looks at each message before it is handed out, where a group or a topic asks for that.

One turn looks at so many messages only: a long run of messages that a group does not want must not keep others
waiting. What is left is for the next turn.
"""

from onemq import limits
from onemq.core.admission import EXPIRED, Admission
from onemq.core.cursor import Cursor
from onemq.core.expiry import is_expired, may_expire
from onemq.core.group import Group, GroupConfig
from onemq.core.groups import Groups
from onemq.core.stage import Stage
from onemq.message import Record

PLAIN = Admission(GroupConfig())
_HOLD_AT_ONCE_MIN = 32


def is_plain(cursor: Cursor, records: list[Record]) -> bool:
    """Whether a group hands out records without looking at each."""
    group = cursor.group
    return group.admission is None and not may_expire(group.topic, cursor.partition, records)


def _room(cursor: Cursor) -> int:
    """How many more messages of a partition may stand in line behind others."""
    locks = cursor.group.locks
    return limits.HELD_PER_PARTITION_MAX - (locks.held(cursor.partition.number) if locks is not None else 0)


def _taken(ahead: list[Record], most: int) -> list[Record]:
    """The next records of those that were read ahead, which stand there in reverse."""
    records = ahead[: -most - 1 : -1]
    del ahead[-most:]
    return records


def _passed(records: list[Record], handed: list[Record], dead: list[int]) -> list[int]:
    """The offsets of those that are neither handed out nor dead letters."""
    if len(records) == len(handed) + len(dead):
        return []
    others = {record[0] for record in handed}.union(dead)
    return [record[0] for record in records if record[0] not in others]


class Screening:
    """Carries out what admission says."""

    def __init__(self, stage: Stage, groups: Groups) -> None:
        self._stage = stage
        self._groups = groups
        self._left = limits.SCREENED_PER_TURN_MAX
        self._batches_left = limits.UNREADABLE_PER_TURN_MAX
        self.later: dict[Group, None] = {}
        """Groups that have more to look at in the next turn."""

    def tick(self) -> bool:
        """A turn begins. Returns whether the last one left something to do."""
        self._left = limits.SCREENED_PER_TURN_MAX
        self._batches_left = limits.UNREADABLE_PER_TURN_MAX
        later, self.later = self.later, {}
        self._groups.hot.update((group, None) for group in later if self._groups.has(group))
        return bool(later)

    def may_go_on(self, cursor: Cursor) -> bool:
        """Whether fresh messages of a cursor can be looked at now."""
        group = cursor.group
        if group.locks is not None and (group.locks.wall or _room(cursor) <= 0):
            return False
        if self._left <= 0:
            self.later[group] = None
        return self._left > 0

    def passed_batch(self) -> None:
        """Something that cannot be read was passed over."""
        self._batches_left -= 1

    def may_read(self, group: Group) -> bool:
        """Whether more is read for a group in this turn: not if much of it could not be read."""
        if self._batches_left <= 0:
            self.later[group] = None
        return self._batches_left > 0

    def take(self, cursor: Cursor, member: str, most: int, in_flight: bool) -> list[Record]:
        """Hands up to so many of the records that were read ahead to a member."""
        handed, next_offset = self._screened(cursor, cursor.group.admission or PLAIN, most)
        offsets = [record[0] for record in handed]
        self._groups.deliver(cursor, member, next_offset, offsets if in_flight else [])
        return handed

    def hold(self, cursor: Cursor, most: int) -> int:
        """Puts records that were read ahead in line; those that are first in theirs are ready then. Returns how
        many."""
        admission = cursor.group.admission or PLAIN
        at_once = _HOLD_AT_ONCE_MIN if cursor.ranked is None else 1  # where they may be overtaken, not too early
        held, next_offset = self._screened(cursor, admission, min(max(most, at_once), _room(cursor)))
        self._left -= len(held)
        offsets = [record[0] for record in held]
        order_keys = [admission.order_key(record) for record in held]
        once_keys = [admission.once_key(cursor, record) for record in held]
        self._groups.hold(cursor, next_offset, offsets, order_keys, once_keys)
        cursor.again.update((each[0], each) for each in held if not cursor.unacknowledged[each[0]].due_ms)
        return len(held)

    def _screened(self, cursor: Cursor, admission: Admission, most: int) -> tuple[list[Record], int]:
        """Up to so many records that may be handed out, once the others are out of the way, and the offset after all
        that were looked at."""
        now_ms, ahead = self._stage.now_ms, cursor.ahead
        handed: list[Record] = []
        dead: list[int] = []
        next_offset = cursor.position
        while ahead and len(handed) < most and self._left > 0:
            records = _taken(ahead, min(most - len(handed), self._left))
            next_offset = records[-1][0] + 1
            found, expired = admission.fresh(cursor, records, now_ms)
            self._left -= len(records) - len(found)
            self._tell_passed(cursor, records, found, expired)
            handed += found
            dead += expired
        self._bury_fresh(cursor, next_offset, dead)
        return handed, next_offset

    def again(self, cursor: Cursor, records: list[Record]) -> list[Record]:
        """Those of the records that may be handed out, once the others are out of the way."""
        group = cursor.group
        if not records or is_plain(cursor, records):
            return records
        admission = group.admission or PLAIN
        handed, dead = admission.again(cursor, records, self._stage.now_ms)
        self._tell_passed(cursor, records, handed, dead)
        self._groups.dismiss(group, cursor.partition.number, _passed(records, handed, dead))
        for offset in dead:
            self._groups.bury(cursor, offset, EXPIRED)
        return handed

    def bury_expired(self, cursor: Cursor, most: int) -> int:
        """Makes up to so many records that were read ahead dead letters, up to the first that has not expired.
        Returns how many."""
        topic, ahead, now_ms = cursor.group.topic, cursor.ahead, self._stage.now_ms
        dead: list[int] = []
        while ahead and len(dead) < most and is_expired(topic, ahead[-1], now_ms):
            dead.append(ahead.pop()[0])
        if dead:
            self._bury_fresh(cursor, dead[-1] + 1, dead)
        return len(dead)

    def _tell_passed(self, cursor: Cursor, records: list[Record], handed: list[Record], dead: list[int]) -> None:
        if self._groups.trace is not None and len(records) > len(handed) + len(dead):
            self._groups.trace.passed(cursor, _passed(records, handed, dead))

    def _bury_fresh(self, cursor: Cursor, next_offset: int, offsets: list[int]) -> None:
        if offsets:
            self._groups.hold(cursor, next_offset, offsets)
            for offset in offsets:
                self._groups.bury(cursor, offset, EXPIRED)
