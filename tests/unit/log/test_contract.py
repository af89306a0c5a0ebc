"""What every engine promises. To run it over another one, add a line to `ENGINES`."""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from onemq.errors import NotFound, OffsetOutOfRange
from onemq.log.batch import read_header, walk
from onemq.log.batch_builder import BatchBuilder
from onemq.log.disk import OsDisk
from onemq.log.engine import Batch, Log, TopicPlace, WriteSet
from onemq.log.local import LocalLog
from onemq.log.memory import MemoryLog
from onemq.log.records import NO_HEADERS, decode
from tests.sim.disk import SimDisk
from tests.unit.log.helpers import (
    TOPIC,
    append,
    batch,
    create,
    entries,
    offset_at,
    place,
    put,
    read,
    records,
    sealed,
    try_append,
    values,
)


def local_on_files(folder: Path) -> Log:
    log = LocalLog(OsDisk(folder), index_interval_bytes=256)
    log.open()
    return log


def local_in_simulation(_: Path) -> Log:
    log = LocalLog(SimDisk(Random(1)), index_interval_bytes=256)
    log.open()
    return log


def memory(_: Path) -> Log:
    return MemoryLog()


ENGINES: dict[str, Callable[[Path], Log]] = {
    "local files": local_on_files,
    "local simulated": local_in_simulation,
    "memory": memory,
}


@pytest.fixture(params=ENGINES)
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Log]:
    engine = ENGINES[request.param](tmp_path)
    yield engine
    engine.close()


def put_many(log: Log, count: int, size: int = 100) -> list[bytes | None]:
    """One value per batch; returns them."""
    made: list[bytes | None] = [b"%05d" % number + bytes(size) for number in range(count)]
    for number, value in enumerate(made):
        put(log, value, timestamp_ms=1000 + number, sync=False)
    return made


def clean(log: Log, keep: Callable[[int], bool]) -> int:
    freed: list[int] = []
    log.clean(TOPIC, 0, keep, freed.append)
    assert len(freed) == 1
    return freed[0]


def compact(log: Log, tombstones_before_ms: int = 0) -> int:
    freed: list[int] = []
    log.compact(TOPIC, 0, tombstones_before_ms, freed.append)
    assert len(freed) == 1
    return freed[0]


# Appending and reading


def test_a_new_partition_is_empty_and_starts_at_zero(log: Log) -> None:
    create(log, partitions=3)
    for partition in range(3):
        assert log.bounds(TOPIC, partition) == (0, 0)
        assert read(log, 0, partition=partition) == b""
        assert log.stored_bytes(TOPIC, partition) == 0


def test_what_is_appended_is_read_back_byte_for_byte(log: Log) -> None:
    create(log)
    first, second = sealed(0, [b"a", None, b""]), sealed(3, [b"b"])
    append(log, WriteSet(batches=[Batch(TOPIC, 0, 0, first, True), Batch(TOPIC, 0, 3, second, False)]))
    assert read(log, 0) == first + second
    assert log.bounds(TOPIC, 0) == (0, 4)
    assert log.stored_bytes(TOPIC, 0) == len(first + second)


@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("journaled", [False, True])
def test_a_set_is_acknowledged_once_and_can_then_be_read(log: Log, sync: bool, journaled: bool) -> None:
    create(log)
    outcome = try_append(log, WriteSet(batches=[batch(log, b"x", journaled=journaled)], sync=sync))
    assert outcome.good
    assert values(log) == [b"x"]
    assert log.failure is None


def test_one_set_reaches_several_topics_and_partitions(log: Log) -> None:
    create(log, 1, partitions=2)
    create(log, 2)
    writes = WriteSet(
        batches=[
            batch(log, b"a", topic=1, partition=1),
            batch(log, b"b", b"c", topic=2, journaled=False),
            batch(log, b"d", topic=1, partition=0),
        ]
    )
    append(log, writes)
    assert (values(log, 1, 0), values(log, 1, 1), values(log, 2, 0)) == ([b"d"], [b"a"], [b"b", b"c"])


def test_a_topic_can_be_created_and_filled_in_one_set(log: Log) -> None:
    data = sealed(0, [b"x"])
    append(log, WriteSet(creates=[place(7)], batches=[Batch(7, 0, 0, data, True)]))
    assert values(log, 7) == [b"x"]


