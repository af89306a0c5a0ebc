"""Zeros that are written ahead of small batches: nobody reads them, and they are gone when nothing more comes."""

import errno
from pathlib import Path
from random import Random

import pytest

from onemq.log.disk import Disk, OsDisk
from onemq.log.engine import WriteSet
from onemq.log.inspect import inspect
from onemq.log.local import LocalLog
from onemq.log.repair import plan
from onemq.log.verify import Verification
from tests.sim.disk import SimDisk
from tests.unit.log.helpers import (
    TOPIC,
    append,
    batch,
    content,
    create,
    put,
    segment_files,
    try_append,
    values,
)

AHEAD = 1000
PATH = f"topics/topic-1~{TOPIC}/0-{0:020d}.log"


@pytest.fixture(params=["real", "simulated"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Disk:
    return OsDisk(tmp_path) if request.param == "real" else SimDisk(Random(1))


def opened(disk: Disk, **settings: int) -> LocalLog:
    log = LocalLog(disk, segment_ahead_bytes=AHEAD, **settings)  # type: ignore[arg-type]
    report = log.open()
    assert not report.damage
    return log


def started(disk: Disk, segment_bytes: int = 1 << 20, partitions: int = 1, **settings: int) -> LocalLog:
    """With as much in the first partition as makes zeros worth while."""
    log = opened(disk, **settings)
    create(log, partitions=partitions, segment_bytes=segment_bytes)
    put(log, bytes(AHEAD), journaled=False)
    return log


def zeros(disk: Disk, path: str = PATH) -> int:
    """How many zeros lie behind the last batch."""
    found = [item for item in inspect(disk, path) if item["kind"] == "zeros"]
    assert not [item for item in inspect(disk, path) if item["kind"] == "damage"]
    return int(str(found[0]["bytes"])) if found else 0


def test_small_batches_go_over_zeros_up_to_the_next_multiple(disk: Disk) -> None:
    log = started(disk)
    assert zeros(disk) == 0
    put(log, b"one", journaled=False)
    assert zeros(disk) > 0
    assert len(content(disk, PATH)) % AHEAD == 0
    size = len(content(disk, PATH))
    put(log, b"two", journaled=False)
    assert len(content(disk, PATH)) == size
    for number in range(50):
        put(log, b"%d" % number, journaled=False)
    assert len(content(disk, PATH)) % AHEAD == 0
    assert values(log)[1:] == [b"one", b"two", *[b"%d" % number for number in range(50)]]


def test_a_segment_with_little_and_one_with_large_batches_get_none(disk: Disk) -> None:
    log = opened(disk)
    create(log)
    put(log, b"little", journaled=False)
    assert zeros(disk) == 0
    for _ in range(3):
        put(log, bytes(AHEAD), journaled=False)
    assert zeros(disk) == 0


def test_a_full_segment_and_a_stopped_log_have_none(disk: Disk) -> None:
    log = started(disk, segment_bytes=3 * AHEAD)
    while len(segment_files(disk, TOPIC)) == 1:
        put(log, bytes(100), journaled=False)
    assert zeros(disk) == 0
    put(log, bytes(AHEAD), journaled=False)
    put(log, b"last", journaled=False)
    last = segment_files(disk, TOPIC)[-1]
    assert zeros(disk, last) > 0
    stored = values(log)
    log.close()
    assert zeros(disk, last) == 0
    assert values(opened(disk)) == stored


def test_a_file_that_was_closed_meanwhile_goes_on_without_them(disk: Disk) -> None:
    log = started(disk, partitions=2, open_files_max=1)
    for number in range(20):
        for partition in (0, 1):
            put(log, b"%d" % number, partition=partition, journaled=False)
    expected = [b"%d" % number for number in range(20)]
    assert values(log)[1:] == expected
    assert values(log, partition=1) == expected
    log.close()
    assert values(opened(disk))[1:] == expected


def test_after_a_kill_they_are_cut_off_and_nobody_is_worried() -> None:
    disk = SimDisk(Random(1))
    log = started(disk)
    put(log, b"one", journaled=False)
    disk.kill()
    assert zeros(disk) > 0
    assert list(Verification(disk).problems()) == []
    assert plan(disk) == []
    again = opened(disk)
    assert again.report.notes == []
    assert zeros(disk) == 0
    assert values(again)[1:] == [b"one"]
    put(again, b"two", journaled=False)
    assert values(again)[1:] == [b"one", b"two"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_where_there_is_no_room_for_them_it_goes_without(code: int) -> None:
    disk = SimDisk(Random(1))
    log = started(disk, journal_reserve_bytes=0)
    disk.fail_next("reserve", code)
    for number in range(50):
        put(log, b"%d" % number, journaled=False)
    assert values(log)[1:] == [b"%d" % number for number in range(50)]


def test_a_batch_that_fails_over_them_leaves_nothing() -> None:
    disk = SimDisk(Random(1))
    log = started(disk, journal_reserve_bytes=0)
    put(log, b"one", journaled=False)
    disk.fail_next("append", errno.ENOSPC)
    assert not try_append(log, WriteSet(batches=[batch(log, b"two", journaled=False)], sync=True)).good
    assert zeros(disk) == 0
    assert log.try_again()
    append(log, WriteSet(batches=[batch(log, b"three", journaled=False)], sync=True))
    assert values(log)[1:] == [b"one", b"three"]
    disk.kill()
    assert values(opened(disk))[1:] == [b"one", b"three"]
