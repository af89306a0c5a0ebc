"""Stretches: what is given unread, what is looked at first, and files that go before they are sent."""

import os
from pathlib import Path

import pytest

from onemq.errors import Corrupt
from onemq.log.batch import NOT_PERSISTENT
from onemq.log.batch_builder import BatchBuilder
from onemq.log.disk import OsDisk
from onemq.log.engine import Batch, WriteSet
from onemq.log.local import LocalLog
from onemq.log.records import NO_HEADERS
from onemq.log.stretch import Stretch, StretchedFile
from tests.unit.log.helpers import TOPIC, append, create, flip, put, read, segment_files

BODY_BYTES = 20_000
COUNT = 20
ALL = 1 << 20


@pytest.fixture
def disk(tmp_path: Path) -> OsDisk:
    return OsDisk(tmp_path)


def opened(disk: OsDisk) -> LocalLog:
    log = LocalLog(disk, journal_reserve_bytes=0)
    log.open()
    return log


def body(number: int) -> bytes:
    return b"%d " % number + bytes([number]) * BODY_BYTES


def filled(disk: OsDisk, segment_bytes: int = ALL) -> LocalLog:
    log = opened(disk)
    create(log, segment_bytes=segment_bytes)
    for number in range(COUNT):
        put(log, body(number), journaled=False, sync=False)
    return log


def reopened(log: LocalLog, disk: OsDisk) -> LocalLog:
    log.checkpoint([b""])
    log.close()
    return opened(disk)


def stretch(log: LocalLog, offset: int, bytes_max: int = ALL, boot: int = 0) -> tuple[bytes, int] | None:
    found = log.stretch(TOPIC, 0, offset, bytes_max, boot)
    return None if found is None else (found[0].read(ALL), found[1])


def test_what_this_process_wrote_is_given_unread(disk: OsDisk) -> None:
    log = filled(disk)
    for offset, bytes_max in ((0, ALL), (3, ALL), (0, 100_000), (7, 90_000), (COUNT - 4, 90_000)):
        found = stretch(log, offset, bytes_max)
        assert found is not None
        data, next_offset = found
        assert data == read(log, offset, bytes_max)
        assert next_offset == offset + len(data) // len(read(log, offset, 1))


def test_little_and_nothing_is_read(disk: OsDisk) -> None:
    log = filled(disk)
    assert stretch(log, 0, 50_000) is None
    assert stretch(log, COUNT - 1) is None
    assert stretch(log, COUNT) is None
    assert stretch(log, COUNT + 5) is None


def test_of_batches_larger_than_what_is_wanted_one_is_given(disk: OsDisk) -> None:
    log = opened(disk)
    create(log)
    put(log, bytes(300_000), journaled=False)
    put(log, bytes(300_000), journaled=False)
    assert stretch(log, 0, 100_000) == (read(log, 0, 1), 1)
    assert stretch(log, 1, 100_000) == (read(log, 1, 1), 2)


def test_what_waits_in_memory_is_no_part_of_a_stretch(disk: OsDisk) -> None:
    log = filled(disk)
    put(log, b"waits", journaled=True)
    found = stretch(log, 10)
    assert found is not None
    assert found[0] == read(log, 10, len(found[0]))
    assert found[1] <= COUNT


def test_an_offset_within_a_batch_gives_the_batch(disk: OsDisk) -> None:
    log = opened(disk)
    create(log)
    for _ in range(3):
        put(log, *[bytes(30_000)] * 3, journaled=False)
    found = stretch(log, 4)
    assert found is not None
    assert found == (read(log, 4), 9)


def test_what_another_process_wrote_is_checked_once(disk: OsDisk) -> None:
    log = reopened(filled(disk), disk)
    assert stretch(log, 0, boot=COUNT) is None
    assert read(log, 0)
    found = stretch(log, 0, boot=COUNT)
    assert found is not None
    assert found == (read(log, 0), COUNT)


def test_what_follows_something_unread_is_read_each_time(disk: OsDisk) -> None:
    log = reopened(filled(disk), disk)
    assert read(log, 5)
    assert stretch(log, 5, boot=COUNT) is None


