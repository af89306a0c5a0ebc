"""Numbers in requests are read as strictly as Redis reads them."""

from math import inf

import pytest

from onemq.protocols.resp.numbers import parse_bound, parse_float, parse_integer


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"1", 1.0), (b"-1.5", -1.5), (b"+2", 2.0), (b".5", 0.5), (b"5.", 5.0), (b"1e3", 1000.0), (b"1E-3", 0.001),
        (b"inf", inf), (b"-Infinity", -inf), (b"0x10", 16.0), (b"0x1p-1", 0.5), (b"-0", 0.0), (b"0e9999", 0.0),
        (b"5e-324", 5e-324), (b"0x0p5", 0.0),
    ],
)  # fmt: skip
def test_floats(text: bytes, value: float) -> None:
    assert parse_float(text) == value


@pytest.mark.parametrize(
    "text", [b"", b" 1", b"1 ", b"nan", b"1_0", b"abc", b"1e", b"0x", b"1e400", b"-1e400", b"1e-400", b"0x1p9999"]
)
def test_what_is_no_float(text: bytes) -> None:
    assert parse_float(text) is None


def test_bounds_are_read_as_c_reads_them() -> None:
    assert parse_bound(b"") == 0.0
    assert parse_bound(b" \t1.5") == 1.5
    assert parse_bound(b"1e400") == inf
    assert parse_bound(b"-0x1p99999") == -inf
    assert parse_bound(b"1e-400") == 0.0
    for text in (b" ", b"1 ", b"nan", b"x", b"1_0"):
        assert parse_bound(text) is None


def test_integers() -> None:
    assert parse_integer(b"-9223372036854775808") == -(2**63)
    for text in (b"", b"9223372036854775808", b"+1", b"01", b"-0", b" 1", b"1.0", b"1_0"):
        assert parse_integer(text) is None
