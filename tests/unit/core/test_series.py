"""Scheduled messages that come again and again."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from onemq.core import schedule as schedule_module
from onemq.core.placed import TIMER
from onemq.core.schedule import Scheduled
from onemq.errors import InvalidArgument, NotFound, TooLarge
from onemq.limits import SCHEDULE_AHEAD_MS_MAX
from onemq.message import DUE, ID, SERIES_ID, header, id_of
from tests.unit.core.broker import (
    DAY_MS,
    HOUR_MS,
    MINUTE_MS,
    NOW_MS,
    SECOND_MS,
    Broker,
    on_both_engines,
    simulated,
)


@pytest.fixture
def repeated(broker: Broker) -> Broker:
    broker.topic()
    return broker


def again(broker: Broker, body: bytes = b"x", topic: str = "t", **options: Any) -> int:
    with broker.turn() as core:
        place, id = core.send(topic, body, **options)
    assert place == TIMER
    return id


def described(broker: Broker) -> list[Scheduled]:
    found: list[Scheduled] = []
    broker.core.schedule.describe(list(broker.core.schedule.timers()), found.extend)
    return found


def times(broker: Broker, topic: str = "t") -> list[int]:
    """When the messages came, after the start."""
    return [record[1] - NOW_MS for record in broker.records(topic)]


def utc_ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


# Periods


def test_a_message_comes_after_each_period_to_the_millisecond(repeated: Broker) -> None:
    """B9"""
    again(repeated, every_ms=1_500)
    for nth in range(1, 4):
        repeated.pass_ms(1_499)
        assert len(times(repeated)) == nth - 1
        repeated.pass_ms(1)
        assert times(repeated)[-1] == nth * 1_500
    assert len(repeated.core.schedule) == 1


def test_a_delay_comes_first_then_the_periods_so_many_times_in_all(repeated: Broker) -> None:
    """B9: as AMQ_SCHEDULED_DELAY, _PERIOD and _REPEAT"""
    again(repeated, deliver_at_ms=NOW_MS + 100, every_ms=SECOND_MS, times=3)
    for _ in range(50):
        repeated.pass_ms(100)
    assert times(repeated) == [100, 1_100, 2_100]
    assert len(repeated.core.schedule) == 0


def test_a_repeated_message_whose_first_time_is_past_comes_at_once(repeated: Broker) -> None:
    again(repeated, deliver_at_ms=NOW_MS - 5_000, every_ms=SECOND_MS, times=2)
    repeated.pass_ms(0)
    repeated.pass_ms(SECOND_MS)
    assert times(repeated) == [0, SECOND_MS]


def test_lateness_does_not_add_up(repeated: Broker) -> None:
    """Each tick is a little late; the times stay where they belong."""
    again(repeated, every_ms=SECOND_MS)
    for late in (3, 999, 1, 500):
        repeated.now_ms = NOW_MS + (len(times(repeated)) + 1) * SECOND_MS + late
        repeated.pass_ms(0)
    assert [header(record[4], DUE) for record in repeated.records()] == [
        b"%d" % (NOW_MS + nth * SECOND_MS) for nth in range(1, 5)
    ]


def test_each_message_has_an_id_of_its_own_and_names_its_series(repeated: Broker) -> None:
    """B9"""
    id = again(repeated, b"body", key=b"k", headers=((b"h", b"v"), (ID, b"mine")), every_ms=SECOND_MS)
    for _ in range(2):
        repeated.pass_ms(SECOND_MS)
    records = repeated.records()
    assert [(record[2], record[3], record[4][1]) for record in records] == [(b"k", b"body", (b"h", b"v"))] * 2
    name = repeated.core.schedule.parking.message_id(id).encode()
    assert {header(record[4], SERIES_ID) for record in records} == {name}
    topic = repeated.core.topics.get("t")
    assert len({id_of(topic.id, 0, record) for record in records}) == 2
    assert all(header(record[4], ID) is None for record in records)


def test_what_was_missed_comes_once_and_then_it_goes_on_from_now(repeated: Broker) -> None:
    """B9: misfire"""
    again(repeated, every_ms=HOUR_MS, times=4)
    repeated.pass_ms(5 * HOUR_MS + 10 * MINUTE_MS)
    repeated.pass_ms(0)
    assert times(repeated) == [5 * HOUR_MS + 10 * MINUTE_MS]
    assert described(repeated)[0][1] == NOW_MS + 6 * HOUR_MS
    assert described(repeated)[0].left == 3


def test_a_clock_that_goes_back_does_not_make_it_come_again(repeated: Broker) -> None:
    again(repeated, every_ms=HOUR_MS)
    repeated.pass_ms(HOUR_MS)
    repeated.pass_ms(-DAY_MS)
    repeated.pass_ms(DAY_MS + HOUR_MS - 1)
    assert len(times(repeated)) == 1
    repeated.pass_ms(1)
    assert len(times(repeated)) == 2


# Cron


def test_a_cron_expression_says_when(repeated: Broker) -> None:
    """B9"""
    again(repeated, cron="30 22 * * *", times=2)
    first_ms = utc_ms("2023-11-14T22:30:00+00:00")  # NOW_MS is 22:13:20 of that day
    assert [due for due, _ in repeated.core.schedule.timers()] == [first_ms]
    repeated.now_ms = first_ms - 1
    repeated.pass_ms(0)
    assert times(repeated) == []
    repeated.pass_ms(1)
    repeated.pass_ms(DAY_MS)
    repeated.pass_ms(DAY_MS)
    assert times(repeated) == [first_ms - NOW_MS, first_ms - NOW_MS + DAY_MS]


def test_a_cron_expression_goes_by_the_wall_clock_of_its_zone_over_a_change(repeated: Broker) -> None:
    repeated.now_ms = utc_ms("2026-03-28T00:00:00+00:00")
    repeated.pass_ms(0)
    again(repeated, cron="0 8 * * *", zone="Europe/Berlin")
    expected = [utc_ms(f"2026-03-{day}T08:00:00+0{hours}:00") for day, hours in (("28", 1), ("29", 2), ("30", 2))]
    for due_ms in expected:
        assert [due for due, _ in repeated.core.schedule.timers()] == [due_ms]
        repeated.now_ms = due_ms
        repeated.pass_ms(0)
    assert [record[1] for record in repeated.records()] == expected


def test_a_cron_expression_with_a_start_does_not_come_before_it(repeated: Broker) -> None:
    start_ms = utc_ms("2023-12-01T12:00:00+00:00")
    again(repeated, cron="0 12 * * *", deliver_at_ms=start_ms)
    again(repeated, cron="0 12 * * *", deliver_at_ms=start_ms + 1)
    again(repeated, cron="0 12 * * *", deliver_at_ms=NOW_MS - DAY_MS)
    dues = {id: due for due, id in repeated.core.schedule.timers()}
    assert dues == {0: start_ms, 1: start_ms + DAY_MS, 2: utc_ms("2023-11-15T12:00:00+00:00")}


def test_what_a_cron_expression_missed_comes_once(repeated: Broker) -> None:
    again(repeated, cron="*/5 * * * *")
    repeated.pass_ms(DAY_MS)
    repeated.pass_ms(0)
    assert times(repeated) == [DAY_MS]
    (row,) = described(repeated)
    assert 0 < row.due_ms - repeated.now_ms <= 5 * MINUTE_MS


@pytest.mark.parametrize(
    "options",
    [
        {"every_ms": 0},
        {"every_ms": SCHEDULE_AHEAD_MS_MAX + 1},
        {"every_ms": 1, "times": 0},
        {"times": 2},
        {"every_ms": 1, "cron": "* * * * *"},
        {"cron": "* * * *"},
        {"cron": "* * * * *", "zone": "Mars/Olympus"},
        {"every_ms": 1, "producer": (1, 0, 0)},
        {"every_ms": 1, "deliver_at_ms": NOW_MS + 2 * SCHEDULE_AHEAD_MS_MAX},
        {"every_ms": 1, "number": 7},
    ],
)
def test_what_makes_no_sense_is_refused(repeated: Broker, options: dict[str, Any]) -> None:
    with repeated.turn() as core, pytest.raises(InvalidArgument):
        core.send("t", b"x", **options)
    assert len(repeated.core.schedule) == 0


def test_only_so_many_messages_can_repeat(repeated: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule_module, "SERIES_MAX", 1)
    id = again(repeated, every_ms=1)
    with repeated.turn() as core:
        with pytest.raises(TooLarge):
            core.send("t", b"x", every_ms=1)
        core.schedule.cancel(id)
    again(repeated, every_ms=1)


# One id for all of it


def test_a_series_keeps_its_id_for_listing_moving_and_cancelling(repeated: Broker) -> None:
    """B9"""
    id = again(repeated, every_ms=SECOND_MS, times=10)
    other = again(repeated, b"cron", cron="0 0 1 1 *", zone="Europe/Berlin")
    for _ in range(3):
        repeated.pass_ms(SECOND_MS)
    first, second = described(repeated)
    assert first == Scheduled(id, NOW_MS + 4 * SECOND_MS, "t", None, b"x", SECOND_MS, None, None, 7)
    assert (second.id, second.every_ms, second.cron, second.zone, second.left) == (
        other, None, "0 0 1 1 *", "Europe/Berlin", None,
    )  # fmt: skip
    with repeated.turn() as core:
        core.schedule.move(id, NOW_MS + MINUTE_MS)
    repeated.pass_ms(50 * SECOND_MS)
    assert len(times(repeated)) == 3
    repeated.now_ms = NOW_MS + MINUTE_MS
    repeated.pass_ms(0)
    repeated.pass_ms(SECOND_MS)
    assert times(repeated)[3:] == [MINUTE_MS, MINUTE_MS + SECOND_MS]
    with repeated.turn() as core:
        core.schedule.cancel(id)
        with pytest.raises(NotFound):
            core.schedule.cancel(id)
        assert core.schedule.series(id) is None
    repeated.pass_ms(HOUR_MS)
    assert len(times(repeated)) == 5
    assert [row.id for row in described(repeated)] == [other]


def test_pages_of_the_schedule_show_a_series_once(repeated: Broker) -> None:
    ids = [again(repeated, every_ms=SECOND_MS + number) for number in range(5)]
    for _ in range(4):
        repeated.pass_ms(SECOND_MS + 2)
    timers = list(repeated.core.schedule.timers())
    assert sorted(id for _, id in timers) == ids
    assert timers == sorted(timers)


@on_both_engines
def test_a_series_whose_topic_is_gone_ends_loudly(make: Callable[..., Broker]) -> None:
    told: list[str] = []
    broker = make(on_trouble=told.append)
    broker.topic()
    again(broker, every_ms=SECOND_MS)
    broker.pass_ms(SECOND_MS)
    with broker.turn() as core:
        core.topics.delete("t")
    for _ in range(3):
        broker.pass_ms(SECOND_MS)
    assert len(told) == 1
    assert "topic 't' does not exist any more" in told[0]
    assert len(broker.core.schedule) == 0


def test_many_periods_take_no_more_room(repeated: Broker) -> None:
    """A message that comes for ever is stored once, and has one timer."""
    again(repeated, every_ms=10)
    for _ in range(100):
        repeated.pass_ms(10)
    assert repeated.core.schedule.parking.partition.end == 1
    assert len(repeated.core.schedule._wheel) <= 2
    assert len(times(repeated)) == 100


# Restarts


@pytest.mark.parametrize("how", ["kill", "stop", "power cut"])
@pytest.mark.parametrize("options", [{"every_ms": MINUTE_MS}, {"cron": "20 * * * * *"}])
def test_a_series_survives_restarts_between_all_steps(how: str, options: dict[str, Any]) -> None:
    """B9: no time twice, none left out"""
    broker = simulated()
    broker.topic()
    id = again(broker, **options, times=4)
    for nth in range(1, 5):
        broker.restart(how)
        if nth == 3:
            broker.now_ms += MINUTE_MS
            broker.core.tick(broker.now_ms)  # came, but the turn was lost
            broker.restart("kill")
        else:
            broker.pass_ms(MINUTE_MS)
        assert times(broker) == [each * MINUTE_MS for each in range(1, nth + 1)]
        assert [row.left for row in described(broker)] == ([4 - nth] if nth < 4 else [])
        if nth < 4:
            assert [each for _, each in broker.core.schedule.timers()] == [id]
    broker.restart(how)
    broker.pass_ms(DAY_MS)
    assert len(times(broker)) == 4


def test_what_was_missed_while_the_broker_was_down_comes_once() -> None:
    broker = simulated()
    broker.topic()
    again(broker, every_ms=MINUTE_MS)
    broker.now_ms += DAY_MS + 1
    broker.restart()
    broker.restart()
    assert times(broker) == [DAY_MS + 1]
    broker.pass_ms(MINUTE_MS - 2)
    assert len(times(broker)) == 1
    broker.pass_ms(1)
    assert times(broker) == [DAY_MS + 1, DAY_MS + MINUTE_MS]


def test_a_series_that_was_moved_survives_a_restart() -> None:
    broker = simulated()
    broker.topic()
    id = again(broker, every_ms=MINUTE_MS)
    with broker.turn() as core:
        core.schedule.move(id, NOW_MS + 5_000)
    broker.restart("stop")
    broker.pass_ms(5_000)
    broker.pass_ms(MINUTE_MS)
    assert times(broker) == [5_000, 5_000 + MINUTE_MS]
