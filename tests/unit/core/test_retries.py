"""Redelivery policies at work (C11): exact times from the clock, exact counts."""

import pytest

from onemq.core.group import Group
from onemq.core.redelivery import LADDER_STEPS_MS, Backoff, Immediate, Ladder, Redelivery
from tests.unit.core.broker import DAY_MS, HOUR_MS, SECOND_MS, Broker


def waits(broker: Broker, group: Group, most: int) -> list[int]:
    """Fails the only message again and again; returns after how many ms it came each time."""
    found = []
    for _ in range(most):
        assert broker.fail(group, 0) == 1
        failed_ms = broker.now_ms
        while not broker.receive(group):
            if not group.lag:
                return found
            due_ms = broker.core.groups.tick(broker.now_ms)
            assert due_ms is not None
            assert due_ms > broker.now_ms
            broker.now_ms = due_ms - 1
            assert broker.receive(group) == [], "a retry came early"
            broker.now_ms += 1
        found.append(broker.now_ms - failed_ms)
    return found


def with_one_message(broker: Broker, policy: Redelivery) -> Group:
    broker.topic()
    broker.send(b"0")
    group = broker.group(policy=policy)
    broker.receive(group)
    return group


def test_the_ladder_retries_after_its_16_steps_and_then_the_message_is_dead(broker: Broker) -> None:
    """C11, C12"""
    group = with_one_message(broker, Ladder())
    assert waits(broker, group, 20) == list(LADDER_STEPS_MS)
    (death,) = broker.deaths()
    assert death is not None
    assert death.deliveries == 17
    assert len(death.history) == 16


def test_back_off_with_growing_times_retries_exactly_as_configured(broker: Broker) -> None:
    """C11"""
    policy = Backoff(initial_delay_ms=100, multiplier=3, exponential=True, max_delay_ms=2_000, max_redeliveries=5)
    group = with_one_message(broker, policy)
    assert waits(broker, group, 20) == [100, 300, 900, 2_000, 2_000]
    assert len(broker.deaths()) == 1


def test_the_policy_goes_by_the_count_that_is_given(broker: Broker) -> None:
    group = with_one_message(broker, Backoff(100, 100, 2, exponential=True, max_redeliveries=5))
    for count, delay_ms in ((3, 400), (1, 100), (0, 100), (5, 1_600)):
        with broker.turn() as core:
            assert core.groups.fail(group, 0, [0], "it broke", count=count) == 1
        assert group.cursors[0].unacknowledged[0].count == count
        assert core.groups.tick(broker.now_ms) == broker.now_ms + delay_ms
        broker.pass_ms(delay_ms)
        assert len(broker.receive(group)) == 1
    with broker.turn() as core:
        core.groups.fail(group, 0, [0], "it broke", count=6)
    (death,) = broker.deaths()
    assert death is not None
    assert (death.deliveries, len(death.history)) == (6, 5)


def test_what_is_given_back_as_tried_too_often_is_dead(broker: Broker) -> None:
    group = with_one_message(broker, Immediate(3))
    with broker.turn() as core:
        assert core.groups.give_back_as(group, 0, 0, 2)
    assert len(broker.receive(group)) == 1
    with broker.turn() as core:
        assert core.groups.give_back_as(group, 0, 0, 3)
    (death,) = broker.deaths()
    assert death is not None
    assert (death.deliveries, death.reason) == (3, "given back, but handed out as often as allowed")
    assert not group.lag


def test_whoever_rejects_may_say_how_often_it_was_tried(broker: Broker) -> None:
    group = with_one_message(broker, Immediate(30))
    with broker.turn() as core:
        assert core.groups.reject(group, 0, 0, "no", count=12)
    (death,) = broker.deaths()
    assert death is not None
    assert death.deliveries == 12


def test_back_off_without_growth_retries_after_the_same_time(broker: Broker) -> None:
    """C11"""
    group = with_one_message(broker, Backoff(initial_delay_ms=0, redelivery_delay_ms=250, max_redeliveries=3))
    assert waits(broker, group, 20) == [0, 250, 250]


