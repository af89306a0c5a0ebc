"""Receiving: who gets what in which order, who waits, and what is passed over."""

import pytest

from onemq.core.group import Group
from onemq.core.receive import Handed
from onemq.core.start import FIRST
from tests.unit.core.broker import (
    DAY_MS,
    MINUTE_MS,
    Answers,
    Broker,
    in_memory,
    sealed,
)


@pytest.fixture
def group(broker: Broker) -> Group:
    """A group on an empty topic."""
    broker.topic()
    return broker.group()


@pytest.fixture
def answers(broker: Broker, group: Group) -> Answers:
    return Answers(broker, group)


# Asking


def test_a_request_gets_what_is_there_up_to_its_limit(broker: Broker, group: Group) -> None:
    """C6"""
    broker.send(b"0", b"1", b"2")
    assert broker.bodies(group, most=2) == [b"0", b"1"]
    assert broker.bodies(group, most=2) == [b"2"]
    assert broker.bodies(group, most=2) == []


def test_a_request_for_nothing_gets_nothing(broker: Broker, group: Group) -> None:
    broker.send(b"0")
    assert broker.bodies(group, most=0) == []
    assert group.lag == 1


def test_many_messages_come_in_order_over_many_reads(broker: Broker, group: Group) -> None:
    """More than one read of the log brings, in batches of different sizes."""
    bodies = [b"%d:" % number + b"x" * (number % 50 * 100) for number in range(1_000)]
    for first in range(0, 1_000, 125):
        broker.send(*bodies[first : first + 125])
    got: list[bytes | None] = []
    while more := broker.bodies(group, most=70):
        got += more
    assert got == bodies


def test_a_message_larger_than_a_read_comes_whole(broker: Broker, group: Group) -> None:
    body = b"x" * (3 << 20)
    broker.send(b"before", body, b"after")
    assert broker.bodies(group) == [b"before", body, b"after"]


# Waiting


def test_a_request_that_finds_nothing_waits_and_is_served_in_the_turn_of_the_message(
    broker: Broker, answers: Answers
) -> None:
    """C6: blocking reads"""
    with broker.turn():
        answers.ask("a", most=5)
    assert answers.told == {}
    with broker.turn() as core:
        core.send("t", b"1")
        core.send("t", b"2")
    assert answers.told == {"a": [b"1", b"2"]}


def test_those_who_wait_are_served_in_the_order_in_which_they_asked(broker: Broker, answers: Answers) -> None:
    """C1: fairly"""
    with broker.turn():
        for who in ("a", "b", "c"):
            answers.ask(who)
    broker.send(b"1", b"2")
    assert answers.told == {"a": [b"1"], "b": [b"2"]}
    broker.send(b"3")
    assert list(answers.told.items())[-1] == ("c", [b"3"])


def test_who_comes_later_does_not_get_ahead_of_those_who_wait(broker: Broker, answers: Answers) -> None:
    """C1: also in the turn in which the message comes"""
    with broker.turn():
        answers.ask("a")
    with broker.turn() as core:
        core.send("t", b"1")
        answers.ask("b", wait_ms=None)
    assert answers.told == {"a": [b"1"], "b": []}


def test_a_request_waits_until_its_time_and_then_gets_nothing(broker: Broker, answers: Answers) -> None:
    """C6"""
    with broker.turn():
        answers.ask("a", wait_ms=300)
        answers.ask("b", wait_ms=100)
        assert broker.core.tick(broker.now_ms) == broker.now_ms + 100
    broker.pass_ms(99)
    assert answers.told == {}
    broker.pass_ms(1)
    assert answers.told == {"b": []}
    broker.pass_ms(200)
    assert answers.told == {"b": [], "a": []}
    broker.send(b"1")
    assert len(answers.told) == 2


def test_a_request_that_was_answered_is_forgotten_by_the_clock(broker: Broker, answers: Answers) -> None:
    with broker.turn():
        answers.ask("a", wait_ms=300)
    broker.send(b"1")
    broker.pass_ms(300)
    assert answers.told == {"a": [b"1"]}


def test_a_request_that_was_cancelled_gets_nothing_and_takes_nothing(broker: Broker, answers: Answers) -> None:
    """A connection that ends while it waits."""
    with broker.turn():
        request = answers.ask("a")
        answers.ask("b")
        request.cancel()
    broker.send(b"1")
    assert answers.told == {"b": [b"1"]}
    broker.pass_ms(MINUTE_MS)
    assert "a" not in answers.told


