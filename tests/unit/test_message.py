"""The neutral message: ids, headers and names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onemq.errors import InvalidArgument
from onemq.limits import NAME_BYTES_MAX
from onemq.message import ID, Message, Record, check_name, header, id_of, message_id

HEADERS = ((b"a", b"1"), (b"b", None), (b"a", b"2"))


def record(offset: int = 7, headers: tuple[tuple[bytes, bytes | None], ...] = ()) -> Record:
    return (offset, 1_000, None, b"body", headers)


def test_the_id_of_a_message_tells_its_first_place() -> None:
    assert message_id(1, 0, 255) == "1-0-ff"
    assert id_of(1, 2, record(7)) == message_id(1, 2, 7) == "1-2-7"


def test_an_id_that_is_stored_goes_before_the_place() -> None:
    assert id_of(1, 2, record(7, ((b"x", b"y"), (ID, b"a-b-c")))) == "a-b-c"
    assert id_of(1, 2, record(7, ((b"x", b"y"),))) == "1-2-7"


@given(st.tuples(*[st.integers(0, 1 << 40)] * 3), st.tuples(*[st.integers(0, 1 << 40)] * 3))
def test_different_places_have_different_ids(one: tuple[int, int, int], other: tuple[int, int, int]) -> None:
    assert (message_id(*one) == message_id(*other)) == (one == other)


def test_the_first_header_of_a_name_counts() -> None:
    assert header(HEADERS, b"a") == b"1"
    assert header(HEADERS, b"b") is None
    assert header(HEADERS, b"c") is None
    assert header((), b"a") is None


@pytest.mark.parametrize("name", ["a", "x" * NAME_BYTES_MAX, "ü" * (NAME_BYTES_MAX // 2), "a b", "日本", "a/b", "."])
def test_a_name_of_printable_characters_is_good(name: str) -> None:
    assert check_name("topic", name) == name


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("", "a group name must not be empty"),
        ("x" * (NAME_BYTES_MAX + 1), f"may have {NAME_BYTES_MAX} bytes, this one has {NAME_BYTES_MAX + 1}"),
        ("日" * 84, f"may have {NAME_BYTES_MAX} bytes, this one has 252"),
        ("a\x00b", r"printable characters only: 'a\\x00b'"),
        ("a\nb", r"printable characters only: 'a\\nb'"),
        ("\x1b[31m", "printable"),
        ("\u200b", "printable"),
        ("\ud800", "printable"),
    ],
)
def test_a_bad_name_is_refused_with_what_is_wrong(name: str, complaint: str) -> None:
    with pytest.raises(InvalidArgument, match=complaint):
        check_name("group", name)


@given(st.text(min_size=1, max_size=NAME_BYTES_MAX // 4))
def test_a_short_text_is_a_name_if_it_is_printable(name: str) -> None:
    if name.isprintable():
        assert check_name("topic", name) == name
    else:
        with pytest.raises(InvalidArgument) as refused:
            check_name("topic", name)
        assert refused.value.text.isprintable(), "one line that any terminal can show"


def test_a_message_is_a_value() -> None:
    message = Message("t", 0, 7, "1-0-7", None, b"body", (), 1_000, 1)
    assert message == Message("t", 0, 7, "1-0-7", None, b"body", (), 1_000, 1)
    with pytest.raises(AttributeError):
        message.body = b"other"  # type: ignore[misc]
