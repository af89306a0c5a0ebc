"""Priorities (B10): groups get messages of higher priority first, on one log, and nothing is lost or comes twice."""

import sys
from random import Random

import msgspec
import pytest

from onemq import limits
from onemq.core import ranking
from onemq.core.entries import RANK
from onemq.core.group import Group
from onemq.core.housekeeping import CLEAN_ROUND_MS, ROUND_MS
from onemq.core.ranking import with_priority
from onemq.core.redelivery import Immediate
from onemq.core.start import LAST
from onemq.core.topics import SCHEDULE_NAME
from onemq.errors import InvalidArgument, TooLarge
from onemq.limits import LANE_STREAK_MAX
from onemq.log.batch_builder import BatchBuilder
from onemq.log.records import encode_headers
from onemq.message import DUE, EXPIRES, PRIORITY, header
from tests.sim.fingerprint import lanes_of
from tests.unit.core.broker import HOUR_MS, Answers, Broker, in_memory, sealed

HIGH = 9
LOW = 0


def send(broker: Broker, *messages: tuple[bytes, int], topic: str = "t") -> None:
    """Sends messages with their priorities, all in one turn."""
    with broker.turn() as core:
        for body, priority in messages:
            core.send(topic, body, priority=priority)


def known(broker: Broker, topic: str = "t") -> dict[int, list[int]]:
    """The offsets of each priority that the partition knows."""
    return lanes_of(broker.core.topics.get(topic).partitions[0])


def group_of(broker: Broker, name: str = "g") -> Group:
    return broker.core.groups.get("t", name)


def drained(broker: Broker, group: Group, most: int = 7) -> list[bytes | None]:
    """Everything that a group gets, acknowledged as it comes."""
    found: list[bytes | None] = []
    while got := broker.receive(group, most=most):
        found += [record[3] for _, record, _ in got]
        broker.acknowledge(group, *(record[0] for _, record, _ in got))
    return found


# Handing out


def test_higher_priorities_come_first_and_equal_ones_in_the_order_in_which_they_came(broker: Broker) -> None:
    """B10"""
    broker.topic()
    send(broker, (b"a", 4), (b"low", 0), (b"b", 4), (b"high", 9), (b"higher than most", 7), (b"high again", 9))
    group = broker.group()
    assert broker.bodies(group) == [b"high", b"high again", b"higher than most", b"a", b"b", b"low"]


def test_the_order_does_not_depend_on_how_many_are_asked_for(broker: Broker) -> None:
    """B10"""
    broker.topic()
    send(broker, *((b"%d" % number, number) for number in (3, 9, 4, 0, 5, 8)))
    group = broker.group()
    assert [broker.bodies(group, most=1) for _ in range(7)] == [[b"9"], [b"8"], [b"5"], [b"4"], [b"3"], [b"0"], []]


def test_a_later_message_of_higher_priority_overtakes_those_that_wait(broker: Broker) -> None:
    """B10"""
    broker.topic()
    group = broker.group()
    send(broker, (b"a", 4), (b"b", 4), (b"low", LOW))
    assert broker.bodies(group, most=1) == [b"a"]
    send(broker, (b"high", HIGH))
    assert broker.bodies(group) == [b"high", b"b", b"low"]


def test_readers_by_offset_see_the_order_in_which_messages_came(broker: Broker) -> None:
    """B10"""
    broker.topic()
    send(broker, (b"a", 4), (b"high", HIGH), (b"low", LOW))
    assert broker.values() == [b"a", b"high", b"low"]
    assert [header(record[4], PRIORITY) for record in broker.records()] == [None, b"9", b"0"]


def test_who_waits_gets_a_message_of_any_priority(broker: Broker) -> None:
    """B10"""
    broker.topic()
    group = broker.group()
    waiting = Answers(broker, group)
    with broker.turn():
        waiting.ask("first")
        waiting.ask("second")
    send(broker, (b"low", LOW), (b"high", HIGH))
    assert waiting.told == {"first": [b"high"], "second": [b"low"]}