def test_several_batches_of_one_set_follow_each_other_over_segments(log: Log) -> None:
    create(log, segment_bytes=300)
    made = [Batch(TOPIC, 0, offset, sealed(offset, [b"%d" % offset + bytes(100)]), True) for offset in range(20)]
    append(log, WriteSet(batches=made))
    assert [record[0] for record in records(log)] == list(range(20))


def test_keys_headers_and_times_come_back(log: Log) -> None:
    create(log)
    builder = BatchBuilder(0, 500)
    builder.add(500, b"k", b"v", b"\x02\x02h\x02w")
    builder.add(900, None, None, NO_HEADERS)
    append(log, WriteSet(batches=[Batch(TOPIC, 0, 0, builder.seal(), True)]))
    assert records(log) == [(0, 500, b"k", b"v", ((b"h", b"w"),)), (1, 900, None, None, ())]


@pytest.mark.parametrize("bytes_max", [1, 200, 500, 1 << 20])
def test_reading_gives_whole_batches_up_to_the_size_but_at_least_one(log: Log, bytes_max: int) -> None:
    create(log, segment_bytes=1000)
    made = put_many(log, 50)
    assert values(log) == made
    data = read(log, 20, bytes_max)
    headers = [header for _, header in walk(data)]
    assert headers[0].base_offset == 20
    assert sum(header.size for header in headers) == len(data)
    assert len(headers) == 1 or len(data) <= bytes_max


def test_a_batch_larger_than_any_buffer_is_read_whole(log: Log) -> None:
    create(log)
    put(log, b"small")
    put(log, b"x" * (3 << 20))
    put(log, b"after")
    assert [len(value or b"") for value in values(log)] == [5, 3 << 20, 5]
    assert read_header(read(log, 1, 1)).record_count == 1


def test_reading_inside_a_batch_gives_the_batch(log: Log) -> None:
    create(log)
    put(log, b"a", b"b", b"c", b"d")
    data = read(log, 2)
    assert read_header(data).base_offset == 0
    assert [record[3] for record in decode(data, 0, read_header(data))] == [b"a", b"b", b"c", b"d"]


def test_reading_at_the_end_gives_nothing(log: Log) -> None:
    create(log)
    put(log, b"a", b"b")
    assert read(log, 2) == b""


@pytest.mark.parametrize("offset", [-1, 3])
def test_reading_outside_the_bounds_is_refused(log: Log, offset: int) -> None:
    create(log)
    put(log, b"a", b"b")
    with pytest.raises(OffsetOutOfRange, match="0 to 2"):
        read(log, offset)


def test_reading_at_a_gap_goes_on_with_the_next_batch(log: Log) -> None:
    create(log, segment_bytes=150)
    append(log, WriteSet(batches=[Batch(TOPIC, 0, 0, sealed(0, [b"a"]), True)]))
    append(log, WriteSet(batches=[Batch(TOPIC, 0, 10, sealed(10, [b"b"]), True)]))
    append(log, WriteSet(batches=[Batch(TOPIC, 0, 5000, sealed(5000, [b"c"]), True)]))
    assert log.bounds(TOPIC, 0) == (0, 5001)
    for offset, expected in [(1, 10), (9, 10), (10, 10), (11, 5000), (4999, 5000)]:
        assert read_header(read(log, offset, 1)).base_offset == expected


def test_every_offset_can_be_read_in_any_order(log: Log) -> None:
    create(log, segment_bytes=2000)
    put_many(log, 100)
    offsets = list(range(100))
    Random(5).shuffle(offsets)
    for offset in offsets:
        assert read_header(read(log, offset, 1)).base_offset == offset


# Topics


@pytest.mark.parametrize(("topic", "partition"), [(1, 1), (2, 0)])
def test_a_partition_that_is_not_there_is_not_found(log: Log, topic: int, partition: int) -> None:
    create(log)
    calls: list[Callable[[], object]] = [
        lambda: log.bounds(topic, partition),
        lambda: log.read(topic, partition, 0, 1, print),
        lambda: log.offset_at(topic, partition, 0, print),
        lambda: log.latest_before(topic, partition, 0),
        lambda: log.expired(topic, partition, 0, 0, None),
        lambda: log.stored_bytes(topic, partition),
        lambda: log.clean(topic, partition, lambda offset: True, print),
        lambda: log.compact(topic, partition, 0, print),
    ]
    for call in calls:
        with pytest.raises(NotFound, match=f"partition {partition} of topic number {topic}"):
            call()


