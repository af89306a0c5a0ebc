"""Receiving: what a group has goes to those who ask, in the order in which they asked.

A request that finds nothing waits in its group until something comes or its time is up. Messages that
were given back go first, lowest offset first, then fresh ones, of these the highest priority first (lanes.py);
partitions take turns.
"""

from collections.abc import Callable, Sequence
from itertools import takewhile

from onemq.core.admission import NO_LIMIT
from onemq.core.cursor import Cursor
from onemq.core.deadlines import Deadlines
from onemq.core.group import Group
from onemq.core.groups import Groups, is_exhausted
from onemq.core.lanes import Pick
from onemq.core.measure import at_once
from onemq.core.receive import Handed, Receive
from onemq.core.screening import Screening
from onemq.core.stage import Stage
from onemq.core.supply import Supply
from onemq.core.topics import Topic
from onemq.core.whole import Share, Whole, can_be_whole, may_expire, part_of, runs_handed
from onemq.errors import Corrupt
from onemq.limits import HANDED_BYTES_MAX
from onemq.log.batch import read_extent
from onemq.message import Record

BUSY_WAIT_MS = 1_000
"""How long a request that wants no waiting still waits for a read that is under way."""


class Receiving:
    """Hands out messages."""

    def __init__(self, stage: Stage, groups: Groups, supply: Supply) -> None:
        self._stage = stage
        self._groups = groups
        self._supply = supply
        self.screening = Screening(stage, groups)
        supply.on_passed, supply.may_read = self.screening.passed_batch, self.screening.may_read
        self._deadlines: Deadlines[Receive] = Deadlines(lambda request: request.answered)
        self._settling: set[Group] = set()
        """Groups whose waiting requests are being served: who asks again as it is served comes after them."""
        self._renamed: dict[Group, None] = {}
        """Groups whose topics have given up their names in this turn."""

    def receive(
        self,
        group: Group,
        member: str,
        most: int,
        then: Callable[[list[Handed]], None],
        wait_until_ms: int | None = None,
        number: int | None = None,
        in_flight: bool = True,
        allowance: Callable[[], int] | None = None,
        bytes_max: int = HANDED_BYTES_MAX,
    ) -> Receive:
        """Asks for up to `most` messages of a group, and about so many bytes. Without anything to hand out, the
        request waits until a time, or is answered with nothing."""
        self._groups.check_receiver(group, member, number)
        self._stage.check()
        if group.config.assign != "none" and member not in group.members:
            self._groups.join(group, member, leased=False)
        request = Receive(group, member, most, then, number)
        request.in_flight = in_flight
        request.allowance = allowance
        request.bytes_max = bytes_max
        return self._begin(request, wait_until_ms)

    def receive_whole(
        self,
        group: Group,
        member: str,
        allowance: Callable[[], int],
        whole: Whole,
        then: Callable[[list[Share]], None],
        wait_until_ms: int | None = None,
    ) -> Receive:
        """The same for a receiver that takes whole batches: as many messages as `allowance` says when it is served."""
        for number in whole.numbers:
            self._groups.check_receiver(group, member, number)
        self._stage.check()
        if group.config.assign != "none" and member not in group.members:
            self._groups.join(group, member, leased=False)
        request = Receive(group, member, 0, lambda got: then(whole.shares(got)), None)
        request.allowance = allowance
        request.whole = whole
        return self._begin(request, wait_until_ms)

    def _begin(self, request: Receive, wait_until_ms: int | None) -> Receive:
        group = request.group
        if group not in self._settling or wait_until_ms is None:
            self._settle_group(group)
            self._serve(request)
        if request.served or (wait_until_ms is None and not self._busy(request)):
            self._answer(request)
        else:
            group.waiting[request] = None
            until_ms = self._stage.now_ms + BUSY_WAIT_MS if wait_until_ms is None else wait_until_ms
            self._deadlines.add(until_ms, request)
        return request

    def take_fresh(self, group: Group, member: str, most: int, in_flight: bool) -> list[Record] | None:
        """The short way of `receive` for a group of one partition: messages that were never handed out; None if
        there is more to it, or nothing."""
        cursor = group.cursors[0]
        if cursor.ready or group.waiting or cursor.busy or cursor.next >= cursor.partition.end:
            return None
        if cursor.partition.lanes is not None:
            return None
        self._groups.check_receiver(group, member, None)
        self._stage.check()
        if not cursor.ahead and not self._supply.read_ahead(cursor, most):
            return None
        ahead = cursor.ahead
        if len(ahead) < most or not cursor.plain:
            return None
        records = ahead[: -most - 1 : -1]
        del ahead[-most:]
        first, last = records[0][0], records[-1][0]
        offsets: Sequence[int] = ()
        if in_flight:  # mostly none is missing
            offsets = range(first, last + 1) if last - first == most - 1 else [record[0] for record in records]
        self._groups.deliver(cursor, member, last + 1, offsets)
        return records

    def _answer(self, request: Receive) -> None:
        group = request.group
        if group in self._settling:
            request.finish()
            return
        self._settling.add(group)
        try:
            request.finish()
        finally:
            self._settling.discard(group)
        if group.waiting:
            self._groups.hot[group] = None

    def name_went(self, topic: Topic) -> None:
        """There is no topic of that name any more."""
        for group in topic.groups.values():
            if group.waiting:
                self._renamed[group] = self._groups.hot[group] = None

    def settle(self) -> None:
        """Serves those who wait, in groups that may have something for them or are gone. Who asks again meanwhile
        comes in the next round, for which the group stays hot."""
        renamed, self._renamed = self._renamed, {}
        for group in renamed:
            self._release_misnamed(group)
        hot, self._groups.hot = self._groups.hot, {}
        if self._stage.refusal is None:
            for group in hot:
                if self._groups.has(group):
                    self._settle_group(group)
                else:
                    self._groups.release(group)

    def _release_misnamed(self, group: Group) -> None:
        """Answers those with nothing whose topic has another name now."""
        for request in [each for each in group.waiting if each.topic_name not in (None, group.topic.name)]:
            group.waiting.pop(request, None)
            request.finish()

    def _settle_group(self, group: Group) -> None:
        if group.waiting and group not in self._settling:
            self._settling.add(group)
            try:
                self._serve_waiting(group)
            finally:
                self._settling.discard(group)

    def _serve_waiting(self, group: Group) -> None:
        still: list[Receive] = []
        for _ in range(len(group.waiting)):
            if not (group.waiting and group.available):
                break
            request, _ = group.waiting.popitem(last=False)
            self._serve(request)
            if request.served:
                self._groups.hot[group] = None
                request.finish()
            else:
                still.append(request)
        for request in reversed(still):
            if not request.answered:
                group.waiting[request] = None
                group.waiting.move_to_end(request, last=False)

    def next_due_ms(self) -> int | None:
        """When the next one's time is up."""
        return self._deadlines.next_due_ms()

    def tick(self, now_ms: int) -> int | None:
        """Answers those whose time is up. Returns when to come again."""
        for request in self._deadlines.pop_due(now_ms):
            request.group.waiting.pop(request, None)
            request.finish()
        return now_ms if self.screening.tick() else self._deadlines.next_due_ms()

    def _busy(self, request: Receive) -> bool:
        return request.group in self.screening.later or any(cursor.busy for cursor in self._cursors(request))

    def _cursors(self, request: Receive) -> list[Cursor]:
        cursors = request.group.cursors
        if request.number is not None:
            return [cursors[request.number]]
        if request.whole is not None:
            cursors = [cursors[number] for number in request.whole.numbers]
        if len(cursors) <= 1:
            return cursors
        first = request.group.rotation = (request.group.rotation + 1) % len(cursors)
        return cursors[first:] + cursors[:first]

    def _serve(self, request: Receive) -> None:
        """Hands out what is there now."""
        if request.allowance is not None:
            request.most = request.allowance()
            if request.most <= 0:
                return
        if request.group.admission is not None:
            for cursor in self._cursors(request):
                self._serve_screened(request, cursor)
            return
        for cursor in self._cursors(request):
            while cursor.has_ready() and len(request.got) < request.most and self.screening.may_read(request.group):
                if request.is_full():
                    return
                self._hand_again(request, cursor)
            if request.whole is not None and self._hand_batches(request, request.whole, cursor):
                continue
            while cursor.has_fresh and len(request.got) < request.most:
                pick = None if cursor.partition.lanes is None else cursor.pick()
                if not cursor.ahead:
                    if request.is_full():
                        return
                    if not self._supply.read_ahead(cursor, request.most - len(request.got)):
                        break
                if not cursor.plain:
                    self._serve_screened(request, cursor)
                    break
                self._hand_fresh(request, cursor, pick)
            if len(request.got) >= request.most:
                return

    def _serve_screened(self, request: Receive, cursor: Cursor) -> None:
        """The same for one cursor whose messages must be looked at one by one."""
        admission = cursor.group.admission
        while len(request.got) < request.most:
            limit = admission.limit(cursor, request.member) if admission is not None else NO_LIMIT
            if cursor.has_ready() and cursor.ready[0] < limit:
                if request.is_full() or not self.screening.may_read(cursor.group):
                    return
                self._hand_again(request, cursor, limit)
                continue
            if limit < NO_LIMIT or not cursor.has_fresh or not self.screening.may_go_on(cursor):
                return
            pick = None if cursor.partition.lanes is None else cursor.pick()
            if not (cursor.ahead or self._read_ahead(request, cursor)):
                return
            if cursor.ahead:
                self._screen(request, cursor, pick)

    def _read_ahead(self, request: Receive, cursor: Cursor) -> bool:
        """Returns whether there may be more for a request."""
        return not request.is_full() and self._supply.read_ahead(cursor, request.most - len(request.got))

    def _screen(self, request: Receive, cursor: Cursor, pick: Pick | None) -> None:
        most = request.most_of(pick)
        if cursor.group.locks is not None:
            taken = self.screening.hold(cursor, most)
        else:
            number = cursor.partition.number
            records = self.screening.take(cursor, request.member, most, request.in_flight)
            request.got += [(number, record, 1) for record in records]
            taken = len(records)
        if pick is not None and taken:
            cursor.lanes.took(pick, taken)

    def _hand_again(self, request: Receive, cursor: Cursor, limit: int = NO_LIMIT) -> None:
        offsets = self._take_ready(request, cursor, limit)
        kept = list(takewhile(cursor.again.__contains__, offsets))
        for offset in offsets[len(kept) :] if kept else ():
            cursor.make_ready(offset)
        if kept:
            self._hand(request, cursor, [cursor.again.pop(offset) for offset in kept])
        elif offsets:
            self._hand(request, cursor, self._supply.read_again(cursor, offsets))

    def _take_ready(self, request: Receive, cursor: Cursor, limit: int) -> list[int]:
        offsets: list[int] = []
        most = min(request.most - len(request.got), at_once(cursor.group.topic.config.message_bytes_max))
        while len(offsets) < most and cursor.has_ready() and cursor.ready[0] < limit:
            offset = cursor.pop_ready()
            delivery = cursor.unacknowledged[offset]
            if is_exhausted(cursor, delivery):
                self._groups.bury(cursor, offset, delivery.history[-1][3] if delivery.history else "")
            elif offset not in offsets[-1:]:  # one that came back twice is in the heap twice
                offsets.append(offset)
        return offsets

    def _hand(self, request: Receive, cursor: Cursor, records: list[Record]) -> None:
        records = self.screening.again(cursor, records)
        if records:
            self._groups.hand(cursor, request.member, [record[0] for record in records], counts=True)
            counts = cursor.unacknowledged
            number = cursor.partition.number
            request.got += [(number, record, counts[record[0]].count) for record in records]
            if not request.in_flight:
                self._groups.acknowledge(cursor.group, number, [record[0] for record in records])

    def _hand_batches(self, request: Receive, whole: Whole, cursor: Cursor) -> bool:
        """Hands out fresh messages as the batches that hold them. Returns whether that was all; else the next ones
        must be looked at one by one."""
        if not can_be_whole(cursor):
            return False
        number = cursor.partition.number
        handed = max((record[0] for each, record, _ in request.got if each == number), default=-1)
        while cursor.has_fresh and len(request.got) < request.most and whole.bytes_left > 0:
            if not self.screening.may_read(cursor.group):
                return True
            try:
                found = self._supply.read_batches(cursor, whole, request.most - len(request.got))
                if found is None:
                    return True
                if may_expire(cursor, found[1]):
                    return False
                offset, data, next_offset = found
                part = part_of(data, offset, next_offset, request.most - len(request.got), whole.strict)
            except Corrupt as damage:
                cursor.busy = False
                self._supply.pass_over(cursor, damage)
                continue
            if not part.offsets:
                self._groups.pass_over(cursor, part.next_offset)
                continue
            if read_extent(data)[0] <= handed:
                return True  # one of those that come again lies in the first batch, and must not be given twice
            self._groups.deliver(cursor, request.member, part.next_offset, part.offsets)
            while cursor.ahead and cursor.ahead[-1][0] < part.next_offset:
                cursor.ahead.pop()
            whole.add(number, data[: part.size], runs_handed(part.offsets, 1))
            request.most -= len(part.offsets)
        return True

    def _hand_fresh(self, request: Receive, cursor: Cursor, pick: Pick | None) -> None:
        ahead = cursor.ahead
        most = request.most - len(request.got) if pick is None else request.most_of(pick)
        if not ahead:
            return
        if len(ahead) <= most:
            records, cursor.ahead = ahead[::-1], []
        else:
            records = ahead[: -most - 1 : -1]
            del ahead[-most:]
        offsets = [record[0] for record in records]
        self._groups.deliver(cursor, request.member, offsets[-1] + 1, offsets if request.in_flight else [])
        number = cursor.partition.number
        request.got += [(number, record, 1) for record in records]
        if pick is not None:
            cursor.lanes.took(pick, len(records))
