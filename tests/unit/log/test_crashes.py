"""Random sets, faults and crashes over the local log on a simulated disk, compared with a model.

Each set carries its number as an entry, so the replay tells which sets the log has. After every crash: these
are the first so many sets, among them all that were acknowledged and must survive this kind of crash; what
they appended can be read, whole and in order; nothing else can. A failure names its seed: `run(seed)` plays it
again, step by step.
"""

import errno
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import msgspec
import pytest

from onemq.errors import DiskFull, OneMQError
from onemq.log import distrust, journal, snapshot
from onemq.log.batch_builder import BatchBuilder
from onemq.log.engine import Batch, TopicPlace, WriteSet
from onemq.log.local import LocalLog
from onemq.log.records import NO_HEADERS, encode_headers
from tests.sim.disk import Crash, SimDisk
from tests.unit.log.helpers import HeldBackground, records

SEEDS = 300
ROUNDS = 4
STEPS = 40
TOPICS_MAX = 4
KEYS = [None, b"a", b"b", b"c"]

Place = tuple[int, int]


@dataclass
class ModelBatch:
    """A batch as it was appended."""

    place: Place
    base: int
    values: list[bytes]
    keys: list[bytes | None]
    journaled: bool
    safe: bool = False
    """Not journaled, but a checkpoint or a compaction has synced it."""
    lost: bool = False

    @property
    def end(self) -> int:
        return self.base + len(self.values)


@dataclass
class ModelSet:
    """A set as it was appended."""

    number: int
    sync: bool
    creates: list[TopicPlace] = field(default_factory=list)
    deletes: list[int] = field(default_factory=list)
    trims: list[tuple[int, int, int]] = field(default_factory=list)
    batches: list[ModelBatch] = field(default_factory=list)
    ended: bool = False
    acknowledged: bool = False


@dataclass
class ModelPartition:
    start: int = 0
    end: int = 0
    batches: list[ModelBatch] = field(default_factory=list)


class Model:
    """All sets in order, and what records cleaning may have taken."""

    def __init__(self) -> None:
        self.sets: list[ModelSet] = []
        self.removable: set[bytes] = set()

    def partitions(self) -> dict[Place, ModelPartition]:
        """What the sets add up to."""
        found: dict[Place, ModelPartition] = {}
        for each in self.sets:
            for place in each.creates:
                for number in range(place.partitions):
                    found.setdefault((place.id, number), ModelPartition())
            for batch in each.batches:
                if batch.place in found and not batch.lost:
                    found[batch.place].batches.append(batch)
                    found[batch.place].end = batch.end
            for topic, number, start in each.trims:
                partition = found[topic, number]
                partition.start = max(partition.start, start)
                partition.end = max(partition.end, start)
            for topic in each.deletes:
                found = {place: partition for place, partition in found.items() if place[0] != topic}
        return found