@pytest.mark.parametrize("wrong", ["batch", "trim"])
def test_a_set_for_a_partition_that_is_not_there_leaves_nothing(log: Log, wrong: str) -> None:
    create(log)
    put(log, b"before")
    writes = WriteSet(creates=[place(5)], batches=[batch(log, b"x")], entries=[("never",)])
    if wrong == "batch":
        writes.batches.append(Batch(9, 0, 0, sealed(0, [b"y"]), True))
    else:
        writes.trims.append((TOPIC, 4, 1))
    with pytest.raises(NotFound):
        log.append(writes, lambda error: None)
    assert values(log) == [b"before"]
    with pytest.raises(NotFound):
        log.bounds(5, 0)
    assert log.failure is None
    put(log, b"after")
    assert values(log) == [b"before", b"after"]
    assert ["never"] not in entries(log)


def test_more_partitions_can_be_added_and_the_old_ones_stay(log: Log) -> None:
    create(log)
    put(log, b"a")
    create(log, partitions=3)
    put(log, b"b", partition=2)
    assert (values(log), values(log, partition=1), values(log, partition=2)) == ([b"a"], [], [b"b"])


def test_fewer_partitions_change_nothing(log: Log) -> None:
    create(log, partitions=2)
    put(log, b"a", partition=1)
    create(log, partitions=1)
    assert values(log, partition=1) == [b"a"]


def test_a_deleted_topic_is_gone_and_the_others_stay(log: Log) -> None:
    create(log, 1)
    create(log, 2)
    put(log, b"a", topic=1)
    put(log, b"b", topic=2)
    append(log, WriteSet(deletes=[1]))
    with pytest.raises(NotFound):
        log.bounds(1, 0)
    assert values(log, 2) == [b"b"]


def test_deleting_a_topic_that_is_not_there_changes_nothing(log: Log) -> None:
    create(log)
    append(log, WriteSet(deletes=[99]))
    assert log.bounds(TOPIC, 0) == (0, 0)


def test_a_topic_of_the_same_name_and_another_number_is_another_topic(log: Log) -> None:
    append(log, WriteSet(creates=[TopicPlace(1, "orders", 1, 1 << 20)]))
    put(log, b"old")
    append(log, WriteSet(deletes=[1], creates=[TopicPlace(2, "orders", 1, 1 << 20)]))
    assert log.bounds(2, 0) == (0, 0)
    put(log, b"new", topic=2)
    assert values(log, 2) == [b"new"]


@pytest.mark.parametrize("name", ["a/b", "..", ".", "ä ö", "%", "x" * 250, "a~1", "CON", "a\\b"])
def test_any_name_will_do(log: Log, name: str) -> None:
    append(log, WriteSet(creates=[TopicPlace(1, name, 1, 1 << 20)]))
    put(log, b"x")
    assert values(log) == [b"x"]


# Times


def test_the_offset_of_a_time_is_the_first_message_at_or_after_it(log: Log) -> None:
    create(log, segment_bytes=700)
    put_many(log, 60)
    assert offset_at(log, 0) == 0
    assert offset_at(log, 1000) == 0
    for number in range(60):
        assert offset_at(log, 1000 + number) == number
    assert offset_at(log, 1060) == 60


