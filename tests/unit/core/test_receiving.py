"""Receiving: who gets what in which order, who waits, and what is passed over."""

import re
from collections.abc import Callable
from struct import pack_into

import pytest
from crc32c import crc32c

from onemq.core.group import Group
from onemq.core.receiving import Handed
from onemq.core.redelivery import Immediate
from onemq.core.start import FIRST
from onemq.log.batch_builder import BatchBuilder
from onemq.log.memory import MemoryLog
from onemq.log.records import NO_HEADERS
from tests.sim.disk import SimDisk
from tests.unit.core.broker import (
    DAY_MS,
    MINUTE_MS,
    NOW_MS,
    SECOND_MS,
    Answers,
    Broker,
    in_memory,
    on_both_engines,
    sealed,
    simulated,
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


# Damage


def damage(broker: Broker, offset: int, topic: str = "t") -> None:
    """Flips a bit in the body of the message at an offset; each message must be a batch of its own."""
    disk = broker.disk
    assert isinstance(disk, SimDisk)
    body = broker.records(topic)[offset][3]
    assert body is not None
    for path in disk.files():
        if path.endswith(".log") and "journal" not in path:
            file = disk.open(path, read_only=True)
            position = file.read(0, file.size()).find(body)
            if position >= 0:
                disk.flip_bit(path, position)
                return
    raise AssertionError("not found on the disk")


@pytest.fixture
def told() -> list[str]:
    """What an operator was told."""
    return []


@pytest.fixture
def local(told: list[str]) -> Broker:
    return simulated(on_trouble=told.append)


def offsets_in(told: list[str]) -> list[int]:
    """The offsets that an operator was told of."""
    found = [re.search(r"^group 'g' of 't' passes over: .*offset (\d+)", text) for text in told]
    return [int(each[1]) for each in found if each]


def batches_of_one(broker: Broker, count: int = 5) -> Group:
    broker.topic()
    for number in range(count):
        broker.send(b"message %d" % number)
    return broker.group()


def test_a_damaged_message_is_passed_over_loudly_and_the_others_come(local: Broker, told: list[str]) -> None:
    """A bad checksum is never skipped in silence."""
    group = batches_of_one(local)
    damage(local, 2)
    assert local.bodies(group) == [b"message 0", b"message 1", b"message 3", b"message 4"]
    assert offsets_in(told) == [2]
    local.acknowledge(group, 0, 1, 3, 4)
    assert group.lag == 0


def test_a_receiver_that_waits_is_not_stopped_by_damage(local: Broker, told: list[str]) -> None:
    group = batches_of_one(local, 1)
    damage(local, 0)
    answers = Answers(local, group)
    with local.turn():
        answers.ask("a")
    local.send(b"message 1")
    assert answers.told == {"a": [b"message 1"]}
    assert offsets_in(told) == [0]


def test_a_message_that_is_damaged_while_in_flight_does_not_take_others_along(local: Broker, told: list[str]) -> None:
    group = batches_of_one(local)
    local.receive(group)
    local.acknowledge(group, 1)
    damage(local, 2)
    local.fail(group, 0, 2, 3)
    assert local.bodies(group) == [b"message 0", b"message 3"]
    assert offsets_in(told) == [2]
    assert sorted(group.cursors[0].unacknowledged) == [0, 3, 4]


def test_a_damaged_message_that_should_be_buried_is_told_of_and_blocks_nothing(local: Broker, told: list[str]) -> None:
    """C12"""
    local.topic()
    local.send(b"message 0")
    group = local.group(policy=Immediate(1))
    local.receive(group)
    damage(local, 0)
    local.fail(group, 0)
    assert (group.lag, local.deaths()) == (0, [])
    assert offsets_in(told) == [0]


def unreadable(batch: bytes, attributes: int = 0) -> bytes:
    """A batch whose checksum is right and whose records are not: what a bad producer may send."""
    data = bytearray(batch)
    pack_into(">h", data, 21, attributes)
    if not attributes:
        data[61:] = b"\xff" * (len(data) - 61)
    pack_into(">I", data, 17, crc32c(bytes(data[21:])))
    return bytes(data)


@pytest.mark.parametrize(
    "batch",
    [unreadable(sealed(b"bad", b"bad")), unreadable(sealed(b"bad", b"bad"), 1), unreadable(sealed(b"bad", b"bad"), 7)],
    ids=["records", "gzip", "unknown compression"],
)
@pytest.mark.parametrize("waiting", [False, True])
@on_both_engines
def test_records_that_do_not_parse_are_passed_over_loudly(
    make: Callable[..., Broker], batch: bytes, waiting: bool
) -> None:
    """Records of ready-made batches are not looked at before they are stored: one bad producer must not stop
    a topic."""
    told: list[str] = []
    broker = make(on_trouble=told.append)
    topic = broker.topic()
    group = broker.group()
    answers = Answers(broker, group)
    with broker.turn() as core:
        if waiting:
            answers.ask("a", most=10)
    with broker.turn() as core:
        core.send("t", b"before")
        core.sending.send_batch(topic, 0, batch)
        core.send("t", b"after")
    with broker.turn() as core:
        answers.ask("b", most=10)
    assert [body for bodies in answers.told.values() for body in bodies] == [b"before", b"after"]
    assert len(told) == 1


def misplaced(*deltas: int) -> bytes:
    """A batch of two offsets whose records claim to be elsewhere."""
    builder = BatchBuilder(0, NOW_MS)
    for delta in deltas:
        builder.skip_to(delta)
        builder.add(NOW_MS, None, b"bad", NO_HEADERS)
    return builder.seal(last_delta=1)


@pytest.mark.parametrize("deltas", [(0, 5), (0, 0), (1, 0), (5, 6), (-3, 1)], ids=str)
def test_records_that_claim_offsets_of_others_are_passed_over(broker: Broker, deltas: tuple[int, ...]) -> None:
    """Else one bad producer could make a group skip what others send."""
    topic = broker.topic()
    group = broker.group()
    with broker.turn() as core:
        core.sending.send_batch(topic, 0, misplaced(*deltas))
        for number in range(10):
            core.send("t", b"%d" % number)
    assert broker.bodies(group) == [b"%d" % number for number in range(10)]
    broker.acknowledge(group, *range(2, 12))
    assert group.lag == 0


def test_records_that_do_not_parse_do_not_take_others_along_when_they_come_again(broker: Broker) -> None:
    topic = broker.topic()
    group = broker.group()
    with broker.turn() as core:
        core.send("t", b"before")
        core.sending.send_batch(topic, 0, unreadable(sealed(b"bad", b"bad")))
        core.send("t", b"after")
        core.groups.deliver(group.cursors[0], "m", 4, [0, 1, 2, 3])  # as if they had been readable then
    broker.fail(group, 0, 1, 2, 3)
    assert broker.bodies(group) == [b"before", b"after"]


# Engines that answer later


class SlowLog(MemoryLog):
    """Answers reads when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.held: list[Callable[[], None]] = []

    def read(self, topic: int, partition: int, offset: int, bytes_max: int, then: Callable[[bytes], None]) -> None:
        data: list[bytes] = []
        super().read(topic, partition, offset, bytes_max, data.append)
        self.held.append(lambda: then(data[0]))

    def answer(self) -> None:
        held, self.held = self.held, []
        for each in held:
            each()


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Broker:
    monkeypatch.setattr(Broker, "_open", lambda self: SlowLog())
    return Broker(None)


def answer(broker: Broker) -> None:
    with broker.turn():
        assert isinstance(broker.log, SlowLog)
        broker.log.answer()


def test_a_read_under_way_serves_those_who_wait_when_it_arrives(slow: Broker) -> None:
    """Law 5: reading may take long."""
    slow.topic()
    slow.send(b"0", b"1", b"2")
    answers = Answers(slow, slow.group())
    with slow.turn():
        answers.ask("a", wait_ms=None, most=1)
        answers.ask("b", wait_ms=None, most=1)
        answers.ask("c", most=2)
    assert answers.told == {}
    answer(slow)
    assert answers.told == {"a": [b"0"], "b": [b"1"], "c": [b"2"]}


def test_who_does_not_want_to_wait_waits_for_a_read_under_way_but_not_for_ever(slow: Broker) -> None:
    slow.topic()
    slow.send(b"0")
    group = slow.group()
    answers = Answers(slow, group)
    with slow.turn():
        answers.ask("a", wait_ms=None)
    slow.pass_ms(SECOND_MS)
    assert answers.told == {"a": []}
    answer(slow)
    with slow.turn():
        answers.ask("b", wait_ms=None)
    assert answers.told["b"] == [b"0"]


def test_what_was_read_before_a_seek_is_not_handed_out_after_it(slow: Broker) -> None:
    slow.topic()
    slow.send(b"0")
    slow.send(b"1")
    group = slow.group()
    answers = Answers(slow, group)
    with slow.turn():
        answers.ask("a", most=2)
    with slow.turn() as core:
        core.groups.seek(group, 0, 1)
    answer(slow)
    answer(slow)
    assert answers.told == {"a": [b"1"]}
    assert group.cursors[0].next == 2


@pytest.mark.parametrize("whole_topic", [False, True])
def test_a_read_that_arrives_after_its_group_has_gone_does_nothing(slow: Broker, whole_topic: bool) -> None:
    topic = slow.topic("t", compact=True)
    with slow.turn() as core:
        core.sending.send_batch(topic, 0, sealed(None, key=b"k"))
    group = slow.group()
    slow.pass_ms(2 * DAY_MS)
    answers = Answers(slow, group)
    with slow.turn():
        answers.ask("a")
    with slow.turn() as core:
        core.topics.delete("t") if whole_topic else core.groups.delete(group)
    answer(slow)
    assert answers.told == {"a": []}


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


def test_messages_that_come_again_are_read_before_anybody_is_answered(slow: Broker) -> None:
    """Law 5: reading may take long"""
    slow.topic()
    slow.send(b"0", b"1", b"2")
    group = slow.group()
    answers = Answers(slow, group)
    with slow.turn():
        answers.ask("first", most=3)
    answer(slow)
    with slow.turn() as core:
        core.groups.fail(group, 0, [0, 1, 2], "it broke")
        answers.ask("a", wait_ms=None, most=2)
        answers.ask("b", most=2)
        core.groups.acknowledge(group, 0, [1])
    assert list(answers.told) == ["first"]
    answer(slow)
    answer(slow)
    assert answers.told == {"first": [b"0", b"1", b"2"], "a": [b"0", b"2"]}
    assert {offset: each.count for offset, each in group.cursors[0].unacknowledged.items()} == {0: 2, 2: 2}


@pytest.mark.parametrize("meanwhile", ["nothing", "timed out", "seek", "claimed", "group gone"])
def test_what_happens_while_messages_that_come_again_are_read_is_minded(slow: Broker, meanwhile: str) -> None:
    slow.topic()
    slow.send(b"0")
    group = slow.group()
    answers = Answers(slow, group)
    with slow.turn():
        answers.ask("first")
    answer(slow)
    with slow.turn() as core:
        core.groups.fail(group, 0, [0], "it broke")
    with slow.turn() as core:
        answers.ask("a", wait_ms=SECOND_MS)
    with slow.turn() as core:
        if meanwhile == "seek":
            core.groups.seek(group, 0, 1)
        if meanwhile == "claimed":
            core.groups.claim(group, 0, [0], "claimer")
        if meanwhile == "group gone":
            core.groups.delete(group)
    if meanwhile == "timed out":
        slow.pass_ms(SECOND_MS)
        assert answers.told["a"] == []
    answer(slow)
    if meanwhile == "timed out":
        with slow.turn():
            answers.ask("b", wait_ms=None)
        assert answers.told["b"] == [b"0"], "it is not lost with the request that timed out"
    elif meanwhile == "nothing":
        assert answers.told["a"] == [b"0"]
    else:
        assert answers.told.get("a", []) == []


def test_a_message_that_is_acknowledged_or_sought_past_while_it_is_buried_is_no_dead_letter(slow: Broker) -> None:
    """C12"""
    slow.topic()
    slow.send(b"0", b"1", b"2")
    group = slow.group(policy=Immediate(1))
    with slow.turn():
        Answers(slow, group).ask("m", most=3)
    answer(slow)
    with slow.turn() as core:
        core.groups.fail(group, 0, [0, 1], "it broke")
        core.groups.acknowledge(group, 0, [0])
    answer(slow)
    dead = slow.core.topics.get("t.g.dead").partitions[0]
    assert dead.end == 1
    with slow.turn() as core:
        core.groups.fail(group, 0, [2], "it broke")
    with slow.turn() as core:
        core.groups.delete(group)
    answer(slow)
    assert dead.end == 1
    assert slow.core.topics.get("t").groups == {}


@pytest.mark.parametrize("meanwhile", ["nothing", "cancelled", "moved later"])
def test_a_timer_that_is_cancelled_or_moved_while_its_message_is_read_does_not_fire(
    slow: Broker, meanwhile: str
) -> None:
    """B8"""
    topic = slow.topic()
    slow.send(b"x", deliver_at_ms=slow.now_ms + SECOND_MS)
    slow.pass_ms(SECOND_MS)
    with slow.turn() as core:
        if meanwhile == "cancelled":
            core.schedule.cancel(0)
        if meanwhile == "moved later":
            core.schedule.move(0, slow.now_ms + SECOND_MS)
    answer(slow)
    assert topic.partitions[0].end == (meanwhile == "nothing")
    slow.pass_ms(SECOND_MS)
    answer(slow)
    assert topic.partitions[0].end == (meanwhile != "cancelled")
    assert len(slow.core.schedule) == 0
