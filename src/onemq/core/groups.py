"""All groups: members, acknowledgements, returns and seeks. Handing out is in receiving.py, claims in claims.py."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, cast

import msgspec

from onemq.core.assignment import Attributes
from onemq.core.cursor import Cursor
from onemq.core.delivery import BURYING, GIVEN_UP, READY, Delivery, Member
from onemq.core.entries import (
    ACKNOWLEDGE,
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
    runs_of,
)
from onemq.core.group import Group, GroupConfig
from onemq.core.group_table import GroupTable, held_by
from onemq.core.once import digest
from onemq.core.stage import Stage
from onemq.core.topics import Topics
from onemq.errors import AlreadyExists, InvalidArgument, NotFound
from onemq.limits import FIRE_PER_TICK_MAX, REASON_CHARACTERS_MAX
from onemq.message import PRIORITY_DEFAULT, check_name
from onemq.units import DURATION_MS_MAX

Bury = Callable[[Cursor, int, str], None]
BuryAll = Callable[[Cursor, list[int], str], None]


class Tracer(Protocol):
    """Who is told of what happens to messages."""

    def entry(self, entry: tuple[Any, ...], group: Group) -> None:
        """An entry is about to be applied."""

    def buried(self, cursor: Cursor, offset: int, reason: str, place: tuple[str, int, int]) -> None:
        """A message became a dead letter."""

    def passed(self, cursor: Cursor, offsets: list[int]) -> None:
        """The group does not hand out those messages."""


class Groups(GroupTable):
    """The groups of all topics."""

    def __init__(self, stage: Stage, topics: Topics) -> None:
        super().__init__(stage, topics)
        self.bury: Bury = lambda cursor, offset, reason: None
        """Makes a message a dead letter (deadletters.py)."""
        self.bury_all: BuryAll = lambda cursor, offsets, reason: None
        """The same for many, which takes less than one after the other."""
        self.trace: Tracer | None = None
        """Told of what happens to messages, while any topic is traced (tracing.py)."""

    # Groups and members

    def get(self, topic: str, name: str) -> Group:
        """The group, or `NotFound`."""
        group = self._topics.get(topic).groups.get(name)
        if group is None:
            raise NotFound(f"topic {topic!r} has no group {name!r}: create it first")
        return group

    def check(self, group: Group) -> None:
        """Raises `NotFound` if the group is gone: whoever uses one may have held it for long."""
        if not self.has(group):
            raise NotFound(f"topic {group.topic.name!r} has no group {group.name!r} any more")

    def create(
        self,
        topic: str,
        name: str,
        positions: list[int],
        config: GroupConfig | None = None,
        idle: Sequence[int] = (),
    ) -> Group:
        """Makes a group that starts at a position in each partition; in the idle ones nobody has chosen it."""
        check_name("group", name)
        found = self._topics.get(topic)
        if name in found.groups:
            raise AlreadyExists(f"topic {topic!r} has a group {name!r} already")
        self._stage.check()
        config = config or GroupConfig()
        config.check(topic)
        entry: tuple[Any, ...] = (
            GROUP_CREATE, self._next_id, found.id, name, positions, msgspec.to_builtins(config)
        )  # fmt: skip
        if idle:
            entry = (*entry, list(idle))
        self._apply_create(entry)
        self._stage.entry(entry, found.sync)
        return found.groups[name]

    def alter(self, group: Group, config: GroupConfig) -> None:
        """Changes settings."""
        self.check(group)
        config.check(group.topic.name)
        self.do((GROUP_ALTER, group.id, msgspec.to_builtins(config)), group)
        self.hot[group] = None

    def delete(self, group: Group) -> None:
        """Removes a group; its position and what was in flight are forgotten."""
        self.check(group)
        self.do((GROUP_DELETE, group.id), group)

    def seek(self, group: Group, number: int, offset: int) -> None:
        """Goes on at an offset of a partition; what was in flight there counts as done."""
        partition = self.cursor(group, number).partition
        if not partition.start <= offset <= partition.end:
            raise InvalidArgument(f"partition {number} has offsets {partition.start} to {partition.end}, not {offset}")
        self.do((SEEK, group.id, number, offset), group)
        self.hot[group] = None

    def move(self, group: Group, number: int, offset: int) -> None:
        """Goes on at an offset of a partition; what is in flight stays so."""
        self.cursor(group, number)
        self.do((MOVE, group.id, number, offset), group)

    def mark(self, group: Group, number: int, offset: int, remark: str | None) -> None:
        """A reader that keeps its own place is there; without a remark, nobody is anywhere in that partition. What
        was in flight counts as done."""
        self.cursor(group, number)
        self.do((MARK, group.id, number, offset, remark), group)

    def join(self, group: Group, name: str, leased: bool, attributes: Attributes | None = None) -> Member:
        """Makes a member known. A leased one gives its deliveries back when it leaves or dies. Without attributes
        those that it had stay."""
        self.check(group)
        check_name("member", name)
        member = group.members.get(name)
        changed = attributes is not None and (member is None or member.attributes != attributes)
        if member is None or member.leased != leased or changed:
            told = msgspec.to_builtins(attributes) if changed else None
            self.do((JOIN, group.id, name, leased, told), group)
            if group.admission is not None:
                self.hot[group] = None
        return group.members[name]

    def leave(self, group: Group, name: str, reason: str = "the member left") -> int:
        """Removes a member; returns how many deliveries it gave back."""
        self.check(group)
        member = group.members.get(name)
        if member is None:
            return 0
        reason = _told(reason)
        given_back = held_by(member)
        self.do((LEAVE, group.id, name, self._stage.now_ms, reason), group)
        worn_out: dict[Cursor, list[int]] = {}
        for cursor, offset in given_back:
            if is_exhausted(cursor, cursor.unacknowledged[offset]):
                worn_out.setdefault(cursor, []).append(offset)
        for cursor, offsets in worn_out.items():
            self.bury_all(cursor, offsets, reason)
        self.hot[group] = None
        return len(given_back)

    # Deliveries

    def check_receiver(self, group: Group, member: str, number: int | None) -> None:
        """Raises if nothing can be handed out like this."""
        if number is None:
            self.check(group)
        else:
            self.cursor(group, number)
        if member not in group.members:
            check_name("member", member)

    def acknowledge(self, group: Group, number: int, offsets: list[int]) -> int:
        """Those messages are done. Returns how many of them were not before."""
        if group.once_keys is not None and self.has(group):
            self._remember(group, number, offsets)
        return self.dismiss(group, number, offsets)

    def dismiss(self, group: Group, number: int, offsets: list[int]) -> int:
        """The group needs those messages no more, although nobody has dealt with them: they were dropped, or are
        dead letters. Returns how many of them were not done before."""
        unacknowledged = self.cursor(group, number).unacknowledged
        if not offsets:
            return 0
        if len(offsets) == 1:
            known = offsets if offsets[0] in unacknowledged else []
        else:
            known = sorted({offset for offset in offsets if offset in unacknowledged})
        if known:
            self.do((ACKNOWLEDGE, group.id, number, runs_of(known)), group)
            if group.admission is not None:
                self.hot[group] = None
        return len(known)

    def acknowledge_known(self, group: Group, number: int, offsets: Sequence[int]) -> None:
        """Those messages are done: ascending offsets, each of which is in flight."""
        if group.admission is not None:
            self.acknowledge(group, number, list(offsets))
        else:
            self.do((ACKNOWLEDGE, group.id, number, runs_of(offsets)), group)

    def acknowledge_one(self, group: Group, number: int, offset: int) -> bool:
        """That message is done, if it was not before. One after the other in one turn makes one entry."""
        cursor = group.cursors[number]
        delivery = cursor.unacknowledged.get(offset)
        if delivery is None:
            return False
        entries = self._stage.entries
        last = entries[-1] if entries and group.admission is None else None
        if last is None or last[0] != ACKNOWLEDGE or last[1] != group.id or last[2] != number:
            return self.acknowledge(group, number, [offset]) > 0
        del cursor.unacknowledged[offset]
        delivery.release()
        if cursor.ghosts:
            cursor.ghosts.pop(offset, None)
        runs = cast(list[int], last[3])
        if runs[-1] == offset - 1:
            runs[-1] = offset
        else:
            runs += (offset, offset)
        return True

    def fail(
        self,
        group: Group,
        number: int,
        offsets: Iterable[int],
        reason: str,
        delay_ms: int | None = None,
        count: int | None = None,
    ) -> int:
        """Those deliveries failed: again after the delay of the policy, or of the caller; or a dead letter. With a
        count, they were so many, whatever was counted."""
        cursor = self.cursor(group, number)
        if delay_ms is not None and not 0 <= delay_ms <= DURATION_MS_MAX:
            raise InvalidArgument(f"a delay must be 0 to {DURATION_MS_MAX} ms, not {delay_ms}")
        reason = _told(reason)
        failed = 0
        dead: list[int] = []
        held = [offset for offset in sorted(set(offsets)) if self._is_held(cursor, offset)]
        for offset in held:
            delivery = cursor.unacknowledged[offset]
            failed += 1
            counted = delivery.count if count is None else count
            delay = group.policy.delay_ms(max(counted, 1), offset) if group.policy else 0
            due_ms = READY if delay is None else delay if delay_ms is None else delay_ms
            again_ms = due_ms and self._stage.now_ms + due_ms
            self._return(cursor, [offset], again_ms, reason, delivery.count - counted)
            if delay is None:
                dead.append(offset)
        self.bury_all(cursor, dead, reason)
        self._return_after(cursor, held)
        return failed

    def give_back(self, group: Group, number: int, offsets: Iterable[int]) -> int:
        """Those deliveries were never tried: again at once, and they do not count."""
        cursor = self.cursor(group, number)
        held = [offset for offset in sorted(set(offsets)) if self._is_held(cursor, offset)]
        if held:
            self._return(cursor, held, READY, "", uncount=1)
            self._return_after(cursor, held)
        return len(held)

    def give_back_as(self, group: Group, number: int, offset: int, count: int) -> bool:
        """That delivery was never tried, and those before it were so many, whatever was counted: again at once, or a
        dead letter if the policy allows no further one."""
        cursor = self.cursor(group, number)
        if not self._is_held(cursor, offset):
            return False
        self._return(cursor, [offset], READY, "", cursor.unacknowledged[offset].count - count)
        self._bury_if_exhausted(cursor, offset, "given back, but handed out as often as allowed")
        self._return_after(cursor, [offset])
        return True

    def extend(self, group: Group, number: int, offsets: Iterable[int]) -> int:
        """The leases of those deliveries begin anew; who has them and how often they were tried stays."""
        cursor = self.cursor(group, number)
        by_member: dict[str, list[int]] = {}
        for offset in sorted(set(offsets)):
            delivery = cursor.unacknowledged.get(offset)
            if delivery is not None and delivery.member is not None:
                by_member.setdefault(delivery.member.name, []).append(offset)
        for member, held in by_member.items():
            self.hand(cursor, member, held, counts=False)
        return sum(map(len, by_member.values()))

    def _return_after(self, cursor: Cursor, failed: list[int]) -> None:
        """In a group that keeps the order of partitions, what was handed out after a message that comes again comes
        again after it; that does not count. Also after one that became a dead letter by failing: the member knows
        only that it failed, and lets go of those behind it in either case."""
        if failed and cursor.group.config.order == "partition":
            deliveries = cursor.unacknowledged.items()
            after = [offset for offset, each in deliveries if offset > failed[0] and each.member is not None]
            if after:
                self._return(cursor, sorted(after), READY, "", uncount=1)

    def reject(self, group: Group, number: int, offset: int, reason: str, count: int | None = None) -> bool:
        """That message is a dead letter now, whatever the policy says; with a count, after so many deliveries."""
        cursor = self.cursor(group, number)
        if not self._is_held(cursor, offset):
            return False
        self.condemn(cursor, offset, _told(reason), 0 if count is None else cursor.unacknowledged[offset].count - count)
        return True

    def condemn(self, cursor: Cursor, offset: int, reason: str, uncount: int = 0) -> None:
        """Takes a message from whoever has it, and makes it a dead letter."""
        self._return(cursor, [offset], READY, reason, uncount)
        self.bury(cursor, offset, reason)

    def hand(self, cursor: Cursor, member: str, offsets: list[int], counts: bool) -> None:
        """Those unacknowledged messages belong to a member from now on."""
        entry = (HAND, cursor.group.id, cursor.partition.number, member, self._stage.now_ms, offsets, int(counts))
        self.do(entry, cursor.group)

    def deliver(self, cursor: Cursor, member: str, next_offset: int, offsets: Sequence[int]) -> None:
        """Those messages were handed out for the first time, and everything before `next_offset` passed."""
        if cursor.partition.lanes is not None:
            if cursor.lane != PRIORITY_DEFAULT:
                self._deliver_lane(cursor, member, next_offset, list(offsets))
                return
            next_offset = self._default_from(cursor, next_offset)
        runs = runs_of(offsets) if offsets else []
        group = cursor.group
        self.do((DELIVER, group.id, cursor.partition.number, member, self._stage.now_ms, next_offset, runs), group)

    def _deliver_lane(self, cursor: Cursor, member: str, position: int, offsets: list[int]) -> None:
        """The same in another than the default lane, which is passed as far as it has nothing."""
        group, next_offset = cursor.group, self._default_from(cursor, cursor.next)
        place = (group.id, cursor.partition.number, member, self._stage.now_ms, cursor.lane, position, next_offset)
        self.do((DELIVER_LANE, *place, offsets), group)

    def _default_from(self, cursor: Cursor, offset: int) -> int:
        lanes = cursor.ranked
        return offset if lanes is None else lanes.default_from(offset, cursor.partition.end)

    def hold(
        self,
        cursor: Cursor,
        next_offset: int,
        offsets: list[int],
        order_keys: list[int] | None = None,
        once_keys: list[bytes] | None = None,
    ) -> None:
        """Those messages are unacknowledged from now on, though nobody has them yet, and everything before
        `next_offset` passed. They are ready, or stand in line behind others of their keys."""
        if cursor.lane != PRIORITY_DEFAULT:
            self.pass_over(cursor, next_offset)
            next_offset = cursor.next
        group = cursor.group
        orders = order_keys if order_keys and any(order_keys) else []
        onces = once_keys if once_keys and any(once_keys) else []
        now_ms, number = self._stage.now_ms, cursor.partition.number
        self.do((HOLD, group.id, number, now_ms, next_offset, offsets, orders, onces), group)

    def once_seen(self, group: Group, key: bytes) -> bool:
        """Whether a message of that business key was acknowledged, and the group still knows."""
        self.check(group)
        if group.once_keys is None or group.config.once is None:
            return False
        return group.once_keys.has(digest(group.config.once, key), self._stage.now_ms)

    def forget_once(self, group: Group) -> None:
        """The group forgets the keys whose time is up."""
        self.do((ONCE, group.id, [], 0, self._stage.now_ms), group)

    def _remember(self, group: Group, number: int, offsets: list[int]) -> None:
        keys = group.locks.once_keys(number, offsets) if group.locks is not None else []
        if keys:
            now_ms = self._stage.now_ms
            self.do((ONCE, group.id, keys, now_ms + group.config.once_ms, now_ms), group)

    def pass_over(self, cursor: Cursor, next_offset: int) -> None:
        """There is nothing to hand out before an offset, in the lane that is being handed out from."""
        if cursor.lane != PRIORITY_DEFAULT:
            self._deliver_lane(cursor, "", next_offset, [])
            return
        self.do((PASS, cursor.group.id, cursor.partition.number, next_offset), cursor.group)

    # Time

    def tick(self, now_ms: int) -> int | None:
        """Retries that are due become ready, and overdue leases end. Returns when to come again."""
        for waiting in self._retries.pop_due(now_ms, FIRE_PER_TICK_MAX):
            cursor, offset = waiting.cursor, waiting.offsets[0]
            gone = self._by_id.get(cursor.group.id) is not cursor.group
            if not gone and cursor.unacknowledged.get(offset) is waiting and READY < waiting.due_ms <= now_ms:
                cursor.make_ready(offset)
                self.hot[cursor.group] = None
        for overdue in self._leases.pop_due(now_ms, FIRE_PER_TICK_MAX):
            self._end_lease(overdue)
        dues = (self._retries.next_due_ms(now_ms), self._leases.next_due_ms(now_ms))
        return min((due_ms for due_ms in dues if due_ms is not None), default=None)

    def _end_lease(self, delivery: Delivery) -> None:
        cursor = delivery.cursor
        if self._by_id.get(cursor.group.id) is not cursor.group:
            return
        late = [offset for offset in delivery.offsets if cursor.unacknowledged.get(offset) is delivery]
        self.fail(cursor.group, cursor.partition.number, late, "not acknowledged in time", delay_ms=0)

    def end_last_run(self) -> None:
        """Ends the leases of the members of the last run, and buries what a crash kept from being buried."""
        for group in list(self._by_id.values()):
            for name in [member.name for member in group.members.values() if member.leased]:
                self.leave(group, name, "the broker restarted")
            for cursor in group.cursors:
                for offset in list(cursor.unacknowledged):
                    self._bury_if_exhausted(cursor, offset, "")

    def do(self, entry: tuple[Any, ...], group: Group) -> None:
        """Applies an entry of a group, and stages it."""
        self._stage.check()
        if self.trace is not None:
            self.trace.entry(entry, group)
        self._appliers[entry[0]](entry)
        self._stage.entry(entry, group.topic.sync)
        if group.waiting and entry[0] != MOVE:  # one of them may take more now; a move alone brings nothing new
            self.hot[group] = None

    # Small steps

    def _return(self, cursor: Cursor, offsets: list[int], due_ms: int, reason: str, uncount: int = 0) -> None:
        group = cursor.group
        entry = (RETURN, group.id, cursor.partition.number, offsets, due_ms, self._stage.now_ms, reason, uncount)
        self.do(entry, group)
        if due_ms == READY:
            self.hot[group] = None

    def _bury_if_exhausted(self, cursor: Cursor, offset: int, reason: str) -> None:
        delivery = cursor.unacknowledged.get(offset)
        if delivery is not None and is_exhausted(cursor, delivery):
            self.bury(cursor, offset, reason or (delivery.history[-1][3] if delivery.history else ""))

    def _is_held(self, cursor: Cursor, offset: int) -> bool:
        """Whether a member has the message, or it was given up, and so waits for nothing by itself."""
        delivery = cursor.unacknowledged.get(offset)
        return delivery is not None and (delivery.member is not None or delivery.due_ms == GIVEN_UP)

    def cursor(self, group: Group, number: int) -> Cursor:
        """The group's position on a partition. Raises `NotFound`, `InvalidArgument`."""
        self.check(group)
        if not 0 <= number < len(group.cursors):
            raise InvalidArgument(f"topic {group.topic.name!r} has no partition {number}")
        return group.cursors[number]


def _told(reason: str) -> str:
    """A reason as it is kept: not too long, and text that can be encoded."""
    return reason[:REASON_CHARACTERS_MAX].encode(errors="replace").decode()


def is_exhausted(cursor: Cursor, delivery: Delivery) -> bool:
    """Whether a message that nobody has was handed out as often as the policy allows."""
    policy = cursor.group.policy
    if policy is None or delivery.member is not None or delivery.due_ms == BURYING:
        return False
    most = policy.max_deliveries
    return most is not None and delivery.count >= most and delivery.due_ms == READY
