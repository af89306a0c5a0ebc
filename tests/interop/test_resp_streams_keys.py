"""Streams as keys among others: generic commands, wrong types, transactions, beside a real redis-server."""

import pytest

from tests.interop.pair import Pair, needs_redis_server
from tests.interop.streams import by_order, script

pytestmark = needs_redis_server


@pytest.fixture
def stream(pair: Pair) -> Pair:
    """A stream `s` of two entries, of which one is pending in group `g`."""
    script(pair, """
        XADD s 1-0 n 1
        XADD s 2-0 n 2
        XGROUP CREATE s g 0
        XREADGROUP GROUP g alice COUNT 1 STREAMS s >
    """)
    return pair


class TestGenericCommands:
    def test_type_and_exists(self, stream: Pair) -> None:
        script(stream, """
            TYPE s
            TYPE missing
            EXISTS s s missing
            KEYS *
            DBSIZE
        """)

    def test_scan_by_type(self, stream: Pair) -> None:
        script(stream, """
            SET text a
            SCAN 0 TYPE stream COUNT 100
            SCAN 0 TYPE string COUNT 100
            SCAN 0 MATCH s COUNT 100
        """)

    def test_del_and_unlink(self, stream: Pair) -> None:
        script(stream, """
            DEL s missing
            EXISTS s
            XLEN s
            XINFO STREAM s
            XADD s 1-0 n 1
            XINFO STREAM s FULL
            UNLINK s
            EXISTS s
        """)

    def test_time_to_live(self, stream: Pair) -> None:
        script(stream, """
            TTL s
            EXPIRE s 1000
            TTL s
            XADD s 3-0 n 3
            TTL s
            XTRIM s MAXLEN 1
            XGROUP CREATE s h 0
            XREADGROUP GROUP h c STREAMS s >
            XSETID s 9-0
            TTL s
            PERSIST s
            TTL s
            EXPIRE s 1000 NX
            EXPIRE s 0
            EXISTS s
            XLEN s
            XADD s 1-0 f v
            TTL s
        """)

    def test_an_expired_stream_is_gone_with_its_groups(self, stream: Pair) -> None:
        script(stream, """
            PEXPIREAT s 1000
            EXISTS s
            XREADGROUP GROUP g alice STREAMS s >
            XADD s 1-0 n 1
            XINFO STREAM s FULL
        """)

    def test_set_replaces_a_stream(self, stream: Pair) -> None:
        script(stream, """
            SET s text NX
            SET s text
            TYPE s
            GET s
            XLEN s
            DEL s
            XADD s 1-0 f v
            XINFO STREAM s FULL
        """)

    def test_rename(self, stream: Pair) -> None:
        script(stream, """
            RENAME s t
            EXISTS s t
            XINFO STREAM t FULL
            XREADGROUP GROUP g alice STREAMS t >
            XREADGROUP GROUP g alice STREAMS t 0
            XADD s 9-9 f v
            RENAMENX t s
            RENAME t s
            XRANGE s - +
        """)

    def test_flushall(self, stream: Pair) -> None:
        script(stream, """
            FLUSHALL
            DBSIZE
            XLEN s
            XADD s 1-0 f v
            XINFO STREAM s FULL
        """)


class TestWrongType:
    def test_other_commands_on_a_stream(self, stream: Pair) -> None:
        script(stream, """
            GET s
            APPEND s x
            INCR s
            STRLEN s
            LPUSH s x
            RPOP s
            LLEN s
            LRANGE s 0 -1
            HSET s f v
            HGET s f
            HGETALL s
            SADD s m
            SMEMBERS s
            ZADD s 1 m
            ZRANGE s 0 -1
            MGET s
            XLEN s
        """)

    def test_stream_commands_on_others(self, pair: Pair) -> None:
        script(pair, """
            RPUSH list a
            HSET hash f v
            SADD set m
            ZADD zset 1 m
        """)
        for key in ("list", "hash", "set", "zset"):
            for words in (
                ("XADD", key, "*", "f", "v"),
                ("XLEN", key),
                ("XRANGE", key, "-", "+"),
                ("XREAD", "STREAMS", key, "0"),
                ("XREADGROUP", "GROUP", "g", "c", "STREAMS", key, ">"),
                ("XGROUP", "CREATE", key, "g", "0"),
                ("XINFO", "STREAM", key),
                ("XPENDING", key, "g"),
                ("XACK", key, "g", "1-0"),
                ("XDEL", key, "1-0"),
                ("XTRIM", key, "MAXLEN", "1"),
                ("XSETID", key, "1-0"),
            ):
                pair.same(*words)


class TestTransactions:
    def test_commands_are_executed_together(self, stream: Pair) -> None:
        script(stream, """
            MULTI
            XADD s 3-0 n 3
            XADD s 3-0 n 3
            XREADGROUP GROUP g alice STREAMS s >
            XREADGROUP GROUP g alice STREAMS s 0
            XACK s g 1-0
            XPENDING s g
            XDEL s 2-0
            XRANGE s - +
            XGROUP CREATE s g 0
            XGROUP DESTROY s g
            XREADGROUP GROUP g alice STREAMS s >
            XLEN s
            EXEC
            XINFO STREAM s FULL
        """)

    def test_automatic_ids_within(self, pair: Pair) -> None:
        for words in (("MULTI",), *[("XADD", "s", "*", "f", "v")] * 5, ("XRANGE", "s", "-", "+")):
            pair.same(*words)
        pair.same("EXEC", alike=by_order)

    def test_discard(self, stream: Pair) -> None:
        script(stream, """
            MULTI
            XADD s 3-0 n 3
            XREADGROUP GROUP g alice STREAMS s >
            DISCARD
            XLEN s
            XPENDING s g
        """)

    def test_an_error_before_exec_aborts(self, stream: Pair) -> None:
        script(stream, """
            MULTI
            XADD s 3-0 n 3
            XADD s
            XLEN
            EXEC
            XLEN s
        """)

    def test_watch_sees_new_entries(self, stream: Pair) -> None:
        script(stream, """
            WATCH s
            XADD s 3-0 n 3
            MULTI
            XLEN s
            EXEC
            WATCH s
            XLEN s
            XRANGE s - +
            MULTI
            XLEN s
            EXEC
            WATCH s
            XDEL s 3-0
            MULTI
            XLEN s
            EXEC
            WATCH missing
            XADD missing 1-0 f v
            MULTI
            XLEN missing
            EXEC
        """)
