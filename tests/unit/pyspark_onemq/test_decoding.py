"""Record batches as Arrow, against a decoder that takes one record after the other."""

import gzip
from contextlib import suppress
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onemq.errors import Corrupt, InvalidArgument, OneMQError
from onemq.log.batch import HEADER, HEADER_BYTES, STAMPED, read_header, walk
from onemq.log.batch_builder import BatchBuilder
from onemq.log.records import decode as decode_batch
from onemq.log.records import encode_headers
from onemq.message import ID, TAG, Headers, Record, id_of
from pyspark_onemq.decoding import HIDDEN, decode
from pyspark_onemq.gathering import identities

HEADER_TYPE = pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())])))
SCHEMA = pa.schema([
    ("key", pa.binary()), ("value", pa.binary()), ("topic", pa.string()), ("partition", pa.int32()),
    ("offset", pa.int64()), ("timestamp", pa.timestamp("us", tz="UTC")), ("id", pa.string()), ("tag", pa.string()),
    ("headers", HEADER_TYPE),
])  # fmt: skip
"""As Spark expects it."""
FAR = 1 << 62
TIME_MS = 1_794_811_677_562


def sealed(rows: list[Record], attributes: int = 0, codec: int = 0) -> bytes:
    builder = BatchBuilder(rows[0][0], rows[0][1])
    for offset, time_ms, key, value, headers in rows:
        builder.skip_to(offset)
        builder.add(time_ms, key, value, encode_headers(headers))
    batch = builder.seal(attributes)
    return compressed(batch, codec) if codec else batch


def compressed(batch: bytes, codec: int) -> bytes:
    records = gzip.compress(batch[HEADER_BYTES:], 1)
    header = read_header(batch)
    header = header._replace(length=header.length - len(batch) + HEADER_BYTES + len(records))
    return HEADER.pack(*header._replace(attributes=header.attributes | codec)) + records


def expected(batches: bytes, first: int, end: int) -> list[dict[str, Any]]:
    found = []
    for position, header in walk(batches):
        for record in decode_batch(batches, position, header):
            if first <= record[0] < end:
                found.append(expected_row(record))
    return found


def expected_row(record: Record) -> dict[str, Any]:
    offset, time_ms, key, value, headers = record
    tag = next((text for name, text in headers if name == TAG), None)
    return {
        "key": key, "value": value, "topic": "orders", "partition": 3, "offset": offset,
        "timestamp": np.datetime64(time_ms, "ms").astype("datetime64[us]").item(),
        "id": id_of(0x1F, 3, record), "tag": None if tag is None else tag.decode(errors="replace"),
        "headers": [
            {"key": name.decode(errors="replace"), "value": text} for name, text in headers if name not in HIDDEN
        ],
    }  # fmt: skip


def decoded(batches: bytes, first: int = 0, end: int = FAR, schema: pa.Schema = SCHEMA) -> pa.RecordBatch:
    found = decode(batches, first, end, "orders", 3, 0x1F, schema)
    found.validate(full=True)
    assert found.schema.equals(schema)
    return found