def test_collision_avoidance_moves_the_times_of_different_messages_apart(broker: Broker) -> None:
    """C11"""
    broker.topic()
    broker.send(*[b"x"] * 8)
    group = broker.group(policy=Backoff(collision_avoidance=0.5, max_redeliveries=3))
    broker.receive(group)
    broker.fail(group, *range(8))
    broker.pass_ms(SECOND_MS)
    broker.receive(group)
    broker.fail(group, *range(8))
    dues = {each.due_ms - broker.now_ms for each in group.cursors[0].unacknowledged.values()}
    assert len(dues) > 4
    assert all(500 <= due_ms <= 1_500 for due_ms in dues)


def test_a_policy_without_end_retries_for_ever(broker: Broker) -> None:
    """C11"""
    group = with_one_message(broker, Backoff(initial_delay_ms=1, max_redeliveries=-1))
    assert waits(broker, group, 40) == [1] * 40


def test_the_count_and_the_id_can_be_read_with_each_delivery(broker: Broker) -> None:
    """C11: the message stays where it is, so its id never changes."""
    group = with_one_message(broker, Ladder((10, 20)))
    seen = []
    for delay_ms in (10, 20):
        broker.fail(group, 0)
        broker.now_ms += delay_ms
        seen += [(number, record[0], record[3], count) for number, record, count in broker.receive(group)]
    assert seen == [(0, 0, b"0", 2), (0, 0, b"0", 3)]


def test_a_delay_of_the_caller_goes_before_that_of_the_policy_but_not_before_death(broker: Broker) -> None:
    """C9, C11"""
    group = with_one_message(broker, Ladder((HOUR_MS,)))
    broker.fail(group, 0, delay_ms=5)
    broker.pass_ms(5)
    assert len(broker.receive(group)) == 1
    broker.fail(group, 0, delay_ms=5)
    assert group.lag == 0
    assert len(broker.deaths()) == 1


def test_a_member_that_dies_costs_a_delivery_but_no_delay(broker: Broker) -> None:
    """C11: its deliveries go back at once."""
    group = with_one_message(broker, Ladder((HOUR_MS, HOUR_MS)))
    with broker.turn() as core:
        core.groups.leave(group, "m", "the connection broke")
    assert [count for _, _, count in broker.receive(group)] == [2]


def test_messages_that_fail_do_not_hold_up_those_behind_them(broker: Broker) -> None:
    broker.topic()
    broker.send(b"0", b"1", b"2")
    group = broker.group(policy=Ladder((SECOND_MS, SECOND_MS)))
    broker.receive(group, most=1)
    broker.fail(group, 0)
    assert broker.bodies(group, most=1) == [b"1"]
    broker.pass_ms(SECOND_MS)
    assert broker.bodies(group) == [b"0", b"2"]


def test_many_retries_of_one_moment_all_come_though_one_tick_does_only_some(broker: Broker) -> None:
    broker.topic()
    broker.send(*[b"x"] * 2_500)
    group = broker.group(policy=Ladder((SECOND_MS,)))
    broker.receive(group, most=2_500)
    broker.fail(group, *range(2_500))
    broker.now_ms += SECOND_MS
    assert broker.core.tick(broker.now_ms) == broker.now_ms
    for _ in range(2):
        broker.core.tick(broker.now_ms)
    assert len(broker.receive(group, most=10_000)) == 2_500


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_counts_and_history_survive_a_restart(local: Broker, how: str) -> None:
    """C11: dead after exactly the allowed count, restarts or not."""
    group = with_one_message(local, Immediate(4))
    for count in (2, 3, 4):
        local.fail(group, 0, reason=f"failure {count - 1}")
        local.restart(how)
        group = local.core.groups.get("t", "g")
        assert [seen for _, _, seen in local.receive(group)] == [count]
    local.fail(group, 0, reason="failure 4")
    assert group.lag == 0
    (death,) = local.deaths()
    assert death is not None
    assert [attempt[3] for attempt in death.history] == [f"failure {count}" for count in (1, 2, 3, 4)]


def test_a_retry_after_a_long_stop_of_the_broker_comes_at_once(local: Broker) -> None:
    group = with_one_message(local, Ladder((HOUR_MS,)))
    local.fail(group, 0)
    local.now_ms += DAY_MS
    local.restart()
    assert local.bodies(local.core.groups.get("t", "g")) == [b"0"]
