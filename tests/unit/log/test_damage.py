"""Damage of every kind in every place: it is told by name, everything else can be read, and nothing that was
acknowledged disappears without a word. Also disks that are full, fail or become read-only."""

import errno
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from onemq.errors import Corrupt, DiskFull, FolderError, ReadOnly
from onemq.log import journal, snapshot
from onemq.log.batch import walk
from onemq.log.disk import Buffer, Disk, OsDisk, OsFile
from onemq.log.engine import WriteSet
from onemq.log.local import LocalLog
from onemq.log.records import decode
from tests.sim.disk import SimDisk
from tests.unit.log.helpers import (
    TOPIC,
    append,
    batch,
    content,
    create,
    entries,
    flip,
    overwrite,
    put,
    read,
    segment_files,
    try_append,
    values,
)

OTHER = 2
COUNT = 30


@pytest.fixture
def disk(tmp_path: Path) -> OsDisk:
    return OsDisk(tmp_path)


def opened(disk: Disk) -> LocalLog:
    log = LocalLog(disk, index_interval_bytes=300, segment_waiting_bytes_max=200, journal_reserve_bytes=0)
    log.open()
    return log


def filled(disk: Disk) -> list[bytes]:
    """Thirty messages in several segments, two snapshots with journal after each, and a second topic."""
    log = opened(disk)
    create(log, TOPIC, segment_bytes=900)
    create(log, OTHER)
    put(log, b"elsewhere", topic=OTHER)
    made = [b"%d" % number + bytes(100) for number in range(COUNT)]
    for number, value in enumerate(made):
        put(log, value)
        if number in (9, 19):
            log.checkpoint([b"state %d" % number])
    log.close()
    return made


def read_around_damage(log: LocalLog) -> tuple[list[int], list[Corrupt]]:
    """The offsets that can be read, and what was said about the others."""
    offset, end = log.bounds(TOPIC, 0)
    found, damage = list[int](), list[Corrupt]()
    while offset < end:
        try:
            data = read(log, offset)
        except Corrupt as problem:
            damage.append(problem)
            offset = max(offset + 1, problem.resume_offset or 0)
            continue
        if not data:
            break
        found += [record[0] for position, header in walk(data) for record in decode(data, position, header)]
        offset = found[-1] + 1
    return found, damage


def assert_told(log: LocalLog, path: str) -> None:
    assert isinstance(log.failure, ReadOnly)
    assert path in log.failure.text
    assert "onemq log repair" in log.failure.text
    refused = try_append(log, WriteSet(batches=[batch(log, b"x", topic=OTHER)]))
    assert refused.error is log.failure
    assert not log.try_again()


# The journal


def middle_of_last_journal(disk: Disk) -> tuple[str, int, int]:
    """(path, position of the entry in the middle, its sequence)"""
    first = journal.list_files(disk)[-1]
    found = list(journal.JournalFile(disk, first).entries())
    return journal.path_of(first), found[5].position, found[5].sequence


@pytest.mark.parametrize("at", [0, 5, 12, 20, 24, 60])
def test_a_flipped_bit_in_the_middle_of_the_journal(disk: OsDisk, at: int) -> None:
    made = filled(disk)
    path, position, _ = middle_of_last_journal(disk)
    flip(disk, path, position + at)
    log = opened(disk)
    assert_told(log, f"{path} is damaged at byte {position}")
    assert values(log) == made[:25]
    assert values(log, OTHER) == [b"elsewhere"]
    assert entries(log) == [["put", number] for number in range(20, 25)]
    log.close()
    before = {name: content(disk, name) for name in (path, *segment_files(disk))}
    opened(disk).close()
    assert before == {name: content(disk, name) for name in before}, "a start with damage changes nothing"


def test_a_flipped_bit_in_the_last_entry_of_the_journal_is_told_as_cut_bytes(disk: OsDisk) -> None:
    made = filled(disk)
    first = journal.list_files(disk)[-1]
    last = list(journal.JournalFile(disk, first).entries())[-1]
    flip(disk, journal.path_of(first), last.position + 30)
    log = opened(disk)
    assert log.failure is None
    assert values(log) == made[:-1]
    torn_bytes = last.size - (len(last.payload) - len(bytes(last.payload).rstrip(b"\0")))
    assert any(f"cut {torn_bytes} unfinished bytes" in note for note in log.report.notes)


