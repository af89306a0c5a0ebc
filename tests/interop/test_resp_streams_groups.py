"""Consumer groups: XGROUP, XREADGROUP, XACK, XPENDING, beside a real redis-server."""

import pytest

from tests.interop.pair import Pair, needs_redis_server, reply
from tests.interop.streams import by_order, same, script

pytestmark = needs_redis_server


@pytest.fixture
def five(pair: Pair) -> Pair:
    """A stream `s` of 1-0 to 5-0 with a group `g` at its beginning."""
    for number in range(1, 6):
        pair.same("XADD", "s", f"{number}-0", "n", number)
    pair.same("XGROUP", "CREATE", "s", "g", "0")
    return pair


class TestXgroupCreate:
    def test_where_a_group_begins(self, pair: Pair) -> None:
        script(pair, """
            XADD s 1-0 f v
            XADD s 2-0 f v
            XADD s 3-0 f v
            XGROUP CREATE s all 0
            XGROUP CREATE s all2 0-0
            XGROUP CREATE s new $
            XGROUP CREATE s later 2
            XGROUP CREATE s middle 1-5
            XGROUP CREATE s future 9-9
            xgroup create s lower 0
            XINFO GROUPS s
            XREADGROUP GROUP all c STREAMS s >
            XREADGROUP GROUP new c STREAMS s >
            XREADGROUP GROUP later c STREAMS s >
            XREADGROUP GROUP middle c STREAMS s >
            XREADGROUP GROUP future c STREAMS s >
            XADD s 4-0 f v
            XREADGROUP GROUP new c STREAMS s >
            XREADGROUP GROUP future c STREAMS s >
            XADD s 10-0 f v
            XREADGROUP GROUP future c STREAMS s >
        """)

    def test_mkstream(self, pair: Pair) -> None:
        script(pair, """
            XGROUP CREATE s g $
            XGROUP CREATE s g 0
            EXISTS s
            XGROUP CREATE s g $ MKSTREAM
            TYPE s
            XLEN s
            XINFO STREAM s
            XINFO GROUPS s
            XADD s 1-1 f v
            XREADGROUP GROUP g c STREAMS s >
            XGROUP CREATE s g2 0 mkstream
            XGROUP CREATE t g 5-5 MKSTREAM
            XINFO STREAM t
            XADD t 1-1 f v
            XREADGROUP GROUP g c STREAMS t >
            XADD t 6-0 f v
            XREADGROUP GROUP g c STREAMS t >
        """)

    def test_entriesread(self, pair: Pair) -> None:
        script(pair, """
            XADD s 1-1 a 1
            XADD s 1-2 b 2
            XADD s 1-3 c 3
            XADD s 1-4 d 4
            XGROUP CREATE s g1 $ ENTRIESREAD 0
            XGROUP CREATE s g2 $ ENTRIESREAD 3
            XGROUP CREATE s g3 0 entriesread 0
            XGROUP CREATE s g4 1-2 ENTRIESREAD -1
            XGROUP CREATE s g5 1-2 ENTRIESREAD 2 MKSTREAM
            XGROUP CREATE s g6 1-3 MKSTREAM ENTRIESREAD 3
            XINFO GROUPS s
            XGROUP CREATE s g7 $ ENTRIESREAD -3
            XGROUP CREATE s g7 $ ENTRIESREAD x
            XGROUP CREATE s g7 $ ENTRIESREAD
            XGROUP CREATE s g7 $ ENTRIESREAD 1 2
        """)

    def test_options_given_again(self, pair: Pair) -> None:
        """As long as there are not too many words."""
        script(pair, """
            XADD s 1-1 f v
            XGROUP CREATE s g1 0 MKSTREAM MKSTREAM MKSTREAM
            XGROUP CREATE s g2 0 MKSTREAM MKSTREAM MKSTREAM MKSTREAM
            XGROUP CREATE s g2 x ENTRIESREAD 1 ENTRIESREAD 2
            XGROUP CREATE missing g 0 ENTRIESREAD 1 MKSTREAM MKSTREAM
            XGROUP CREATE missing g 0 ENTRIESREAD 1 ENTRIESREAD 2
            EXISTS missing
            XGROUP SETID s g1 0 ENTRIESREAD 1 ENTRIESREAD 2
            XGROUP SETID s g1 0 ENTRIESREAD 1 ENTRIESREAD x
            XGROUP SETID s missing 0 ENTRIESREAD 1 ENTRIESREAD 2
            XGROUP SETID missing g1 0 ENTRIESREAD 1 ENTRIESREAD 2
            XINFO GROUPS s
        """)

    def test_errors(self, pair: Pair) -> None:
        script(pair, """
            XADD s 1-1 f v
            XGROUP CREATE s g 0
            XGROUP CREATE s g 0
            XGROUP CREATE s g $ MKSTREAM
            XGROUP CREATE
            XGROUP CREATE s
            XGROUP CREATE s h
            XGROUP CREATE s h x
            XGROUP CREATE s h -
            XGROUP CREATE s h +
            XGROUP CREATE s h >
            XGROUP CREATE s h 1-*
            XGROUP CREATE s h 0 UNKNOWN
            XGROUP CREATE s h 0 MKSTREAM x
            XGROUP CREATE missing h x
            XGROUP CREATE missing h x MKSTREAM
            XGROUP CREATE missing h 0 UNKNOWN
            EXISTS missing
            SET text a
            XGROUP CREATE text h 0
            XGROUP CREATE text h 0 MKSTREAM
            XGROUP CREATE text h x
            XGROUP
            XGROUP UNKNOWN s g
            XGROUP UNKNOWN
            XINFO GROUPS s
        """)

    def test_names_are_any_text(self, pair: Pair) -> None:
        group, consumer = "grün g", "a/b: c"
        pair.same("XGROUP", "CREATE", "s", group, "0", "MKSTREAM")
        pair.same("XGROUP", "CREATE", "s", group, "0")
        pair.same("XADD", "s", "1-1", "f", "v")
        pair.same("XREADGROUP", "GROUP", group, consumer, "STREAMS", "s", ">")
        same(pair, "XINFO", "GROUPS", "s")
        same(pair, "XINFO", "CONSUMERS", "s", group)
        same(pair, "XPENDING", "s", group)
        same(pair, "XPENDING", "s", group, "-", "+", "10", consumer)

    @pytest.mark.parametrize("group", ["", b"\x00", b"\xff"])
    def test_names_that_are_no_text_are_refused(self, pair: Pair, group: str | bytes) -> None:
        """A difference to Redis: topics and groups have names that every protocol can say."""
        kind, text = reply(pair.ours, "XGROUP", "CREATE", "s", group, "0", "MKSTREAM")
        assert kind == "error"
        assert "name" in text


