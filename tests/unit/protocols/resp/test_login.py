"""Where there are users, everybody has to log in, as Redis asks for it."""

import pytest

from onemq.protocols.resp.service import RespService
from onemq.users import Users, Verifier
from tests.unit.protocols.resp.fakes import Client, make_service

REFUSED = b"-NOAUTH Authentication required.\r\n"
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


def test_reset_logs_out(service: RespService) -> None:
    client = Client(service)
    client.call("AUTH", "ann", "secret")
    assert client.call("RESET") == b"+RESET\r\n"
    assert client.call("GET", "k") == REFUSED
