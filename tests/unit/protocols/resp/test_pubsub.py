"""Publish and subscribe beyond what a comparison with Redis shows: one encoding, limits, who is told when."""

import pytest

from onemq.limits import RESP_LISTENER_BYTES_MAX
from onemq.protocols.resp import pubsub, replies
from tests.unit.protocols.resp.fakes import Client, encode


def listeners(count: int, *first: str) -> list[Client]:
    clients = [Client()]
    clients += [Client(clients[0].service) for _ in range(count - 1)]
    for client in clients:
        for words in first:
            client.call(*words.split())
        client.peer.sent.clear()
    return clients


def test_a_message_is_encoded_once_for_each_version() -> None:
    old, new = listeners(3, "SUBSCRIBE a"), listeners(1)
    service = old[0].service
    new = [Client(service) for _ in range(3)]
    for client in new:
        client.call("HELLO", "3")
        client.call("SUBSCRIBE", "a")
        client.peer.sent.clear()
    assert Client(service).call("PUBLISH", "a", "hello") == b":6\r\n"
    for clients, first in ((old, b"*"), (new, b">")):
        sent = [client.peer.sent for client in clients]
        assert sent[0] == [first + b"3\r\n$7\r\nmessage\r\n$1\r\na\r\n$5\r\nhello\r\n"]
        assert all(each[0] is sent[0][0] for each in sent)


def test_messages_keep_their_place_among_the_replies() -> None:
    (listener,) = listeners(1)
    listener.call("HELLO", "3")
    listener.call("SUBSCRIBE", "a")
    reply = listener.raw(encode("PING") + encode("PUBLISH", "a", "x") + encode("PING"))
    assert reply == b"+PONG\r\n>3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n:1\r\n+PONG\r\n"


def test_listeners_have_a_limit_of_their_own_for_output() -> None:
    (client,) = listeners(1)
    before = client.peer.limits
    client.call("SUBSCRIBE", "a")
    assert client.peer.limits.output_bytes_max == RESP_LISTENER_BYTES_MAX < before.output_bytes_max
    assert client.peer.limits.output_pause_bytes == before.output_pause_bytes
    client.call("UNSUBSCRIBE")
    assert client.peer.limits == before


def test_too_many_subscriptions_are_refused_and_the_others_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pubsub, "RESP_NAMES_BYTES_MAX", 1_000)
    (client,) = listeners(1)
    reply = client.call("SUBSCRIBE", "a" * 500, "b" * 500, "c")
    assert reply.count(b"subscribe\r\n") == 1
    assert reply.endswith(b"-ERR the channels that a connection listens to can take 1000 bytes together\r\n")
    assert client.call("UNSUBSCRIBE").count(b"unsubscribe") == 1
    assert client.call("SUBSCRIBE", "x" * 2_000).startswith(b"-ERR the channels")
    assert client.session.subscriptions is None
    assert client.call("GETDEL", "k") == b"$-1\r\n", "it does not listen"


def test_patterns_count_as_what_they_take_when_they_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pubsub, "RESP_NAMES_BYTES_MAX", 10_000)
    (client,) = listeners(1)
    assert client.call("SUBSCRIBE", "a" * 500, "b" * 500).count(b"subscribe\r\n") == 2
    assert client.call("PSUBSCRIBE", "a*" * 250).startswith(b"-ERR the channels")
    for _ in range(3):
        assert client.call("PSUBSCRIBE", "a*" * 100).count(b"psubscribe") == 1
        client.call("PUNSUBSCRIBE")


def test_a_pattern_that_is_too_long_is_refused() -> None:
    (client,) = listeners(1)
    assert client.call("PSUBSCRIBE", "*" * 5_000) == b"-ERR pattern is longer than 4096 bytes\r\n"
    assert client.session.subscriptions is None
    assert client.service.pubsub.patterns == {}


def test_what_is_refused_takes_nothing_of_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pubsub, "RESP_NAMES_BYTES_MAX", 10_000)
    (client,) = listeners(1)
    client.call("SUBSCRIBE", "a")
    for _ in range(3):
        assert client.call("PSUBSCRIBE", "*" * 5_000).startswith(b"-ERR pattern is longer")
    assert client.call("SUBSCRIBE", "b") == b"*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n"


def test_nothing_is_left_of_a_lost_listener() -> None:
    one, other = listeners(2, "SUBSCRIBE a", "PSUBSCRIBE a*", "SSUBSCRIBE a")
    service = one.service
    one.session.lost()
    assert Client(service).call("PUBLISH", "a", "x") == b":2\r\n"
    other.session.lost()
    assert service.pubsub.listeners == [{}, {}, {}]
    assert Client(service).call("PUBLISH", "a", "x") == b":0\r\n"
    assert one.session.on_lost == {}


def test_one_who_waits_in_a_command_still_hears() -> None:
    (client,) = listeners(1)
    client.call("HELLO", "3")
    client.call("SUBSCRIBE", "a")
    client.session.wait()
    assert client.call("PING") == b""
    Client(client.service).call("PUBLISH", "a", "x")
    assert client.peer.sent == [replies.RESP3.push([replies.text(word) for word in ("message", "a", "x")])]
    client.session.go_on(replies.OK)
    assert client.peer.sent[1:] == [b"+OK\r\n", b"+PONG\r\n"]