def test_what_is_sent_in_the_same_turn_is_handed_out_by_priority(broker: Broker) -> None:
    """B10"""
    broker.topic()
    group = broker.group()
    waiting = Answers(broker, group)
    with broker.turn() as core:
        core.send("t", b"a")
        core.send("t", b"high", priority=HIGH)
        waiting.ask("now", wait_ms=None, most=10)
    assert waiting.told == {"now": [b"high", b"a"]}


def test_each_group_goes_through_the_lanes_by_itself(broker: Broker) -> None:
    """B10"""
    broker.topic()
    fast, slow = broker.group(name="fast"), broker.group(name="slow")
    send(broker, (b"a", 4), (b"high", HIGH), (b"low", LOW))
    assert broker.bodies(fast) == [b"high", b"a", b"low"]
    late = broker.group(name="late", start=LAST)
    assert broker.bodies(slow, most=1) == [b"high"]
    send(broker, (b"low 2", LOW), (b"high 2", HIGH))
    assert broker.bodies(slow) == [b"high 2", b"a", b"low", b"low 2"]
    assert broker.bodies(late) == broker.bodies(fast) == [b"high 2", b"low 2"]


def test_each_partition_has_its_own_lanes(broker: Broker) -> None:
    """B10"""
    broker.topic("t", 2)
    with broker.turn() as core:
        for number in (0, 1):
            core.send("t", b"a%d" % number, number=number)
            core.send("t", b"high%d" % number, number=number, priority=HIGH)
    group = broker.group()
    got = broker.receive(group)
    by_partition = [[record[3] for number, record, _ in got if number == each] for each in (0, 1)]
    assert by_partition == [[b"high0", b"a0"], [b"high1", b"a1"]]


def test_messages_that_are_not_in_flight_are_done_when_they_are_handed_out(broker: Broker) -> None:
    """B10"""
    broker.topic()
    group = broker.group()
    send(broker, (b"a", 4), (b"high", HIGH), (b"low", LOW))
    got: list[bytes | None] = []
    with broker.turn() as core:
        core.receiving.receive(
            group, "m", 10, lambda handed: got.extend(record[3] for _, record, _ in handed), in_flight=False
        )
    assert got == [b"high", b"a", b"low"]
    assert (group.lag, group.cursors[0].low) == (0, 3)


def test_messages_that_come_again_go_first_whatever_their_priority(broker: Broker) -> None:
    """B10, B5"""
    broker.topic()
    group = broker.group()
    send(broker, (b"low", LOW), (b"high", HIGH))
    assert broker.bodies(group) == [b"high", b"low"]
    broker.fail(group, 0, 1, delay_ms=0)
    send(broker, (b"high 2", HIGH))
    got = broker.receive(group)
    assert [(record[3], count) for _, record, count in got] == [(b"low", 2), (b"high", 2), (b"high 2", 1)]


def test_a_message_that_is_gone_is_passed_over(broker: Broker) -> None:
    """B10: deleted from the middle"""
    broker.topic()
    group = broker.group()
    send(broker, *((b"%d" % number, HIGH) for number in range(3)), (b"a", 4))
    with broker.turn() as core:
        stream = core.streams.get(b"t")
        assert stream is not None
        core.removing.delete(stream, [0, 2])
    assert broker.bodies(group) == [b"1", b"a"]
    assert group.lag == 2


def test_messages_that_did_not_outlive_a_restart_are_passed_over(local: Broker) -> None:
    """B10, A1: not persistent"""
    local.topic()
    local.group()
    local.send(b"gone", priority=HIGH, persistent=False)
    local.send(b"gone, too", priority=LOW, persistent=False)
    local.send(b"kept", priority=HIGH)
    local.restart()
    assert local.bodies(group_of(local)) == [b"kept"]
    local.acknowledge(group_of(local), 2)
    assert group_of(local).lag == 0


# No starvation


