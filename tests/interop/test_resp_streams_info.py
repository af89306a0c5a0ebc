"""XINFO STREAM, STREAM FULL, GROUPS, CONSUMERS and HELP, beside a real redis-server.

Left out of the comparison are times, facts about Redis's radix tree, and what versions after 7.0 added.
Where Redis does not know a group's lag and answers nil, OneMQ may give the number.
"""

import pytest

from tests.interop.pair import Pair, needs_redis_server, reply
from tests.interop.streams import facts, same, script

pytestmark = needs_redis_server


@pytest.fixture
def busy(pair: Pair) -> Pair:
    """A stream of fifteen entries with two groups, and consumers with and without pending entries."""
    for number in range(1, 16):
        pair.same("XADD", "s", f"{number}-0", "n", number)
    script(pair, """
        XGROUP CREATE s g 0
        XGROUP CREATE s another 0
        XREADGROUP GROUP g bob COUNT 12 STREAMS s >
        XREADGROUP GROUP g alice COUNT 1 STREAMS s >
        XREADGROUP GROUP another alice COUNT 2 STREAMS s >
        XGROUP CREATECONSUMER s g idle
    """)
    return pair


class TestXinfoStream:
    def test_facts(self, busy: Pair) -> None:
        script(busy, """
            XINFO STREAM s
            xinfo stream s
            XADD one 1-1 f v g w
            XINFO STREAM one
            XGROUP CREATE none g $ MKSTREAM
            XINFO STREAM none
        """)

    def test_names_and_their_order(self, busy: Pair) -> None:
        names = [name for name, _ in facts(same(busy, "XINFO", "STREAM", "s"))]
        assert names[:4] == [b"length", b"radix-tree-keys", b"radix-tree-nodes", b"last-generated-id"]
        assert names[-3:] == [b"groups", b"first-entry", b"last-entry"]

    def test_full(self, busy: Pair) -> None:
        script(busy, """
            XINFO STREAM s FULL
            XINFO STREAM s full
            XINFO STREAM s FULL COUNT 2
            XINFO STREAM s FULL COUNT 0
            XINFO STREAM s FULL count 100
            XINFO STREAM s FULL COUNT -1
            XADD one 1-1 f v
            XINFO STREAM one FULL
            XGROUP CREATE none g $ MKSTREAM
            XINFO STREAM none FULL
        """)

    def test_full_after_changes(self, busy: Pair) -> None:
        script(busy, """
            XACK s g 1-0 2-0 13-0
            XINFO STREAM s FULL
            XCLAIM s g carol 0 3-0 4-0 RETRYCOUNT 5
            XINFO STREAM s FULL
            XGROUP DELCONSUMER s g bob
            XINFO STREAM s FULL
            XGROUP DESTROY s g
            XINFO STREAM s FULL
            XGROUP DESTROY s another
            XINFO STREAM s FULL
            XINFO STREAM s
        """)

    def test_errors(self, busy: Pair) -> None:
        script(busy, """
            SET text a
            XINFO STREAM
            XINFO STREAM missing
            XINFO STREAM missing FULL
            XINFO STREAM text
            XINFO STREAM text FULL
            XINFO STREAM s UNKNOWN
            XINFO STREAM s FULL COUNT
            XINFO STREAM s FULL COUNT x
            XINFO STREAM s FULL LIMIT 5
            XINFO STREAM s FULL 5
            XINFO STREAM s COUNT 5
            XINFO STREAM s FULL COUNT 5 5
            XINFO STREAM missing UNKNOWN
        """)


