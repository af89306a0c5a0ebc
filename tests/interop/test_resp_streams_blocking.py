"""XREAD and XREADGROUP that wait, and what wakes them, beside a real redis-server."""

import pytest

from tests.interop.pair import Pair, needs_redis_server, reply
from tests.interop.streams import blocking, by_order, script

pytestmark = needs_redis_server


@pytest.fixture
def group(pair: Pair) -> Pair:
    """A stream `s` with one entry, and a group `g` that has read it."""
    script(pair, """
        XADD s 1-0 n 1
        XGROUP CREATE s g $
    """)
    return pair


class TestBlockedXread:
    def test_the_next_entry_wakes_it(self, pair: Pair) -> None:
        script(pair, "XADD s 1-0 n 1")
        with blocking(pair) as reader:
            reader.send("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
            reader.still_waits()
            script(pair, "XADD s 2-0 n 2")
            reader.same()

    def test_a_stream_that_is_made_meanwhile(self, pair: Pair) -> None:
        for last in ("$", "0", "0-0"):
            with blocking(pair) as reader:
                reader.send("XREAD", "BLOCK", "100000", "STREAMS", "s", last)
                script(pair, "XADD s 2-0 n 2")
                reader.same()
            pair.same("DEL", "s")

    def test_automatic_ids(self, pair: Pair) -> None:
        with blocking(pair) as reader:
            reader.send("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
            pair.same("XADD", "s", "*", "f", "v", alike=by_order)
            reader.same(by_order)

    def test_an_entry_before_its_id_does_not(self, pair: Pair) -> None:
        with blocking(pair) as reader:
            reader.send("XREAD", "BLOCK", "0", "STREAMS", "s", "5-5")
            script(pair, """
                XADD s 5-4 f v
                XADD s 5-5 f v
            """)
            reader.still_waits()
            script(pair, "XADD s 5-6 f v")
            reader.same()

    def test_the_first_of_several_streams(self, pair: Pair) -> None:
        script(pair, "XADD s 1-0 n 1")
        with blocking(pair) as reader:
            reader.send("XREAD", "BLOCK", "0", "STREAMS", "s", "t", "u", "$", "$", "0")
            script(pair, "XADD t 1-0 f v")
            reader.same()
            reader.send("XREAD", "BLOCK", "0", "COUNT", "1", "STREAMS", "s", "t", "$", "$")
            script(pair, "XADD s 2-0 f v")
            reader.same()

    def test_all_readers_get_it(self, pair: Pair) -> None:
        with blocking(pair) as one, blocking(pair) as two:
            for reader in (one, two):
                reader.send("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
            script(pair, "XADD s 1-0 f v")
            for reader in (one, two):
                reader.same()

    def test_a_transaction_wakes_it_once(self, pair: Pair) -> None:
        """With all the entries of the first stream; Redis adds those of the others since 7.2."""
        with blocking(pair) as reader:
            reader.send("XREAD", "BLOCK", "0", "STREAMS", "s", "t", "$", "$")
            script(pair, """
                MULTI
                XADD s 1-0 f v
                XADD t 1-0 f v
                XADD s 2-0 f v
                EXEC
            """)
            # Redis answers with the first of them, OneMQ with all.
            reader.same(lambda answer: dict(answer)[b"s"], form=lambda node: node.kind)

    def test_count_holds_when_it_wakes(self, pair: Pair) -> None:
        with blocking(pair) as reader:
            reader.send("XREAD", "BLOCK", "0", "COUNT", "1", "STREAMS", "s", "$")
            script(pair, """
                MULTI
                XADD s 1-0 f v
                XADD s 2-0 f v
                EXEC
            """)
            reader.same()

    def test_an_entry_that_is_gone_at_once_does_not_wake_it(self, pair: Pair) -> None:
        """As in Redis since 7.2; 7.0 answers with a stream without entries."""
        onemq = Pair(pair.ours, pair.ours)
        with blocking(onemq) as reader:
            reader.send("XREAD", "BLOCK", "0", "STREAMS", "s", "0")
            assert reply(pair.ours, "XADD", "s", "MAXLEN", "0", "1-0", "f", "v") == b"1-0"
            reader.still_waits()
            for words in (("MULTI",), ("XADD", "s", "2-0", "f", "v"), ("XDEL", "s", "2-0"), ("EXEC",)):
                reply(pair.ours, *words)
            reader.still_waits()
            assert reply(pair.ours, "XADD", "s", "3-0", "f", "v") == b"3-0"
            reader.same()

    def test_it_outlives_the_stream(self, pair: Pair) -> None:
        script(pair, "XADD s 1-0 f v")
        with blocking(pair) as reader:
            reader.send("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
            script(pair, "DEL s")
            reader.still_waits()
            script(pair, "XADD s 1-0 f v")
            reader.still_waits()
            script(pair, "XADD s 2-0 f v")
            reader.same()

    def test_another_type_of_value_does_not_wake_it(self, pair: Pair) -> None:
        with blocking(pair) as reader:
            reader.send("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
            script(pair, "SET s text")
            reader.still_waits()
            script(pair, """
                DEL s
                XADD s 1-0 f v
            """)
            reader.same()

    def test_the_time_is_over(self, pair: Pair) -> None:
        with blocking(pair) as reader:
            reader.send("XREAD", "BLOCK", "50", "STREAMS", "s", "$")
            assert reader.same() is None
            script(pair, "XADD s 1-0 f v")
            reader.send("XREAD", "BLOCK", "50", "STREAMS", "s", "0")
            reader.same()

    def test_requests_behind_it_wait_their_turn(self, pair: Pair) -> None:
        with blocking(pair) as reader:
            reader.send("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
            reader.send_behind("PING")
            reader.still_waits()
            script(pair, "XADD s 1-0 f v")
            reader.same()
            reader.same()


class TestBlockedXreadgroup:
    def test_the_next_entry_wakes_it(self, group: Pair) -> None:
        with blocking(group) as reader:
            reader.send("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "0", "STREAMS", "s", ">")
            reader.still_waits()
            script(group, "XADD s 2-0 n 2")
            reader.same()
        script(group, """
            XPENDING s g - + 10
            XINFO GROUPS s
            XINFO CONSUMERS s g
        """)

    def test_each_entry_goes_to_the_one_who_waits_longest(self, group: Pair) -> None:
        with blocking(group) as alice, blocking(group) as bob, blocking(group) as carol:
            for name, reader in (("alice", alice), ("bob", bob), ("carol", carol)):
                reader.send("XREADGROUP", "GROUP", "g", name, "BLOCK", "0", "STREAMS", "s", ">")
            script(group, "XADD s 2-0 n 2")
            alice.same()
            bob.still_waits()
            script(group, "XADD s 3-0 n 3")
            bob.same()
            alice.send("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "0", "STREAMS", "s", ">")
            script(group, "XADD s 4-0 n 4")
            carol.same()
            alice.still_waits()
            script(group, "XADD s 5-0 n 5")
            alice.same()
        script(group, "XPENDING s g - + 10")

    def test_the_first_takes_all_of_a_transaction_unless_it_asked_for_fewer(self, group: Pair) -> None:
        transaction = """
            MULTI
            XADD s {}-0 n 1
            XADD s {}-1 n 2
            XADD s {}-2 n 3
            EXEC
        """
        with blocking(group) as alice, blocking(group) as bob:
            alice.send("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "0", "COUNT", "2", "STREAMS", "s", ">")
            bob.send("XREADGROUP", "GROUP", "g", "bob", "BLOCK", "0", "STREAMS", "s", ">")
            script(group, transaction.format(2, 2, 2))
            alice.same()
            bob.same()
            alice.send("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "0", "STREAMS", "s", ">")
            bob.send("XREADGROUP", "GROUP", "g", "bob", "BLOCK", "0", "STREAMS", "s", ">")
            script(group, transaction.format(3, 3, 3))
            alice.same()
            bob.still_waits()
        script(group, "XPENDING s g - + 10")

    def test_every_group_and_every_plain_reader_gets_it(self, group: Pair) -> None:
        script(group, "XGROUP CREATE s h $")
        with blocking(group) as one, blocking(group) as two, blocking(group) as plain:
            one.send("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "0", "STREAMS", "s", ">")
            plain.send("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
            two.send("XREADGROUP", "GROUP", "h", "alice", "BLOCK", "0", "STREAMS", "s", ">")
            script(group, "XADD s 2-0 n 2")
            for reader in (one, two, plain):
                reader.same()

    def test_noack(self, group: Pair) -> None:
        with blocking(group) as reader:
            reader.send("XREADGROUP", "GROUP", "g", "alice", "NOACK", "BLOCK", "0", "STREAMS", "s", ">")
            script(group, "XADD s 2-0 n 2")
            reader.same()
        script(group, """
            XPENDING s g
            XINFO GROUPS s
        """)

    def test_several_streams(self, group: Pair) -> None:
        script(group, "XGROUP CREATE t g $ MKSTREAM")
        with blocking(group) as reader:
            reader.send("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "0", "STREAMS", "s", "t", ">", ">")
            script(group, "XADD t 1-0 f v")
            reader.same()
            reader.send("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "0", "STREAMS", "s", "t", ">", ">")
            script(group, """
                MULTI
                XADD t 2-0 f v
                XADD s 2-0 f v
                EXEC
            """)
            reader.same(lambda answer: dict(answer)[b"t"])

    def test_the_consumer_is_made_when_it_gets_something(self, group: Pair) -> None:
        with blocking(group) as reader:
            reader.send("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "0", "STREAMS", "s", ">")
            script(group, """
                XINFO CONSUMERS s g
                XADD s 2-0 n 2
                XINFO CONSUMERS s g
            """)
            reader.same()

    def test_a_consumer_deleted_meanwhile_is_made_again(self, group: Pair) -> None:
        with blocking(group) as reader:
            reader.send("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "0", "STREAMS", "s", ">")
            script(group, """
                XGROUP DELCONSUMER s g alice
                XADD s 2-0 n 2
            """)
            reader.same()
        script(group, """
            XINFO CONSUMERS s g
            XPENDING s g
        """)

    def test_the_stream_is_deleted(self, group: Pair) -> None:
        for end in ("DEL s", "UNLINK s", "FLUSHALL", "FLUSHDB"):
            with blocking(group) as reader:
                reader.send("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "0", "STREAMS", "s", ">")
                script(group, end)
                assert reader.same()[0] == "error"
            script(group, "XGROUP CREATE s g $ MKSTREAM")

    def test_the_stream_expires(self, group: Pair) -> None:
        with blocking(group) as reader:
            reader.send("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "0", "STREAMS", "s", ">")
            script(group, "PEXPIRE s 1")
            assert reader.same()[0] == "error"

    def test_one_of_several_streams_is_deleted(self, group: Pair) -> None:
        script(group, "XGROUP CREATE t g $ MKSTREAM")
        with blocking(group) as reader:
            reader.send("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "0", "STREAMS", "s", "t", ">", ">")
            script(group, "DEL t")
            assert reader.same()[0] == "error"

    def test_the_stream_becomes_something_else(self, group: Pair) -> None:
        with blocking(group) as reader:
            reader.send("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "0", "STREAMS", "s", ">")
            script(group, "SET s text")
            assert reader.same()[0] == "error"

    def test_the_stream_is_renamed(self, group: Pair) -> None:
        """What is added to it under its other name is not for who waits."""
        with blocking(group) as reader:
            reader.send("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "0", "STREAMS", "s", ">")
            script(group, "RENAME s t")
            assert reader.same()[0] == "error"
            script(group, "XADD t 2-0 n 2")
            reader.send("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "0", "STREAMS", "t", ">")
            reader.same()
        script(group, "XPENDING t g - + 10")

    def test_one_of_several_streams_is_renamed(self, group: Pair) -> None:
        script(group, "XGROUP CREATE t g $ MKSTREAM")
        with blocking(group) as reader:
            reader.send("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "0", "STREAMS", "s", "t", ">", ">")
            script(group, "RENAME t u")
            assert reader.same()[0] == "error"

    def test_the_stream_is_renamed_and_gets_its_name_back_in_one_transaction(self, group: Pair) -> None:
        with blocking(group) as reader:
            reader.send("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "0", "STREAMS", "s", ">")
            script(group, """
                MULTI
                RENAME s t
                RENAME t s
                EXEC
            """)
            reader.still_waits()
            script(group, "XADD s 2-0 n 2")
            reader.same()

    def test_another_stream_takes_the_place_of_the_renamed_one(self, group: Pair) -> None:
        script(group, "XGROUP CREATE t g 0 MKSTREAM")
        with blocking(group) as reader:
            reader.send("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "0", "STREAMS", "s", ">")
            script(group, """
                MULTI
                RENAME s u
                RENAME t s
                EXEC
            """)
            reader.still_waits()
            script(group, """
                XADD u 2-0 n 2
                XADD s 1-0 n 1
            """)
            reader.same()

    def test_the_stream_is_deleted_and_made_again_in_one_transaction(self, group: Pair) -> None:
        with blocking(group) as reader:
            reader.send("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "0", "STREAMS", "s", ">")
            script(group, """
                MULTI
                DEL s
                XADD s 2-0 n 2
                EXEC
            """)
            assert reader.same()[0] == "error"

    def test_the_stream_and_its_group_are_made_again_in_one_transaction(self, group: Pair) -> None:
        with blocking(group) as reader:
            reader.send("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "0", "STREAMS", "s", ">")
            script(group, """
                MULTI
                DEL s
                XGROUP CREATE s g 0 MKSTREAM
                XADD s 2-0 n 2
                EXEC
            """)
            reader.same()

    def test_the_group_is_destroyed(self, group: Pair) -> None:
        script(group, "XGROUP CREATE s h $")
        with blocking(group) as reader, blocking(group) as other, blocking(group) as plain:
            reader.send("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "0", "STREAMS", "s", ">")
            other.send("XREADGROUP", "GROUP", "h", "alice", "BLOCK", "0", "STREAMS", "s", ">")
            plain.send("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
            script(group, "XGROUP DESTROY s g")
            assert reader.same()[0] == "error"
            other.still_waits()
            plain.still_waits()

    def test_setid_back_lets_it_wait_for_the_next_entry(self, group: Pair) -> None:
        with blocking(group) as reader:
            reader.send("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "0", "STREAMS", "s", ">")
            script(group, "XGROUP SETID s g 0")
            reader.still_waits()
            script(group, "XADD s 2-0 n 2")
            reader.same()

    def test_setid_forward_lets_it_wait_until_there(self, group: Pair) -> None:
        with blocking(group) as reader:
            reader.send("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "0", "STREAMS", "s", ">")
            script(group, """
                XGROUP SETID s g 5-0
                XADD s 2-0 n 2
            """)
            reader.still_waits()
            script(group, "XADD s 6-0 n 6")
            reader.same()

    def test_claiming_and_acknowledging_do_not_wake_it(self, group: Pair) -> None:
        script(group, """
            XADD s 2-0 n 2
            XREADGROUP GROUP g bob STREAMS s >
        """)
        with blocking(group) as reader:
            reader.send("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "0", "STREAMS", "s", ">")
            script(group, """
                XCLAIM s g carol 0 2-0
                XACK s g 2-0
                XGROUP DELCONSUMER s g bob
                XDEL s 1-0
            """)
            reader.still_waits()
            script(group, "XADD s 3-0 n 3")
            reader.same()

    def test_the_time_is_over(self, group: Pair) -> None:
        with blocking(group) as reader:
            reader.send("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "50", "STREAMS", "s", ">")
            assert reader.same() is None
            script(group, "XADD s 2-0 n 2")
            reader.send("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "50", "STREAMS", "s", ">")
            reader.same()

    def test_nothing_goes_to_a_connection_that_is_gone(self, group: Pair) -> None:
        with blocking(group) as gone, blocking(group) as reader:
            gone.send("XREADGROUP", "GROUP", "g", "gone", "BLOCK", "0", "STREAMS", "s", ">")
            reader.send("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "0", "STREAMS", "s", ">")
            gone.close()
            script(group, "XADD s 2-0 n 2")
            reader.same()
        script(group, "XPENDING s g - + 10")

    def test_client_unblock(self, group: Pair) -> None:
        with blocking(group) as reader:
            for words in ((), ("TIMEOUT",), ("ERROR",)):
                reader.send("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "0", "STREAMS", "s", ">")
                reader.unblock(*words)
                reader.same()
            script(group, "XADD s 2-0 n 2")
            reader.send("XREADGROUP", "GROUP", "g", "alice", "BLOCK", "0", "STREAMS", "s", ">")
            reader.same()


class TestInTransactions:
    def test_nothing_waits(self, group: Pair) -> None:
        script(group, """
            MULTI
            XREAD BLOCK 0 STREAMS s $
            XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
            XADD s 2-0 n 2
            XREAD BLOCK 0 STREAMS s 1-0
            XREADGROUP GROUP g alice BLOCK 0 STREAMS s >
            XREADGROUP GROUP g alice BLOCK 0 STREAMS s 0
            XACK s g 2-0
            XREAD BLOCK 0 STREAMS missing 0
            EXEC
            XPENDING s g
        """)