def test_lower_priorities_get_their_turn_while_higher_ones_keep_coming(broker: Broker) -> None:
    """B10"""
    broker.topic()
    send(broker, (b"low", LOW), (b"a", 4), *((b"high", HIGH) for _ in range(3 * LANE_STREAK_MAX)))
    group = broker.group()
    bodies = [broker.bodies(group, most=1)[0] for _ in range(3 * LANE_STREAK_MAX + 2)]
    assert bodies.index(b"low") == LANE_STREAK_MAX
    assert bodies.index(b"a") == 2 * LANE_STREAK_MAX + 1
    assert bodies.count(b"high") == 3 * LANE_STREAK_MAX


def test_one_large_request_lets_lower_ones_have_their_turn_as_well(broker: Broker) -> None:
    """B10"""
    broker.topic()
    send(broker, (b"low", LOW), (b"a", 4), *((b"high", HIGH) for _ in range(40)))
    bodies = broker.bodies(broker.group())
    assert bodies == [b"high"] * 16 + [b"low"] + [b"high"] * 16 + [b"a"] + [b"high"] * 8


# What a group knows of itself


def test_lag_and_low_mark_are_right_while_messages_overtake(broker: Broker) -> None:
    """B10"""
    broker.topic()
    group = broker.group()
    cursor = group.cursors[0]
    send(broker, (b"low", LOW), (b"a", 4), (b"high", HIGH), (b"b", 4))
    seen = [(group.lag, cursor.unread, cursor.low)]
    for offset in (2, 1, 3, 0):
        assert [record[0] for _, record, _ in broker.receive(group, most=1)] == [offset]
        assert not cursor.is_fresh(offset)
        broker.acknowledge(group, offset)
        seen.append((group.lag, cursor.unread, cursor.low))
    assert seen == [(4, 4, 0), (3, 3, 0), (2, 2, 0), (1, 1, 0), (0, 0, 4)]
    assert not cursor.available


def test_going_back_hands_out_again_by_priority(broker: Broker) -> None:
    """B10, D3"""
    broker.topic()
    group = broker.group()
    send(broker, (b"a", 4), (b"high", HIGH), (b"b", 4), (b"low", LOW), (b"high 2", HIGH))
    assert len(broker.bodies(group)) == 5
    with broker.turn() as core:
        core.groups.seek(group, 0, 2)
    assert group.lag == 3
    assert broker.bodies(group) == [b"high 2", b"b", b"low"]


def test_going_forward_passes_what_waits_in_all_lanes(broker: Broker) -> None:
    """B10, D3"""
    broker.topic()
    group = broker.group()
    send(broker, (b"low", LOW), (b"a", 4), (b"high", HIGH), (b"b", 4), (b"low 2", LOW))
    with broker.turn() as core:
        core.groups.seek(group, 0, 3)
    assert broker.bodies(group) == [b"b", b"low 2"]
    broker.acknowledge(group, 3, 4)
    assert (group.lag, group.cursors[0].low) == (0, 5)


def test_what_is_in_flight_when_a_group_is_moved_back_comes_again_once(broker: Broker) -> None:
    """B10"""
    broker.topic()
    group = broker.group()
    send(broker, (b"a", 4), (b"high", HIGH))
    assert broker.bodies(group, "one") == [b"high", b"a"]
    with broker.turn() as core:
        core.groups.move(group, 0, 0)
    assert broker.bodies(group, "two") == [b"high", b"a"]
    assert len(group.cursors[0].unacknowledged) == 2
    assert not group.members["one"].held
    assert broker.acknowledge(group, 0, 1) == 2
    assert group.lag == 0


def test_what_retention_drops_is_gone_from_all_lanes(broker: Broker) -> None:
    """B10, A4"""
    broker.topic(retention_ms=HOUR_MS)
    group = broker.group()
    send(broker, (b"low", LOW), (b"a", 4), (b"high", HIGH))
    assert broker.bodies(group, most=1) == [b"high"]
    broker.pass_ms(2 * HOUR_MS)
    assert (broker.values(), group.lag, known(broker)) == ([], 0, {})
    assert broker.core.topics.get("t").partitions[0].lanes is None
    send(broker, (b"b", 4), (b"high 2", HIGH))
    assert broker.bodies(group) == [b"high 2", b"b"]


