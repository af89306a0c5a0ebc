"""Replies that would be larger than a reply may be."""

from typing import Any

import hiredis
import pytest

from onemq.limits import HANDED_BYTES_MAX, MIB, RESP_REPLY_BYTES_MAX, ConnectionLimits
from tests.unit.protocols.resp.fakes import Client

BODY = b"x" * (4 * MIB - 100)
MANY = RESP_REPLY_BYTES_MAX // len(BODY) + 1
"""So many bodies are too large for a reply."""
SOME = HANDED_BYTES_MAX // len(BODY) + 1
"""So many are as much as one command hands out."""
MORE = 3 * SOME
"""So many are more than that, even with what is read together."""


def fill(client: Client, stream: str, count: int) -> None:
    for _ in range(count):
        client.call("XADD", stream, "*", "f", BODY)


def lengths(answer: Any) -> dict[bytes, int]:
    """How many entries of each stream came."""
    return {stream: len(entries) for stream, entries in answer or []}


def refusal(answer: Any) -> str:
    assert isinstance(answer, hiredis.ReplyError)
    return str(answer)


def test_what_may_be_sent_is_less_than_what_cuts_a_connection_off() -> None:
    assert RESP_REPLY_BYTES_MAX + 4 * ConnectionLimits().output_pause_bytes < ConnectionLimits().output_bytes_max


def test_a_range_of_a_stream_that_is_too_large_is_refused_and_told_how_to_go_on() -> None:
    client = Client()
    fill(client, "s", MANY)
    assert "use COUNT" in refusal(client.ask("XRANGE", "s", "-", "+"))
    assert "use COUNT" in refusal(client.ask("XREVRANGE", "s", "+", "-"))
    assert "smaller COUNT" in refusal(client.ask("XRANGE", "s", "-", "+", "COUNT", "1000"))
    assert len(client.ask("XRANGE", "s", "-", "+", "COUNT", "3")) == 3


def test_reading_streams_brings_as_much_as_fits_and_the_rest_next_time() -> None:
    client = Client()
    fill(client, "a", SOME + 3)
    fill(client, "b", 1)
    answer = client.ask("XREAD", "STREAMS", "a", "b", "0", "0")
    assert lengths(answer) == {b"a": SOME}
    last = answer[0][1][-1][0]
    assert lengths(client.ask("XREAD", "STREAMS", "a", "b", last, "0")) == {b"a": 3, b"b": 1}


def test_reading_one_stream_again_and_again_brings_no_more() -> None:
    client = Client()
    fill(client, "a", 2)
    answer = client.ask("XREAD", "STREAMS", *["a"] * 500, *["0"] * 500)
    assert sum(len(entries) for _, entries in answer) <= SOME + 2


@pytest.mark.parametrize("count", [(), ("COUNT", "1000")])
@pytest.mark.parametrize("at_once", [False, True])
def test_a_group_is_handed_as_much_as_fits_and_no_more_is_pending(count: tuple[str, ...], at_once: bool) -> None:
    client = Client()
    if at_once:  # all are one batch of the log, or each is
        fill(client, "a", SOME + 5)
    else:
        for _ in range(SOME + 5):
            fill(client, "a", 1)
            client.service.core.flush(lambda error: None)
    fill(client, "b", 1)
    for stream in ("a", "b"):
        client.ask("XGROUP", "CREATE", stream, "g", "0")
    read = ("XREADGROUP", "GROUP", "g", "c", *count, "STREAMS")
    first = lengths(client.ask(*read, "a", "b", ">", ">"))[b"a"]
    assert first * len(BODY) < RESP_REPLY_BYTES_MAX
    assert client.ask("XPENDING", "a", "g")[0] == first
    if not at_once:
        assert first <= SOME + 1
    left = SOME + 5 - first
    assert lengths(client.ask(*read, "a", "b", ">", ">")) == ({b"a": left} if left else {}) | {b"b": 1}


def test_what_comes_back_to_a_group_is_handed_out_as_much_as_fits() -> None:
    client = Client()
    fill(client, "a", MORE)
    client.ask("XGROUP", "CREATE", "a", "g", "0")
    client.ask("XPOLICY", "a", "BACKOFF", "0s")
    ids: list[bytes] = []
    while len(ids) < MORE:
        answer = client.ask("XREADGROUP", "GROUP", "g", "c", "STREAMS", "a", ">")
        ids += [id for id, _ in answer[0][1]]
    assert client.ask("XNACK", "a", "g", "FAIL", "IDS", str(MORE), *ids) == MORE
    came = lengths(client.ask("XREADGROUP", "GROUP", "g", "d", "STREAMS", "a", ">"))[b"a"]
    assert 0 < came < MORE
    assert client.ask("XPENDING", "a", "g")[3] == [[b"d", b"%d" % came]]


