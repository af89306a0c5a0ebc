"""MULTI, EXEC, DISCARD, WATCH, UNWATCH: as Redis answers, and as redis-py uses them (D1)."""

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.interop.pair import Pair, needs_redis_server
from tests.interop.raw import RawPair, RawPairs
from tests.process import Serve

pytestmark = needs_redis_server


class TestMulti:
    def test_commands_are_queued_and_run_by_exec(self, pair: Pair) -> None:
        pair.same("MULTI")
        pair.same("SET", "a", "1")
        pair.same("INCR", "a")
        pair.same("GET", "a")
        pair.same("EXEC")
        pair.same("GET", "a")

    def test_an_empty_transaction(self, pair: Pair) -> None:
        pair.same("MULTI")
        pair.same("EXEC")

    def test_discard_forgets_what_was_queued(self, pair: Pair) -> None:
        pair.same("MULTI")
        pair.same("SET", "a", "1")
        pair.same("DISCARD")
        pair.same("EXISTS", "a")
        pair.same("EXEC")

    @pytest.mark.parametrize("words", ["EXEC", "DISCARD", "EXEC x", "MULTI x", "UNWATCH", "WATCH"])
    def test_out_of_place(self, pair: Pair, words: str) -> None:
        pair.same(*words.split())

    def test_it_cannot_be_nested_and_goes_on(self, pair: Pair) -> None:
        pair.same("MULTI")
        pair.same("MULTI")
        pair.same("WATCH", "a")
        pair.same("UNWATCH")
        pair.same("PING")
        pair.same("EXEC")

    @pytest.mark.parametrize(
        "words",
        [
            ("NOPE",),
            ("NOPE", "a" * 200, "b"),
            ("GET",),
            ("CLIENT", "NOPE"),
            ("CLIENT", "GETNAME", "x"),
            ("WATCH",),
            ("MULTI", "x"),
            ("DISCARD", "x"),
        ],
    )
    def test_a_mistake_while_queueing_makes_exec_refuse(self, pair: Pair, words: tuple[str, ...]) -> None:
        pair.same("MULTI")
        pair.same("SET", "a", "1")
        pair.same(*words)
        pair.same("SET", "a", "2")
        pair.same("EXEC")
        pair.same("EXISTS", "a")
        pair.same("EXEC")

    def test_exec_with_arguments_ends_it(self, pair: Pair) -> None:
        pair.same("MULTI")
        pair.same("SET", "a", "1")
        pair.same("EXEC", "now")
        pair.same("PING")
        pair.same("EXISTS", "a")

    def test_a_mistake_while_running_stays_with_its_command(self, pair: Pair) -> None:
        pair.same("MULTI")
        pair.same("SET", "a", "x")
        pair.same("INCR", "a")
        pair.same("LPUSH", "a", "y")
        pair.same("SELECT", "99")
        pair.same("AUTH", "x")
        pair.same("SET", "b", "z")
        pair.same("EXEC", alike=repr)
        pair.same("MGET", "a", "b")

    def test_blocking_commands_do_not_wait(self, pair: Pair) -> None:
        pair.same("RPUSH", "full", "x")
        pair.same("MULTI")
        pair.same("BLPOP", "empty", "0")
        pair.same("BLPOP", "full", "0")
        pair.same("BLMOVE", "empty", "other", "LEFT", "RIGHT", "0")
        pair.same("BLMPOP", "0", "1", "empty", "LEFT")
        pair.same("BZPOPMIN", "empty", "0")
        pair.same("XREAD", "BLOCK", "0", "STREAMS", "empty", "$")
        pair.same("WAIT", "1", "0")
        pair.same("EXEC")

    def test_reset_discards(self, pair: Pair) -> None:
        pair.same("WATCH", "a")
        pair.same("MULTI")
        pair.same("SET", "a", "1")
        pair.same("RESET")
        pair.same("EXEC")
        pair.same("EXISTS", "a")

    def test_commands_of_many_kinds(self, pair: Pair) -> None:
        pair.same("MULTI")
        for words in (
            ("PING",), ("ECHO", "a"), ("CLIENT", "GETNAME"), ("CLIENT", "SETNAME", "me"), ("CLIENT", "GETNAME"),
            ("COMMAND", "INFO", "nope"), ("PUBLISH", "c", "m"), ("PUBSUB", "NUMPAT"), ("RPUSH", "l", "a", "b"),
            ("LRANGE", "l", "0", "-1"), ("XADD", "s", "1-1", "f", "v"), ("XRANGE", "s", "-", "+"),
            ("HSET", "h", "f", "v"), ("HGETALL", "h"), ("ZADD", "z", "1.5", "m"), ("ZSCORE", "z", "m"),
            ("CONFIG", "GET", "save"), ("UNWATCH",), ("DBSIZE",),
        ):  # fmt: skip
            pair.same(*words)
        pair.same("EXEC")

    def test_the_version_of_the_protocol_may_change_inside(self, pair: Pair) -> None:
        pair.same("MULTI")
        pair.same("HSET", "h", "f", "v")
        pair.same("EXEC")


