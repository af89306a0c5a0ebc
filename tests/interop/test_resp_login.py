"""Where there are users: what a client may do before it has logged in, and what is told about users, as Redis does."""

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import redis

from onemq.users import Verifier
from tests.interop.forms import Node
from tests.interop.pair import Pair, connection, needs_redis_server, redis_server
from tests.process import Serve

pytestmark = needs_redis_server

CONFIGURATION = f"""
[users]
default = "pw"
ann = "secret"
bob = "{Verifier.of('secret', 'SCRAM-SHA-256', b'salt')}"
"""
USERS = {"default": "pw", "ann": "secret"}
NOAUTH = b"-NOAUTH Authentication required.\r\n"
Ports = tuple[int, int]


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ports]:
    """OneMQ and a redis-server with the same users."""
    folder: Path = tmp_path_factory.mktemp("login")
    (folder / "onemq.toml").write_text(CONFIGURATION)
    rules = ("on", ">secret", "~*", "&*", "+@all")
    users = ("--requirepass", "pw", "--user", "ann", *rules, "--user", "bob", *rules)
    with Serve(folder / "data", "--config", str(folder / "onemq.toml")) as ours, redis_server(folder, *users) as theirs:
        ours.wait_until_serving()
        yield ours.port, theirs


def encode(*words: str) -> bytes:
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(each), each.encode()) for each in words)


def exchange(port: int, *pieces: bytes) -> bytes:
    """All that comes back for these bytes, and at last for QUIT, until the server closes. Each piece but the first is
    sent when something came for the one before it."""
    came = b""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client, suppress(ConnectionError):
        for piece in pieces:
            client.sendall(piece)
            came += client.recv(1 << 16)
        client.sendall(b"QUIT\r\n")
        while part := client.recv(1 << 16):
            came += part
    return re.sub(rb"(\$2\r\nid\r\n):\d+", rb"\1:?", came)  # of HELLO


def same(ports: Ports, *pieces: bytes) -> bytes:
    ours, theirs = (exchange(port, *pieces) for port in ports)
    assert ours == theirs
    return ours


def same_lines(ports: Ports, *lines: str) -> bytes:
    return same(ports, "".join(f"{line}\r\n" for line in lines).encode())


class TestLoggingIn:
    @pytest.mark.parametrize(
        "line",
        [
            "PING", "PING a", "ECHO a", "GET a", "GET", "NOPE a", "SET a b", "MULTI", "EXEC", "SUBSCRIBE a", "SELECT 0",
            "CLIENT ID", "CLIENT NOPE", "CLIENT", "ACL WHOAMI", "COMMAND COUNT", "COMMAND NOPE", "INFO", "XADD s * a b",
            "XREAD BLOCK 0", "BLPOP a 0", "EVAL x 0", "RESET", "HELLO", "HELLO 2", "HELLO 3", "HELLO 4", "HELLO x",
            "HELLO 3 SETNAME me",
        ],
    )  # fmt: skip
    def test_before_it(self, ports: Ports, line: str) -> None:
        same_lines(ports, line, "GET a")

    @pytest.mark.parametrize(
        "line",
        [
            "AUTH pw", "AUTH default pw", "AUTH ann secret", "AUTH bob secret", "AUTH secret", "AUTH ann pw",
            "AUTH nobody pw", "AUTH ann", 'AUTH ""', 'AUTH ann ""', "AUTH", "AUTH a b c", "HELLO 2 AUTH default pw",
            "HELLO 3 AUTH default pw", "HELLO 3 AUTH ann secret SETNAME me", "HELLO 3 AUTH ann wrong",
            "HELLO 3 AUTH nobody x", "HELLO 3 AUTH ann", "HELLO 2 SETNAME me AUTH ann secret",
            "HELLO 4 AUTH ann secret", "HELLO AUTH ann secret",
        ],
    )  # fmt: skip
    def test_by_each_way(self, ports: Ports, line: str) -> None:
        """A null shows the version of the protocol."""
        same_lines(ports, line, "GET nothing", "ACL WHOAMI", "CLIENT GETNAME")

    def test_as_another_user(self, ports: Ports) -> None:
        logins = ("AUTH pw", "AUTH ann secret", "AUTH ann wrong", "HELLO 3 AUTH bob secret", "RESET", "AUTH ann secret")
        same_lines(ports, *(line for login in logins for line in (login, "ACL WHOAMI")))

    def test_within_a_transaction(self, ports: Ports) -> None:
        same_lines(ports, "AUTH pw", "MULTI", "AUTH ann secret", "GET nothing", "EXEC", "ACL WHOAMI")


