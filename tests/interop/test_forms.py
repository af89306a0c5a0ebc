"""What the comparison of forms tells apart, and what it does not."""

import pytest

from tests.interop.forms import parse


@pytest.mark.parametrize(
    ("reply", "form"),
    [
        (b"+OK\r\n", "+"),
        (b"$2\r\nOK\r\n", "$"),
        (b"$0\r\n\r\n", "$"),
        (b"$-1\r\n", "$-1"),
        (b"*-1\r\n", "*-1"),
        (b"_\r\n", "_"),
        (b":1\r\n", ":"),
        (b"#t\r\n", "#"),
        (b",1.0\r\n", ",1.0"),
        (b"(1\r\n", "(1"),
        (b"=6\r\ntxt:hi\r\n", "=txt:"),
        (b"-ERR no such key\r\n", "-ERR no such key"),
        (b"!3\r\nERR\r\n", "!ERR"),
        (b"*0\r\n", "*[]"),
        (b"*2\r\n:1\r\n*1\r\n-NOPE\r\n", "*[: *[-NOPE]]"),
        (b"~1\r\n$1\r\na\r\n", "~[$]"),
        (b"%1\r\n+a\r\n:1\r\n", "%[+ :]"),
    ],
)
def test_form_of_a_reply(reply: bytes, form: str) -> None:
    node, end = parse(b"before" + reply + b"after", len("before"))
    assert str(node) == form
    assert end == len(b"before" + reply)
