"""The schedule (B8): messages that are due later."""

from collections.abc import Callable
from itertools import islice
from random import Random

import pytest

from onemq.core.placed import TIMER
from onemq.core.redelivery import DELAY_LEVELS
from onemq.core.schedule import Scheduled
from onemq.core.topics import SCHEDULE_NAME
from onemq.errors import DiskFull, InvalidArgument, NotFound, TooLarge
from onemq.limits import FIRE_PER_TICK_MAX, MESSAGE_BYTES_MAX, SCHEDULE_AHEAD_MS_MAX
from onemq.message import DUE, ID, header, id_of, message_id
from tests.sim.disk import SimDisk
from tests.unit.core.broker import (
    DAY_MS,
    HOUR_MS,
    MINUTE_MS,
    NOW_MS,
    SECOND_MS,
    Answers,
    Broker,
    on_both_engines,
    simulated,
)


@pytest.fixture
def scheduled(broker: Broker) -> Broker:
    """A broker with a topic."""
    broker.topic()
    return broker


def later(broker: Broker, body: bytes, delay_ms: int, **options: object) -> int:
    """Schedules a message; returns the id of its timer."""
    ((place, id),) = broker.send(body, deliver_at_ms=broker.now_ms + delay_ms, **options)
    assert place == TIMER
    return id


def described(broker: Broker, timers: list[tuple[int, int]] | None = None) -> list[Scheduled]:
    found: list[Scheduled] = []
    schedule = broker.core.schedule
    schedule.describe(list(schedule.timers()) if timers is None else timers, found.extend)
    return found


# Due


def test_a_message_is_never_early_and_not_late(scheduled: Broker) -> None:
    """B8"""
    later(scheduled, b"x", 1_500)
    scheduled.pass_ms(1_499)
    assert scheduled.values() == []
    scheduled.pass_ms(1)
    assert scheduled.values() == [b"x"]
    assert scheduled.records()[0][1] == NOW_MS + 1_500


@pytest.mark.parametrize("delay_ms", [*DELAY_LEVELS[::6], 1, 12_345, 40 * DAY_MS, SCHEDULE_AHEAD_MS_MAX])
def test_any_time_within_a_hundred_years_will_do(scheduled: Broker, delay_ms: int) -> None:
    """B8: by level, by any duration, at any time"""
    later(scheduled, b"x", delay_ms)
    scheduled.pass_ms(delay_ms - 1)
    assert scheduled.values() == []
    scheduled.pass_ms(1)
    assert scheduled.values() == [b"x"]


def test_a_time_beyond_a_hundred_years_is_refused(scheduled: Broker) -> None:
    with scheduled.turn() as core, pytest.raises(InvalidArgument, match="hundred years"):
        core.send("t", b"x", deliver_at_ms=scheduled.now_ms + SCHEDULE_AHEAD_MS_MAX + 1)
    assert len(scheduled.core.schedule) == 0


def test_messages_come_in_the_order_of_their_times_then_of_their_sending(scheduled: Broker) -> None:
    """B8"""
    for body, delay_ms in ((b"c", 300), (b"a", 100), (b"d", 300), (b"b", 200)):
        later(scheduled, body, delay_ms)
    scheduled.pass_ms(300)
    assert scheduled.values() == [b"a", b"b", b"c", b"d"]


def test_the_tick_says_when_the_next_message_is_due(scheduled: Broker) -> None:
    later(scheduled, b"x", 700)
    later(scheduled, b"y", 300)
    assert scheduled.core.tick(scheduled.now_ms) == scheduled.now_ms + 300


def test_a_message_is_delivered_once(scheduled: Broker) -> None:
    later(scheduled, b"x", 100)
    for _ in range(3):
        scheduled.pass_ms(100)
    scheduled.pass_ms(-DAY_MS)
    scheduled.pass_ms(2 * DAY_MS)
    assert scheduled.values() == [b"x"]


def test_many_due_at_once_come_in_order_over_several_ticks(scheduled: Broker) -> None:
    """One tick does only so many, so that others get their turn."""
    count = 2 * FIRE_PER_TICK_MAX + 10
    with scheduled.turn() as core:
        for number in range(count):
            core.send("t", b"%d" % number, deliver_at_ms=scheduled.now_ms + SECOND_MS)
    scheduled.now_ms += SECOND_MS
    for expected in (FIRE_PER_TICK_MAX, 2 * FIRE_PER_TICK_MAX, count):
        scheduled.pass_ms(0)
        assert scheduled.core.topics.get("t").partitions[0].end == expected
    assert scheduled.values() == [b"%d" % number for number in range(count)]
    assert len(scheduled.core.schedule) == 0


