"""What the tests of the core share: a broker whose clock, disk and turns are in the test's hands.

Over the local engine every turn is checked: another core that replays the log must come to the same state.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest

from onemq.core.core import Core
from onemq.core.deadletters import Death, death_of
from onemq.core.group import Group
from onemq.core.receive import Handed, Receive
from onemq.core.redelivery import Redelivery
from onemq.core.start import FIRST, Start
from onemq.core.topics import Topic, TopicConfig
from onemq.errors import OneMQError
from onemq.log.batch_builder import BatchBuilder
from onemq.log.disk import Disk
from onemq.log.engine import Log
from onemq.log.local import LocalLog
from onemq.log.memory import MemoryLog
from onemq.log.records import encode_headers
from onemq.message import Record
from tests.sim.disk import SimDisk
from tests.sim.fingerprint import fingerprint, first_difference, records_of

NOW_MS = 1_700_000_000_000
SECOND_MS = 1_000
MINUTE_MS = 60_000
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
MEMBER = "m"


def in_flight(group: Group, number: int = 0) -> dict[int, tuple[str | None, int]]:
    """offset -> (member, how often)"""
    return {
        offset: (each.member.name if each.member else None, each.count)
        for offset, each in sorted(group.cursors[number].unacknowledged.items())
    }


class Broker:
    """A core over a log, one turn at a time."""

    def __init__(self, disk: Disk | None, **options: Any) -> None:
        self.disk = disk
        self.options = options
        self.now_ms = NOW_MS
        self.log = self._open()
        self.core = Core(self.log, **options)
        self.core.recover(self.now_ms)
        with self.turn():
            pass

    def _open(self) -> Log:
        if self.disk is None:
            return MemoryLog()
        log = LocalLog(
            self.disk,
            index_interval_bytes=256,
            journal_reserve_bytes=0,  # tests fill the disk
            segment_waiting_bytes_max=0,  # tests damage the files
        )
        log.open()
        return log

    # Time and turns

    @contextmanager
    def turn(self) -> Iterator[Core]:
        """One turn: what the test does inside becomes one atomic set."""
        self.core.tick(self.now_ms)
        yield self.core
        error = self.end()
        assert error is None, error.text

    def end(self) -> OneMQError | None:
        """Ends a turn; returns why it was not stored, if so."""
        answers: list[OneMQError | None] = []
        self.core.settle()
        self.core.flush(answers.append)
        assert len(answers) == 1, "a flush is answered once"
        if answers[0] is None:
            self.check()
        return answers[0]

    def check(self) -> None:
        """The log alone gives the state that is in memory."""
        if isinstance(self.log, MemoryLog):
            return
        replayed = Core(self.log)
        replayed.restore(self.now_ms)
        difference = first_difference(state(replayed), state(self.core))
        assert difference is None, f"changed without an entry in the log: {difference}"

    def pass_ms(self, duration_ms: int) -> None:
        """Time passes, and a turn sees it."""
        self.now_ms += duration_ms
        with self.turn():
            pass

    def restart(self, how: str = "kill") -> None:
        """The process ends and another one starts on the same disk."""
        assert isinstance(self.log, LocalLog), "a log in memory does not outlive its process"
        if how == "stop":
            self.log.checkpoint(self.core.dump())
            self.log.close()
        if isinstance(self.disk, SimDisk):
            self.disk.crash() if how == "power cut" else self.disk.kill()
        self.log = self._open()
        self.core = Core(self.log, **self.options)
        self.core.recover(self.now_ms)
        with self.turn():
            pass

    # Short forms, each a turn of its own

    def topic(self, name: str = "t", partitions: int = 1, **settings: Any) -> Topic:
        with self.turn() as core:
            return core.topics.create(name, partitions, TopicConfig(**settings))

    def group(
        self,
        topic: str = "t",
        name: str = "g",
        start: Start = FIRST,
        policy: Redelivery | None = None,
        **settings: Any,
    ) -> Group:
        with self.turn() as core:
            entry = policy.to_entry() if policy else None
            core.create_group(topic, name, start, policy=entry, **settings)
            return core.groups.get(topic, name)

    def send(self, *bodies: bytes, topic: str = "t", **options: Any) -> list[tuple[int, int]]:
        with self.turn() as core:
            return [core.send(topic, body, **options) for body in bodies]

    def receive(self, group: Group, member: str = MEMBER, most: int = 100, number: int | None = None) -> list[Handed]:
        """What a member gets at once."""
        got: list[list[Handed]] = []
        with self.turn() as core:
            core.receiving.receive(group, member, most, got.append, number=number)
        assert len(got) == 1, "a request that does not wait is answered at once"
        return got[0]

    def bodies(self, group: Group, member: str = MEMBER, most: int = 100) -> list[bytes | None]:
        return [record[3] for _, record, _ in self.receive(group, member, most)]

    def acknowledge(self, group: Group, *offsets: int, number: int = 0) -> int:
        with self.turn() as core:
            return core.groups.acknowledge(group, number, list(offsets))

    def fail(self, group: Group, *offsets: int, reason: str = "it broke", delay_ms: int | None = None) -> int:
        with self.turn() as core:
            return core.groups.fail(group, 0, offsets, reason, delay_ms)

    # What is there

    def records(self, topic: str = "t", number: int = 0) -> list[Record]:
        return records_of(self.core, self.core.topics.get(topic), number)

    def values(self, topic: str = "t", number: int = 0) -> list[bytes | None]:
        return [record[3] for record in self.records(topic, number)]

    def all_values(self, topic: str = "t") -> list[list[bytes | None]]:
        """The bodies in each partition."""
        return [self.values(topic, number) for number in range(len(self.core.topics.get(topic).partitions))]

    def deaths(self, topic: str = "t.g.dead") -> list[Death | None]:
        if self.core.topics.find(topic) is None:
            return []
        return [death_of(record) for record in self.records(topic)]

    def stored_bytes(self, topic: str = "t", number: int = 0) -> int:
        return self.log.stored_bytes(self.core.topics.get(topic).id, number)


class CountingLog(MemoryLog):
    """Notes from where it was read."""

    def __init__(self) -> None:
        super().__init__()
        self.offsets: list[int] = []

    def read(self, topic: int, partition: int, offset: int, bytes_max: int, then: Callable[[bytes], None]) -> None:
        self.offsets.append(offset)
        super().read(topic, partition, offset, bytes_max, then)


class Answers:
    """Receivers that wait, and what they got."""

    def __init__(self, broker: Broker, group: Group) -> None:
        self._broker = broker
        self._group = group
        self.told: dict[str, list[bytes | None]] = {}
        """Who was answered, in that order, and with what."""

    def ask(self, who: str, wait_ms: int | None = MINUTE_MS, most: int = 1, number: int | None = None) -> Receive:
        until_ms = None if wait_ms is None else self._broker.now_ms + wait_ms
        then = self._note(who)
        return self._broker.core.receiving.receive(self._group, who, most, then, until_ms, number)

    def _note(self, who: str) -> Callable[[list[Handed]], None]:
        def told(handed: list[Handed]) -> None:
            assert who not in self.told, "a request is answered once"
            self.told[who] = [record[3] for _, record, _ in handed]

        return told


def state(core: Core) -> dict[str, Any]:
    """Everything durable, with the due times of retries."""
    dues = {
        (group.topic.name, group.name, cursor.partition.number, offset): max(each.due_ms, 0)
        for topic in core.topics
        for group in topic.groups.values()
        for cursor in group.cursors
        for offset, each in cursor.unacknowledged.items()
        if each.member is None and each.due_ms > core.stage.now_ms
    }
    return fingerprint(core) | {"dues": dues}


def sealed(
    *values: bytes | None, timestamp_ms: int = NOW_MS, key: bytes | None = None, headers: Any = (), base_offset: int = 0
) -> bytes:
    """A batch as a producer makes it."""
    builder = BatchBuilder(base_offset, timestamp_ms)
    for value in values:
        builder.add(timestamp_ms, key, value, encode_headers(headers))
    return builder.seal()


def simulated(**options: Any) -> Broker:
    """A broker over a disk in memory that can be crashed, filled and damaged."""
    return Broker(SimDisk(Random(1)), **options)


def in_memory(**options: Any) -> Broker:
    return Broker(None, **options)


ENGINES: dict[str, Callable[..., Broker]] = {"memory": in_memory, "local": simulated}

on_both_engines = pytest.mark.parametrize("make", ENGINES.values(), ids=ENGINES)
"""For tests that make a broker with options."""