class TestOnTheWire:
    """What only the bytes tell."""

    def test_quit_amid_a_transaction(self, raw_pairs: RawPairs) -> None:
        raw_pairs.connect().same("MULTI", "SET a 1", "QUIT", "EXEC")
        raw_pairs.connect().same("EXISTS a")

    def test_client_reply_off_inside(self, raw_pairs: RawPairs) -> None:
        raw_pairs.connect().same("MULTI", "CLIENT REPLY OFF", "PING", "EXEC", "PING", "CLIENT REPLY ON")

    def test_client_reply_skip_inside_means_the_next_command(self, raw_pairs: RawPairs) -> None:
        raw_pairs.connect().same("MULTI", "CLIENT REPLY SKIP", "PING", "EXEC", "PING a", "PING b")

    def test_client_reply_on_inside(self, raw_pairs: RawPairs) -> None:
        raw_pairs.connect().same("CLIENT REPLY OFF", "MULTI", "CLIENT REPLY ON", "PING", "EXEC", "PING")

    def test_client_reply_skip_before(self, raw_pairs: RawPairs) -> None:
        raw_pairs.connect().same("CLIENT REPLY SKIP", "MULTI", "PING", "EXEC")
        raw_pairs.connect().same("MULTI", "PING", "CLIENT REPLY SKIP", "PING", "EXEC", "PING a")

    def test_hello_inside(self, raw_pairs: RawPairs) -> None:
        requests = ("MULTI", "HELLO 3", "HGETALL none", "HELLO 2", "HGETALL none", "EXEC")
        raw_pairs.connect().same(*requests, alike=lambda came: re.sub(rb"id\r\n:\d+", b"", came))

    def test_subscribing_and_publishing_inside(self, raw_pairs: RawPairs) -> None:
        raw_pairs.connect().same("MULTI", "SUBSCRIBE a b", "PUBLISH a x", "PING", "PSUBSCRIBE *", "PUBLISH a y", "EXEC")

    def test_subscribing_inside_leads_to_listening(self, raw_pairs: RawPairs) -> None:
        raw_pairs.connect().same("MULTI", "SUBSCRIBE a", "GET x", "EXEC", "GET x", "UNSUBSCRIBE", "GET x")