# Queue topics


def test_a_queue_keeps_what_lower_lanes_still_have(broker: Broker) -> None:
    """B10, A5: the low mark"""
    broker.topic(kind="queue", segment_bytes=4096)
    group = broker.group()
    broker.send(b"low", priority=LOW)
    for _ in range(15):
        broker.send(b"x" * 1_000)
    got = broker.receive(group, most=15)
    broker.acknowledge(group, *(record[0] for _, record, _ in got))
    broker.pass_ms(ROUND_MS)
    assert len(broker.values()) == 16
    assert drained(broker, group) == [b"low"]
    broker.pass_ms(ROUND_MS)
    assert len(broker.values()) < 10


@pytest.mark.parametrize("low_waits", [True, False])
def test_cleaning_a_queue_keeps_what_waits_in_a_lane_and_drops_what_is_done(broker: Broker, low_waits: bool) -> None:
    """B10, A5: cleaning"""
    broker.topic(kind="queue", segment_bytes=4096)
    group = broker.group()
    broker.send(b"low", priority=LOW)
    with broker.turn() as core:
        for number in range(1_500):
            core.send("t", b"x" * 50, priority=HIGH if number % 2 else 4)
    broker.send(b"x" * 4_000)  # the segment before is closed
    wanted = 1_500 if low_waits else 1_501
    offsets: list[int] = []
    group.cursors[0].lanes.streak = 0 if low_waits else LANE_STREAK_MAX
    while len(offsets) < wanted:
        most = min(LANE_STREAK_MAX, wanted - len(offsets))
        offsets += [record[0] for _, record, _ in broker.receive(group, most=most)]
        group.cursors[0].lanes.streak = 0
    broker.acknowledge(group, *offsets)
    stored = broker.stored_bytes()
    broker.pass_ms(CLEAN_ROUND_MS)
    assert broker.stored_bytes() < stored / 2
    assert broker.bodies(group) == [b"x" * 4_000, *([b"low"] if low_waits else [])]


# Sending


def test_one_entry_tells_the_priorities_of_all_messages_of_a_turn(broker: Broker) -> None:
    """B10"""
    broker.topic()
    broker.core.tick(broker.now_ms)
    for priority in (9, 4, 0, 9):
        broker.core.send("t", b"x", priority=priority)
    assert [each for each in broker.core.stage.entries if each[0] == RANK] == [(RANK, 1, 0, [0, 9, 2, 0, 3, 9])]
    assert broker.end() is None
    send(broker, (b"x", 7))
    assert known(broker) == {9: [0, 3], 7: [4], 0: [2]}


def test_partitions_without_priorities_have_no_lanes(broker: Broker) -> None:
    """B10"""
    broker.topic()
    broker.send(b"a", b"b", priority=4)
    assert broker.core.topics.get("t").partitions[0].lanes is None
    assert broker.records()[0][4] == ()


@pytest.mark.parametrize("priority", [-1, 10])
def test_a_priority_that_is_none_is_refused(broker: Broker, priority: int) -> None:
    """B10"""
    broker.topic()
    with broker.turn() as core, pytest.raises(InvalidArgument, match="0 to 9"):
        core.send("t", b"x", priority=priority)
    with broker.turn() as core, pytest.raises(InvalidArgument, match="0 to 9"):
        core.unit().send("t", b"x", priority=priority)
    assert broker.values() == []


def test_the_priority_counts_as_part_of_the_message(broker: Broker) -> None:
    """B10"""
    broker.topic(message_bytes_max=10)
    broker.send(b"0123456789")
    with broker.turn() as core, pytest.raises(TooLarge):
        core.send("t", b"0123456789", priority=HIGH)
    assert known(broker) == {}


def test_a_scheduled_message_keeps_its_priority(broker: Broker) -> None:
    """B10, C1"""
    broker.topic()
    group = broker.group()
    broker.send(b"later", deliver_at_ms=broker.now_ms + 1_000, priority=HIGH)
    schedule = broker.core.topics.ensure_internal(SCHEDULE_NAME)
    assert schedule.partitions[0].lanes is None
    broker.send(b"a")
    broker.pass_ms(1_000)
    assert broker.bodies(group) == [b"later", b"a"]
    assert header(broker.records()[1][4], DUE) is not None