class Story:
    """One seed: a log, the model beside it, and what happens to them."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.disk = SimDisk(Random(seed + 1))
        self.model = Model()
        self.number = 0
        self.topics: dict[int, int] = {}
        self.next_topic = 1
        self.threaded = self.random.random() < 0.5
        self.power_cut = self.sync_failed = False
        self.background = HeldBackground()
        self.open()

    # Starting

    def open(self) -> None:
        self.background = HeldBackground()
        self.log = LocalLog(
            self.disk,
            background=self.background if self.threaded else None,
            inline_sync_seconds_max=0.0,
            journal_reserve_bytes=self.random.choice((0, 2000, 1 << 16)),
            index_interval_bytes=self.random.choice((64, 300, 4096)),
            segment_waiting_bytes_max=self.random.choice((0, 300, 2000, 1 << 16)),
            waiting_bytes_max=self.random.choice((500, 3000, 1 << 20)),
            segment_ahead_bytes=self.random.choice((0, 100, 1000, 1 << 16)),
        )
        report = self.log.open()
        assert not report.damage, report
        assert self.log.failure is None

    def restart(self) -> None:
        """Opens the log after a crash, with more crashes on the way, and checks it."""
        self.disk.limit_bytes = None
        self.end_process()
        self.harm()
        for _ in range(3):
            if self.random.random() < 0.4:
                self.disk.crash_after(self.random.randint(1, 12))
            try:
                self.open()
                break
            except Crash:
                self.end_process()
        else:
            self.open()
        self.disk.crash_after(1 << 40)
        self.check()

    def harm(self) -> None:
        """Damage that must do no harm: the newest of two snapshots cannot be read, indexes are gone."""
        snapshots = snapshot.list_files(self.disk)
        if len(snapshots) > 1 and self.disk.exists(journal.path_of(snapshots[-2] + 1)) and self.random.random() < 0.1:
            self.disk.flip_bit(snapshot.path_of(snapshots[-1]), 20)
        if self.random.random() < 0.1:
            for path in [path for path in self.disk.files() if path.endswith(".index")]:
                self.disk.lose(path)

    def end_process(self) -> None:
        self.disk.kill()
        # After a failed sync a new process may read what the disk will never have. A process that is killed before
        # it can leave a note about that is beyond help, unless the machine goes down with it.
        unnoticed = self.sync_failed and not distrust.is_there(self.disk)
        if unnoticed or self.random.random() < 0.6:
            self.power_cut = True
            self.disk.crash()
        self.sync_failed = False

    # Checking

    def check(self) -> None:
        self.check_sets()
        partitions = self.model.partitions()
        for place, partition in partitions.items():
            self.check_partition(place, partition)
        for topic in self.topics.keys() - {place[0] for place in partitions}:
            with pytest.raises(OneMQError):
                self.log.bounds(topic, 0)
        self.topics = {}
        for topic, number in partitions:
            self.topics[topic] = max(self.topics.get(topic, 0), number + 1)
        self.power_cut = False

    def check_sets(self) -> None:
        replay = self.log.replay()
        kept = msgspec.msgpack.decode(replay.state) if replay.state else []
        kept += [entry[1] for one_set in replay.sets for entry in one_set]
        issued = self.model.sets
        assert kept == [each.number for each in issued[: len(kept)]], "sets in order, none in between missing"
        for gone in issued[len(kept) :]:
            promised = gone.acknowledged and (gone.sync or not self.power_cut)
            assert not promised, f"set {gone.number} was acknowledged and is gone"
        del issued[len(kept) :]
        for each in issued:  # a start makes durable what it finds
            each.acknowledged = each.sync = True

    def check_partition(self, place: Place, expected: ModelPartition) -> None:
        start, end = self.log.bounds(*place)
        assert start == expected.start, (place, start, expected.start)
        bytes_max = self.random.choice((1, 500, 1 << 20))
        found = {record[0]: record[3] for record in records(self.log, *place, bytes_max)}
        for batch in expected.batches:
            self.check_batch(batch, start, end, found)
        assert not found, f"{place} has records that nobody stored: {found}"
        kept = [batch for batch in expected.batches if not batch.lost]
        low = max([start] + [batch.end for batch in kept])
        assert low <= end <= expected.end, (place, low, end, expected.end)
        if len(kept) == len(expected.batches):
            assert end == expected.end, (place, end, expected.end)

    def check_batch(self, batch: ModelBatch, start: int, end: int, found: dict[int, bytes | None]) -> None:
        there, missing = 0, []
        for offset, value in enumerate(batch.values, batch.base):
            if offset < start:
                continue
            if found.get(offset) == value:
                there += 1
                del found[offset]
            elif value not in self.model.removable:
                missing.append((batch.place, offset, value))
        if missing or (batch.end > end and not there):
            assert not there, f"a part of a batch is missing: {missing}"
            assert not batch.journaled, f"lost: {missing}"
            assert not batch.safe, f"lost though it was synced: {missing}"
            assert self.power_cut, f"lost without a power cut: {missing}"
            batch.lost = True

    # Acting

    def play(self) -> None:
        self.disk.crash_after(self.random.choice((20, 60, 200, 500)) * self.random.randint(1, 9) // 9 + 1)
        actions: list[tuple[float, Callable[[], None]]] = [
            (10, self.append),
            (1.2, self.checkpoint),
            (0.8, self.clean),
            (0.8, self.compact),
            (1.0, self.look),
            (0.5, self.fill_disk),
            (0.1, self.fail_sync),
        ]
        try:
            for _ in range(STEPS):
                weights = [weight for weight, _ in actions]
                self.random.choices(actions, weights)[0][1]()
                while self.background.held and self.random.random() < 0.5:
                    self.background.go()
                if self.log.failure is not None and not self.log.try_again():
                    return
        except Crash:
            return

    def look(self) -> None:
        """Everything can be read while it is on its way to the disk."""
        for place, partition in self.model.partitions().items():
            self.check_partition(place, partition)

    def append(self) -> None:
        self.number += 1
        made = ModelSet(self.number, sync=self.random.random() < 0.6)
        writes = WriteSet(entries=[("set", self.number)], sync=made.sync)
        if len(self.topics) < TOPICS_MAX and self.random.random() < 0.3:
            self.add_create(made, writes)
        for place in self.some_places():
            self.add_batch(place, made, writes)
        if self.random.random() < 0.15:
            self.add_trim(made, writes)
        if self.topics and self.random.random() < 0.03:
            self.add_delete(made, writes)
        self.model.sets.append(made)
        before = {place: self.log.bounds(*place) for place in self.places()}
        self.log.append(writes, lambda error: self.ended(made, error))
        if isinstance(self.log.failure, DiskFull):
            assert made.ended
            self.model.sets.remove(made)
            assert before == {place: self.log.bounds(*place) for place in self.places()}
            return
        for place in writes.creates:
            self.topics[place.id] = place.partitions
        for topic in writes.deletes:
            del self.topics[topic]

    def ended(self, made: ModelSet, error: OneMQError | None) -> None:
        assert not made.ended, "done is called once"
        made.ended = True
        if error is None:
            earlier = self.model.sets[: self.model.sets.index(made)]
            assert all(each.acknowledged for each in earlier), "a set must not overtake an earlier one"
            made.acknowledged = True

    def add_create(self, made: ModelSet, writes: WriteSet) -> None:
        if self.topics and self.random.random() < 0.3:
            topic = self.random.choice(sorted(self.topics))
            partitions = self.topics[topic] + 1
        else:
            topic, partitions = self.next_topic, self.random.randint(1, 2)
            self.next_topic += 1
        place = TopicPlace(topic, "t", partitions, self.random.choice((200, 700, 5000)))
        made.creates.append(place)
        writes.creates.append(place)

    def some_places(self) -> list[Place]:
        places = self.places()
        return self.random.sample(places, min(len(places), self.random.randint(0, 3)))

    def add_batch(self, place: Place, made: ModelSet, writes: WriteSet) -> None:
        base = self.log.bounds(*place)[1]
        for _ in range(self.random.choice((1, 1, 2))):
            builder = BatchBuilder(base, self.number)
            batch = ModelBatch(place, base, [], [], journaled=self.random.random() < 0.6)
            for offset in range(base, base + self.random.randint(1, 4)):
                value = b"%d-%d@%d#%d" % (*place, offset, self.number) + bytes(self.random.choice((0, 90, 700)))
                key = self.random.choice(KEYS)
                headers = encode_headers([(b"h", None)]) if self.random.random() < 0.1 else NO_HEADERS
                builder.add(self.number + self.random.randint(-2, 2), key, value, headers)
                batch.values.append(value)
                batch.keys.append(key)
            made.batches.append(batch)
            writes.batches.append(Batch(*place, base, builder.seal(), batch.journaled))
            base = batch.end

    def add_trim(self, made: ModelSet, writes: WriteSet) -> None:
        places = self.places()
        if places:
            place = self.random.choice(places)
            start, end = self.log.bounds(*place)
            end = max([end] + [batch.end for batch in made.batches if batch.place == place])
            wanted = self.random.randint(start, end + 3)
            made.trims.append((*place, min(wanted, end)))
            writes.trims.append((*place, wanted))

    def add_delete(self, made: ModelSet, writes: WriteSet) -> None:
        topic = self.random.choice(sorted(self.topics))
        made.deletes.append(topic)
        writes.deletes.append(topic)

    def checkpoint(self) -> None:
        if self.log.failure is not None:
            return
        waiting = len(self.background.held)
        unsafe = [batch for each in self.model.sets for batch in each.batches if not batch.lost]
        self.log.checkpoint([msgspec.msgpack.encode([each.number for each in self.model.sets])])
        if self.log.failure is None and len(self.background.held) == waiting:
            if not self.threaded:
                self.mark_safe(unsafe)
        elif len(self.background.held) > waiting:
            work, then = self.background.held.pop()

            def after(problem: BaseException | None) -> None:
                then(problem)
                if problem is None:
                    self.mark_safe(unsafe)

            self.background.held.append((work, after))

    def mark_safe(self, batches: list[ModelBatch]) -> None:
        for batch in batches:
            batch.safe = True

    def clean(self) -> None:
        for place in self.some_places()[:1]:
            for batch in self.batches_of(place):
                numbered = enumerate(batch.values, batch.base)
                self.model.removable |= {value for offset, value in numbered if offset % 3 == 1}
            self.log.clean(*place, lambda offset: offset % 3 != 1, lambda freed: None)

    def compact(self) -> None:
        for place in self.some_places()[:1]:
            batches = self.batches_of(place)
            newest: dict[bytes, bytes] = {}
            for batch in batches:
                newest |= {key: value for key, value in zip(batch.keys, batch.values, strict=True) if key}
            for batch in batches:
                pairs = zip(batch.keys, batch.values, strict=True)
                self.model.removable |= {value for key, value in pairs if key and newest[key] != value}

            def after(freed: int, batches: list[ModelBatch] = batches) -> None:
                if freed:
                    self.mark_safe(batches)

            self.log.compact(*place, 0, after)

    def batches_of(self, place: Place) -> list[ModelBatch]:
        sets = self.model.sets
        return [batch for each in sets for batch in each.batches if batch.place == place and not batch.lost]

    def fill_disk(self) -> None:
        """What does not fit leaves nothing; when there is room again, appending goes on."""
        self.disk.limit_bytes = self.disk.used() + self.random.choice((0, 10, 100, 1000))
        self.random.choice((self.append, self.append, self.checkpoint, self.clean, self.compact))()
        while self.background.held and self.random.random() < 0.7:
            self.background.go()
        self.disk.limit_bytes = None
        if isinstance(self.log.failure, DiskFull):
            assert self.log.try_again()

    def places(self) -> list[Place]:
        return [(topic, number) for topic, count in self.topics.items() for number in range(count)]

    def fail_sync(self) -> None:
        self.sync_failed = True
        self.disk.fail_next("sync", errno.EIO)
        self.append()


def run(seed: int) -> None:
    story = Story(seed)
    for _ in range(ROUNDS):
        story.play()
        story.restart()


@pytest.mark.parametrize("first", range(0, SEEDS, 30))
def test_nothing_that_must_survive_a_crash_is_lost_and_no_set_is_there_in_part(first: int) -> None:
    for seed in range(first, first + 30):
        try:
            run(seed)
        except BaseException as problem:
            problem.add_note(f"seed {seed}")
            raise
