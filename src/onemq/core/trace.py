"""Trace: what happened to a message.

The present state always tells when it was born and stored, and for each group whether it waits, is in flight, waits
for a retry or is done, and the last failures; so do its dead letters. For a traced topic, every event of the last
days is there as well (tracing.py).
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import msgspec

from onemq.core.cursor import Cursor
from onemq.core.deadletters import DeadLetters, death_of
from onemq.core.delivery import BURYING, GIVEN_UP, READY, Attempt
from onemq.core.group import Group
from onemq.core.locks import HELD
from onemq.core.partition import Partition
from onemq.core.reading import Reading
from onemq.core.scan import Scan, ScanResult, Scans, Span
from onemq.core.search import Query, Searching, place_of
from onemq.core.start import Start, positions
from onemq.core.topics import HALF_NAME, SCHEDULE_NAME, TRACE_NAME, Topic, Topics
from onemq.core.tracing import Told, trace_key, trace_partition
from onemq.errors import Corrupt, NotFound, OneMQError
from onemq.limits import TRACE_EVENTS_MAX
from onemq.log.engine import Log
from onemq.message import BORN, DUE, TRANSACTION, Record, header

_CLOCK_SLACK_MS = 3_600_000
"""How far the clock may have gone back since a message was stored, without its events being missed."""
_WAITED = {SCHEDULE_NAME: "scheduled", HALF_NAME: "half"}


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to the message."""

    time_ms: int
    event: str
    """born, scheduled, half, fired, committed, stored; held (in line behind others of its key), delivered, claimed,
    acknowledged, failed, returned, given up, dead, passed (not handed out), moved (the group was)."""
    group: str | None = None
    member: str | None = None
    deliveries: int = 0
    """How often it was handed out to the group then, as far as known."""
    due_ms: int = 0
    """When it is, or was, due after that; 0: at once."""
    reason: str = ""
    place: tuple[str, int, int] | None = None
    """Topic, partition and offset of a dead letter, and of where the message waited before it was stored."""


@dataclass(frozen=True, slots=True)
class GroupState:
    """How it is with the message in a group now."""

    group: str
    state: str
    """waiting (not handed out yet), held (in line behind others of its key), in flight, retry (waits for its time),
    ready (to be handed out again), given up, dying (becomes a dead letter), or done: acknowledged, passed over, or
    before the group began."""
    member: str | None = None
    since_ms: int = 0
    deliveries: int = 0
    due_ms: int = 0


@dataclass(slots=True)
class Trace:
    """All that is known of a message."""

    id: str
    topic: str
    partition: int | None = None
    offset: int | None = None
    """Where it is or was; none while it waits elsewhere to be stored here."""
    record: Record | None = None
    events: list[Event] = field(default_factory=list)
    groups: list[GroupState] = field(default_factory=list)
    traced: bool = False
    """Whether the topic tells everything; else only what can be seen now is here."""
    damage: list[str] = field(default_factory=list)
    error: OneMQError | None = None


class Traces:
    """Follows messages."""

    def __init__(
        self,
        log: Log,
        topics: Topics,
        reading: Reading,
        scans: Scans,
        searching: Searching,
        dead_letters: DeadLetters,
    ) -> None:
        self.log = log
        self.topics = topics
        self.reading = reading
        self.scans = scans
        self.searching = searching
        self.dead_letters = dead_letters

    def trace(self, topic: str, id: str, then: Callable[[Trace], None]) -> "Following":
        """Follows a message of a topic; `then` is called once, at once or in a later turn, unless it is cancelled.

        Raises `NotFound` for the topic, `InvalidArgument`, and `Busy`. An unknown message is an error in the trace.
        """
        found = self.topics.get(topic)
        place_of(id)
        self.scans.check()
        following = Following(self, found, Trace(id, topic, traced=found.config.trace), then)
        following.begin()
        return following