def test_somebody_who_waits_gets_a_message_the_moment_it_is_due(scheduled: Broker) -> None:
    answers = Answers(scheduled, scheduled.group())
    later(scheduled, b"x", SECOND_MS)
    with scheduled.turn():
        answers.ask("a")
    scheduled.pass_ms(SECOND_MS)
    assert answers.told == {"a": [b"x"]}


def test_a_clock_that_goes_back_delays_and_one_that_jumps_ahead_hurries(scheduled: Broker) -> None:
    """Due by the clock as it is."""
    later(scheduled, b"x", HOUR_MS)
    scheduled.pass_ms(-DAY_MS)
    assert scheduled.values() == []
    scheduled.pass_ms(DAY_MS + HOUR_MS - 1)
    assert scheduled.values() == []
    scheduled.pass_ms(365 * DAY_MS)
    assert scheduled.values() == [b"x"]


# What is delivered


def test_key_body_and_headers_arrive_as_sent_with_the_due_time_and_an_id_of_its_own(scheduled: Broker) -> None:
    """B8"""
    id = later(scheduled, b"body", 1_000, key=b"key", headers=((b"h", b"v"), (b"n", None)))
    place = scheduled.core.topics.find(SCHEDULE_NAME)
    assert place is not None
    scheduled.pass_ms(1_500)
    (record,) = scheduled.records()
    assert (record[2], record[3]) == (b"key", b"body")
    assert [each for each in record[4] if not each[0].startswith(b"_")] == [(b"h", b"v"), (b"n", None)]
    assert header(record[4], DUE) == b"%d" % (NOW_MS + 1_000)
    assert id_of(99, 0, record) == message_id(place.id, 0, id)
    assert {name for name, _ in record[4]} == {b"h", b"n", DUE, ID}


def test_a_message_that_has_an_id_keeps_it(scheduled: Broker) -> None:
    later(scheduled, b"x", 1, headers=((ID, b"mine"),))
    scheduled.pass_ms(1)
    assert id_of(1, 0, scheduled.records()[0]) == "mine"


def test_the_partition_is_the_one_asked_for_or_that_of_the_key(broker: Broker) -> None:
    """B3, B8"""
    broker.topic("t", 5)
    ((by_key, _),) = broker.send(b"now", key=b"k")
    later(broker, b"by key", 1, key=b"k")
    later(broker, b"asked", 1, key=b"k", number=(by_key + 1) % 5)
    broker.pass_ms(1)
    assert broker.values("t", by_key) == [b"now", b"by key"]
    assert broker.values("t", (by_key + 1) % 5) == [b"asked"]


def test_what_could_not_be_sent_cannot_be_scheduled(broker: Broker) -> None:
    broker.topic("t", 2, message_bytes_max=100)
    with broker.turn() as core:
        for error, options in (
            (InvalidArgument, {"number": 2}),
            (TooLarge, {"body": b"x" * 101}),
            (NotFound, {"topic": "gone"}),
        ):
            with pytest.raises(error):
                core.send(**({"topic": "t", "body": b"", "deliver_at_ms": broker.now_ms + 1} | options))  # type: ignore[arg-type]
    assert len(broker.core.schedule) == 0


@pytest.mark.parametrize("size", [100, MESSAGE_BYTES_MAX, 2 * MESSAGE_BYTES_MAX])
def test_a_message_of_the_largest_size_can_be_scheduled_and_arrives(broker: Broker, size: int) -> None:
    """The headers that the schedule adds do not count."""
    broker.topic(message_bytes_max=size)
    later(broker, b"x" * size, 1)
    broker.pass_ms(1)
    assert [len(body or b"") for body in broker.values()] == [size]


@pytest.mark.parametrize("change", ["smaller", "fewer partitions"])
def test_a_message_that_was_taken_arrives_though_its_topic_has_changed(broker: Broker, change: str) -> None:
    """What was acknowledged is not lost."""
    broker.topic("t", 2)
    later(broker, b"x" * 50, 1, number=1)
    with broker.turn() as core:
        if change == "smaller":
            core.topics.alter("t", message_bytes_max=10)
        else:
            core.topics.delete("t")
            core.topics.create("t", 1)
    broker.pass_ms(1)
    assert [body for values in broker.all_values() for body in values] == [b"x" * 50]
    assert len(broker.core.schedule) == 0