def test_a_journal_that_ends_too_early_for_what_it_says_itself(disk: OsDisk) -> None:
    made = filled(disk)
    path, position, _ = middle_of_last_journal(disk)
    overwrite(disk, path, content(disk, path)[: position + 10])
    log = opened(disk)
    assert log.failure is None, "nobody can tell this from a torn tail"
    assert values(log) == made[:25]
    assert log.report.torn_bytes == 8, "without the zeros at the end"


@pytest.mark.parametrize("position", [1, 8])
def test_a_flipped_bit_in_the_head_of_the_last_journal_file(disk: OsDisk, position: int) -> None:
    made = filled(disk)
    path = journal.path_of(journal.list_files(disk)[-1])
    flip(disk, path, position)
    log = opened(disk)
    assert_told(log, path)
    assert values(log) == made[:20]
    log.close()
    assert disk.exists(path)


def test_the_last_journal_file_is_missing(disk: OsDisk) -> None:
    made = filled(disk)
    path = journal.path_of(journal.list_files(disk)[-1])
    disk.remove(path)
    log = opened(disk)
    assert_told(log, f"{path} is missing")
    assert values(log) == made[:20]
    assert log.replay().state == b"state 19"
    assert entries(log) == []


def test_a_journal_file_in_between_is_missing(disk: OsDisk) -> None:
    made = filled(disk)
    disk.remove(snapshot.path_of(snapshot.list_files(disk)[-1]))
    files = journal.list_files(disk)
    log = opened(disk)
    assert values(log) == made
    log.close()
    disk.remove(journal.path_of(files[-1]))
    overwrite(disk, journal.path_of(files[-1] + 5), content(disk, journal.path_of(files[0]))[:16])
    log = opened(disk)
    assert_told(log, "are missing")
    assert values(log) == made[:20]


def test_a_damaged_journal_file_that_later_ones_follow(disk: OsDisk) -> None:
    made = filled(disk)
    disk.remove(snapshot.path_of(snapshot.list_files(disk)[-1]))
    path = journal.path_of(journal.list_files(disk)[-2])
    overwrite(disk, path, content(disk, path)[:-5])
    log = opened(disk)
    assert_told(log, f"{path} is damaged at byte")
    assert values(log) == made[:19]


# Snapshots


@pytest.mark.parametrize("harm", ["flipped", "cut", "empty", "missing"])
def test_the_newest_snapshot(disk: OsDisk, harm: str) -> None:
    made = filled(disk)
    path = snapshot.path_of(snapshot.list_files(disk)[-1])
    damage(disk, path, harm)
    log = opened(disk)
    assert log.failure is None
    assert harm == "missing" or any(path in note for note in log.report.notes)
    assert values(log) == made
    assert log.replay().state == b"state 9"
    assert entries(log) == [["put", number] for number in range(10, COUNT)]
    put(log, b"next")


@pytest.mark.parametrize("harm", ["flipped", "cut", "missing"])
def test_both_snapshots(disk: OsDisk, harm: str) -> None:
    filled(disk)
    before = sorted(segment_files(disk))
    for sequence in snapshot.list_files(disk):
        damage(disk, snapshot.path_of(sequence), harm)
    with pytest.raises(FolderError, match=r"journal entries 1 to \d+ are missing.*restore") as caught:
        opened(disk)
    if harm != "missing":
        for sequence in snapshot.list_files(disk):
            assert snapshot.path_of(sequence) in caught.value.text
    assert sorted(segment_files(disk)) == before


