"""Requests that name the same large value again and again."""

import tracemalloc

import hiredis
import pytest

from onemq.limits import MIB
from tests.unit.protocols.resp.fakes import Client

LARGE = b"x" * (4 * MIB)


@pytest.mark.parametrize(
    "request_words",
    [
        ["MGET", *["string"] * 1000],
        ["HMGET", "hash", *["field"] * 1000],
        ["HRANDFIELD", "names", "-1000"],
        ["HRANDFIELD", "hash", "-1000", "WITHVALUES"],
        ["SRANDMEMBER", "set", "-1000"],
        ["ZRANDMEMBER", "sorted", "-1000"],
        ["ZRANDMEMBER", "sorted", "-1000", "WITHSCORES"],
    ],
    ids=lambda words: " ".join(words[:4])[:40],
)
def test_it_is_refused_before_any_of_it_is_put_together(request_words: list[str]) -> None:
    client = Client()
    client.call("SET", "string", LARGE)
    client.call("HSET", "hash", "field", LARGE)
    client.call("HSET", "names", LARGE, "value")
    client.call("SADD", "set", LARGE)
    client.call("ZADD", "sorted", "1", LARGE)
    few = ["2" if word == "1000" else "-2" if word == "-1000" else word for word in request_words[:4]]
    assert not isinstance(client.ask(*few), hiredis.ReplyError)
    tracemalloc.start()
    try:
        answer = client.ask(*request_words)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(answer, hiredis.ReplyError)
    assert "the reply would have more than" in str(answer)
    assert peak < len(LARGE)


@pytest.mark.parametrize("subcommand", ["INFO", "DOCS"])
def test_a_command_that_is_asked_about_again_and_again_is_described_once(subcommand: str) -> None:
    client = Client()
    one, two = client.ask("COMMAND", subcommand, "client"), client.ask("COMMAND", subcommand, *["client"] * 2)
    assert two == one * 2
    assert "the reply would have more than" in str(client.ask("COMMAND", subcommand, *["client"] * 200_000))