class TestWatch:
    CHANGES = (
        ("SET", "k", "new"),
        ("DEL", "k"),
        ("APPEND", "k", "x"),
        ("EXPIRE", "k", "1000"),
        ("RENAME", "k", "other"),
        ("RENAME", "other", "k"),
        ("FLUSHALL",),
        ("FLUSHDB",),
        ("COPY", "other", "k", "REPLACE"),
    )
    NO_CHANGES = (
        ("GET", "k"),
        ("SET", "another", "x"),
        ("DEL", "absent"),
        ("SETNX", "k", "x"),
        ("EXPIRE", "absent", "10"),
        ("PERSIST", "k"),
        ("TTL", "k"),
    )

    @pytest.mark.parametrize("change", CHANGES, ids=" ".join)
    def test_a_change_by_another_makes_exec_do_nothing(self, raw_pairs: RawPairs, change: tuple[str, ...]) -> None:
        first, second = raw_pairs.connect(), raw_pairs.connect()
        first.same("SET k old", "SET other o", "WATCH k")
        second.same(" ".join(change))
        first.same("MULTI", "SET result done", "EXEC", "EXISTS result")
        first.same("MULTI", "SET result done", "EXEC", "EXISTS result")

    @pytest.mark.parametrize("change", NO_CHANGES, ids=" ".join)
    def test_what_changes_nothing_does_no_harm(self, raw_pairs: RawPairs, change: tuple[str, ...]) -> None:
        first, second = raw_pairs.connect(), raw_pairs.connect()
        first.same("SET k old", "WATCH k")
        second.same(" ".join(change))
        first.same("MULTI", "SET result done", "EXEC", "EXISTS result")

    @pytest.mark.parametrize(
        "change",
        ["XADD k * f v", "XTRIM k MAXLEN 0", "XDEL k 1-1", "DEL k"],
    )
    def test_streams(self, raw_pairs: RawPairs, change: str) -> None:
        first, second = raw_pairs.connect(), raw_pairs.connect()
        first.same("XADD k 1-1 f v", "WATCH k")
        second.same(change, alike=lambda came: came[:1])
        first.same("MULTI", "SET result done", "EXEC", "EXISTS result")

    @pytest.mark.parametrize(
        "change",
        ["XGROUP CREATE k new 0", "XGROUP CREATE absent new 0 MKSTREAM", "XGROUP SETID k g $", "XGROUP DESTROY k g",
         "XGROUP CREATECONSUMER k g c", "XREADGROUP GROUP g c STREAMS k >", "XSETID k 9-9"],
    )  # fmt: skip
    def test_groups_are_no_change_of_their_stream(self, raw_pairs: RawPairs, change: str) -> None:
        first, second = raw_pairs.connect(), raw_pairs.connect()
        first.same("XADD k 1-1 f v", "XGROUP CREATE k g 0", "WATCH k absent")
        second.same(change)
        first.same("MULTI", "SET result done", "EXEC", "EXISTS result")

    @pytest.mark.parametrize(
        "change",
        ["RPUSH l x", "LPOP l", "LSET l 0 z", "LTRIM l 1 1", "LTRIM l 0 -1", "SADD s x", "SREM s m", "HSET h f w",
         "HDEL h f", "ZADD z 2 m", "ZREM z m"],
    )  # fmt: skip
    def test_collections(self, raw_pairs: RawPairs, change: str) -> None:
        first, second = raw_pairs.connect(), raw_pairs.connect()
        first.same("RPUSH l a b", "SADD s m", "HSET h f v", "ZADD z 1 m", "WATCH l s h z")
        second.same(change)
        first.same("MULTI", "SET result done", "EXEC", "EXISTS result")

    def test_a_key_that_comes_into_being(self, raw_pairs: RawPairs) -> None:
        first, second = raw_pairs.connect(), raw_pairs.connect()
        first.same("WATCH a b c")
        second.same("SET c 1")
        first.same("MULTI", "PING", "EXEC")

    def test_a_change_of_ones_own_counts_before_multi_and_not_inside(self, raw_pairs: RawPairs) -> None:
        client = raw_pairs.connect()
        client.same("WATCH k", "SET k 1", "MULTI", "PING", "EXEC")
        client.same("WATCH k", "MULTI", "SET k 2", "GET k", "EXEC")

    def test_unwatch_exec_and_discard_forget(self, raw_pairs: RawPairs) -> None:
        first, second = raw_pairs.connect(), raw_pairs.connect()
        for forgetting in ("UNWATCH", "MULTI EXEC", "MULTI DISCARD", "MULTI NOPE EXEC", "RESET"):
            first.same("WATCH k", *forgetting.split())
            second.same("INCR k")
            first.same("MULTI", "PING", "EXEC")

    def test_a_key_that_expires_has_changed(self, raw_pairs: RawPairs) -> None:
        first, second = raw_pairs.connect(), raw_pairs.connect()
        first.same("SET k 1 PX 20", "WATCH k")
        wait_until_gone(second)
        first.same("MULTI", "PING", "EXEC")

    def test_an_expired_key_that_was_watched_as_gone_has_not(self, raw_pairs: RawPairs) -> None:
        first = raw_pairs.connect()
        first.same("SET k 1 PX 1")
        wait_until_gone(first)
        first.same("WATCH k", "MULTI", "PING", "EXEC")

    def test_a_mistake_goes_before_a_change(self, raw_pairs: RawPairs) -> None:
        first, second = raw_pairs.connect(), raw_pairs.connect()
        first.same("WATCH k")
        second.same("SET k 1")
        first.same("MULTI", "NOPE", "EXEC")

    def test_a_change_between_multi_and_exec(self, pair: Pair, raw_pairs: RawPairs) -> None:
        pair.same("WATCH", "k")
        pair.same("MULTI")
        pair.same("SET", "result", "done")
        raw_pairs.connect().same("SET k 1")
        pair.same("EXEC")
        pair.same("EXISTS", "result")

    def test_watching_twice_and_by_two(self, raw_pairs: RawPairs) -> None:
        first, second = raw_pairs.connect(), raw_pairs.connect()
        first.same("WATCH k k", "WATCH k")
        second.same("WATCH k", "UNWATCH", "SET k 1")
        first.same("MULTI", "PING", "EXEC")


