"""Redelivery policies: how long after which failure, and when it is enough."""

from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from onemq.core.redelivery import DELAY_LEVELS, FOR_EVER, Backoff, Immediate, Ladder, Redelivery, from_entry
from onemq.errors import InvalidArgument
from onemq.units import DURATION_MS_MAX, format_duration

delays = st.integers(0, 100_000)
backoffs = st.builds(
    Backoff,
    initial_delay_ms=delays,
    redelivery_delay_ms=delays,
    multiplier=st.floats(0, 10),
    exponential=st.booleans(),
    collision_avoidance=st.floats(0, 1),
    max_delay_ms=st.one_of(st.just(-1), delays),
    max_redeliveries=st.integers(-1, 20),
)


def all_delays(policy: Redelivery, deliveries: int) -> list[int | None]:
    return [policy.delay_ms(delivery, seed=1) for delivery in range(1, deliveries + 1)]


def test_there_are_the_18_delay_levels_of_rocketmq() -> None:
    levels = " ".join(format_duration(level_ms) for level_ms in DELAY_LEVELS)
    assert levels == "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"


def test_the_ladder_waits_rocketmqs_16_steps_and_then_the_message_is_dead() -> None:
    *delays_ms, beyond, further = all_delays(Ladder(), 18)
    steps = " ".join(format_duration(delay_ms or 0) for delay_ms in delays_ms)
    assert steps == "10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"
    assert beyond is None
    assert further is None
    assert Ladder().max_deliveries == 17


def test_a_ladder_without_steps_allows_one_delivery() -> None:
    assert Ladder(()).max_deliveries == 1
    assert Ladder(()).delay_ms(1, seed=0) is None


def test_back_off_defaults_are_those_of_activemq() -> None:
    assert all_delays(Backoff(), 7) == [1000] * 6 + [None]
    assert Backoff().max_deliveries == 7


def test_exponential_back_off_multiplies_up_to_the_maximum() -> None:
    policy = Backoff(initial_delay_ms=100, multiplier=3, exponential=True, max_delay_ms=2000, max_redeliveries=-1)
    assert all_delays(policy, 6) == [100, 300, 900, 2000, 2000, 2000]
    assert policy.max_deliveries is None


def test_without_an_initial_delay_the_first_redelivery_is_at_once_and_the_others_wait() -> None:
    policy = Backoff(initial_delay_ms=0, redelivery_delay_ms=500, multiplier=2, exponential=True, max_redeliveries=4)
    assert all_delays(policy, 5) == [0, 500, 1000, 2000, None]
    assert all_delays(Backoff(initial_delay_ms=0, redelivery_delay_ms=500), 3) == [0, 500, 500]


def test_a_maximum_below_the_redelivery_delay_gives_way_to_it() -> None:
    policy = Backoff(initial_delay_ms=50, multiplier=5, exponential=True, max_delay_ms=100)
    assert all_delays(policy, 3) == [50, 1000, 1000]


def test_the_maximum_delay_limits_only_what_was_multiplied() -> None:
    assert all_delays(Backoff(initial_delay_ms=9000, max_delay_ms=2000), 2) == [9000, 9000]
    assert all_delays(Backoff(initial_delay_ms=9000, exponential=True, max_delay_ms=2000), 2) == [9000, 2000]


def test_back_off_without_a_maximum_stops_growing_at_the_longest_duration() -> None:
    policy = Backoff(exponential=True, collision_avoidance=1.0, max_redeliveries=-1)
    assert policy.delay_ms(10**9, seed=0) is not None
    assert all((policy.delay_ms(10**6, seed) or 0) <= DURATION_MS_MAX for seed in range(100))


def test_a_multiplier_that_no_time_can_take_gives_the_longest_duration() -> None:
    policy = Backoff(multiplier=1e308, exponential=True, max_redeliveries=FOR_EVER)
    assert [policy.delay_ms(deliveries, 0) for deliveries in (1, 2, 3)] == [1_000, DURATION_MS_MAX, DURATION_MS_MAX]