class TestXinfoGroups:
    def test_facts(self, busy: Pair) -> None:
        script(busy, """
            XINFO GROUPS s
            xinfo groups s
            XACK s g 1-0
            XINFO GROUPS s
            XADD one 1-1 f v
            XINFO GROUPS one
        """)

    def test_lag_of_groups_that_read_from_the_beginning(self, pair: Pair) -> None:
        script(pair, """
            XGROUP CREATE s g 0 MKSTREAM
            XINFO GROUPS s
            XADD s 1-0 f v
            XADD s 2-0 f v
            XADD s 3-0 f v
            XINFO GROUPS s
            XREADGROUP GROUP g alice COUNT 1 STREAMS s >
            XINFO GROUPS s
            XREADGROUP GROUP g alice COUNT 1 NOACK STREAMS s >
            XINFO GROUPS s
            XREADGROUP GROUP g bob STREAMS s >
            XINFO GROUPS s
            XADD s 4-0 f v
            XINFO GROUPS s
            XGROUP CREATE s last $
            XINFO GROUPS s
            XADD s 5-0 f v
            XINFO GROUPS s
            XREADGROUP GROUP last c STREAMS s >
            XINFO GROUPS s
        """)

    def test_lag_after_trimming(self, pair: Pair) -> None:
        for number in range(1, 11):
            pair.same("XADD", "s", f"{number}-0", "n", number)
        script(pair, """
            XGROUP CREATE s g 0
            XTRIM s MAXLEN 6
            XINFO GROUPS s
            XREADGROUP GROUP g c COUNT 2 STREAMS s >
            XINFO GROUPS s
            XTRIM s MAXLEN 4
            XINFO GROUPS s
            XREADGROUP GROUP g c STREAMS s >
            XINFO GROUPS s
        """)

    def test_what_a_group_passes_that_is_ahead_of_the_stream_is_no_lag(self, pair: Pair) -> None:
        script(pair, """
            XADD s 1-0 f v
            XGROUP CREATE s ahead 9-9
            XINFO GROUPS s
            XADD s 4-0 f v
            XINFO GROUPS s
            XADD s 9-9 f v
            XINFO GROUPS s
        """)
        groups = [dict(facts(row)) for row in same(pair, "XINFO", "GROUPS", "s")]
        assert [group[b"lag"] for group in groups] == [0]
        script(pair, """
            XADD s 10-0 f v
            XINFO GROUPS s
            XREADGROUP GROUP ahead c STREAMS s >
            XINFO GROUPS s
            XGROUP CREATE s said 19-0 ENTRIESREAD 4
            XADD s 11-0 f v
            XINFO GROUPS s
            XADD s 20-0 f v
            XREADGROUP GROUP said c STREAMS s >
            XREADGROUP GROUP ahead c STREAMS s >
            XINFO GROUPS s
        """)

    def test_what_a_group_passes_because_it_was_deleted_is_no_lag(self, pair: Pair) -> None:
        for number in range(1, 5):
            pair.same("XADD", "s", f"{number}-0", "n", number)
        script(pair, """
            XGROUP CREATE s g 0
            XREADGROUP GROUP g c COUNT 2 STREAMS s >
            XDEL s 3-0 4-0
            XINFO GROUPS s
            XREADGROUP GROUP g c STREAMS s >
        """)
        (group,) = [dict(facts(row)) for row in same(pair, "XINFO", "GROUPS", "s")]
        assert (group[b"entries-read"], group[b"lag"]) == (2, 0)

    def test_counts_that_were_set_as_high_as_can_be(self, pair: Pair) -> None:
        """Redis's go on below zero; here they stay, so that every client can read them."""
        most = 2**63 - 1
        for words in (
            ("XADD", "s", "1-0", "f", "v"),
            ("XGROUP", "CREATE", "s", "g", "0", "ENTRIESREAD", most),
            ("XSETID", "s", "1-0", "ENTRIESADDED", most),
            ("XADD", "s", "2-0", "f", "v"),
        ):
            reply(pair.ours, *words)
        reply(pair.ours, "XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
        assert dict(facts(reply(pair.ours, "XINFO", "STREAM", "s")))[b"entries-added"] == most
        (group,) = [dict(facts(row)) for row in reply(pair.ours, "XINFO", "GROUPS", "s")]
        assert (group[b"entries-read"], group[b"lag"]) == (most, 0)

    def test_the_lag_that_redis_cannot_know_is_known_or_nil(self, pair: Pair) -> None:
        for number in range(1, 6):
            pair.same("XADD", "s", f"{number}-0", "n", number)
        script(pair, """
            XGROUP CREATE s middle 2-0
            XGROUP CREATE s all 0
            XINFO GROUPS s
            XDEL s 4-0
            XINFO GROUPS s
        """)
        lags = {dict(facts(row))[b"name"]: dict(facts(row))[b"lag"] for row in same(pair, "XINFO", "GROUPS", "s")}
        assert lags[b"middle"] in (None, 2)
        assert lags[b"all"] in (None, 4)

    def test_errors(self, pair: Pair) -> None:
        script(pair, """
            XADD s 1-1 f v
            SET text a
            XINFO GROUPS
            XINFO GROUPS missing
            XINFO GROUPS text
            XINFO GROUPS s g
        """)


class TestXinfoConsumers:
    def test_facts(self, busy: Pair) -> None:
        script(busy, """
            XINFO CONSUMERS s g
            xinfo consumers s another
            XGROUP CREATE s none 0
            XINFO CONSUMERS s none
        """)

    def test_errors(self, busy: Pair) -> None:
        script(busy, """
            SET text a
            XINFO CONSUMERS
            XINFO CONSUMERS s
            XINFO CONSUMERS s missing
            XINFO CONSUMERS missing g
            XINFO CONSUMERS text g
            XINFO CONSUMERS s g more
        """)


class TestXinfoHelp:
    def test_help(self, pair: Pair) -> None:
        script(pair, """
            XINFO HELP
            xinfo help
            XINFO HELP s
            XINFO
            XINFO UNKNOWN
            XINFO UNKNOWN s
        """)
