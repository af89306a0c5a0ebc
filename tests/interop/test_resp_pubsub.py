"""Publish and subscribe: as Redis answers, and as redis-py uses it (D1)."""

import re
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis
from redis.client import PubSub

from onemq.limits import RESP_LISTENER_BYTES_MAX
from tests.crowd import resident_bytes
from tests.interop.pair import Pair, needs_redis_server
from tests.interop.raw import RawPairs
from tests.process import Serve

pytestmark = needs_redis_server


def unordered(came: bytes) -> list[bytes]:
    """The frames of what came, in any order: Redis leaves channels in the order of its hash table."""
    return sorted(re.split(rb"(?=[*>]\d\r\n)", came))


class TestSubscribing:
    @pytest.mark.parametrize("letter", ["", "P", "S"])
    def test_each_channel_is_confirmed_with_a_count(self, raw_pairs: RawPairs, letter: str) -> None:
        client = raw_pairs.connect()
        client.same(f"{letter}SUBSCRIBE a b a", f"{letter}SUBSCRIBE c", f"{letter}UNSUBSCRIBE b nope")
        client.same(f"{letter}UNSUBSCRIBE", alike=lambda came: sorted(re.findall(rb":\d|\$1\r\n.", came)))
        client.same(f"{letter}UNSUBSCRIBE", f"{letter}UNSUBSCRIBE x y")

    def test_channels_and_patterns_are_counted_together_and_shard_channels_alone(self, raw_pairs: RawPairs) -> None:
        client = raw_pairs.connect()
        client.same("SUBSCRIBE a b", "PSUBSCRIBE a* b*", "SSUBSCRIBE s", "UNSUBSCRIBE a", "PUNSUBSCRIBE a*")
        client.same("SUNSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "PING")

    @pytest.mark.parametrize("words", ["SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "PUBLISH a", "SPUBLISH a"])
    def test_wrong_numbers_of_arguments(self, pair: Pair, words: str) -> None:
        pair.same(*words.split())


class TestListening:
    """A RESP2 client with subscriptions may do little else."""

    REQUESTS = (
        "GET a", "GET", "PUBLISH a b", "CLIENT LIST", "CLIENT", "CLIENT NOPE", "NOPE a", "HELLO 3", "MULTI", "EXEC",
        "AUTH x", "COMMAND", "COMMAND COUNT", "PUBSUB CHANNELS", "ECHO x", "PING", "PING a", "PING a b",
    )  # fmt: skip

    def test_what_a_listener_may_do(self, raw_pairs: RawPairs) -> None:
        for first in ("SUBSCRIBE a", "PSUBSCRIBE a", "SSUBSCRIBE a"):
            client = raw_pairs.connect(2)
            client.same(first, *self.REQUESTS, "UNSUBSCRIBE", "GET a", "PUNSUBSCRIBE", "SUNSUBSCRIBE", "GET a", "PING")

    def test_reset_and_quit_end_it(self, raw_pairs: RawPairs) -> None:
        client = raw_pairs.connect()
        client.same("SUBSCRIBE a", "PSUBSCRIBE b", "SSUBSCRIBE c", "RESET", "GET a", "PUBLISH a x", "PUBSUB NUMPAT")
        client.same("SUBSCRIBE a", "QUIT")

    def test_going_back_to_resp2_while_subscribed(self, raw_pairs: RawPairs) -> None:
        client = raw_pairs.connect(3)
        requests = ("SUBSCRIBE a", "GET x", "HELLO 2", "GET x", "PING")
        client.same(*requests, alike=lambda came: re.sub(rb"id\r\n:\d+", b"", came))


class TestPublishing:
    def test_channels_patterns_and_shard_channels(self, raw_pairs: RawPairs) -> None:
        listener, publisher = raw_pairs.connect(), raw_pairs.connect()
        listener.same("SUBSCRIBE news sport", "PSUBSCRIBE n*s n?ws [a-z]port", "SSUBSCRIBE news")
        publisher.same("PUBLISH news hello", "PUBLISH sport x", "PUBLISH other x")
        publisher.same("SPUBLISH news shard", "SPUBLISH sport x")
        publisher.same('PUBLISH news ""', 'PUBLISH news "a\\r\\nb\\x00"')
        listener.same(alike=unordered)

    def test_to_both_versions_at_once(self, raw_pairs: RawPairs) -> None:
        two, three, publisher = raw_pairs.connect(2), raw_pairs.connect(3), raw_pairs.connect()
        two.same("SUBSCRIBE a", "PSUBSCRIBE *")
        three.same("SUBSCRIBE a", "PSUBSCRIBE *")
        publisher.same("PUBLISH a x", "PUBLISH b y")
        two.same("PING")
        three.same("PING")

    def test_to_oneself_in_resp3(self, raw_pairs: RawPairs) -> None:
        raw_pairs.connect(3).same("SUBSCRIBE a", "PUBLISH a x", "MULTI", "PUBLISH a y", "GET k", "EXEC", "PUBLISH b z")

    def test_client_reply_does_not_silence_pushes(self, raw_pairs: RawPairs) -> None:
        listener, publisher = raw_pairs.connect(), raw_pairs.connect()
        listener.send("CLIENT REPLY OFF", "SUBSCRIBE a b")
        for side in (publisher.ours, publisher.theirs):
            while b":1\r\n" not in side.talk("PUBSUB NUMSUB b"):
                pass
        publisher.same("PUBLISH a x")
        listener.send("PING", "UNSUBSCRIBE a", "UNSUBSCRIBE b")
        listener.same("CLIENT REPLY ON")

    def test_client_reply_skip(self, raw_pairs: RawPairs) -> None:
        raw_pairs.connect().same("CLIENT REPLY SKIP", "SUBSCRIBE a", "UNSUBSCRIBE", "PING")

    def test_a_lost_listener_is_forgotten(self, raw_pairs: RawPairs) -> None:
        listener, publisher = raw_pairs.connect(), raw_pairs.connect()
        listener.same("SUBSCRIBE gone", "PSUBSCRIBE gone*", "SSUBSCRIBE gone")
        listener.close()
        for side in (publisher.ours, publisher.theirs):
            while side.talk("PUBSUB CHANNELS", "PUBSUB SHARDCHANNELS", "PUBSUB NUMPAT") != b"*0\r\n*0\r\n:0\r\n":
                pass
        publisher.same("PUBLISH gone x")


class TestPubsub:
    def test_what_is_listened_to(self, raw_pairs: RawPairs) -> None:
        one, other, asking = raw_pairs.connect(), raw_pairs.connect(), raw_pairs.connect()
        one.same("SUBSCRIBE news", "PSUBSCRIBE n*", "SSUBSCRIBE shard")
        other.same("SUBSCRIBE news sport", "PSUBSCRIBE n* s*")
        asking.same("PUBSUB CHANNELS", alike=unordered_names)
        asking.same("PUBSUB CHANNELS s*", "PUBSUB CHANNELS nope", "PUBSUB NUMSUB", "PUBSUB NUMSUB news nope sport")
        asking.same("PUBSUB NUMPAT", "PUBSUB SHARDCHANNELS", "PUBSUB SHARDCHANNELS x", "PUBSUB SHARDNUMSUB shard news")

    @pytest.mark.parametrize(
        "words",
        ["PUBSUB", "PUBSUB NOPE", "PUBSUB HELP", "PUBSUB CHANNELS a b", "PUBSUB NUMPAT x", "PUBSUB SHARDCHANNELS a b"],
    )
    def test_help_and_mistakes(self, pair: Pair, words: str) -> None:
        pair.same(*words.split())


def unordered_names(came: bytes) -> list[bytes]:
    return sorted(came.split(b"\r\n"))


class TestRedisPy:
    @pytest.fixture(params=[2, 3], ids=["RESP2", "RESP3"])
    def client(self, onemq_port: int, request: pytest.FixtureRequest) -> Iterator[redis.Redis]:
        with redis.Redis(port=onemq_port, protocol=request.param, decode_responses=True) as client:
            yield client

    def test_messages_arrive_in_order(self, client: redis.Redis) -> None:
        with client.pubsub() as listener:
            listener.subscribe("channel")
            listener.psubscribe("chan*")
            assert [listener.get_message(timeout=10)["type"] for _ in range(2)] == ["subscribe", "psubscribe"]
            with client.pipeline(transaction=False) as pipeline:
                for number in range(500):
                    pipeline.publish("channel", number)
                assert pipeline.execute() == [2] * 500
            came = [listener.get_message(timeout=10) for _ in range(1000)]
            for kind in ("message", "pmessage"):
                assert [int(each["data"]) for each in came if each["type"] == kind] == list(range(500))

    def test_a_thread_with_handlers(self, client: redis.Redis) -> None:
        came: list[str] = []
        enough = threading.Event()

        def handle(message: dict[str, str]) -> None:
            came.append(message["data"])
            if len(came) == 3:
                enough.set()

        with client.pubsub() as listener:
            listener.subscribe(**{"handled": handle})
            thread = listener.run_in_thread(sleep_time=0.01)
            while client.publish("handled", "one") == 0:
                pass
            client.publish("handled", "two")
            client.publish("handled", "three")
            assert enough.wait(10)
            thread.stop()
            thread.join(10)
        assert came == ["one", "two", "three"]

    def test_sharded(self, client: redis.Redis) -> None:
        with client.pubsub() as listener:
            listener.ssubscribe("shard")
            assert listener.get_message(timeout=10)["type"] == "ssubscribe"
            assert client.spublish("shard", "x") == 1
            message = listener.get_message(timeout=10)
            assert (message["type"], message["channel"], message["data"]) == ("smessage", "shard", "x")

    def test_ping_while_listening(self, onemq_port: int) -> None:
        """By RESP2: there the answer has a form of its own, which redis-py wants in RESP3, too."""
        with redis.Redis(port=onemq_port, protocol=2, decode_responses=True) as client, client.pubsub() as listener:
            listener.subscribe("channel")
            assert listener.get_message(timeout=10)["type"] == "subscribe"
            listener.ping("here")
            assert listener.get_message(timeout=10)["data"] == "here"

    def test_redis_cli_listens(self, onemq_port: int, client: redis.Redis) -> None:
        command = ["redis-cli", "-p", str(onemq_port), "SUBSCRIBE", "terminal"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as listening:
            assert listening.stdout is not None
            assert [listening.stdout.readline() for _ in range(3)] == ["subscribe\n", "terminal\n", "1\n"]
            assert client.publish("terminal", "hello") == 1
            assert [listening.stdout.readline() for _ in range(3)] == ["message\n", "terminal\n", "hello\n"]
            listening.terminate()


# Listeners that do not read.

MIB = 1 << 20
BODY = "x" * 100_000
KINDS = ("SUBSCRIBE flood", "PSUBSCRIBE fl*d", "SSUBSCRIBE flood")
KERNEL_BYTES = 8 * MIB
"""What the sockets of a connection hold at most beside what the broker holds."""


def lazy_listener(port: int, protocol: int, request: str) -> socket.socket:
    """A connection that listens and reads nothing but the confirmation."""
    listener = socket.create_connection(("127.0.0.1", port), timeout=10)
    if protocol == 3:
        listener.sendall(b"HELLO 3\r\n")
    listener.sendall(request.encode() + b"\r\n")
    came = b""
    while not came.endswith(b":1\r\n"):
        came += listener.recv(1000)
    return listener


def read_messages(listener: PubSub, last: int) -> list[int]:
    """The numbers of the messages that a listener gets, up to the last one."""
    numbers: list[int] = []
    while not numbers or numbers[-1] != last:
        message = listener.get_message(timeout=10)
        assert message is not None, f"nothing comes after {numbers[-1:]}"
        if message["type"].endswith("message"):
            numbers.append(int(message["data"].partition(" ")[0]))
    return numbers


def test_listeners_that_do_not_read_are_cut_off_at_their_limit_and_nobody_else_is_disturbed(tmp_path: Path) -> None:
    """Each kind of subscription by both versions of RESP, beside a reader that gets every message."""
    with Serve(tmp_path / "data") as broker, ExitStack() as stack:
        broker.wait_until_serving()
        client = stack.enter_context(redis.Redis(port=broker.port, decode_responses=True))
        reader = stack.enter_context(client.pubsub())
        reader.subscribe("flood")
        assert reader.get_message(timeout=10)["type"] == "subscribe"
        before, most = resident_bytes(broker.pid), 0
        lazy = [(protocol, request) for protocol in (2, 3) for request in KINDS]
        for each in lazy:
            stack.enter_context(lazy_listener(broker.port, *each))
        reached, published, read = 0, 0, list[int]()
        while reached != 1:
            for _ in range(5):
                reached = publish(client, f"{published} {BODY}")
                published += 1
            most = max(most, resident_bytes(broker.pid) - before)
            read += read_messages(reader, published - 1)
            assert published * len(BODY) < RESP_LISTENER_BYTES_MAX + KERNEL_BYTES, "somebody is never cut off"
        assert read == list(range(published))
        assert most < len(lazy) * RESP_LISTENER_BYTES_MAX + 16 * MIB
        assert broker.stop() == 0
        cut_off = [int(size) for size in re.findall(r"does not read: cut off with (\d+) bytes unsent", broker.output())]
        assert len(cut_off) == len(lazy)
        assert all(0 < size - RESP_LISTENER_BYTES_MAX < 2 * len(BODY) for size in cut_off), cut_off


def publish(client: redis.Redis, message: str) -> int:
    """To everybody who listens; how many that are."""
    return int(client.publish("flood", message)) + int(client.spublish("flood", message))