def test_requests_that_come_and_go_leave_nothing_behind(broker: Broker, group: Group, answers: Answers) -> None:
    """Everything is bounded: a client may ask and go away as often as it likes, or be served each time."""
    for number in range(1_000):
        broker.core.tick(broker.now_ms)
        answers.ask(f"cancelled {number}", wait_ms=365 * DAY_MS).cancel()
    for number in range(1_000):
        answers.ask(f"served {number}", wait_ms=365 * DAY_MS)
        broker.core.send("t", b"x")
        broker.core.settle()
    assert broker.end() is None
    assert len(answers.told) == 1_000
    assert len(group.waiting) == 0
    assert len(broker.core.receiving._deadlines) < 300


def test_what_comes_in_the_turn_of_the_request_is_not_waited_for(broker: Broker, answers: Answers) -> None:
    with broker.turn() as core:
        core.send("t", b"1")
        answers.ask("a")
        assert answers.told == {"a": [b"1"]}


def test_a_request_may_be_made_while_another_is_answered(broker: Broker, group: Group) -> None:
    """A push consumer asks for the next message as it gets one."""
    got: list[bytes | None] = []

    def take(handed: list[Handed]) -> None:
        got.extend(record[3] for _, record, _ in handed)
        ask()

    def ask() -> None:
        broker.core.receiving.receive(group, "a", 1, take, broker.now_ms + MINUTE_MS)

    with broker.turn():
        ask()
    broker.send(b"1", b"2", b"3")
    assert got == [b"1", b"2", b"3"]
    broker.send(b"4")
    assert got == [b"1", b"2", b"3", b"4"]


# Several partitions


def test_partitions_take_turns(broker: Broker) -> None:
    broker.topic("t", 3)
    for number in range(3):
        broker.send(*[b"%d" % number] * 3, number=number)
    group = broker.group()
    order = [broker.receive(group, most=1)[0][0] for _ in range(9)]
    assert order[:3] == order[3:6] == order[6:]
    assert sorted(order[:3]) == [0, 1, 2]


def test_one_request_is_filled_from_several_partitions(broker: Broker) -> None:
    broker.topic("t", 3)
    broker.send(b"a", b"b", b"c", b"d")
    group = broker.group()
    handed = broker.receive(group, most=4)
    assert sorted((number, record[3]) for number, record, _ in handed) == [(0, b"a"), (0, b"d"), (1, b"b"), (2, b"c")]


def test_a_request_may_name_its_partition(broker: Broker) -> None:
    """C7: one partition, one consumer"""
    broker.topic("t", 2)
    broker.send(b"a0", b"b0", b"a1", b"b1")
    group = broker.group()
    assert [record[3] for _, record, _ in broker.receive(group, number=1)] == [b"b0", b"b1"]
    answers = Answers(broker, group)
    with broker.turn():
        answers.ask("picky", number=1)
        answers.ask("any", most=2)
    assert answers.told == {"any": [b"a0", b"a1"]}
    with broker.turn():
        answers.ask("other")
    broker.send(b"a2", number=0)
    assert answers.told["other"] == [b"a2"]
    broker.send(b"b2", number=1)
    assert answers.told["picky"] == [b"b2"]


def test_order_is_kept_within_each_partition(broker: Broker) -> None:
    """C7"""
    broker.topic("t", 3)
    bodies = [b"%d" % number for number in range(50)]
    broker.send(*bodies)
    group = broker.group()
    seen: dict[int, list[int]] = {}
    while handed := broker.receive(group, most=7):
        for number, record, _ in handed:
            seen.setdefault(number, []).append(record[0])
    assert seen == {0: list(range(17)), 1: list(range(17)), 2: list(range(16))}


# Gaps


def test_offsets_that_compaction_took_are_passed_over(broker: Broker) -> None:
    """A8"""
    broker.topic("t", compact=True, segment_bytes=4096)
    for number in range(60):
        broker.send(b"%d" % number + b"x" * 500, key=b"k%d" % (number % 2))
    broker.pass_ms(MINUTE_MS)
    stored = [record[0] for record in broker.records()]
    assert len(stored) < 20
    group = broker.group()
    assert [record[0] for _, record, _ in broker.receive(group)] == stored
    broker.acknowledge(group, *stored)
    assert (group.lag, group.cursors[0].low) == (0, 60)


def test_a_message_in_flight_that_compaction_took_does_not_come_again(broker: Broker) -> None:
    """A8"""
    broker.topic("t", compact=True, segment_bytes=4096)
    group = broker.group()
    broker.send(b"old", key=b"k")
    broker.receive(group)
    for _ in range(20):
        broker.send(b"new" + b"x" * 500, key=b"k")
    broker.pass_ms(MINUTE_MS)
    broker.fail(group, 0)
    assert all(body != b"old" for body in broker.bodies(group))
    assert 0 not in group.cursors[0].unacknowledged


