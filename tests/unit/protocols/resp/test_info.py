"""INFO: sections and values that tools read."""

from onemq import __version__
from onemq.errors import ReadOnly
from tests.unit.protocols.resp.fakes import Client


def sections(text: bytes) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for line in text.decode().split("\r\n"):
        if line.startswith("# "):
            found[line[2:]] = current = {}
        elif line:
            key, _, value = line.partition(":")
            current[key] = value
    return found


def test_all_sections_without_arguments_and_by_their_common_names() -> None:
    client = Client()
    everything = sections(client.ask("INFO"))
    assert list(everything)[:3] == ["Server", "Clients", "Memory"]
    for name in ("all", "default", "EVERYTHING"):
        assert list(sections(client.ask("INFO", name))) == list(everything)


def test_the_server_tells_both_versions_and_how_long_it_runs() -> None:
    server = sections(Client().ask("INFO", "server"))["Server"]
    expected = {"redis_version": "7.0.15", "onemq_version": __version__, "process_id": "77", "tcp_port": "6379"}
    assert {key: server[key] for key in expected} == expected
    assert (server["uptime_in_seconds"], server["config_file"]) == ("90", "/etc/onemq.toml")


def test_some_sections_by_name_in_our_order_and_unknown_ones_left_out() -> None:
    assert list(sections(Client().ask("INFO", "STATS", "clients", "nope"))) == ["Clients", "Stats"]
    assert Client().ask("INFO", "nope") == b""


def test_numbers_of_the_core_have_a_section_of_their_own() -> None:
    client = Client()
    client.ask("XADD", "stream", "*", "field", "value")
    core = sections(client.ask("INFO", "onemq"))["OneMQ"]
    assert core == {name: str(value) for name, value in client.service.core.stats().items()}
    assert core["messages"] == "1"


def test_connections_and_commands_are_counted() -> None:
    client = Client()
    client.raw(b"PING\r\n" * 5)
    found = sections(client.ask("INFO"))
    assert found["Stats"]["total_connections_received"] == "1"
    assert found["Stats"]["total_commands_processed"] == "6"
    assert found["Clients"]["maxclients"] == "50"


def test_a_broker_that_cannot_write_says_why_on_one_line() -> None:
    client = Client()
    client.service.core.stage.refusal = ReadOnly("the disk\nfailed")
    found = sections(client.ask("INFO", "persistence"))["Persistence"]
    assert (found["aof_last_write_status"], found["read_only"]) == ("err", "the disk failed")


def test_it_is_verbatim_text_in_resp3() -> None:
    client = Client()
    client.ask("HELLO", "3")
    assert client.call("INFO", "cluster") == b"=34\r\ntxt:# Cluster\r\ncluster_enabled:0\r\n\r\n"
