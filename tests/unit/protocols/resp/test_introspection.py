"""COMMAND: what the table tells about itself."""

import pytest

from onemq.protocols.resp import replies
from onemq.protocols.resp.command import Command
from onemq.protocols.resp.commands import COMMANDS, by_name
from onemq.protocols.resp.session import RespSession
from tests.unit.protocols.resp.fakes import Client, make_service


def nothing(session: RespSession, request: list[bytes]) -> bytes:
    return replies.OK


MSET = Command("mset", -3, nothing, "Set", "1.0.1", "string", ("write",), keys=(1, -1, 2))
GET = Command("get", 2, nothing, "Get", "1.0.0", "string", ("readonly", "fast"), keys=(1, 1, 1))


def test_every_row_has_what_command_docs_needs() -> None:
    for row in COMMANDS:
        for each in (row, *row.subcommands.values()):
            assert each.name == each.name.lower()
            assert each.arity
            assert each.summary
            assert each.since
            assert each.group


def test_two_rows_of_one_name_are_a_mistake() -> None:
    with pytest.raises(AssertionError, match="two rows for auth"):
        by_name([*COMMANDS, *COMMANDS])


def test_command_and_its_count_tell_of_all_commands() -> None:
    client = Client()
    rows = client.ask("COMMAND")
    assert {row[0].decode() for row in rows} == {row.name for row in COMMANDS}
    assert client.ask("COMMAND", "COUNT") == len(COMMANDS)
    assert client.ask("COMMAND", "INFO") == rows


def test_info_has_redis_form() -> None:
    client = Client(make_service(GET))
    ping, unknown, get = client.ask("COMMAND", "INFO", "PING", "nope", "get")
    tips = [b"request_policy:all_shards", b"response_policy:all_succeeded"]
    assert ping == [b"ping", -1, [b"fast"], 0, 0, 0, [b"@fast", b"@connection"], tips, [], []]
    assert unknown is None
    (spec,) = get.pop(8)
    assert spec[:2] == [b"flags", [b"RO", b"access"]]
    assert get == [b"get", 2, [b"readonly", b"fast"], 1, 1, 1, [b"@read", b"@fast"], [], []]


def test_info_of_a_subcommand() -> None:
    (row,) = Client().ask("COMMAND", "INFO", "client|setname")
    assert row[:2] == [b"client|setname", 3]


def test_docs_have_summary_since_group_and_arguments() -> None:
    client = Client()
    client.ask("HELLO", "3")
    docs = client.ask("COMMAND", "DOCS", "select", "nope")
    assert docs == {
        b"select": {
            b"summary": b"Change the selected database for the current connection",
            b"since": b"1.0.0",
            b"group": b"connection",
            b"complexity": b"O(1)",
            b"arguments": [{b"name": b"index", b"type": b"integer"}],
        }
    }
    everything = client.ask("COMMAND", "DOCS")
    assert len(everything) == len(COMMANDS)
    assert b"client|kill" in everything[b"client"][b"subcommands"]


def test_docs_are_flat_lists_in_resp2() -> None:
    name, facts = Client().ask("COMMAND", "DOCS", "echo")
    assert (name, facts[0]) == (b"echo", b"summary")


def test_list_can_be_filtered() -> None:
    client = Client(make_service(GET, MSET))
    assert b"ping" in client.ask("COMMAND", "LIST")
    assert client.ask("COMMAND", "LIST", "FILTERBY", "PATTERN", "res*t") == [b"reset"]
    written = client.ask("COMMAND", "LIST", "FILTERBY", "ACLCAT", "write")
    assert b"mset" in written
    assert b"get" not in written
    assert client.ask("COMMAND", "LIST", "FILTERBY", "MODULE", "x") == []


def test_keys_are_found_in_a_command() -> None:
    client = Client(make_service(GET, MSET))
    assert client.ask("COMMAND", "GETKEYS", "GET", "a") == [b"a"]
    assert client.ask("COMMAND", "GETKEYS", "MSET", "a", "1", "b", "2") == [b"a", b"b"]
    assert client.ask("COMMAND", "GETKEYS", "ZUNIONSTORE", "t", "2", "a", "b", "x") == [b"t", b"a", b"b"]


ERRORS = [
    (("GETKEYS", "PING", "a"), b"-ERR The command has no key arguments\r\n"),
    (("GETKEYS", "nope", "a"), b"-ERR Invalid command specified\r\n"),
    (("GETKEYS", "GET", "a", "b"), b"-ERR Invalid number of arguments specified for command\r\n"),
    (("GETKEYS", "GET"), b"-ERR wrong number of arguments for 'command|getkeys' command\r\n"),
    (("LIST", "x"), b"-ERR syntax error\r\n"),
    (("LIST", "FILTERBY", "x", "y"), b"-ERR syntax error\r\n"),
    (("COUNT", "x"), b"-ERR wrong number of arguments for 'command|count' command\r\n"),
    (("foo",), b"-ERR unknown subcommand 'foo'. Try COMMAND HELP.\r\n"),
]


@pytest.mark.parametrize(("words", "line"), ERRORS)
def test_mistakes_are_answered_in_redis_words(words: tuple[str, ...], line: bytes) -> None:
    assert Client(make_service(GET)).call("COMMAND", *words) == line