def damage(disk: Disk, path: str, harm: str) -> None:
    data = content(disk, path)
    if harm == "missing":
        disk.remove(path)
    elif harm == "flipped":
        flip(disk, path, len(data) // 2)
    else:
        overwrite(disk, path, data[: len(data) // 2 if harm == "cut" else 0])


# Segments


@pytest.mark.parametrize("harm", ["flipped", "cut", "empty", "missing"])
def test_a_closed_segment(disk: OsDisk, harm: str) -> None:
    filled(disk)
    path = segment_files(disk)[1]
    damage(disk, path, harm)
    log = opened(disk)
    assert log.failure is None, "appending goes on: only old messages are concerned"
    found, told = read_around_damage(log)
    first, end = 5, 10
    assert [offset for offset in range(COUNT) if not first <= offset < end] == [
        offset for offset in found if not first <= offset < end
    ]
    assert told
    assert all(path in problem.text for problem in told)
    assert harm != "missing" or any(f"{path} is missing" in note for note in log.report.notes)
    put(log, b"next")
    assert values(log, OTHER) == [b"elsewhere"]
    append(log, WriteSet(trims=[(TOPIC, 0, end)]))
    assert read_around_damage(log)[1] == []


@pytest.mark.parametrize("harm", ["flipped", "cut", "missing"])
def test_the_segment_being_written_within_what_a_checkpoint_had_synced(disk: OsDisk, harm: str) -> None:
    made = filled(disk)
    log = opened(disk)
    log.checkpoint([b""])
    log.close()
    path = segment_files(disk)[-1]
    damage(disk, path, harm)
    log = opened(disk)
    assert values(log, OTHER) == [b"elsewhere"]
    found, told = read_around_damage(log)
    assert found[:25] == list(range(25))
    assert told
    assert all(path in problem.text for problem in told)
    assert log.bounds(TOPIC, 0) == (0, len(made))
    if harm != "flipped":
        assert_told(log, path)


@pytest.mark.parametrize("harm", ["flipped", "cut", "empty", "missing"])
def test_the_segment_being_written_where_the_journal_still_has_everything(disk: OsDisk, harm: str) -> None:
    made = filled(disk)
    damage(disk, segment_files(disk)[-1], harm)
    log = opened(disk)
    assert log.failure is None
    assert values(log) == made
    assert log.report.rewritten_batches > 0


# Indexes


@pytest.mark.parametrize("harm", ["flipped", "cut", "empty", "missing"])
def test_indexes_are_rebuilt_and_nothing_is_missing(disk: OsDisk, harm: str) -> None:
    made = filled(disk)
    log = opened(disk)
    log.checkpoint([b""])
    log.close()
    indexes = segment_files(disk, suffix=".index")
    assert len(indexes) >= 5
    for path in indexes:
        damage(disk, path, harm)
    log = opened(disk)
    assert log.failure is None
    assert log.report.clean
    assert values(log) == made
    for offset in (29, 3, 17, 0, 11):
        assert next(walk(read(log, offset, 1)))[1].base_offset == offset


def test_an_index_of_another_segment_leads_to_no_wrong_answer(disk: OsDisk) -> None:
    made = filled(disk)
    log = opened(disk)
    log.checkpoint([b""])
    log.close()
    indexes = segment_files(disk, suffix=".index")
    overwrite(disk, indexes[1], content(disk, indexes[-1]))
    found, told = read_around_damage(opened(disk))
    assert set(found) | {problem.offset for problem in told} >= set(range(len(made))) - set(range(5, 10))
    assert found == sorted(set(found))


# A full disk


def test_a_disk_at_its_limit() -> None:
    disk = SimDisk(Random(1), limit_bytes=30_000)
    log = opened(disk)
    create(log, segment_bytes=4000)
    fill_until_refused(log)
    made = values(log)
    assert isinstance(log.failure, DiskFull)
    disk.limit_bytes = disk.used()
    assert not log.try_again()
    disk.limit_bytes = 60_000
    assert log.try_again()
    put(log, b"goes on")
    disk.kill()
    assert values(opened(disk)) == [*made, b"goes on"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of four megabytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = os.geteuid() == 0 and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if not mounted or mounted.returncode:
        pytest.skip("only root may mount")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_real_disk_at_its_limit(small_disk: Path) -> None:
    ballast = small_disk / "lost+found"
    ballast.write_bytes(bytes(1 << 20))
    log = opened(OsDisk(small_disk))
    create(log, segment_bytes=200_000)
    fill_until_refused(log, 10_000)
    made = values(log)
    assert len(made) > 50
    assert log.free_ratio() < 0.1
    ballast.write_bytes(b"")
    assert log.try_again()
    put(log, b"goes on")
    log.close()
    log = opened(OsDisk(small_disk))
    assert log.report.damage == []
    assert values(log) == [*made, b"goes on"]
    log.close()


def test_a_start_on_a_real_full_disk_is_told(small_disk: Path) -> None:
    log = opened(OsDisk(small_disk))
    create(log)
    put(log, b"a")
    log.close()
    segment = segment_files(OsDisk(small_disk))[0]
    overwrite(OsDisk(small_disk), segment, b"")
    with (small_disk / "ballast").open("wb") as ballast, suppress(OSError):
        while True:
            os.write(ballast.fileno(), bytes(4096))
    with pytest.raises(FolderError, match="No space left on device"):
        opened(OsDisk(small_disk))
    (small_disk / "ballast").unlink()
    log = opened(OsDisk(small_disk))
    assert values(log) == [b"a"]
    log.close()


def fill_until_refused(log: LocalLog, size: int = 500) -> None:
    for number in range(10_000):
        outcome = try_append(log, WriteSet(batches=[batch(log, b"%d" % number + bytes(size))], sync=True))
        if outcome.error is not None:
            assert isinstance(outcome.error, DiskFull)
            assert "free some space" in outcome.error.text
            return
    pytest.fail("the disk never filled up")


# A failing disk


def test_a_failed_sync_fails_closed() -> None:
    disk = SimDisk(Random(1))
    log = opened(disk)
    create(log)
    put(log, b"good")
    disk.fail_next("sync", errno.EIO)
    outcome = try_append(log, WriteSet(batches=[batch(log, b"doubtful")], sync=True))
    assert isinstance(outcome.error, ReadOnly)
    assert "restart OneMQ" in outcome.error.text
    assert try_append(log, WriteSet(entries=[("x",)])).error is log.failure
    assert not log.try_again()
    assert values(log) == [b"good"]
    disk.crash()
    assert values(opened(disk)) == [b"good"]


def test_what_a_failed_sync_left_in_the_cache_is_written_again_at_the_next_start() -> None:
    for seed in range(40):
        disk = SimDisk(Random(seed))
        log = opened(disk)
        create(log)
        put(log, b"a", journaled=False, sync=False)
        put(log, b"b", sync=False)
        disk.fail_next("sync", errno.EIO)
        assert try_append(log, WriteSet(sync=True)).error is not None
        disk.kill()
        log = opened(disk)
        assert values(log) == [b"a", b"b"], "the process was killed, the machine runs on"
        log.checkpoint([b""])
        disk.crash()
        assert values(opened(disk)) == [b"a", b"b"]


class ReadOnlyFile(OsFile):
    """A file on a disk that the system has set to read-only."""

    __slots__ = ()

    def append(self, parts: Sequence[Buffer]) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    def truncate(self, size: int) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))


class ReadOnlySoon(OsDisk):
    """A disk that the system sets to read-only while it is used, as after an error in the file system."""

    read_only = False

    def open(self, path: str, create: bool = False, read_only: bool = False) -> OsFile:
        if self.read_only and not read_only:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        return super().open(path, create, read_only)

    def remove(self, path: str) -> None:
        if self.read_only:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        super().remove(path)

    def freeze(self, log: LocalLog) -> None:
        self.read_only = True
        for files in (log._files._files.values(), [log._journal.file]):
            for file in files:
                file.__class__ = ReadOnlyFile


def test_a_folder_that_becomes_read_only_while_running(tmp_path: Path) -> None:
    disk = ReadOnlySoon(tmp_path)
    made = filled(disk)
    log = opened(disk)
    assert values(log, OTHER) == [b"elsewhere"]
    disk.freeze(log)
    outcome = try_append(log, WriteSet(batches=[batch(log, b"x")], sync=True))
    assert isinstance(outcome.error, ReadOnly)
    assert "Read-only file system" in outcome.error.text
    assert not log.try_again()
    log._files.close()
    assert values(log) == made, "files that were not open can be read, too"
    log.checkpoint([b""])
    log.close()
    disk.read_only = False
    log = opened(disk)
    assert values(log) == made


def test_a_read_only_folder_is_refused_at_the_start(tmp_path: Path) -> None:
    disk = ReadOnlySoon(tmp_path)
    filled(disk)
    disk.read_only = True
    with pytest.raises(FolderError, match="Read-only file system"):
        opened(disk)
