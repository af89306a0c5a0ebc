"""Pending entries that change hands: XCLAIM, XAUTOCLAIM, beside a real redis-server.

Idle times are set by XCLAIM's own options, so that no answer depends on the clock.
"""

import pytest

from tests.interop.pair import Pair, needs_redis_server
from tests.interop.streams import each, script

pytestmark = needs_redis_server


@pytest.fixture
def five(pair: Pair) -> Pair:
    """A stream `s` of 1-0 to 5-0, all of them pending for `alice` of group `g`."""
    for number in range(1, 6):
        pair.same("XADD", "s", f"{number}-0", "n", number)
    pair.same("XGROUP", "CREATE", "s", "g", "0")
    pair.same("XREADGROUP", "GROUP", "g", "alice", "STREAMS", "s", ">")
    return pair


class TestXclaim:
    def test_entries_change_hands(self, five: Pair) -> None:
        script(five, """
            XCLAIM s g bob 0 1-0
            XCLAIM s g bob 0 2 3-0 9-9
            XCLAIM s g bob 0 9-9
            XPENDING s g
            XPENDING s g - + 10
            XREADGROUP GROUP g bob STREAMS s 0
            XREADGROUP GROUP g alice STREAMS s 0
            XCLAIM s g alice 0 4-0
            XCLAIM s g bob 0 1-0 1-0
            XPENDING s g - + 10
            XINFO CONSUMERS s g
            xclaim s g carol 0 5-0 justid
        """)

    def test_order_of_the_reply_is_that_of_the_ids_given(self, five: Pair) -> None:
        script(five, """
            XCLAIM s g bob 0 3-0 1-0 2-0
            XCLAIM s g bob 0 3-0 1-0 3-0 JUSTID
        """)

    def test_min_idle_time(self, five: Pair) -> None:
        script(five, """
            XCLAIM s g alice 0 1-0 IDLE 1000000 JUSTID
            XCLAIM s g bob 500000 1-0 2-0
            XPENDING s g - + 10
            XCLAIM s g bob 500000 1-0
            XCLAIM s g bob -5 2-0
            XCLAIM s g carol 500000 3-0
            XINFO CONSUMERS s g
        """)

    def test_idle_and_time(self, five: Pair) -> None:
        script(five, """
            XCLAIM s g bob 0 1-0 IDLE 1000000
            XCLAIM s g bob 0 2-0 TIME 1000
            XCLAIM s g bob 0 3-0 TIME 99999999999999
            XCLAIM s g bob 0 4-0 IDLE -99999999999999
            XCLAIM s g bob 0 5-0 TIME -5
            XPENDING s g IDLE 500000 - + 10
            XCLAIM s g bob 0 5-0 IDLE 1000000 TIME 99999999999999
            XCLAIM s g bob 0 4-0 TIME 99999999999999 IDLE 1000000
            XPENDING s g IDLE 500000 - + 10
        """)
        for rows in each(five, "XPENDING", "s", "g", "2-0", "2-0", "1"):
            assert rows[0][2] > 10**12, "delivered in 1970"

    def test_retrycount(self, five: Pair) -> None:
        script(five, """
            XCLAIM s g bob 0 1-0 RETRYCOUNT 7
            XCLAIM s g bob 0 2-0 RETRYCOUNT 0
            XCLAIM s g bob 0 3-0 JUSTID
            XCLAIM s g bob 0 4-0 JUSTID RETRYCOUNT 9
            XCLAIM s g bob 0 5-0 RETRYCOUNT -5
            XPENDING s g - + 10
            XCLAIM s g bob 0 1-0
            XPENDING s g - + 10
        """)

    def test_force_makes_pending_what_is_not(self, five: Pair) -> None:
        script(five, """
            XADD s 6-0 n 6
            XADD s 7-0 n 7
            XACK s g 1-0
            XCLAIM s g bob 0 1-0
            XCLAIM s g bob 0 1-0 FORCE
            XCLAIM s g bob 0 6-0 FORCE
            XCLAIM s g bob 0 9-9 FORCE
            XCLAIM s g bob 1000000 7-0 FORCE JUSTID
            XCLAIM s g bob 1000000 7-0 FORCE JUSTID
            XPENDING s g - + 10
            XREADGROUP GROUP g alice STREAMS s >
            XPENDING s g - + 10
            XCLAIM s g bob 0 2-0 FORCE RETRYCOUNT 3
            XPENDING s g - + 10 bob
        """)

    def test_lastid_moves_the_group_on_but_never_back(self, five: Pair) -> None:
        script(five, """
            XADD s 6-0 n 6
            XADD s 7-0 n 7
            XCLAIM s g bob 0 1-0 LASTID 6-0
            XREADGROUP GROUP g alice STREAMS s >
            XCLAIM s g bob 0 1-0 LASTID 2-0
            XREADGROUP GROUP g alice STREAMS s >
            XCLAIM s g bob 0 9-9 LASTID 20
            XADD s 10-0 f v
            XREADGROUP GROUP g alice STREAMS s >
            XADD s 21-0 f v
            XREADGROUP GROUP g alice STREAMS s >
            XPENDING s g - + 10
        """)

    def test_deleted_entries_are_dropped(self, five: Pair) -> None:
        script(five, """
            XDEL s 2-0 4-0
            XCLAIM s g bob 0 1-0 2-0 3-0
            XPENDING s g - + 10
            XCLAIM s g bob 1000000 4-0
            XPENDING s g - + 10
            XCLAIM s g bob 0 2-0 FORCE JUSTID
            XPENDING s g - + 10
            XINFO CONSUMERS s g
        """)

    def test_errors(self, five: Pair) -> None:
        script(five, """
            SET text a
            XCLAIM
            XCLAIM s
            XCLAIM s g
            XCLAIM s g bob
            XCLAIM s g bob 0
            XCLAIM s g bob x 1-0
            XCLAIM s g bob 0 x
            XCLAIM s g bob 0 1-0 x
            XCLAIM s g bob 0 JUSTID
            XCLAIM s g bob 0 - 1-0
            XCLAIM s g bob 0 1-*
            XCLAIM s g bob 0 JUSTID 1-0
            XCLAIM s g bob 0 1-0 JUSTID 2-0
            XCLAIM s g bob 0 1-0 IDLE
            XCLAIM s g bob 0 1-0 IDLE x
            XCLAIM s g bob 0 1-0 TIME
            XCLAIM s g bob 0 1-0 TIME x
            XCLAIM s g bob 0 1-0 RETRYCOUNT
            XCLAIM s g bob 0 1-0 RETRYCOUNT x
            XCLAIM s g bob 0 1-0 LASTID
            XCLAIM s g bob 0 1-0 LASTID x
            XCLAIM s g bob 0 1-0 UNKNOWN
            XCLAIM s g bob 0 1-0 FORCE unknown
            XCLAIM s missing bob 0 1-0
            XCLAIM missing g bob 0 1-0
            XCLAIM missing g bob x 1-0
            XCLAIM text g bob 0 1-0
            XCLAIM text g bob x 1-0
            XINFO CONSUMERS s g
            XPENDING s g - + 10
        """)


