"""Whole batches: cut, walked, placed, stamped, and checked when a producer sealed them."""

import pytest

from onemq.errors import Corrupt, InvalidArgument
from onemq.log.batch import (
    HEADER_BYTES,
    NOT_PERSISTENT,
    check_ready_made,
    is_sound,
    placed_at,
    placed_foreign,
    read_extent,
    read_header,
    stamped,
    walk,
)
from onemq.log.records import decode
from onemq.message import Record
from tests.unit.log.test_records import ROWS, resealed, seal


@pytest.mark.parametrize("rows", ROWS.values(), ids=list(ROWS))
def test_a_cut_row_is_not_sound_and_not_walked(rows: list[Record]) -> None:
    batch = seal(rows)
    for size in {*range(0, min(len(batch), 300)), len(batch) - 1}:
        cut = batch[:size]
        assert list(walk(cut)) == []
        if size >= HEADER_BYTES:
            assert not is_sound(cut, 0, read_header(cut))


def test_batches_are_walked_one_after_the_other() -> None:
    batches = [seal(rows) for rows in ROWS.values()]
    data = b"".join(batches)
    found = list(walk(data))
    assert [header.size for _, header in found] == [len(batch) for batch in batches]
    assert [data[position : position + header.size] for position, header in found] == batches
    assert [position for position, _ in walk(data, found[3][0])] == [position for position, _ in found[3:]]


def test_a_batch_is_placed_by_its_first_bytes_only() -> None:
    batch = seal(ROWS["headers"])
    moved = placed_at(batch, 12345)
    assert moved[8:] == batch[8:]
    assert is_sound(moved, 0, read_header(moved))
    assert decode(moved, 0, read_header(moved))[0][0] == 12345
    assert placed_at(batch, 0) is batch


def test_attributes_are_kept() -> None:
    assert read_header(seal(ROWS["one record"], NOT_PERSISTENT)).attributes == NOT_PERSISTENT


def test_a_ready_made_batch_is_checked() -> None:
    batch = seal(ROWS["headers"])
    assert check_ready_made(batch) == read_header(batch)
    with pytest.raises(Corrupt, match="shorter than a batch header"):
        check_ready_made(batch[:60])
    with pytest.raises(InvalidArgument, match="format 1 is not supported"):
        check_ready_made(batch[:16] + b"\x01" + batch[17:])
    for wrong in (batch + b"\0", batch[:-1]):
        with pytest.raises(Corrupt, match="does not fit"):
            check_ready_made(wrong)
    with pytest.raises(Corrupt, match="checksum"):
        check_ready_made(batch[:-1] + bytes([batch[-1] ^ 1]))
    with pytest.raises(InvalidArgument, match="does not fit"):
        check_ready_made(resealed(batch, batch[HEADER_BYTES:], record_count=0))
    with pytest.raises(InvalidArgument, match="does not fit"):
        check_ready_made(resealed(batch, batch[HEADER_BYTES:], last_offset_delta=-1))


def test_a_foreign_batch_is_placed_and_marked_as_such() -> None:
    batch = seal(ROWS["headers"])
    moved = placed_foreign(memoryview(batch), 12345)
    header = read_header(moved)
    assert is_sound(moved, 0, header)
    assert header == read_header(batch)._replace(base_offset=12345, leader_epoch=-1)


def test_the_extent_of_a_batch_is_what_its_header_says() -> None:
    batch = seal(ROWS["later and earlier times"])
    assert read_extent(b"x" + batch, 1) == (0, 3, 1000, 99_000)


def test_the_records_of_a_stamped_batch_have_its_time() -> None:
    batch = seal(ROWS["later and earlier times"])
    now = stamped(batch, read_header(batch)._replace(producer_id=7), 5_000)
    header = check_ready_made(now)
    assert (header.producer_id, header.max_timestamp_ms) == (7, 5_000)
    assert [record[1] for record in decode(now, 0, header)] == [5_000, 5_000, 5_000]
