"""The supply: what is damaged is passed over, and reads may take long."""

import re
from collections.abc import Callable
from struct import pack_into

import pytest
from crc32c import crc32c

from onemq.core.group import Group
from onemq.core.redelivery import Immediate
from onemq.log.batch_builder import BatchBuilder
from onemq.log.memory import MemoryLog
from onemq.log.records import NO_HEADERS
from tests.sim.disk import SimDisk
from tests.unit.core.broker import (
    DAY_MS,
    NOW_MS,
    SECOND_MS,
    Answers,
    Broker,
    on_both_engines,
    sealed,
    simulated,
)

# Damage


def damage(broker: Broker, offset: int, topic: str = "t") -> None:
    """Flips a bit in the body of the message at an offset; each message must be a batch of its own."""
    body = broker.records(topic)[offset][3]
    assert body is not None
    damage_body(broker, body)


def damage_body(broker: Broker, body: bytes) -> None:
    """Flips a bit in a body."""
    disk = broker.disk
    assert isinstance(disk, SimDisk)
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
            core.claims.claim(group, 0, [0], "claimer")
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