def test_dead_letters_keep_their_priority(broker: Broker) -> None:
    """B10, B6"""
    broker.topic()
    group = broker.group(policy=Immediate(1))
    send(broker, (b"a", 4), (b"high", HIGH))
    broker.receive(group)
    broker.fail(group, 0, reason="no")
    broker.fail(group, 1, reason="no")
    assert known(broker, "t.g.dead") == {9: [1]}
    dead = broker.group("t.g.dead", "d")
    assert broker.bodies(dead) == [b"high", b"a"]


def test_messages_of_a_unit_have_priorities(broker: Broker) -> None:
    """B10, B8"""
    broker.topic()
    group = broker.group()
    with broker.turn() as core:
        unit = core.unit()
        unit.send("t", b"a")
        unit.send("t", b"high", priority=HIGH)
        unit.send("t", b"later", deliver_at_ms=broker.now_ms + 1, priority=8)
        assert [number for number, _ in unit.commit()] == [0, 0, -1]
    broker.pass_ms(1)
    assert broker.bodies(group) == [b"high", b"later", b"a"]


def test_messages_of_an_idempotent_producer_have_priorities_and_are_ranked_once(broker: Broker) -> None:
    """B10, A7"""
    broker.topic()
    with broker.turn() as core:
        producer = core.producers.open()
        for _ in range(2):
            core.send("t", b"high", number=0, producer=(producer.id, producer.epoch, 0), priority=HIGH)
    assert known(broker) == {9: [0]}


def test_encoded_headers_tell_the_priority_as_well(broker: Broker) -> None:
    """B10: what a protocol hands to sending"""
    topic = broker.topic()
    with broker.turn() as core:
        core.sending.send(topic, b"high", headers=encode_headers(with_priority(((b"a", b"b"),), HIGH)))
    assert known(broker) == {9: [0]}


def test_ready_made_batches_are_looked_into_if_one_of_their_messages_seems_to_have_a_priority(broker: Broker) -> None:
    """B10"""
    topic = broker.topic()
    group = broker.group()
    with broker.turn() as core:
        core.sending.send_batch(topic, 0, sealed(b"plain"))
        core.sending.send_batch(topic, 0, sealed(b"a", headers=((PRIORITY, b"9"),)))
    send(broker, (b"high", HIGH))
    assert known(broker) == {9: [1, 2]}
    assert broker.bodies(group) == [b"a", b"high", b"plain"]


# Restarts


def mixed(broker: Broker, **settings: object) -> None:
    """A topic with two groups at different places, in the middle of things."""
    broker.topic(**settings)
    broker.group(name="g")
    broker.group(name="h")
    send(broker, (b"0", LOW), (b"1", 4), (b"2", HIGH), (b"3", 4), (b"4", 7), (b"5", LOW))
    assert broker.bodies(group_of(broker, "g"), most=3) == [b"2", b"4", b"1"]
    assert broker.bodies(group_of(broker, "h"), most=1) == [b"2"]
    broker.acknowledge(group_of(broker, "g"), 2, 1)
    broker.fail(group_of(broker, "g"), 4, delay_ms=0)


@pytest.mark.parametrize("how", ["kill", "stop", "power cut"])
def test_after_a_restart_everything_goes_on_where_it_was(local: Broker, how: str) -> None:
    """B10, A1: by replay, from a snapshot, and after a power cut"""
    mixed(local)
    local.restart(how)
    assert known(local) == {9: [2], 7: [4], 0: [0, 5]}
    assert (group_of(local, "g").lag, group_of(local, "h").lag) == (4, 6)
    assert local.bodies(group_of(local, "g")) == [b"4", b"3", b"0", b"5"]
    assert local.bodies(group_of(local, "h")) == [b"4", b"1", b"3", b"0", b"5"]
    local.restart(how)
    assert local.bodies(group_of(local, "g")) == local.bodies(group_of(local, "h")) == []


