"""Where there are users, everybody has to log in, as Redis asks for it."""

import pytest

from onemq.limits import RESP_LOGIN_REST_MS
from onemq.protocols.resp.service import RespService
from onemq.users import Users, Verifier
from tests.unit.protocols.resp.fakes import Client, encode, make_service

REFUSED = b"-NOAUTH Authentication required.\r\n"
TOO_MANY = b"-ERR Protocol error: unauthenticated multibulk length\r\n"
TOO_LONG = b"-ERR Protocol error: unauthenticated bulk length\r\n"
MANY = encode("DEL", *"abcdefghij")
LONG = encode("SET", "k", "x" * 16_385)
WRONG = b"-WRONGPASS invalid username-password pair or user is disabled.\r\n"


@pytest.fixture
def service() -> RespService:
    plain = make_service()
    bob = str(Verifier.of("pencil", "SCRAM-SHA-256", b"salt"))
    return RespService(plain.core, plain.facts, users=Users({"ann": "secret", "bob": bob, "default": "pw"}))


def test_nothing_is_executed_before(service: RespService) -> None:
    client = Client(service)
    for command in (("SET", "k", "v"), ("GET", "k"), ("PING",), ("MULTI",), ("MQ.SEND", "t", "b"), ("SUBSCRIBE", "c")):
        assert client.call(*command) == REFUSED
    assert client.raw(b"*1\r\n$4\r\nPING\r\n" * 20) == REFUSED * 20
    assert client.call("HELLO", "3").startswith(b"-NOAUTH HELLO must be called with the client already authenticated")
    assert client.call("AUTH", "ann", "secret") == b"+OK\r\n"
    assert client.call("GET", "k") == b"$-1\r\n"
    assert client.ask("ACL", "WHOAMI") == b"ann"


@pytest.mark.parametrize("login", [("ann", "secret"), ("bob", "pencil"), ("default", "pw"), ("pw",)])
def test_with_the_right_password_everything_is(service: RespService, login: tuple[str, ...]) -> None:
    client = Client(service)
    assert client.call("AUTH", *login) == b"+OK\r\n"
    assert client.call("SET", "k", "v") == b"+OK\r\n"


@pytest.mark.parametrize("login", [("ann", "pencil"), ("eve", "secret"), ("secret",), (b"ann", b"\xff")])
def test_with_a_wrong_one_nothing_is(service: RespService, login: tuple[str | bytes, ...]) -> None:
    client = Client(service)
    assert client.call("AUTH", *login) == WRONG
    assert client.call("GET", "k") == REFUSED


def test_hello_logs_in_and_changes_nothing_if_it_cannot(service: RespService) -> None:
    client = Client(service)
    assert client.call("HELLO", "3", "AUTH", "ann", "wrong") == WRONG
    assert client.call("HELLO", "3", "AUTH", "ann", "secret", "NONSENSE").startswith(b"-ERR Syntax error")
    assert client.call("GET", "k") == REFUSED
    assert client.call("HELLO", "3", "AUTH", "ann", "secret").startswith(b"%7")
    assert client.call("GET", "k") == b"_\r\n"


@pytest.mark.parametrize("login", [("AUTH", "bob", "pen"), ("HELLO", "3", "AUTH", "bob", "pen")])
def test_one_connection_proves_one_wrong_password_at_a_time(service: RespService, login: tuple[str, ...]) -> None:
    client, other = Client(service), Client(service)
    assert client.raw(encode(*login) * 3 + encode("PING")) == b""
    assert other.call("AUTH", "ann", "secret") == b"+OK\r\n"
    for expected in (WRONG, WRONG, WRONG + REFUSED):
        client.peer.sent.clear()
        service.core.tick(service.now_ms + RESP_LOGIN_REST_MS - 1)
        assert client.peer.sent == []
        service.core.tick(service.now_ms + 1)
        assert b"".join(client.peer.sent) == expected
    assert not client.session.on_lost
    assert client.call("AUTH", "bob", "pencil") == b"+OK\r\n"


def test_who_goes_before_it_is_refused_leaves_nothing(service: RespService) -> None:
    client = Client(service)
    assert client.call("AUTH", "bob", "pen") == b""
    client.session.lost()
    service.core.tick(service.now_ms + RESP_LOGIN_REST_MS)
    assert client.peer.sent == []


def test_in_a_transaction_no_password_is_proved_that_takes_long(service: RespService) -> None:
    client = Client(service)
    client.call("AUTH", "ann", "secret")
    client.raw(encode("MULTI") + encode("AUTH", "bob", "pencil") + encode("AUTH", "pw"))
    refused = b"-ERR a user whose password is kept as its verifier cannot log in inside a transaction\r\n"
    assert client.call("EXEC") == b"*2\r\n" + refused + b"+OK\r\n"


