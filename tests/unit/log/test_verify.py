"""Checking a folder: nothing wrong is overlooked, nothing right is called wrong."""

import shutil
from pathlib import Path
from random import Random

import pytest

from onemq.errors import FolderError
from onemq.log import journal, snapshot
from onemq.log.disk import Disk, OsDisk
from onemq.log.engine import WriteSet
from onemq.log.index import CHUNK, ROW
from onemq.log.local import LocalLog
from onemq.log.verify import Problem, Verification
from tests.sim.disk import SimDisk
from tests.unit.log.helpers import (
    TOPIC,
    append,
    content,
    create,
    flip,
    overwrite,
    put,
    segment_files,
    values,
)
from tests.unit.log.test_crashes import Story


def opened(disk: Disk) -> LocalLog:
    log = LocalLog(disk, index_interval_bytes=200, journal_reserve_bytes=0)
    log.open()
    return log


def fill(disk: Disk) -> LocalLog:
    log = opened(disk)
    create(log, segment_bytes=600, partitions=2)
    create(log, 2)
    for number in range(30):
        put(log, b"%d" % number + bytes(80), timestamp_ms=1000 + number, journaled=number % 3 > 0)
        if number in (8, 17):
            log.checkpoint([b"state"])
    log.clean(TOPIC, 0, lambda offset: offset % 2 == 0, lambda freed: None)
    append(log, WriteSet(trims=[(TOPIC, 0, 6)]))
    for number in range(15):
        put(log, b"%d" % number + bytes(80), timestamp_ms=1000 + number)
    log.checkpoint([b"state"])
    for _ in range(5):
        put(log, b"elsewhere", topic=2)
    return log


@pytest.fixture
def disk(tmp_path: Path) -> OsDisk:
    made = OsDisk(tmp_path)
    fill(made).close()
    return made


def problems(disk: Disk, in_use: bool = False) -> list[Problem]:
    return list(Verification(disk, in_use).problems())


# What is right


def test_a_sound_folder_has_no_problems(disk: OsDisk) -> None:
    verification = Verification(disk)
    assert list(verification.problems()) == []
    assert verification.batches > 10
    assert verification.records > 10
    assert verification.entries > 10
    assert verification.files > 10
    assert verification.notes == ["5 batches are only in the journal: a start writes them"]


def test_a_folder_in_use_has_no_problems(tmp_path: Path) -> None:
    disk = OsDisk(tmp_path)
    log = fill(disk)
    assert problems(disk, in_use=True) == []
    put(log, b"more")
    assert values(log)[-1] == b"more"


def test_checking_changes_nothing(disk: OsDisk, tmp_path: Path) -> None:
    def everything() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    flip(disk, segment_files(disk)[0], 50)
    overwrite(disk, segment_files(disk)[-1], b"")
    before = everything()
    problems(disk)
    assert everything() == before


def test_whatever_a_crash_leaves_has_no_problems() -> None:
    for seed in range(40):
        story = Story(seed)
        story.play()
        story.end_process()
        assert problems(story.disk) == [], seed
        assert problems(story.disk, in_use=True) == [], seed


def test_progress_reaches_about_the_total(disk: OsDisk) -> None:
    seen: list[int] = []
    verification = Verification(disk, progress=seen.append)
    assert list(verification.problems()) == []
    assert 0.9 < sum(seen) / verification.total_bytes() < 1.1


def test_a_torn_tail_and_leftovers_are_notes(disk: OsDisk) -> None:
    path = journal.path_of(journal.list_files(disk)[-1])
    overwrite(disk, path, content(disk, path) + b"half an entry")
    overwrite(disk, "topics/topic-1~1/1-00000000000000000099.log", b"left over")
    overwrite(disk, "topics/topic-1~1/notes.txt", b"stranger")
    overwrite(disk, "topics/stranger", b"stranger")
    verification = Verification(disk)
    assert list(verification.problems()) == []
    notes = "\n".join(verification.notes)
    assert "13 unfinished bytes" in notes
    assert "1-00000000000000000099.log: left over" in notes
    assert "notes.txt: not OneMQ's" in notes
    assert "topics/stranger: not OneMQ's" in notes


# What is wrong


def test_a_flipped_bit_in_any_file_is_found(disk: OsDisk, tmp_path: Path) -> None:
    random = Random(3)
    log = opened(disk)
    log.checkpoint([b"everything is in its place now, nothing only in the journal"])
    log.close()
    for path in sorted(tmp_path.rglob("*")):
        name = str(path.relative_to(tmp_path))
        if not name.endswith((".journal", ".snapshot", ".log", ".index")) or not path.stat().st_size:
            continue
        size = path.stat().st_size
        for position in sorted({random.randrange(size) for _ in range(6)}):
            if is_unguarded(name, content(disk, name), position):
                continue
            flip(disk, name, position)
            found = problems(disk)
            flip(disk, name, position)
            assert any(problem.path == name for problem in found), (name, position, found)


def is_unguarded(name: str, data: bytes, position: int) -> bool:
    """The leader epoch of a batch, which nobody reads, and the last entry of a journal: as good as torn."""
    if name.endswith(".log"):
        at = 0
        while at < len(data):
            if at + 12 <= position < at + 16:
                return True
            at += 12 + int.from_bytes(data[at + 8 : at + 12], "big")
    return name.endswith(".journal") and (len(data) <= 16 or position > len(data) * 0.7)