@on_both_engines
def test_a_message_whose_topic_is_gone_is_dropped_loudly(make: Callable[..., Broker]) -> None:
    told: list[str] = []
    broker = make(on_trouble=told.append)
    broker.topic("t")
    broker.topic("u")
    later(broker, b"x", 1)
    later(broker, b"y", 1, topic="u")
    with broker.turn() as core:
        core.topics.delete("t")
    broker.pass_ms(1)
    assert told == ["scheduled message 0 cannot be delivered and is dropped: topic 't' does not exist any more"]
    assert broker.values("u") == [b"y"]
    assert len(broker.core.schedule) == 0


def test_due_messages_wait_while_messages_are_refused(scheduled: Broker) -> None:
    """A4: they are not lost above the watermark."""
    later(scheduled, b"x", 1)
    scheduled.core.sending.refusal = DiskFull("full")
    scheduled.core.schedule.tick(scheduled.now_ms + 1)
    assert scheduled.core.topics.get("t").partitions[0].end == 0
    scheduled.core.sending.refusal = None
    scheduled.pass_ms(1)
    assert scheduled.values() == [b"x"]


# Cancelling and moving


def test_a_cancelled_message_is_never_delivered(scheduled: Broker) -> None:
    """B8: cancel"""
    ids = [later(scheduled, body, 100) for body in (b"a", b"b", b"c")]
    with scheduled.turn() as core:
        core.schedule.cancel(ids[1])
    assert len(scheduled.core.schedule) == 2
    scheduled.pass_ms(100)
    assert scheduled.values() == [b"a", b"c"]


def test_only_what_is_still_to_come_can_be_cancelled_or_moved(scheduled: Broker) -> None:
    fired, cancelled = later(scheduled, b"a", 100), later(scheduled, b"b", 200)
    scheduled.pass_ms(100)
    with scheduled.turn() as core:
        core.schedule.cancel(cancelled)
        for id in (fired, cancelled, 99, -1):
            assert not core.schedule.is_live(id)
            with pytest.raises(NotFound, match=f"no scheduled message {id}"):
                core.schedule.cancel(id)
            with pytest.raises(NotFound):
                core.schedule.move(id, scheduled.now_ms + 1)


@pytest.mark.parametrize(
    "moves", [[50], [500], [500, 50], [50, 500], [500, 900, 100], [900, 500, 700], [100], [50, 50]]
)
def test_a_moved_message_comes_at_its_last_time_once(scheduled: Broker, moves: list[int]) -> None:
    """B8: reschedule, earlier and later"""
    id = later(scheduled, b"x", 100)
    with scheduled.turn() as core:
        for delay_ms in moves:
            core.schedule.move(id, NOW_MS + delay_ms)
    assert list(scheduled.core.schedule.timers()) == [(NOW_MS + moves[-1], id)]
    for now in sorted({*moves, 100}):
        scheduled.now_ms = NOW_MS + now
        scheduled.pass_ms(0)
        assert scheduled.values() == ([b"x"] if now >= moves[-1] else [])
    assert header(scheduled.records()[0][4], DUE) == b"%d" % (NOW_MS + moves[-1])
    assert len(scheduled.core.schedule) == 0


def test_a_message_moved_to_the_past_comes_with_the_next_tick(scheduled: Broker) -> None:
    id = later(scheduled, b"x", HOUR_MS)
    with scheduled.turn() as core:
        core.schedule.move(id, 0)
    scheduled.pass_ms(0)
    assert scheduled.values() == [b"x"]


def test_a_message_cannot_be_moved_out_of_reach(scheduled: Broker) -> None:
    id = later(scheduled, b"x", HOUR_MS)
    with scheduled.turn() as core:
        for due_ms in (-1, scheduled.now_ms + SCHEDULE_AHEAD_MS_MAX + 1):
            with pytest.raises(InvalidArgument):
                core.schedule.move(id, due_ms)
    assert list(scheduled.core.schedule.timers()) == [(NOW_MS + HOUR_MS, id)]


def test_a_message_that_is_moved_again_and_again_takes_no_more_room(scheduled: Broker) -> None:
    """Everything is bounded: a timeout that each sign of life puts off."""
    id = later(scheduled, b"x", DAY_MS)
    with scheduled.turn() as core:
        for second in range(1_000):
            core.schedule.move(id, NOW_MS + DAY_MS + second * SECOND_MS)
    assert len(scheduled.core.schedule._wheel) <= 2


# Looking


