import numpy as np
import pyarrow as pa
import pytest
from crc32c import crc32c

from onemq.core.foreign import checked_records
from onemq.errors import InvalidArgument
from onemq.log.batch import check_ready_made
from pyspark_onemq.placing import Turn
from pyspark_onemq.rows import PORTION_BYTES, by_topic, portions, rows_of
from pyspark_onemq.sealing import BATCH_BYTES_MAX, BATCH_ROOM_BYTES, Route, appends


def route(partitions, bytes_max=4 << 20):
    return Route("t", partitions, bytes_max, Turn(0))


def decoded(found):
    return [
        (each.partition, record[2], record[3], dict(record[4]))
        for each in found
        for record in checked_records(each.batch, check_ready_made(each.batch))
    ]


def test_rows_of_one_key_stay_in_their_order_in_one_partition():
    rows = [(f"key {number % 7}", f"body {number}") for number in range(200)]
    batch = pa.record_batch({"key": [key for key, _ in rows], "value": [value for _, value in rows]})
    found = decoded(appends(rows_of(batch, "text"), route(4)))
    for key in {key for key, _ in rows}:
        mine = [(partition, value) for partition, k, value, _ in found if k == key.encode()]
        assert mine == [(crc32c(key.encode()) % 4, value.encode()) for k, value in rows if k == key]
    assert all(headers == {b"_type": b"text"} for *_, headers in found)
    assert len(found) == 200


def test_batches_are_as_large_as_the_topic_takes_and_a_larger_row_is_one_of_its_own():
    values = [b"x" * 300] * 50 + [b"y" * 5000] + [b"z" * 300] * 50
    found = appends(rows_of(pa.record_batch({"value": values}), None), route(1, bytes_max=4096))
    assert [value for _, _, value, _ in decoded(found)] == values
    assert all(len(each.batch) <= 4096 or b"yyyy" in each.batch for each in found)
    assert sum(b"yyyy" in each.batch for each in found) == 1
    assert len(found) < 20
    large = appends(rows_of(pa.record_batch({"value": [b"x" * 1000] * 3000}), None), route(1))
    assert [len(each.batch) <= BATCH_BYTES_MAX for each in large] == [True] * 3
    assert len(large[0].batch) > BATCH_BYTES_MAX - BATCH_ROOM_BYTES - 40 * 1100


def test_an_order_key_among_the_headers_decides_before_the_key():
    headers = pa.array(
        [[{"key": "_order", "value": b"a"}], [], None],
        pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
    )
    batch = pa.record_batch({"key": ["b", "b", "a"], "value": ["1", "2", "3"], "headers": headers})
    found = {value: partition for partition, _, value, _ in decoded(appends(rows_of(batch, None), route(100)))}
    assert found[b"1"] == found[b"3"] == crc32c(b"a") % 100
    assert found[b"2"] == crc32c(b"b") % 100


def test_rows_are_taken_apart_by_topic_unless_one_is_named():
    batch = pa.record_batch({"value": ["1", "2", "3"], "topic": ["a", "b", "a"]})
    apart = {topic: rows.column("value").to_pylist() for topic, rows in by_topic(batch, None)}
    assert apart == {"a": ["1", "3"], "b": ["2"]}
    assert [topic for topic, _ in by_topic(batch, "all")] == ["all"]
    with pytest.raises(InvalidArgument, match="a row has no topic"):
        list(by_topic(pa.record_batch({"value": ["1"], "topic": pa.array([None], pa.string())}), None))


def test_portions_are_neither_small_nor_huge_and_lose_nothing():
    small = [pa.record_batch({"value": [bytes(1000)] * 100}) for _ in range(200)]
    sizes = [portion.nbytes for portion in portions(small)]
    assert all(PORTION_BYTES <= size < 1.1 * PORTION_BYTES for size in sizes[:-1])
    huge = pa.record_batch({"value": [bytes(100_000)] * 300})
    cut = list(portions([huge]))
    assert sum(portion.num_rows for portion in cut) == 300
    assert all(portion.nbytes < 2 * PORTION_BYTES for portion in cut)
    assert list(portions([])) == list(portions([huge.slice(0, 0)])) == []


def test_text_binary_and_their_large_kinds_are_the_same():
    for kind in (pa.string(), pa.binary(), pa.large_string(), pa.large_binary()):
        batch = pa.record_batch({"key": pa.array(["k", None], kind), "value": pa.array(["v", None], kind)})
        assert decoded(appends(rows_of(batch, None), route(1))) == [(0, b"k", b"v", {}), (0, None, None, {})]
    assert np.array_equal(rows_of(batch, None).sizes() >= [2, 0], [True, True])
