"""Replies: the bytes of both versions, read back by hiredis."""

import math

import hiredis
import pytest

from onemq.protocols.resp import replies
from onemq.protocols.resp.replies import RESP2, RESP3, Replies

BOTH = [
    (replies.OK, b"+OK\r\n"),
    (replies.simple("PONG"), b"+PONG\r\n"),
    (replies.error("ERR no such key"), b"-ERR no such key\r\n"),
    (replies.error("ERR two\r\nlines"), b"-ERR two  lines\r\n"),
    (replies.error(b"ERR \xff".decode(errors="surrogateescape")), b"-ERR \xff\r\n"),
    (replies.integer(-42), b":-42\r\n"),
    (replies.bulk(b""), b"$0\r\n\r\n"),
    (replies.bulk(b"a\r\nb"), b"$4\r\na\r\nb\r\n"),
    (replies.text("grün"), b"$5\r\ngr\xc3\xbcn\r\n"),
    (replies.array([]), b"*0\r\n"),
    (replies.array([replies.integer(1), replies.array([])]), b"*2\r\n:1\r\n*0\r\n"),
]
ITEMS = [replies.integer(1), replies.integer(2)]
PAIRS = [(replies.integer(1), replies.integer(2))]
DIFFERENT = {
    "null": (RESP2.null, b"$-1\r\n", RESP3.null, b"_\r\n"),
    "null array": (RESP2.null_array, b"*-1\r\n", RESP3.null_array, b"_\r\n"),
    "map": (RESP2.map(PAIRS), b"*2\r\n:1\r\n:2\r\n", RESP3.map(PAIRS), b"%1\r\n:1\r\n:2\r\n"),
    "set": (RESP2.set(ITEMS), b"*2\r\n:1\r\n:2\r\n", RESP3.set(ITEMS), b"~2\r\n:1\r\n:2\r\n"),
    "push": (RESP2.push(ITEMS), b"*2\r\n:1\r\n:2\r\n", RESP3.push(ITEMS), b">2\r\n:1\r\n:2\r\n"),
    "double": (RESP2.double(1.5), b"$3\r\n1.5\r\n", RESP3.double(1.5), b",1.5\r\n"),
    "true": (RESP2.boolean(True), b":1\r\n", RESP3.boolean(True), b"#t\r\n"),
    "false": (RESP2.boolean(False), b":0\r\n", RESP3.boolean(False), b"#f\r\n"),
    "verbatim": (RESP2.verbatim("hi"), b"$2\r\nhi\r\n", RESP3.verbatim("hi"), b"=6\r\ntxt:hi\r\n"),
}  # fmt: skip


@pytest.mark.parametrize(("got", "expected"), BOTH)
def test_forms_that_both_versions_share(got: bytes, expected: bytes) -> None:
    assert got == expected


@pytest.mark.parametrize(("got2", "expected2", "got3", "expected3"), DIFFERENT.values(), ids=DIFFERENT.keys())
def test_forms_that_differ(got2: bytes, expected2: bytes, got3: bytes, expected3: bytes) -> None:
    assert (got2, got3) == (expected2, expected3)


@pytest.mark.parametrize("value", [0.0, -1.0, 0.1, 1e300, 3.0000000000000004, math.inf, -math.inf])
def test_a_double_comes_back_exactly(value: float) -> None:
    reader = hiredis.Reader()
    reader.feed(RESP3.double(value))
    assert reader.gets() == value


@pytest.mark.parametrize("form", [RESP2, RESP3])
def test_a_client_reads_what_we_nest(form: Replies) -> None:
    reader = hiredis.Reader()
    reader.feed(form.map([(replies.text("a"), replies.array([form.null, replies.bulk(b"x")]))]))
    pair = (b"a", [None, b"x"])
    assert reader.gets() == (list(pair) if form is RESP2 else dict([pair]))


@pytest.mark.parametrize(
    ("first", "count"), [(0, 1), (0, 3), (998, 1), (998, 5), (999, 1), (1000, 2), (4_998, 2_004), (999_999, 2)]
)
def test_numbers_that_count_up(first: int, count: int) -> None:
    one_by_one = [b"$9\r\n1-%d\r\n" % number for number in range(first, first + count)]
    assert replies.numbered(b"$9\r\n1-", first, count) == b"".join(one_by_one)
    assert replies.shares(b"$9\r\n1-", first, [1] * count) == one_by_one


def test_shares_are_in_order() -> None:
    assert replies.shares(b":", 999, [1, 3, 2]) == [b":999\r\n", b":1000\r\n:1001\r\n:1002\r\n", b":1003\r\n:1004\r\n"]


@pytest.mark.parametrize("values", [[b"a"], [b"a", b"b\r\n"], [b"", b""], [b"aa", b"bb", b"cc"], [b"x" * 2000] * 3])
def test_a_run_of_bulk_strings(values: list[bytes]) -> None:
    assert replies.bulk_run(values) == b"".join(map(replies.bulk, values))
    assert replies.bulk_each(values) == list(map(replies.bulk, values))