def rows_of(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    rows = batch.to_pylist()
    for row in rows:
        row["timestamp"] = row["timestamp"].replace(tzinfo=None)
    return rows


def check(batches: bytes, first: int = 0, end: int = FAR) -> None:
    assert rows_of(decoded(batches, first, end)) == expected(batches, first, end)


def plain(count: int, size: int, headers: Headers = (), first: int = 0) -> list[Record]:
    return [(first + each, TIME_MS, b"%06d" % each, b"v" * size, headers) for each in range(count)]


# Batches of all kinds

NAMES = st.sampled_from([TAG, ID, b"_tug", b"_ie", b"_dead", b"_sid", b"name", b"", b"\xff"]) | st.binary(max_size=5)
HEADERS = st.lists(st.tuples(NAMES, st.none() | st.binary(max_size=9)), max_size=4).map(tuple)
SIZES = st.sampled_from([0, 1, 57, 63, 64, 130, 9000])
TIMES = st.just(TIME_MS) | st.integers(0, 1 << 44)


@st.composite
def runs(draw: st.DrawFn) -> list[Record]:
    """Records that are alike but for their offsets, between others."""
    key, size, headers = draw(st.none() | st.binary(max_size=70)), draw(st.none() | SIZES), draw(HEADERS)
    time_ms = draw(TIMES)
    value = None if size is None else b"v" * size
    return [(0, time_ms, key, value, headers)] * draw(st.sampled_from([1, 2, 31, 33, 70, 130]))


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """Batches one after the other, with gaps in and between them."""
    offset = draw(st.sampled_from([0, 1, 250, 65_530, 1 << 20, (1 << 40) - 3]))
    batches = []
    for _ in range(draw(st.integers(0, 4))):
        rows: list[Record] = []
        for record in [record for run in draw(st.lists(runs(), min_size=1, max_size=4)) for record in run]:
            rows.append((offset, *record[1:]))
            offset += 1
        gone = set(draw(st.lists(st.integers(1, len(rows)), max_size=5)))
        rows = [row for place, row in enumerate(rows) if place not in gone]
        batches.append(sealed(rows, draw(st.sampled_from([0, STAMPED])), draw(st.sampled_from([0, 0, 1]))))
        offset += draw(st.sampled_from([0, 0, 3, 100_000]))
    return b"".join(batches)


@given(streams(), st.integers(0, 400), st.integers(0, 400))
@settings(max_examples=60, deadline=None)
def test_all_kinds_of_batches_give_the_same_as_one_record_after_the_other(data: bytes, first: int, count: int) -> None:
    check(data)
    offsets = [row["offset"] for row in expected(data, 0, FAR)]
    if offsets:
        check(data, offsets[0] + first, offsets[0] + first + count)


@pytest.mark.parametrize("count", [1, 31, 63, 64, 127, 128, 129, 10_000])
def test_records_of_one_size(count: int) -> None:
    check(sealed(plain(count, 20)) + sealed(plain(3, 200, first=count)))


def test_records_of_many_sizes() -> None:
    random = Random(1)
    rows = [(each, TIME_MS, None, b"v" * random.randrange(300), ()) for each in range(3_000)]
    check(sealed(rows))


def test_sizes_that_change_after_a_run() -> None:
    rows = plain(100, 10) + plain(1, 11, first=100) + plain(100, 10, first=101) + plain(40, 200, first=201)
    check(sealed(rows))


@pytest.mark.parametrize("count", [1, 2, 30, 100])
@pytest.mark.parametrize("size", [5, 100, 9_000])
def test_batches_that_look_like_each_other(count: int, size: int) -> None:
    check(b"".join(sealed(plain(count, size, ((TAG, b"paid"),), first)) for first in range(0, 5 * count, count)))


def test_batches_of_one_size_and_count_that_are_not_alike() -> None:
    batches = []
    for number, sizes in enumerate([(3, 4, 5), (5, 4, 3), (4, 4, 4), (3, 4, 5), (5, 4, 3)]):
        rows = [(3 * number + place, TIME_MS, None, b"v" * size, ()) for place, size in enumerate(sizes)]
        batches.append(sealed(rows))
    assert len({len(batch) for batch in batches}) == 1
    check(b"".join(batches))


def test_nothing_at_all() -> None:
    assert decoded(b"").num_rows == 0
    assert decoded(sealed(plain(10, 5)), 10, 20).num_rows == 0


def test_only_the_columns_that_are_asked_for() -> None:
    schema = pa.schema([("offset", pa.int64()), ("value", pa.binary())])
    assert decoded(sealed(plain(2, 1)), schema=schema).to_pydict() == {"offset": [0, 1], "value": [b"v", b"v"]}


def test_text_that_is_no_utf_8_is_replaced() -> None:
    (row,) = decoded(sealed([(0, 0, None, b"", ((TAG, b"a\xff"), (ID, b"\xfe"), (b"\xfd", b"\xfd")))])).to_pylist()
    assert (row["tag"], row["id"], row["headers"]) == ("a\ufffd", "\ufffd", [{"key": "\ufffd", "value": b"\xfd"}])


def test_headers_that_the_broker_made_for_itself_are_not_shown() -> None:
    headers = ((b"_sid", b"1-1"), (b"a", b"1"), (TAG, b"paid"), (b"_dead", b"{}"), (b"a", None))
    (row,) = decoded(sealed([(0, 0, None, b"", headers)])).to_pylist()
    assert [(each["key"], each["value"]) for each in row["headers"]] == [("a", b"1"), ("_dead", b"{}"), ("a", None)]


def test_bodies_that_their_sender_compressed_are_decompressed() -> None:
    encoded = ((b"_enc", b"gzip"), (b"a", b"1"))
    values = [(gzip.compress(b"long"), encoded), (b"short", ()), (gzip.compress(b"x"), encoded), (None, encoded)]
    values += [(b"broken", encoded), (b"other", ((b"_enc", b"zstd"),))]
    found = decoded(sealed([(row, 0, None, value, headers) for row, (value, headers) in enumerate(values)])).to_pylist()
    assert [row["value"] for row in found] == [b"long", b"short", b"x", None, b"broken", b"other"]
    names = [[header["key"] for header in row["headers"]] for row in found]
    assert names == [["a"], [], ["a"], ["_enc", "a"], ["_enc", "a"], ["_enc"]]


def test_another_compression_is_named() -> None:
    batch = sealed(plain(1, 5)) + compressed(sealed(plain(3, 5, first=1)), 7)
    with pytest.raises(InvalidArgument, match="the batch at offset 1 has compression 7, which is unknown"):
        decoded(batch)


def test_ids_have_as_many_digits_as_they_need() -> None:
    edges = [0, 1, 15, 16, 17, 255, 256, 4095, 4096, 65_535, 65_536, (1 << 20) - 1, 1 << 20, 1 << 36, (1 << 63) - 1]
    found = identities(0xABC, 17, np.array(edges, np.int64))
    found.validate(full=True)
    assert found.to_pylist() == [f"abc-11-{offset:x}" for offset in edges]


# Damage


def test_what_does_not_parse_is_corrupt() -> None:
    batch = bytearray(sealed(plain(40, 20)))
    batch[HEADER_BYTES + 4] = 0x7F
    with pytest.raises(Corrupt, match="do not parse"):
        decoded(bytes(batch))


def test_damaged_bytes_never_raise_anything_but_our_own_errors() -> None:
    random = Random(5)
    tagged = ((TAG, b"paid"), (b"n", b"1"))
    originals = [sealed(plain(40, 20, tagged)), sealed(plain(3, 200)), sealed(plain(70, 3), codec=1)]
    for _ in range(700):
        batch = bytearray(random.choice(originals))
        for _ in range(random.randint(1, 4)):
            batch[random.randrange(len(batch))] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
        header = read_header(bytes(batch))
        batch[57:61] = min(header.record_count, 1_000).to_bytes(4, "big", signed=True)
        with suppress(OneMQError):
            decode(bytes(batch), 0, FAR, "orders", 3, 1, SCHEMA)