def test_what_is_appended_behind_what_another_process_wrote_is_given(disk: OsDisk) -> None:
    log = reopened(filled(disk), disk)
    for number in range(COUNT, COUNT + 5):
        put(log, body(number), journaled=False)
    assert stretch(log, COUNT - 1, boot=COUNT) is None
    assert stretch(log, COUNT, boot=COUNT) == (read(log, COUNT), COUNT + 5)


def test_messages_that_are_not_persistent_are_looked_at_after_a_restart(disk: OsDisk) -> None:
    log = filled(disk)
    builder = BatchBuilder(COUNT, 1000)
    builder.add(1000, None, body(COUNT), NO_HEADERS)
    append(log, WriteSet(batches=[Batch(TOPIC, 0, COUNT, builder.seal(NOT_PERSISTENT), False)]))
    assert stretch(log, 0) == (read(log, 0), COUNT + 1)
    log = reopened(log, disk)
    assert read(log, 0)
    assert stretch(log, 0, boot=COUNT + 1) is None


def test_damage_is_found_when_a_restarted_log_reads(disk: OsDisk) -> None:
    log = filled(disk)
    log.checkpoint([b""])
    log.close()
    flip(disk, segment_files(disk)[0], 5 * BODY_BYTES)
    log = opened(disk)
    assert stretch(log, 0, boot=COUNT) is None
    assert read(log, 0)
    assert stretch(log, 0, boot=COUNT) is None
    found = stretch(log, 0, 85_000, boot=COUNT)  # before the damage
    assert found is not None
    with pytest.raises(Corrupt):
        read(log, 4)


def test_where_damage_was_found_nothing_is_given_unread_any_more(disk: OsDisk) -> None:
    log = filled(disk)
    flip(disk, segment_files(disk)[0], 5 * BODY_BYTES)
    assert stretch(log, 0) is not None  # nobody has seen it: the reader's own check has to
    with pytest.raises(Corrupt):
        read(log, 4)
    assert stretch(log, 0) is None


def test_a_removed_segment_is_read_to_its_end(disk: OsDisk) -> None:
    log = filled(disk, segment_bytes=150_000)
    wanted = read(log, 0)
    found = log.stretch(TOPIC, 0, 0, ALL, 0)
    assert found is not None
    append(log, WriteSet(trims=[(TOPIC, 0, COUNT - 1)]))
    assert "0-00000000000000000000.log" not in segment_files(disk)[0]
    pieces = []
    while len(found[0]):
        pieces.append(found[0].read(10_000))
    assert b"".join(pieces) == wanted


def test_a_cleaned_segment_is_read_as_it_was_and_looked_at_anew(disk: OsDisk) -> None:
    log = filled(disk, segment_bytes=150_000)
    wanted = read(log, 0)
    found = log.stretch(TOPIC, 0, 0, ALL, 0)
    assert found is not None
    freed: list[int] = []
    log.clean(TOPIC, 0, lambda offset: offset != 1, freed.append)
    assert freed[0] > 0
    assert stretch(log, 0) is None
    left = read(log, 0)
    assert stretch(log, 0) == (left, 7)
    assert found[0].read(ALL) == wanted


def test_a_file_is_closed_with_the_last_stretch_of_it(disk: OsDisk) -> None:
    file = disk.open("data", create=True)
    file.append([b"0123456789"])
    one, other = file.stretch(0, 5), file.stretch(5, 5)
    assert isinstance(one, Stretch)
    assert isinstance(other, Stretch)
    descriptor = one._file.descriptor
    file.close()
    with pytest.raises(OSError, match="descriptor"):
        file.stretch(0, 1)
    assert (one.read(3), one.read(100), len(one), other.read(100)) == (b"012", b"34", 0, b"56789")
    del one
    os.fstat(descriptor)
    del other
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_files_are_kept_open_for_stretches_only_as_long_as_there_are_any(disk: OsDisk) -> None:
    log = filled(disk)
    before = StretchedFile.count
    held = [log.stretch(TOPIC, 0, offset, ALL, 0) for offset in (0, 3)]
    assert all(held)
    assert StretchedFile.count == before + 1
    held.clear()
    assert StretchedFile.count == before


def test_not_too_many_files_are_kept_open(disk: OsDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    log = filled(disk)
    monkeypatch.setattr("onemq.log.disk.STRETCHED_FILES_MAX", StretchedFile.count)
    assert log.stretch(TOPIC, 0, 0, ALL, 0) is None
    assert read(log, 0)