class TestXgroupConsumers:
    def test_createconsumer(self, five: Pair) -> None:
        script(five, """
            XGROUP CREATECONSUMER s g alice
            XGROUP CREATECONSUMER s g alice
            xgroup createconsumer s g bob
            XINFO CONSUMERS s g
            XINFO GROUPS s
            XREADGROUP GROUP g carol COUNT 1 STREAMS s >
            XGROUP CREATECONSUMER s g carol
            XINFO CONSUMERS s g
        """)

    def test_delconsumer_forgets_what_is_pending(self, five: Pair) -> None:
        script(five, """
            XREADGROUP GROUP g alice COUNT 2 STREAMS s >
            XREADGROUP GROUP g bob COUNT 2 STREAMS s >
            XGROUP DELCONSUMER s g alice
            XPENDING s g
            XGROUP DELCONSUMER s g alice
            XGROUP DELCONSUMER s g nobody
            XINFO CONSUMERS s g
            XREADGROUP GROUP g alice STREAMS s >
            XREADGROUP GROUP g alice STREAMS s 0
            XACK s g 1-0
            XGROUP CREATECONSUMER s g empty
            XGROUP DELCONSUMER s g empty
            XINFO STREAM s FULL
        """)

    def test_errors(self, five: Pair) -> None:
        script(five, """
            SET text a
            XGROUP CREATECONSUMER
            XGROUP CREATECONSUMER s
            XGROUP CREATECONSUMER s g
            XGROUP CREATECONSUMER s g a b
            XGROUP CREATECONSUMER s missing a
            XGROUP CREATECONSUMER missing g a
            XGROUP CREATECONSUMER text g a
            XGROUP DELCONSUMER
            XGROUP DELCONSUMER s
            XGROUP DELCONSUMER s g
            XGROUP DELCONSUMER s g a b
            XGROUP DELCONSUMER s missing a
            XGROUP DELCONSUMER missing g a
            XGROUP DELCONSUMER text g a
        """)