def test_reset_logs_out(service: RespService) -> None:
    client = Client(service)
    client.call("AUTH", "ann", "secret")
    assert client.call("RESET") == b"+RESET\r\n"
    assert client.call("GET", "k") == REFUSED


@pytest.mark.parametrize(("request_", "refusal"), [(MANY, TOO_MANY), (LONG, TOO_LONG)], ids=["many", "long"])
class TestLimits:
    """What a client may send that has to log in and has not."""

    def test_a_stranger_is_refused_and_parted_with(
        self, service: RespService, request_: bytes, refusal: bytes
    ) -> None:
        client = Client(service)
        assert client.raw(encode("PING") + request_ + encode("PING")) == REFUSED + refusal
        assert client.peer.closed

    def test_whoever_has_logged_in_is_not(self, service: RespService, request_: bytes, refusal: bytes) -> None:
        for login in (("AUTH", "ann", "secret"), ("AUTH", "pw"), ("HELLO", "3", "AUTH", "ann", "secret")):
            client = Client(service)
            client.call(*login)
            assert client.raw(request_) in (b":0\r\n", b"+OK\r\n", b":1\r\n")
            client.call("AUTH", "ann", "secret")
            assert client.raw(request_ * 2).count(b"\r\n") == 2
            assert client.call("AUTH", "ann", "wrong") == WRONG
            assert client.raw(request_).count(b"\r\n") == 1

    def test_nor_whoever_logs_in_just_before(self, service: RespService, request_: bytes, refusal: bytes) -> None:
        data = encode("AUTH", "ann", "secret") + request_ + encode("PING")
        for cut in (0, 5, 40, 60, len(data) - 20):
            client = Client(service)
            answer = client.raw(data[:cut]) + client.raw(data[cut:])
            assert answer.startswith(b"+OK\r\n")
            assert answer.endswith(b"+PONG\r\n")
            assert answer.count(b"\r\n") == 3

    def test_a_wrong_password_changes_nothing(self, service: RespService, request_: bytes, refusal: bytes) -> None:
        client = Client(service)
        assert client.raw(encode("AUTH", "ann", "pencil") + request_) == WRONG + refusal

    def test_after_reset_they_hold_again(self, service: RespService, request_: bytes, refusal: bytes) -> None:
        client = Client(service)
        client.call("AUTH", "ann", "secret")
        client.call("RESET")
        assert client.raw(request_) == refusal

    def test_nobody_is_a_stranger_where_there_are_no_users(self, request_: bytes, refusal: bytes) -> None:
        client = Client()
        assert not client.raw(request_).startswith(b"-")
        client.call("RESET")
        assert not client.raw(request_).startswith(b"-")


def test_a_stranger_s_request_may_come_byte_by_byte(service: RespService) -> None:
    client = Client(service)
    data = encode("AUTH", "ann", "secret") + encode("ECHO", "x" * 20)
    assert b"".join(client.raw(bytes([byte])) for byte in data) == b"+OK\r\n$20\r\n" + b"x" * 20 + b"\r\n"


def test_users_are_told_of_without_their_passwords(service: RespService) -> None:
    client = Client(service)
    client.call("AUTH", "ann", "secret")
    assert client.ask("ACL", "USERS") == [b"ann", b"bob", b"default"]
    assert client.ask("ACL", "LIST") == [b"user %b on ~* &* +@all" % name for name in (b"ann", b"bob", b"default")]
    told = client.ask("ACL", "GETUSER", "bob")
    assert told[:4] == [b"flags", [b"on"], b"passwords", []]
    assert client.call("ACL", "GETUSER", "eve") == client.call("ACL", "GETUSER", b"\xff") == b"$-1\r\n"


def test_connections_are_found_by_their_user(service: RespService) -> None:
    ann, bob, stranger = (Client(service) for _ in range(3))
    ann.call("AUTH", "ann", "secret")
    bob.call("AUTH", "bob", "pencil")
    assert ann.call("CLIENT", "KILL", "USER", "eve") == b"-ERR No such user 'eve'\r\n"
    assert ann.call("CLIENT", "KILL", "USER", b"\xff") == b"-ERR No such user '\xff'\r\n"
    assert ann.call("CLIENT", "KILL", "USER", "default") == b":0\r\n"
    assert not stranger.peer.closed
    assert ann.call("CLIENT", "KILL", "USER", "bob") == b":1\r\n"
    assert bob.peer.closed
    assert ann.call("CLIENT", "KILL", "USER", "ann", "SKIPME", "no") == b":1\r\n"
    assert ann.peer.closed


def test_without_users_everybody_is_the_default_one() -> None:
    client = Client()
    assert client.ask("ACL", "USERS") == [b"default"]
    assert client.ask("ACL", "LIST") == [b"user default on nopass ~* &* +@all"]
    assert client.ask("ACL", "WHOAMI") == b"default"
