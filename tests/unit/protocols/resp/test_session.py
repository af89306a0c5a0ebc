"""A session: order, flow control, errors, ends."""

import pytest

from onemq.errors import DiskFull, OneMQError, ReadOnly, TooLarge, WrongType
from onemq.limits import RESP_PARKED_BYTES_MAX
from onemq.protocols.resp import replies
from onemq.protocols.resp.command import Command
from onemq.protocols.resp.session import RespSession
from tests.unit.protocols.resp.fakes import Client, encode, make_service


def test_a_pipeline_is_answered_in_order_with_one_send() -> None:
    client = Client()
    client.session.receive(encode("PING") + encode("ECHO", "a") + b"PING\r\n" + encode("PING", "b"))
    assert client.peer.sent == [b"+PONG\r\n$1\r\na\r\n+PONG\r\n$1\r\nb\r\n"]


def test_a_request_may_come_byte_by_byte() -> None:
    client = Client()
    for byte in encode("ECHO", "hello"):
        client.session.receive(bytes([byte]))
    assert client.peer.sent == [b"$5\r\nhello\r\n"]


@pytest.mark.parametrize("name", ["ping", "PING", "pInG"])
def test_command_names_may_have_any_case(name: str) -> None:
    assert Client().call(name) == b"+PONG\r\n"


def test_a_command_that_waits_and_then_fails_is_answered_and_does_not_wait() -> None:
    def fail(session: RespSession, request: list[bytes]) -> bytes:
        session.wait()
        session.unblock = lambda error: None
        raise TooLarge("too much")

    client = Client(make_service(Command("fail", 1, fail, "", "", "generic")))
    assert client.call("FAIL") == b"-ERR too much\r\n"
    assert not client.session.blocked
    assert client.session.unblock is None
    assert client.raw(encode("FAIL") + encode("PING")) == b"-ERR too much\r\n+PONG\r\n"


UNKNOWN = [
    (("foo", "a", "b"), b"-ERR unknown command 'foo', with args beginning with: 'a' 'b' \r\n"),
    (("FOO",), b"-ERR unknown command 'FOO', with args beginning with: \r\n"),
    (("",), b"-ERR unknown command '', with args beginning with: \r\n"),
    (("f\r\no", "a\nb"), b"-ERR unknown command 'f  o', with args beginning with: 'a b' \r\n"),
    ((b"f\xff", "a"), b"-ERR unknown command 'f\xff', with args beginning with: 'a' \r\n"),
    (("x" * 200,), b"-ERR unknown command '%b', with args beginning with: \r\n" % (b"x" * 128)),
    (("foo", "x" * 200, "y"), b"-ERR unknown command 'foo', with args beginning with: '%b' \r\n" % (b"x" * 128)),
]


@pytest.mark.parametrize(("words", "expected"), UNKNOWN)
def test_an_unknown_command_is_answered_in_redis_words(words: tuple[str, ...], expected: bytes) -> None:
    client = Client()
    assert client.call(*words) == expected
    assert client.call("PING") == b"+PONG\r\n"


@pytest.mark.parametrize("words", [("ECHO",), ("echo", "a", "b"), ("ping", "a", "b"), ("select",), ("reset", "x")])
def test_a_wrong_number_of_arguments_is_answered_in_redis_words(words: tuple[str, ...]) -> None:
    name = words[0].lower().encode()
    assert Client().call(*words) == b"-ERR wrong number of arguments for '%b' command\r\n" % name


def test_a_broken_request_is_answered_after_those_before_it_and_ends_the_connection() -> None:
    client = Client()
    reply = client.raw(encode("PING") + b"*1\r\n:5\r\n" + encode("PING"))
    assert reply == b"+PONG\r\n-ERR Protocol error: expected '$', got ':'\r\n"
    assert client.peer.closed
    assert client.raw(encode("PING")) == b""


@pytest.mark.parametrize("data", [b"POST / HTTP/1.1\r\nHost: x\r\n\r\n", b"Host: x\r\nPING\r\n"])
def test_a_browser_is_not_answered(data: bytes) -> None:
    client = Client()
    assert client.raw(data) == b""
    assert client.peer.closed


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (WrongType("x"), b"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"),
        (ReadOnly("the disk failed"), b"-MISCONF the disk failed\r\n"),
        (DiskFull("no room"), b"-MISCONF no room\r\n"),
        (TooLarge("too large {x}"), b"-ERR too large {x}\r\n"),
    ],
)
def test_errors_of_the_core_are_worded_as_redis_words_them(error: OneMQError, line: bytes) -> None:
    def fail(session: RespSession, request: list[bytes]) -> bytes:
        raise error

    client = Client(make_service(Command("fail", 1, fail, "Fail", "0", "test")))
    assert client.call("FAIL") == line
    assert not client.peer.closed
    assert client.session.refusal(error) == line


