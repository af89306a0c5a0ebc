"""Housekeeping: retention, queue topics, compaction, the schedule's room, and the disk watermark."""

from collections.abc import Callable

import pytest

from onemq.core.group import Group
from onemq.core.housekeeping import CLEAN_ROUND_MS, DISK_CHECK_MS, ROUND_MS
from onemq.core.redelivery import Immediate
from onemq.core.start import FIRST
from onemq.core.stream_ids import NUMBER_BITS
from onemq.core.topics import HALF_NAME, SCHEDULE_NAME
from onemq.errors import DiskFull, ReadOnly
from tests.sim.disk import SimDisk
from tests.unit.core.broker import (
    DAY_MS,
    HOUR_MS,
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
from tests.unit.core.test_supply import damage_body

KILOBYTE = b"x" * 1_000


def fill(broker: Broker, count: int, topic: str = "t", **options: object) -> None:
    """Sends messages of a kilobyte, each a batch of its own."""
    for _ in range(count):
        broker.send(KILOBYTE, topic=topic, **options)


# Retention (A4)


def damaged(broker: Broker, *offsets: int) -> None:
    """A topic of four messages, each a batch of its own, of which these cannot be read; a group has had two."""
    broker.topic(segment_bytes=4096)
    for number in range(4):
        broker.send(b"message %d" % number + KILOBYTE)
    broker.receive(broker.group(), most=2)
    for offset in offsets:
        damage_body(broker, b"message %d" % offset)


@pytest.mark.parametrize("offsets", [(3,), (1,), (0, 1), (1, 2, 3), (0, 1, 2, 3)])
def test_damage_does_not_stop_retention(local: Broker, offsets: tuple[int, ...]) -> None:
    """A4"""
    damaged(local, *offsets)
    with local.turn() as core:
        core.topics.alter("t", retention_ms=MINUTE_MS)
    local.pass_ms(DAY_MS)
    (partition,) = local.core.topics.get("t").partitions
    assert (partition.start, partition.end) == (4, 4)


@pytest.mark.parametrize("offsets", [(0,), (1,), (0, 1), (0, 1, 2, 3)])
def test_damage_in_flight_does_not_stop_trimming(local: Broker, offsets: tuple[int, ...]) -> None:
    damaged(local, *offsets)
    stream = local.core.streams.of(local.core.topics.get("t"))
    with local.turn() as core:
        assert core.removing.trim(stream, 3) == 3
    cursor = core.groups.get("t", "g").cursors[0]
    assert sorted(cursor.unacknowledged) == sorted(cursor.ghosts) == [each for each in (0, 1) if each not in offsets]


@pytest.mark.parametrize("offsets", [(3,), (2, 3), (1, 2, 3)])
def test_damage_does_not_stop_checkpoints(local: Broker, offsets: tuple[int, ...]) -> None:
    """The last id is that of the newest message that can be read: ids go on rising."""
    damaged(local, *offsets)
    local.restart("stop")
    assert local.core.streams.of(local.core.topics.get("t")).last_id == NOW_MS << NUMBER_BITS | offsets[0] - 1


def test_a_topic_without_retention_keeps_everything(broker: Broker) -> None:
    """A4"""
    broker.topic(segment_bytes=4096)
    fill(broker, 20)
    broker.pass_ms(10 * 365 * DAY_MS)
    assert len(broker.values()) == 20


def test_messages_older_than_the_retention_go_and_younger_ones_stay(broker: Broker) -> None:
    """A4"""
    broker.topic(retention_ms=4 * HOUR_MS)
    for hour in range(12):
        broker.now_ms = NOW_MS + hour * HOUR_MS
        broker.send(b"%d" % hour)
        kept = [int(body or b"") for body in broker.values()]
        assert set(range(hour + 1)) >= set(kept) >= set(range(max(hour - 4, 0), hour + 1))
        assert min(kept) >= hour - 6, "retention must not be much coarser than a quarter of itself"
    broker.pass_ms(5 * HOUR_MS)
    assert broker.values() == []
    partition = broker.core.topics.get("t").partitions[0]
    assert (partition.start, partition.end) == (12, 12)
    assert broker.send(b"next") == [(0, 12)]


def test_each_topic_has_its_own_retention(broker: Broker) -> None:
    """A4"""
    broker.topic("short", retention_ms=HOUR_MS)
    broker.topic("long", retention_ms=DAY_MS)
    broker.send(b"x", topic="short")
    broker.send(b"x", topic="long")
    broker.pass_ms(2 * HOUR_MS)
    assert (broker.values("short"), broker.values("long")) == ([], [b"x"])


def test_a_partition_over_its_size_loses_its_oldest_messages(broker: Broker) -> None:
    """A4"""
    broker.topic("t", 2, retention_bytes=20_000, segment_bytes=4096)
    fill(broker, 60, number=0)
    fill(broker, 5, number=1)
    broker.pass_ms(ROUND_MS)
    assert 20_000 <= broker.stored_bytes() <= 25_000
    offsets = [record[0] for record in broker.records()]
    assert offsets == list(range(60 - len(offsets), 60))
    assert len(broker.values("t", 1)) == 5


def test_groups_go_on_with_what_retention_left(broker: Broker) -> None:
    """A4: lag and low mark follow"""
    broker.topic(retention_ms=HOUR_MS)
    group = broker.group()
    broker.send(b"0", b"1", b"2")
    broker.receive(group, most=1)
    broker.pass_ms(2 * HOUR_MS)
    assert group.lag == 0
    broker.send(b"3")
    assert broker.bodies(group) == [b"3"]


@on_both_engines
def test_purging_waits_for_its_hour(make: Callable[..., Broker]) -> None:
    """A4: deleteWhen"""
    broker = make(purge_hour=4)
    midnight_ms = NOW_MS - NOW_MS % DAY_MS + DAY_MS
    broker.now_ms = midnight_ms
    broker.topic(retention_ms=HOUR_MS)
    broker.send(b"x")
    for hour in (2, 3, 4):
        broker.now_ms = midnight_ms + hour * HOUR_MS - 1
        broker.pass_ms(0)
        assert broker.values() == [b"x"]
    broker.pass_ms(1 + ROUND_MS)
    assert broker.values() == []


@on_both_engines
def test_queue_topics_do_not_wait_for_the_purge_hour(make: Callable[..., Broker]) -> None:
    """A5"""
    broker = make(purge_hour=(NOW_MS // HOUR_MS + 12) % 24)
    broker.topic(kind="queue", segment_bytes=4096)
    group = broker.group()
    fill(broker, 20)
    consume(broker, group)
    broker.pass_ms(ROUND_MS)
    assert len(broker.values()) <= 4


def test_housekeeping_goes_on_though_the_clock_goes_back(broker: Broker) -> None:
    """The next round must not wait until the clock has caught up."""
    broker.pass_ms(365 * DAY_MS)
    broker.pass_ms(-365 * DAY_MS)
    broker.topic(retention_ms=HOUR_MS)
    broker.send(b"x")
    broker.pass_ms(HOUR_MS + 1)
    broker.pass_ms(ROUND_MS)
    assert broker.values() == []


# Queue topics (A5)


def consume(broker: Broker, group: Group) -> None:
    """Receives and acknowledges everything."""
    broker.acknowledge(group, *[record[0] for _, record, _ in broker.receive(group, most=10_000)])


def test_a_queue_drops_what_all_groups_have_acknowledged_and_gives_the_disk_back(broker: Broker) -> None:
    """A5"""
    broker.topic(kind="queue", segment_bytes=4096)
    one, two = broker.group(name="one"), broker.group(name="two")
    fill(broker, 40)
    full = broker.stored_bytes()
    consume(broker, one)
    broker.pass_ms(ROUND_MS)
    assert broker.stored_bytes() == full, "the other group still needs them"
    consume(broker, two)
    broker.pass_ms(ROUND_MS)
    assert broker.stored_bytes() <= 4096
    assert broker.core.topics.get("t").partitions[0].start >= 36
    assert (one.lag, two.lag) == (0, 0)


def test_a_stream_keeps_what_all_groups_have_acknowledged(broker: Broker) -> None:
    """A5"""
    broker.topic(kind="stream", segment_bytes=4096)
    group = broker.group()
    fill(broker, 40)
    consume(broker, group)
    broker.pass_ms(MINUTE_MS)
    assert len(broker.values()) == 40


def test_a_queue_without_groups_keeps_its_messages_for_those_who_come(broker: Broker) -> None:
    """C1: waiting messages kept for those who come later"""
    broker.topic(kind="queue", segment_bytes=4096)
    fill(broker, 20)
    broker.pass_ms(MINUTE_MS)
    assert len(broker.bodies(broker.group())) == 20


def test_a_queue_keeps_what_is_in_flight_or_waits_for_a_retry(broker: Broker) -> None:
    """A5"""
    broker.topic(kind="queue", segment_bytes=4096)
    group = broker.group()
    fill(broker, 20)
    broker.receive(group)
    broker.fail(group, 8, delay_ms=HOUR_MS)
    broker.acknowledge(group, *range(8), *range(9, 20))
    broker.pass_ms(MINUTE_MS)
    assert 4 <= broker.core.topics.get("t").partitions[0].start <= 8
    broker.pass_ms(HOUR_MS)
    assert [record[0] for _, record, _ in broker.receive(group)] == [8]


def test_one_old_message_does_not_keep_a_queue_from_giving_the_disk_back(broker: Broker) -> None:
    """A5: what lies behind it is cleaned away."""
    broker.topic(kind="queue", segment_bytes=1 << 20)
    group = broker.group()
    for _ in range(15):
        broker.send(*[KILOBYTE] * 200)
        handed = broker.receive(group, most=200)
        broker.acknowledge(group, *[record[0] for _, record, _ in handed if record[0] != 3])
    assert broker.stored_bytes() > 3_000_000
    broker.pass_ms(CLEAN_ROUND_MS)
    assert broker.stored_bytes() < 1_500_000
    broker.fail(group, 3)
    assert [record[0] for _, record, _ in broker.receive(group)] == [3]
    broker.send(b"next")
    assert broker.bodies(group) == [b"next"]


@pytest.mark.parametrize("is_full", [False, True])
def test_cleaning_rests_on_nothing_that_is_not_stored_yet(is_full: bool) -> None:
    """Retention and cleaning are due in one turn, which is lost: what retention let go must still be in the files."""
    broker = simulated()
    broker.topic(kind="queue", segment_bytes=1 << 20, retention_ms=HOUR_MS)
    group = broker.group()
    for _ in range(15):
        broker.send(*[KILOBYTE] * 200)
        handed = broker.receive(group, most=200)
        broker.acknowledge(group, *[record[0] for _, record, _ in handed if record[0] != 3])
    if is_full:
        limited(broker, 0.9)
    broker.core.tick(broker.now_ms + 2 * HOUR_MS)
    assert broker.core.topics.get("t").partitions[0].start > 3
    assert broker.stored_bytes() < 1_500_000
    broker.restart()
    group = broker.core.groups.get("t", "g")
    broker.fail(group, 3)
    assert [record[0] for _, record, _ in broker.receive(group)] == [3]


# Compaction (A8)


def test_a_compacted_topic_keeps_the_last_message_of_each_key(broker: Broker) -> None:
    """A8"""
    broker.topic(compact=True, segment_bytes=4096)
    for number in range(60):
        broker.send(b"%d" % number + KILOBYTE, key=b"k%d" % (number % 3))
    broker.send(b"no key")
    broker.pass_ms(CLEAN_ROUND_MS)
    kept = {record[2]: record[0] for record in broker.records()}
    assert kept == {b"k0": 57, b"k1": 58, b"k2": 59, None: 60}
    assert len(broker.records()) < 12
    assert broker.core.topics.get("t").partitions[0].end == 61


def test_a_tombstone_goes_after_a_day(broker: Broker) -> None:
    """A8"""
    topic = broker.topic(compact=True, segment_bytes=4096)
    broker.send(b"value", key=b"k")
    with broker.turn() as core:
        core.sending.send_batch(topic, 0, sealed(None, key=b"k"))
    fill(broker, 10, key=b"other")
    broker.pass_ms(CLEAN_ROUND_MS)
    assert [record[3] for record in broker.records() if record[2] == b"k"] == [None]
    fill(broker, 20, key=b"other")
    broker.pass_ms(DAY_MS + CLEAN_ROUND_MS)
    assert [record for record in broker.records() if record[2] == b"k"] == []


def test_a_topic_that_is_not_compacted_keeps_all_messages_of_a_key(broker: Broker) -> None:
    broker.topic(segment_bytes=4096)
    fill(broker, 20, key=b"k")
    broker.pass_ms(CLEAN_ROUND_MS)
    assert len(broker.values()) == 20


# The schedule's room


def test_messages_that_were_delivered_leave_the_schedule(broker: Broker) -> None:
    broker.topic()
    for _ in range(12):
        with broker.turn() as core:
            for _ in range(100):
                core.send("t", KILOBYTE, deliver_at_ms=broker.now_ms + SECOND_MS)
    place = broker.core.topics.find(SCHEDULE_NAME)
    assert place is not None
    stored = broker.log.stored_bytes(place.id, 0)
    assert stored > 1_200_000
    for _ in range(3):
        broker.pass_ms(SECOND_MS)
    broker.pass_ms(ROUND_MS)
    assert broker.log.stored_bytes(place.id, 0) == 0
    assert len(broker.values()) == 1_200


@on_both_engines
def test_one_far_message_does_not_keep_the_schedule_from_giving_the_disk_back(make: Callable[..., Broker]) -> None:
    broker = make()
    broker.topic()
    with broker.turn() as core:
        core.send("t", b"far", deliver_at_ms=broker.now_ms + 365 * DAY_MS)
        place = core.topics.find(SCHEDULE_NAME)
        assert place is not None
        core.topics._apply_alter((2, place.id, 1, {"kind": "queue", "segment_bytes": 4096}))
        core.stage.create(place.place())
        core.stage.entry((2, place.id, 1, {"kind": "queue", "segment_bytes": 4096}), sync=True)
    for _ in range(12):
        with broker.turn() as core:
            for _ in range(100):
                core.send("t", KILOBYTE, deliver_at_ms=broker.now_ms + SECOND_MS)
    for _ in range(3):
        broker.pass_ms(SECOND_MS)
    broker.pass_ms(CLEAN_ROUND_MS)
    assert broker.log.stored_bytes(place.id, 0) < 250_000
    broker.pass_ms(365 * DAY_MS)
    assert broker.values()[-1] == b"far"


def test_half_messages_that_ended_give_the_disk_back(broker: Broker) -> None:
    broker.topic()
    for name in ("committed", "rolled back"):
        for _ in range(6):
            with broker.turn() as core:
                for _ in range(100):
                    core.halves.add(name, "producers", core.topics.get("t"), KILOBYTE)
    place = broker.core.topics.find(HALF_NAME)
    assert place is not None
    assert broker.log.stored_bytes(place.id, 0) > 1_200_000
    with broker.turn() as core:
        core.halves.commit("committed")
        core.halves.rollback("rolled back")
    broker.pass_ms(ROUND_MS)
    assert broker.log.stored_bytes(place.id, 0) == 0
    assert len(broker.values()) == 600


# The watermark (A4)


def limited(broker: Broker, used_ratio: float) -> None:
    """Makes the disk as full as that."""
    assert isinstance(broker.disk, SimDisk)
    broker.disk.limit_bytes = int(broker.disk.used() / used_ratio)


@pytest.fixture
def full() -> Broker:
    """A broker with a message in flight and one waiting, whose disk is over the watermark of 88 %."""
    broker = simulated()
    broker.topic(segment_bytes=4096, message_bytes_max=10_000)
    broker.topic("queue", kind="queue", segment_bytes=4096)
    fill(broker, 60)
    broker.receive(broker.group(policy=Immediate(1)), most=1)
    limited(broker, 0.9)
    broker.pass_ms(DISK_CHECK_MS)
    return broker


def test_above_the_watermark_messages_are_refused_with_the_reason_and_what_to_do(full: Broker) -> None:
    """A4"""
    with full.turn() as core, pytest.raises(DiskFull, match=r"9\d% full, over the watermark of 88%.*delete topics"):
        core.send("t", b"x")
    assert full.core.read_only is not None


def test_above_the_watermark_reads_deliveries_and_acknowledgements_go_on(full: Broker) -> None:
    """A4"""
    group = full.core.groups.get("t", "g")
    assert len(full.values()) == 60
    assert full.acknowledge(group, 0) == 1
    assert len(full.receive(group, most=2)) == 2
    full.fail(group, 1)
    assert len(full.deaths()) == 1
    with full.turn() as core:
        core.groups.leave(group, "m")
        core.create_group("t", "h", FIRST)
        core.groups.delete(core.groups.get("t", "h"))


def test_when_there_is_room_again_messages_are_taken(full: Broker) -> None:
    """A4"""
    limited(full, 0.5)
    full.pass_ms(DISK_CHECK_MS)
    full.send(b"welcome")
    assert full.core.read_only is None


def test_the_watermark_is_a_setting() -> None:
    """A4"""
    broker = simulated(disk_watermark=0.5)
    broker.topic()
    fill(broker, 60)
    limited(broker, 0.6)
    broker.pass_ms(DISK_CHECK_MS)
    with broker.turn() as core, pytest.raises(DiskFull, match="watermark of 50%"):
        core.send("t", b"x")


def test_above_the_watermark_what_may_go_goes_at_once_whatever_the_purge_hour() -> None:
    """A4"""
    broker = simulated(purge_hour=(NOW_MS // HOUR_MS + 12) % 24)
    broker.topic(retention_ms=MINUTE_MS, segment_bytes=4096)
    fill(broker, 60)
    broker.pass_ms(2 * MINUTE_MS)
    assert len(broker.values()) == 60
    limited(broker, 0.9)
    broker.pass_ms(DISK_CHECK_MS)
    assert broker.values() == []


def test_due_messages_wait_above_the_watermark_and_come_when_there_is_room(full: Broker) -> None:
    """A4, B8"""
    limited(full, 0.5)
    full.pass_ms(DISK_CHECK_MS)
    full.send(b"due", deliver_at_ms=full.now_ms + DISK_CHECK_MS)
    limited(full, 0.95)
    full.pass_ms(DISK_CHECK_MS)
    full.pass_ms(DISK_CHECK_MS)
    assert b"due" not in full.values()
    limited(full, 0.5)
    full.pass_ms(DISK_CHECK_MS)
    full.pass_ms(DISK_CHECK_MS)
    assert full.values()[-1] == b"due"


def test_the_log_in_memory_has_no_watermark() -> None:
    broker = in_memory(disk_watermark=0.01)
    broker.topic()
    broker.pass_ms(MINUTE_MS)
    broker.send(b"x")
    assert broker.values() == [b"x"]
    assert broker.core.read_only is None


# The rounds


def test_the_tick_comes_at_least_once_a_second(broker: Broker) -> None:
    """Someone must look at the disk."""
    assert broker.core.tick(broker.now_ms) == broker.now_ms + DISK_CHECK_MS


@on_both_engines
def test_housekeeping_does_not_disturb_those_who_wait(make: Callable[..., Broker]) -> None:
    broker = make()
    broker.topic(kind="queue", segment_bytes=4096, retention_ms=HOUR_MS)
    answers = Answers(broker, broker.group())
    with broker.turn():
        answers.ask("a", wait_ms=DAY_MS)
    for _ in range(5):
        broker.pass_ms(MINUTE_MS)
    broker.send(b"x")
    assert answers.told == {"a": [b"x"]}


def test_a_broker_that_only_reads_does_not_ask_for_rounds_that_it_skips() -> None:
    broker = in_memory()
    broker.pass_ms(ROUND_MS)
    broker.log.failure = ReadOnly("the disk is gone")
    for _ in range(3):
        broker.pass_ms(ROUND_MS)
    due_ms = broker.core.tick(broker.now_ms)
    assert due_ms is not None
    assert due_ms > broker.now_ms
