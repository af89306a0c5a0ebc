"""Transactional producers in the simulation: batches and offsets of groups, ended, timed out, taken over.

Each message of a committed transaction is there once, those of a producer in the order in which it sent them, the
others are not there; offsets change with the commit and not before, whatever crashes in between.
"""

from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from crc32c import crc32c

from onemq.core.commits import Commit
from onemq.core.core import Core
from onemq.core.marking import Place
from onemq.core.owner import Owner
from onemq.core.owners import STAGED, Identity
from onemq.core.topics import Topic
from onemq.errors import Fenced, NotFound, OneMQError, OutOfOrderSequence, TransactionEnded
from onemq.log.batch import HEADER, HEADER_BYTES, read_header
from onemq.log.batch_builder import BatchBuilder
from onemq.log.records import encode_headers
from onemq.message import ID, PRIORITY, header
from tests.sim.records import keeps_all, records_of
from tests.sim.staged import MARK, compressed

if TYPE_CHECKING:
    from tests.sim.world import World

NAMES = ("copier", "mirror")
GROUPS = ("g", "k", "copied")


class Sent(NamedTuple):
    """A batch of a transaction."""

    topic_id: int
    partition: int
    bodies: list[bytes]
    turn: int


class Decision(NamedTuple):
    """A transaction that was committed."""

    owner: str
    transaction: str
    turn: int


