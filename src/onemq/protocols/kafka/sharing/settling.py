"""Settling: what becomes of acquired messages, as their member says in an acknowledgement.

    0  gap      there is no message at this offset      acknowledged
    1  accept   it is done                              acknowledged
    2  release  it is to be tried again                 failed: again after the group's policy, or a dead letter
    3  reject   nobody can deal with it                 a dead letter
    4  renew    it takes longer                         its lock begins anew

What is said of one partition in one request happens as a whole or, if any of it is not the member's, not at all.
"""

from collections.abc import Sequence
from typing import Protocol

from onemq.core.core import Core
from onemq.core.cursor import Cursor
from onemq.core.group import Group
from onemq.limits import SHARE_SETTLED_MAX
from onemq.protocols.kafka.errors import ErrorCode, Refused

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
RELEASED = "released by its consumer"
REJECTED = "rejected by its consumer"


class AcknowledgementBatch(Protocol):
    """Offsets from a first to a last one, and one type for all of them or one for each."""

    @property
    def first_offset(self) -> int: ...
    @property
    def last_offset(self) -> int: ...
    @property
    def acknowledge_types(self) -> list[int]: ...


def offsets_in(batches: Sequence[AcknowledgementBatch]) -> int:
    """How many offsets batches name, some perhaps more than once."""
    return sum(max(batch.last_offset - batch.first_offset + 1, 0) for batch in batches)


class Settlement:
    """What a member says of messages of one partition."""

    def __init__(
        self, batches: Sequence[AcknowledgementBatch], renewing: bool, room: int = SHARE_SETTLED_MAX
    ) -> None:
        """Raises INVALID_REQUEST for what makes no sense, whatever the messages are, or is more than there is room for,
        and INVALID_RECORD_STATE if something is said of a message twice."""
        if offsets_in(batches) > room:
            raise _invalid(f"a request settles {SHARE_SETTLED_MAX} messages at most")
        self.renewing = renewing
        """Whether the request says that there are renewals in it."""
        self.offsets: dict[int, list[int]] = {}
        """By type, ascending."""
        end = 0
        for batch in batches:
            if not 0 <= batch.first_offset <= batch.last_offset:
                raise _invalid(f"there are no offsets from {batch.first_offset} to {batch.last_offset}")
            if batch.first_offset < end:
                text = f"the offsets {batch.first_offset} to {batch.last_offset} are not behind those before"
                raise Refused(ErrorCode.INVALID_RECORD_STATE, text)
            end = batch.last_offset + 1
            self._add(range(batch.first_offset, end), batch.acknowledge_types)

    def _add(self, offsets: range, types: list[int]) -> None:
        if len(types) not in (1, len(offsets)):
            raise _invalid(f"{len(types)} types for {len(offsets)} offsets")
        for each in set(types):
            if not GAP <= each <= (RENEW if self.renewing else REJECT):
                raise _invalid(f"{each} is no type of acknowledgement here")
        if len(types) == 1:
            self.offsets.setdefault(types[0], []).extend(offsets)
            return
        for offset, each in zip(offsets, types, strict=True):
            self.offsets.setdefault(each, []).append(offset)

    def carry_out(self, core: Core, group: Group, number: int, member: str) -> None:
        """Raises INVALID_RECORD_STATE, and does nothing, if any of the messages is not the member's; INVALID_REQUEST if
        it was nobody's."""
        cursor = core.groups.cursor(group, number)
        known = {each: self._known(cursor, offsets, member) for each, offsets in self.offsets.items()}
        core.stage.check()
        done = sorted(known.get(GAP, []) + known.get(ACCEPT, []))
        if done:
            core.groups.acknowledge_known(group, number, done)
        if known.get(RENEW):
            core.groups.extend(group, number, known[RENEW])
        for offset in known.get(REJECT, ()):
            core.groups.reject(group, number, offset, REJECTED)
        if known.get(RELEASE):
            core.groups.fail(group, number, known[RELEASE], RELEASED)

    def _known(self, cursor: Cursor, offsets: list[int], member: str) -> list[int]:
        """Those that are not done; everything before the first such one is, or retention has taken it."""
        if offsets[0] < cursor.low:
            offsets = [offset for offset in offsets if offset >= cursor.low]
        if offsets and offsets[-1] >= max(cursor.next, cursor.high):
            raise _invalid(f"offset {offsets[-1]} was never handed out")
        for delivery in set(map(cursor.unacknowledged.get, offsets)):
            if delivery is None or delivery.member is None or delivery.member.name != member:
                place = f"{cursor.group.topic.name}-{cursor.partition.number}"
                text = f"the member has not acquired all of these messages of {place}, or no longer"
                raise Refused(ErrorCode.INVALID_RECORD_STATE, text)
        return offsets


def _invalid(text: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, text)
