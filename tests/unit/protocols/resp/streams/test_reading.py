"""XREAD and XREADGROUP that wait, while others change what they wait for in ways of which Redis knows nothing."""

from typing import Any

import hiredis
import pytest

from onemq import limits
from onemq.protocols.resp.service import RespService
from tests.unit.core.broker import Broker, simulated
from tests.unit.protocols.resp.fakes import Client, encode, make_service


class Clients:
    """Several connections to a broker. Each exchange is a turn of its own."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self._service = RespService(broker.core, make_service().facts)
        self._clients: dict[str, Client] = {}

    def __call__(self, who: str, *lines: str) -> list[Any]:
        """What comes back for these commands, which come at once."""
        with self.broker.turn():
            client = self._client(who)
            client.raw(b"".join(encode(*line.split()) for line in lines))
        return self.got(who)

    def got(self, who: str) -> list[Any]:
        """What has come for somebody since the last request."""
        reader = hiredis.Reader()
        reader.feed(b"".join(self._client(who).peer.sent))
        found = []
        while (reply := reader.gets()) is not False or reader.has_data():
            found.append(str(reply) if isinstance(reply, hiredis.ReplyError) else reply)
        return found

    def _client(self, who: str) -> Client:
        if who not in self._clients:
            self._clients[who] = Client(self._service)
        return self._clients[who]


@pytest.fixture
def ask() -> Clients:
    return Clients(simulated())


# The broker compares what is in memory with what is in the log after every turn.


def test_a_topic_with_several_partitions_is_made_under_the_key(ask: Clients) -> None:
    assert ask("reader", "XREAD BLOCK 0 STREAMS t $") == []
    assert ask("other", "MQ.TOPIC CREATE t PARTITIONS 3") == [b"OK"]
    assert ask("other", "MQ.SEND t x")[0][:1] != "-"
    assert ask.broker.core.topics.find("t") is not None
    assert ask.got("reader") == []
    ask("other", "MQ.TOPIC DELETE t")
    ask("other", "XADD t 1-1 f v")
    assert ask.got("reader") == [[[b"t", [[b"1-1", [b"f", b"v"]]]]]]


def test_dead_letters_come_under_a_key_that_became_a_list(ask: Clients) -> None:
    assert ask("reader", "XREAD BLOCK 0 STREAMS t $") == []
    ask("other", "RPUSH t a", "XADD s 1-1 f v", "XGROUP CREATE s g 0", "XPOLICY s MAXDELIVERIES 5 DEADLETTER t")
    ask("other", "XREADGROUP GROUP g alice STREAMS s >")
    assert ask("other", "XNACK s g FATAL IDS 1 1-1") == [1]
    assert ask("other", "LRANGE t 0 -1", "LLEN t") == [[b"a"], 1]
    assert len(ask.broker.records("t")) == 1
    assert ask.got("reader") == []
    ask("other", "DEL t")
    assert len(ask.got("reader")[0][0][1]) == 1, "the dead letter is what is under the key now"


def test_a_stream_is_given_the_name(ask: Clients) -> None:
    ask("other", "XADD s 1-1 f v")
    assert ask("reader", "XREAD BLOCK 0 STREAMS t 0") == []
    assert ask("other", "RENAME s t") == [b"OK"]
    assert ask.got("reader") == [[[b"t", [[b"1-1", [b"f", b"v"]]]]]]


def test_the_stream_gets_another_name_and_a_new_one_comes(ask: Clients) -> None:
    ask("other", "XADD s 1-1 f v")
    assert ask("reader", "XREAD BLOCK 0 STREAMS s $") == []
    ask("other", "RENAME s t")
    assert ask("other", "XADD s 2-1 f v") == [b"2-1"]
    assert ask.got("reader") == [[[b"s", [[b"2-1", [b"f", b"v"]]]]]]


def test_the_stream_becomes_something_else_and_then_a_stream_again(ask: Clients) -> None:
    ask("other", "XADD s 1-1 f v")
    assert ask("reader", "XREAD BLOCK 0 STREAMS s $") == []
    ask("other", "SET s text")
    assert ask.got("reader") == []
    ask("other", "DEL s", "XADD s 2-1 f v")
    assert ask.got("reader") == [[[b"s", [[b"2-1", [b"f", b"v"]]]]]]


def test_a_topic_with_several_partitions_takes_the_place_of_a_groups_stream(ask: Clients) -> None:
    ask("other", "XGROUP CREATE s g $ MKSTREAM")
    assert ask("reader", "XREADGROUP GROUP g alice BLOCK 0 STREAMS s >") == []
    ask("other", "MULTI", "DEL s", "MQ.TOPIC CREATE s PARTITIONS 3", "EXEC")
    assert ask.got("reader") == ["UNBLOCKED the stream key no longer exists"]


def test_a_consumer_whose_name_is_refused_does_not_wait(ask: Clients) -> None:
    ask("other", "XGROUP CREATE s g $ MKSTREAM")
    name = "x" * 300
    refused, pong = ask("reader", f"XREADGROUP GROUP g {name} BLOCK 0 STREAMS s >", "PING")
    assert refused.startswith("ERR")
    assert pong == b"PONG"


@pytest.mark.parametrize("options", ["", "CLAIM 100000 "])
def test_what_a_filter_finds_later_goes_to_nobody_who_has_stopped_asking(
    ask: Clients, monkeypatch: pytest.MonkeyPatch, options: str
) -> None:
    monkeypatch.setattr(limits, "SCREENED_PER_TURN_MAX", 10)
    ask("other", "XGROUP CREATE s g 0 MKSTREAM", "MQ.GROUP ALTER s g FILTER colour='red'")
    ask("other", *["XADD s * colour blue n 1"] * 25, "XADD s 9999999999999-1 colour red n 1")
    found = []
    for _ in range(5):
        (reply,) = ask("reader", f"XREADGROUP GROUP g me {options}STREAMS s >")
        found += reply or []
    ((stream, (entry,)),) = found
    assert (stream, entry[0]) == (b"s", b"9999999999999-1")


# Nobody goes on amid a transaction of somebody else.


@pytest.mark.parametrize(
    "command",
    [
        "XREAD BLOCK 0 STREAMS s $",
        "XREAD BLOCK 0 STREAMS new $",
        "XREADGROUP GROUP g alice BLOCK 0 STREAMS s >",
        "XREADGROUP GROUP g alice BLOCK 0 CLAIM 100000 STREAMS s >",
        "MQ.RECEIVE s g WAIT 60000",
        "MQ.READ s FROM LAST WAIT 60000",
    ],
)
@pytest.mark.parametrize(
    "change",
    [
        "XGROUP DESTROY s g",
        "XNACK s g FAIL IDS 1 1-1",
        "DEL s",
        "MQ.GROUP DELETE s g",
        "XREADGROUP GROUP g carol STREAMS s >",
        "MQ.RECEIVE s g",
    ],
)
def test_who_waits_sees_all_of_a_transaction_or_nothing(ask: Clients, command: str, change: str) -> None:
    ask("other", "XADD s 1-1 f v", "XGROUP CREATE s g 0", "XREADGROUP GROUP g bob STREAMS s >")
    assert ask("reader", command, "GET x") == []
    ask("other", "MULTI", "XADD s 2-1 f v", "XADD new 1-1 f v", change, "SET x new", "EXEC")
    assert ask.got("reader")[1:] in ([b"new"], []), "it goes on after the transaction, or waits still"
