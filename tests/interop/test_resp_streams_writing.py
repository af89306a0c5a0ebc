"""What changes the entries of a stream: XADD, XLEN, XDEL, XTRIM, XSETID, beside a real redis-server."""

import pytest

from tests.interop.pair import Pair, needs_redis_server, reply
from tests.interop.streams import by_order, each, same, script

pytestmark = needs_redis_server

MAX = 2**64 - 1


def filled(pair: Pair, count: int) -> None:
    """A stream `s` of the entries 1-0, 2-0 and so on."""
    for number in range(1, count + 1):
        pair.same("XADD", "s", f"{number}-0", "n", number)


class TestXadd:
    def test_explicit_ids(self, pair: Pair) -> None:
        script(pair, """
            XADD s 1-1 f v
            XADD s 1-2 f v g w
            XADD s 5 f v                # 5-0
            XADD s 5-0 f v              # not greater
            XADD s 5-1 f v f v          # a field twice
            XLEN s
            XRANGE s - +
            TYPE s
        """)

    def test_ids_must_grow(self, pair: Pair) -> None:
        script(pair, """
            XADD s 5-5 f v
            XADD s 5-5 f v
            XADD s 5-4 f v
            XADD s 4 f v
            XADD s 0-1 f v
            XADD s 0-0 f v
            XADD s 0 f v
            XADD new 0-0 f v
            XADD new 0 f v
            EXISTS new
            XADD s 5-6 f v
            XLEN s
        """)

    def test_bad_ids(self, pair: Pair) -> None:
        script(pair, """
            XADD s abc f v
            XADD s 1-x f v
            XADD s 1- f v
            XADD s -1 f v
            XADD s -1-1 f v
            XADD s 1-1-1 f v
            XADD s 1--1 f v
            XADD s 1.5 f v
            XADD s '' f v
            XADD s '1-1 ' f v
            XADD s - f v
            XADD s + f v
            XADD s $ f v
            XADD s > f v
            XADD s ** f v
            XADD s *-1 f v
            XADD s *-* f v
            XADD s 18446744073709551616 f v
            XADD s 1-18446744073709551616 f v
            XADD s (1-1 f v
            EXISTS s
        """)
        pair.same("XADD", "s", "1" * 200, "f", "v")

    def test_odd_spellings_of_numbers_that_redis_accepts(self, pair: Pair) -> None:
        script(pair, """
            XADD s 01-001 f v
            XADD s +2-+2 f v
            XRANGE s - +
        """)
        pair.same("XADD", "s", "0" * 100 + "3-1", "f", "v")

    def test_the_number_left_to_the_server(self, pair: Pair) -> None:
        script(pair, """
            XADD s 0-* f v              # 0-1, for 0-0 is no id
            XADD s 7-* f v              # 7-0
            XADD s 7-* f v              # 7-1
            XADD s 7-5 f v
            XADD s 7-* f v              # 7-6
            XADD s 6-* f v
            XADD s 8-* f v
            XADD s 9-** f v
            XADD s 9-*1 f v
            XRANGE s - +
        """)

    def test_no_number_is_left_in_a_millisecond(self, pair: Pair) -> None:
        """Redis 7.0 words this error wrongly."""
        pair.same("XADD", "s", f"8-{MAX}", "f", "v")
        for answer in each(pair, "XADD", "s", "8-*", "f", "v"):
            assert answer[0] == "error"
        pair.same("XADD", "s", "9-*", "f", "v")

    def test_the_last_possible_id(self, pair: Pair) -> None:
        script(pair, f"""
            XADD s {MAX}-{MAX - 1} f v
            XADD s {MAX}-* f v
            XADD s * f v
            XADD s {MAX}-{MAX} f v
            XADD s {MAX}-* f v
            XRANGE s - +
            XINFO STREAM s
        """)

    def test_automatic_ids_go_on_after_a_large_explicit_one(self, pair: Pair) -> None:
        """The clock is behind: the number grows."""
        far = 4_000_000_000_000
        pair.same("XADD", "s", f"{far}-5", "f", "v")
        for _ in range(3):
            pair.same("XADD", "s", "*", "f", "v")
        pair.same("XRANGE", "s", "-", "+")

    def test_automatic_ids_grow_and_are_of_now(self, pair: Pair) -> None:
        for _ in range(50):
            pair.same("XADD", "s", "*", "f", "v", alike=by_order)
        entries = pair.same("XRANGE", "s", "-", "+", alike=by_order)
        ids = [tuple(map(int, entry.split(b"-"))) for entry, _ in entries]
        assert ids == sorted(set(ids))
        now_ms = 1000 * int(pair.ours.execute_command("TIME")[0])
        assert abs(ids[-1][0] - now_ms) < 60_000

    def test_fields_and_values_are_bytes(self, pair: Pair) -> None:
        pair.same("XADD", "s", "1-1", b"\xff\x00", b"\r\n", b"", b"")
        pair.same("XADD", "s", "1-2", "12", "-7", "3.5", 10**30)
        pair.same("XRANGE", "s", "-", "+")

    def test_keys_are_text(self, pair: Pair) -> None:
        for key in ("grün:{1}", "a b/c", "k" * 200):
            pair.same("XADD", key, "1-1", "f", "v")
            pair.same("XREAD", "STREAMS", key, "0")

    def test_keys_that_are_no_names_are_refused(self, pair: Pair) -> None:
        """A difference to Redis: a stream is a topic, whose name every protocol can say."""
        for key in (b"\x00\r\n", b"\xff", b"", "k" * 1_000):
            kind, text = reply(pair.ours, "XADD", key, "1-1", "f", "v")
            assert kind == "error"
            assert "name" in text

    def test_many_fields_and_large_values(self, pair: Pair) -> None:
        pair.same("XADD", "s", "1-1", *[f"w{number}" for number in range(2_000)])
        pair.same("XADD", "s", "1-2", "large", b"x" * 1_000_000)
        pair.same("XRANGE", "s", "-", "+")

    def test_wrong_number_of_arguments(self, pair: Pair) -> None:
        script(pair, """
            XADD
            XADD s
            XADD s *
            XADD s * f
            XADD s * f v g
            XADD s 1-1 f
            XADD s 1-1 f v g
            XADD s NOMKSTREAM * f
            XADD s NOMKSTREAM 1-1 f v g
            XADD s MAXLEN 5 1-1 f
            XADD s MAXLEN 5 f v
            XADD s 0-0 f
            EXISTS s
        """)

    def test_nomkstream(self, pair: Pair) -> None:
        script(pair, """
            XADD s NOMKSTREAM * f v
            XADD s nomkstream 1-1 f v
            XADD s NOMKSTREAM 0-0 f v
            EXISTS s
            XADD s 1-1 f v
            XADD s NOMKSTREAM 2-1 f v
            XADD s NOMKSTREAM NOMKSTREAM 3-1 f v
            XADD s NOMKSTREAM 1-1 f v
            XLEN s
        """)

    def test_maxlen(self, pair: Pair) -> None:
        filled(pair, 10)
        script(pair, """
            XADD s MAXLEN 20 11-0 f v
            XLEN s
            XADD s MAXLEN = 5 12-0 f v
            XRANGE s - +
            XADD s maxlen 5 13-0 f v
            XRANGE s - +
            XADD s NOMKSTREAM MAXLEN 3 14-0 f v
            XADD s MAXLEN 2 NOMKSTREAM 15-0 f v
            XRANGE s - +
            XADD s MAXLEN 0 16-0 f v
            XLEN s
            EXISTS s
            XINFO STREAM s
            XADD other MAXLEN 0 1-0 f v
            XINFO STREAM other
        """)

    def test_minid(self, pair: Pair) -> None:
        filled(pair, 10)
        script(pair, """
            XADD s MINID 3 11-0 f v
            XRANGE s - +
            XADD s MINID = 5-1 12-0 f v
            XRANGE s - +
            XADD s minid 0 13-0 f v
            XLEN s
            XADD s MINID 13-0 14-0 f v
            XRANGE s - +
            XADD s MINID 99 15-0 f v
            XLEN s
            XINFO STREAM s
        """)

    def test_trimming_options_that_are_wrong(self, pair: Pair) -> None:
        script(pair, """
            XADD s MAXLEN -1 1-1 f v
            XADD s MAXLEN x 1-1 f v
            XADD s MAXLEN = -1 1-1 f v
            XADD s MAXLEN = x 1-1 f v
            XADD s MAXLEN ~ x 1-1 f v
            XADD s MAXLEN 1.5 1-1 f v
            XADD s MAXLEN == 1 1-1 f v
            XADD s MAXLEN 99999999999999999999 1-1 f v
            XADD s MAXLEN 1 MINID 1 1-1 f v
            XADD s MINID 1 MAXLEN 1 1-1 f v
            XADD s MAXLEN 1 MAXLEN 2 1-1 f v
            XADD s MINID 1 MINID 2 1-1 f v
            XADD s MINID x 1-1 f v
            XADD s MINID - 1-1 f v
            XADD s MINID + 1-1 f v
            XADD s MINID 1-* 1-1 f v
            XADD s LIMIT 5 1-1 f v
            XADD s LIMIT 0 1-1 f v
            XADD s LIMIT x 1-1 f v
            XADD s LIMIT -1 1-1 f v
            XADD s MAXLEN 5 LIMIT 5 1-1 f v
            XADD s MAXLEN = 5 LIMIT 5 1-1 f v
            XADD s MAXLEN = 5 LIMIT 0 1-1 f v
            XADD s MINID 5 LIMIT 5 1-1 f v
            XADD s MAXLEN ~ 5 LIMIT -1 1-1 f v
            XADD s MAXLEN ~ 5 LIMIT x 1-1 f v
            XADD s MAXLEN 5 5 1-1 f v
            XADD s UNKNOWN 1-1 f v
            XADD s MAXLEN
            XADD s MAXLEN 5
            XADD s MAXLEN = 5 f
            EXISTS s
            XADD s MAXLEN ~ 5 LIMIT 0 1-1 f v
            XADD s LIMIT 5 MAXLEN ~ 5 1-2 f v
            XLEN s
        """)

    def test_about_maxlen_keeps_at_least_that_many(self, pair: Pair) -> None:
        filled(pair, 300)
        each(pair, "XADD", "s", "MAXLEN", "~", "100", "301-0", "f", "v")
        for length in each(pair, "XLEN", "s"):
            assert 100 <= length <= 301
        pair.same("XREVRANGE", "s", "+", "-", "COUNT", "100")
        pair.same("XADD", "s", "MAXLEN", "~", "1000", "302-0", "f", "v")
        pair.same("XREVRANGE", "s", "+", "-", "COUNT", "100")

    def test_about_minid_keeps_all_from_there(self, pair: Pair) -> None:
        filled(pair, 300)
        each(pair, "XADD", "s", "MINID", "~", "200", "301-0", "f", "v")
        for length in each(pair, "XLEN", "s"):
            assert 102 <= length <= 301
        pair.same("XRANGE", "s", "200", "+")

    def test_limit_holds_about_trimming_back(self, pair: Pair) -> None:
        filled(pair, 300)
        each(pair, "XADD", "s", "MAXLEN", "~", "0", "LIMIT", "10", "301-0", "f", "v")
        for length in each(pair, "XLEN", "s"):
            assert 291 <= length <= 301

    def test_wrong_type(self, pair: Pair) -> None:
        script(pair, """
            SET s text
            XADD s * f v
            XADD s 1-1 f v
            XADD s NOMKSTREAM 1-1 f v
            XADD s 0-0 f v
            XADD s MAXLEN 5 1-1 f v
            XADD s 1-1 f
            GET s
        """)


