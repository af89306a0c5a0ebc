"""A segment: finding batches, the index beside it, and reading around damage."""

import errno
from pathlib import Path
from random import Random

import pytest

from onemq.errors import Corrupt
from onemq.log.batch import HEADER_BYTES, placed_at, read_extent, read_header, walk
from onemq.log.disk import Disk, OsDisk
from onemq.log.openfiles import OpenFiles
from onemq.log.records import decode
from onemq.log.scan import scan_file
from onemq.log.segment import HINTS_MAX, Segment
from tests.sim.disk import SimDisk
from tests.unit.log.helpers import content, flip, overwrite, sealed

PATH = "0-00000000000000000000.log"
INTERVAL_BYTES = 300


@pytest.fixture(params=["operating system", "simulated"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Disk:
    return OsDisk(tmp_path) if request.param == "operating system" else SimDisk(Random(1))


def new_segment(disk: Disk, base: int = 0) -> Segment:
    segment = Segment(OpenFiles(disk, 10), PATH, base, INTERVAL_BYTES)
    segment.create()
    return segment


def reopened(disk: Disk, segment: Segment) -> Segment:
    again = Segment(OpenFiles(disk, 10), PATH, segment.base, INTERVAL_BYTES)
    again.restore_meta(segment.meta())
    return again


def add(segment: Segment, batch: bytes) -> None:
    segment.file.append([batch])
    base_offset, next_offset, _, max_ms = read_extent(batch)
    segment.note(base_offset, next_offset, max_ms, len(batch))


def filled(disk: Disk, count: int = 40, records: int = 3) -> Segment:
    """Batches of three records: batch n has the offsets 3 n to 3 n + 2 and the time 1000 + n."""
    segment = new_segment(disk)
    for number in range(count):
        values = [b"%d" % (records * number + place) + bytes(20) for place in range(records)]
        add(segment, sealed(records * number, values, 1000 + number))
    return segment


def positions(segment: Segment) -> list[int]:
    return [position for position, _, _, _ in segment.scan()]


def offsets_in(data: bytes) -> list[int]:
    return [record[0] for position, header in walk(data) for record in decode(data, position, header)]


def assert_gets_on(problem: Corrupt, offset: int) -> None:
    assert problem.resume_offset is not None
    assert problem.resume_offset > offset


def read_everything(segment: Segment, bytes_max: int = 1 << 20) -> tuple[list[int], list[Corrupt]]:
    """The offsets that can be read, going on behind damage, and the damage."""
    offset, found, damage = segment.base, list[int](), list[Corrupt]()
    while offset < segment.end:
        try:
            data = segment.read(offset, bytes_max)
        except Corrupt as problem:
            damage.append(problem)
            assert_gets_on(problem, offset)
            offset = problem.resume_offset or offset
            continue
        if not data:
            break
        found += offsets_in(data)
        offset = found[-1] + 1
    assert found == sorted(set(found))
    return found, damage


# Reading


@pytest.mark.parametrize("bytes_max", [1, 100, 1000, 1 << 20])
def test_every_offset_is_found(disk: Disk, bytes_max: int) -> None:
    segment = filled(disk)
    for again in (segment, reopened(disk, segment)):
        for offset in range(120):
            data = again.read(offset, bytes_max)
            header = read_header(data)
            assert header.base_offset <= offset < header.next_offset
            assert len(data) <= max(bytes_max, header.size)
        assert again.read(120, bytes_max) == b""


def test_reading_on_is_helped_by_hints_that_never_grow_without_end(disk: Disk) -> None:
    segment = filled(disk, 200)
    for _ in range(2):
        assert read_everything(segment, 1)[0] == list(range(600))
    assert len(segment._hints) <= HINTS_MAX


def test_hints_do_not_outlive_a_cut(disk: Disk) -> None:
    segment = filled(disk)
    sizes = positions(segment)
    assert len(offsets_in(segment.read(60, 200))) == 3
    segment.cut(sizes[21], 63)
    segment.file.truncate(sizes[21])
    assert segment.read(63, 100) == b""
    add(segment, sealed(63, [b"other" * 9]))
    add(segment, sealed(64, [b"more"]))
    assert offsets_in(segment.read(63, 1)) == [63]
    assert offsets_in(segment.read(64, 1)) == [64]


def test_offsets_may_have_gaps(disk: Disk) -> None:
    segment = new_segment(disk)
    for base in (5, 100, 101, 9000):
        add(segment, sealed(base, [b"x" * 100]))
    for offset, expected in [(0, 5), (5, 5), (6, 100), (99, 100), (101, 101), (102, 9000), (9000, 9000)]:
        assert read_header(segment.read(offset, 1)).base_offset == expected
    assert segment.read(9001, 1) == b""


@pytest.mark.parametrize("size", [1 << 20, (1 << 20) - 70, 3 << 20])
def test_large_batches_are_read_and_scanned(disk: Disk, size: int) -> None:
    segment = new_segment(disk)
    add(segment, sealed(0, [b"small"]))
    add(segment, sealed(1, [bytes(size), b"x"]))
    add(segment, sealed(3, [b"small"]))
    assert offsets_in(segment.read(2, 1)) == [1, 2]
    assert offsets_in(segment.read(0, 10 << 20)) == [0, 1, 2, 3]
    assert [header.base_offset for _, header, _, _ in segment.scan()] == [0, 1, 3]


@pytest.mark.parametrize("size", [10, 3_000, 30_000, 90_000])
def test_much_is_read_in_whole_batches(disk: Disk, size: int) -> None:
    segment = new_segment(disk)
    while segment.size < 500_000:
        add(segment, sealed(segment.end, [bytes(size)] * 10))
    found: list[int] = []
    while found[-1:] != [segment.end - 1]:
        data = segment.read(len(found), 100_000)
        assert len(data) <= max(100_000, 10 * size + 1_000)
        found += offsets_in(data)
    assert found == list(range(segment.end))


def test_a_time_is_found_from_a_first_offset_on(disk: Disk) -> None:
    segment = filled(disk)
    assert segment.offset_at(1010, 0) == 30
    assert segment.offset_at(1010, 31) == 31
    assert segment.offset_at(1010, 50) == 50
    assert segment.offset_at(1040, 0) is None


def test_bytes_behind_the_size_do_not_count(disk: Disk) -> None:
    segment = filled(disk, 4)
    segment.file.append([sealed(12, [b"left over"])])
    assert read_everything(segment) == (list(range(12)), [])
    assert segment.read(12, 100) == b""
    assert len(positions(segment)) == 4


def test_creating_empties_what_a_failed_write_left(disk: Disk) -> None:
    overwrite(disk, PATH, b"left over")
    segment = new_segment(disk)
    assert segment.file.size() == 0


# Index


def test_the_index_is_the_same_rebuilt_loaded_and_grown(disk: Disk) -> None:
    segment = filled(disk)
    grown = segment.index
    chunk, anew = segment.unsaved_index()
    assert anew
    rebuilt = reopened(disk, segment).index
    overwrite(disk, segment.index_path, chunk)
    loaded = reopened(disk, segment).index
    for index in (rebuilt, loaded):
        assert (index.offsets, index.positions, index.times) == (grown.offsets, grown.positions, grown.times)
    assert (rebuilt.saved, loaded.saved) == (0, len(grown.offsets))
    assert segment.unsaved_index() == (b"", False)


@pytest.mark.parametrize("harm", ["missing", "flipped", "cut", "stranger"])
def test_a_bad_index_is_rebuilt(disk: Disk, harm: str) -> None:
    segment = filled(disk)
    chunk, _ = segment.unsaved_index()
    harmed = {"flipped": chunk[:30] + b"\xff" + chunk[31:], "cut": chunk[:-5], "stranger": b"hello"}
    if harm in harmed:
        overwrite(disk, segment.index_path, harmed[harm])
    again = reopened(disk, segment)
    assert again.index.positions == segment.index.positions
    assert read_everything(again) == (list(range(120)), [])
    assert again.unsaved_index() == (chunk, True), "it is written anew"


def test_rows_for_bytes_that_do_not_count_are_forgotten(disk: Disk) -> None:
    segment = filled(disk, 20)
    meta = segment.meta()
    rows = len(segment.index.positions)
    for number in range(20, 40):
        add(segment, sealed(3 * number, [b"x" * 30] * 3))
    overwrite(disk, segment.index_path, segment.unsaved_index()[0])
    earlier = Segment(OpenFiles(disk, 10), PATH, 0, INTERVAL_BYTES)
    earlier.restore_meta(meta)
    assert len(earlier.index.positions) == rows
    add_at = positions(segment)[20]
    earlier.file.truncate(add_at)
    add(earlier, sealed(60, [b"another life"]))
    assert earlier.unsaved_index()[1] or earlier.index.saved == rows
    assert read_everything(earlier)[0] == list(range(61))


# Damage


@pytest.mark.parametrize("bytes_max", [1, 1 << 20])
@pytest.mark.parametrize("indexed", [True, False])
def test_any_flipped_bit_costs_one_batch_at_most_and_is_told(bytes_max: int, indexed: bool) -> None:
    disk = SimDisk(Random(1))
    segment = filled(disk, 8)
    if indexed:
        overwrite(disk, segment.index_path, segment.unsaved_index()[0])
    starts = positions(segment)
    random = Random(7)
    for number in (0, 3, 7):
        own = set(range(3 * number, 3 * number + 3))
        for at in range(starts[1]):
            mask = 1 << random.randrange(8)
            flip(disk, PATH, starts[number] + at, mask)
            found, damage = read_everything(reopened(disk, segment), bytes_max)
            flip(disk, PATH, starts[number] + at, mask)
            if 12 <= at < 16:  # the leader epoch: not covered by the checksum, and nobody reads it
                assert (found, damage) == (list(range(24)), [])
                continue
            assert damage, (number, at, mask)
            assert set(range(24)) - own <= set(found), (number, at, mask)
            assert not own & set(found), (number, at, mask)
            assert PATH in damage[0].text
            assert f"byte {starts[number]}" in damage[0].text
            assert damage[0].resume_offset == 3 * number + 3


@pytest.mark.parametrize("base", [7, 8, 31, 1000, 1 << 40, 0, 3])
def test_a_batch_at_a_wrong_offset_is_never_given_out(disk: Disk, base: int) -> None:
    segment = filled(disk, 8)
    at, size = positions(segment)[3:5]
    data = content(disk, PATH)
    overwrite(disk, PATH, data[:at] + placed_at(data[at:size], base) + data[size:])
    for bytes_max in (1, 1 << 20):
        found, damage = read_everything(reopened(disk, segment), bytes_max)
        assert found == [offset for offset in range(24) if offset not in (9, 10, 11)]
        assert [problem.resume_offset for problem in damage] == [12]


def test_a_batch_in_the_middle_of_which_everything_is_lost_is_passed_over(disk: Disk) -> None:
    segment = filled(disk, 40)
    starts = positions(segment)
    data = bytearray(content(disk, PATH))
    data[starts[10] + 5 : starts[15] + 20] = bytes(starts[15] + 15 - starts[10])
    overwrite(disk, PATH, bytes(data))
    found, damage = read_everything(reopened(disk, segment))
    assert found == [*range(30), *range(48, 120)]
    assert [(problem.offset, problem.resume_offset) for problem in damage] == [(30, 48)]


def test_several_damaged_places_are_told_one_by_one(disk: Disk) -> None:
    segment = filled(disk, 40)
    starts = positions(segment)
    for number in (5, 6, 20, 39):
        flip(disk, PATH, starts[number] + 70)
    found, damage = read_everything(reopened(disk, segment))
    assert found == [offset for offset in range(120) if offset // 3 not in (5, 6, 20, 39)]
    assert [problem.resume_offset for problem in damage] == [21, 63, 120]


def test_offsets_behind_damage_can_be_read_directly(disk: Disk) -> None:
    segment = filled(disk, 40)
    starts = positions(segment)
    flip(disk, PATH, starts[10] + 16)  # the magic byte
    flip(disk, PATH, starts[11] + 9, 0x01)  # the length, far out of the file
    again = reopened(disk, segment)
    for offset in [*range(30), *range(36, 120)]:
        assert offset in offsets_in(again.read(offset, 1))
    for offset in range(30, 36):
        with pytest.raises(Corrupt, match="damaged at byte"):
            again.read(offset, 1)


@pytest.mark.parametrize("keep", [0, 1, 30, HEADER_BYTES, 400, 2000])
def test_a_cut_file_gives_what_is_there_and_then_says_so(disk: Disk, keep: int) -> None:
    segment = filled(disk, 40)
    whole = [number for number, start in enumerate([*positions(segment)[1:], segment.size]) if start <= keep]
    overwrite(disk, PATH, content(disk, PATH)[:keep])
    found, damage = read_everything(reopened(disk, segment))
    assert found == list(range(3 * len(whole)))
    assert damage[-1].resume_offset == 120
    assert PATH in damage[-1].text


def test_a_missing_file_is_told(disk: Disk) -> None:
    segment = filled(disk)
    disk.remove(PATH)
    with pytest.raises(Corrupt, match=f"{PATH} is missing") as caught:
        reopened(disk, segment).read(7, 100)
    assert caught.value.resume_offset == 120


def test_a_file_that_the_disk_cannot_read_is_told() -> None:
    disk = SimDisk(Random(1))
    segment = filled(disk)
    disk.fail_next("read", errno.EIO)
    with pytest.raises(Corrupt, match=f"{PATH} cannot be read"):
        segment.read(7, 100)
    assert offsets_in(segment.read(7, 1)) == [6, 7, 8]


@pytest.mark.parametrize("at", [0, 9, 16, 20, 50, 70])
def test_a_scan_stops_with_an_error_at_damage(disk: Disk, at: int) -> None:
    segment = filled(disk, 10)
    place = positions(segment)[4]
    flip(disk, PATH, place + at)
    scan = reopened(disk, segment).scan()
    assert [next(scan)[1].base_offset for _ in range(4)] == [0, 3, 6, 9]
    with pytest.raises(Corrupt, match="damaged at byte"):
        next(scan)


def test_a_scan_of_a_large_damaged_batch_stops_with_an_error(disk: Disk) -> None:
    segment = new_segment(disk)
    add(segment, sealed(0, [bytes(2 << 20)]))
    flip(disk, PATH, 1 << 20)
    with pytest.raises(Corrupt, match="damaged at byte 0"):
        list(segment.scan())


def test_a_scan_of_a_cut_file_stops_with_an_error(disk: Disk) -> None:
    segment = filled(disk, 10)
    overwrite(disk, PATH, content(disk, PATH)[:-5])
    with pytest.raises(Corrupt, match="damaged at byte"):
        list(reopened(disk, segment).scan())


def test_a_scan_may_start_at_any_batch(disk: Disk) -> None:
    segment = filled(disk, 10)
    starts = positions(segment)
    found = [header.base_offset for _, header, _, _ in scan_file(segment.file, PATH, starts[7], segment.size)]
    assert found == [21, 24, 27]


# Open files


def test_only_so_many_files_are_open_and_the_longest_unused_is_closed(tmp_path: Path) -> None:
    files = OpenFiles(OsDisk(tmp_path), 4)
    handles = {name: files.get(name, create=True) for name in "abcd"}
    files.get("a")
    files.get("e", create=True)
    with pytest.raises(OSError, match="Bad file descriptor"):
        handles["b"].size()
    assert handles["a"].size() == 0
    assert files.get("a") is handles["a"]
    files.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        handles["a"].size()


def test_a_forgotten_file_is_closed_and_opened_anew(disk: Disk) -> None:
    files = OpenFiles(disk, 4)
    handle = files.get("a", create=True)
    files.forget("a")
    files.forget("never opened")
    assert files.get("a") is not handle