LOGINS = {"RESP2": b"AUTH default pw\r\n", "RESP3": b"HELLO 3 AUTH default pw\r\n"}
ALLOWED = {
    "ten arguments": encode("DEL", *"abcdefghi"),
    "a long argument": encode("SET", "k", "x" * 16_384),
    "ten long arguments": encode(*["x" * 16_384] * 10),
    "an inline command of many words": b"DEL a b c d e f g h i j k l m n o p q\r\n",
    "a long inline command": b"SET k " + b"x" * 20_000 + b"\r\n",
}
REFUSED = {
    "eleven arguments": encode("DEL", *"abcdefghij"),
    "eleven arguments that do not come": b"*11\r\n",
    "a million arguments": b"*1000000\r\n",
    "an argument that is too long": encode("SET", "k", "x" * 16_385),
    "one that does not come": b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$16385\r\n",
    "many megabytes": b"*2\r\n$4\r\nAUTH\r\n$50000000\r\n",
    "more arguments than anybody may send": b"*2147483648\r\n",
    "a longer one than anybody may send": b"*1\r\n$99999999999\r\n",
}


class TestLimits:
    @pytest.mark.parametrize("request_", ALLOWED.values(), ids=ALLOWED.keys())
    def test_what_is_not_too_large_is_only_refused(self, ports: Ports, request_: bytes) -> None:
        answer = same(ports, request_ * 3)
        assert len(set(answer.splitlines()[:3])) == 1
        assert answer.endswith(b"\r\n+OK\r\n"), "it may go on"

    @pytest.mark.parametrize("request_", REFUSED.values(), ids=REFUSED.keys())
    def test_what_is_too_large_ends_the_connection(self, ports: Ports, request_: bytes) -> None:
        assert same(ports, request_).startswith(b"-ERR Protocol error: ")
        assert same(ports, b"PING\r\n" + request_).startswith(NOAUTH + b"-ERR Protocol error: ")
        same(ports, b"PING\r\n", request_)
        same(ports, b"AUTH wrong\r\n" + request_)

    @pytest.mark.parametrize("login", LOGINS.values(), ids=LOGINS.keys())
    @pytest.mark.parametrize("request_", [REFUSED["eleven arguments"], REFUSED["an argument that is too long"]])
    class TestInBothVersions:
        def test_nothing_is_too_large_for_those_who_have_logged_in(
            self, ports: Ports, login: bytes, request_: bytes
        ) -> None:
            assert b"Protocol error" not in same(ports, login + request_ * 2)
            assert b"Protocol error" not in same(ports, login, request_, request_)
            assert b"Protocol error" not in same(ports, login + b"AUTH wrong\r\n" + request_)

        def test_after_reset_it_is(self, ports: Ports, login: bytes, request_: bytes) -> None:
            assert same(ports, login + b"RESET\r\n", request_).count(b"Protocol error: unauthenticated") == 1
            assert b"Protocol error" not in same(ports, login + b"RESET\r\n" + login, request_)