class TestXlen:
    def test_length(self, pair: Pair) -> None:
        script(pair, """
            XLEN s
            XADD s 1-1 f v
            XADD s 1-2 f v
            XLEN s
            XDEL s 1-1
            XLEN s
            XDEL s 1-2
            XLEN s
            XLEN
            XLEN s t
            SET text a
            XLEN text
        """)


class TestXdel:
    def test_entries_go_and_the_rest_stays(self, pair: Pair) -> None:
        filled(pair, 5)
        script(pair, """
            XDEL s 2-0 4-0
            XRANGE s - +
            XDEL s 2-0
            XDEL s 3 3-0 9-9
            XRANGE s - +
            XREVRANGE s + -
            XLEN s
        """)

    def test_an_empty_stream_stays_and_remembers_its_last_id(self, pair: Pair) -> None:
        script(pair, """
            XADD s 5-5 f v
            XDEL s 5-5
            EXISTS s
            XLEN s
            TYPE s
            XRANGE s - +
            XADD s 5-5 f v
            XADD s 5-6 f v
            XINFO STREAM s
        """)

    def test_facts_after_deleting(self, pair: Pair) -> None:
        """recorded-first-entry-id and max-deleted-entry-id."""
        filled(pair, 5)
        script(pair, """
            XDEL s 3-0
            XINFO STREAM s
            XDEL s 1-0
            XINFO STREAM s
            XDEL s 2-0
            XINFO STREAM s
            XDEL s 9-0
            XINFO STREAM s
            XDEL s 5-0
            XINFO STREAM s
            XDEL s 4-0
            XINFO STREAM s
            XADD s 6-0 f v
            XINFO STREAM s
        """)

    def test_errors(self, pair: Pair) -> None:
        filled(pair, 2)
        script(pair, """
            XDEL
            XDEL s
            XDEL s x
            XDEL s 1-0 x
            XDEL s -
            XDEL s +
            XDEL s 1-*
            XDEL s ''
            XLEN s
            XDEL missing 1-1
            XDEL missing x
            SET text a
            XDEL text 1-1
            XDEL text x
        """)