class TestXgroupSetid:
    def test_a_group_goes_back_and_on(self, five: Pair) -> None:
        script(five, """
            XREADGROUP GROUP g alice STREAMS s >
            XGROUP SETID s g 3
            XINFO GROUPS s
            XREADGROUP GROUP g bob STREAMS s >
            XPENDING s g - + 10
            XGROUP SETID s g 0-0
            XREADGROUP GROUP g alice COUNT 2 STREAMS s >
            XPENDING s g - + 10
            XGROUP SETID s g $
            XREADGROUP GROUP g bob STREAMS s >
            xgroup setid s g 99
            XADD s 6-0 n 6
            XREADGROUP GROUP g bob STREAMS s >
            XPENDING s g
        """)

    def test_entriesread(self, five: Pair) -> None:
        script(five, """
            XGROUP SETID s g 3 ENTRIESREAD 3
            XINFO GROUPS s
            XREADGROUP GROUP g c COUNT 1 STREAMS s >
            XINFO GROUPS s
            XGROUP SETID s g $ ENTRIESREAD 5
            XINFO GROUPS s
            XGROUP SETID s g 0 ENTRIESREAD -1
            XINFO GROUPS s
            XREADGROUP GROUP g c COUNT 1 STREAMS s >
            XINFO GROUPS s
            XGROUP SETID s g 0 ENTRIESREAD -2
            XGROUP SETID s g 0 ENTRIESREAD x
            XGROUP SETID s g 0 ENTRIESREAD
        """)

    def test_errors(self, five: Pair) -> None:
        script(five, """
            SET text a
            XGROUP SETID
            XGROUP SETID s
            XGROUP SETID s g
            XGROUP SETID s g x
            XGROUP SETID s g -
            XGROUP SETID s g +
            XGROUP SETID s g >
            XGROUP SETID s g 0 MKSTREAM
            XGROUP SETID s g 0 UNKNOWN 1
            XGROUP SETID s missing 0
            XGROUP SETID s missing x
            XGROUP SETID missing g 0
            XGROUP SETID text g 0
        """)


class TestXgroupDestroy:
    def test_a_group_goes_with_all_it_had(self, five: Pair) -> None:
        script(five, """
            XREADGROUP GROUP g alice STREAMS s >
            XGROUP CREATE s h 0
            XGROUP DESTROY s g
            XGROUP DESTROY s g
            XINFO GROUPS s
            XPENDING s g
            XREADGROUP GROUP g alice STREAMS s >
            XACK s g 1-0
            XGROUP CREATE s g 0
            XPENDING s g
            XINFO CONSUMERS s g
            XGROUP DESTROY s g
            XGROUP DESTROY s h
            EXISTS s
            XLEN s
        """)

    def test_errors(self, five: Pair) -> None:
        script(five, """
            SET text a
            XGROUP DESTROY
            XGROUP DESTROY s
            XGROUP DESTROY s g h
            XGROUP DESTROY missing g
            XGROUP DESTROY text g
            XINFO GROUPS s
        """)


class TestXgroupHelp:
    def test_help(self, pair: Pair) -> None:
        script(pair, """
            XGROUP HELP
            xgroup help
            XGROUP HELP s
        """)