class TestXautoclaim:
    def test_entries_change_hands(self, five: Pair) -> None:
        script(five, """
            XAUTOCLAIM s g bob 0 0
            XPENDING s g - + 10
            XAUTOCLAIM s g alice 0 3
            XAUTOCLAIM s g alice 0 -
            XAUTOCLAIM s g alice 0 (4-0
            XAUTOCLAIM s g alice 0 9
            XAUTOCLAIM s g alice 0 +
            XPENDING s g - + 10
            XAUTOCLAIM s g carol 1000000 0
            XINFO CONSUMERS s g
            xautoclaim s g carol 0 0 count 1 justid
        """)

    def test_count_and_where_to_go_on(self, five: Pair) -> None:
        script(five, """
            XAUTOCLAIM s g bob 0 0 COUNT 2
            XAUTOCLAIM s g bob 0 3-0 COUNT 2
            XAUTOCLAIM s g bob 0 5-0 COUNT 2
            XAUTOCLAIM s g bob 0 0 COUNT 5
            XAUTOCLAIM s g bob 0 0 COUNT 6
            XAUTOCLAIM s g bob 0 2 COUNT 1
            XAUTOCLAIM s g bob 0 0 COUNT 1 COUNT 3
            XPENDING s g - + 10
        """)

    def test_justid(self, five: Pair) -> None:
        script(five, """
            XAUTOCLAIM s g bob 0 0 JUSTID
            XAUTOCLAIM s g bob 0 0 COUNT 2 JUSTID
            XAUTOCLAIM s g bob 0 0 JUSTID COUNT 2
            XPENDING s g - + 10
        """)

    def test_min_idle_time(self, five: Pair) -> None:
        script(five, """
            XCLAIM s g alice 0 2-0 4-0 IDLE 1000000 JUSTID
            XAUTOCLAIM s g bob 500000 0
            XPENDING s g - + 10
            XAUTOCLAIM s g bob 500000 0
            XCLAIM s g alice 0 2-0 4-0 5-0 IDLE 1000000 JUSTID
            XAUTOCLAIM s g bob 500000 0 COUNT 1
            XAUTOCLAIM s g bob 500000 3-0 COUNT 1
            XAUTOCLAIM s g bob 500000 5-0 COUNT 1
            XAUTOCLAIM s g bob -5 0 COUNT 1
        """)

    def test_it_looks_at_ten_times_as_many_as_it_may_claim(self, pair: Pair) -> None:
        pair.same("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM")
        for number in range(1, 61):
            pair.same("XADD", "s", f"{number}-0", "f", "v")
        script(pair, """
            XREADGROUP GROUP g alice STREAMS s >
            XCLAIM s g alice 0 15-0 35-0 IDLE 1000000 JUSTID
            XAUTOCLAIM s g bob 500000 0 COUNT 1
            XAUTOCLAIM s g bob 500000 11-0 COUNT 1
            XAUTOCLAIM s g bob 500000 16-0 COUNT 1
            XAUTOCLAIM s g bob 500000 26-0 COUNT 2
            XAUTOCLAIM s g bob 500000 46-0 COUNT 2
            XAUTOCLAIM s g bob 500000 51-0 COUNT 1
        """)

    def test_the_default_count_is_a_hundred(self, pair: Pair) -> None:
        pair.same("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM")
        for number in range(1, 121):
            pair.same("XADD", "s", f"{number}-0", "f", "v")
        script(pair, """
            XREADGROUP GROUP g alice STREAMS s >
            XAUTOCLAIM s g bob 0 0
            XAUTOCLAIM s g bob 0 101-0
        """)

    def test_deleted_entries_are_dropped_and_named(self, five: Pair) -> None:
        script(five, """
            XDEL s 2-0 4-0
            XAUTOCLAIM s g bob 0 0
            XPENDING s g - + 10
            XDEL s 1-0
            XAUTOCLAIM s g bob 1000000 0
            XPENDING s g - + 10
            XTRIM s MAXLEN 0
            XAUTOCLAIM s g bob 0 0 JUSTID
            XPENDING s g
        """)

    def test_deleted_entries_count(self, five: Pair) -> None:
        script(five, """
            XDEL s 1-0 2-0 3-0
            XAUTOCLAIM s g bob 0 0 COUNT 2
            XAUTOCLAIM s g bob 0 0 COUNT 2
            XAUTOCLAIM s g bob 0 0 COUNT 2
            XPENDING s g - + 10
        """)

    def test_errors(self, five: Pair) -> None:
        script(five, """
            SET text a
            XAUTOCLAIM
            XAUTOCLAIM s
            XAUTOCLAIM s g
            XAUTOCLAIM s g bob
            XAUTOCLAIM s g bob 0
            XAUTOCLAIM s g bob x 0
            XAUTOCLAIM s g bob 0 x
            XAUTOCLAIM s g bob 0 (-
            XAUTOCLAIM s g bob 0 (18446744073709551615-18446744073709551615
            XAUTOCLAIM s g bob 0 0 COUNT
            XAUTOCLAIM s g bob 0 0 COUNT x
            XAUTOCLAIM s g bob 0 0 COUNT 0
            XAUTOCLAIM s g bob 0 0 COUNT -1
            XAUTOCLAIM s g bob 0 0 COUNT 9223372036854775807
            XAUTOCLAIM s g bob 0 0 UNKNOWN
            XAUTOCLAIM s g bob 0 0 FORCE
            XAUTOCLAIM s g bob 0 0 1-0
            XAUTOCLAIM s missing bob 0 0
            XAUTOCLAIM missing g bob 0 0
            XAUTOCLAIM missing g bob x 0
            XAUTOCLAIM missing g bob 0 0 COUNT 0
            XAUTOCLAIM text g bob 0 0
            XAUTOCLAIM text g bob 0 x
            XINFO CONSUMERS s g
            XPENDING s g - + 10
        """)
