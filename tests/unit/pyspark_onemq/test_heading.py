import pyarrow as pa
import pytest

from onemq.errors import InvalidArgument
from pyspark_onemq.heading import blocks, order_keys

LISTS = pa.list_(pa.struct([("key", pa.binary()), ("value", pa.binary())]))


def headers_of(*rows):
    return pa.array([None if row is None else [{"key": n, "value": v} for n, v in row] for row in rows], LISTS)


@pytest.mark.parametrize("name", [b"_id", b"_sid", b"_to", b"", None])
def test_headers_of_the_broker_itself_are_refused(name):
    with pytest.raises(InvalidArgument, match="OneMQ's own"):
        blocks(None, headers_of([(b"mine", b"1")], [(name, b"x")]), None, 2)


def test_order_keys_are_found_among_the_headers():
    headers = headers_of([(b"a", b"1"), (b"_order", b"x")], None, [], [(b"_order", b"y"), (b"_order", b"z")])
    assert order_keys(headers).to_pylist() == [b"x", None, None, b"y"]
    assert order_keys(headers[2:]).to_pylist() == [None, b"y"]
    assert order_keys(headers[:0]) is None
    assert order_keys(headers_of([(b"a", b"1")])) is None
