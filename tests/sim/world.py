"""One simulated life of a broker: random calls, faults and restarts, all from one seed.

The broker runs over a simulated disk. Each turn makes a few random calls and flushes. After every
restart, the recovered state must be exactly the state at the end of one of the turns that may have
survived: at or after the last one that was acknowledged for good, with exactly the messages that were
sent up to then. Between turns, what must hold at all times is checked. At the end all timers fire, all
groups are drained, and the books must balance.
"""

import errno
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import msgspec

from onemq.core import commits, housekeeping, ranking
from onemq.core.admission import EXPIRED
from onemq.core.core import Core
from onemq.core.deadletters import death_of
from onemq.core.delivery import BURYING, GIVEN_UP, READY
from onemq.core.group import Group, GroupConfig
from onemq.core.locks import HELD
from onemq.core.redelivery import Backoff, Immediate, Ladder
from onemq.core.soon import Soon
from onemq.core.start import FIRST
from onemq.core.topics import Topic, TopicConfig
from onemq.core.whole import Share, Whole
from onemq.errors import DiskFull, OneMQError
from onemq.log.batch_builder import BatchBuilder
from onemq.log.engine import Done, WriteSet
from onemq.log.local import LocalLog
from onemq.message import DUE, PRIORITY_DEFAULT, SERIES_ID, TRANSACTION, header
from tests.sim.dead import DeadCalls
from tests.sim.disk import Crash, SimDisk
from tests.sim.fingerprint import after_power_cut, fingerprint, first_difference, records_of
from tests.sim.halves import HalfCalls
from tests.sim.handed import Handed
from tests.sim.handout import HandOutChecks, any_attributes, any_headers, any_settings
from tests.sim.marks import MarkCalls
from tests.sim.owned import OwnedCalls
from tests.sim.records import handed_of
from tests.sim.repeats import RepeatCalls
from tests.sim.search import check_fetch, check_search
from tests.sim.staged import StagedCalls, is_staged
from tests.sim.streams import NAMES, StreamCalls, check_cursor
from tests.sim.trace import Acknowledged

DAY_MS = 24 * 3600 * 1000
Soon.least = 2
housekeeping.CLEAN_MESSAGES_MIN = 5
ranking.LANE_MESSAGES_KEPT = 5
commits.TURN_BYTES_MAX = 4_000
commits.COMMIT_TURN_BYTES = 1_000


class Later:
    """Background work that happens when the simulation says so."""

    def __init__(self) -> None:
        self.jobs: deque[tuple[Callable[[], None], Callable[[BaseException | None], None]]] = deque()

    def run(self, work: Callable[[], None], then: Callable[[BaseException | None], None]) -> None:
        self.jobs.append((work, then))

    def rest(self) -> None:
        pass

    def step(self) -> None:
        if self.jobs:
            work, then = self.jobs.popleft()
            try:
                work()
            except (OSError, OneMQError) as problem:
                then(problem)
            else:
                then(None)


class WatchedLog:
    """The log as the core sees it. Notes whether each set asks for a sync."""

    def __init__(self, log: LocalLog) -> None:
        self._log = log
        self.asked: list[bool] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def append(self, writes: WriteSet, done: Done) -> None:
        self.asked.append(writes.sync)
        self._log.append(writes, done)


class Turn:
    """What was true at the end of a turn."""

    def __init__(self, number: int, state: dict[str, Any]) -> None:
        self.number = number
        self.state = state
        self.synced = False
        self.acknowledged = False


