"""Stream ids: as text, as bytes, and as messages carry them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onemq.core.stream_ids import ID_MAX, NUMBER_BITS, NUMBER_MAX, id_of, id_text, pack_id, unpack_id
from onemq.message import STREAM_ID, Headers

NUMBERS = st.integers(0, NUMBER_MAX)
PLAIN = 1_700 << NUMBER_BITS | 7


def stored(*headers: tuple[bytes, bytes | None]) -> int:
    return id_of((7, 1_700, None, b"", headers))


@given(NUMBERS, NUMBERS)
def test_an_id_comes_back_from_its_bytes_and_from_a_message(ms: int, number: int) -> None:
    id = ms << NUMBER_BITS | number
    assert id_text(id) == f"{ms}-{number}".encode()
    assert unpack_id(pack_id(id)) == id
    assert stored((STREAM_ID, id_text(id)), (b"name", b"value")) == id


@given(st.lists(st.integers(0, ID_MAX)))
def test_bytes_are_in_the_order_of_the_ids(ids: list[int]) -> None:
    assert sorted(map(pack_id, ids)) == [pack_id(id) for id in sorted(ids)]


def test_without_a_header_an_id_is_time_and_offset() -> None:
    assert stored() == stored((b"name", b"value")) == PLAIN


def test_only_the_first_header_counts() -> None:
    assert stored((b"name", b"value"), (STREAM_ID, b"1-1")) == PLAIN


@pytest.mark.parametrize(
    "value", [None, b"", b"x", b"5", b"5-", b"-5", b"5--3", b"5-3-1", b" 5-3", b"1_0-3", b"9" * 30 + b"-1", b"\xff"]
)
def test_what_others_put_there_and_is_no_id_is_passed_over(value: bytes | None) -> None:
    headers: Headers = ((STREAM_ID, value),)
    assert stored(*headers) == PLAIN


@pytest.mark.parametrize("value", [b"99999999999999999999-1", b"1-99999999999999999999"])
def test_an_id_is_never_larger_than_16_bytes(value: bytes) -> None:
    assert len(pack_id(stored((STREAM_ID, value)))) == 16
