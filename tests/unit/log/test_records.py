"""The records of a batch: every row whole, with bytes around it, damaged, and encoded back."""

import gzip
from contextlib import suppress
from itertools import pairwise
from random import Random

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from onemq.errors import Corrupt, InvalidArgument, OneMQError
from onemq.log import records as records_module
from onemq.log.batch import (
    HEADER,
    HEADER_BYTES,
    batch_size,
    check_ready_made,
    is_sound,
    read_header,
    walk,
)
from onemq.log.batch_builder import BatchBuilder
from onemq.log.records import decode, decode_at, encode_headers, record_starts, varint
from onemq.message import Record

TIMES = st.integers(0, 1 << 45)
HEADERS = st.lists(st.tuples(st.binary(max_size=20), st.none() | st.binary(max_size=20)), max_size=4)
FIELDS = st.tuples(TIMES, st.none() | st.binary(max_size=200), st.none() | st.binary(max_size=300), HEADERS)

ROWS: dict[str, list[Record]] = {
    "one record": [(0, 1000, None, b"v", ())],
    "empty value": [(0, 1000, None, b"", ())],
    "no value": [(0, 1000, b"k", None, ())],
    "empty key": [(0, 1000, b"", b"v", ())],
    "headers": [(0, 1000, b"k", b"v", ((b"a", b"1"), (b"", b""), (b"none", None)))],
    "later and earlier times": [(0, 1000, None, b"a", ()), (1, 99000, None, b"b", ()), (2, 5, None, b"c", ())],
    "200 records": [(number, 1000, None, b"%d" % number, ()) for number in range(200)],
    "20000 records": [(number, 1000, None, b"", ()) for number in range(20_000)],
    "long value": [(0, 1000, b"k" * 200, b"v" * 100_000, ())],
    "high offset": [((1 << 62) + 5, 1000, None, b"v", ())],
}


def seal(rows: list[Record], attributes: int = 0) -> bytes:
    builder = BatchBuilder(rows[0][0], rows[0][1])
    for _, timestamp_ms, key, value, headers in rows:
        builder.add(timestamp_ms, key, value, encode_headers(headers))
    return builder.seal(attributes)


def resealed(batch: bytes, records: bytes, **fields: int) -> bytes:
    """A batch with other records and header fields, and a checksum that fits."""
    header = read_header(batch)._replace(length=HEADER_BYTES - 12 + len(records), **fields)
    packed = HEADER.pack(*header)
    crc = crc32c(records, crc32c(packed[21:]))
    return HEADER.pack(*header._replace(crc=crc)) + records


@pytest.fixture(params=ROWS)
def rows(request: pytest.FixtureRequest) -> list[Record]:
    return ROWS[request.param]


def test_a_row_comes_back_as_it_was(rows: list[Record]) -> None:
    batch = seal(rows)
    header = read_header(batch)
    assert is_sound(batch, 0, header)
    assert header.size == len(batch) == batch_size(batch, 0)
    assert header.base_offset == rows[0][0]
    assert header.next_offset == rows[-1][0] + 1
    assert header.record_count == len(rows)
    assert header.max_timestamp_ms == max(row[1] for row in rows)
    assert decode(batch, 0, header) == rows


def test_a_row_encodes_back_to_the_same_bytes(rows: list[Record]) -> None:
    batch = seal(rows)
    assert seal(decode(batch, 0, read_header(batch))) == batch


def test_bytes_around_a_row_do_not_matter(rows: list[Record]) -> None:
    batch = seal(rows)
    data = b"\xff" * 7 + batch + b"\xff" * 99
    header = read_header(data, 7)
    assert is_sound(data, 7, header)
    assert decode(data, 7, header) == rows


def test_each_record_can_be_decoded_alone(rows: list[Record]) -> None:
    data = b"x" + seal(rows)
    header = read_header(data, 1)
    for row in rows[:3] + rows[-3:]:
        assert decode_at(data, 1, header, row[0]) == row


@given(st.lists(FIELDS, min_size=1, max_size=20), st.integers(0, 1 << 60))
def test_arbitrary_records_come_back(fields: list[tuple], base_offset: int) -> None:  # type: ignore[type-arg]
    rows = [
        (base_offset + number, timestamp_ms, key, value, tuple(headers))
        for number, (timestamp_ms, key, value, headers) in enumerate(fields)
    ]
    batch = seal(rows)
    assert decode(batch, 0, check_ready_made(batch)) == rows


@given(st.integers(-(1 << 62), (1 << 62) - 1))
def test_a_varint_comes_back(number: int) -> None:
    encoded = varint(number)
    assert records_module._read_varint(encoded + b"\xff", 0) == (number, len(encoded))


@given(st.integers(1 << 62))
def test_a_larger_one_does_not(number: int) -> None:
    """Else the time of a record could be out of all bounds."""
    with pytest.raises(IndexError):
        records_module._read_varint(varint(min(number, (1 << 63) - 1)) + b"\0" * 9, 0)


