"""Write-behind: what waits can be read, is written in time and in order, and no crash takes it."""

import errno
from random import Random

import pytest

from onemq.errors import DiskFull, ReadOnly
from onemq.log.engine import WriteSet
from onemq.log.local import LocalLog
from tests.sim.disk import SimDisk
from tests.unit.log.helpers import (
    TOPIC,
    HeldBackground,
    Outcome,
    append,
    batch,
    content,
    create,
    offset_at,
    put,
    read,
    records,
    sealed,
    segment_files,
    try_append,
    values,
)

OTHER = 2
BATCH_BYTES = len(sealed(0, [bytes(100)]))


@pytest.fixture
def disk() -> SimDisk:
    return SimDisk(Random(1))


def opened(disk: SimDisk, for_one: int = 10 * BATCH_BYTES, for_all: int = 1 << 20) -> LocalLog:
    log = LocalLog(disk, segment_waiting_bytes_max=for_one, waiting_bytes_max=for_all, index_interval_bytes=256)
    log.open()
    return log


def started(disk: SimDisk, for_all: int = 1 << 20, segment_bytes: int = 1 << 20) -> LocalLog:
    log = opened(disk, for_all=for_all)
    create(log, TOPIC, segment_bytes=segment_bytes)
    create(log, OTHER, segment_bytes=segment_bytes)
    return log


def value(number: int) -> bytes:
    return b"%d" % number + bytes(100 - len(b"%d" % number))


def fill(log: LocalLog, count: int, topic: int = TOPIC, first: int = 0, journaled: bool = True) -> None:
    for number in range(first, first + count):
        put(log, value(number), topic=topic, journaled=journaled, timestamp_ms=1000 + number)


def numbers(log: LocalLog, topic: int = TOPIC) -> list[int]:
    return [int((each or b"").rstrip(b"\0")) for each in values(log, topic)]


def written(disk: SimDisk, topic: int = TOPIC) -> int:
    """How many batches are in the files of a topic."""
    sizes = [len(content(disk, path)) for path in segment_files(disk, topic)]
    assert all(size % BATCH_BYTES == 0 for size in sizes)
    return sum(sizes) // BATCH_BYTES


# When it is written


def test_small_journaled_batches_wait_and_can_be_read(disk: SimDisk) -> None:
    log = started(disk)
    fill(log, 10)
    assert written(disk) == 0
    assert numbers(log) == list(range(10))
    assert log.bounds(TOPIC, 0) == (0, 10)
    assert log.stored_bytes(TOPIC, 0) == 10 * BATCH_BYTES


def test_when_too_much_waits_for_a_segment_all_of_it_is_written_at_once(disk: SimDisk) -> None:
    log = started(disk)
    fill(log, 10)
    before = disk.operations
    put(log, value(10))
    appends_and_sync = 3
    assert disk.operations - before == appends_and_sync
    assert written(disk) == 11
    assert numbers(log) == list(range(11))


def test_when_too_much_waits_in_all_what_has_waited_longest_is_written_first(disk: SimDisk) -> None:
    log = started(disk, for_all=5 * BATCH_BYTES)
    fill(log, 3)
    fill(log, 2, OTHER)
    assert (written(disk), written(disk, OTHER)) == (0, 0)
    fill(log, 1, OTHER, first=2)
    assert (written(disk), written(disk, OTHER)) == (3, 0)
    fill(log, 3, TOPIC, first=3)
    assert (written(disk), written(disk, OTHER)) == (3, 3)


def test_a_batch_that_the_journal_lacks_is_written_in_its_turn_behind_what_waits(disk: SimDisk) -> None:
    log = started(disk)
    fill(log, 3)
    fill(log, 1, first=3, journaled=False)
    assert written(disk) == 4
    fill(log, 1, first=4)
    assert written(disk) == 4
    assert numbers(log) == list(range(5))


def test_a_large_batch_does_not_wait(disk: SimDisk) -> None:
    log = started(disk)
    fill(log, 2)
    put(log, bytes(20 * BATCH_BYTES))
    assert len(content(disk, segment_files(disk)[0])) == log.stored_bytes(TOPIC, 0)


