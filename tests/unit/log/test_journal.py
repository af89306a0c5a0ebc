"""The journal: entries in order, and telling a torn tail from damage."""

import errno
from pathlib import Path
from random import Random

import pytest

from onemq.errors import FolderError
from onemq.log.disk import Disk, OsDisk
from onemq.log.journal import ENTRY, FILE_HEADER, Journal, JournalFile, list_files, path_of, remove_before
from tests.sim.disk import SimDisk
from tests.unit.log.helpers import content, flip, overwrite


@pytest.fixture(params=["operating system", "simulated"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Disk:
    made: Disk = OsDisk(tmp_path) if request.param == "operating system" else SimDisk(Random(1))
    made.make_folder("journal")
    return made


def started(disk: Disk, reserve_bytes: int = 0) -> Journal:
    journal = Journal(disk, reserve_bytes)
    journal.start_file()
    return journal


def payloads(disk: Disk, first: int = 1) -> list[bytes]:
    return [bytes(entry.payload) for entry in JournalFile(disk, first).entries()]


def ending(disk: Disk, first: int = 1) -> tuple[int, int, str | None]:
    """(good bytes, torn bytes, damage)"""
    file = JournalFile(disk, first)
    list(file.entries())
    return file.ending.good_bytes, file.ending.torn_bytes, file.ending.damage


def entry_positions(disk: Disk) -> list[int]:
    return [entry.position for entry in JournalFile(disk, 1).entries()]


def test_entries_come_back_in_order_with_their_sequences(disk: Disk) -> None:
    journal = started(disk)
    journal.append([b"one"])
    journal.append([b"t", bytearray(b"w"), memoryview(b"o")])
    journal.sync()
    journal.append([b""])
    entries = list(JournalFile(disk, 1).entries())
    assert [bytes(entry.payload) for entry in entries] == [b"one", b"two", b""]
    assert [entry.sequence for entry in entries] == [1, 2, 3]
    assert [entry.synced for entry in entries] == [0, 0, 2]
    assert sum(entry.size for entry in entries) + FILE_HEADER.size == journal.size
    assert ending(disk) == (journal.size, 0, None)


def test_an_empty_file_has_no_entries(disk: Disk) -> None:
    started(disk)
    assert payloads(disk) == []
    assert ending(disk) == (FILE_HEADER.size, 0, None)


def test_the_next_file_begins_with_the_next_sequence(disk: Disk) -> None:
    journal = started(disk)
    for number in range(5):
        journal.append([b"%d" % number])
    journal.start_file()
    journal.append([b"next"])
    assert list_files(disk) == [1, 6]
    assert payloads(disk, 1) == [b"0", b"1", b"2", b"3", b"4"]
    assert payloads(disk, 6) == [b"next"]


def test_starting_twice_without_entries_uses_the_same_file(disk: Disk) -> None:
    journal = started(disk)
    journal.start_file()
    journal.append([b"x"])
    assert list_files(disk) == [1]
    assert payloads(disk) == [b"x"]


def test_a_file_without_entries_is_not_started_over(disk: Disk) -> None:
    journal = started(disk)
    journal.append([b"x"])
    journal.start_file()
    if isinstance(disk, SimDisk):
        disk.fail_next("append", errno.EIO)  # it would be left behind without its header, or removed
    journal.start_file()
    assert list_files(disk) == [1, 2]
    assert ending(disk, 2) == (FILE_HEADER.size, 0, None)


def test_a_file_is_continued_after_cutting_its_tail(disk: Disk) -> None:
    journal = started(disk)
    journal.append([b"good"])
    size = journal.size
    journal.append([b"bad"])
    journal.close()
    again = Journal(disk)
    again.sequence = 1
    again.continue_file(1, size)
    again.append([b"new"])
    assert payloads(disk) == [b"good", b"new"]


def test_a_failed_append_can_be_cut_back(disk: Disk) -> None:
    journal = started(disk)
    journal.append([b"good"])
    journal.file.append([b"half of an ent"])
    journal.cut_back()
    journal.append([b"next"])
    assert payloads(disk) == [b"good", b"next"]


def test_files_whose_entries_are_all_below_a_sequence_are_removed(disk: Disk) -> None:
    journal = started(disk)
    for number in range(9):
        journal.append([b"x"])
        if number % 3 == 2:
            journal.start_file()
    assert list_files(disk) == [1, 4, 7, 10]
    remove_before(disk, 6)
    assert list_files(disk) == [4, 7, 10]
    remove_before(disk, 100)
    assert list_files(disk) == [10]


def test_strangers_in_the_folder_are_passed_over(disk: Disk) -> None:
    started(disk)
    for name in ("notes.journal", "1.journal", f"{7:020d}.journal.tmp", ".DS_Store"):
        overwrite(disk, f"journal/{name}", b"hello")
    assert list_files(disk) == [1]


def test_a_file_that_cannot_be_started_is_removed_and_the_old_one_goes_on() -> None:
    disk = SimDisk(Random(1))
    disk.make_folder("journal")
    journal = started(disk)
    journal.append([b"a"])
    disk.fail_next("append", errno.ENOSPC)
    with pytest.raises(OSError, match="No space"):
        journal.start_file()
    assert list_files(disk) == [1]
    journal.append([b"b"])
    journal.sync()
    disk.crash()
    assert list_files(disk) == [1]
    assert payloads(disk) == [b"a", b"b"]


def test_a_file_that_can_be_neither_started_nor_removed_is_no_full_disk() -> None:
    disk = SimDisk(Random(1))
    disk.make_folder("journal")
    journal = started(disk)
    journal.append([b"a"])
    disk.fail_next("append", errno.ENOSPC)
    disk.fail_next("remove", errno.ENOSPC)
    with pytest.raises(OSError, match="neither used nor removed") as caught:
        journal.start_file()
    assert caught.value.errno == errno.EIO


def test_a_continued_file_survives_a_power_cut_though_its_starter_was_killed() -> None:
    for seed in range(40):
        disk = SimDisk(Random(seed))
        disk.make_folder("journal")
        disk.crash_after(1 + seed % 4)
        try:
            started(disk)
        except BaseException:
            disk.kill()
        if not disk.exists(path_of(1)) or ending(disk)[0] == 0:
            continue
        journal = Journal(disk)
        journal.continue_file(1, FILE_HEADER.size)
        journal.append([b"acknowledged"])
        journal.sync()
        disk.crash()
        assert payloads(disk) == [b"acknowledged"]


# Torn or damaged


def test_a_cut_last_entry_is_a_torn_tail(disk: Disk) -> None:
    journal = started(disk)
    for number in range(3):
        journal.append([b"%d" % number * 50])
        journal.sync()
    data = content(disk, path_of(1))
    last = entry_positions(disk)[-1]
    for size in range(last, len(data)):
        overwrite(disk, path_of(1), data[:size])
        assert payloads(disk) == [b"0" * 50, b"1" * 50]
        assert ending(disk) == (last, len(data[last:size].rstrip(b"\0")), None)


@pytest.mark.parametrize("tail", [b"\xff" * 5000, b"\0" * 8 + b"\x01" * 3000, b"garbage"])
def test_garbage_after_the_last_entry_is_a_torn_tail(disk: Disk, tail: bytes) -> None:
    journal = started(disk)
    journal.append([b"good"])
    journal.sync()
    journal.file.append([tail])
    assert payloads(disk) == [b"good"]
    assert ending(disk) == (journal.size, len(tail), None)


def test_an_unsynced_bad_entry_before_a_good_one_is_a_torn_tail(disk: Disk) -> None:
    journal = started(disk)
    journal.append([b"synced"])
    journal.sync()
    for number in range(4):
        journal.append([b"%d" % number * 20])
    bad = entry_positions(disk)[2]
    flip(disk, path_of(1), bad + ENTRY.size)
    assert payloads(disk) == [b"synced", b"0" * 20]
    assert ending(disk) == (bad, journal.size - bad, None)


@pytest.mark.parametrize("part", ["length", "checksum", "sequence", "synced", "payload"])
def test_a_bad_entry_that_a_later_one_calls_synced_is_damage(disk: Disk, part: str) -> None:
    journal = started(disk)
    for number in range(6):
        journal.append([b"%d" % number * 20])
        journal.sync()
    bad = entry_positions(disk)[2]
    at = {"length": 0, "checksum": 5, "sequence": 15, "synced": 23, "payload": 30}[part]
    flip(disk, path_of(1), bad + at)
    assert payloads(disk) == [b"0" * 20, b"1" * 20]
    good, torn, damage = ending(disk)
    assert (good, torn) == (bad, journal.size - bad)
    assert damage is not None
    assert path_of(1) in damage
    assert f"byte {bad}" in damage


def test_lost_blocks_in_the_middle_are_damage(disk: Disk) -> None:
    journal = started(disk)
    for number in range(400):
        journal.append([b"%d" % number * 20])
        journal.sync()
    data = bytearray(content(disk, path_of(1)))
    data[4096:8192] = bytes(4096)
    overwrite(disk, path_of(1), bytes(data))
    assert ending(disk)[2] is not None


def test_damage_is_told_where_sequences_roll_over_a_byte(disk: Disk) -> None:
    journal = Journal(disk)
    journal.sequence = (1 << 16) - 3
    journal.start_file()
    for _ in range(6):
        journal.append([b"x" * 10])
        journal.sync()
    first = list_files(disk)[0]
    position = [entry.position for entry in JournalFile(disk, first).entries()][1]
    flip(disk, path_of(first), position + ENTRY.size)
    assert ending(disk, first)[2] is not None


def test_entries_of_an_earlier_life_behind_the_tail_do_not_count(disk: Disk) -> None:
    journal = started(disk)
    for number in range(4):
        journal.append([b"old %d" % number])
    stale = content(disk, path_of(1))
    journal.cut_back()
    positions = entry_positions(disk)
    again = Journal(disk)
    again.sequence = 1
    again.continue_file(1, positions[1])
    again.append([b"new 1"])
    journal_bytes = content(disk, path_of(1))
    overwrite(disk, path_of(1), journal_bytes + stale[len(journal_bytes) + 3 :])
    assert payloads(disk) == [b"old 0", b"new 1"]
    assert ending(disk)[2] is None


def test_a_repeated_entry_ends_the_good_part(disk: Disk) -> None:
    journal = started(disk)
    journal.append([b"one"])
    data = content(disk, path_of(1))
    overwrite(disk, path_of(1), data + data[FILE_HEADER.size :])
    assert payloads(disk) == [b"one"]
    assert ending(disk) == (len(data), len(data) - FILE_HEADER.size, None)


def test_a_large_torn_tail_of_zeros_is_looked_through_quickly(disk: Disk) -> None:
    journal = started(disk)
    journal.append([b"good"])
    journal.file.append([bytes(1 << 20), b"x"])
    assert ending(disk) == (journal.size, (1 << 20) + 1, None)


# Zeros that are written ahead


def test_zeros_behind_the_last_entry_are_a_clean_end(disk: Disk) -> None:
    journal = started(disk, reserve_bytes=4096)
    for number in range(100):
        journal.append([b"%d" % number * 20])
        journal.sync()
        size = len(content(disk, path_of(1)))
        assert journal.size <= size <= journal.size + 4096
        assert ending(disk) == (journal.size, 0, None)
    assert payloads(disk) == [b"%d" % number * 20 for number in range(100)]


def test_an_unfinished_entry_in_front_of_zeros_is_a_torn_tail(disk: Disk) -> None:
    journal = started(disk, reserve_bytes=4096)
    journal.append([b"good"])
    journal.sync()
    good = journal.size
    journal.append([b"torn" * 10, b"\0\0"])
    flip(disk, path_of(1), good + ENTRY.size + 3)
    assert payloads(disk) == [b"good"]
    assert ending(disk) == (good, journal.size - good - 2, None)


def test_a_bad_entry_in_front_of_zeros_that_had_been_synced_is_damage(disk: Disk) -> None:
    journal = started(disk, reserve_bytes=4096)
    for _ in range(3):
        journal.append([b"entry"])
        journal.sync()
    flip(disk, path_of(1), FILE_HEADER.size + ENTRY.size)
    assert ending(disk)[2] is not None


def test_large_entries_are_written_once(disk: Disk) -> None:
    journal = started(disk, reserve_bytes=4096)
    journal.append([bytes(4096)])
    assert len(content(disk, path_of(1))) == journal.size
    journal.append([b"small"])
    assert len(content(disk, path_of(1))) == journal.size + 4096 - ENTRY.size - 5
    journal.append([b"large" * 4096])
    assert len(content(disk, path_of(1))) == journal.size
    assert ending(disk) == (journal.size, 0, None)


def test_what_was_cut_back_is_followed_by_the_next_entry(disk: Disk) -> None:
    journal = started(disk, reserve_bytes=4096)
    journal.append([b"stays"])
    sequence, size = journal.sequence, journal.size
    journal.append([b"goes"])
    journal.sequence, journal.size = sequence, size
    journal.cut_back()
    assert len(content(disk, path_of(1))) == size
    journal.append([b"comes"])
    assert payloads(disk) == [b"stays", b"comes"]


def test_going_on_in_a_file_with_zeros_cuts_them(disk: Disk) -> None:
    journal = started(disk, reserve_bytes=4096)
    journal.append([b"one"])
    journal.close()
    again = Journal(disk, 4096)
    again.sequence = 1
    again.continue_file(1, ending(disk)[0])
    assert len(content(disk, path_of(1))) == again.size
    again.append([b"two"])
    assert payloads(disk) == [b"one", b"two"]


def test_a_file_that_a_later_one_follows_keeps_no_zeros(disk: Disk) -> None:
    journal = started(disk, reserve_bytes=4096)
    journal.append([b"one"])
    size = journal.size
    journal.start_file()
    assert len(content(disk, path_of(1))) == size


def test_a_disk_without_room_for_zeros_takes_entries_still() -> None:
    disk = SimDisk(Random(1), limit_bytes=1000)
    disk.make_folder("journal")
    journal = started(disk, reserve_bytes=4096)
    for number in range(10):
        journal.append([b"%d" % number])
    assert payloads(disk) == [b"%d" % number for number in range(10)]
    assert len(content(disk, path_of(1))) == journal.size


def test_zeros_that_cannot_be_written_are_an_error() -> None:
    disk = SimDisk(Random(1))
    disk.make_folder("journal")
    journal = started(disk, reserve_bytes=4096)
    disk.fail_next("reserve", errno.EIO)
    with pytest.raises(OSError, match="Input/output error"):
        journal.append([b"lost"])
    journal.cut_back()
    journal.append([b"kept"])
    assert payloads(disk) == [b"kept"]


# Headers


@pytest.mark.parametrize("size", range(FILE_HEADER.size))
def test_a_cut_header_is_an_unfinished_start(disk: Disk, size: int) -> None:
    started(disk)
    overwrite(disk, path_of(1), content(disk, path_of(1))[:size])
    assert payloads(disk) == []
    assert ending(disk) == (0, size, None)


@pytest.mark.parametrize("position", [0, 3, 8, 15])
def test_a_bad_header_before_entries_is_damage(disk: Disk, position: int) -> None:
    journal = started(disk)
    journal.append([b"stored"])
    flip(disk, path_of(1), position)
    assert payloads(disk) == []
    damage = ending(disk)[2]
    assert damage is not None
    assert path_of(1) in damage


def test_a_newer_format_is_refused(disk: Disk) -> None:
    started(disk)
    overwrite(disk, path_of(1), FILE_HEADER.pack(b"OMQJ", 2, 1))
    with pytest.raises(FolderError, match="format 2, newer than this OneMQ reads"):
        payloads(disk)