@pytest.mark.parametrize("number", [0, 3, -1])
def test_damage_in_a_segment_is_named_by_file_byte_and_offsets(disk: OsDisk, number: int) -> None:
    path = [path for path in segment_files(disk) if content(disk, path)][number]
    flip(disk, path, 70)
    base = int(path.rpartition("-")[2][:20])
    (problem,) = problems(disk)
    assert (problem.path, problem.position) == (path, 0)
    assert f"offsets {base} to" in problem.text
    assert str(problem) == f"{path}: byte 0: {problem.text}"


def test_several_damaged_places_are_all_named(disk: OsDisk) -> None:
    paths = [path for path in segment_files(disk) if len(content(disk, path)) > 450][:2]
    for path in paths:
        flip(disk, path, 70)
        flip(disk, path, len(content(disk, path)) - 10)
    found = problems(disk)
    assert [problem.path for problem in found] == [paths[0], paths[0], paths[1], paths[1]]
    assert found[1].position > 0


@pytest.mark.parametrize("number", [0, -1])
def test_cut_and_missing_segments_are_found(disk: OsDisk, number: int) -> None:
    log = opened(disk)
    log.checkpoint([b""])
    log.close()
    path = [path for path in segment_files(disk) if content(disk, path)][number]
    overwrite(disk, path, content(disk, path)[:-5])
    assert [problem.path for problem in problems(disk)] == [path]
    disk.remove(path)
    (problem,) = problems(disk)
    assert problem.path == path
    assert "missing" in problem.text


def test_missing_journal_files_are_found(disk: OsDisk) -> None:
    first, *_, last = journal.list_files(disk)
    disk.remove(journal.path_of(last))
    assert [problem.path for problem in problems(disk)] == [journal.path_of(last)]
    disk.remove(journal.path_of(first))
    assert problems(disk)


def test_missing_snapshots_are_found(disk: OsDisk) -> None:
    for sequence in snapshot.list_files(disk):
        disk.remove(snapshot.path_of(sequence))
    (problem,) = problems(disk)
    assert "are missing" in problem.text


@pytest.mark.parametrize("field", [0, 4, 8])
def test_index_rows_that_do_not_fit_are_found(disk: OsDisk, field: int) -> None:
    from crc32c import crc32c

    path = max(segment_files(disk, suffix=".index"), key=lambda path: len(content(disk, path)))
    data = bytearray(content(disk, path))
    count = CHUNK.unpack_from(data)[0]
    row = CHUNK.size + (count - 1) * ROW.size
    data[row + field + 3] += 1
    rows = bytes(data[CHUNK.size : CHUNK.size + count * ROW.size])
    data[: CHUNK.size] = CHUNK.pack(count, crc32c(rows))
    overwrite(disk, path, bytes(data))
    assert [(problem.path, problem.position) for problem in problems(disk)] == [(path, row)]


def test_a_missing_index_is_no_problem(disk: OsDisk) -> None:
    for path in segment_files(disk, suffix=".index"):
        disk.remove(path)
    assert problems(disk) == []


def test_what_is_no_data_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match=r"no data folder of OneMQ: onemq\.json is missing"):
        problems(OsDisk(tmp_path / "nowhere"))
    (tmp_path / "onemq.json").write_text('{"format": 99}')
    with pytest.raises(FolderError, match="newer"):
        problems(OsDisk(tmp_path))


def test_damage_in_a_folder_in_use_is_found_all_the_same(disk: OsDisk) -> None:
    flip(disk, segment_files(disk)[0], 30)
    assert [problem.path for problem in problems(disk, in_use=True)] == [segment_files(disk)[0]]


class Busy(OsDisk):
    """A folder in which something goes on whenever somebody looks."""

    def __init__(self, root: Path, log: LocalLog) -> None:
        super().__init__(root)
        self._log = log
        self._random = Random(1)

    def list(self, folder: str) -> list[str]:
        found = super().list(folder)
        self.act()
        return found

    def exists(self, path: str) -> bool:
        found = super().exists(path)
        self.act()
        return found

    def act(self) -> None:
        start, end = self._log.bounds(TOPIC, 0)
        action = self._random.random()
        if action < 0.05:
            put(self._log, bytes(90), sync=False)
        elif action < 0.06:
            self._log.checkpoint([b"state"])
        elif action < 0.08:
            append(self._log, WriteSet(trims=[(TOPIC, 0, max(start + 2, end - 30))]))
        elif action < 0.09:
            self._log.clean(TOPIC, 0, lambda offset: offset % 3 > 0, lambda freed: None)


def test_work_that_goes_on_is_not_called_a_problem(tmp_path: Path) -> None:
    log = fill(OsDisk(tmp_path))
    for _ in range(10):
        assert problems(Busy(tmp_path, log), in_use=True) == []
    log.close()


def test_a_copy_of_a_folder_can_be_checked(disk: OsDisk, tmp_path: Path) -> None:
    shutil.copytree(tmp_path, tmp_path / "copy", ignore=shutil.ignore_patterns("copy"))
    assert problems(OsDisk(tmp_path / "copy")) == []


def test_simulated_disks_can_be_checked() -> None:
    disk = SimDisk(Random(1))
    fill(disk)
    assert problems(disk) == []