class TestXtrim:
    def test_maxlen(self, pair: Pair) -> None:
        filled(pair, 10)
        script(pair, """
            XTRIM s MAXLEN 20
            XTRIM s MAXLEN 10
            XTRIM s MAXLEN 7
            XRANGE s - +
            XTRIM s MAXLEN = 5
            XRANGE s - +
            XTRIM s maxlen = 5
            XINFO STREAM s
            XTRIM s MAXLEN 0
            XLEN s
            EXISTS s
            XINFO STREAM s
        """)

    def test_minid(self, pair: Pair) -> None:
        filled(pair, 10)
        script(pair, """
            XTRIM s MINID 0
            XTRIM s MINID 3
            XRANGE s - +
            XTRIM s MINID = 5-1
            XRANGE s - +
            XTRIM s minid 10-0
            XINFO STREAM s
            XTRIM s MINID 10-1
            XLEN s
            XINFO STREAM s
        """)

    def test_deleted_entries_do_not_count(self, pair: Pair) -> None:
        filled(pair, 10)
        script(pair, """
            XDEL s 1-0 3-0 9-0
            XTRIM s MAXLEN 5
            XRANGE s - +
            XTRIM s MINID 8
            XRANGE s - +
            XINFO STREAM s
        """)

    def test_about_trimming_keeps_what_it_must(self, pair: Pair) -> None:
        filled(pair, 300)
        for removed, length in zip(
            each(pair, "XTRIM", "s", "MAXLEN", "~", "150"), each(pair, "XLEN", "s"), strict=True
        ):
            assert length >= 150
            assert removed + length == 300
        for removed in each(pair, "XTRIM", "s", "MINID", "~", "290", "LIMIT", "5"):
            assert 0 <= removed <= 5
        pair.same("XRANGE", "s", "290", "+")
        pair.same("XTRIM", "s", "MAXLEN", "~", "1000")
        pair.same("XTRIM", "s", "MINID", "~", "0")

    def test_about_trimming_keeps_what_is_young_enough_also_behind_deleted_entries(self, pair: Pair) -> None:
        filled(pair, 500)
        pair.same("XDEL", "s", *(f"{number}-0" for number in range(100, 300)))
        for removed in each(pair, "XTRIM", "s", "MINID", "~", "350"):
            assert removed <= 149
        pair.same("XRANGE", "s", "350", "+")

    @pytest.mark.parametrize("count", [1, 99, 250])
    def test_about_trimming_removes_all_where_nothing_is_to_stay(self, pair: Pair, count: int) -> None:
        for threshold in (("MAXLEN", "~", "0"), ("MINID", "~", "1000"), ("MAXLEN", "~", "0", "LIMIT", "0")):
            filled(pair, count)
            assert pair.same("XTRIM", "s", *threshold) == count
            pair.same("XLEN", "s")
            pair.same("DEL", "s")
        filled(pair, count)
        pair.same("XADD", "s", "MAXLEN", "~", "0", "1000-0", "f", "v")
        pair.same("XRANGE", "s", "-", "+")

    def test_errors(self, pair: Pair) -> None:
        filled(pair, 3)
        script(pair, """
            XTRIM
            XTRIM s
            XTRIM s MAXLEN
            XTRIM s MAXLEN =
            XTRIM s MAXLEN ~
            XTRIM s MAXLEN x
            XTRIM s MAXLEN -1
            XTRIM s MAXLEN = -1
            XTRIM s MAXLEN = x
            XTRIM s MAXLEN 1 2
            XTRIM s MAXLEN 1 MINID 1
            XTRIM s MAXLEN 1 MAXLEN 1
            XTRIM s MINID x
            XTRIM s MINID -
            XTRIM s MINID +
            XTRIM s MINID 1-*
            XTRIM s MINID 1 MAXLEN 1
            XTRIM s LIMIT 1
            XTRIM s LIMIT 1 1
            XTRIM s LIMIT 0 1
            XTRIM s MAXLEN 1 LIMIT 1
            XTRIM s MAXLEN = 1 LIMIT 1
            XTRIM s MAXLEN = 1 LIMIT 0
            XTRIM s MINID = 1 LIMIT 1
            XTRIM s MAXLEN ~ 1 LIMIT -1
            XTRIM s MAXLEN ~ 1 LIMIT x
            XTRIM s MAXLEN ~ 1 LIMIT
            XTRIM s NOMKSTREAM MAXLEN 1
            XTRIM s UNKNOWN 1
            XTRIM s UNKNOWN
            XTRIM s 1 MAXLEN
            XLEN s
            XTRIM missing MAXLEN 5
            XTRIM missing MAXLEN x
            EXISTS missing
            SET text a
            XTRIM text MAXLEN 5
            XTRIM text MAXLEN x
        """)