class TestWaiters:
    def test_a_push_inside_serves_those_who_wait_after_the_whole(self, raw_pairs: RawPairs) -> None:
        """The second command takes the element back: whoever waits gets nothing."""
        waiting, pushing = raw_pairs.connect(), raw_pairs.connect()
        waiting.send("BLPOP l 0")
        wait_until_blocked(pushing, 1)
        pushing.same("MULTI", "RPUSH l a", "LPOP l", "EXEC")
        pushing.same("MULTI", "RPUSH l b", "RPUSH l c", "LRANGE l 0 -1", "EXEC")
        waiting.same("LRANGE l 0 -1")

    def test_after_waiting_the_queue_goes_on(self, raw_pairs: RawPairs) -> None:
        waiting, pushing = raw_pairs.connect(), raw_pairs.connect()
        waiting.send("BLPOP l 0", "MULTI", "SET a 1", "EXEC")
        wait_until_blocked(pushing, 1)
        pushing.same("RPUSH l x")
        waiting.same("GET a")


def wait_until_blocked(pair: RawPair, count: int) -> None:
    for side in (pair.ours, pair.theirs):
        while b"blocked_clients:%d" % count not in side.talk("INFO clients"):
            pass


def wait_until_gone(pair: RawPair) -> None:
    """Until the key k has expired on both."""
    for side in (pair.ours, pair.theirs):
        while side.talk("EXISTS k") == b":1\r\n":
            pass


class TestRedisPy:
    @pytest.fixture(params=[2, 3], ids=["RESP2", "RESP3"])
    def client(self, onemq_port: int, request: pytest.FixtureRequest) -> Iterator[redis.Redis]:
        with redis.Redis(port=onemq_port, protocol=request.param, decode_responses=True) as client:
            client.flushall()
            yield client

    def test_a_pipeline_is_a_transaction(self, client: redis.Redis) -> None:
        with client.pipeline(transaction=True) as pipeline:
            pipeline.set("a", "1").incr("a").lpush("l", "x").lrange("l", 0, -1).hset("h", "f", "v").hgetall("h")
            assert pipeline.execute() == [True, 2, 1, ["x"], 1, {"f": "v"}]

    def test_an_error_inside_is_raised_and_the_rest_is_done(self, client: redis.Redis) -> None:
        with client.pipeline() as pipeline:
            pipeline.set("a", "x").lpush("a", "y").set("b", "z")
            with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
                pipeline.execute()
        assert client.get("b") == "z"

    def test_an_aborted_transaction_is_raised(self, client: redis.Redis) -> None:
        with client.pipeline() as pipeline:
            pipeline.set("a", "x").execute_command("NOPE")
            with pytest.raises(redis.ResponseError, match="unknown command"):
                pipeline.execute()
        assert client.get("a") is None

    def test_watch_error(self, client: redis.Redis) -> None:
        with client.pipeline() as pipeline:
            pipeline.watch("k")
            client.set("k", "other")
            pipeline.multi()
            pipeline.set("k", "mine")
            with pytest.raises(redis.WatchError):
                pipeline.execute()
        assert client.get("k") == "other"

    def test_the_transaction_helper_counts_with_many_at_once(self, onemq_port: int, client: redis.Redis) -> None:
        client.set("counter", 0)

        def count() -> None:
            with redis.Redis(port=onemq_port, decode_responses=True) as own:
                def add_one(pipeline: redis.client.Pipeline) -> None:
                    value = int(pipeline.get("counter"))
                    pipeline.multi()
                    pipeline.set("counter", value + 1)

                for _ in range(25):
                    own.transaction(add_one, "counter")

        threads = [threading.Thread(target=count) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert client.get("counter") == "100"

    def test_a_large_transaction(self, client: redis.Redis) -> None:
        with client.pipeline() as pipeline:
            for number in range(20_000):
                pipeline.rpush("l", number)
            assert pipeline.execute() == list(range(1, 20_001))


@pytest.mark.parametrize("flush", ["sync", "async"])
def test_a_transaction_survives_a_kill_whole_or_not_at_all(tmp_path: Path, flush: str) -> None:
    """Each transaction touches a stream, a list and a key: whatever was answered is there, and all three agree."""
    config = tmp_path / "onemq.toml"
    config.write_text(f'[log]\nflush = "{flush}"\n')
    answered = 0
    for _ in range(3):
        with Serve(tmp_path / "data", "--config", str(config)) as broker:
            broker.wait_until_serving()
            with redis.Redis(port=broker.port, retry=Retry(NoBackoff(), 0)) as client:
                found = int(client.get("n") or 0)
                assert found >= answered
                assert (client.xlen("s"), client.llen("l")) == (found, found)
                killer = threading.Timer(0.3, broker.kill)
                killer.start()
                try:
                    while True:
                        with client.pipeline() as pipeline:
                            pipeline.xadd("s", {"f": "v" * 100}).incr("n").rpush("l", "x" * 100)
                            answered = int(pipeline.execute()[1])
                except redis.ConnectionError:
                    pass
                killer.join()
