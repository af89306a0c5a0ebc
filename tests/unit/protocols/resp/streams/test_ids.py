"""Ids in requests: what is one, what is not, and where intervals begin and end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onemq.core.stream_ids import ID_MAX, NUMBER_BITS, NUMBER_MAX, id_text
from onemq.protocols.resp.errors import CommandError
from onemq.protocols.resp.streams.ids import (
    numbers_of_one_time,
    parse_any_id,
    parse_end,
    parse_id,
    parse_partial_id,
    parse_start,
)  # fmt: skip

FIVE = 5 << NUMBER_BITS


@given(st.integers(0, ID_MAX))
def test_an_id_is_read_as_it_is_written(id: int) -> None:
    for parse in (parse_id, parse_any_id, parse_start, parse_end):
        assert parse(id_text(id)) == id


@pytest.mark.parametrize(
    ("text", "id"),
    [(b"5", FIVE), (b"5-3", FIVE | 3), (b"+5-+3", FIVE | 3), (b"005-03", FIVE | 3), (b"0-0", 0)],
)
def test_forms_of_an_id(text: bytes, id: int) -> None:
    assert parse_id(text) == id


@pytest.mark.parametrize(
    "text",
    [
        b"", b"-", b"+", b"$", b"*", b"5-", b"-5", b"5-*", b"5--3", b"5-3-1", b" 5", b"5 ", b"5-3\n", b"0x5", b"a",
        b"18446744073709551616", b"0-18446744073709551616", b"0" * 127 + b"1", b"(5", b"5\x00",
    ],
)  # fmt: skip
def test_what_is_no_id(text: bytes) -> None:
    with pytest.raises(CommandError, match="Invalid stream ID"):
        parse_id(text)


def test_a_missing_number_is_the_lowest_at_the_start_and_the_highest_at_the_end() -> None:
    assert parse_start(b"5") == FIVE
    assert parse_end(b"5") == FIVE | NUMBER_MAX
    assert parse_start(b"(5") == FIVE + 1
    assert parse_end(b"(5") == (FIVE | NUMBER_MAX) - 1


def test_open_ends() -> None:
    assert (parse_start(b"-"), parse_start(b"+")) == (0, ID_MAX)
    assert (parse_end(b"-"), parse_end(b"+")) == (0, ID_MAX)
    assert (parse_any_id(b"-"), parse_any_id(b"+")) == (0, ID_MAX)


@given(st.integers(1, ID_MAX - 1))
def test_an_exclusive_end_is_the_next_id(id: int) -> None:
    assert parse_start(b"(" + id_text(id)) == id + 1
    assert parse_end(b"(" + id_text(id)) == id - 1


def test_nothing_is_beyond_the_last_id_or_before_the_first() -> None:
    with pytest.raises(CommandError, match="invalid start ID"):
        parse_start(b"(" + id_text(ID_MAX))
    with pytest.raises(CommandError, match="invalid end ID"):
        parse_end(b"(0-0")


@pytest.mark.parametrize("text", [b"(", b"((5", b"(-", b"(+", b"[5"])
def test_what_is_no_end_of_an_interval(text: bytes) -> None:
    for parse in (parse_start, parse_end):
        with pytest.raises(CommandError, match="Invalid stream ID"):
            parse(text)


def test_an_id_whose_number_is_left_open() -> None:
    assert parse_partial_id(b"5-*") == 5
    assert parse_partial_id(b"18446744073709551615-*") == NUMBER_MAX
    for text in (b"5", b"5-3", b"*", b"-*", b"*-*", b"5-**", b"x-*"):
        assert parse_partial_id(text) is None
    with pytest.raises(CommandError, match="Invalid stream ID"):
        parse_partial_id(b"18446744073709551616-*")


class TestNumbersOfOneTime:
    @given(st.integers(0, NUMBER_MAX), st.lists(st.integers(0, NUMBER_MAX), min_size=1))
    def test_numbers_in_any_order(self, ms: int, numbers: list[int]) -> None:
        found = numbers_of_one_time([b"%d-%d" % (ms, number) for number in numbers])
        assert found is not None
        assert (found[0], list(found[1])) == (b"%d" % ms, numbers)

    @pytest.mark.parametrize("count", [1, 2, 3, 1000])
    def test_those_that_count_up_are_a_range(self, count: int) -> None:
        assert numbers_of_one_time([b"5-%d" % number for number in range(998, 998 + count)]) == (
            b"5", range(998, 998 + count)
        )  # fmt: skip

    @pytest.mark.parametrize(
        "ids",
        [
            [b"5-1", b"6-2"], [b"5-1", b"15-2"], [b"5-15-2", b"3"], [b"5-1", b"5-5-2"], [b"5-1", b"5"], [b"5", b"5-1"],
            [b"5-1", b"5-"], [b"5-", b"5-1"], [b"5-1", b"5-01"], [b"5-1", b"5- 3"], [b"5-1", b"5-+2"], [b"", b""],
            [b"5-1,5-2"], [b"5-1,5-2", b"5-3"], [b"5-3", b"5-1,5-2"], [b"5-1", b"5-2.0"], [b"5-1", b"5-1e3"],
            [b"5-1", b"5-2,3"], [b"5-1", b""], [b"-", b"-"], [b"5-%d" % 10**30], [b"5-1\n", b"5-2\n"],
            [b"5-1", b"5-" + b"9" * 5000],
        ],
    )  # fmt: skip
    def test_what_is_not_written_plainly_or_has_several(self, ids: list[bytes]) -> None:
        found = numbers_of_one_time(ids)
        assert found is None or [b"%b-%d" % (found[0], number) for number in found[1]] == ids
