"""What was appended last: the disk begins with it in time, and the cache drops it in time."""

from random import Random

import pytest

from onemq.log.openfiles import OpenFiles
from onemq.log.recent import Recent
from onemq.log.segment import Segment
from tests.sim.disk import SimDisk, SimFile


@pytest.fixture
def files() -> OpenFiles:
    return OpenFiles(SimDisk(Random(1)), 10)


def segments(files: OpenFiles, *names: str) -> list[Segment]:
    found = [Segment(files, name, 0, 256) for name in names]
    for segment in found:
        segment.create()
    return found


def append(segment: Segment, size: int) -> None:
    segment.write(bytes(size))
    segment.note(segment.end, segment.end + 1, 0, size)


def test_the_disk_begins_with_what_is_not_fresh_and_the_cache_drops_what_is_oldest(
    files: OpenFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(SimFile, "let_go", lambda file, position, size: told.append((position, size)))
    recent = Recent(fresh_bytes_max=210, cached_bytes_max=420)
    one, two = segments(files, "one.log", "two.log")
    newest: list[list[tuple[int, int]]] = []
    for size, segment in ((100, one), (101, one), (102, two), (103, one), (104, two), (105, two)):
        append(segment, size)
        recent.add(segment)
        newest.append(told.copy())
        told.clear()
    assert newest == [[], [], [(0, 100)], [(100, 101)], [(0, 102), (0, 100)], [(201, 103), (100, 101)]]


def test_what_was_removed_meanwhile_is_passed_over(files: OpenFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    monkeypatch.setattr(SimFile, "let_go", lambda file, position, size: told.append(size))
    recent = Recent(fresh_bytes_max=0, cached_bytes_max=0)
    gone, kept = segments(files, "gone.log", "kept.log")
    append(gone, 10)
    append(kept, 11)
    files.forget("gone.log")
    files.disk.remove("gone.log")
    recent.add(gone)
    recent.add(kept)
    assert told == [11, 11]  # begun with, and dropped
