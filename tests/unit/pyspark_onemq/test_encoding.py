"""The vectorised encoder against the log's own decoder."""

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from onemq.core.foreign import checked_records
from onemq.log.batch import check_ready_made
from onemq.log.batch_builder import BatchBuilder
from onemq.log.records import NO_HEADERS, encode_headers, varint
from pyspark_onemq.encoding import NO_HEADERS_COLUMN, seal, varints
from pyspark_onemq.heading import blocks

NAMES = st.text(min_size=1, max_size=8).map(str.encode).filter(lambda name: not name.startswith(b"_"))
HEADERS = st.lists(st.tuples(NAMES, st.none() | st.binary(max_size=20)), max_size=4)
BODIES = st.binary(max_size=300) | st.integers(0, 20_000).map(bytes)
ROWS = st.lists(
    st.tuples(
        st.none() | st.binary(max_size=100), st.none() | BODIES, st.none() | st.text(max_size=9), st.none() | HEADERS
    ),
    max_size=40,
)
LISTS = pa.list_(pa.struct([("key", pa.binary()), ("value", pa.binary())]))


def columns(rows):
    keys, values, tags, headers = (list(column) for column in zip(*rows, strict=True)) if rows else ([],) * 4
    as_dicts = [None if each is None else [{"key": n, "value": v} for n, v in each] for each in headers]
    tag = pa.array([None if each is None else each.encode() for each in tags], pa.binary())
    return pa.array(keys, pa.binary()), pa.array(values, pa.binary()), tag, pa.array(as_dicts, LISTS)


def expected(rows, content_type=None):
    found = []
    for key, value, tag, headers in rows:
        own = [] if tag is None else [(b"_tag", tag.encode())]
        last = [] if content_type is None else [(b"_type", content_type.encode())]
        found.append((key, value, (*own, *(headers or []), *last)))
    return found


def decoded(batch):
    records = checked_records(batch, check_ready_made(batch))
    return [(key, value, headers) for _, _, key, value, headers in records]


@settings(max_examples=60, deadline=None)
@given(ROWS, st.data(), st.sampled_from([None, "text", "json"]))
def test_what_is_sealed_is_what_the_log_decodes(rows, data, content_type):
    key, value, tag, headers = columns(rows)
    inner = data.draw(st.sets(st.integers(1, max(1, len(rows) - 1)), max_size=5)) if len(rows) > 1 else set()
    starts = np.array(sorted({0, *inner}))
    batches = seal(value, key, blocks(tag, headers, content_type, len(rows)), starts)
    assert [row for batch in batches for row in decoded(batch)] == expected(rows, content_type)
    assert len(batches) == (len(starts) if rows else 0)


@settings(max_examples=30, deadline=None)
@given(ROWS, st.integers(0, 5), st.integers(0, 5))
def test_parts_of_larger_columns_are_sealed_as_well(rows, before, after):
    end = max(before, len(rows) - after)
    key, value, tag, headers = (column[before:end] for column in columns(rows))
    batches = seal(value, key, blocks(tag, headers, None, len(value)), np.array([0]))
    assert [row for batch in batches for row in decoded(batch)] == expected(rows[before:end])


@given(st.lists(st.integers(-(2**62), 2**62)))
def test_varints_are_those_of_the_log(numbers):
    assert varints(np.array(numbers, np.int64)).to_pylist() == [varint(number) for number in numbers]


def test_the_bytes_are_those_of_the_batch_builder():
    headers = encode_headers([(b"_tag", b"paid"), (b"source", b"shop")])
    builder = BatchBuilder(0, 0)
    for number in range(300):
        builder.add(0, b"key-%d" % number, bytes(number), headers)
    key = pa.array([b"key-%d" % number for number in range(300)], pa.binary())
    value = pa.array([bytes(number) for number in range(300)], pa.binary())
    tag = pa.array([b"paid"] * 300, pa.binary())
    lists = pa.array([[{"key": b"source", "value": b"shop"}]] * 300, LISTS)
    assert seal(value, key, blocks(tag, lists, None, 300), np.array([0])) == [builder.seal()]


def test_rows_with_a_value_only_need_no_columns_of_keys_and_headers():
    builder = BatchBuilder(0, 0)
    builder.add(0, None, b"one", NO_HEADERS)
    builder.add(0, None, None, NO_HEADERS)
    assert seal(pa.array([b"one", None], pa.binary()), None, NO_HEADERS_COLUMN, np.array([0])) == [builder.seal()]
    (batch,) = seal(pa.array([b"one"], pa.binary()), None, blocks(None, None, "text", 1), np.array([0]))
    assert decoded(batch) == [(None, b"one", ((b"_type", b"text"),))]
