"""Inline commands are split into words as Redis splits them."""

import pytest

from onemq.errors import ProtocolError
from onemq.protocols.resp.inline import split_words

LINES = [
    (b"", []),
    (b" \t ", []),
    (b"PING", [b"PING"]),
    (b"  ECHO \t hello  ", [b"ECHO", b"hello"]),
    (b'ECHO "a b"', [b"ECHO", b"a b"]),
    (b'ECHO ""', [b"ECHO", b""]),
    (b"ECHO ''", [b"ECHO", b""]),
    (b'SET key" with blank"', [b"SET", b"key with blank"]),
    (rb'ECHO "\x41\n\r\t\b\a\"\\\q"', [b"ECHO", b'A\n\r\t\b\a"\\q']),
    (rb'ECHO "\xzz"', [b"ECHO", b"xzz"]),
    (rb"ECHO 'it\'s \n'", [b"ECHO", rb"it's \n"]),
    (b"ECHO \"it's\" 'a \"b\"'", [b"ECHO", b"it's", b'a "b"']),
    (b"ECHO \xff\xfe", [b"ECHO", b"\xff\xfe"]),
    (b"ECHO a\0b", [b"ECHO", b"a"]),
]


@pytest.mark.parametrize(("line", "words"), LINES)
def test_a_line_is_split_into_words(line: bytes, words: list[bytes]) -> None:
    assert split_words(line) == words


@pytest.mark.parametrize("line", [b'ECHO "a', b"ECHO 'a", b'ECHO "a"b', b"ECHO 'a'b", b'ECHO "a\\"', b"ECHO 'a\\'"])
def test_quotes_that_do_not_match_are_refused(line: bytes) -> None:
    with pytest.raises(ProtocolError, match=r"^unbalanced quotes in request$"):
        split_words(line)