@pytest.fixture(params=[2, 3], ids=["RESP2", "RESP3"])
def protocol(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def pair_of(ports: Ports, opened: ExitStack, protocol: int, user: str, password: str = "secret") -> Pair:
    """A connection of a user to each server."""
    ours, theirs = (opened.enter_context(connection(port, protocol, user, password)) for port in ports)
    return Pair(ours, theirs)


class TestUsers:
    @pytest.mark.parametrize(("user", "password"), USERS.items())
    def test_who_is_who(self, ports: Ports, opened: ExitStack, protocol: int, user: str, password: str) -> None:
        pair = pair_of(ports, opened, protocol, user, password)
        assert pair.same("ACL", "WHOAMI") == user.encode()
        assert pair.same("ACL", "USERS") == [b"ann", b"bob", b"default"]
        assert pair.same("ACL", "GETUSER", "nobody") is None

    def test_all_of_it_but_what_proves_passwords(self, ports: Ports, opened: ExitStack, protocol: int) -> None:
        pair = pair_of(ports, opened, protocol, "ann")
        rules = pair.same("ACL", "LIST", alike=lambda lines: [re.sub(rb" #[0-9a-f]+", b"", line) for line in lines])
        for name in ("default", "ann", "bob"):
            told = pair.same("ACL", "GETUSER", name, alike=without_passwords, form=form_without_passwords)
            assert facts(told)[b"passwords"] == []
        assert not re.search(rb"#|>|secret|pw|SCRAM", b" ".join(rules))

    def test_clients_are_killed_by_their_user(self, ports: Ports, opened: ExitStack, protocol: int) -> None:
        killer = pair_of(ports, opened, protocol, "bob")
        others = [pair_of(ports, opened, protocol, user, USERS[user]) for user in ("ann", "ann", "default")]
        for other in others:
            other.same("PING")
        assert killer.same("CLIENT", "KILL", "USER", "nobody") == ("error", "No such user 'nobody'")
        assert killer.same("CLIENT", "KILL", "USER", "ann") == 2
        assert killer.same("CLIENT", "KILL", "USER", "ann") == 0
        assert killer.same("CLIENT", "KILL", "USER", "bob") == 0, "not the one who asks"
        assert killer.same("CLIENT", "KILL", "USER", "default", "TYPE", "pubsub") == 0
        assert killer.same("CLIENT", "KILL", "USER", "default") == 1
        for other in others:
            for client in (other.ours, other.theirs):
                with pytest.raises(redis.exceptions.ConnectionError):
                    client.connection.send_command("PING")
                    client.connection.read_response()
        assert killer.same("CLIENT", "KILL", "SKIPME", "no", "USER", "bob") == 1

    def test_the_list_of_clients_names_them(self, ports: Ports, opened: ExitStack, protocol: int) -> None:
        pair = pair_of(ports, opened, protocol, "ann")
        pair_of(ports, opened, protocol, "default", "pw").same("PING")
        pair.same("CLIENT", "LIST", alike=lambda told: sorted(re.findall(rb" user=(\S+)", told)))


def facts(told: Any) -> dict[bytes, Any]:
    return told if isinstance(told, dict) else dict(zip(told[::2], told[1::2], strict=True))


def without_passwords(told: Any) -> dict[bytes, Any]:
    known = facts(told)
    return known | {b"flags": sorted(known[b"flags"]), b"passwords": []}


def form_without_passwords(node: Node) -> str:
    passwords = node.items[3]
    items = [replace(each, items=()) if each is passwords else each for each in node.items]
    return str(replace(node, items=tuple(items)))


def test_where_only_others_are_configured_there_is_no_default_user(tmp_path: Path) -> None:
    (tmp_path / "onemq.toml").write_text('[users]\nann = "secret"\n')
    with Serve(tmp_path / "data", "--config", str(tmp_path / "onemq.toml")) as broker:
        broker.wait_until_serving()
        with connection(broker.port, 2, "ann", "secret") as client:
            assert client.execute_command("ACL", "USERS") == [b"ann"]
            assert client.execute_command("ACL", "LIST") == [b"user ann on ~* &* +@all"]
            assert client.execute_command("ACL", "GETUSER", "default") is None
