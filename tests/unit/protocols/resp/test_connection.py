"""Commands about the connection, in Redis's words."""

import pytest

from tests.unit.protocols.resp.fakes import Client, encode


def test_ping_and_echo() -> None:
    client = Client()
    assert client.call("PING") == b"+PONG\r\n"
    assert client.call("PING", "hi") == b"$2\r\nhi\r\n"
    assert client.call("ECHO", b"\0\r\n") == b"$3\r\n\0\r\n\r\n"


def test_hello_tells_who_we_are_without_changing_the_version() -> None:
    client = Client()
    reply = client.ask("HELLO")
    assert dict(zip(reply[::2], reply[1::2], strict=True)) == {
        b"server": b"redis",
        b"version": b"7.0.15",
        b"proto": 2,
        b"id": client.session.id,
        b"mode": b"standalone",
        b"role": b"master",
        b"modules": [],
    }


def test_hello_changes_the_version_both_ways() -> None:
    client = Client()
    assert client.ask("HELLO", "3")[b"proto"] == 3
    assert client.call("CLIENT", "GETNAME") == b"_\r\n"
    assert client.ask("HELLO", "2")[5] == 2
    assert client.call("CLIENT", "GETNAME") == b"$-1\r\n"


def test_hello_takes_a_password_and_a_name() -> None:
    client = Client()
    assert client.ask("HELLO", "3", "AUTH", "default", "any", "SETNAME", "me")[b"proto"] == 3
    assert client.ask("CLIENT", "GETNAME") == b"me"


REFUSED_HELLOS = [
    (("4",), b"-NOPROTO unsupported protocol version\r\n"),
    (("1",), b"-NOPROTO unsupported protocol version\r\n"),
    (("x",), b"-ERR Protocol version is not an integer or out of range\r\n"),
    (("3", "foo"), b"-ERR Syntax error in HELLO option 'foo'\r\n"),
    (("3", "SETNAME"), b"-ERR Syntax error in HELLO option 'SETNAME'\r\n"),
    (("3", "AUTH", "default"), b"-ERR Syntax error in HELLO option 'AUTH'\r\n"),
    (("3", "AUTH", "nobody", "x"), b"-WRONGPASS invalid username-password pair or user is disabled.\r\n"),
    (
        ("3", "SETNAME", "a b"),
        b"-ERR Client names cannot contain spaces, newlines or special characters.\r\n",
    ),
]


@pytest.mark.parametrize(("words", "line"), REFUSED_HELLOS)
def test_a_refused_hello_changes_nothing(words: tuple[str, ...], line: bytes) -> None:
    client = Client()
    assert client.call("HELLO", *words) == line
    assert client.call("CLIENT", "GETNAME") == b"$-1\r\n"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ("x",),
            b"-ERR AUTH <password> called without any password configured for the default user. "
            b"Are you sure your configuration is correct?\r\n",
        ),
        (("default", "x"), b"+OK\r\n"),
        (("nobody", "x"), b"-WRONGPASS invalid username-password pair or user is disabled.\r\n"),
        (("a", "b", "c"), b"-ERR syntax error\r\n"),
    ],
)
def test_auth_without_any_user_but_the_default_one(words: tuple[str, ...], line: bytes) -> None:
    assert Client().call("AUTH", *words) == line


@pytest.mark.parametrize(
    ("index", "line"),
    [
        ("0", b"+OK\r\n"),
        ("1", b"-ERR DB index is out of range\r\n"),
        ("-1", b"-ERR DB index is out of range\r\n"),
        ("x", b"-ERR value is not an integer or out of range\r\n"),
        ("00", b"-ERR value is not an integer or out of range\r\n"),
        ("9223372036854775808", b"-ERR value is not an integer or out of range\r\n"),
    ],
)
def test_there_is_one_database(index: str, line: bytes) -> None:
    assert Client().call("SELECT", index) == line


def test_quit_answers_and_ends_what_follows() -> None:
    client = Client()
    assert client.raw(encode("QUIT") + encode("PING")) == b"+OK\r\n"
    assert client.peer.closed


def test_reset_makes_the_connection_as_new() -> None:
    client = Client()
    client.ask("HELLO", "3", "SETNAME", "me")
    assert client.call("RESET") == b"+RESET\r\n"
    assert client.call("CLIENT", "GETNAME") == b"$-1\r\n"
