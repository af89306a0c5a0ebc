"""Claims: what is in flight goes to another member, though nobody gave it back."""

from collections.abc import Iterable

from onemq.core.cursor import Cursor
from onemq.core.delivery import BURYING
from onemq.core.entries import CLAIM
from onemq.core.group import Group
from onemq.core.groups import Groups
from onemq.core.locks import HELD
from onemq.core.stage import Stage


class Claims:
    """Hands out what others have."""

    def __init__(self, stage: Stage, groups: Groups) -> None:
        self._stage = stage
        self._groups = groups

    def claim(
        self, group: Group, number: int, offsets: Iterable[int], member: str, idle_ms_min: int = 0, counts: bool = True
    ) -> list[int]:
        """Hands deliveries that were idle for long enough to another member; returns which. If it counts, those
        that were handed out as often as allowed become dead letters instead."""
        self._groups.check_receiver(group, member, number)
        cursor = group.cursors[number]
        now_ms = self._stage.now_ms
        claimed = [
            offset
            for offset in sorted(set(offsets))
            if (delivery := cursor.unacknowledged.get(offset)) is not None
            and delivery.due_ms not in (BURYING, HELD)
            and now_ms - delivery.since_ms >= idle_ms_min
        ]
        if group.config.order == "partition" and not _is_whole(cursor, claimed):
            return []  # a partition is with one member only, so it is claimed as a whole
        if counts:
            claimed = [offset for offset in claimed if not self.bury_if_worn_out(cursor, offset)]
        if claimed:
            self._groups.join(group, member, group.members[member].leased if member in group.members else False)
            self._groups.hand(cursor, member, claimed, counts)
        return claimed

    def take(self, group: Group, number: int, member: str, since_ms: int, counts: dict[int, int]) -> None:
        """Those messages are in flight with a member, as if handed out at a time, so often: offset -> count."""
        self._groups.check_receiver(group, member, number)
        self._groups.join(group, member, group.members[member].leased if member in group.members else False)
        self._groups.do((CLAIM, group.id, number, member, since_ms, list(counts), list(counts.values())), group)

    def give_up(self, group: Group, number: int, counts: dict[int, int]) -> None:
        """Those messages are in flight with nobody, and count as handed out so often: offset -> count."""
        self._groups.cursor(group, number)
        now_ms = self._stage.now_ms
        self._groups.do((CLAIM, group.id, number, None, now_ms, list(counts), list(counts.values())), group)

    def bury_if_worn_out(self, cursor: Cursor, offset: int) -> bool:
        """Makes a delivery that is to be claimed a dead letter if one more would be over the allowed count."""
        delivery = cursor.unacknowledged[offset]
        most = cursor.group.policy.max_deliveries if cursor.group.policy else None
        if most is None or delivery.count < most:
            return False
        owner = f" from {delivery.member.name!r}" if delivery.member else ""
        reason = f"claimed{owner}, but handed out as often as allowed"
        self._groups.condemn(cursor, offset, reason)
        return True


def _is_whole(cursor: Cursor, offsets: list[int]) -> bool:
    """Whether the offsets are all that is in flight, and everything before the last of them that is not done."""
    last = max(offsets, default=-1)
    deliveries = cursor.unacknowledged.items()
    return {offset for offset, each in deliveries if each.member is not None or offset <= last} <= set(offsets)
