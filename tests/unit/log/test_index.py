"""The sparse index: rows, their two bisections, and what a file gives back."""

from random import Random

import pytest

from onemq.log.index import CHUNK, NO_TIME, ROW, Index, parse


def filled(rows: int = 20, interval_bytes: int = 100) -> Index:
    """A row every 100 bytes: offset 10 n, position 100 n, and before it nothing younger than 5 n."""
    index = Index(interval_bytes)
    for number in range(rows):
        index.add(10 * number, 100 * number, 5 * number if number else NO_TIME)
    return index


def rows_of(index: Index) -> list[tuple[int, int, int]]:
    return list(zip(index.offsets, index.positions, index.times, strict=True))


def test_only_batches_far_enough_apart_get_a_row() -> None:
    index = Index(100)
    for position in range(0, 1000, 30):
        index.add(position, position, NO_TIME)
    assert list(index.positions) == [0, 120, 240, 360, 480, 600, 720, 840, 960]


def test_an_offset_is_looked_for_from_the_row_at_or_before_it() -> None:
    index = filled()
    assert index.before_offset(0) == (0, 0)
    assert index.before_offset(9) == (0, 0)
    assert index.before_offset(10) == (100, 10)
    assert index.before_offset(195) == (1900, 190)
    assert index.before_offset(10**9) == (1900, 190)


def test_what_is_read_at_once_ends_where_a_batch_begins() -> None:
    index = filled()
    assert index.room(0, 1000) == 1000
    assert index.room(100, 250) == 200
    assert index.room(1850, 60) == 50
    assert index.room(1900, 60) == 60
    assert Index(100).room(0, 60) == 60


def test_a_time_is_looked_for_from_the_last_row_before_which_everything_is_older() -> None:
    index = filled()
    assert index.before_time(-5) == 0
    assert index.before_time(0) == 0
    assert index.before_time(5) == 0
    assert index.before_time(6) == 100
    assert index.before_time(10**9) == 1900


def test_an_empty_index_starts_at_the_beginning() -> None:
    index = Index(100)
    assert index.before_offset(5) == (0, 0)
    assert index.before_time(5) == 0
    assert index.unsaved_chunk() == b""


def test_a_cut_forgets_rows_from_a_position_on_and_goes_on_from_there() -> None:
    index = filled()
    index.cut(1000)
    assert list(index.positions) == list(range(0, 1000, 100))
    index.add(500, 1000, 7)
    assert rows_of(index)[-1] == (500, 1000, 7)
    index.cut(0)
    assert rows_of(index) == []
    index.add(0, 0, NO_TIME)
    assert rows_of(index) == [(0, 0, NO_TIME)]


def test_a_saved_index_comes_back_and_goes_on() -> None:
    index = filled()
    first = index.unsaved_chunk()
    index.add(200, 2000, 100)
    second = index.unsaved_chunk()
    assert index.unsaved_chunk() == b""
    again = parse(first + second, 100)
    assert again is not None
    assert rows_of(again) == rows_of(index)
    assert again.unsaved_chunk() == b""
    again.add(201, 2099, 100)
    assert again.unsaved_chunk() == b""
    again.add(202, 2100, 100)
    assert again.unsaved_chunk() != b""


def test_a_cut_into_saved_rows_makes_the_whole_index_unsaved() -> None:
    index = filled()
    index.unsaved_chunk()
    index.cut(1950)
    assert index.saved == 20
    index.cut(1000)
    assert index.saved == 0
    chunk = index.unsaved_chunk()
    assert len(chunk) == CHUNK.size + 10 * ROW.size


def test_an_empty_file_is_an_empty_index() -> None:
    index = parse(b"", 100)
    assert index is not None
    assert rows_of(index) == []


def test_any_damage_makes_the_file_worthless() -> None:
    index = filled()
    data = index.unsaved_chunk()
    index.add(200, 2000, 100)
    data += index.unsaved_chunk()
    random = Random(1)
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1 << random.randrange(8)
        assert parse(bytes(damaged), 100) is None, position


@pytest.mark.parametrize("trailing", [b"\0", b"\0" * 7, b"\0\0\0\x01\0\0\0\0"])
def test_trailing_bytes_make_the_file_worthless(trailing: bytes) -> None:
    assert parse(filled().unsaved_chunk() + trailing, 100) is None


def test_a_cut_file_is_worthless_except_between_chunks() -> None:
    index = filled()
    first = index.unsaved_chunk()
    index.add(200, 2000, 100)
    data = first + index.unsaved_chunk()
    for size in range(1, len(data)):
        found = parse(data[:size], 100)
        assert (found is not None) == (size == len(first))
