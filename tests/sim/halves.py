"""Transactions in the simulation: random calls, producers that forget to end them, and what must hold.

What is committed is seen exactly once, what is rolled back never, whatever crashes in between.
"""

from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

from onemq.core.core import Core
from onemq.core.transaction import OpenTransaction
from onemq.message import TRANSACTION, Record, header
from tests.sim.records import keeps_all, records_of

if TYPE_CHECKING:
    from tests.sim.world import World

GROUPS = ("shop", "mill")


class HalfCalls:
    """Random calls on the transactions of a world, and what is known of them."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._random: Random = world.random
        self._added: dict[str, list[tuple[bytes, int, int]]] = {}
        """Transaction -> (body, topic, turn) of its messages."""
        self._ended: dict[str, tuple[bool, int]] = {}
        """Transaction -> (committed, turn)"""
        self._listening: list[Any] = []
        self._listening_to: Core | None = None

    @property
    def _core(self) -> Core:
        return self._world.core

    def call(self) -> None:
        """One random call."""
        self._random.choices([self._add, self._end, self._listen], [10, 5, 1])[0]()

    def _list(self) -> list[OpenTransaction]:
        """The open transactions of single messages."""
        return [each for each in self._core.halves.list() if each.group in GROUPS]

    def _add(self) -> None:
        world, random = self._world, self._random
        open_ones = [each for each in self._list() if not each.committing]
        for _ in range(random.choice([1, 1, 4])):
            topic = world.any_topic()
            if topic is None:
                return
            known = random.choice(open_ones) if open_ones and random.random() < 0.5 else None
            name, group = (known.name, known.group) if known else (random.choice([None, f"tx{world.serial}"]), "shop")
            body = world.body()
            check_after_ms = random.choice([0, 5_000, 60_000])
            half = self._core.halves.add(name, group, topic, body, check_after_ms=check_after_ms)
            self.note(half.transaction, body, topic.id)

    def note(self, name: str, body: bytes, topic_id: int) -> None:
        """A half message was added."""
        self._added.setdefault(name, []).append((body, topic_id, self._world.turn + 1))

    def _end(self) -> None:
        names = [each.name for each in self._list()] + list(self._ended)[-2:]
        if names:
            self._decide(self._random.choice(names))

    def _decide(self, name: str) -> None:
        committed = self._random.random() < 0.7
        ended = self._core.halves.commit(name) if committed else self._core.halves.rollback(name)
        assert ended.committed == committed
        if name in self._ended:
            assert ended.again, "an end that was forgotten"
            assert self._ended[name][0] == committed, "a transaction that ended in two ways"
        elif not ended.again:
            assert ended.messages == len(self._added[name]), "a transaction that lost messages"
            self._ended[name] = (committed, self._world.turn + 1)

    def _listen(self) -> None:
        """Some listeners answer, some do not; a restart takes them all."""
        if self._listening_to is not self._core:
            self._listening, self._listening_to = [], self._core
        if self._listening and self._random.random() < 0.5:
            self._listening.pop()()
        else:
            self._listening.append(self._core.halves.listen(self._random.choice(GROUPS), self._asked))

    def _asked(self, name: str, nth: int, record: Record) -> None:
        assert 1 <= nth <= 15, "asked too often"
        assert header(record[4], TRANSACTION) == name.encode()
        assert record[3] == self._added[name][0][0], "asked about another message"
        if self._random.random() < 0.3:
            self._decide(name)

    # What must hold

    def forget_after(self, number: int) -> None:
        """What was done in turns after this one never happened."""
        kept = {name: [each for each in added if each[2] <= number] for name, added in self._added.items()}
        self._added = {name: added for name, added in kept.items() if added}
        self._ended = {name: each for name, each in self._ended.items() if each[1] <= number}

    def check_recovered(self) -> None:
        """What is open is what was added and not ended."""
        open_ones = {each.name: each for each in self._list()}
        for name, added in self._added.items():
            if name in open_ones:
                assert open_ones[name].messages == len(added)
                committed = self._ended.get(name, (False, 0))[0]
                assert open_ones[name].committing == committed, "open, but it had ended"
        assert not open_ones.keys() - self._added.keys(), "a transaction of nobody"

    def finish(self) -> None:
        """No transaction is left, and each message of a committed one is there once, the others are not."""
        assert len(self._core.halves) == len(self._core.halves.parking) == 0, "transactions did not end"
        seen: Counter[bytes] = Counter()
        for topic in self._core.topics:
            if not topic.internal and not topic.config.dead:
                for partition in topic.partitions:
                    for record in records_of(self._core, topic, partition.number):
                        if header(record[4], TRANSACTION) is not None:
                            seen[record[3] or b""] += 1
        for name, added in self._added.items():
            committed = self._ended.get(name, (False, 0))[0]
            for body, topic_id, _ in added:
                assert seen[body] <= committed, "seen twice" if committed else "seen, but never committed"
                if committed and keeps_all(self._core, topic_id):
                    assert seen[body] == 1, "committed and lost"