def activemq_delay_ms(policy: Backoff, deliveries: int) -> int | None:
    """What ActiveMQ's consumer waits: its getNextRedeliveryDelay applied again and again, without dice."""
    if policy.max_redeliveries != -1 and deliveries > policy.max_redeliveries:
        return None
    delay_ms = policy.initial_delay_ms
    for _ in range(deliveries - 1):
        next_ms = policy.initial_delay_ms or policy.redelivery_delay_ms
        if delay_ms > 0 and policy.exponential and policy.multiplier > 1:
            next_ms = int(delay_ms * policy.multiplier)
            if policy.max_delay_ms != -1 and next_ms > policy.max_delay_ms:
                next_ms = max(policy.max_delay_ms, policy.redelivery_delay_ms)
        delay_ms = min(next_ms, DURATION_MS_MAX)
    return delay_ms


@given(backoffs, st.integers(1, 25), st.integers(0, 1 << 64))
@example(Backoff(1, 0, 2.0, exponential=True, max_delay_ms=0, max_redeliveries=FOR_EVER), 3, 0)
def test_back_off_waits_what_activemq_waits_give_or_take_collision_avoidance(
    policy: Backoff, deliveries: int, seed: int
) -> None:
    expected_ms = activemq_delay_ms(policy, deliveries)
    delay_ms = policy.delay_ms(deliveries, seed)
    if expected_ms is None or deliveries == 1 or policy.collision_avoidance == 0:
        assert delay_ms == expected_ms
    else:
        assert delay_ms is not None
        assert abs(delay_ms - expected_ms) <= expected_ms * policy.collision_avoidance + 1
        assert delay_ms == policy.delay_ms(deliveries, seed)


def test_collision_avoidance_spreads_over_the_whole_range() -> None:
    policy = Backoff(initial_delay_ms=10_000, collision_avoidance=0.15)
    waits = [policy.delay_ms(2, seed) or 0 for seed in range(2000)]
    assert all(8_500 <= wait <= 11_500 for wait in waits)
    tenths = [sum(8_500 + at * 300 <= wait < 8_800 + at * 300 for wait in waits) for at in range(10)]
    assert all(150 <= count <= 250 for count in tenths)
    assert policy.delay_ms(2, seed=1) != policy.delay_ms(3, seed=1)


def test_immediate_delivers_again_at_once_until_it_is_enough() -> None:
    assert all_delays(Immediate(3), 4) == [0, 0, None, None]
    assert all_delays(Immediate(1), 1) == [None]
    assert Immediate().delay_ms(10**9, seed=0) == 0
    assert Immediate().max_deliveries is None


@given(st.one_of(backoffs, st.sampled_from([Ladder(), Ladder((1, 2)), Ladder(()), Immediate(), Immediate(5)])))
def test_a_policy_comes_back_from_the_log_as_it_was(policy: Redelivery) -> None:
    entry = msgspec.msgpack.decode(msgspec.msgpack.encode(policy.to_entry()))
    assert from_entry(entry) == policy
    assert from_entry(tuple(entry)) == policy


@given(st.one_of(backoffs, st.builds(Immediate, st.integers(1, 20)), st.just(Ladder())), st.integers(1, 25))
def test_a_message_is_dead_after_exactly_the_allowed_deliveries(policy: Redelivery, deliveries: int) -> None:
    is_dead = policy.delay_ms(deliveries, seed=3) is None
    assert is_dead is (policy.max_deliveries is not None and deliveries >= policy.max_deliveries)


@pytest.mark.parametrize(
    ("kind", "settings", "text"),
    [
        (Ladder, {"steps_ms": (1000, -1)}, "a step must be from 0 to 3153600000000 ms, not -1"),
        (Backoff, {"initial_delay_ms": -1}, "the initial delay"),
        (Backoff, {"redelivery_delay_ms": DURATION_MS_MAX + 1}, "the redelivery delay"),
        (Backoff, {"max_delay_ms": -2}, "the maximum delay"),
        (Backoff, {"multiplier": float("nan")}, "multiplier"),
        (Backoff, {"multiplier": float("inf")}, "multiplier"),
        (Backoff, {"collision_avoidance": 1.5}, "collision avoidance must be from 0 to 1, not 1.5"),
        (Backoff, {"max_redeliveries": -2}, "redeliveries"),
        (Immediate, {"max_deliveries": 0}, "deliveries must be 1 or more, not 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(kind: type, settings: dict[str, Any], text: str) -> None:
    with pytest.raises(InvalidArgument, match=text):
        kind(**settings)


def test_an_unknown_policy_is_refused_with_the_names_of_those_that_exist() -> None:
    with pytest.raises(InvalidArgument, match="'stairs'; there are ladder, backoff, immediate"):
        from_entry(["stairs", 1])
