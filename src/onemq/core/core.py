"""The core: the whole broker without I/O, clock or randomness.

It is driven by calls, by `tick(now)`, and by what the log answers. In one turn: `tick`, any number of
calls, `settle`, `flush`. Everything a turn changes becomes one atomic set of the log.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any, Protocol

import msgspec

from onemq.core.claims import Claims
from onemq.core.cursor import Cursor
from onemq.core.deadletters import DeadLetters
from onemq.core.group import GroupConfig
from onemq.core.groups import Groups
from onemq.core.halves import Halves
from onemq.core.housekeeping import HOUR_MS, ROUND_MS, Housekeeping
from onemq.core.keyspace import Keyspace
from onemq.core.keyspace.frozen import array_header, pieces
from onemq.core.owners import Owners
from onemq.core.partition import Partition
from onemq.core.producers import Producers
from onemq.core.profiles import Profiles
from onemq.core.ranking import Ranking
from onemq.core.readers import Readers
from onemq.core.reading import Reading
from onemq.core.receiving import Receiving
from onemq.core.removing import Removing
from onemq.core.scan import Scans
from onemq.core.schedule import Schedule
from onemq.core.search import Searching
from onemq.core.sender import Sender
from onemq.core.sending import Sending
from onemq.core.sent_once import SentOnce
from onemq.core.stage import Stage
from onemq.core.start import Start, positions
from onemq.core.stream_groups import StreamGroups
from onemq.core.streams import Streams
from onemq.core.supply import Supply
from onemq.core.sweep import Sweep
from onemq.core.topics import Topic, Topics
from onemq.core.trace import Traces
from onemq.core.tracing import Tracing
from onemq.core.unit import Unit
from onemq.core.unreadable import Unreadable
from onemq.core.waiting import Waiting
from onemq.errors import Corrupt, FolderError, InvalidArgument
from onemq.limits import SETTLE_ROUNDS_MAX
from onemq.log.engine import Done, Log
from onemq.message import Record

STATE_VERSION = 2


class Part(Protocol):
    """A part of the core that has durable state."""

    def appliers(self) -> Mapping[int, Callable[[Any], object]]:
        """What applies each kind of entry."""

    def dump(self) -> object:
        """The state, for the snapshot."""

    def load(self, state: Any) -> None:
        """The reverse of `dump`, into an empty part."""


class Core:
    """Puts the parts together."""

    def __init__(
        self,
        log: Log,
        *,
        disk_watermark: float = 0.88,
        purge_hour: int | None = None,
        keys_sync: bool = True,
        on_trouble: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`on_trouble` is told what an operator must know: damaged or undeliverable messages."""
        self.log = log
        self._disk_watermark = disk_watermark
        self._purge_hour = purge_hour
        self._keys_sync = keys_sync
        self._on_trouble = on_trouble
        self.readers = Readers()
        self._build()

    def _build(self) -> None:
        """An empty broker over the log."""
        log = self.log
        self.stage = stage = Stage(self._keys_sync)
        self.topics = Topics(stage, log)
        self.groups = Groups(stage, self.topics)
        self.claims = Claims(stage, self.groups)
        self.producers = Producers(stage, self.topics)
        self.reading = Reading(log)
        self.reading.unreadable.on_new = self._unreadable
        self.reading.unreadable.on_full = self._unreadable_full
        self.sending = Sending(stage, self.producers)
        self.supply = Supply(self.groups, self.reading)
        self.receiving = Receiving(stage, self.groups, self.supply)
        self.schedule = Schedule(stage, self.topics, self.sending, self.reading)
        self.halves = Halves(stage, self.topics, self.sending, self.reading)
        self.sending.on_due = self._due_later
        self.owners = Owners(stage, self.topics, self.groups, self.producers, self.sending, self.halves)
        self.sent_once = SentOnce(stage, self.topics)
        self.send = Sender(stage, self.topics, self.sending, self.schedule, self.halves, self.sent_once).send
        self.dead_letters = DeadLetters(stage, self.topics, self.groups, self.sending, self.reading)
        self.supply.on_damage = self.dead_letters.on_damage = self._damaged
        self.schedule.parking.on_lost = lambda id, reason: self._lost("scheduled", id, reason)
        self.halves.parking.on_lost = lambda id, reason: self._lost("half", id, reason)
        self.halves.on_given_up = self._given_up
        self.owners.on_timeout = self._timed_out
        self.owners.on_new_group = lambda topic: self.keys.topic_changed(topic.name.encode())
        self.tracing = Tracing(stage, self.topics, self.groups, self.sending)
        self.sent_once.on_full = self._once_full
        self.waiting = Waiting()
        self.scans = Scans(self.topics)
        self.searching = Searching(log, self.topics, self.reading, self.scans)
        self.traces = Traces(log, self.topics, self.reading, self.scans, self.searching, self.dead_letters)
        self.keys = Keyspace(stage.entries)
        self.ranking = Ranking(stage, self.topics)
        self.profiles = Profiles(stage)
        self.sending.on_rank = self.ranking.rank
        self.stream_groups = StreamGroups(stage, self.topics, self.groups)
        self.streams = Streams(stage, self.topics, self.stream_groups, self.reading, self.sending, self.keys)
        self.removing = Removing(stage, self.topics, self.reading, self.keys, self.streams, self.stream_groups)
        self.dead_letters.delete = self.removing.delete_at
        self.topics.on_change.append(self.waiting.topic_came)
        self.topics.on_name_free += [self.waiting.topic_went, self.receiving.name_went]
        self.keys.on_topic_shown = self.waiting.name_came
        parkings = [self.schedule.parking, self.halves.parking]
        self.housekeeping = Housekeeping(
            stage, log, self.topics, parkings, self.producers, self.sending, self._disk_watermark, self._purge_hour
        )
        self.housekeeping.on_cleaned = self.reading.decoded.forget
        self.housekeeping.every(ROUND_MS, lambda now_ms: self.reading.decoded.forget_unused())
        self.sweep = Sweep(self.topics, self.groups, self.supply, self.receiving.screening)
        self.housekeeping.every(ROUND_MS, self.sweep.bury_expired)
        self.housekeeping.every(HOUR_MS, self.sweep.forget_once)
        self.housekeeping.every(ROUND_MS, self.ranking.forget_passed)
        self._last_run_goes_on = False
        self._unsettled: list[Partition] = []
        """Partitions with messages that those who wait were not told of yet."""
        self._wrote = False  # since the last tick
        self._parts: tuple[Part, ...] = (
            self.topics, self.groups, self.producers, self.schedule, self.keys, self.streams, self.halves,
            self.sent_once, self.ranking, self.owners, self.profiles,
        )  # fmt: skip
        self._appliers: dict[int, Callable[[Any], object]] = {}
        for part in self._parts:
            self._appliers.update(part.appliers())

    # A turn

    def tick(self, now_ms: int) -> int | None:
        """Begins a turn: does what is due. Returns when it must be called again at the latest."""
        if now_ms < self.stage.now_ms:
            self.streams.clock_went_back()
        self.stage.now_ms = self.keys.now_ms = now_ms
        self._wrote = False
        # First, while nothing is staged: what cleaning removes must not rest on what the log does not have yet.
        due_ms: int | None = self.housekeeping.tick(now_ms)
        if self._unsettled or self.groups.hot or self.waiting.stirred:
            due_ms = now_ms
        if self.stage.refusal is None:
            if self._last_run_goes_on:
                self._last_run_goes_on = False
                self.groups.end_last_run()
            due_ms = _earlier(due_ms, self.schedule.tick(now_ms))
            due_ms = _earlier(due_ms, self.halves.tick(now_ms))
            due_ms = _earlier(due_ms, self.owners.tick(now_ms))
            due_ms = _earlier(due_ms, self.groups.tick(now_ms))
            due_ms = _earlier(due_ms, self.keys.tick(now_ms))
        due_ms = _earlier(due_ms, self.receiving.tick(now_ms))
        due_ms = _earlier(due_ms, self.scans.tick(now_ms))
        return _earlier(due_ms, self.waiting.tick(now_ms))

    def set_time(self, now_ms: int) -> None:
        """Begins a turn in which nothing is due as far as the last tick knew; the time must not have gone back."""
        self.stage.now_ms = self.keys.now_ms = now_ms

    def next_due_ms(self) -> int | None:
        """When something may be due, after a turn, of which the last tick did not know; None if there is nothing."""
        if self._wrote or self._unsettled or self.groups.hot or self.waiting.stirred:
            return self.stage.now_ms  # only a tick finds out
        if self.receiving.screening.later or len(self.scans):
            return self.stage.now_ms  # only a tick finds out
        return _earlier(self.receiving.next_due_ms(), self.waiting.next_due_ms())

    def settle(self) -> None:
        """Ends the calls of a turn: serves those who wait, and writes what is traced."""
        if self.stage.refusal is None:
            self.halves.commits.settle()
            if self._is_awaited():
                self._serve()
            if self.tracing.noted:
                self.tracing.write()

    def _is_awaited(self) -> bool:
        """Whether somebody may wait for what this turn brought. Mostly nobody does, and that is told soon."""
        if self._unsettled or self.groups.hot or self.waiting.stirred:
            return True
        for partition in self.stage.partitions:
            topic = self.topics.by_id(partition.topic_id)
            if partition.waiting or (topic is not None and topic.groups):
                return True
        return False

    def _serve(self) -> None:
        """Whoever is served may send and ask again, so this goes round, but not for ever: the rest is for the
        next turn."""
        ends: dict[Partition, int] = {}
        for _ in range(SETTLE_ROUNDS_MAX):
            grown = [each for each in (*self._unsettled, *self.stage.partitions) if ends.get(each) != each.end]
            self._unsettled = []
            if not (grown or self.groups.hot or self.waiting.stirred):
                return
            for partition in grown:
                ends[partition] = partition.end
            if not self._settle(grown):
                return
        self._unsettled = [each for each in self.stage.partitions if ends.get(each) != each.end]

    def _settle(self, grown: list[Partition]) -> bool:
        """Returns whether anybody may have been served."""
        waited = bool(self.waiting.stirred)
        for partition in grown:
            if partition.waiting:
                waited = True
            topic = self.topics.by_id(partition.topic_id)
            for group in topic.groups.values() if topic is not None else ():
                if group.waiting:
                    self.groups.hot[group] = None
        if not (waited or self.groups.hot):
            return False
        self.receiving.settle()
        self.waiting.settle(grown)
        return True

    def flush(self, done: Done) -> None:
        """Hands the turn to the log. `done` is called when it is as durable as its topics ask."""
        self.reading.lookups.forget()
        taken = self.stage.take()
        if taken is None:
            done(None)
            return
        self._wrote = True
        writes, partitions = taken
        self.log.append(writes, done)
        for partition in partitions:
            partition.written()
        if self.log.checkpoint_due():
            self.log.checkpoint(self.dump())

    # The everyday calls

    def create_group(
        self, topic: str, name: str, start: Start, then: Callable[[], None] = lambda: None, **settings: Any
    ) -> None:
        """Makes a group that begins at a starting point; `then` is called when it is there."""
        try:
            config = msgspec.convert(settings, GroupConfig)
        except msgspec.ValidationError as problem:
            raise InvalidArgument(f"group {name!r}: {problem}") from None

        def found(places: list[int]) -> None:
            self.groups.create(topic, name, places, config)
            then()

        positions(self.log, self.topics.get(topic), start, found)

    def set_policy(self, topic: str, group: GroupConfig, kind: str) -> None:
        """Sets how all groups of a topic hand out again, those to come included, and how long its messages stay."""
        group.check(topic)
        found = self.topics.alter(topic, group=msgspec.to_builtins(group), kind=kind)
        changes = {name: getattr(group, name) for name in ("policy", "dead_topic", "lease_connection", "lease_ms")}
        for each in list(found.groups.values()):
            self.groups.alter(each, msgspec.structs.replace(each.config, **changes))

    def check_writable(self) -> None:
        """Raises if nothing can be written now: what a protocol asks before a command that changes keys."""
        self.stage.check()

    def unit(self) -> Unit:
        """Begins an atomic unit."""
        return Unit(self)

    @property
    def read_only(self) -> str | None:
        """Why messages are refused now, if so."""
        refusal = self.stage.refusal or self.sending.refusal
        return refusal.text if refusal is not None else None

    def stats(self) -> dict[str, object]:
        """Numbers for people."""
        topics = list(self.topics)
        return {
            "topics": sum(not topic.internal for topic in topics),
            "partitions": sum(len(topic.partitions) for topic in topics),
            "groups": sum(len(topic.groups) for topic in topics),
            "messages": sum(p.end - p.start for topic in topics if not topic.internal for p in topic.partitions),
            "scheduled": len(self.schedule),
            "transactions": len(self.halves),
            "unreadable_batches": self.reading.unreadable.count,
            "keys": max(self.keys.count() - sum(not topic.internal for topic in topics), 0),
        }

    # State

    def recover(self, now_ms: int) -> None:
        """Takes the state from the log and goes on from there."""
        self.restore(now_ms)
        self.resume()

    def restore(self, now_ms: int) -> None:
        """Takes the state from the log as it was, less what a power cut took."""
        self.stage.now_ms = self.keys.now_ms = now_ms
        state, sets = self.log.replay()
        if state is not None:
            self._load(state)
        for entries in sets:
            self._apply(entries)
        self.topics.place_all()
        self.ranking.place_all()
        self.streams.place_all()
        self.groups.clamp()

    def resume(self) -> None:
        """Draws the consequences of a restart: connections of the last run are gone."""
        self.stage.refusal = self.log.failure
        if self.log.checkpoint_due():
            self.log.checkpoint(self.dump())
        self._last_run_goes_on = True  # its leases end with the first turn that can write

    def _apply(self, entries: list[list[Any]]) -> None:
        for entry in entries:
            applier = self._appliers.get(entry[0])
            if applier is None:
                raise FolderError(f"the log has entries of kind {entry[0]}, which this OneMQ does not know: upgrade")
            applier(entry)

    def reset(self) -> None:
        """After a failed flush: forgets what the log does not have. Those who wait are told; members stay."""
        now_ms, last_run_goes_on = self.stage.now_ms, self._last_run_goes_on
        boots, groups, waiting, scans = self.topics.boots(), self.groups, self.waiting, self.scans
        listeners, commits = self.halves.listeners, self.halves.commits
        self._build()
        self.halves.listeners.take_over(listeners)
        self.recover(now_ms)
        self.topics.set_boots(boots)
        self._last_run_goes_on = last_run_goes_on
        groups.release_all()  # last, since those who are told may ask again
        waiting.release_all()
        scans.release_all()
        commits.release_all()

    def dump(self) -> Iterator[bytes]:
        """The state as it is now, in pieces of bytes: MessagePack, an array of the version and the parts. They can be
        taken later and on another thread; only the keyspace, which may be large, is encoded then."""
        encode = msgspec.msgpack.encode
        parts = [pieces(self.keys.dump()) if part is self.keys else [encode(part.dump())] for part in self._parts]
        return chain([array_header(1 + len(parts)), encode(STATE_VERSION)], *parts)

    def _load(self, state: bytes) -> None:
        version, *dumps = msgspec.msgpack.decode(state)
        if version > STATE_VERSION:
            raise FolderError(f"the state has format {version}, newer than this OneMQ reads ({STATE_VERSION}): upgrade")
        for part, dump in zip(self._parts, dumps, strict=False):  # older ones lack the last parts
            part.load(dump)

    def _damaged(self, cursor: Cursor, damage: Corrupt) -> None:
        if isinstance(damage, Unreadable):
            self.reading.unreadable.note(cursor.partition, damage)
            return
        self._on_trouble(f"group {cursor.group.name!r} of {cursor.group.topic.name!r} passes over: {damage.text}")

    def _unreadable(self, partition: Partition, damage: Unreadable) -> None:
        topic = self.topics.by_id(partition.topic_id)
        name = "" if topic is None else topic.name
        self._on_trouble(
            f"partition {partition.number} of {name!r} has a batch at offset {damage.base_offset} that its producer "
            f"made wrong; its {damage.next_offset - damage.base_offset} messages are passed over: {damage.text}"
        )

    def _unreadable_full(self) -> None:
        self._on_trouble("there are too many batches that their producers made wrong: further ones are not told of")

    def _due_later(self, topic: Topic, number: int, due_ms: int, record: Record) -> None:
        _, _, key, body, headers = record
        self.schedule.add(topic, due_ms, body, key, headers, number)

    def _lost(self, kind: str, id: int, reason: str) -> None:
        self._on_trouble(f"{kind} message {id} cannot be delivered and is dropped: {reason}")

    def _once_full(self, topic: Topic) -> None:
        self._on_trouble(f"topic {topic.name!r} has too many idempotency keys: it forgets some before their time is up")

    def _given_up(self, name: str, reason: str) -> None:
        self._on_trouble(f"transaction {name!r} is rolled back: it {reason}")

    def _timed_out(self, name: str) -> None:
        self._on_trouble(f"transactional producer {name!r} did not end its transaction in time: it is rolled back")


def _earlier(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)