class TestXsetid:
    def test_the_last_id_moves(self, pair: Pair) -> None:
        script(pair, """
            XADD s 1-1 f v
            XSETID s 10-10
            XINFO STREAM s
            XADD s 10-10 f v
            XADD s 10-* f v
            XSETID s 10-11
            XSETID s 20
            XADD s 20-* f v
            XSETID s 15-0
            XRANGE s - +
        """)

    def test_an_empty_stream_may_go_back(self, pair: Pair) -> None:
        script(pair, """
            XADD s 9-9 f v
            XTRIM s MAXLEN 0
            XSETID s 1-1
            XADD s 1-2 f v
            XDEL s 1-2
            XSETID s 1-1
            XSETID s 1-2
            XINFO STREAM s
        """)

    def test_groups_stay_where_they_are_when_the_stream_goes_back(self, pair: Pair) -> None:
        """They get nothing before they are caught up with."""
        script(pair, """
            XADD s 5-0 f v
            XADD s 20-0 f v
            XGROUP CREATE s last $
            XGROUP CREATE s all 0
            XREADGROUP GROUP all c STREAMS s >
            XDEL s 20-0
            XSETID s 30-0
            XGROUP CREATE s later $
            XSETID s 5-0
            XADD s 6-0 f v
            XADD s 20-0 f v
        """)
        for group in ("last", "all", "later"):
            script(pair, f"XREADGROUP GROUP {group} c STREAMS s >")
        script(pair, """
            XADD s 21-0 f v
            XADD s 31-0 f v
        """)
        for group in ("last", "all", "later"):
            script(pair, f"""
                XREADGROUP GROUP {group} c STREAMS s >
                XPENDING s {group} - + 10
            """)

    def test_entries_added_and_the_greatest_deleted_id(self, pair: Pair) -> None:
        script(pair, """
            XADD s 1-1 f v
            XADD s 1-2 f v
            XSETID s 5-5 ENTRIESADDED 100 MAXDELETEDID 3-3
            XINFO STREAM s
            XSETID s 5-5 entriesadded 200
            XSETID s 5-5 maxdeletedid 4-4
            XINFO STREAM s
            XSETID s 5-5 MAXDELETEDID 1-1 ENTRIESADDED 50
            XINFO STREAM s
            XSETID s 5-5 MAXDELETEDID 0-0
            XINFO STREAM s
            XSETID s 5-5 ENTRIESADDED 2
            XADD s 6-6 f v
            XINFO STREAM s
        """)

    def test_errors(self, pair: Pair) -> None:
        script(pair, """
            XADD s 5-5 f v
            XADD s 6-6 f v
            XSETID
            XSETID s
            XSETID s x
            XSETID s -
            XSETID s +
            XSETID s $
            XSETID s *
            XSETID s 7-*
            XSETID s 6-5
            XSETID s 1
            XSETID s 7-7 5
            XSETID s 7-7 5 5
            XSETID s 7-7 ENTRIESADDED
            XSETID s 7-7 ENTRIESADDED x
            XSETID s 7-7 ENTRIESADDED -1
            XSETID s 7-7 ENTRIESADDED 1
            XSETID s 7-7 ENTRIESADDED 0
            XSETID s 7-7 MAXDELETEDID
            XSETID s 7-7 MAXDELETEDID x
            XSETID s 7-7 MAXDELETEDID 8-8
            XSETID s 7-7 ENTRIESADDED 5 MAXDELETEDID 8-8
            XSETID s 7-7 ENTRIESADDED 5 MAXDELETEDID
            XSETID s 7-7 UNKNOWN 5
            XDEL s 6-6
            XSETID s 6-5
            XSETID s 6-6
            XSETID missing 1-1
            XSETID missing x
            XSETID missing 1-1 ENTRIESADDED -1
            EXISTS missing
            SET text a
            XSETID text 1-1
            XINFO STREAM s
        """)


def test_a_stream_that_was_deleted_begins_anew(pair: Pair) -> None:
    same(pair, "XADD", "s", "9-9", "f", "v")
    script(pair, """
        XGROUP CREATE s g 0
        DEL s
        XADD s 1-1 f v
        XINFO STREAM s FULL
    """)
