"""A pipeline of the same command is answered, and changes things, as if its requests had come one by one."""

from dataclasses import replace
from random import Random
from typing import Any

import msgspec
import pytest

from onemq.core.core import Core
from onemq.errors import ReadOnly
from onemq.log.memory import MemoryLog
from onemq.protocols.resp.commands import COMMANDS, by_name
from onemq.protocols.resp.session import RespSession
from tests.unit.protocols.resp.fakes import Client, encode, make_service

NOW_MS = 1_000_000

Request = tuple[str, ...]


def new_client(*before: Request) -> Client:
    service = make_service()
    service.core = Core(MemoryLog())
    service.core.recover(NOW_MS)
    service.core.tick(NOW_MS)
    client = Client(service)
    for words in before:
        client.call(*words)
    return client


def state(client: Client) -> Any:
    """What is stored, and what a restart would make of the entries."""
    core = client.service.core
    restarted = Core(MemoryLog())
    restarted.restore(NOW_MS)
    appliers = restarted.keys.appliers()
    for entry in msgspec.msgpack.decode(msgspec.msgpack.encode(core.stage.entries)):
        appliers[entry[0]](entry)
    assert restarted.keys.dump() == core.keys.dump()
    return core.keys.dump()


def assert_the_same(requests: list[Request], *before: Request) -> None:
    together, apart = new_client(*before), new_client(*before)
    replies = together.raw(b"".join(encode(*words) for words in requests))
    assert replies == b"".join(apart.call(*words) for words in requests)
    assert state(together) == state(apart)
    assert together.session.last_command.name == apart.session.last_command.name


PIPELINES = {
    "LPUSH": [("LPUSH", "l", str(number)) for number in range(20)],
    "RPUSH": [("RPUSH", "l", str(number)) for number in range(20)],
    "LPOP": [("LPOP", "l")] * 12,
    "RPOP": [("RPOP", "l")] * 12,
    "GET": [("GET", f"k{number % 3}") for number in range(12)],
    "SET": [("SET", f"k{number % 5}", str(number)) for number in range(12)],
    "INCR": [("INCR", "n")] * 12,
    "DECR": [("DECR", "n")] * 12,
    "small letters": [("lpush", "l", "x")] * 12,
}
BEFORE: dict[str, list[Request]] = {
    "nothing": [],
    "lists": [("RPUSH", "l", *map(str, range(5)))],
    "a long list": [("RPUSH", "l", *("x" * number for number in range(50)))],
    "strings": [("MSET", "k0", "a", "k1", "b", "k2", "c", "n", "41")],
    "a string is missing": [("MSET", "k0", "a", "k2", "longer")],
    "wrong types": [("SET", "l", "v"), ("RPUSH", "k1", "v"), ("RPUSH", "n", "v")],
    "no number": [("SET", "n", "abc")],
    "near the largest number": [("SET", "n", str(2**63 - 5))],
    "near the smallest number": [("SET", "n", str(-(2**63) + 5))],
    "keys that expire": [("SET", "k0", "a", "EX", "100"), ("SET", "n", "1", "EX", "100"), ("RPUSH", "l", "a", "b"),
                         ("EXPIRE", "l", "100")],
}  # fmt: skip


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_a_pipeline_of_one_command(pipeline: str, before: str) -> None:
    assert_the_same(PIPELINES[pipeline], *BEFORE[before])


@pytest.mark.parametrize(
    "odd",
    [
        ("LPUSH", "other", "x"), ("LPUSH", "l", "x", "y"), ("RPUSH", "l", "x"), ("LPUSH", "l"), ("lpush", "l", "x"),
        ("PING",), ("NOPE", "l", "x"), ("BLPOP", "l", "0"), ("MULTI",), ("CLIENT", "REPLY", "SKIP"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", [0, 5, 11])
def test_a_pipeline_with_something_else_in_it(odd: Request, place: int) -> None:
    requests = [("LPUSH", "l", "x")] * 12
    requests[place] = odd
    assert_the_same(requests)


def test_random_pipelines() -> None:
    draw = Random(7)
    choices = [words for pipeline in PIPELINES.values() for words in pipeline] + [("DEL", "l"), ("SET", "n", "5")]
    for _ in range(200):
        requests = []
        while len(requests) < 60:
            requests += [draw.choice(choices)] * draw.choice([1, 1, 10, 20])
        assert_the_same(requests, *draw.choice(list(BEFORE.values())))


def test_pipelines_are_executed_at_once() -> None:
    """Else the tests above would compare the same with the same."""
    row = by_name(COMMANDS)[b"lpush"]
    assert row.alike is not None
    alike, seen = row.alike, []

    def watched(
        session: RespSession, words: list[bytes], last: list[bytes], counts: list[int]
    ) -> list[bytes] | None:
        seen.append((words, len(last), alike(session, words, last, counts)))
        return seen[-1][2]

    client = Client(make_service(replace(row, alike=watched)))
    client.raw(encode("LPUSH", "l", "x") * 8)
    client.raw(encode("LPUSH", "l", "x") * 7)
    assert seen == [([b"LPUSH", b"l"], 8, [b"".join([b":%d\r\n" % length for length in range(1, 9)])])]


class TestWhatKeepsThemApart:
    def test_a_client_that_waits_is_served_by_the_first_push(self) -> None:
        client = new_client()
        waiting = Client(client.service)
        waiting.call("BLPOP", "l", "0")
        assert client.raw(encode("RPUSH", "l", "x") * 10).startswith(b":1\r\n:1\r\n:2\r\n")
        assert b"".join(waiting.peer.sent) == b"*2\r\n$1\r\nl\r\n$1\r\nx\r\n"

    def test_a_log_that_cannot_write_refuses_each(self) -> None:
        client = new_client()
        client.service.core.stage.refusal = ReadOnly("no")
        for words in (("LPUSH", "l", "x"), ("RPOP", "l"), ("SET", "k", "v"), ("INCR", "n")):
            assert client.raw(encode(*words) * 10) == b"-MISCONF no\r\n" * 10

    def test_a_transaction_queues_each(self) -> None:
        client = new_client()
        client.call("MULTI")
        assert client.raw(encode("LPUSH", "l", "x") * 10) == b"+QUEUED\r\n" * 10
        client.call("EXEC")
        assert client.ask("LLEN", "l") == 10

    def test_replies_that_are_not_wanted_are_left_out(self) -> None:
        client = new_client()
        client.call("CLIENT", "REPLY", "OFF")
        assert client.raw(encode("LPUSH", "l", "x") * 10) == b""
        assert client.call("CLIENT", "REPLY", "ON") == b"+OK\r\n"
        assert client.ask("LLEN", "l") == 10

    def test_a_watched_key_has_changed(self) -> None:
        client = new_client(("WATCH", "l", "k", "n"))
        other = Client(client.service)
        other.raw(encode("LPUSH", "l", "x") * 10)
        client.call("MULTI")
        client.call("PING")
        assert client.ask("EXEC") is None

    def test_a_key_whose_time_has_come_is_not_read(self) -> None:
        client = new_client(("SET", "k", "v", "PX", "5"))
        client.service.core.stage.now_ms = client.service.core.keys.now_ms = NOW_MS + 5
        assert client.raw(encode("GET", "k") * 10) == b"$-1\r\n" * 10