class TestWaiting:
    """A command that answers later, as blocking commands do."""

    def client(self) -> Client:
        def wait(session: RespSession, request: list[bytes]) -> bytes:
            session.wait()
            return b""

        return Client(make_service(Command("linger", 1, wait, "Wait", "0", "test")))

    def test_what_follows_is_not_executed_before_it_is_answered(self) -> None:
        client = self.client()
        assert client.raw(encode("PING") + encode("LINGER") + encode("ECHO", "a")) == b"+PONG\r\n"
        assert client.raw(encode("ECHO", "b")) == b""
        client.session.go_on(replies.integer(7))
        assert b"".join(client.peer.sent) == b":7\r\n$1\r\na\r\n$1\r\nb\r\n"

    def test_waiting_again_at_once_is_possible(self) -> None:
        client = self.client()
        client.raw(encode("LINGER") * 2 + encode("PING"))
        client.session.go_on(replies.integer(1))
        assert client.peer.sent == [b":1\r\n"]
        client.session.go_on(replies.integer(2))
        assert b"".join(client.peer.sent) == b":1\r\n:2\r\n+PONG\r\n"

    def test_a_client_that_sends_on_and_on_meanwhile_is_held(self) -> None:
        client = self.client()
        client.raw(encode("LINGER"))
        client.session.receive(encode("ECHO", bytes(RESP_PARKED_BYTES_MAX // 2)))
        assert not client.peer.held
        client.session.receive(encode("ECHO", bytes(RESP_PARKED_BYTES_MAX)))
        assert client.peer.held
        client.session.go_on(replies.OK)
        assert not client.peer.held
        assert sum(map(len, client.peer.sent)) > 1.5 * RESP_PARKED_BYTES_MAX

    def test_nothing_is_sent_after_the_connection_was_lost(self) -> None:
        client = self.client()
        client.raw(encode("LINGER"))
        client.session.lost()
        client.session.go_on(replies.OK)
        assert client.peer.sent == []


def test_commands_stop_while_the_peer_does_not_take_replies_and_go_on_afterwards() -> None:
    client = Client()
    client.session.receive(encode("PING"))
    client.peer.congested = True
    client.session.receive(encode("ECHO", "a") * 3)
    assert b"".join(client.peer.sent) == b"+PONG\r\n"
    client.peer.congested = False
    client.session.resume()
    assert b"".join(client.peer.sent) == b"+PONG\r\n" + b"$1\r\na\r\n" * 3


def test_a_client_that_sends_on_while_it_takes_no_replies_is_held() -> None:
    """Its connection is read no more, but what the system had buffered may come in pieces meanwhile."""
    client = Client()
    client.peer.congested = True
    client.session.receive(encode("ECHO", bytes(RESP_PARKED_BYTES_MAX // 2)))
    assert not client.peer.held
    client.session.receive(encode("ECHO", bytes(RESP_PARKED_BYTES_MAX)))
    assert client.peer.held
    client.session.resume()
    assert client.peer.held, "it is still congested"
    client.peer.congested = False
    client.session.resume()
    assert not client.peer.held
    assert sum(map(len, client.peer.sent)) > 1.5 * RESP_PARKED_BYTES_MAX


def test_one_who_was_held_in_the_middle_of_a_large_request_goes_on() -> None:
    client = Client()
    body = bytes(4 * RESP_PARKED_BYTES_MAX)
    request = encode("ECHO", body)
    client.peer.congested = True
    client.session.receive(request[: len(request) // 2])
    assert client.peer.held
    client.peer.congested = False
    client.session.resume()
    assert not client.peer.held
    client.session.receive(request[len(request) // 2 :])
    assert b"".join(client.peer.sent) == b"$%d\r\n%b\r\n" % (len(body), body)


def test_a_pipeline_stops_where_its_replies_congest_the_peer() -> None:
    client = Client()

    def send(data: bytes) -> None:
        client.peer.sent.append(data)
        client.peer.congested = True

    client.peer.send = send  # type: ignore[method-assign]
    body = b"x" * 10_000
    client.session.receive(encode("ECHO", body) * 30)
    done = sum(data.count(b"$10000") for data in client.peer.sent)
    assert 5 < done < 10
    while done < 30:
        client.peer.congested = False
        client.session.resume()
        done = sum(data.count(b"$10000") for data in client.peer.sent)
    assert b"".join(client.peer.sent) == (b"$10000\r\n" + body + b"\r\n") * 30


def test_output_outside_of_a_request_is_sent_at_once_and_inside_keeps_its_place() -> None:
    def push(session: RespSession, request: list[bytes]) -> bytes:
        session.write(session.replies.push([replies.text("news")]))
        return replies.OK

    client = Client(make_service(Command("push", 1, push, "Push", "0", "test")))
    assert client.raw(encode("PING") + encode("PUSH")) == b"+PONG\r\n*1\r\n$4\r\nnews\r\n+OK\r\n"
    client.peer.sent.clear()
    client.session.write(replies.text("later"))
    assert client.peer.sent == [b"$5\r\nlater\r\n"]


def test_a_lost_session_is_forgotten() -> None:
    client = Client()
    assert client.service.sessions == {client.session.id: client.session}
    client.session.lost()
    assert client.service.sessions == {}
