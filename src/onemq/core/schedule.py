"""The schedule: messages that are due later, once or again and again.

A scheduled message lies in an internal topic until its time comes; then it is appended to its target
and marked as done, in one set. Its offset there is the id of its timer. In memory a timer is a few
bytes in a wheel, and a bit that says whether it is done.

The message of a series stays where it lies, and so its timer keeps its id: each time a copy of it goes to the
target as a message of its own, and the next time is set, in one set.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from onemq.core.entries import RESCHEDULE, SCHEDULE, SERIES, SERIES_NEXT, UNSCHEDULE
from onemq.core.parking import Parcel, Parking
from onemq.core.reading import Reading
from onemq.core.sending import Sending
from onemq.core.series import Repeat, Series
from onemq.core.soon import Soon
from onemq.core.stage import Stage
from onemq.core.topics import SCHEDULE_NAME, Topic, Topics
from onemq.core.wheel import Wheel
from onemq.errors import InvalidArgument, NotFound, TooLarge
from onemq.limits import FIRE_PER_TICK_MAX, SCHEDULE_AHEAD_MS_MAX, SERIES_MAX
from onemq.message import DUE, ID, SERIES_ID, Headers, Record, header

_RETRY_MS = 1_000


class Scheduled(NamedTuple):
    """A timer for people to look at."""

    id: int
    due_ms: int
    topic: str
    key: bytes | None
    body: bytes
    every_ms: int | None = None
    cron: str | None = None
    zone: str | None = None
    left: int | None = None
    """How often it is still to come, if it repeats and not for ever."""


class Schedule:
    """All scheduled messages."""

    def __init__(self, stage: Stage, topics: Topics, sending: Sending, reading: Reading) -> None:
        self._stage = stage
        self._sending = sending
        self._reading = reading
        self.parking = Parking(SCHEDULE_NAME, topics, sending, reading)
        """Where the messages lie. It tells of those that are due and cannot be delivered."""
        self._wheel = Wheel()
        self._moved: dict[int, int] = {}
        """Timers that were rescheduled, or came before -> when they are due now."""
        self._series: dict[int, Series] = {}
        self._firing: set[int] = set()
        self._soon = Soon(self.parking, reading, self._due_between, self._packed)

    def __len__(self) -> int:
        return len(self.parking)

    def _due_between(self, after_ms: int, until_ms: int, limit: int) -> list[int]:
        return self._wheel.ids_between(after_ms, until_ms, limit)

    def is_live(self, id: int) -> bool:
        """Whether the timer is still to fire."""
        return self.parking.is_live(id)

    def add(
        self,
        topic: Topic,
        due_ms: int | None,
        body: bytes | None,
        key: bytes | None,
        headers: Headers,
        number: int | None,
        repeat: Repeat | None = None,
    ) -> int:
        """Schedules a message for a topic; returns the id of its timer. One that repeats comes first at the time
        given, or after one period, or when its cron expression says so, but not before the time given."""
        if repeat is not None:
            due_ms = self._first_ms(repeat, due_ms)
        assert due_ms is not None
        self.check_due(due_ms)
        self.parking.check(topic, body, key, headers, number)
        id = self.parking.put(topic, body, key, headers, number, due_ms)
        if repeat is None:
            entry: tuple[object, ...] = (SCHEDULE, id, [due_ms])
            self._apply_schedule(entry)
        else:
            entry = (SERIES, id, *Series(due_ms, repeat, repeat.times).row())
            self._apply_series(entry)
        self._stage.entry(entry, topic.sync)
        return id

    def _first_ms(self, repeat: Repeat, not_before_ms: int | None) -> int:
        repeat.check()
        if len(self._series) >= SERIES_MAX:
            raise TooLarge(f"there are {SERIES_MAX} repeated messages, as many as there can be: cancel some")
        return repeat.first_ms(self._stage.now_ms, not_before_ms)

    def cancel(self, id: int) -> None:
        """The message will never be delivered. Raises `NotFound` if it was, or never was scheduled."""
        self._check_live(id)
        self._stage.check()
        self._unschedule([id])

    def move(self, id: int, due_ms: int) -> None:
        """The message is due at another time."""
        self._check_live(id)
        self.check_due(due_ms)
        self._stage.check()
        entry = (RESCHEDULE, id, due_ms)
        self._apply_reschedule(entry)
        self._stage.entry(entry, sync=True)

    def timers(self, after: tuple[int, int] | None = None) -> Iterator[tuple[int, int]]:
        """(due, id) of all timers by due time, from a position on, for paging."""
        last = after
        for due_ms, id in self._wheel.iterate(after):
            # One that was moved to the time it had at first is in the wheel twice.
            if self.is_live(id) and self._moved.get(id, due_ms) == due_ms and (due_ms, id) != last:
                last = due_ms, id
                yield due_ms, id

    def series(self, id: int) -> Series | None:
        """What repeats the message of a timer, if it repeats."""
        return self._series.get(id)

    def describe(self, timers: list[tuple[int, int]], then: Callable[[list[Scheduled]], None]) -> None:
        """The messages of some timers."""
        dues = {id: due_ms for due_ms, id in timers}

        def found(records: list[Record]) -> None:
            rows = [self._described(record, dues[record[0]]) for record in records]
            then(sorted(rows, key=lambda row: (row.due_ms, row.id)))

        self._reading.records_at(self.parking.partition, sorted(dues), found)

    def find(self, id: int, then: Callable[[Scheduled | None], None]) -> None:
        """The message of one timer, if it is still to fire."""

        def found(records: list[Record]) -> None:
            for record in records:
                due_ms = self._moved.get(id) or int(header(record[4], DUE) or 0)
                then(self._described(record, due_ms))
                return
            then(None)

        if self.is_live(id):
            self._reading.records_at(self.parking.partition, [id], found)
        else:
            then(None)

    def _described(self, record: Record, due_ms: int) -> Scheduled:
        id, _, key, body, _ = record
        plain = Scheduled(id, due_ms, self.parking.target_name(record), key, body or b"")
        series = self._series.get(id)
        if series is None:
            return plain
        repeat = series.repeat
        zone = repeat.zone if repeat.cron is not None else None
        return plain._replace(every_ms=repeat.every_ms, cron=repeat.cron, zone=zone, left=series.left)

    def tick(self, now_ms: int) -> int | None:
        """Delivers what is due. Returns when to come again."""
        if self._sending.refusal is not None:
            return now_ms + _RETRY_MS
        more = self._soon.tick(now_ms)
        ids = self._wheel.pop_due(now_ms, FIRE_PER_TICK_MAX)
        due = [id for id in dict.fromkeys(ids) if self._is_due(id)]
        if due:
            self._firing.update(due)
            self._fire(due)
        return now_ms if more else self._wheel.next_due_ms(now_ms)

    def _is_due(self, id: int) -> bool:
        """Of a timer whose time came: whether it still holds."""
        return self.is_live(id) and self._moved.get(id, 0) <= self._stage.now_ms

    def _fire(self, ids: list[int]) -> None:
        ready = self._soon.take([id for id in ids if self._is_plain(id)])
        missing = [id for id in ids if id not in ready] if ready else ids

        def found(records: dict[int, Record]) -> None:
            self._firing.difference_update(ids)
            due = [id for id in ids if self._is_due(id)]  # not cancelled or moved meanwhile
            for id, record in records.items():
                ready[id] = self._packed(record)
            delivered = {id for id in due if id in ready and self.parking.send(ready[id])}
            if due:
                self._fired(due, delivered)

        if missing:
            self.parking.take(missing, found)
        else:
            found({})

    def _is_plain(self, id: int) -> bool:
        """Whether a timer is as it was when its message was parked."""
        return id not in self._series and id not in self._moved

    def _packed(self, record: Record) -> Parcel:
        """The message of a timer as it goes out."""
        id, parking = record[0], self.parking
        own, headers = parking.opened(record)
        if id in self._series:
            headers = [each for each in headers if each[0] != ID]
            headers.append((SERIES_ID, parking.message_id(id).encode()))
        else:
            headers = parking.identified(record, headers)
        due = b"%d" % self._moved[id] if id in self._moved else own[DUE]
        return parking.packed(record, own, [(DUE, due), *headers])

    def _fired(self, ids: list[int], delivered: set[int]) -> None:
        """Timers came: they are done, or have their next time. A series that leads nowhere ends."""
        following: list[tuple[int, int, int | None]] = []
        for id in delivered & self._series.keys() if self._series else ():
            left, next_ms = self._series[id].left, self._following_ms(id)
            if next_ms is not None:
                following.append((id, next_ms, None if left is None else left - 1))
        again = {id for id, _, _ in following}
        done = [id for id in ids if id not in again] if again else ids
        if done:
            self._unschedule(done)
        if following:
            entry = (SERIES_NEXT, sorted(following))
            self._apply_next(entry)
            self._stage.entry(entry, sync=True)

    def _following_ms(self, id: int) -> int | None:
        try:
            return self._series[id].following_ms(self._stage.now_ms)
        except InvalidArgument as problem:  # its time zone was taken from the machine
            self.parking.on_lost(id, problem.text)
            return None

    def _check_live(self, id: int) -> None:
        if not self.is_live(id):
            raise NotFound(f"there is no scheduled message {id}: delivered, cancelled, or never scheduled")

    def check_due(self, due_ms: int) -> None:
        """Raises `InvalidArgument` for a time that is too far ahead."""
        if not 0 <= due_ms <= self._stage.now_ms + SCHEDULE_AHEAD_MS_MAX:
            raise InvalidArgument("a message can be scheduled for any time within the next hundred years")

    def _unschedule(self, ids: list[int]) -> None:
        entry = (UNSCHEDULE, ids)
        self._apply_unschedule(entry)
        self._stage.entry(entry, sync=True)

    def _apply_schedule(self, entry: Any) -> None:
        _, first, dues = entry
        self.parking.parked(first, len(dues))
        self._wheel.add_many(dues, first)

    def _apply_unschedule(self, entry: Any) -> None:
        for id in entry[1]:
            self.parking.done(id)
            self._moved.pop(id, None)
            self._series.pop(id, None)
            self._firing.discard(id)

    def _apply_reschedule(self, entry: Any) -> None:
        _, id, due_ms = entry
        if id in self._moved:
            self._wheel.discard(self._moved[id], id)
        self._soon.forget(id)
        self._moved[id] = due_ms
        self._wheel.add(due_ms, id)
        if id in self._series:
            self._series[id].due_ms = due_ms

    def _apply_series(self, entry: Any) -> None:
        _, id, *row = entry
        series = self._series[id] = Series.from_row(row)
        self._apply_schedule((SCHEDULE, id, [series.due_ms]))

    def _apply_next(self, entry: Any) -> None:
        for id, due_ms, left in entry[1]:
            self._apply_reschedule((RESCHEDULE, id, due_ms))
            self._series[id].left = left

    def appliers(self) -> dict[int, Callable[[Any], None]]:
        """What applies each kind of entry."""
        return {
            SCHEDULE: self._apply_schedule,
            UNSCHEDULE: self._apply_unschedule,
            RESCHEDULE: self._apply_reschedule,
            SERIES: self._apply_series,
            SERIES_NEXT: self._apply_next,
        }

    def dump(self) -> object:
        """For the snapshot."""
        parking = self.parking
        series = [[id, *each.row()] for id, each in self._series.items()]
        moved = list(self._moved.items())
        return [parking.end, self._wheel.dump(), parking.dump_done(), moved, list(self._firing), series]

    def load(self, state: Any) -> None:
        """The reverse of `dump`."""
        end, wheel, done, moved, firing, *later = state
        self.parking.load(end, done)
        self._wheel = Wheel.load(wheel)
        self._moved = dict(moved)
        for id in firing:
            self._wheel.add(0, id)
        for id, *row in later[0] if later else ():
            self._series[id] = Series.from_row(row)