class TestXreadgroup:
    def test_new_entries_are_dealt_out(self, five: Pair) -> None:
        script(five, """
            XREADGROUP GROUP g alice COUNT 1 STREAMS s >
            XREADGROUP GROUP g bob COUNT 2 STREAMS s >
            XREADGROUP GROUP g alice STREAMS s >
            XREADGROUP GROUP g alice STREAMS s >
            XREADGROUP GROUP g bob COUNT 1 STREAMS s >
            XADD s 6-0 n 6
            xreadgroup group g bob count 10 streams s >
            XPENDING s g - + 10
            XINFO GROUPS s
        """)

    def test_groups_do_not_disturb_each_other(self, five: Pair) -> None:
        script(five, """
            XGROUP CREATE s h 3
            XREADGROUP GROUP g alice STREAMS s >
            XREADGROUP GROUP h alice STREAMS s >
            XACK s g 4-0
            XPENDING s g
            XPENDING s h
            XREADGROUP GROUP h alice STREAMS s 0
        """)

    def test_count(self, five: Pair) -> None:
        script(five, """
            XREADGROUP GROUP g alice COUNT 0 STREAMS s >
            XGROUP SETID s g 0
            XREADGROUP GROUP g alice COUNT -1 STREAMS s >
            XREADGROUP GROUP g alice COUNT 2 STREAMS s 0
            XREADGROUP GROUP g alice COUNT 0 STREAMS s 0
            XREADGROUP GROUP g alice COUNT 2 STREAMS s 3
        """)

    def test_history(self, five: Pair) -> None:
        """What is pending for this consumer, from an id on; each time it is shown, its count grows."""
        script(five, """
            XREADGROUP GROUP g alice STREAMS s 0
            XREADGROUP GROUP g alice COUNT 2 STREAMS s >
            XREADGROUP GROUP g bob COUNT 2 STREAMS s >
            XREADGROUP GROUP g alice STREAMS s 0
            XREADGROUP GROUP g alice STREAMS s 0-0
            XREADGROUP GROUP g alice STREAMS s 1-0
            XREADGROUP GROUP g alice STREAMS s 2
            XREADGROUP GROUP g alice STREAMS s 9
            XREADGROUP GROUP g bob STREAMS s 0
            XREADGROUP GROUP g carol STREAMS s 0
            XPENDING s g - + 10
            XACK s g 1-0
            XREADGROUP GROUP g alice STREAMS s 0
            XREADGROUP GROUP g alice BLOCK 0 STREAMS s 0
            XREADGROUP GROUP g carol BLOCK 0 STREAMS s 5
            XINFO CONSUMERS s g
        """)

    def test_history_of_deleted_entries_has_no_fields(self, five: Pair) -> None:
        script(five, """
            XREADGROUP GROUP g alice STREAMS s >
            XDEL s 2-0
            XTRIM s MINID 2
            XREADGROUP GROUP g alice STREAMS s 0
            XPENDING s g - + 10
            XTRIM s MAXLEN 0
            XREADGROUP GROUP g alice STREAMS s 0
        """)

    def test_noack(self, five: Pair) -> None:
        script(five, """
            XREADGROUP GROUP g alice NOACK COUNT 2 STREAMS s >
            XPENDING s g
            XREADGROUP GROUP g alice NOACK STREAMS s 0
            XREADGROUP GROUP g alice COUNT 1 STREAMS s >
            XREADGROUP GROUP g alice noack STREAMS s 0
            XREADGROUP NOACK GROUP g alice STREAMS s >
            XREADGROUP GROUP g bob NOACK STREAMS s >
            XPENDING s g - + 10
            XINFO GROUPS s
            XINFO CONSUMERS s g
        """)

    def test_several_streams(self, five: Pair) -> None:
        script(five, """
            XADD t 1-1 f v
            XGROUP CREATE t g 0
            XREADGROUP GROUP g alice COUNT 1 STREAMS s t > >
            XREADGROUP GROUP g alice COUNT 1 STREAMS s t > >
            XREADGROUP GROUP g alice STREAMS t s > 0
            XREADGROUP GROUP g alice STREAMS t s 0 >
            XREADGROUP GROUP g alice STREAMS t s > >
            XREADGROUP GROUP g alice STREAMS t s 0 0
            XREADGROUP GROUP g alice STREAMS s s 0 3
        """)

    def test_reading_makes_the_consumer_if_there_is_something_to_read(self, five: Pair) -> None:
        script(five, """
            XGROUP SETID s g $
            XREADGROUP GROUP g alice STREAMS s >
            XREADGROUP GROUP g bob STREAMS s 0
            XREADGROUP GROUP g carol BLOCK 1 STREAMS s >
            XINFO CONSUMERS s g
        """)

    def test_what_was_delivered_before_goes_to_the_next_reader_after_setid(self, five: Pair) -> None:
        script(five, """
            XREADGROUP GROUP g alice STREAMS s >
            XREADGROUP GROUP g alice STREAMS s 0
            XGROUP SETID s g 0
            XREADGROUP GROUP g bob COUNT 3 STREAMS s >
            XPENDING s g - + 10
            XGROUP SETID s g 0
            XREADGROUP GROUP g carol NOACK STREAMS s >
            XPENDING s g - + 10
        """)

    def test_deleted_entries_are_not_delivered(self, five: Pair) -> None:
        script(five, """
            XDEL s 1-0 3-0
            XREADGROUP GROUP g alice COUNT 2 STREAMS s >
            XDEL s 5-0
            XREADGROUP GROUP g alice STREAMS s >
            XPENDING s g
        """)

    def test_block_answers_at_once_or_in_time(self, five: Pair) -> None:
        script(five, """
            XREADGROUP GROUP g alice BLOCK 0 COUNT 2 STREAMS s >
            XREADGROUP GROUP g alice BLOCK 1000000 STREAMS s >
            XREADGROUP GROUP g alice BLOCK 1 STREAMS s >
            XREADGROUP BLOCK 10 GROUP g alice STREAMS s >
        """)

    def test_automatic_ids(self, pair: Pair) -> None:
        pair.same("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM")
        for number in range(5):
            pair.same("XADD", "s", "*", "n", number, alike=by_order)
        pair.same("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">", alike=by_order)

    def test_errors(self, five: Pair) -> None:
        script(five, """
            SET text a
            XREADGROUP
            XREADGROUP GROUP g c STREAMS s
            XREADGROUP GROUP g c STREAMS s t >
            XREADGROUP GROUP g STREAMS s >
            XREADGROUP GROUP g c s > STREAMS
            XREADGROUP STREAMS s t u > > >
            XREADGROUP COUNT 1 BLOCK 1 STREAMS s >
            XREADGROUP GROUP g c COUNT x STREAMS s >
            XREADGROUP GROUP g c BLOCK x STREAMS s >
            XREADGROUP GROUP g c BLOCK -1 STREAMS s >
            XREADGROUP GROUP g c UNKNOWN STREAMS s >
            XREADGROUP GROUP g c COUNT 1 BLOCK 1
            XREADGROUP GROUP g c STREAMS s $
            XREADGROUP GROUP g c STREAMS s x
            XREADGROUP GROUP g c STREAMS s -
            XREADGROUP GROUP g c STREAMS s 1-*
            XREADGROUP GROUP missing c STREAMS s >
            XREADGROUP GROUP missing c STREAMS s x
            XREADGROUP GROUP missing c STREAMS s $
            XREADGROUP GROUP g c STREAMS missing >
            XREADGROUP GROUP g c STREAMS missing 0
            XREADGROUP GROUP g c STREAMS s missing > >
            XREADGROUP GROUP g c STREAMS text >
            XREADGROUP GROUP g c STREAMS s text > >
            XREADGROUP GROUP g c BLOCK 0 STREAMS missing >
            XREADGROUP GROUP g 'a b' STREAMS 'mis sing' >
            XINFO GROUPS s
            XINFO CONSUMERS s g
        """)


class TestXack:
    def test_pending_entries_go(self, five: Pair) -> None:
        script(five, """
            XREADGROUP GROUP g alice STREAMS s >
            XACK s g 1-0
            XACK s g 1-0
            XACK s g 2 3-0 9-9
            XACK s g 4-0 4-0
            XPENDING s g
            XLEN s
            XACK s g 5-0
            XPENDING s g
            XINFO GROUPS s
            XINFO CONSUMERS s g
            XREADGROUP GROUP g alice STREAMS s 0
        """)

    def test_what_another_consumer_has_and_what_nobody_got(self, five: Pair) -> None:
        script(five, """
            XREADGROUP GROUP g alice COUNT 1 STREAMS s >
            XREADGROUP GROUP g bob COUNT 1 STREAMS s >
            XACK s g 2-0 3-0
            XPENDING s g
            XDEL s 1-0
            XACK s g 1-0
            XPENDING s g
        """)

    def test_errors(self, five: Pair) -> None:
        script(five, """
            SET text a
            XREADGROUP GROUP g alice STREAMS s >
            XACK
            XACK s
            XACK s g
            XACK s g x
            XACK s g 1-0 x
            XACK s g -
            XACK s g +
            XACK s g 1-*
            XACK s g -0
            XACK s g -0 -1
            XACK s g -2 -4
            XACK s g 1-0 -1
            XPENDING s g
            XACK s missing 1-0
            XACK s missing x
            XACK missing g 1-0
            XACK missing g x
            XACK text g 1-0
            XACK text g x
        """)


class TestXpending:
    def test_summary(self, five: Pair) -> None:
        script(five, """
            XPENDING s g
            XREADGROUP GROUP g bob COUNT 1 STREAMS s >
            XPENDING s g
            XREADGROUP GROUP g alice COUNT 3 STREAMS s >
            XGROUP CREATECONSUMER s g idle
            XPENDING s g
            XACK s g 1-0
            XPENDING s g
            XACK s g 2-0 3-0 4-0
            XPENDING s g
        """)

    def test_ranges(self, five: Pair) -> None:
        script(five, """
            XPENDING s g - + 10
            XREADGROUP GROUP g alice COUNT 3 STREAMS s >
            XREADGROUP GROUP g bob STREAMS s >
            XPENDING s g - + 10
            XPENDING s g - + 2
            XPENDING s g - + 0
            XPENDING s g - + -1
            XPENDING s g 2 4 10
            XPENDING s g 2-0 4-0 10
            XPENDING s g (2 (4 10
            XPENDING s g (2-0 + 10
            XPENDING s g - (2-0 10
            XPENDING s g 4 2 10
            XPENDING s g + - 10
            XPENDING s g 9 + 10
        """)

    def test_one_consumer(self, five: Pair) -> None:
        script(five, """
            XREADGROUP GROUP g alice COUNT 3 STREAMS s >
            XREADGROUP GROUP g bob STREAMS s >
            XPENDING s g - + 10 alice
            XPENDING s g - + 1 alice
            XPENDING s g (1-0 + 10 alice
            XPENDING s g - + 10 bob
            XPENDING s g - + 10 nobody
            XINFO CONSUMERS s g
        """)

    def test_idle(self, five: Pair) -> None:
        """Idle times are set by XCLAIM, so that the answers do not depend on the clock."""
        script(five, """
            XREADGROUP GROUP g alice STREAMS s >
            XCLAIM s g alice 0 2-0 IDLE 1000000 JUSTID
            XCLAIM s g bob 0 4-0 IDLE 2000000 JUSTID
            XPENDING s g IDLE 500000 - + 10
            XPENDING s g IDLE 1500000 - + 10
            XPENDING s g idle 9000000 - + 10
            XPENDING s g IDLE 500000 - + 1
            XPENDING s g IDLE 500000 - + 10 bob
            XPENDING s g IDLE 500000 (2 + 10 alice
            XPENDING s g IDLE 0 - + 10
            XPENDING s g IDLE -5 - + 10
        """)

    def test_counts(self, five: Pair) -> None:
        script(five, """
            XREADGROUP GROUP g alice COUNT 2 STREAMS s >
            XREADGROUP GROUP g alice STREAMS s 0
            XREADGROUP GROUP g alice STREAMS s 1
            XCLAIM s g bob 0 2-0
            XPENDING s g - + 10
        """)

    def test_errors(self, five: Pair) -> None:
        script(five, """
            SET text a
            XPENDING
            XPENDING s
            XPENDING s g -
            XPENDING s g - +
            XPENDING s g - + x
            XPENDING s g x + 10
            XPENDING s g - x 10
            XPENDING s g (- + 10
            XPENDING s g - (0-0 10
            XPENDING s g (18446744073709551615-18446744073709551615 + 10
            XPENDING s g - + 10 alice more
            XPENDING s g IDLE
            XPENDING s g IDLE 5
            XPENDING s g IDLE 5 -
            XPENDING s g IDLE 5 - +
            XPENDING s g IDLE x - + 10
            XPENDING s g IDLE 5 - + x
            XPENDING s g IDLE 5 - + 10 alice more
            XPENDING s g UNKNOWN 5 - + 10
            XPENDING s missing
            XPENDING missing g
            XPENDING s missing - + 10
            XPENDING missing g x + 10
            XPENDING text g
            XPENDING text g - + 10
            XPENDING text g x + 10
        """)