class Following:
    """One trace under way: finds the message, then its dead letters, then what was told of it."""

    def __init__(self, traces: Traces, topic: Topic, trace: Trace, then: Callable[[Trace], None]) -> None:
        self._traces = traces
        self._topic = topic
        self._trace = trace
        self._then = then
        self._scan: Scan | None = None
        self._dead_topics: list[str] = []
        self._remembered: list[Event] = []
        """What groups and dead letters remember; what was told may say the same."""
        self._told: list[Event] = []
        self.over = False

    def cancel(self) -> None:
        """Nobody waits for the answer any more."""
        self.over = True
        if self._scan is not None:
            self._scan.cancel()

    def begin(self) -> None:
        """The first step; the others follow."""
        query = Query(id=self._trace.id, most=1)
        self._try(lambda: self._traces.searching.search(self._topic.name, query, self._step(self._found)))

    def _try(self, begin: Callable[[], Scan | None]) -> None:
        try:
            self._scan = begin() or self._scan
        except OneMQError as error:
            self._finish(error)

    def _step(self, then: Callable[[ScanResult], None]) -> Callable[[ScanResult], None]:
        """Goes on with a result, if there is one and somebody waits for it."""

        def take(result: ScanResult) -> None:
            if self.over:
                return
            self._trace.damage += result.damage
            if result.error is not None:
                self._finish(result.error)
            else:
                then(result)

        return take

    def _finish(self, error: OneMQError | None = None) -> None:
        if not self.over:
            self.over = True
            self._trace.error = error
            self._trace.events = in_order(self._trace.events, self._told, self._remembered)
            self._then(self._trace)

    # The message

    def _found(self, result: ScanResult) -> None:
        trace = self._trace
        topic_id, number, offset = place_of(trace.id)
        if result.found:
            trace.partition, trace.record = result.found[0]
            trace.offset = trace.record[0]
            trace.events += events_of_record(trace.record)
        elif topic_id == self._topic.id and number < len(self._topic.partitions):
            if offset >= self._topic.partitions[number].end or self._is_another(number, offset):
                self._finish(NotFound(f"there is no message {trace.id} in topic {trace.topic!r}"))
                return
            trace.partition, trace.offset = number, offset
        self._look_at_origin(topic_id, number, offset)
        if trace.offset is None:
            unknown = NotFound(f"there is no message {trace.id} in topic {trace.topic!r}, nor one on its way to it")
            self._finish(None if trace.events else unknown)
            return
        self._look_at_groups()
        names = {group.name: self._traces.dead_letters.name_of(group) for group in self._topic.groups.values()}
        known = [name for name in dict.fromkeys(names.values()) if self._traces.topics.find(name) is not None]
        self._dead_topics = [name for name in known if name != self._topic.name]
        self._next_dead_topic()

    def _is_another(self, number: int, offset: int) -> bool:
        """Whether a message lies at the place of the id that has another one, because it came from elsewhere."""
        there: list[Record] = []
        with suppress(Corrupt):
            self._traces.reading.records_at(self._topic.partitions[number], [offset], there.extend)
        return bool(there)

    def _look_at_origin(self, topic_id: int, number: int, offset: int) -> None:
        """A message that was stored elsewhere first, in a topic of the broker's own, waited there."""
        origin = self._traces.topics.by_id(topic_id)
        if origin is None or origin is self._topic or number >= len(origin.partitions) or not origin.internal:
            return

        def read(records: list[Record]) -> None:
            for record in records:
                event = _WAITED.get(origin.name, "stored")
                place = (origin.name, number, offset)
                self._trace.events.append(Event(record[1], event, due_ms=_number(record, DUE) or 0, place=place))

        try:
            self._traces.reading.records_at(origin.partitions[number], [offset], read)
        except Corrupt as damage:
            self._trace.damage.append(damage.text)

    def _look_at_groups(self) -> None:
        number, offset = self._trace.partition, self._trace.offset
        assert number is not None
        assert offset is not None
        for group in self._topic.groups.values():
            cursor = group.cursors[number]
            self._trace.groups.append(state_of(group, cursor, offset))
            self._remembered += events_of_state(group, cursor, offset)

    # Its dead letters

    def _next_dead_topic(self) -> None:
        if not self._dead_topics:
            self._look_at_told()
            return
        name = self._dead_topics.pop()
        query = Query(id=self._trace.id, most=TRACE_EVENTS_MAX)
        then = self._step(partial(self._dead_found, name))
        self._try(lambda: self._traces.searching.search(name, query, then))

    def _dead_found(self, topic: str, result: ScanResult) -> None:
        for number, record in result.found:
            death = death_of(record)
            if death is not None and death.topic == self._topic.name:
                place = (topic, number, record[0])
                self._remembered += [
                    *events_of_history(death.group, death.history),
                    Event(death.at_ms, "dead", death.group, None, death.deliveries, 0, death.reason, place),
                ]
        self._next_dead_topic()

    # What was told of it

    def _look_at_told(self) -> None:
        told = self._traces.topics.find(TRACE_NAME)
        if told is None:
            self._finish()
            return
        partition, topic_id = trace_partition(told, self._topic.id), self._topic.id

        def scan(firsts: list[int]) -> None:
            spans = [Span(partition, firsts[partition.number], partition.end)]
            key, most = trace_key(topic_id), TRACE_EVENTS_MAX
            then = self._step(self._take_told)
            scan = Scan(self._traces.reading, told, spans, self._is_about, then, most=most, needle=key)
            self._try(lambda: self._traces.scans.begin(scan))

        stored_ms = self._trace.record[1] if self._trace.record is not None else 0
        try:
            positions(self._traces.log, told, Start("time", max(stored_ms - _CLOCK_SLACK_MS, 0)), scan)
        except Corrupt:
            scan([each.start for each in told.partitions])

    def _is_about(self, partition: Partition, records: list[Record]) -> list[Record]:
        key = trace_key(self._topic.id)
        return [record for record in records if record[2] == key and self._event(record) is not None]

    def _event(self, record: Record) -> Event | None:
        """What a record tells of this message, if anything."""
        told = msgspec.msgpack.decode(record[3] or b"", type=Told)
        place = index_in(told.runs, self._trace.offset or 0) if told.runs is not None else 0
        if told.partition != self._trace.partition or place is None:
            return None
        count = told.count[place] if isinstance(told.count, list) else told.count
        return Event(told.time_ms, told.event, told.group, told.member, count, told.due_ms, told.reason, told.place)

    def _take_told(self, result: ScanResult) -> None:
        events = [self._event(record) for _, record in result.found]
        self._told += [event for event in events if event is not None]
        self._finish()