class OwnedCalls:
    """Random calls, and what is known of them."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._random: Random = world.random
        self._sent: dict[str, list[Sent]] = {}
        """Transaction -> its batches."""
        self._decisions: list[Decision] = []
        self._lives: dict[tuple[str, Identity], int] = {}
        """Owner and every identity that it was told -> turn"""

    @property
    def _core(self) -> Core:
        return self._world.core

    def call(self) -> None:
        """One random call."""
        name = self._random.choice(NAMES)
        if not any(owner.name == name for owner in self._core.owners):
            return self._open(name)
        calls = [self._open, self._begin, self._produce, self._commit_offsets, self._end, self._end_again, self._zombie]
        self._random.choices(calls, [1, 8, 14, 5, 6, 2, 2])[0](name)
        return None

    def _identity(self, name: str) -> Identity:
        producer = self._core.owners.producer(self._core.owners.get(name))
        return producer.id, producer.epoch

    def _open(self, name: str) -> None:
        owners, timeout_ms = self._core.owners, self._random.choice([5_000, 60_000])
        known = {owner.name for owner in owners}
        former = self._identity(name) if name in known and self._random.random() < 0.5 else None
        producer = owners.open(name, timeout_ms, former)
        identity = producer.id, producer.epoch
        assert (name, identity) not in self._lives, "an epoch was given twice"
        self._lives[name, identity] = self._world.turn + 1
        if former is not None:
            again = owners.open(name, timeout_ms, former)
            assert (again.id, again.epoch) == identity, "the same question, another answer"

    def _begin(self, name: str) -> None:
        world, random = self._world, self._random
        topic = world.any_topic()
        targets = [] if topic is None else [(topic, random.randrange(len(topic.partitions)))]
        groups = random.choice([(), (random.choice(GROUPS),)])
        self._core.owners.begin(name, self._identity(name), targets, groups)

    def _produce(self, name: str) -> None:
        owner = self._core.owners.get(name)
        if not owner.targets:
            self._begin(name)
        for _ in range(self._random.choice([1, 1, 3, 8])):
            topic_id, number = self._random.choice(list(owner.targets) or [(0, 0)])
            topic = self._core.topics.by_id(topic_id)
            if topic is not None:
                self._produce_to(owner, topic, number)

    def _produce_to(self, owner: Owner, topic: Topic, number: int) -> None:
        world, owners, identity = self._world, self._core.owners, self._identity(owner.name)
        bodies = [MARK + b"owned " + world.body() for _ in range(self._random.randint(1, 6))]
        sequence = self._next_sequence(identity, topic, number)
        batch = of_producer(_sealed(self._random, world.now_ms, bodies), identity, sequence)
        assert owners.produce(owner.name, topic, number, batch, read_header(batch)) == STAGED
        self._sent.setdefault(owner.transaction, []).append(Sent(topic.id, number, bodies, world.turn + 1))
        if self._random.random() < 0.3:
            assert owners.produce(owner.name, topic, number, batch, read_header(batch)) == STAGED
        if self._random.random() < 0.1:
            with suppress(OutOfOrderSequence):
                gap = of_producer(batch, identity, sequence + 100)
                owners.produce(owner.name, topic, number, gap, read_header(gap))
                raise AssertionError("a gap was taken")

    def _next_sequence(self, identity: Identity, topic: Topic, number: int) -> int:
        known = self._core.producers.get(identity[0]).sent.get((topic.id, number))
        return 0 if known is None or known.epoch != identity[1] else known.sent[-1][1] + 1

    def _commit_offsets(self, name: str) -> None:
        owner, random, topic = self._core.owners.get(name), self._random, self._world.any_topic()
        if topic is None:
            return
        if not owner.groups:
            self._core.owners.begin(name, self._identity(name), groups=[random.choice(GROUPS)])
        group = random.choice(list(owner.groups))
        before = _places(topic, group)
        partition = random.choice(topic.partitions)
        place = Place(random.randint(partition.start, partition.end), f"of {owner.transaction}")
        self._core.owners.commit_offsets(name, self._identity(name), group, topic, {partition.number: place})
        assert self._core.owners.is_pending(group, topic.id, partition.number)
        assert _places(topic, group) == before, "an offset that is not committed"

    def _end(self, name: str) -> None:
        owner, committed = self._core.owners.get(name), self._random.random() < 0.7
        if not owner.is_open:
            return
        pending = [(each.group, each.topic, dict(each.places)) for each in owner.pending()]
        for _, topic_id, _ in pending:
            self._altered(topic_id)
        made = self._core.owners.end(name, self._identity(name), committed)
        for group, topic_id, places in pending:
            others = [owner.offsets.get((group, topic_id), {}) for owner in self._core.owners]
            for number in places:
                is_pending = any(number in some for some in others)
                assert self._core.owners.is_pending(group, topic_id, number) == is_pending
        if committed:
            self._decisions.append(Decision(name, owner.transaction, self._world.turn + 1))
            self._check_places(pending)
            self._wait(made, owner.transaction)

    def _altered(self, topic_id: int) -> None:
        """What the groups of the topic hand out from now on is another matter."""
        topic = self._core.topics.by_id(topic_id)
        for group in topic.groups.values() if topic is not None else ():
            self._world.handout.altered.add(group.id)

    def _check_places(self, pending: list[tuple[str, int, dict[int, Place]]]) -> None:
        for group, topic_id, places in pending:
            topic = self._core.topics.by_id(topic_id)
            if topic is not None:
                found = _places(topic, group)
                self._world.handout.altered.add(topic.groups[group].id)
                for number, (offset, remark) in places.items():
                    partition = topic.partitions[number]
                    kept = min(max(offset, partition.start), partition.end)
                    assert found[number] == (kept, remark), "not committed"

    def _wait(self, made: Commit, transaction: str) -> None:
        core = self._core

        def told(error: OneMQError | None) -> None:
            assert error is not None or not core.halves.commits.is_moving(transaction), "told before it was there"

        made.then = told

    def _end_again(self, name: str) -> None:
        owner = self._core.owners.get(name)
        if not owner.is_open and owner.committed is not None:
            self._core.owners.end(name, self._identity(name), owner.committed)
            with suppress(TransactionEnded):
                self._core.owners.end(name, self._identity(name), not owner.committed)
                raise AssertionError("it ended in two ways")

    def _zombie(self, name: str) -> None:
        """A former self, or one that never was, is not heard."""
        id, epoch = self._identity(name)
        lives = [identity for owner, identity in self._lives if owner == name]
        former = self._random.choice([*lives, (id, epoch - 1), (id + 1_000, 0)])
        if former == (id, epoch):
            return
        with suppress(Fenced, NotFound):
            self._random.choice([
                lambda: self._core.owners.begin(name, former, groups=["g"]),
                lambda: self._core.owners.end(name, former, True),
                lambda: self._core.owners.end(name, former, False),
            ])()  # fmt: skip
            raise AssertionError("a zombie was heard")

    # What must hold

    def forget_after(self, number: int) -> None:
        """What was done in turns after this one never happened."""
        kept = {name: [each for each in some if each.turn <= number] for name, some in self._sent.items()}
        self._sent = {name: some for name, some in kept.items() if some}
        self._decisions = [each for each in self._decisions if each.turn <= number]
        self._lives = {life: turn for life, turn in self._lives.items() if turn <= number}

    def check_recovered(self) -> None:
        """What is open is what was sent and not ended."""
        committed = {each.transaction for each in self._decisions}
        for owner in self._core.owners:
            if owner.is_open:
                assert owner.transaction not in committed, "open, but it was committed"
                half = self._core.halves.register.get(owner.transaction)
                messages = sum(len(each.bodies) for each in self._sent.get(owner.transaction, []))
                assert (0 if half is None else half.messages) == messages, "an open transaction lost messages"

    def finish(self) -> None:
        """The messages of committed transactions are there, once and in order, and no others."""
        for owner in self._core.owners:
            assert not owner.is_open, "its time was not up"
        committed = {each.transaction for each in self._decisions}
        for topic in self._core.topics:
            if not topic.internal and not topic.config.dead:
                for partition in topic.partitions:
                    records = records_of(self._core, topic, partition.number)
                    found = [each[3] for each in records if header(each[4], ID) is None]  # not back from the dead
                    self._check_partition(topic, partition.number, found, committed)

    def _check_partition(self, topic: Topic, number: int, found: list[bytes | None], committed: set[str]) -> None:
        place = topic.id, number
        lost = [body for name in self._sent.keys() - committed for each in self._sent[name] for body in each.bodies]
        assert not set(found) & set(lost), "seen, but never committed"
        for name in NAMES:
            names = [each.transaction for each in self._decisions if each.owner == name]
            batches = [each for transaction in names for each in self._sent.get(transaction, [])]
            expected = [body for each in batches if each[:2] == place for body in each.bodies]
            mine = set(expected)
            if keeps_all(self._core, topic.id):
                assert [body for body in found if body in mine] == expected, "committed and lost, or out of order"


def _places(topic: Topic, group: str) -> list[tuple[int, str] | None]:
    found = topic.groups.get(group)
    if found is None:
        return [None] * len(topic.partitions)
    return [(each.low, each.remark_here) if each.begun else None for each in found.cursors]


def _sealed(random: Random, now_ms: int, bodies: list[bytes]) -> bytes:
    """A batch as a producer makes it, compressed or with priorities: compressed ones are not looked into."""
    builder, packed = BatchBuilder(0, now_ms), random.random() < 0.2
    for body in bodies:
        headers = ((PRIORITY, random.choice([b"0", b"9"])),) if not packed and random.random() < 0.1 else ()
        builder.add(now_ms, random.choice([None, b"k"]), body, encode_headers(headers))
    return compressed(builder.seal()) if packed else builder.seal()


def of_producer(batch: bytes, identity: Identity, sequence: int) -> bytes:
    """The batch as a producer of that identity makes it."""
    id, epoch = identity
    found = read_header(batch)._replace(producer_id=id, producer_epoch=epoch, base_sequence=sequence)
    checked = HEADER.pack(*found) + batch[HEADER_BYTES:]
    return HEADER.pack(*found._replace(crc=crc32c(checked[21:]))) + batch[HEADER_BYTES:]


