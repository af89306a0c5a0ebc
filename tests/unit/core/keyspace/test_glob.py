import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onemq.core.keyspace.glob import PATTERN_BYTES_MAX, matcher
from onemq.errors import TooLarge


def matches(pattern: bytes, text: bytes) -> bool:
    return bool(matcher(pattern)(text))


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (b"*", b"", True),
        (b"*", b"any\nthing\xff", True),
        (b"", b"", True),
        (b"", b"a", False),
        (b"abc", b"abc", True),
        (b"abc", b"abcd", False),
        (b"h?llo", b"hello", True),
        (b"h?llo", b"hllo", False),
        (b"a*", b"a", True),
        (b"*a*b*", b"xxaxxbxx", True),
        (b"*a*b*", b"xxbxxaxx", False),
        (b"a**b", b"ab", True),
        (b"*aab", b"aaab", True),
        (b"h[ae]llo", b"hallo", True),
        (b"h[ae]llo", b"hillo", False),
        (b"h[^e]llo", b"hallo", True),
        (b"h[^e]llo", b"hello", False),
        (b"h[a-c]llo", b"hbllo", True),
        (b"h[c-a]llo", b"hbllo", True),
        (b"h[a-c]llo", b"hdllo", False),
        (b"[^a-c]", b"b", False),
        (b"[a\\]b]", b"]", True),
        (b"[]", b"a", False),
        (b"[^]", b"a", True),
        (b"[abc", b"b", True),
        (b"[a-", b"-", True),
        (b"[a-]x]", b"b", False),
        (b"\\*", b"*", True),
        (b"\\*", b"a", False),
        (b"a\\", b"a\\", True),
        (b"a.c", b"abc", False),
        (b"(a|b)+", b"(a|b)+", True),
    ],
)
def test_patterns(pattern: bytes, text: bytes, expected: bool) -> None:
    assert matches(pattern, text) is expected


def slow_match(pattern: bytes, text: bytes) -> bool:
    """Stars and question marks, by trying everything."""
    if not pattern:
        return not text
    if pattern[:1] == b"*":
        return slow_match(pattern[1:], text) or (bool(text) and slow_match(pattern, text[1:]))
    return bool(text) and pattern[0] in (ord("?"), text[0]) and slow_match(pattern[1:], text[1:])


@given(st.text("ab*?", max_size=7), st.text("ab", max_size=8))
def test_stars_find_every_match(pattern: str, text: str) -> None:
    assert matches(pattern.encode(), text.encode()) is slow_match(pattern.encode(), text.encode())


@given(st.binary(max_size=20), st.binary(max_size=20))
def test_any_pattern_is_understood(pattern: bytes, text: bytes) -> None:
    matches(pattern, text)


def test_a_hostile_pattern_stays_quick() -> None:
    started = time.perf_counter()
    assert not matches(b"*a" * 50 + b"*b", b"a" * 10_000)
    assert time.perf_counter() - started < 1


def test_a_pattern_has_a_limit() -> None:
    with pytest.raises(TooLarge):
        matcher(b"a" * (PATTERN_BYTES_MAX + 1))