def index_in(runs: list[int], offset: int) -> int | None:
    """The place of an offset among those of some runs, if it is in one."""
    before = 0
    for first, last in zip(runs[::2], runs[1::2], strict=True):
        if first <= offset <= last:
            return before + offset - first
        before += last - first + 1
    return None


def state_of(group: Group, cursor: Cursor, offset: int) -> GroupState:
    """How it is with a message in a group now."""
    delivery = cursor.unacknowledged.get(offset)
    if delivery is None:
        return GroupState(group.name, "waiting" if cursor.is_fresh(offset) else "done")
    since_ms, count, due_ms = delivery.since_ms, delivery.count, delivery.due_ms
    if delivery.member is not None:
        return GroupState(group.name, "in flight", delivery.member.name, since_ms, count)
    states = {READY: "ready", GIVEN_UP: "given up", BURYING: "dying", HELD: "held"}
    return GroupState(group.name, states.get(due_ms, "retry"), None, since_ms, count, max(due_ms, 0))


def events_of_state(group: Group, cursor: Cursor, offset: int) -> list[Event]:
    """What a group remembers of a message that is not done."""
    delivery = cursor.unacknowledged.get(offset)
    if delivery is None:
        return []
    events = events_of_history(group.name, list(delivery.history))
    if delivery.member is not None:
        events.append(Event(delivery.since_ms, "delivered", group.name, delivery.member.name, delivery.count))
    return events


def events_of_history(group: str, history: list[Attempt]) -> list[Event]:
    """What failed deliveries tell."""
    events = []
    for since_ms, member, failed_ms, reason in history:
        events.append(Event(since_ms, "delivered", group, member or None))
        events.append(Event(failed_ms, "failed", group, member or None, reason=reason))
    return events


def events_of_record(record: Record) -> list[Event]:
    """What a stored message tells of itself."""
    events = []
    born_ms, due_ms = _number(record, BORN), _number(record, DUE)
    transaction, death = header(record[4], TRANSACTION), death_of(record)
    if born_ms is not None:
        events.append(Event(born_ms, "born"))
    if death is not None:
        events += events_of_history(death.group, death.history)
        place = (death.topic, death.partition, death.offset)
        events.append(Event(death.at_ms, "dead", death.group, None, death.deliveries, 0, death.reason, place))
    if due_ms is not None:
        events.append(Event(record[1], "fired", due_ms=due_ms))
    if transaction is not None:
        events.append(Event(record[1], "committed", reason=transaction.decode(errors="replace")))
    events.append(Event(record[1], "stored"))
    return events


def in_order(own: list[Event], told: list[Event], remembered: list[Event]) -> list[Event]:
    """By time; what is remembered only where it was not told as well."""
    known = {_what(event) for event in told}
    rest = [event for event in remembered if _what(event) not in known]
    return sorted([*own, *told, *rest], key=lambda event: event.time_ms)


def _what(event: Event) -> tuple[object, ...]:
    return event.time_ms, event.event, event.group, event.member, event.place


def _number(record: Record, name: bytes) -> int | None:
    value = header(record[4], name)
    return int(value) if value is not None and value.isdigit() else None
