"""Waiting readers (C6): those who read by offset and reached the end."""

from collections.abc import Sequence

import pytest

from onemq.core.partition import Partition
from tests.unit.core.broker import DAY_MS, MINUTE_MS, SECOND_MS, Broker, sealed


@pytest.fixture
def partitions(broker: Broker) -> list[Partition]:
    return broker.topic("t", 3).partitions


class Told(list[str]):
    """Who was told, in that order."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def wait(
        self, who: str, partitions: list[Partition], wait_ms: int = MINUTE_MS, names: Sequence[bytes] = ()
    ) -> object:
        until_ms = self._broker.now_ms + wait_ms
        return self._broker.core.waiting.wait(partitions, until_ms, lambda: self.append(who), names)


def test_a_reader_is_told_in_the_turn_in_which_a_message_comes(broker: Broker, partitions: list[Partition]) -> None:
    """C6: long-poll"""
    told = Told(broker)
    with broker.turn():
        told.wait("a", partitions[:1])
    assert told == []
    with broker.turn() as core:
        core.send("t", b"elsewhere", number=1)
    assert told == []
    with broker.turn() as core:
        core.send("t", b"here", number=0)
        assert told == []
    assert told == ["a"]


def test_a_reader_of_several_partitions_is_told_once(broker: Broker, partitions: list[Partition]) -> None:
    told = Told(broker)
    with broker.turn():
        told.wait("a", partitions)
    broker.send(b"1", b"2", b"3")
    broker.send(b"4")
    broker.pass_ms(MINUTE_MS)
    assert told == ["a"]


def test_every_reader_is_told_in_the_order_in_which_they_came(broker: Broker, partitions: list[Partition]) -> None:
    """C2: every subscriber"""
    told = Told(broker)
    with broker.turn():
        for who in ("a", "b", "c"):
            told.wait(who, partitions[:1])
    broker.send(b"1", number=0)
    assert told == ["a", "b", "c"]


def test_ready_made_batches_and_due_timers_wake_readers_too(broker: Broker) -> None:
    topic = broker.topic("u")
    told = Told(broker)
    broker.send(b"later", topic="u", deliver_at_ms=broker.now_ms + SECOND_MS)
    with broker.turn():
        told.wait("timer", topic.partitions)
    broker.pass_ms(SECOND_MS)
    assert told == ["timer"]
    with broker.turn():
        told.wait("batch", topic.partitions)
    with broker.turn() as core:
        core.sending.send_batch(topic, 0, sealed(b"1"))
    assert told == ["timer", "batch"]


def test_a_reader_is_told_when_its_time_is_up(broker: Broker, partitions: list[Partition]) -> None:
    """C6"""
    told = Told(broker)
    with broker.turn():
        told.wait("late", partitions, 300)
        told.wait("soon", partitions, 100)
        assert broker.core.tick(broker.now_ms) == broker.now_ms + 100
    broker.pass_ms(99)
    assert told == []
    broker.pass_ms(1)
    assert told == ["soon"]
    broker.pass_ms(200)
    assert told == ["soon", "late"]


def test_a_reader_is_told_at_the_end_of_the_turn_in_which_its_topic_goes_or_gets_another_name(broker: Broker) -> None:
    told = Told(broker)
    gone, renamed = broker.topic("gone"), broker.topic("renamed")
    with broker.turn() as core:
        told.wait("gone", gone.partitions)
        told.wait("renamed", renamed.partitions)
    with broker.turn() as core:
        core.topics.delete("gone")
        core.topics.rename(renamed, "other")
        assert told == []
    assert told == ["gone", "renamed"]


def test_who_waits_for_a_topic_is_told_at_the_end_of_the_turn_in_which_it_comes(broker: Broker) -> None:
    told = Told(broker)
    with broker.turn() as core:
        for name in ("made", "given", "never"):
            told.wait(name, [], names=[name.encode(), b"no"])
    with broker.turn() as core:
        core.topics.create("made")
        core.topics.rename(core.topics.create("x"), "given")
        assert told == []
    assert told == ["made", "given"]
    broker.pass_ms(MINUTE_MS)
    assert told == ["made", "given", "never"]
    assert not broker.core.waiting._awaited, "everything is bounded"


def test_a_reader_that_went_away_is_not_told(broker: Broker, partitions: list[Partition]) -> None:
    told = Told(broker)
    with broker.turn():
        wait = broker.core.waiting.wait(partitions, broker.now_ms + SECOND_MS, lambda: told.append("gone"))
        told.wait("there", partitions, SECOND_MS)
        wait.cancel()
    broker.send(b"1")
    broker.pass_ms(SECOND_MS)
    assert told == ["there"]


def test_a_reader_may_wait_again_as_it_is_told(broker: Broker, partitions: list[Partition]) -> None:
    told: list[int] = []

    def again() -> None:
        told.append(partitions[0].end)
        broker.core.waiting.wait(partitions[:1], broker.now_ms + MINUTE_MS, again)

    with broker.turn():
        broker.core.waiting.wait(partitions[:1], broker.now_ms + MINUTE_MS, again)
    broker.send(b"1", number=0)
    broker.send(b"2", b"3", number=0)
    assert told == [1, 3]


def test_what_a_reader_is_told_of_can_be_read_at_once(broker: Broker, partitions: list[Partition]) -> None:
    read: list[bytes] = []

    def told() -> None:
        broker.core.reading.batches(partitions[0], 0, 1 << 20, read.append)

    with broker.turn() as core:
        core.waiting.wait(partitions[:1], broker.now_ms + MINUTE_MS, told)
    broker.send(b"hello", number=0)
    assert b"hello" in read[0]


def test_waits_that_come_and_go_leave_nothing_behind(broker: Broker, partitions: list[Partition]) -> None:
    """Everything is bounded."""
    told = Told(broker)
    broker.core.tick(broker.now_ms)
    for number in range(1_000):
        told.wait(f"{number}", partitions, 365 * DAY_MS)
        broker.core.send("t", b"x", number=0)
        broker.core.settle()
        broker.core.waiting.wait(partitions, broker.now_ms + DAY_MS, lambda: None).cancel()
    assert broker.end() is None
    assert len(told) == 1_000
    assert all(not partition.waiting for partition in partitions)
    assert len(broker.core.waiting._deadlines) < 300


def test_the_core_says_after_a_turn_when_something_may_be_due(broker: Broker, partitions: list[Partition]) -> None:
    with broker.turn():
        pass
    assert broker.core.next_due_ms() is None, "nothing happened"
    with broker.turn():
        Told(broker).wait("a", partitions, 7 * SECOND_MS)
        Told(broker).wait("b", partitions, 5 * SECOND_MS)
    assert broker.core.next_due_ms() == broker.now_ms + 5 * SECOND_MS
    with broker.turn() as core:
        core.send("t", b"", number=0)
    assert broker.core.next_due_ms() == broker.now_ms, "what was stored may be due at once"
