"""Atomic units (B7): several sends and acknowledgements happen together or not at all."""

import pytest

from onemq.core.group import Group
from onemq.core.placed import TIMER
from onemq.core.redelivery import Immediate, Ladder
from onemq.core.start import FIRST
from onemq.errors import DiskFull, InvalidArgument, NotFound, OneMQError, TooLarge
from onemq.limits import SCHEDULE_AHEAD_MS_MAX, TURN_BYTES_MAX
from tests.unit.core.broker import MINUTE_MS, SECOND_MS, Answers, Broker, simulated, state


@pytest.fixture
def group(broker: Broker) -> Group:
    """A group with the messages 0 to 2 in flight, and a second topic for results."""
    broker.topic("t")
    broker.topic("results", 2)
    broker.send(b"0", b"1", b"2")
    group = broker.group(policy=Ladder((SECOND_MS,)))
    broker.receive(group)
    return group


def test_nothing_of_a_unit_is_visible_before_it_commits(broker: Broker, group: Group) -> None:
    """B7"""
    before = state(broker.core)
    with broker.turn() as core:
        unit = core.unit()
        unit.send("results", b"r", key=b"k")
        unit.send("results", b"later", deliver_at_ms=broker.now_ms + SECOND_MS)
        unit.acknowledge(group, 0, [0, 1])
    assert state(broker.core) == before
    assert broker.all_values("results") == [[], []]


def test_a_commit_does_all_of_it_in_the_order_in_which_it_was_asked_for(broker: Broker, group: Group) -> None:
    """B7"""
    with broker.turn() as core:
        unit = core.unit()
        unit.send("results", b"one", number=1, headers=((b"h", b"v"),))
        unit.acknowledge(group, 0, [0])
        unit.send("t", b"two", key=b"k")
        unit.send("t", b"later", deliver_at_ms=broker.now_ms + SECOND_MS)
        unit.acknowledge(group, 0, [2])
        placed = unit.commit()
    assert placed == [(1, 0), (0, 3), (TIMER, 0)]
    assert broker.records("results", 1)[0][3:] == (b"one", ((b"h", b"v"),))
    assert sorted(group.cursors[0].unacknowledged) == [1]
    assert len(broker.core.schedule) == 1


def test_a_unit_wakes_those_who_wait_like_any_send(broker: Broker, group: Group) -> None:
    answers = Answers(broker, broker.group("results"))
    with broker.turn() as core:
        answers.ask("a")
        unit = core.unit()
    with broker.turn() as core:
        unit.send("results", b"r")
        unit.commit()
    assert answers.told == {"a": [b"r"]}


def test_a_rollback_sends_nothing_and_hands_out_again(broker: Broker, group: Group) -> None:
    """B7: rollback redelivers"""
    with broker.turn() as core:
        unit = core.unit()
        unit.send("results", b"never")
        unit.acknowledge(group, 0, [0, 2])
        unit.rollback()
    assert broker.all_values("results") == [[], []]
    assert sorted(group.cursors[0].unacknowledged) == [0, 1, 2]
    broker.pass_ms(SECOND_MS)
    handed = broker.receive(group)
    assert [(record[0], count) for _, record, count in handed] == [(0, 2), (2, 2)]
    assert group.cursors[0].unacknowledged[0].history[0][3] == "the transaction was rolled back"


def test_messages_that_are_rolled_back_too_often_are_dead(broker: Broker) -> None:
    """B7, C12"""
    broker.topic()
    broker.send(b"0")
    group = broker.group(policy=Immediate(2))
    for _ in range(2):
        broker.receive(group)
        with broker.turn() as core:
            unit = core.unit()
            unit.acknowledge(group, 0, [0])
            unit.rollback()
    assert [death.reason for death in broker.deaths() if death] == ["the transaction was rolled back"]


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_a_unit_ends_once(broker: Broker, group: Group, end: str) -> None:
    with broker.turn() as core:
        unit = core.unit()
        getattr(unit, end)()
        assert not unit.open
        for call in (unit.commit, lambda: unit.send("t", b""), lambda: unit.acknowledge(group, 0, [0])):
            with pytest.raises(InvalidArgument, match="has ended"):
                call()
        unit.rollback()
    assert sorted(group.cursors[0].unacknowledged) == [0, 1, 2]


def test_messages_of_units_take_the_partitions_in_turn(broker: Broker, group: Group) -> None:
    """B3"""
    placed = []
    for _ in range(4):
        with broker.turn() as core:
            unit = core.unit()
            unit.send("results", b"r")
            placed += unit.commit()
    assert [number for number, _ in placed] == [0, 1, 0, 1]


# What is refused


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"topic": "gone"}, NotFound),
        ({"number": 2}, InvalidArgument),
        ({"number": -1}, InvalidArgument),
        ({"body": b"x" * 101}, TooLarge),
        ({"body": b"x" * 60, "key": b"k" * 60}, TooLarge),
        ({"body": b"x" * 60, "headers": ((b"h", b"v" * 60),)}, TooLarge),
        ({"deliver_at_ms": 1 << 62}, InvalidArgument),
        ({"deliver_at_ms": 1, "body": b"x" * 101}, TooLarge),
    ],
)
def test_what_could_not_be_sent_is_refused_at_once_and_the_rest_can_still_commit(
    broker: Broker, options: dict[str, object], error: type[OneMQError]
) -> None:
    """B7"""
    broker.topic("results", 2, message_bytes_max=100)
    with broker.turn() as core:
        unit = core.unit()
        unit.send("results", b"good", number=0)
        with pytest.raises(error):
            unit.send(**({"topic": "results", "body": b""} | options))  # type: ignore[arg-type]
        assert unit.commit() == [(0, 0)]