def test_the_schedule_can_be_listed_by_due_time(scheduled: Broker) -> None:
    """B8: list"""
    for body, delay_ms in ((b"c", 300), (b"a", 100), (b"b", 200), (b"gone", 150)):
        later(scheduled, body, delay_ms, key=b"k" + body)
    with scheduled.turn() as core:
        core.schedule.cancel(3)
    assert described(scheduled) == [
        Scheduled(1, NOW_MS + 100, "t", b"ka", b"a"),
        Scheduled(2, NOW_MS + 200, "t", b"kb", b"b"),
        Scheduled(0, NOW_MS + 300, "t", b"kc", b"c"),
    ]


def test_the_schedule_can_be_listed_page_by_page(scheduled: Broker) -> None:
    """B8: list; pages go on where the last one ended, whatever happens in between"""
    random = Random(7)
    with scheduled.turn() as core:
        for number in range(200):
            core.send("t", b"%d" % number, deliver_at_ms=scheduled.now_ms + random.choice([1_000, DAY_MS, 9 * DAY_MS]))
        for id in range(0, 200, 3):
            core.schedule.move(id, scheduled.now_ms + random.choice([1_000, 2_000, DAY_MS]))
        for id in range(0, 200, 7):
            core.schedule.cancel(id)
    everything = list(scheduled.core.schedule.timers())
    pages: list[tuple[int, int]] = []
    while page := list(islice(scheduled.core.schedule.timers(pages[-1] if pages else None), 30)):
        pages += page
    assert pages == everything == sorted(set(everything))
    assert len(everything) == len(scheduled.core.schedule) == 200 - len(range(0, 200, 7))
    assert [row.id for row in described(scheduled, everything[:30])] == [id for _, id in everything[:30]]


def test_an_empty_schedule_has_no_pages(scheduled: Broker) -> None:
    assert list(scheduled.core.schedule.timers()) == []
    assert described(scheduled) == []


# Restarts


@pytest.mark.parametrize("how", ["kill", "stop", "power cut"])
def test_the_schedule_survives_a_restart(how: str) -> None:
    """B8"""
    broker = simulated()
    broker.topic("t", 2)
    for body, delay_ms in ((b"fired", 10), (b"cancelled", 500), (b"moved", 9_000), (b"kept", 1_000)):
        later(broker, body, delay_ms, number=1)
    broker.pass_ms(10)
    with broker.turn() as core:
        core.schedule.cancel(1)
        core.schedule.move(2, NOW_MS + 2_000)
    broker.restart(how)
    assert [(row.due_ms - NOW_MS, row.body) for row in described(broker)] == [(1_000, b"kept"), (2_000, b"moved")]
    assert later(broker, b"new", 9_000, number=1) == 4
    for now, expected in ((999, 0), (1_000, 1), (1_999, 1), (2_000, 2)):
        broker.now_ms = NOW_MS + now
        broker.pass_ms(0)
        assert broker.values("t", 1)[1:] == [b"kept", b"moved"][:expected]


def test_what_became_due_while_the_broker_was_down_comes_at_once() -> None:
    """B8"""
    broker = simulated()
    broker.topic()
    later(broker, b"x", MINUTE_MS)
    broker.now_ms += DAY_MS
    broker.restart()
    assert broker.values() == [b"x"]
    broker.restart()
    assert broker.values() == [b"x"]


def test_delivery_and_the_end_of_the_timer_are_one_set() -> None:
    """A turn that is lost takes both along: the message comes once."""
    broker = simulated()
    broker.topic()
    later(broker, b"x", 1)
    broker.now_ms += 1
    broker.core.tick(broker.now_ms)
    broker.restart("kill")
    assert broker.values() == [b"x"]


def test_a_damaged_message_is_dropped_loudly_and_the_others_come() -> None:
    told: list[str] = []
    broker = simulated(on_trouble=told.append)
    broker.topic()
    for number in range(4):
        later(broker, b"message %d" % number, SECOND_MS)
    disk = broker.disk
    assert isinstance(disk, SimDisk)
    for path in list(disk.files()):
        if path.endswith(".log") and "journal" not in path:
            file = disk.open(path, read_only=True)
            position = file.read(0, file.size()).find(b"message 1")
            if position >= 0:
                disk.flip_bit(path, position)
    broker.pass_ms(SECOND_MS)
    assert broker.values() == [b"message 0", b"message 2", b"message 3"]
    assert len(told) == 1
    assert told[0].startswith("scheduled message 1 cannot be delivered and is dropped: ")
    assert len(broker.core.schedule) == 0