def test_a_snapshot_without_priorities_loads(local: Broker) -> None:
    """B10: the state of an older broker"""
    local.topic()
    local.group()
    local.send(b"a", b"b")
    assert local.bodies(group_of(local), most=1) == [b"a"]
    parts = local.core._parts
    local.core._parts = tuple(part for part in parts if part is not local.core.ranking)
    local.restart("stop")
    send(local, (b"high", HIGH))
    assert local.bodies(group_of(local)) == [b"high", b"b"]


def test_a_power_cut_takes_priorities_with_their_messages(local: Broker) -> None:
    """B10: an offset that is given again has no priority of old"""
    local.topic(flush="async")
    local.topic("s")
    local.group()
    send(local, (b"a", 4))
    local.send(b"synced", topic="s")
    for number in range(8):
        send(local, (b"%d" % number, HIGH), (b"low", LOW))
        local.receive(group_of(local), most=1)
    local.restart("power cut")
    end = local.core.topics.get("t").partitions[0].end
    assert all(offset < end for lane in known(local).values() for offset in lane)
    assert group_of(local).cursors[0].next <= end
    left = len(local.bodies(group_of(local)))
    send(local, (b"new", 4), (b"new high", HIGH), (b"new low", LOW))
    assert local.bodies(group_of(local)) == [b"new high", b"new", b"new low"]
    local.restart()
    assert group_of(local).lag == group_of(local).cursors[0].unread + len(group_of(local).cursors[0].unacknowledged)
    assert left <= 17


