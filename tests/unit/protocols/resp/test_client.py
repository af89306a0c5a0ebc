"""CLIENT, in Redis's words."""

from itertools import pairwise

import pytest

from onemq.limits import RESP_NAME_BYTES_MAX
from onemq.protocols.resp.commands import COMMANDS, by_name
from tests.unit.protocols.resp.fakes import Client, encode


def facts(line: str) -> dict[str, str]:
    return dict(fact.split("=", 1) for fact in line.split())


def test_every_connection_has_its_own_id() -> None:
    first = Client()
    second = Client(first.service)
    assert (first.ask("CLIENT", "ID"), second.ask("CLIENT", "ID")) == (1, 2)


def test_a_name_can_be_set_read_and_removed() -> None:
    client = Client()
    assert client.call("CLIENT", "GETNAME") == b"$-1\r\n"
    assert client.call("CLIENT", "SETNAME", "worker-1") == b"+OK\r\n"
    assert client.call("CLIENT", "GETNAME") == b"$8\r\nworker-1\r\n"
    assert client.call("CLIENT", "SETNAME", "") == b"+OK\r\n"
    assert client.call("CLIENT", "GETNAME") == b"$-1\r\n"


@pytest.mark.parametrize("name", [b"a b", b"a\nb", b"\x7f", b"\xff"])
def test_a_name_that_would_break_the_list_is_refused(name: bytes) -> None:
    line = b"-ERR Client names cannot contain spaces, newlines or special characters.\r\n"
    assert Client().call("CLIENT", "SETNAME", name) == line


def test_a_name_has_a_limit() -> None:
    assert b"cannot be longer than" in Client().call("CLIENT", "SETNAME", b"x" * (RESP_NAME_BYTES_MAX + 1))


def test_a_library_tells_its_name_and_version() -> None:
    client = Client()
    assert client.call("CLIENT", "SETINFO", "LIB-NAME", "redis-py") == b"+OK\r\n"
    assert client.call("CLIENT", "SETINFO", "lib-ver", "6.0") == b"+OK\r\n"
    assert client.call("CLIENT", "SETINFO", "x", "y") == b"-ERR Unrecognized option 'x'\r\n"
    line = facts(client.ask("CLIENT", "INFO").decode())
    assert (line["lib-name"], line["lib-ver"]) == ("redis-py", "6.0")


def test_info_describes_the_own_connection() -> None:
    client = Client()
    client.ask("HELLO", "3", "SETNAME", "me")
    client.service.core.stage.now_ms += 5_500  # type: ignore[attr-defined]
    client.raw(b"")
    line = facts(client.ask("CLIENT", "INFO").decode())
    expected = {
        "id": "1", "addr": "10.0.0.1:5000", "laddr": "10.0.0.9:6379", "name": "me", "age": "5", "idle": "0",
        "flags": "N", "db": "0", "cmd": "client|info", "user": "default", "resp": "3",
    }  # fmt: skip
    assert {key: line[key] for key in expected} == expected


def test_list_has_a_line_for_everyone_who_is_connected() -> None:
    first = Client()
    second = Client(first.service, "10.0.0.2:1")
    third = Client(first.service)
    third.session.lost()
    lines = first.ask("CLIENT", "LIST").decode().splitlines()
    assert [facts(line)["addr"] for line in lines] == [first.peer.address, second.peer.address]
    assert facts(lines[1])["cmd"] == "NULL"
    assert facts(first.ask("CLIENT", "LIST", "ID", "2", "9").decode())["id"] == "2"
    assert first.ask("CLIENT", "LIST", "TYPE", "pubsub") == b""
    assert len(first.ask("CLIENT", "LIST", "TYPE", "NORMAL").splitlines()) == 2


ERRORS = [
    (("LIST", "TYPE", "foo"), b"-ERR Unknown client type 'foo'\r\n"),
    (("LIST", "ID", "x"), b"-ERR Invalid client ID\r\n"),
    (("LIST", "foo"), b"-ERR syntax error\r\n"),
    (("KILL", "1.2.3.4:5"), b"-ERR No such client\r\n"),
    (("KILL", "ID", "x"), b"-ERR client-id should be greater than 0\r\n"),
    (("KILL", "foo", "x"), b"-ERR syntax error\r\n"),
    (("KILL", "SKIPME", "maybe"), b"-ERR syntax error\r\n"),
    (("KILL", "ID", "1", "ADDR"), b"-ERR syntax error\r\n"),
    (("KILL", "TYPE", "x"), b"-ERR Unknown client type 'x'\r\n"),
    (("KILL", "USER", "nobody"), b"-ERR No such user 'nobody'\r\n"),
    (("KILL",), b"-ERR wrong number of arguments for 'client|kill' command\r\n"),
    (("NO-EVICT", "x"), b"-ERR syntax error\r\n"),
    (("NO-TOUCH", "x"), b"-ERR syntax error\r\n"),
    (("REPLY", "x"), b"-ERR syntax error\r\n"),
    (("SETNAME",), b"-ERR wrong number of arguments for 'client|setname' command\r\n"),
    (("foo",), b"-ERR unknown subcommand 'foo'. Try CLIENT HELP.\r\n"),
    ((), b"-ERR wrong number of arguments for 'client' command\r\n"),
]


