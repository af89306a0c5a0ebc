"""The schedule: messages that are due later.

A scheduled message lies in an internal topic until its time comes; then it is appended to its target
and marked as done, in one set. Its offset there is the id of its timer. In memory a timer is a few
bytes in a wheel, and a bit that says whether it is done.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from onemq.core.bitmap import Bitmap
from onemq.core.entries import RESCHEDULE, SCHEDULE, UNSCHEDULE
from onemq.core.partition import Partition
from onemq.core.reading import Reading
from onemq.core.sending import Sending, check_size
from onemq.core.stage import Stage
from onemq.core.topics import Topic, Topics
from onemq.core.wheel import Wheel
from onemq.errors import Corrupt, InvalidArgument, NotFound
from onemq.limits import FIRE_PER_TICK_MAX, SCHEDULE_AHEAD_MS_MAX
from onemq.log.records import encode_headers
from onemq.message import DUE, ID, TARGET, TARGET_ID, TARGET_PARTITION, Headers, Record, header, id_of

_RETRY_MS = 1_000
_OWN = (TARGET, TARGET_ID, DUE, TARGET_PARTITION)
"""The headers that the schedule puts before those of the message."""


class Scheduled(NamedTuple):
    """A timer for people to look at."""

    id: int
    due_ms: int
    topic: str
    key: bytes | None
    body: bytes


class Schedule:
    """All scheduled messages."""

    def __init__(self, stage: Stage, topics: Topics, sending: Sending, reading: Reading) -> None:
        self._stage = stage
        self._topics = topics
        self._sending = sending
        self._reading = reading
        self._wheel = Wheel()
        self._done = Bitmap()
        self._end = 0
        """One above the highest id."""
        self._moved: dict[int, int] = {}
        """Timers that were rescheduled -> when they are due now."""
        self._firing: set[int] = set()
        self.on_lost: Callable[[int, str], None] = lambda id, reason: None
        """Told of messages that are due and cannot be delivered."""

    def __len__(self) -> int:
        return self._end - self._done.low - self._done.count_done_above_low

    @property
    def low(self) -> int:
        """Everything below is done."""
        return self._done.low

    def is_live(self, id: int) -> bool:
        """Whether the timer is still to fire."""
        return 0 <= id < self._end and not self._done.is_done(id)

    def live_copy(self) -> Callable[[int], bool]:
        """Says of each timer whether it is still to fire, as of now; can be asked on another thread."""
        done, end = Bitmap.load(self._done.dump()), self._end
        return lambda id: id >= end or not done.is_done(id)

    def add(
        self, topic: Topic, due_ms: int, body: bytes, key: bytes | None, headers: Headers, number: int | None
    ) -> int:
        """Schedules a message for a topic; returns the id of its timer."""
        self._sending.check()
        self.check_due(due_ms)
        if number is not None:
            topic.choose(key, number)
        check_size(topic, body, key, encode_headers(headers))
        own: list[tuple[bytes, bytes | None]] = [
            (TARGET, topic.name.encode()), (TARGET_ID, b"%d" % topic.id), (DUE, b"%d" % due_ms)
        ]  # fmt: skip
        if number is not None:
            own.append((TARGET_PARTITION, b"%d" % number))
        id = self._sending.put(self._partition(), body, key, encode_headers([*own, *headers]))
        entry = (SCHEDULE, id, [due_ms])
        self._apply_schedule(entry)
        self._stage.entry(entry, topic.sync)
        return id

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

    def describe(self, timers: list[tuple[int, int]], then: Callable[[list[Scheduled]], None]) -> None:
        """The messages of some timers."""
        dues = {id: due_ms for due_ms, id in timers}

        def found(records: list[Record]) -> None:
            rows = [
                Scheduled(record[0], dues[record[0]], self._target_name(record), record[2], record[3] or b"")
                for record in records
            ]
            then(sorted(rows, key=lambda row: (row.due_ms, row.id)))

        self._reading.records_at(self._partition(), sorted(dues), found)

    def tick(self, now_ms: int) -> int | None:
        """Delivers what is due. Returns when to come again."""
        if self._sending.refusal is not None:
            return now_ms + _RETRY_MS
        ids = self._wheel.pop_due(now_ms, FIRE_PER_TICK_MAX)
        due = [id for id in dict.fromkeys(ids) if self._is_due(id)]
        if due:
            self._firing.update(due)
            self._fire(due)
        return self._wheel.next_due_ms(now_ms)

    def _is_due(self, id: int) -> bool:
        """Of a timer whose time came: whether it still holds."""
        return self.is_live(id) and self._moved.get(id, 0) <= self._stage.now_ms

    def _fire(self, ids: list[int]) -> None:
        def found(records: list[Record]) -> None:
            by_id = {record[0]: record for record in records}
            self._firing.difference_update(ids)
            due = [id for id in ids if self._is_due(id)]  # not cancelled or moved meanwhile
            for id in due:
                if id in by_id:
                    self._deliver(by_id[id])
                else:
                    self.on_lost(id, "the stored message cannot be found")
            if due:
                self._unschedule(due)

        try:
            self._reading.records_at(self._partition(), sorted(ids), found)
        except Corrupt as damage:
            self._fire_around(ids, damage)

    def _fire_around(self, ids: list[int], damage: Corrupt) -> None:
        """Delivers what can still be read."""
        first = damage.offset if damage.offset is not None else min(ids)
        resume = damage.resume_offset if damage.resume_offset is not None else max(ids) + 1
        lost = [id for id in ids if first <= id < max(resume, first + 1)]
        for id in lost:
            self.on_lost(id, damage.text)
        self._unschedule(lost)
        rest = [id for id in ids if id not in lost]
        if rest:
            self._fire(rest)

    def _deliver(self, record: Record) -> None:
        topic = self._target(record)
        if topic is None:
            self.on_lost(record[0], f"topic {target_of(record)!r} does not exist any more")
            return
        own, kept = _apart(record[4])
        number = own.get(TARGET_PARTITION)
        if DUE in own:
            kept.insert(0, (DUE, own[DUE]))
        if record[0] in self._moved:
            kept = [(DUE, b"%d" % self._moved[record[0]]) if each[0] == DUE else each for each in kept]
        if header(record[4], ID) is None:
            kept.append((ID, id_of(self._partition().topic_id, 0, record).encode()))
        # What was taken is delivered: settings may have changed since, and the headers are ours.
        wanted = int(number) if number is not None and int(number) < len(topic.partitions) else None
        self._sending.put(topic.choose(record[2], wanted), record[3], record[2], encode_headers(kept))

    def _target_name(self, record: Record) -> str:
        topic = self._target(record)
        return target_of(record) if topic is None else topic.name

    def _target(self, record: Record) -> Topic | None:
        """Where a message goes: its topic, which may have another name now, or one that took its place."""
        id = _apart(record[4])[0].get(TARGET_ID)
        same = self._topics.by_id(int(id)) if id is not None else None
        return same or self._topics.find(target_of(record))

    def _partition(self) -> Partition:
        return self._topics.ensure_schedule().partitions[0]

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
        self._end = first + len(dues)
        self._wheel.add_many(dues, first)

    def _apply_unschedule(self, entry: Any) -> None:
        for id in entry[1]:
            self._done.mark(id)
            self._moved.pop(id, None)
            self._firing.discard(id)

    def _apply_reschedule(self, entry: Any) -> None:
        _, id, due_ms = entry
        if id in self._moved:
            self._wheel.discard(self._moved[id], id)
        self._moved[id] = due_ms
        self._wheel.add(due_ms, id)

    def appliers(self) -> dict[int, Callable[[Any], None]]:
        """What applies each kind of entry."""
        return {
            SCHEDULE: self._apply_schedule,
            UNSCHEDULE: self._apply_unschedule,
            RESCHEDULE: self._apply_reschedule,
        }

    def dump(self) -> object:
        """For the snapshot."""
        return [self._end, self._wheel.dump(), self._done.dump(), list(self._moved.items()), list(self._firing)]

    def load(self, state: Any) -> None:
        """The reverse of `dump`."""
        self._end, wheel, done, moved, firing = state
        self._wheel = Wheel.load(wheel)
        self._done = Bitmap.load(done)
        self._moved = dict(moved)
        for id in firing:
            self._wheel.add(0, id)


def _apart(headers: Headers) -> tuple[dict[bytes, bytes | None], list[tuple[bytes, bytes | None]]]:
    """The schedule's own headers, and those of the message."""
    own: dict[bytes, bytes | None] = {}
    for name, value in headers:
        if name not in _OWN or name in own:
            break
        own[name] = value
    return own, list(headers[len(own) :])


def target_of(record: Record) -> str:
    """The topic that a scheduled message goes to."""
    return (header(record[4], TARGET) or b"").decode()