def pending(client: Client) -> list[bytes]:
    """Many entries that a consumer has, and their ids."""
    fill(client, "a", MORE)
    client.ask("XGROUP", "CREATE", "a", "g", "0")
    ids: list[bytes] = []
    while len(ids) < MORE:
        answer = client.ask("XREADGROUP", "GROUP", "g", "c", "STREAMS", "a", ">")
        ids += [id for id, _ in answer[0][1]]
    return ids


def test_a_consumer_reads_its_own_entries_again_as_far_as_they_fit() -> None:
    client = Client()
    ids = pending(client)
    found: list[bytes] = []
    after = b"0"
    while answer := client.ask("XREADGROUP", "GROUP", "g", "c", "STREAMS", "a", after)[0][1]:
        assert len(answer) < MORE
        found += [id for id, _ in answer]
        after = found[-1]
    assert found == ids


def test_a_claim_takes_as_much_as_fits_and_leaves_the_rest_to_others() -> None:
    client = Client()
    ids = pending(client)
    assert len(client.ask("XCLAIM", "a", "g", "d", "0", *ids)) == SOME
    assert [b"d", b"%d" % SOME] in client.ask("XPENDING", "a", "g")[3]
    assert len(client.ask("XCLAIM", "a", "g", "d", "0", *[ids[0]] * 1000)) == SOME
    assert len(client.ask("XCLAIM", "a", "g", "d", "0", *ids, "JUSTID")) == MORE
    cursor, claimed, _ = client.ask("XAUTOCLAIM", "a", "g", "e", "0", "0")
    assert (len(claimed), cursor) == (SOME, ids[SOME])
    answer = client.ask("XREADGROUP", "GROUP", "g", "f", "CLAIM", "0", "STREAMS", "a", ">")
    came = lengths(answer)[b"a"]
    assert 0 < came < MORE
    assert [b"f", b"%d" % came] in client.ask("XPENDING", "a", "g")[3]


def test_any_other_reply_that_is_too_large_is_refused_unless_it_tells_of_a_change() -> None:
    client = Client()
    client.service.core.keys.lists.push(b"l", [BODY] * MANY, False)
    assert "ask for less" in refusal(client.ask("LRANGE", "l", "0", "-1"))
    assert "smaller count" in refusal(client.ask("LPOP", "l", "1000"))
    assert "smaller count" in refusal(client.ask("LMPOP", "1", "l", "RIGHT", "COUNT", "1000"))
    assert client.ask("LLEN", "l") == MANY
    assert len(client.ask("LPOP", "l", "2")) == 2


def test_members_that_nobody_would_get_stay_where_they_are() -> None:
    client = Client()
    members = [b"%03d" % number + BODY for number in range(MANY)]
    client.service.core.keys.sets.add(b"set", members)
    client.service.core.keys.sorted_sets.add(b"sorted", [(0.0, member) for member in members])
    members.clear()
    assert "smaller count" in refusal(client.ask("SPOP", "set", "1000"))
    assert client.ask("SCARD", "set") == MANY
    for words in ("ZPOPMIN sorted 1000", "ZPOPMAX sorted 1000", "ZMPOP 1 sorted MIN COUNT 99"):
        assert "smaller count" in refusal(client.ask(*words.split()))
    assert client.ask("ZCARD", "sorted") == MANY
    assert len(client.ask("SPOP", "set", "2")) == len(client.ask("ZPOPMAX", "sorted", "1")) == 2


def test_it_is_refused_in_a_pipeline_too() -> None:
    client = Client()
    client.service.core.keys.lists.push(b"l", [BODY] * MANY, False)
    reader = hiredis.Reader()
    reader.feed(client.raw(b"LRANGE l 0 -1\r\nLLEN l\r\n"))
    assert "ask for less" in refusal(reader.gets())
    assert reader.gets() == MANY


def test_a_transaction_answers_with_as_much_as_a_command_may() -> None:
    client = Client()
    client.call("SET", "k", BODY)
    client.call("MULTI")
    for _ in range(MANY + 5):
        client.call("GET", "k")
    client.call("INCR", "n")
    answers = client.ask("EXEC")
    assert answers[: MANY - 1] == [BODY] * (MANY - 1)
    assert {refusal(each) for each in answers[MANY - 1 : -1]}
    assert answers[-1] == 1