# Room


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few priorities are kept."""
    monkeypatch.setattr(ranking, "LANE_MESSAGES_KEPT", 4)
    monkeypatch.setattr(ranking, "LANE_MESSAGES_MAX", 20)


@pytest.mark.usefixtures("small")
def test_what_all_groups_have_passed_is_forgotten(broker: Broker) -> None:
    """B10"""
    broker.topic()
    fast, slow = broker.group(name="fast"), broker.group(name="slow")
    send(broker, *((b"%d" % number, HIGH) for number in range(10)))
    drained(broker, fast)
    broker.pass_ms(ROUND_MS)
    assert len(known(broker)[9]) == 10
    assert len(broker.bodies(slow, most=8)) == 8
    broker.pass_ms(ROUND_MS)
    assert known(broker) == {9: [8, 9]}
    assert len(drained(broker, slow)) == 2


@pytest.mark.usefixtures("small")
def test_a_group_that_goes_back_behind_what_was_forgotten_gets_that_once_and_in_order(local: Broker) -> None:
    """B10"""
    local.topic()
    local.group()
    send(local, *((b"%d" % number, HIGH if number % 2 else 4) for number in range(12)))
    drained(local, group_of(local))
    local.pass_ms(ROUND_MS)
    assert known(local) == {}
    send(local, (b"12", 4), (b"13", HIGH))
    with local.turn() as core:
        core.groups.seek(group_of(local), 0, 0)
    assert local.bodies(group_of(local), most=4) == [b"13", b"0", b"1", b"2"]
    local.restart()
    assert local.bodies(group_of(local)) == [b"%d" % number for number in range(3, 13)]
    assert local.bodies(group_of(local)) == []


@pytest.mark.usefixtures("small")
def test_what_no_group_has_passed_is_kept_up_to_a_limit(broker: Broker) -> None:
    """B10"""
    broker.topic()
    send(broker, *((b"%d" % number, HIGH) for number in range(25)), (b"last", HIGH))
    broker.pass_ms(ROUND_MS)
    assert len(known(broker)[9]) == 20
    assert broker.bodies(broker.group()) == [*(b"%d" % number for number in range(25)), b"last"]


def test_a_million_messages_of_mixed_priorities_take_some_bytes_each() -> None:
    """B10: bounded memory"""
    broker, random, million = in_memory(), Random(1), 1_000_000
    partition = broker.topic().partitions[0]
    priorities = random.choices([0, 1, 2, 3, 5, 6, 7, 8, 9], k=million)
    pairs = [each for offset, priority in enumerate(priorities) for each in (offset, priority)]
    broker.core.ranking.appliers()[RANK]((RANK, partition.topic_id, 0, pairs))
    lanes = partition.lanes
    assert lanes is not None
    assert len(lanes) == million < limits.LANE_MESSAGES_MAX
    assert sum(sys.getsizeof(lane) for _, lane in lanes) < 10 * million


def test_many_messages_of_mixed_priorities_all_come_and_are_forgotten() -> None:
    """B10"""
    broker, random = in_memory(), Random(1)
    partition = broker.topic().partitions[0]
    for _ in range(10):
        with broker.turn() as core:
            for priority in random.choices(range(10), k=3_000):
                core.send("t", b"x", priority=priority)
    group = broker.group()
    assert drained(broker, group, most=1_000) == [b"x"] * 30_000
    assert (group.lag, group.cursors[0].low) == (0, 30_000)
    broker.pass_ms(ROUND_MS)
    assert partition.lanes is None


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_lost_or_comes_twice_whatever_the_mixture(broker: Broker, seed: int) -> None:
    """B10"""
    random = Random(seed)
    broker.topic()
    groups = [broker.group(name=name) for name in ("g", "h")]
    got: list[list[bytes | None]] = [[], []]
    sent: list[bytes | None] = []
    for _ in range(60):
        messages = [(b"%d" % (len(sent) + place), random.randint(0, 9)) for place in range(random.randint(0, 20))]
        send(broker, *messages)
        sent += [body for body, _ in messages]
        which = random.randrange(2)
        got[which] += broker.bodies(groups[which], most=random.randint(1, 30))
    for which in (0, 1):
        got[which] += broker.bodies(groups[which], most=10_000)
        assert len(got[which]) == len(sent)
        assert sorted(got[which], key=lambda body: int(body or b"")) == sent
        assert groups[which].cursors[0].unread == 0


# Groups that look at each message


def test_a_group_that_keeps_an_order_has_no_eye_for_priorities(broker: Broker) -> None:
    """B10, B3"""
    broker.topic()
    by_partition, by_key = broker.group(name="p", order="partition"), broker.group(name="k", order="key")
    send(broker, (b"a", 4), (b"high", HIGH), (b"low", LOW), (b"b", 4))
    assert broker.bodies(by_partition) == broker.bodies(by_key) == [b"a", b"high", b"low", b"b"]
    broker.acknowledge(by_key, 0, 1, 2, 3)
    assert (by_key.lag, by_key.cursors[0].low) == (0, 4)


def alter(broker: Broker, group: Group, **settings: object) -> None:
    with broker.turn() as core:
        core.groups.alter(group, msgspec.structs.replace(group.config, **settings))


def test_a_group_that_begins_to_keep_an_order_misses_nothing(broker: Broker) -> None:
    """B10, B3: what overtook others may come again"""
    broker.topic()
    group = broker.group()
    send(broker, (b"low", LOW), (b"a", 4), (b"high", HIGH))
    assert broker.bodies(group, most=1) == [b"high"]
    broker.acknowledge(group, 2)
    alter(broker, group, order="partition")
    assert broker.bodies(group) == [b"low", b"a", b"high"]
    broker.acknowledge(group, 0, 1, 2)
    alter(broker, group, order="none")
    send(broker, (b"b", 4), (b"high 2", HIGH))
    assert broker.bodies(group) == [b"high 2", b"b"]


def test_a_filter_passes_over_messages_of_all_priorities(broker: Broker) -> None:
    """B10, B4"""
    broker.topic()
    group = broker.group(filter="priority <> 8 AND priority <> 1")
    send(broker, (b"a", 4), (b"no", 8), (b"high", HIGH), (b"nor", 1), (b"low", LOW))
    assert broker.bodies(group) == [b"high", b"a", b"low"]
    broker.acknowledge(group, 0, 2, 4)
    assert (group.lag, group.cursors[0].low) == (0, 5)


def test_messages_that_are_wanted_once_come_by_priority(broker: Broker) -> None:
    """B10, B9"""
    broker.topic()
    group = broker.group(once="key")
    with broker.turn() as core:
        for key, priority in ((b"x", 4), (b"y", LOW), (b"x", HIGH), (b"z", HIGH)):
            core.send("t", key + b"%d" % priority, key, priority=priority)
    assert broker.bodies(group) == [b"x9", b"z9", b"y0"]
    broker.acknowledge(group, 2, 3, 1)
    assert broker.bodies(group) == []
    assert group.lag == 0


@pytest.mark.parametrize("expired", ["drop", "dead"])
def test_expired_messages_of_all_priorities_go_whether_somebody_asks_or_not(broker: Broker, expired: str) -> None:
    """B10, B11"""
    broker.topic(expires_ms=1_000, expired=expired)
    group = broker.group()
    send(broker, (b"a", 4), (b"high", HIGH), (b"low", LOW))
    broker.pass_ms(500)
    send(broker, (b"high 2", HIGH), (b"b", 4))
    broker.pass_ms(ROUND_MS)
    assert broker.bodies(group) == []
    assert group.lag == 0
    dead = sorted(record[3] or b"" for record in broker.records("t.g.dead")) if expired == "dead" else []
    assert dead == ([b"a", b"b", b"high", b"high 2", b"low"] if expired == "dead" else [])


def test_what_has_not_expired_comes_by_priority_among_what_has(broker: Broker) -> None:
    """B10, B11"""
    broker.topic()
    group = broker.group()
    expiring = ((EXPIRES, b"%d" % (broker.now_ms + 1_000)),)
    with broker.turn() as core:
        for body, priority, headers in ((b"a", 4, ()), (b"gone", HIGH, expiring), (b"high", HIGH, ())):
            core.send("t", body, headers=headers, priority=priority)
        core.send("t", b"gone, too", headers=expiring)
        core.send("t", b"low", priority=LOW)
    broker.pass_ms(1_000)
    assert broker.bodies(group) == [b"high", b"a", b"low"]
    broker.acknowledge(group, 0, 2, 4)
    assert (group.lag, group.cursors[0].low) == (0, 5)


def test_a_batch_that_a_client_sealed_has_priorities(broker: Broker) -> None:
    """B10: MQ.APPEND looks at each record anyway"""
    topic = broker.topic()
    group = broker.group()
    builder = BatchBuilder(0, broker.now_ms)
    for body, priority in ((b"a", 4), (b"high", HIGH), (b"low", LOW)):
        builder.add(broker.now_ms, None, body, encode_headers(with_priority((), priority)))
    broker.send(b"first")
    with broker.turn() as core:
        core.sending.append(topic, 0, builder.seal())
    assert known(broker) == {9: [2], 0: [3]}
    assert broker.bodies(group) == [b"high", b"first", b"a", b"low"]


def test_a_half_message_keeps_its_priority(broker: Broker) -> None:
    """B10, B7"""
    topic = broker.topic()
    group = broker.group()
    broker.send(b"a")
    with broker.turn() as core:
        name = core.halves.add(None, "p", topic, b"high", headers=with_priority(((b"h", b"v"),), HIGH)).transaction
    with broker.turn() as core:
        core.halves.commit(name)
    assert broker.bodies(group) == [b"high", b"a"]


def test_a_trace_tells_of_deliveries_by_priority(broker: Broker) -> None:
    """B10, H5"""
    broker.topic(trace=True)
    group = broker.group()
    send(broker, (b"low", LOW), (b"a", 4), (b"high", HIGH))
    with broker.turn() as core:
        core.receiving.receive(group, "kept", 1, lambda got: None)
        core.receiving.receive(group, "unkept", 1, lambda got: None, in_flight=False)
        core.receiving.receive(group, "unkept", 1, lambda got: None, in_flight=False)
        told = [(each.event, each.member, each.runs) for _, each in core.tracing.noted]
    assert told == [
        ("delivered", "kept", [2, 2]),
        ("delivered", "unkept", [1, 1]),
        ("delivered", "unkept", [0, 0]),
    ]