@pytest.mark.parametrize(
    "change", ["topic gone", "smaller", "fewer partitions", "group gone", "group new", "disk full"]
)
def test_a_commit_that_became_impossible_does_nothing_at_all(broker: Broker, change: str) -> None:
    """B7: the world may change between the parts of a unit and its end."""
    broker.topic("t")
    broker.topic("u", 2)
    broker.send(b"0")
    group = broker.group()
    broker.receive(group)
    with broker.turn() as core:
        unit = core.unit()
        unit.send("t", b"first")
        unit.acknowledge(group, 0, [0])
        unit.send("u", b"x" * 50, number=1)
    with broker.turn() as core:
        if change in ("topic gone", "fewer partitions"):
            core.topics.delete("u")
        if change == "fewer partitions":
            core.topics.create("u", 1)
        if change == "smaller":
            core.topics.alter("u", message_bytes_max=10)
        if change.startswith("group"):
            core.groups.delete(group)
        if change == "group new":
            core.create_group("t", "g", FIRST)
        if change == "disk full":
            core.sending.refusal = DiskFull("full")
    before = state(broker.core)
    broker.core.stage.now_ms = broker.now_ms
    with pytest.raises(OneMQError):
        unit.commit()
    assert unit.open
    assert state(broker.core) == before
    unit.rollback()
    assert broker.end() is None
    assert broker.values("t") == [b"0"]
    if not change.startswith("group"):
        assert group.cursors[0].unacknowledged[0].member is None


def test_a_rollback_after_one_of_its_groups_has_gone_still_gives_back_the_rest(broker: Broker, group: Group) -> None:
    """B7"""
    other = broker.group(name="other")
    broker.receive(other)
    with broker.turn() as core:
        unit = core.unit()
        unit.acknowledge(other, 0, [0])
        unit.acknowledge(group, 0, [0])
    with broker.turn() as core:
        core.groups.delete(other)
        unit.rollback()
    assert group.cursors[0].unacknowledged[0].member is None


def test_a_partition_that_is_not_there_cannot_be_acknowledged(broker: Broker, group: Group) -> None:
    with broker.turn() as core:
        unit = core.unit()
        unit.send("t", b"1")
        with pytest.raises(InvalidArgument, match="no partition 1"):
            unit.acknowledge(group, 1, [0])
        unit.commit()


def test_a_unit_of_acknowledgements_goes_through_above_the_watermark(broker: Broker, group: Group) -> None:
    """A4: they are what makes room."""
    with broker.turn() as core:
        core.sending.refusal = DiskFull("full")
        unit = core.unit()
        unit.acknowledge(group, 0, [0, 1, 2])
        assert unit.commit() == []
        core.sending.refusal = None
    assert group.lag == 0


def test_a_unit_holds_as_much_as_a_turn_and_no_more(broker: Broker, group: Group) -> None:
    """Everything is bounded."""
    with broker.turn() as core:
        unit = core.unit()
        body = b"x" * (4 << 20)
        for _ in range(TURN_BYTES_MAX // len(body) - 1):
            unit.send("t", body)
        with pytest.raises(TooLarge, match="atomic unit can hold"):
            unit.send("t", body)  # with what each message costs beside its bytes
        unit.send("t", b"small")


def test_empty_messages_and_acknowledgements_count_towards_the_limit(broker: Broker, group: Group) -> None:
    """Everything is bounded."""
    with broker.turn() as core:
        unit = core.unit()
        for _ in range(300_000):
            unit.send("t", b"")
        with pytest.raises(TooLarge, match="atomic unit can hold"):
            unit.acknowledge(group, 0, [0] * 300_000)
        unit.acknowledge(group, 0, [0])


def test_a_message_scheduled_too_far_ahead_is_refused_at_once(broker: Broker, group: Group) -> None:
    with broker.turn() as core:
        unit = core.unit()
        unit.send("t", b"", deliver_at_ms=broker.now_ms + SCHEDULE_AHEAD_MS_MAX)
        with pytest.raises(InvalidArgument, match="hundred years"):
            unit.send("t", b"", deliver_at_ms=broker.now_ms + SCHEDULE_AHEAD_MS_MAX + MINUTE_MS)


# Survival


@pytest.mark.parametrize("how", ["kill", "power cut"])
def test_a_committed_unit_survives_whole(how: str) -> None:
    """B7: also what it sends to async topics, if any part of it is sync"""
    for seed in range(20):
        broker = simulated()
        assert broker.disk is not None
        broker.disk._random.seed(seed)  # type: ignore[attr-defined]
        broker.topic("t")
        broker.topic("a", flush="async")
        broker.send(b"0")
        group = broker.group()
        broker.receive(group)
        with broker.turn() as core:
            unit = core.unit()
            unit.send("a", b"to async")
            unit.acknowledge(group, 0, [0])
            unit.commit()
        broker.restart(how)
        assert broker.values("a") == [b"to async"]
        assert broker.core.groups.get("t", "g").lag == 0


def test_a_unit_that_was_not_flushed_never_happened() -> None:
    """B7"""
    broker = simulated()
    broker.topic("t")
    broker.send(b"0")
    group = broker.group()
    broker.receive(group)
    broker.core.tick(broker.now_ms)
    unit = broker.core.unit()
    unit.send("t", b"1")
    unit.acknowledge(group, 0, [0])
    unit.commit()
    broker.restart("kill")
    assert broker.values() == [b"0"]
    assert list(broker.core.groups.get("t", "g").cursors[0].unacknowledged) == [0]
