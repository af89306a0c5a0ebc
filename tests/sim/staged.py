"""Whole batches of transactions in the simulation: staged, committed by one decision, moved over several turns.

Each message of a committed transaction is there once and in order, the others are not, and no number of a unit is
committed twice, whatever crashes in between.
"""

import gzip
from collections import Counter
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from crc32c import crc32c

from onemq.core.commit_units import CommitUnit
from onemq.core.commits import Commit
from onemq.core.core import Core
from onemq.core.topics import Topic
from onemq.errors import NotFound, OneMQError
from onemq.limits import COMMIT_UNIT_MS
from onemq.log.batch import HEADER, HEADER_BYTES, read_header
from onemq.log.batch_builder import BatchBuilder
from onemq.log.records import encode_headers
from onemq.message import ID, PRIORITY, header
from tests.sim.records import keeps_all, records_of

if TYPE_CHECKING:
    from tests.sim.world import World

MARK = b"staged "
GROUP = "loader"


class Batch(NamedTuple):
    """A batch that was staged."""

    topic_id: int
    partition: int
    bodies: list[bytes]
    turn: int


class Used(NamedTuple):
    """A commit that named a unit."""

    number: int
    at_ms: int
    turn: int


class StagedCalls:
    """Random calls, and what is known of them."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._random: Random = world.random
        self._staged: dict[str, list[Batch]] = {}
        """Transaction -> its batches."""
        self._ended: dict[str, tuple[bool, int]] = {}
        """Transaction -> (committed, turn)"""
        self._decisions: list[tuple[list[str], int]] = []
        """The transactions of a commit, and its turn."""
        self._units: dict[str, list[Used]] = {}

    @property
    def _core(self) -> Core:
        return self._world.core

    def call(self) -> None:
        """One random call."""
        calls = [self._stage, self._commit, self._commit_again, self._roll_back, self._roll_back_prefix]
        self._random.choices(calls, [12, 8, 2, 1, 1])[0]()

    def _open(self) -> list[str]:
        return [each.name for each in self._core.halves.list() if each.group == GROUP and not each.committing]

    def _stage(self) -> None:
        world, random = self._world, self._random
        open_ones = self._open()
        for _ in range(random.choice([1, 2, 5])):
            topic = world.any_topic()
            if topic is None:
                return
            known = open_ones and random.random() < 0.7
            name = random.choice(open_ones) if known else f"staged{random.randint(0, 2)}-{world.serial}"
            self._stage_in(name, topic)

    def _stage_in(self, name: str, topic: Topic) -> None:
        world, random, halves = self._world, self._random, self._core.halves
        bodies = [MARK + world.body() for _ in range(random.randint(1, 6))]
        batch, number = sealed(random, world.now_ms, bodies), random.randrange(len(topic.partitions))
        place = random.choice([None, len(self._staged.get(name, []))])
        after_ms = random.choice([0, 5_000, 60_000])
        staged = halves.batches.stage(name, GROUP, topic, number, batch, place, after_ms)
        assert staged == (name, len(bodies), False)
        self._staged.setdefault(name, []).append(Batch(topic.id, number, bodies, world.turn + 1))
        if place is not None and random.random() < 0.3:
            assert halves.batches.stage(name, GROUP, topic, number, batch, place).repeated, "staged twice"

    def _commit(self) -> None:
        random, open_ones = self._random, self._open()
        names = random.sample(open_ones, min(len(open_ones), random.choice([0, 1, 1, 2, 3])))
        unit = CommitUnit(random.choice("uv"), random.randint(0, 40)) if random.random() < 0.6 else None
        if unit is None and not names:
            return
        highest = self._highest(unit.name) if unit is not None else None
        before = self._core.halves.unit(unit.name) if unit is not None else None
        assert before is None or before == highest, "a unit that nobody counted so far"
        made = self._core.halves.commit_all(names, unit)
        is_new = unit is None or before is None or unit.number > before
        assert made.messages == (sum(map(self._messages, names)) if is_new else 0)
        self._note(names, is_new, unit, highest if not is_new else None)
        self._wait(made, names if is_new else [])

    def _note(self, names: list[str], committed: bool, unit: CommitUnit | None, highest: int | None) -> None:
        turn = self._world.turn + 1
        self._ended.update((name, (committed, turn)) for name in names)
        if committed and names:
            self._decisions.append((names, turn))
        if unit is not None:
            number = unit.number if highest is None else highest
            self._units.setdefault(unit.name, []).append(Used(number, self._world.now_ms, turn))

    def _wait(self, made: Commit, names: list[str]) -> None:
        core = self._core

        def told(error: OneMQError | None) -> None:
            if error is None:
                left = {each.name for each in core.halves.list()}
                assert not left & set(names), "told before everything was there"

        made.then = told
        if self._random.random() < 0.1:
            core.halves.commits.forget(made)

    def _commit_again(self) -> None:
        committed = [name for name, (how, _) in self._ended.items() if how][-3:]
        if committed:
            name = self._random.choice(committed)
            with suppress(NotFound):  # after a day it is forgotten
                assert self._core.halves.commit_all([name]).messages == self._messages(name), "it lost messages"

    def _roll_back(self) -> None:
        names = self._open()[:2]
        dropped = self._core.halves.rollback_all(names)
        assert dropped == sum(map(self._messages, names))
        self._note(names, False, None, None)

    def _roll_back_prefix(self) -> None:
        prefix = f"staged{self._random.randint(0, 2)}-"
        names = [name for name in self._open() if name.startswith(prefix)]
        dropped = self._core.halves.rollback_prefix(prefix)
        assert dropped == sum(map(self._messages, names))
        self._note(names, False, None, None)

    def _messages(self, name: str) -> int:
        return sum(len(batch.bodies) for batch in self._staged[name])

    def _highest(self, unit: str) -> int | None:
        used = self._units.get(unit)
        return used[-1].number if used else None

    # What must hold

    def forget_after(self, number: int) -> None:
        """What was done in turns after this one never happened."""
        kept = {name: [each for each in some if each.turn <= number] for name, some in self._staged.items()}
        self._staged = {name: some for name, some in kept.items() if some}
        self._ended = {name: each for name, each in self._ended.items() if each[1] <= number}
        self._decisions = [each for each in self._decisions if each[1] <= number]
        units = {name: [each for each in some if each.turn <= number] for name, some in self._units.items()}
        self._units = {name: some for name, some in units.items() if some}

    def check_recovered(self) -> None:
        """What is open is what was staged and not ended, and units are where they were."""
        open_ones = {each.name: each for each in self._core.halves.list() if each.group == GROUP}
        for name, each in open_ones.items():
            assert each.messages == self._messages(name)
            assert each.committing == self._ended.get(name, (False, 0))[0], "open, but it had ended"
        for name, used in self._units.items():
            known = self._core.halves.unit(name)
            is_old = max(each.at_ms for each in used) + COMMIT_UNIT_MS <= self._world.now_ms
            assert known == used[-1].number or (known is None and is_old), "a unit was forgotten"

    def finish(self) -> None:
        """Each message of a committed transaction is there once and in order, the others are not."""
        places = {
            (topic.id, partition.number): self._bodies_in(topic, partition.number)
            for topic in self._core.topics
            if not topic.internal and not topic.config.dead
            for partition in topic.partitions
        }
        seen = Counter(body for bodies in places.values() for body in bodies)
        for name, batches in self._staged.items():
            committed = self._ended.get(name, (False, 0))[0]
            for body in (body for batch in batches for body in batch.bodies):
                assert seen[body] <= committed, "seen twice" if committed else "seen, but never committed"
        for names, _ in self._decisions:
            self._check_decision([batch for name in names for batch in self._staged[name]], places)

    def _bodies_in(self, topic: Topic, number: int) -> list[bytes]:
        """The staged messages of a partition, without those that came back from the dead."""
        records = records_of(self._core, topic, number)
        return [each[3] for each in records if is_staged(each[3]) and header(each[4], ID) is None]  # type: ignore[misc]

    def _check_decision(self, batches: list[Batch], places: dict[tuple[int, int], list[bytes]]) -> None:
        for place, found in places.items():
            if keeps_all(self._core, place[0]):
                expected = [body for batch in batches if batch[:2] == place for body in batch.bodies]
                mine = set(expected)
                assert [body for body in found if body in mine] == expected, "committed and lost, or out of order"


def is_staged(body: bytes | None) -> bool:
    """Whether a message was staged in a batch."""
    return body is not None and body.startswith(MARK)


def sealed(random: Random, now_ms: int, bodies: list[bytes]) -> bytes:
    """A batch as a producer makes it, some with priorities, some compressed."""
    builder = BatchBuilder(0, now_ms)
    for body in bodies:
        headers = ((PRIORITY, random.choice([b"0", b"9"])),) if random.random() < 0.1 else ()
        builder.add(now_ms, random.choice([None, b"k"]), body, encode_headers(headers))
    return builder.seal() if random.random() < 0.8 else compressed(builder.seal())


def compressed(batch: bytes) -> bytes:
    """The same batch with its records packed by gzip."""
    records = gzip.compress(batch[HEADER_BYTES:], mtime=0)
    found = read_header(batch)
    found = found._replace(attributes=found.attributes | 1, length=HEADER_BYTES - 12 + len(records))
    packed = HEADER.pack(*found) + records
    return HEADER.pack(*found._replace(crc=crc32c(packed[21:]))) + records
