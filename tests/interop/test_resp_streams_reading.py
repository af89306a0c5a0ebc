"""Reading without groups: XRANGE, XREVRANGE, XREAD, beside a real redis-server."""

import pytest

from tests.interop.pair import Pair, needs_redis_server
from tests.interop.streams import by_order, script

pytestmark = needs_redis_server

MAX = 2**64 - 1
IDS = ("0-1", f"0-{MAX}", "1-0", "1-1", "1-5", "42-0", "42-42", f"{MAX}-{MAX - 1}", f"{MAX}-{MAX}")
ENDS = ("-", "+", "0", "1", "1-0", "1-2", "42", "42-43", "(0-1", "(1", "(1-5", "(42-42", f"{MAX}")


@pytest.fixture
def ids(pair: Pair) -> Pair:
    for number, entry in enumerate(IDS):
        pair.same("XADD", "s", entry, "n", number, *(["more", "fields"] if number % 3 == 0 else []))
    return pair


class TestXrange:
    def test_every_pair_of_ends(self, ids: Pair) -> None:
        for start in ENDS:
            for end in ENDS:
                ids.same("XRANGE", "s", start, end)

    def test_count(self, ids: Pair) -> None:
        script(ids, """
            XRANGE s - + COUNT 3
            XRANGE s 1 + COUNT 2
            XRANGE s (1-0 + count 1
            XRANGE s - + COUNT 0
            XRANGE s - + COUNT -1
            XRANGE s - + COUNT 1000
            XRANGE s - + COUNT 2 COUNT 3
            XRANGE missing - + COUNT 0
            XRANGE missing - + COUNT 5
        """)

    def test_missing_and_empty_streams(self, pair: Pair) -> None:
        script(pair, """
            XRANGE s - +
            XADD s 1-1 f v
            XDEL s 1-1
            XRANGE s - +
            XRANGE s - + COUNT 1
        """)

    def test_errors(self, ids: Pair) -> None:
        script(ids, f"""
            XRANGE
            XRANGE s
            XRANGE s -
            XRANGE s x +
            XRANGE s - x
            XRANGE s x y
            XRANGE s ( +
            XRANGE s (- +
            XRANGE s - (+
            XRANGE s (x +
            XRANGE s ((1 +
            XRANGE s 1-* +
            XRANGE s $ +
            XRANGE s '' +
            XRANGE s ({MAX}-{MAX} +
            XRANGE s - (0-0
            XRANGE s - (0
            XRANGE s - ({MAX}
            XRANGE s - + COUNT
            XRANGE s - + COUNT x
            XRANGE s - + LIMIT 5
            XRANGE s - + 5
            XRANGE s - + COUNT 1 5
            XRANGE missing x +
            XRANGE missing - + COUNT x
            SET text a
            XRANGE text - +
            XRANGE text x +
            XRANGE text - + COUNT 0
        """)


class TestXrevrange:
    def test_every_pair_of_ends(self, ids: Pair) -> None:
        for end in ENDS:
            for start in ENDS:
                ids.same("XREVRANGE", "s", end, start)

    def test_count(self, ids: Pair) -> None:
        script(ids, """
            XREVRANGE s + - COUNT 3
            XREVRANGE s 1 - COUNT 2
            XREVRANGE s (42-0 - count 1
            XREVRANGE s + - COUNT 0
            XREVRANGE s + - COUNT -1
            XREVRANGE s + - COUNT 1000
            XDEL s 42-42 42-0
            XREVRANGE s + - COUNT 4
        """)

    def test_errors(self, ids: Pair) -> None:
        script(ids, f"""
            XREVRANGE
            XREVRANGE s
            XREVRANGE s +
            XREVRANGE s x -
            XREVRANGE s + x
            XREVRANGE s (+ -
            XREVRANGE s + ({MAX}-{MAX}
            XREVRANGE s (0-0 -
            XREVRANGE s (0 -
            XREVRANGE s + - COUNT
            XREVRANGE s + - COUNT x
            XREVRANGE s + - 5
            XREVRANGE missing + -
            SET text a
            XREVRANGE text + -
        """)