def test_what_is_sent_behind_a_gap_at_the_end_of_the_log_is_found_in_that_turn() -> None:
    """A8: the last message of all was a tombstone, and cleaning took it."""
    broker = in_memory()
    topic = broker.topic("t", compact=True)
    with broker.turn() as core:
        core.sending.send_batch(topic, 0, sealed(b"value", key=b"a"))
        core.sending.send_batch(topic, 0, sealed(None, key=b"k"))
    group = broker.group()
    broker.pass_ms(2 * DAY_MS)
    assert broker.bodies(group, most=1) == [b"value"]
    read: list[bytes] = []
    with broker.turn() as core:
        core.send("t", b"behind")
        core.reading.batches(topic.partitions[0], 1, 1 << 20, read.append)
        answers = Answers(broker, group)
        answers.ask("a")
    assert read[0]
    assert answers.told == {"a": [b"behind"]}


def test_what_retention_takes_is_no_longer_handed_out(broker: Broker, group: Group) -> None:
    """A4"""
    topic = broker.core.topics.get("t")
    broker.send(*[b"%d" % number for number in range(6)])
    broker.receive(group, most=1)
    broker.receive(group, "n", most=2)
    broker.fail(group, 1)
    with broker.turn() as core:
        core.topics.trim(topic, topic.partitions[0], 4)
    assert (group.lag, group.cursors[0].low) == (2, 4)
    assert all(not member.held for member in group.members.values())
    assert broker.bodies(group) == [b"4", b"5"]


# Those who are served may send


def test_what_is_sent_while_others_are_served_reaches_those_who_wait_in_the_same_turn(broker: Broker) -> None:
    """B15: a handler's result is forwarded; nobody sleeps beside a message."""
    told: list[str] = []
    for name in ("a", "b", "c"):
        broker.topic(name)
    with broker.turn() as core:
        for name, target in (("a", "b"), ("b", "c")):
            core.create_group(name, "g", FIRST)
            core.receiving.receive(
                core.groups.get(name, "g"), "m", 1, lambda _, to=target: core.send(to, b"x"), broker.now_ms + MINUTE_MS
            )
        core.waiting.wait(core.topics.get("c").partitions, broker.now_ms + MINUTE_MS, lambda: told.append("reader"))
    broker.send(b"x", topic="a")
    assert told == ["reader"]
    assert broker.values("c") == [b"x"]


def test_two_who_answer_each_other_for_ever_do_not_stop_the_broker(broker: Broker) -> None:
    """A turn ends though they do not; each further turn goes on with them."""
    for name in ("ping", "pong"):
        broker.topic(name)

    def play(own: str, other: str) -> None:
        core = broker.core

        def take(handed: list[Handed]) -> None:
            for _, record, _ in handed:
                core.send(other, record[3] or b"")
            play(own, other)

        core.receiving.receive(core.groups.get(own, "g"), "m", 1, take, broker.now_ms + DAY_MS)

    with broker.turn() as core:
        core.create_group("ping", "g", FIRST)
        core.create_group("pong", "g", FIRST)
        play("ping", "pong")
        play("pong", "ping")
    broker.send(b"ball", topic="ping")
    rallies = [len(broker.values("ping"))]
    for _ in range(3):
        assert broker.core.tick(broker.now_ms) == broker.now_ms, "there is more to do at once"
        assert broker.end() is None
        rallies.append(len(broker.values("ping")))
    assert rallies == sorted(set(rallies))


def test_thousands_who_ask_again_as_they_are_served_are_served_in_turn(broker: Broker, group: Group) -> None:
    """C1: fairly, and without calls within calls"""
    served: list[int] = []

    def ask(who: int) -> None:
        def take(handed: list[Handed]) -> None:
            served.append(who)
            ask(who)

        broker.core.receiving.receive(group, f"m{who}", 1, take, broker.now_ms + MINUTE_MS)

    with broker.turn():
        for who in range(2_000):
            ask(who)
    broker.send(*[b"x"] * 5_000)
    assert served == [*range(2_000), *range(2_000), *range(1_000)]


def test_one_who_asks_again_at_each_answer_gets_a_long_backlog_over_some_turns(broker: Broker, group: Group) -> None:
    """C6: push; without calls within calls, and others get their turn in between"""
    broker.send(*[b"%d" % number for number in range(2_500)])
    got: list[bytes | None] = []

    def take(handed: list[Handed]) -> None:
        got.extend(record[3] for _, record, _ in handed)
        ask()

    def ask() -> None:
        broker.core.receiving.receive(group, "m", 1, take, broker.now_ms + MINUTE_MS)

    with broker.turn():
        ask()
    turns = 1
    while broker.core.tick(broker.now_ms) == broker.now_ms:
        assert broker.end() is None
        turns += 1
    assert got == [b"%d" % number for number in range(2_500)]
    assert 2 <= turns <= 4