@pytest.mark.parametrize(("words", "line"), ERRORS)
def test_mistakes_are_answered_in_redis_words(words: tuple[str, ...], line: bytes) -> None:
    assert Client().call("CLIENT", *words) == line


KILLS = [
    (("10.0.0.2:1",), b"+OK\r\n", {2}),
    (("ID", "2"), b":1\r\n", {2}),
    (("ID", "9"), b":0\r\n", set()),
    (("ADDR", "10.0.0.2:1"), b":1\r\n", {2}),
    (("LADDR", "10.0.0.9:6379"), b":2\r\n", {2, 3}),
    (("USER", "default"), b":2\r\n", {2, 3}),
    (("TYPE", "normal", "SKIPME", "yes"), b":2\r\n", {2, 3}),
    (("TYPE", "normal", "SKIPME", "no"), b":3\r\n", {1, 2, 3}),
    (("ID", "2", "ADDR", "10.0.0.3:1"), b":0\r\n", set()),
    (("10.0.0.1:1",), b"+OK\r\n", {1}),
]


@pytest.mark.parametrize(("words", "reply", "ended"), KILLS)
def test_kill_ends_those_who_match_and_answers_first(words: tuple[str, ...], reply: bytes, ended: set[int]) -> None:
    first = Client(address="10.0.0.1:1")
    clients = [first, *(Client(first.service, f"10.0.0.{number}:1") for number in (2, 3))]
    assert first.call("CLIENT", "KILL", *words) == reply
    assert {client.session.id for client in clients if client.peer.closed} == ended


def test_reply_off_and_on() -> None:
    data = encode("CLIENT", "REPLY", "OFF") + encode("PING") + encode("CLIENT", "REPLY", "ON") + encode("PING")
    assert Client().raw(data) == b"+OK\r\n+PONG\r\n"


def test_reply_skip_leaves_out_the_next_reply() -> None:
    client = Client()
    assert client.raw(encode("CLIENT", "REPLY", "SKIP") + encode("ECHO", "a") + encode("PING")) == b"+PONG\r\n"
    assert client.raw(encode("CLIENT", "REPLY", "SKIP")) == b""
    assert client.raw(encode("FOO") + encode("PING")) == b"+PONG\r\n"


def test_modes_show_in_the_list() -> None:
    client = Client()
    assert client.call("CLIENT", "NO-EVICT", "ON") == client.call("CLIENT", "NO-TOUCH", "on") == b"+OK\r\n"
    assert facts(client.ask("CLIENT", "INFO").decode())["flags"] == "eT"
    client.call("CLIENT", "NO-EVICT", "off")
    client.call("CLIENT", "NO-TOUCH", "off")
    assert facts(client.ask("CLIENT", "INFO").decode())["flags"] == "N"


def test_however_many_wake_each_other_one_after_the_other_goes_on() -> None:
    clients = [Client()]
    clients += [Client(clients[0].service) for _ in range(500)]
    for client, following in pairwise(clients):
        client.raw(encode("BLPOP", "none", "0") + encode("CLIENT", "UNBLOCK", str(following.session.id)))
    clients[-1].raw(encode("BLPOP", "none", "0"))
    other = Client(clients[0].service)
    assert other.call("CLIENT", "UNBLOCK", str(clients[0].session.id)) == b":1\r\n"
    assert {b"".join(client.peer.sent) for client in clients[:-1]} == {b"*-1\r\n:1\r\n"}
    assert clients[-1].peer.sent == [b"*-1\r\n"]


def test_help_names_every_subcommand() -> None:
    words = {line.split()[0] for line in Client().ask("CLIENT", "HELP")}
    subcommands = {name.upper() for name in by_name(COMMANDS)[b"client"].subcommands}
    assert subcommands - words == {b"SETINFO", b"NO-TOUCH"}, "those of a later Redis"