class TestXread:
    def test_what_comes_after_an_id(self, ids: Pair) -> None:
        script(ids, f"""
            XREAD STREAMS s 0
            XREAD STREAMS s 0-1
            XREAD STREAMS s 1
            XREAD STREAMS s 1-5
            XREAD STREAMS s {MAX}-{MAX - 1}
            XREAD STREAMS s {MAX}-{MAX}
            XREAD STREAMS s $
            XREAD STREAMS missing 0
            XREAD STREAMS missing $
            xread streams s 42
        """)

    def test_count(self, ids: Pair) -> None:
        script(ids, """
            XREAD COUNT 2 STREAMS s 0
            XREAD COUNT 0 STREAMS s 0
            XREAD COUNT -5 STREAMS s 0
            XREAD COUNT 1000 STREAMS s 0
            XREAD COUNT 1 COUNT 3 STREAMS s 0
            XREAD COUNT 1 STREAMS s 1-5
        """)

    def test_several_streams(self, ids: Pair) -> None:
        script(ids, """
            XADD t 1-1 f v
            XADD t 1-2 f v
            XREAD STREAMS s t 42 0
            XREAD STREAMS t s 0 42
            XREAD COUNT 1 STREAMS s t 0 0
            XREAD STREAMS s t missing $ 0 0
            XREAD STREAMS s t $ $
            XREAD STREAMS s t 42 1-2
        """)
        for words in (("STREAMS", "t", "t", "0", "1-1"), ("COUNT", "1", "STREAMS", "t", "t", "1-1", "0")):
            ids.same("XREAD", *words)

    def test_deleted_entries_are_not_there(self, pair: Pair) -> None:
        script(pair, """
            XADD s 1-1 f v
            XADD s 1-2 f v
            XADD s 1-3 f v
            XDEL s 1-1 1-3
            XREAD STREAMS s 0
            XREAD STREAMS s 1-2
            XDEL s 1-2
            XREAD STREAMS s 0
        """)

    def test_block_answers_at_once_if_it_can(self, ids: Pair) -> None:
        script(ids, """
            XREAD BLOCK 0 STREAMS s 42
            XREAD BLOCK 0 COUNT 1 STREAMS s missing 0 $
            XREAD COUNT 1 BLOCK 100000 STREAMS missing s $ 0
        """)

    def test_block_gives_up_after_its_time(self, ids: Pair) -> None:
        script(ids, """
            XREAD BLOCK 1 STREAMS s $
            XREAD BLOCK 20 STREAMS missing 0
            XREAD BLOCK 1 STREAMS s missing $ $
        """)

    def test_automatic_ids(self, pair: Pair) -> None:
        for number in range(5):
            pair.same("XADD", "s", "*", "n", number, alike=by_order)
        pair.same("XREAD", "STREAMS", "s", "0", alike=by_order)

    def test_errors(self, ids: Pair) -> None:
        script(ids, """
            XREAD
            XREAD STREAMS
            XREAD STREAMS s
            XREAD STREAMS s t
            XREAD STREAMS s t 0
            XREAD STREAMS s t u 0 0
            XREAD s 0
            XREAD s 0 0
            XREAD COUNT 5
            XREAD COUNT 5 5
            XREAD COUNT STREAMS s 0
            XREAD COUNT x STREAMS s 0
            XREAD COUNT 1.5 STREAMS s 0
            XREAD BLOCK x STREAMS s 0
            XREAD BLOCK -1 STREAMS s 0
            XREAD BLOCK 1.5 STREAMS s 0
            XREAD BLOCK 99999999999999999999 STREAMS s 0
            XREAD BLOCK 9223372036854775807 STREAMS s 0
            XREAD STREAMS s x
            XREAD STREAMS s -
            XREAD STREAMS s >
            XREAD STREAMS s (1
            XREAD STREAMS s 1-*
            XREAD STREAMS missing x
            XREAD STREAMS missing >
            XREAD NOACK STREAMS s 0
            XREAD GROUP g c STREAMS s 0
            XREAD GROUP g STREAMS s 0
            XREAD UNKNOWN STREAMS s 0
            XREAD COUNT 1 UNKNOWN STREAMS s 0
            SET text a
            XREAD STREAMS text 0
            XREAD STREAMS text x
            XREAD STREAMS s text 0 0
            XREAD STREAMS text s 0 x
            XREAD STREAMS s text x 0
            XREAD BLOCK 0 STREAMS text 0
        """)