class World:
    """A broker, its disk, its clock, and what must be true of it."""

    def __init__(self, seed: int, turns: int) -> None:
        self.random = Random(seed)
        self.disk = SimDisk(self.random)
        self.turns_left = turns
        self.now_ms = 1_700_000_000_000
        self.turn = 0
        self.serial = 0
        self.history: list[Turn] = []
        self.sent: dict[tuple[int, int, int], tuple[bytes, int, bool]] = {}
        """(topic, partition, offset) -> (body, turn, whether it must survive a power cut)"""
        self.done: set[tuple[int, int, int]] = set()
        """Messages that some queue topic may have dropped."""
        self.scheduled: dict[bytes, int] = {}
        """Body of a scheduled message -> turn"""
        self.cancelled: dict[bytes, int] = {}
        self.delivered: dict[bytes, int] = {}
        self.rejected: set[tuple[int, str, int, int]] = set()
        self.restarts = 0
        self.streams = StreamCalls(self)
        self.handout = HandOutChecks(self)
        self.fleeting: set[tuple[int, int, int]] = set()
        """Messages that a restart may take."""
        self.handed = Handed(self)
        self.halves = HalfCalls(self)
        self.staged = StagedCalls(self)
        self.dead = DeadCalls(self)
        self.marks = MarkCalls(self)
        self.owned = OwnedCalls(self)
        self.acknowledged = Acknowledged()
        self.repeats = RepeatCalls(self)
        self.background: Later | None = None
        self.start()

    # Life and death

    def start(self) -> None:
        random = self.random
        self.disk_fails = False
        self.background = Later() if random.random() < 0.4 else None
        self.log = LocalLog(
            self.disk,
            background=self.background,
            journal_bytes=random.choice([500, 4_000, 50_000]),
            journal_reserve_bytes=random.choice([0, 3_000, 100_000]),
            index_interval_bytes=random.choice([100, 1_000]),
            inline_sync_seconds_max=random.choice([0.0, 1.0]),
            segment_waiting_bytes_max=random.choice([0, 500, 2_000, 1 << 16]),
            waiting_bytes_max=random.choice([1_000, 5_000, 1 << 20]),
            segment_ahead_bytes=random.choice([0, 300, 2_000, 1 << 16]),
        )
        self.log.open()
        assert not self.log.report.damage, self.log.report.damage
        self.watched = WatchedLog(self.log)
        self.core = Core(self.watched, disk_watermark=1.1)  # type: ignore[arg-type]
        self.core.restore(self.now_ms)
        self.note_done()
        self.check_recovered()
        self.handed.begin()
        if self.power_cut:
            self.handed.cut(self.history[-1].number)
        self.core.resume()
        self.flush()

    def restart(self, how: str, in_peace: bool = False) -> None:
        """The process ends in some way and starts again, perhaps crashing again as it starts."""
        self.restarts += 1
        self.disk.limit_bytes = None
        power_cut = False
        while True:
            if how == "clean":
                how = self.stop()
            if how == "kill":
                self.disk.kill()
            else:
                self.disk.crash()
            power_cut = power_cut or how == "crash"
            self.power_cut = power_cut
            if not in_peace and self.random.random() < 0.2:
                self.disk.crash_after(self.random.randint(1, 30))
            try:
                self.start()
            except Crash:
                how = self.random.choice(["kill", "crash"])
                continue
            return

    def stop(self) -> str:
        """A clean stop; returns how the process really ended."""
        try:
            self.run_background()
            self.flush()
            self.run_background()
            if self.log.failure is None:
                self.log.checkpoint(self.core.dump())
                self.run_background()
            self.log.close()
        except Crash:
            return "crash"
        return "kill"

    def candidates(self) -> list[Turn]:
        """The turns that may be the last one that survived."""
        sure = [
            place
            for place, turn in enumerate(self.history)
            if turn.synced or (turn.acknowledged and not self.power_cut)
        ]
        return self.history[sure[-1] if sure else 0 :]

    # Turns

    def flush(self) -> None:
        """Ends a turn."""
        core = self.core
        core.settle()
        self.handed.look()
        self.turn += 1
        turn = Turn(self.turn, fingerprint(core))
        self.history.append(turn)
        asked = self.watched.asked = []

        def done(failure: OneMQError | None) -> None:
            if failure is None:
                turn.acknowledged = True
                turn.synced = asked == [True]

        before = self.history[-2].state if len(self.history) > 1 else None
        core.flush(done)
        self.handed.flushed()
        if not asked:
            self.history.remove(turn)
            assert before is None or before == turn.state, "something changed without an entry in the log"
        synced = [place for place, each in enumerate(self.history) if each.synced]
        self.history = self.history[synced[-1] if synced else 0 :]
        if self.log.failure is not None:
            self.failed()

    def failed(self) -> None:
        """The log refused: the broker goes back to what was acknowledged, and reads go on."""
        assert self.disk_fails or isinstance(self.log.failure, DiskFull), self.log.failure
        self.run_background()
        self.history = [turn for turn in self.history if turn.acknowledged]
        last = self.history[-1]
        self.core.groups.release_all()
        self.core.waiting.release_all()
        self.core.halves.commits.release_all()
        self.core._build()
        self.handed.begin()
        self.core.restore(self.now_ms)
        self.note_done()
        self.forget_after(last.number)
        self.compare(last)
        self.check_messages()
        self.core.resume()
        self.disk.limit_bytes = None
        if self.log.try_again():
            self.core.stage.refusal = None
            self.flush()
        else:
            self.restart("kill")

    def run_background(self) -> None:
        while self.background is not None and self.background.jobs:
            self.background.step()

    def run(self) -> None:
        """The whole life."""
        random = self.random
        while self.turns_left > 0:
            self.turns_left -= 1
            try:
                self.fault()
                self.step_clock()
                self.core.tick(self.now_ms)
                for _ in range(random.randint(1, 5)):
                    self.call()
                self.flush()
                if self.background is not None and random.random() < 0.7:
                    self.background.step()
                    if self.log.failure is not None:
                        self.failed()
                self.check_always()
                if random.random() < 0.05:
                    self.check_messages(forget=False)
                if random.random() < 0.02:
                    self.restart(random.choice(["clean", "kill", "crash"]))
            except Crash:
                self.restart(random.choice(["kill", "crash"]))
        self.disk.limit_bytes = None
        self.restart("clean", in_peace=True)
        self.finish()

    def fault(self) -> None:
        random = self.random
        roll = random.random()
        if roll < 0.04:
            self.disk.crash_after(random.randint(1, 40))
        elif roll < 0.05:
            self.disk.limit_bytes = self.disk.used() + random.randint(0, 3_000)
        elif roll < 0.055:
            self.disk.fail_next(random.choice(["sync", "append", "reserve"]), random.choice([errno.EIO, errno.ENOSPC]))
            self.disk_fails = True

    def step_clock(self) -> None:
        roll = self.random.random()
        if roll < 0.02:
            self.now_ms -= self.random.randint(1, 10 * 60_000)
        elif roll < 0.05:
            self.now_ms += self.random.randint(1, DAY_MS)
        else:
            self.now_ms += self.random.randint(0, 3_000)

    # Calls

    def call(self) -> None:
        """One random call; what is refused for a good reason is refused."""
        random = self.random
        call = random.choices(
            [self.send, self.send_delayed, self.send_batch, self.receive, self.acknowledge, self.fail, self.member,
             self.topic, self.group, self.timer, self.unit, self.keys, self.claim, self.clean, self.streams.call,
             self.halves.call, self.search, self.trace, self.repeats.call, self.dead.call, self.staged.call,
             self.marks.call, self.owned.call],
            [22, 6, 3, 18, 14, 6, 3, 2, 3, 4, 3, 8, 2, 1, 12, 8, 1, 3, 8, 3, 10, 4, 14],
        )[0]  # fmt: skip
        with suppress(OneMQError):
            call()

    def body(self) -> bytes:
        self.serial += 1
        return b"%d:" % self.serial + b"x" * self.random.choice([0, 10, 100, 700])

    def priority(self) -> int:
        return self.random.choice([PRIORITY_DEFAULT, PRIORITY_DEFAULT, PRIORITY_DEFAULT, 0, 7, 9])

    def any_topic(self) -> Topic | None:
        topics = [topic for topic in self.core.topics if not topic.internal and not topic.config.dead]
        topics = [topic for topic in topics if topic.name not in NAMES]
        return self.random.choice(topics) if topics else None

    def any_group(self) -> Group | None:
        groups = [group for topic in self.core.topics for group in topic.groups.values()]
        return self.random.choice(groups) if groups else None

    def note(self, topic: Topic, number: int, offset: int, body: bytes, sure: bool) -> None:
        self.sent[topic.id, number, offset] = (body, self.turn + 1, sure)

    def topic(self) -> None:
        random = self.random
        name = random.choice("abcdef")
        existing = self.core.topics.find(name)
        if existing is None:
            config = TopicConfig(
                kind=random.choice(["stream", "queue"]),
                flush=random.choice(["sync", "sync", "async"]),
                retention_ms=random.choice([None, None, DAY_MS]),
                retention_bytes=random.choice([None, None, 20_000]),
                compact=random.random() < 0.2,
                segment_bytes=4_096,
                expires_ms=random.choice([None, None, None, 60_000]),
                expired=random.choice(["drop", "dead"]),
                trace=random.random() < 0.3,
            )
            self.core.topics.create(name, random.randint(1, 3), config)
        elif random.random() < 0.1:
            self.core.topics.delete(name)
        elif random.random() < 0.3:
            self.core.topics.alter(name, partitions=len(existing.partitions) + random.randint(0, 1))

    def send(self) -> None:
        topic, body, random = self.any_topic(), self.body(), self.random
        if topic is None:
            return self.topic()
        persistent = random.random() < 0.9
        key = random.choice([None, b"k%d" % random.randint(0, 5)])
        headers = any_headers(random, self.now_ms)
        number, offset = self.core.send(topic.name, body, key, headers, persistent=persistent, priority=self.priority())
        self.note(topic, number, offset, body, topic.sync)
        if not persistent:
            self.fleeting.add((topic.id, number, offset))
        return None

    def send_batch(self) -> None:
        topic, random = self.any_topic(), self.random
        if topic is None:
            return
        number = random.randrange(len(topic.partitions))
        time_ms = self.now_ms + random.choice([0, -1, -1_000, 10, -DAY_MS])
        builder = BatchBuilder(0, time_ms)
        bodies = [self.body() for _ in range(random.randint(1, 10))]
        for body in bodies:
            builder.add(time_ms, None, body, b"\x00")
        if random.random() < 0.5:
            first = self.core.sending.append(topic, number, builder.seal()).offset
        else:
            first = self.core.sending.send_batch(topic, number, builder.seal())
        for place, body in enumerate(bodies):
            self.note(topic, number, first + place, body, topic.sync)

    def send_delayed(self) -> None:
        topic, body = self.any_topic(), self.body()
        if topic is not None:
            due_ms = self.now_ms + self.random.choice([1, 1_000, 60_000, DAY_MS, 30 * DAY_MS])
            self.core.send(topic.name, body, deliver_at_ms=due_ms, priority=self.priority())
            self.scheduled[body] = self.turn + 1

    def timer(self) -> None:
        timers = list(self.core.schedule.timers())
        if not timers:
            return
        _, id = self.random.choice(timers)
        if self.random.random() < 0.5:
            found: list[Any] = []
            self.core.schedule.describe([(0, id)], found.extend)
            self.core.schedule.cancel(id)
            if self.core.schedule.series(id) is None:
                self.cancelled[found[0].body] = self.turn + 1
        else:
            self.core.schedule.move(id, self.now_ms + self.random.randint(0, DAY_MS))

    def group(self) -> None:
        topic, random = self.any_topic(), self.random
        if topic is None:
            return
        name = random.choice("gh")
        if name not in topic.groups:
            policy = random.choice(
                [None, Immediate(2), Immediate(1), Ladder((10, 1_000)), Backoff(max_redeliveries=3, exponential=True)]
            )
            dead = random.choice([None, "dead"])
            lease_ms = random.choice([0, 0, 5_000])
            entry = policy.to_entry() if policy else None
            settings = {"policy": entry, "dead_topic": dead, "lease_ms": lease_ms} | any_settings(random)
            self.core.create_group(topic.name, name, FIRST, **settings)
        elif random.random() < 0.1:
            self.core.profiles.set(name, random.choice([{}, {"start": "first"}, {"start": "last", "most": "5"}]))
        elif random.random() < 0.1:
            self.core.groups.delete(topic.groups[name])
        elif random.random() < 0.2:
            number = random.randrange(len(topic.partitions))
            partition = topic.partitions[number]
            self.handout.altered.add(topic.groups[name].id)
            self.core.groups.seek(topic.groups[name], number, random.randint(partition.start, partition.end))
        elif random.random() < 0.2:
            self.handout.altered.add(topic.groups[name].id)
            kept = msgspec.to_builtins(topic.groups[name].config)
            config = msgspec.convert(kept | any_settings(random), GroupConfig)
            self.core.groups.alter(topic.groups[name], config)
            if (kept["order"] == "none") != (config.order == "none"):
                for cursor in topic.groups[name].cursors:
                    self.handed.levelled(cursor)

    def member(self) -> None:
        group = self.any_group()
        if group is None:
            return
        if self.random.random() < 0.5 or not group.members:
            leased = self.random.random() < 0.7
            self.core.groups.join(group, self.random.choice("mno"), leased, any_attributes(self.random))
        else:
            self.core.groups.leave(group, self.random.choice(list(group.members)))

    def receive(self) -> None:
        group = self.any_group()
        if group is not None:
            wait = self.random.choice([None, self.now_ms + 2_000])
            member, most = self.random.choice("mno"), self.random.randint(1, 20)
            if self.random.random() < 0.3:
                self.receive_whole(group, member, most, wait)
                return
            allowance = self.random.choice([None, lambda: self.random.randint(0, most)])
            self.core.receiving.receive(
                group, member, most, lambda got: self.got(group, got), wait, allowance=allowance
            )

    def receive_whole(self, group: Group, member: str, most: int, wait: int | None) -> None:
        random = self.random
        numbers = random.sample(range(len(group.cursors)), random.randint(1, len(group.cursors)))
        whole = Whole(numbers, random.choice([1, 500, 1 << 20]), strict=random.random() < 0.5)

        def got(shares: list[Share]) -> None:
            handed = [each for share in shares for each in handed_of(share)]
            assert not whole.strict or len(handed) <= most, "more than was asked for"
            self.got(group, handed)

        self.core.receiving.receive_whole(group, member, lambda: random.randint(0, most), whole, got, wait)

    def got(self, group: Group, handed: list[Any]) -> None:
        self.handed.look()
        for _, _, count in handed:
            most = group.policy.max_deliveries if group.policy else None
            assert most is None or count <= most, "handed out more often than allowed"
        self.handout.handed(group, handed)

    def held(self) -> tuple[Group, int, list[int]] | None:
        group = self.any_group()
        if group is None:
            return None
        number = self.random.randrange(len(group.cursors))
        flying = [offset for offset, each in group.cursors[number].unacknowledged.items() if each.member]
        some = self.random.sample(flying, self.random.randint(0, min(len(flying), 20)))
        return (group, number, some) if some else None

    def acknowledge(self) -> None:
        held = self.held()
        if held:
            self.handout.done(*held)
            self.core.groups.acknowledge(*held)
            self.acknowledged.note(*held, self.turn + 1, self.now_ms)

    def fail(self) -> None:
        held, random = self.held(), self.random
        if held:
            group, number, offsets = held
            roll = random.random()
            if roll < 0.6:
                self.core.groups.fail(group, number, offsets, "it broke", random.choice([None, None, 0, 500]))
            elif roll < 0.8:
                self.core.groups.give_back(group, number, offsets)
            else:
                self.rejected.add((group.topic.id, group.name, number, offsets[0]))
                self.core.groups.reject(group, number, offsets[0], "not wanted")

    def claim(self) -> None:
        held = self.held()
        if held and self.random.random() < 0.5:
            assert self.core.groups.extend(*held) == len(held[2])
        elif held:
            self.core.claims.claim(*held, member=self.random.choice("mno"), counts=False)

    def unit(self) -> None:
        unit, random = self.core.unit(), self.random
        sends = [(topic, self.body()) for _ in range(random.randint(1, 3)) if (topic := self.any_topic())]
        for topic, body in sends:
            unit.send(topic.name, body, priority=self.priority())
        held = self.held()
        if held:
            unit.acknowledge(*held)
        if random.random() < 0.3:
            unit.rollback()
            return
        if held:
            self.handout.done(*held)
        placed = unit.commit()
        sure = any(topic.sync for topic, _ in sends) or bool(held and held[0].topic.sync)
        for (topic, body), (number, offset) in zip(sends, placed, strict=True):
            self.note(topic, number, offset, body, sure)

    def keys(self) -> None:
        keys, random = self.core.keys, self.random
        name = random.choice([b"s1", b"s2"])
        roll = random.random()
        if roll < 0.3:
            keys.strings.set(name, self.body())
        elif roll < 0.5:
            keys.lists.push(b"l", [self.body()], random.random() < 0.5)
        elif roll < 0.7:
            keys.lists.pop(b"l", random.random() < 0.5)
        elif roll < 0.8:
            keys.hashes.set(b"h", [name, self.body()])
        elif roll < 0.9:
            keys.delete(name, b"h")
        else:
            keys.expire_at(name, self.now_ms + random.randint(1, 10_000))

    def clean(self) -> None:
        self.core.housekeeping._next_ms.clear()

    def search(self) -> None:
        topics = [topic for topic in self.core.topics if not topic.internal]
        if topics:
            check_search(self.core, self.random.choice(topics), self.random)
            check_fetch(self.core, self.random.choice(topics), self.random)

    def trace(self) -> None:
        self.acknowledged.check(self.core, self.random, self.turn)

    # What must hold

    def compare(self, turn: Turn) -> None:
        difference = first_difference(fingerprint(self.core), turn.state)
        assert difference is None, f"not as after turn {turn.number}: {difference}"

    def check_recovered(self) -> None:
        """The state is that of a turn that may have been the last."""
        if not self.history:
            self.history = [Turn(0, fingerprint(self.core))]
            self.history[0].synced = self.history[0].acknowledged = True
        recovered = fingerprint(self.core)
        candidates = self.candidates()
        if self.power_cut:
            for turn in candidates:
                turn.state = after_power_cut(turn.state, self.core)
        matching = [turn for turn in candidates if turn.state == recovered]
        if not matching:
            differences = [f"{turn.number}: {first_difference(recovered, turn.state)}" for turn in candidates]
            raise AssertionError("the state is none of those after turns\n" + "\n".join(differences))
        self.forget_after(matching[-1].number)
        if self.power_cut:
            self.acknowledged.forget_all()
        last = matching[-1]
        last.state = fingerprint(self.core)
        last.synced = last.acknowledged = True
        self.history = [last]
        self.check_messages()
        self.streams.check_recovered()
        self.halves.check_recovered()
        self.staged.check_recovered()
        self.owned.check_recovered()
        self.repeats.check_recovered()

    def forget_after(self, number: int) -> None:
        """What was sent in turns after this one never happened."""
        self.sent = {place: each for place, each in self.sent.items() if each[1] <= number}
        self.scheduled = {body: turn for body, turn in self.scheduled.items() if turn <= number}
        self.cancelled = {body: turn for body, turn in self.cancelled.items() if turn <= number}
        self.streams.forget_after(number)
        self.handout.forget_after(number)
        self.handed.forget_after(number)
        self.halves.forget_after(number)
        self.staged.forget_after(number)
        self.owned.forget_after(number)
        self.acknowledged.forget_after(number)
        self.repeats.forget_after(number)

    def check_messages(self, forget: bool = True) -> None:
        """Exactly what was sent is there, in order and dense; only async messages may be lost to a power cut.
        After a restart, what is gone is gone; before, a crash may bring back what was trimmed."""
        expected: dict[tuple[int, int], dict[int, tuple[bytes, bool]]] = {}
        for (topic_id, number, offset), (body, _, sure) in self.sent.items():
            expected.setdefault((topic_id, number), {})[offset] = (body, sure)
        for topic in self.core.topics:
            if topic.internal or topic.config.dead:
                continue
            for partition in topic.partitions:
                records = records_of(self.core, topic, partition.number)
                offsets = [record[0] for record in records]
                assert offsets == sorted(set(offsets)), "offsets are out of order"
                if topic.sync and not topic.config.compact and topic.config.kind == "stream":
                    assert offsets == list(range(partition.start, partition.end)), "offsets are not dense"
                self._check_partition(topic, partition.number, expected.get((topic.id, partition.number), {}), records)
                gone = set(expected.get((topic.id, partition.number), {})) - set(offsets) if forget else ()
                for offset in gone:
                    del self.sent[topic.id, partition.number, offset]

    def note_done(self) -> None:
        """Remembers what queue topics need not keep any more, whatever groups come later."""
        for topic_id, number, offset in self.sent.keys() - self.done:
            topic = self.core.topics.by_id(topic_id)
            known = topic is not None and number < len(topic.partitions)  # a crash may have undone its growth
            if topic is not None and known and topic.config.kind == "queue" and topic.groups:
                cursors = [group.cursors[number] for group in topic.groups.values()]
                if all(not cursor.is_fresh(offset) and offset not in cursor.unacknowledged for cursor in cursors):
                    self.done.add((topic_id, number, offset))

    def _check_partition(self, topic: Topic, number: int, expected: dict[int, Any], records: list[Any]) -> None:
        start = topic.partitions[number].start
        found = {record[0]: record for record in records}
        for offset, (body, sure) in expected.items():
            if offset in found:
                assert found[offset][3] == body, f"{topic.name} {offset} has other bytes"
            else:
                gone = offset < start or topic.config.compact or (self.power_cut and not sure)
                gone = gone or (topic.id, number, offset) in self.done
                assert gone, f"{topic.name} offset {offset} was acknowledged and is lost"
        for offset, record in found.items():
            moved = header(record[4], DUE) is not None or header(record[4], TRANSACTION) is not None
            moved = moved or is_staged(record[3])
            assert moved or offset in expected, f"{topic.name} offset {offset} was never sent"

    power_cut = False
    disk_fails = False
    """Whether a write or a sync of this run may have failed."""

    def check_always(self) -> None:
        """Every message is in one state only, and none that is due later is there."""
        self.note_done()
        for topic in self.core.topics:
            for group in topic.groups.values():
                for member in group.members.values():
                    assert member.in_flight == sum(each.left for each in member.held), "a member that miscounts"
                for cursor in group.cursors:
                    ready = set(cursor.ready)
                    for offset, each in cursor.unacknowledged.items():
                        if each.member is not None:
                            assert each in each.member.held, "a delivery that its member does not know"
                        elif each.due_ms == READY:
                            assert offset in ready, "a message that nobody would ever get"
                        else:
                            assert each.due_ms > 0 or each.due_ms in (BURYING, GIVEN_UP, HELD)
                    check_cursor(cursor)
                self.handout.check_group(group)

    def finish(self) -> None:
        """All timers fire, all groups are drained, and the books balance."""
        self.repeats.cancel_all()
        for _ in range(20):
            self.trace()
        self.now_ms += 400 * DAY_MS
        self.core.tick(self.now_ms)
        for topic in self.core.topics:
            for group in topic.groups.values():
                self.handout.prepare_end(group)
        for _ in range(30):
            self.now_ms += 60_000
            self.core.tick(self.now_ms)
            for topic in self.core.topics:
                for group in topic.groups.values():
                    self._drain(group)
            self.flush()
            self.run_background()
        assert len(self.core.schedule) == 0, "timers did not fire"
        self.halves.finish()
        self.staged.finish()
        self.owned.finish()
        self.repeats.finish()
        self._balance()
        self.handed.check_all_handed()

    def _drain(self, group: Group) -> None:
        while self._drain_some(group):
            pass

    def _drain_some(self, group: Group) -> int:
        """How many messages a group handed out; of those that keep an order there may be more then."""
        got: list[Any] = []

        def take(handed: list[Any]) -> None:
            got.extend(handed)
            self.got(group, handed)

        self.core.receiving.receive(group, "drain", 10_000, take)
        for number in range(len(group.cursors)):
            flying = group.cursors[number].unacknowledged
            done = [offset for offset, each in flying.items() if each.member or each.due_ms == GIVEN_UP]
            self.handout.done(group, number, done)
            self.core.groups.acknowledge(group, number, done)
        return len(got)

    def _balance(self) -> None:
        for topic in self.core.topics:
            for group in topic.groups.values():
                assert group.lag == 0, f"{group.name} has {group.lag} messages left"
                self.handout.check_end(topic, group)
            if topic.config.dead:
                self._check_dead(topic)
        bodies: list[bytes] = []
        for topic in self.core.topics:
            if not topic.internal and not topic.config.dead:
                for partition in topic.partitions:
                    for record in records_of(self.core, topic, partition.number):
                        due = header(record[4], DUE)
                        assert due is None or record[1] >= int(due), "delivered early"
                        if due is not None and header(record[4], SERIES_ID) is None:
                            assert record[3] is not None
                            bodies.append(record[3])
        assert len(bodies) == len(set(bodies)), "a scheduled message was delivered twice"
        assert not set(bodies) & set(self.cancelled), "a cancelled message was delivered"

    def _check_dead(self, topic: Topic) -> None:
        seen = set()
        for partition in topic.partitions:
            for record in records_of(self.core, topic, partition.number):
                death = death_of(record)
                assert death is not None
                origin = self.core.topics.find(death.topic)
                group = origin.groups.get(death.group) if origin else None
                most = group.policy.max_deliveries if group and group.policy else None
                if origin and group and death.reason not in ("not wanted", EXPIRED):
                    assert most is not None, "dead without a policy"
                    assert death.deliveries <= most
                assert (record[4], record[0]) not in seen
                seen.add((record[4], record[0]))