def test_a_segment_is_whole_when_the_next_one_begins(disk: SimDisk) -> None:
    log = started(disk, segment_bytes=3 * BATCH_BYTES)
    fill(log, 8)
    assert [len(content(disk, path)) // BATCH_BYTES for path in segment_files(disk)] == [3, 3, 0]
    assert numbers(log) == list(range(8))


def test_a_checkpoint_writes_everything(disk: SimDisk) -> None:
    log = started(disk)
    fill(log, 5)
    fill(log, 4, OTHER)
    log.checkpoint([b"state"])
    assert (written(disk), written(disk, OTHER)) == (5, 4)
    disk.crash()
    log = opened(disk)
    assert log.report.clean
    assert (numbers(log), numbers(log, OTHER)) == (list(range(5)), list(range(4)))


# Reading


@pytest.mark.parametrize("in_file", [0, 1, 7])
def test_reading_goes_from_the_file_to_what_waits(disk: SimDisk, in_file: int) -> None:
    log = started(disk)
    fill(log, in_file, journaled=False)
    fill(log, 9, first=in_file)
    assert written(disk) == in_file
    for bytes_max in (1, BATCH_BYTES, 3 * BATCH_BYTES + 7, 1 << 20):
        assert [record[0] for record in records(log, bytes_max=bytes_max)] == list(range(in_file + 9))
    for offset in range(in_file + 9):
        assert read(log, offset, 1) == read(log, offset, 1 << 20)[:BATCH_BYTES]
        assert offset_at(log, 1000 + offset) == offset
    assert offset_at(log, 1000 + in_file + 9) == in_file + 9


def test_a_reader_that_follows_causes_no_writes(disk: SimDisk) -> None:
    log = started(disk)
    for number in range(8):
        put(log, value(number))
        assert read(log, number, 1 << 20)
    assert written(disk) == 0


def test_compaction_knows_what_waits(disk: SimDisk) -> None:
    log = started(disk, segment_bytes=2 * BATCH_BYTES)
    for number in range(5):
        put(log, value(number), key=b"k")
    freed: list[int] = []
    log.compact(TOPIC, 0, 0, freed.append)
    assert freed[0] > 0
    assert numbers(log) == [4]


# Crashes


@pytest.mark.parametrize("power_cut", [True, False])
def test_no_crash_takes_what_waits(power_cut: bool) -> None:
    for seed in range(20):
        disk = SimDisk(Random(seed))
        log = started(disk)
        fill(log, 3, journaled=False)
        log.checkpoint([b""])
        fill(log, 7, first=3)
        fill(log, 4, OTHER)
        disk.crash() if power_cut else disk.kill()
        log = opened(disk)
        assert log.report.rewritten_batches == 11
        assert (numbers(log), numbers(log, OTHER)) == (list(range(10)), list(range(4)))


def test_a_trim_or_a_delete_drops_what_waits(disk: SimDisk) -> None:
    log = started(disk, segment_bytes=3 * BATCH_BYTES)
    fill(log, 5)
    fill(log, 2, OTHER)
    append(log, WriteSet(trims=[(TOPIC, 0, 5)], deletes=[OTHER]))
    assert segment_files(disk) == segment_files(disk, OTHER) == []
    fill(log, 1, first=5)
    log.checkpoint([b""])
    assert log.failure is None
    disk.crash()
    log = opened(disk)
    assert numbers(log) == [5]


# Failures


def test_a_full_disk_while_older_sets_are_written_refuses_the_set_and_loses_nothing(disk: SimDisk) -> None:
    log = started(disk, for_all=5 * BATCH_BYTES)
    fill(log, 5)
    disk.limit_bytes = disk.used() + 2 * BATCH_BYTES
    refused = try_append(log, WriteSet(batches=[batch(log, value(0), topic=OTHER)], sync=True))
    assert isinstance(refused.error, DiskFull)
    assert (numbers(log), numbers(log, OTHER)) == (list(range(5)), [])
    assert written(disk) == 0
    disk.limit_bytes = None
    assert log.try_again()
    fill(log, 3, OTHER)
    fill(log, 2, first=5)
    assert written(disk) == 5
    assert (numbers(log), numbers(log, OTHER)) == (list(range(7)), list(range(3)))
    log = opened(disk.kill())
    assert (numbers(log), numbers(log, OTHER)) == (list(range(7)), list(range(3)))


@pytest.mark.parametrize("room", range(0, 8 * BATCH_BYTES, BATCH_BYTES // 2))
def test_a_full_disk_while_a_checkpoint_writes_what_waits_can_be_tried_again(room: int) -> None:
    disk = SimDisk(Random(room))
    log = started(disk)
    fill(log, 4)
    fill(log, 4, OTHER)
    disk.limit_bytes = disk.used() + room
    log.checkpoint([b"state"])
    assert isinstance(log.failure, DiskFull)
    assert (numbers(log), numbers(log, OTHER)) == (list(range(4)), list(range(4)))
    disk.limit_bytes = None
    assert log.try_again()
    fill(log, 1, first=4)
    log.checkpoint([b"state"])
    assert log.failure is None
    disk.crash()
    log = opened(disk)
    assert log.report.clean
    assert (numbers(log), numbers(log, OTHER)) == (list(range(5)), list(range(4)))


def test_a_write_that_can_be_neither_done_nor_undone_stops_writing_until_a_restart(disk: SimDisk) -> None:
    log = started(disk)
    fill(log, 4)
    disk.fail_next("append", errno.ENOSPC)
    disk.fail_next("truncate", errno.EIO)
    log.checkpoint([b""])
    assert isinstance(log.failure, ReadOnly)
    assert not log.try_again()
    assert numbers(log) == list(range(4))
    disk.kill()
    assert numbers(opened(disk)) == list(range(4))


def test_a_segment_that_is_missing_when_it_is_to_be_written_stops_writing(disk: SimDisk) -> None:
    log = LocalLog(disk, open_files_max=1)
    log.open()
    create(log, TOPIC)
    create(log, OTHER)
    fill(log, 2)
    fill(log, 1, OTHER)  # closes the file of the first one
    disk.lose(segment_files(disk)[0])
    log.checkpoint([b""])
    assert isinstance(log.failure, ReadOnly)
    assert numbers(log) == [0, 1]
    disk.kill()
    assert numbers(opened(disk)) == [0, 1]


def test_a_set_that_fails_is_undone_whether_it_was_written_or_waits(disk: SimDisk) -> None:
    background = HeldBackground()
    started(disk).close()
    log = LocalLog(
        disk,
        background=background,
        inline_sync_seconds_max=0.0,
        segment_waiting_bytes_max=4 * BATCH_BYTES,
    )
    log.open()

    def send(count: int) -> list[Outcome]:
        return [
            try_append(log, WriteSet(batches=[batch(log, value(log.bounds(TOPIC, 0)[1]))], sync=True))
            for _ in range(count)
        ]

    kept = send(3)
    background.go_all()
    assert all(outcome.good for outcome in kept)
    doubtful = send(4)
    assert written(disk) == 5
    disk.fail_next("sync", errno.EIO)
    background.go_all()
    assert all(isinstance(outcome.error, ReadOnly) for outcome in doubtful)
    assert written(disk) == 3
    assert numbers(log) == [0, 1, 2]
    disk.crash()
    assert numbers(opened(disk)) == [0, 1, 2]


def test_what_waits_is_not_written_after_a_failed_sync(disk: SimDisk) -> None:
    log = started(disk, segment_bytes=2 * BATCH_BYTES)
    for number in range(5):
        put(log, value(number), key=b"k")
    disk.fail_next("sync", errno.EIO)
    try_append(log, WriteSet(sync=True))
    before = disk.operations
    log.compact(TOPIC, 0, 0, lambda freed: None)
    log.checkpoint([b""])
    assert disk.operations == before
    assert numbers(log) == list(range(5))


# What the system caches