def test_the_highest_time_before_an_offset_is_that_of_whole_batches_before_it(log: Log) -> None:
    create(log, segment_bytes=700)
    times_ms = [1000 + 37 * number % 50 for number in range(60)]
    for number, time_ms in enumerate(times_ms):
        put(log, b"a%d" % number, b"b", timestamp_ms=time_ms)
    for offset in range(121):
        expected = max(times_ms[: offset // 2], default=-1)
        assert log.latest_before(TOPIC, 0, offset) == expected, offset


def test_a_time_is_found_inside_a_batch(log: Log) -> None:
    create(log)
    builder = BatchBuilder(0, 100)
    for timestamp_ms in (100, 300, 200, 400):
        builder.add(timestamp_ms, None, b"", NO_HEADERS)
    append(log, WriteSet(batches=[Batch(TOPIC, 0, 0, builder.seal(), True)]))
    assert [offset_at(log, time_ms) for time_ms in (50, 150, 250, 350, 450)] == [0, 1, 1, 3, 4]


def test_times_that_go_back_do_not_hide_later_messages(log: Log) -> None:
    create(log, segment_bytes=300)
    times = [100, 900, 50, 60, 70, 950, 10, 980]
    for timestamp_ms in times:
        put(log, bytes(90), timestamp_ms=timestamp_ms)
    for wanted in (0, 60, 100, 101, 901, 951, 981):
        expected = next((offset for offset, time_ms in enumerate(times) if time_ms >= wanted), len(times))
        assert offset_at(log, wanted) == expected


def test_a_time_is_not_found_in_what_was_trimmed(log: Log) -> None:
    create(log)
    builder = BatchBuilder(0, 100)
    for timestamp_ms in (900, 50, 800):
        builder.add(timestamp_ms, None, b"", NO_HEADERS)
    append(log, WriteSet(batches=[Batch(TOPIC, 0, 0, builder.seal(), True)]))
    append(log, WriteSet(trims=[(TOPIC, 0, 1)]))
    assert offset_at(log, 60) == 2
    assert offset_at(log, 850) == 3


def test_a_time_is_not_found_in_what_was_cleaned(log: Log) -> None:
    create(log, segment_bytes=100)
    for timestamp_ms in (100, 900, 200, 300, 400):
        put(log, b"v", timestamp_ms=timestamp_ms)
    clean(log, lambda offset: offset != 1)
    assert offset_at(log, 250) == 3
    assert offset_at(log, 500) == 5


# Trimming and expiry


def test_a_trim_raises_the_first_offset(log: Log) -> None:
    create(log, segment_bytes=300)
    put_many(log, 20)
    append(log, WriteSet(trims=[(TOPIC, 0, 7)]))
    assert log.bounds(TOPIC, 0) == (7, 20)
    assert [record[0] for record in records(log)] == list(range(7, 20))
    with pytest.raises(OffsetOutOfRange):
        read(log, 6)


def test_a_trim_gives_space_back(log: Log) -> None:
    create(log, segment_bytes=300)
    put_many(log, 20)
    before = log.stored_bytes(TOPIC, 0)
    append(log, WriteSet(trims=[(TOPIC, 0, 18)]))
    assert log.stored_bytes(TOPIC, 0) < before / 4


def test_a_trim_never_goes_back(log: Log) -> None:
    create(log)
    put_many(log, 10)
    append(log, WriteSet(trims=[(TOPIC, 0, 5), (TOPIC, 0, 3)]))
    assert log.bounds(TOPIC, 0) == (5, 10)


@pytest.mark.parametrize("start", [10, 999])
def test_everything_can_be_trimmed_and_offsets_go_on(log: Log, start: int) -> None:
    create(log)
    put_many(log, 10)
    append(log, WriteSet(trims=[(TOPIC, 0, start)]))
    assert log.bounds(TOPIC, 0) == (10, 10)
    assert log.stored_bytes(TOPIC, 0) == 0
    assert read(log, 10) == b""
    put(log, b"next")
    assert [record[:1] + record[3:4] for record in records(log)] == [(10, b"next")]


def test_a_set_may_append_and_trim_the_same_partition(log: Log) -> None:
    create(log)
    put(log, b"a", b"b")
    append(log, WriteSet(batches=[batch(log, b"c", b"d")], trims=[(TOPIC, 0, 3)]))
    assert values(log) == [b"d"]


def test_nothing_expires_unless_asked(log: Log) -> None:
    create(log, segment_bytes=300)
    put_many(log, 20)
    assert log.expired(TOPIC, 0, None, None, None) == 0


def test_what_is_older_than_a_time_expires_but_nothing_younger(log: Log) -> None:
    create(log, segment_bytes=300)
    put_many(log, 20)
    start = log.expired(TOPIC, 0, 1012, None, None)
    assert 0 < start <= 12
    assert log.expired(TOPIC, 0, 5000, None, None) == 20


def test_what_is_over_a_size_expires_but_no_more(log: Log) -> None:
    create(log, segment_bytes=300)
    put_many(log, 20)
    total = log.stored_bytes(TOPIC, 0)
    start = log.expired(TOPIC, 0, None, total // 2, None)
    assert start > 0
    append(log, WriteSet(trims=[(TOPIC, 0, start)]))
    assert total // 2 <= log.stored_bytes(TOPIC, 0) < total
    assert log.expired(TOPIC, 0, None, total, None) == start


def test_what_lies_below_an_offset_expires_but_nothing_above(log: Log) -> None:
    create(log, segment_bytes=300)
    put_many(log, 20)
    assert 0 < log.expired(TOPIC, 0, None, None, 13) <= 13
    assert log.expired(TOPIC, 0, None, None, 0) == 0


# Cleaning


def test_cleaning_drops_refused_records_and_keeps_the_offsets_of_the_others(log: Log) -> None:
    create(log, segment_bytes=300)
    put_many(log, 30)
    before = log.stored_bytes(TOPIC, 0)
    freed = clean(log, lambda offset: offset % 3 == 0)
    assert freed > 0
    assert log.stored_bytes(TOPIC, 0) == before - freed
    assert log.bounds(TOPIC, 0) == (0, 30)
    found = [record[0] for record in records(log)]
    assert {offset for offset in found if offset < 24} == set(range(0, 24, 3))
    assert set(range(0, 30, 3)) <= set(found)
    for offset in range(24):
        assert read_header(read(log, offset, 1)).base_offset == (offset + 2) // 3 * 3


def test_cleaning_thins_batches_and_leaves_the_rest_of_the_record_alone(log: Log) -> None:
    create(log, segment_bytes=100)
    builder = BatchBuilder(0, 100)
    for number in range(5):
        builder.add(100 + number, b"k%d" % number, b"v%d" % number, b"\x02\x02h\x01")
    append(log, WriteSet(batches=[Batch(TOPIC, 0, 0, builder.seal(), True)]))
    put(log, bytes(200))
    clean(log, lambda offset: offset not in (0, 2, 4))
    expected = [(number, 100 + number, b"k%d" % number, b"v%d" % number, ((b"h", None),)) for number in (1, 3)]
    assert records(log)[:2] == expected
    assert read_header(read(log, 0, 1)).next_offset == 5


def test_cleaning_that_refuses_nothing_frees_nothing(log: Log) -> None:
    create(log, segment_bytes=300)
    made = put_many(log, 30)
    assert clean(log, lambda offset: True) == 0
    assert values(log) == made


def test_everything_but_the_newest_piece_can_be_cleaned_away(log: Log) -> None:
    create(log, segment_bytes=300)
    put_many(log, 30)
    clean(log, lambda offset: False)
    assert log.bounds(TOPIC, 0) == (0, 30)
    assert all(record[0] >= 24 for record in records(log))
    put(log, b"next")
    assert records(log)[-1][0] == 30


def test_cleaning_again_drops_more(log: Log) -> None:
    create(log, segment_bytes=300)
    put_many(log, 30)
    clean(log, lambda offset: offset % 2 == 0)
    assert clean(log, lambda offset: offset % 4 == 0) > 0
    assert {record[0] for record in records(log) if record[0] < 24} == set(range(0, 24, 4))


def test_compaction_keeps_the_last_record_of_each_key_and_those_without_key(log: Log) -> None:
    create(log, segment_bytes=200)
    for number in range(30):
        put(log, b"%d" % number + bytes(60), key=b"k%d" % (number % 3) if number % 5 else None)
    assert compact(log) > 0
    found = records(log)
    newest = {record[2]: record[0] for record in found if record[2]}
    assert newest == {b"k0": 27, b"k1": 28, b"k2": 29}
    assert {record[0] for record in found if record[2] is None} == set(range(0, 30, 5))
    assert all(record[0] >= 26 for record in found if record[2])


def test_compaction_drops_old_records_without_value(log: Log) -> None:
    create(log, segment_bytes=100)
    put(log, b"a", key=b"gone", timestamp_ms=100)
    put(log, None, key=b"gone", timestamp_ms=200)
    put(log, None, key=b"young", timestamp_ms=900)
    for number in range(4):
        put(log, bytes(80), key=b"k%d" % number, timestamp_ms=1000)
    compact(log, tombstones_before_ms=500)
    assert [record[2] for record in records(log)] == [b"young", b"k0", b"k1", b"k2", b"k3"]


def test_compaction_of_an_empty_partition_answers_at_once(log: Log) -> None:
    create(log)
    assert compact(log) == 0


# The rest


def test_a_sound_engine_can_be_tried_again_and_has_room(log: Log) -> None:
    assert log.failure is None
    assert log.try_again()
    assert 0 <= log.free_ratio() <= 1


def test_a_checkpoint_changes_nothing_that_can_be_read(log: Log) -> None:
    create(log, segment_bytes=300)
    made = put_many(log, 10)
    log.checkpoint([b"state"])
    assert values(log) == made
    put(log, b"after")
    assert values(log) == [*made, b"after"]
    assert not log.checkpoint_due()