@pytest.mark.parametrize(
    ("number", "encoded"),
    [(0, "00"), (-1, "01"), (1, "02"), (63, "7e"), (-64, "7f"), (64, "8001"), (-65, "8101"), (300, "d804")],
)
def test_varints_are_zigzag(number: int, encoded: str) -> None:
    assert varint(number).hex() == encoded


# Compression


def test_gzip_records_are_read() -> None:
    batch = seal(ROWS["200 records"])
    packed = resealed(batch, gzip.compress(batch[HEADER_BYTES:]), attributes=1)
    header = check_ready_made(packed)
    assert decode(packed, 0, header) == ROWS["200 records"]
    assert decode_at(packed, 0, header, 150) == ROWS["200 records"][150]


def test_a_compression_that_nobody_brought_is_refused() -> None:
    batch = seal(ROWS["one record"])
    packed = resealed(batch, batch[HEADER_BYTES:], attributes=7)
    with pytest.raises(InvalidArgument, match="compression 7"):
        decode(packed, 0, read_header(packed))


@pytest.mark.parametrize("harm", ["not gzip", "cut", "flipped"])
def test_damaged_gzip_is_corrupt(harm: str) -> None:
    batch = seal(ROWS["200 records"])
    records = gzip.compress(batch[HEADER_BYTES:])
    flipped = records[:40] + bytes([records[40] ^ 1]) + records[41:]
    broken = {"not gzip": b"hello", "cut": records[:-20], "flipped": flipped}[harm]
    packed = resealed(batch, broken, attributes=1)
    with pytest.raises(Corrupt):
        decode(packed, 0, read_header(packed))


# What others may send


@pytest.mark.parametrize(
    ("records", "count"),
    [
        (b"", 1),
        (b"\x10\x00\x00\x00\x01", 1),
        (b"\x0c\x00\x00\x00\x01\xc8\x01v\x00", 1),
        (b"\x0e\x00\x00\x00\x01\x02v\x00", 2),
        (b"\x0e\x00\x00\x00\x01\x02v\x00" + b"left over", 1),
        (b"\xff" * 100_000, 1),
        (b"\x0e\x00" + b"\xff" * 100_000, 1),
        (b"\x0e\x00\x00\x00\x01\x02v\x80", 1),
    ],
)
def test_records_that_do_not_parse_are_corrupt(records: bytes, count: int) -> None:
    batch = resealed(seal(ROWS["one record"]), records, record_count=count)
    with pytest.raises(Corrupt, match="at offset 0 do not parse"):
        decode(batch, 0, read_header(batch))


def test_a_record_cannot_reach_into_the_next_batch() -> None:
    batch = seal(ROWS["one record"])
    greedy = resealed(batch, b"\x0e\x00\x00\x00\x01\x80\x01")
    with pytest.raises(Corrupt):
        decode(greedy + seal(ROWS["long value"]), 0, read_header(greedy))
    many = resealed(batch, b"\x0e\x00\x00\x00\x01\x80\x01" * 8, record_count=8, last_offset_delta=7)
    with pytest.raises(Corrupt):
        decode_at(many + seal(ROWS["long value"]), 0, read_header(many), 7)


def test_damaged_bytes_never_raise_anything_but_our_own_errors() -> None:
    random = Random(3)
    originals = [seal(rows) for name, rows in ROWS.items() if "20000" not in name and "long" not in name]
    originals += [resealed(batch, gzip.compress(batch[HEADER_BYTES:]), attributes=1) for batch in originals[:3]]
    for _ in range(4000):
        batch = bytearray(random.choice(originals))
        for _ in range(random.randint(1, 4)):
            batch[random.randrange(len(batch))] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
        damaged = bytes(batch[: random.choice((len(batch), random.randint(HEADER_BYTES, len(batch))))])
        for _, header in walk(damaged):
            assert header.size <= len(damaged)
        header = read_header(damaged)
        is_sound(damaged, 0, header)
        header = header._replace(record_count=min(header.record_count, 1000))
        with suppress(OneMQError):
            check_ready_made(damaged)
        with suppress(OneMQError):
            decode(damaged, 0, header)
        with suppress(OneMQError):
            decode_at(damaged, 0, header, 3)


@given(st.binary(min_size=HEADER_BYTES, max_size=300))
def test_random_bytes_never_raise_anything_but_our_own_errors(data: bytes) -> None:
    header = read_header(data)
    list(walk(data))
    assert not is_sound(data, 0, header) or header.size <= len(data)
    with suppress(OneMQError):
        decode(data, 0, header._replace(record_count=min(header.record_count, 100), attributes=0))


def test_records_are_found_without_a_look_into_them(rows: list[Record]) -> None:
    batch = seal(rows)
    starts = record_starts(b"\xff" * 7 + batch + b"\x00", 7 + HEADER_BYTES, len(rows))
    assert starts[-1] == 7 + len(batch)
    for row, (start, end) in list(zip(rows, pairwise(starts), strict=True))[-20:]:
        alone = resealed(batch, batch[start - 7 : end - 7], record_count=1)
        assert decode(alone, 0, read_header(alone)) == [row]
    with pytest.raises(IndexError):
        record_starts(batch[:-1], HEADER_BYTES, len(rows))
