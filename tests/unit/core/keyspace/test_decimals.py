"""Numbers with a fraction: read, added and written as Redis does with its 80-bit numbers.

The sums were taken from redis-server 7.0.15.
"""

import pytest

from onemq.core.keyspace.decimals import parse, plus
from onemq.errors import InvalidArgument

SUMS = [
    (b"0.1", b"0.2", b"0.3"),
    (b"10.50", b"0.1", b"10.6"),
    (b"5.0e3", b"2.0e2", b"5200"),
    (b"3.0", b"0", b"3"),
    (b"-0", b"0", b"0"),
    (b"1e-20", b"0", b"0"),
    (b"1", b"-1", b"0"),
    (b"0x10", b".5", b"16.5"),
    (b"0x1.8p3", b"+3.", b"15"),
    (b"9007199254740993", b"0.5", b"9007199254740993.5"),
    (b"-17.25", b"0.25", b"-17"),
    (b"0e99999", b"1", b"1"),
]


@pytest.mark.parametrize(("one", "other", "total"), SUMS)
def test_sums(one: bytes, other: bytes, total: bytes) -> None:
    number, by = parse(one), parse(other)
    assert number is not None
    assert by is not None
    assert plus(number, by) == total


def test_large_numbers_have_sixty_four_bits() -> None:
    number, one = parse(b"1e300"), parse(b"1")
    assert number is not None
    assert one is not None
    total = int(plus(number, one))
    assert len(str(total)) == 301
    assert total % (1 << (total.bit_length() - 64)) == 0


@pytest.mark.parametrize(
    "text",
    [b"", b" 1", b"1 ", b"abc", b"1_0", b"1e", b"0x", b"nan", b"--1", b"1e5000", b"1e-5000", b"1e9999999", b"1" * 5000],
)
def test_what_is_no_number(text: bytes) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(
    ("one", "other"), [(b"inf", b"1"), (b"1", b"-Infinity"), (b"inf", b"-inf"), (b"9e4199", b"9e4199")]
)
def test_sums_that_are_none(one: bytes, other: bytes) -> None:
    number, by = parse(one), parse(other)
    assert number is not None
    assert by is not None
    with pytest.raises(InvalidArgument, match="increment would produce NaN or Infinity"):
        plus(number, by)
