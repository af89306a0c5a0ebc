"""Trace: what happened to a message, as the present state tells it, and as a traced topic tells it."""

from typing import Any

import pytest

from onemq.core import scan
from onemq.core.redelivery import Immediate, Ladder
from onemq.core.topics import TRACE_NAME
from onemq.core.trace import Trace, index_in
from onemq.errors import Busy, InvalidArgument, NotFound
from onemq.message import BORN, TAG, TRANSACTION, message_id
from tests.unit.core.broker import NOW_MS, SECOND_MS, Broker


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """One batch at a time, so that a trace takes many turns."""
    monkeypatch.setattr(scan, "SCAN_STEP_BYTES", 1)


def trace(broker: Broker, number: int = 0, offset: int = 0, topic: str = "t", id: str | None = None) -> Trace:
    """The trace of the message at a place, however many turns it takes."""
    found: list[Trace] = []
    with broker.turn() as core:
        id = id or message_id(core.topics.get(topic).id, number, offset)
        core.traces.trace(topic, id, found.append)
    for _ in range(1000):
        if found:
            break
        with broker.turn():
            pass
    assert len(found) == 1
    return found[0]


def told(trace: Trace) -> list[tuple[int, str, str | None]]:
    """(seconds since the beginning, event, member) of each event"""
    assert trace.error is None
    return [((event.time_ms - NOW_MS) // SECOND_MS, event.event, event.member) for event in trace.events]


def second(broker: Broker) -> None:
    broker.pass_ms(SECOND_MS)


TRACED = pytest.mark.parametrize("traced", [False, True], ids=["untraced", "traced"])


@TRACED
def test_a_message_that_nobody_got_is_stored_and_waits(broker: Broker, traced: bool) -> None:
    broker.topic(trace=traced)
    broker.group()
    broker.send(b"x", headers=((BORN, b"%d" % (NOW_MS - 1000)),))
    found = trace(broker)
    assert told(found) == [(-1, "born", None), (0, "stored", None)]
    assert [(each.group, each.state) for each in found.groups] == [("g", "waiting")]
    assert found.record is not None
    assert (found.partition, found.offset, found.record[3], found.traced) == (0, 0, b"x", traced)


@TRACED
def test_a_message_in_flight_tells_who_has_it_since_when(broker: Broker, traced: bool) -> None:
    broker.topic(trace=traced)
    group = broker.group()
    broker.send(b"x")
    second(broker)
    broker.receive(group, "alice")
    found = trace(broker)
    assert told(found) == [(0, "stored", None), (1, "delivered", "alice")]
    state = found.groups[0]
    expected = ("in flight", "alice", NOW_MS + SECOND_MS, 1)
    assert (state.state, state.member, state.since_ms, state.deliveries) == expected


@TRACED
def test_a_failed_delivery_tells_its_reason_and_when_the_next_one_is_due(broker: Broker, traced: bool) -> None:
    broker.topic(trace=traced)
    group = broker.group(policy=Ladder((10_000, 60_000)))
    broker.send(b"x")
    broker.receive(group, "alice")
    second(broker)
    broker.fail(group, 0, reason="no database")
    found = trace(broker)
    assert told(found) == [(0, "stored", None), (0, "delivered", "alice"), (1, "failed", "alice")]
    assert found.events[-1].reason == "no database"
    assert (found.groups[0].state, found.groups[0].due_ms) == ("retry", NOW_MS + 11_000)
    if traced:
        assert found.events[-1].due_ms == NOW_MS + 11_000


def test_an_acknowledged_message_is_done_and_a_traced_one_tells_when(broker: Broker) -> None:
    for name, traced in (("t", True), ("u", False)):
        broker.topic(name, trace=traced)
        group = broker.group(name)
        broker.now_ms = NOW_MS
        broker.send(b"x", topic=name)
        second(broker)
        broker.receive(group, "alice")
        second(broker)
        broker.acknowledge(group, 0)
    stored = (0, "stored", None)
    assert told(trace(broker)) == [stored, (1, "delivered", "alice"), (2, "acknowledged", None)]
    assert told(trace(broker, topic="u")) == [stored]
    assert trace(broker).groups[0].state == trace(broker, topic="u").groups[0].state == "done"


@TRACED
def test_a_dead_letter_tells_where_it_is_and_after_what(broker: Broker, traced: bool) -> None:
    broker.topic(trace=traced)
    group = broker.group(policy=Immediate(2))
    broker.send(b"other", b"x")
    for _ in range(2):
        second(broker)
        broker.receive(group, "alice", number=0)
        broker.fail(group, 1, reason="it broke")
        broker.acknowledge(group, 0)
    found = trace(broker, offset=1)
    attempts = [(1, "delivered", "alice"), (1, "failed", "alice"), (2, "delivered", "alice"), (2, "failed", "alice")]
    events = [(0, "stored", None), *attempts, (2, "dead", None)]
    assert told(found) == events + [(2, "acknowledged", None)] * traced
    death = next(event for event in found.events if event.event == "dead")
    assert (death.place, death.reason, death.deliveries) == (("t.g.dead", 0, 0), "it broke", 2)
    buried = trace(broker, topic="t.g.dead", id=message_id(broker.core.topics.get("t").id, 0, 1))
    assert told(buried) == [*attempts, (2, "dead", None), (2, "stored", None)]


def test_everything_that_happens_to_a_traced_message_is_told(broker: Broker) -> None:
    broker.topic(trace=True)
    group = broker.group()
    broker.send(b"0", b"1", b"2", b"3")
    broker.receive(group, "alice", most=2)
    with broker.turn() as core:
        core.groups.give_back(group, 0, [1])
    second(broker)
    broker.receive(group, "bob", most=1)
    with broker.turn() as core:
        core.claims.claim(group, 0, [1], "carol", counts=False)
    second(broker)
    with broker.turn() as core:
        core.groups.leave(group, "carol", "gone")
    broker.receive(group, "dave", most=1)
    with broker.turn() as core:
        core.claims.give_up(group, 0, {1: 7})
    second(broker)
    with broker.turn() as core:
        core.claims.take(group, 0, "eve", broker.now_ms, {1: 8})
        for offset in (0, 1):
            core.groups.acknowledge_one(group, 0, offset)
    with broker.turn() as core:
        core.groups.seek(group, 0, 4)
    assert told(trace(broker, offset=1)) == [
        (0, "stored", None), (0, "delivered", "alice"), (0, "returned", "alice"), (1, "delivered", "bob"),
        (1, "claimed", "carol"), (2, "failed", "carol"), (2, "delivered", "dave"), (2, "given up", None),
        (3, "claimed", "eve"), (3, "acknowledged", None), (3, "moved", None),
    ]  # fmt: skip
    counts = [event.deliveries for event in trace(broker, offset=1).events if event.event in ("delivered", "claimed")]
    assert counts == [1, 1, 1, 2, 8]
    assert told(trace(broker, offset=3)) == [(0, "stored", None), (3, "moved", None)]


def test_what_a_group_takes_without_acknowledging_is_told(broker: Broker) -> None:
    broker.topic(trace=True)
    group = broker.group()
    broker.send(b"x")
    with broker.turn() as core:
        core.receiving.receive(group, "alice", 1, lambda got: None, in_flight=False)
    found = trace(broker)
    assert told(found) == [(0, "stored", None), (0, "delivered", "alice")]
    assert found.events[-1].reason == "needs no acknowledgement"


@pytest.mark.parametrize("in_flight", [True, False])
def test_what_a_group_does_not_want_is_passed(broker: Broker, in_flight: bool) -> None:
    broker.topic(trace=True)
    group = broker.group(filter="a")
    for tag in (b"a", b"b", b"a"):
        broker.send(b"x", headers=((TAG, tag),))
    with broker.turn() as core:
        core.receiving.receive(group, "alice", 10, lambda got: None, in_flight=in_flight)
    for offset, event in enumerate(["delivered", "passed", "delivered"]):
        assert [each.event for each in trace(broker, offset=offset).events] == ["stored", event]


def test_a_message_that_expired_is_passed_or_dead(broker: Broker) -> None:
    for name, expired in (("t", "drop"), ("u", "dead")):
        broker.topic(name, trace=True, expires_ms=500, expired=expired)
        group = broker.group(name)
        broker.now_ms = NOW_MS
        broker.send(b"x", topic=name)
        second(broker)
        broker.receive(group)
    assert told(trace(broker)) == [(0, "stored", None), (1, "passed", None)]
    dead = trace(broker, topic="u")
    assert [event.event for event in dead.events] == ["stored", "held", "dead", "acknowledged"]
    assert dead.events[2].reason == "expired"


def test_a_message_in_line_behind_others_is_held(broker: Broker) -> None:
    broker.topic(trace=True)
    group = broker.group(order="key")
    broker.send(b"1", b"2", key=b"k")
    broker.receive(group, "alice")
    found = trace(broker, offset=1)
    assert told(found) == [(0, "stored", None), (0, "held", None)]
    assert found.groups[0].state == "held"
    broker.acknowledge(group, 0)
    broker.receive(group, "bob")
    assert told(trace(broker, offset=1)) == [(0, "stored", None), (0, "held", None), (0, "delivered", "bob")]


def test_several_groups_are_told_apart(broker: Broker) -> None:
    broker.topic(trace=True)
    one, two = broker.group(name="one"), broker.group(name="two")
    broker.send(b"x")
    broker.receive(one, "alice")
    broker.receive(two, "bob")
    broker.acknowledge(one, 0)
    found = trace(broker)
    assert [(event.event, event.group) for event in found.events[1:]] == [
        ("delivered", "one"), ("delivered", "two"), ("acknowledged", "one")
    ]  # fmt: skip
    assert [(each.group, each.state) for each in found.groups] == [("one", "done"), ("two", "in flight")]


def test_a_scheduled_message_is_traced_before_and_after_it_is_due(broker: Broker) -> None:
    broker.topic()
    broker.send(b"x", deliver_at_ms=NOW_MS + 5_000)
    schedule = broker.core.topics.find("__schedule")
    assert schedule is not None
    id = message_id(schedule.id, 0, 0)
    before = trace(broker, id=id)
    assert told(before) == [(0, "scheduled", None)]
    assert (before.record, before.offset, before.events[0].due_ms) == (None, None, NOW_MS + 5_000)
    broker.pass_ms(5_000)
    assert told(trace(broker, id=id)) == [(0, "scheduled", None), (5, "fired", None), (5, "stored", None)]
    assert isinstance(trace(broker).error, NotFound)  # at that place lies a message with another id


def test_a_message_of_a_transaction_tells_when_that_was_committed(broker: Broker) -> None:
    broker.topic()
    broker.send(b"x", headers=((TRANSACTION, b"tx-1"),))
    assert told(trace(broker)) == [(0, "committed", None), (0, "stored", None)]


def test_a_message_that_is_gone_leaves_its_trace(broker: Broker) -> None:
    topic = broker.topic(trace=True)
    group = broker.group()
    broker.send(b"x", b"y")
    broker.receive(group, "alice")
    broker.acknowledge(group, 0, 1)
    with broker.turn() as core:
        core.topics.trim(topic, topic.partitions[0], 1)
    found = trace(broker)
    assert found.record is None
    assert told(found) == [(0, "delivered", "alice"), (0, "acknowledged", None)]


def test_a_message_that_never_was_is_an_error(broker: Broker) -> None:
    broker.topic()
    assert isinstance(trace(broker, offset=5).error, NotFound)
    assert isinstance(trace(broker, id="77-0-1").error, NotFound)
    with broker.turn() as core:
        with pytest.raises(NotFound):
            core.traces.trace("nothing", "1-0-0", lambda trace: None)
        with pytest.raises(InvalidArgument):
            core.traces.trace("t", "x", lambda trace: None)


def test_a_cancelled_trace_is_never_answered(broker: Broker) -> None:
    broker.topic(trace=True)
    group = broker.group()
    for _ in range(10):
        broker.send(b"x")
        broker.receive(group)
    found: list[Trace] = []
    with broker.turn() as core:
        following = core.traces.trace("t", "77-0-0", found.append)
    following.cancel()
    for _ in range(20):
        second(broker)
    assert not found
    assert len(broker.core.scans) == 0


def test_after_a_reset_those_who_trace_are_told(broker: Broker) -> None:
    broker.topic()
    for _ in range(10):
        broker.send(b"x")
    found: list[Trace] = []
    with broker.turn() as core:
        core.traces.trace("t", "77-0-0", found.append)
    broker.core.reset()
    assert isinstance(found[0].error, Busy)


def test_a_trace_survives_a_restart(local: Broker) -> None:
    local.topic(trace=True)
    group = local.group()
    local.send(b"x")
    local.receive(group, "alice")
    for how in ("kill", "stop"):
        local.restart(how)
        assert told(trace(local)) == [(0, "stored", None), (0, "delivered", "alice")]
    local.acknowledge(local.core.groups.get("t", "g"), 0)
    assert told(trace(local))[-1] == (0, "acknowledged", None)


def test_nothing_is_told_of_topics_that_are_not_traced(broker: Broker) -> None:
    def work() -> None:
        broker.send(b"x")
        for _, record, _ in broker.receive(group):
            broker.acknowledge(group, record[0])

    def size() -> int:
        topic = broker.core.topics.find(TRACE_NAME)
        return sum(partition.end for partition in topic.partitions) if topic is not None else 0

    broker.topic()
    group = broker.group()
    work()
    assert broker.core.topics.find(TRACE_NAME) is None
    assert broker.core.groups.trace is None
    with broker.turn() as core:
        core.topics.alter("t", trace=True)
    work()
    before = size()
    assert before == 2
    with broker.turn() as core:
        core.topics.alter("t", trace=False)
    work()
    broker.topic("other", trace=True)
    work()
    assert size() == before
    with broker.turn() as core:
        core.topics.delete("other")
    assert broker.core.groups.trace is None


def test_many_messages_make_few_records(broker: Broker) -> None:
    broker.topic(trace=True)
    group = broker.group()
    broker.send(*[b"x"] * 100)
    broker.receive(group)
    with broker.turn() as core:
        for offset in range(100):
            core.groups.acknowledge_one(group, 0, offset)
    topic = broker.core.topics.find(TRACE_NAME)
    assert topic is not None
    assert sum(partition.end for partition in topic.partitions) == 2
    assert [event.event for event in trace(broker, offset=77).events] == ["stored", "delivered", "acknowledged"]


def test_nothing_is_told_while_the_disk_is_full(local: Broker) -> None:
    local.topic(trace=True)
    group = local.group()
    local.send(b"x")
    local.core.sending.refusal = Busy("full")
    local.receive(group)
    assert local.core.topics.find(TRACE_NAME) is None


@pytest.mark.parametrize(
    ("runs", "offset", "place"),
    [([3, 5], 3, 0), ([3, 5], 5, 2), ([3, 5], 6, None), ([1, 1, 4, 5], 5, 2), ([], 1, None)],
)
def test_the_place_of_an_offset_among_runs(runs: list[int], offset: int, place: Any) -> None:
    assert index_in(runs, offset) == place


def test_an_event_of_another_topic_in_the_same_partition_is_not_mixed_in(broker: Broker) -> None:
    broker.topic("a", trace=True)
    for number in range(16):
        broker.topic(f"t{number}", trace=number == 15)
    for name in ("a", "t15"):
        group = broker.group(name)
        broker.send(b"x", topic=name)
        broker.receive(group, f"member of {name}")
    assert [event.member for event in trace(broker, topic="a").events] == [None, "member of a"]
    assert [event.member for event in trace(broker, topic="t15").events] == [None, "member of t15"]
