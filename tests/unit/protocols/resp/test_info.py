"""INFO: sections and values that tools read."""

from dataclasses import replace

from onemq import __version__
from onemq.errors import ReadOnly
from onemq.protocols.resp.service import RespService
from tests.unit.protocols.resp.fakes import Client, make_service


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


def test_errors_are_counted_by_their_first_words() -> None:
    client = Client()
    assert client.ask("INFO", "errorstats") == b"# Errorstats\r\n"
    client.ask("SET", "k", "v")
    for line in ("NOPE", "LPUSH k a", "LPOP k", "MULTI", "MULTI", "WATCH a", "NOPE", "EXEC", "MQ.SEND a"):
        client.call(*line.split())
    client.raw(b"NOPE\r\n" * 20 + b"*x\r\n")
    found = sections(Client(client.service).ask("INFO"))
    assert found["Errorstats"] == {
        "errorstat_ERR": "count=26", "errorstat_EXECABORT": "count=1", "errorstat_WRONGTYPE": "count=2"
    }  # fmt: skip
    assert found["Stats"]["total_error_replies"] == "29"


def test_errors_that_come_late_or_in_a_transaction_are_counted_if_they_are_sent() -> None:
    client, other = (Client(service) for service in [make_service()] * 2)
    client.raw(b"BLPOP a 0\r\n")
    assert other.call("CLIENT", "UNBLOCK", "1", "ERROR") == b":1\r\n"
    client.call("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
    other.call("CLIENT", "UNBLOCK", "1", "ERROR")
    client.raw(b"SET k v\r\nMULTI\r\nLPUSH k a\r\nGET k\r\nEXEC\r\n")
    assert client.service.errors == {"UNBLOCKED": 2, "WRONGTYPE": 1}


def test_counters_begin_anew() -> None:
    client = Client()
    client.call("NOPE")
    assert client.call("CONFIG", "RESETSTAT") == b"+OK\r\n"
    found = sections(client.ask("INFO"))
    assert found["Errorstats"] == {}
    assert found["Stats"]["total_commands_processed"] == "1"


def test_what_the_process_knows_of_itself() -> None:
    plain = make_service()
    facts = replace(
        plain.facts, machine_bytes=3 << 30, memory_bytes=lambda: 1 << 20, connections_refused=lambda: 7,
        processor_seconds=lambda: {"process": (1.5, 20.25), "children": (0, 0.5), "thread": (1, 2)},
    )  # fmt: skip
    client = Client(RespService(plain.core, facts))
    found = sections(client.ask("INFO"))
    assert found["CPU"] == {
        "used_cpu_sys": "1.500000", "used_cpu_user": "20.250000",
        "used_cpu_sys_children": "0.000000", "used_cpu_user_children": "0.500000",
        "used_cpu_sys_main_thread": "1.000000", "used_cpu_user_main_thread": "2.000000",
    }  # fmt: skip
    memory = found["Memory"]
    assert (memory["total_system_memory"], memory["total_system_memory_human"]) == (str(3 << 30), "3GiB")
    assert memory["used_memory_peak_perc"] == "33.33%"
    assert found["Stats"]["rejected_connections"] == "7"
    client.call("CONFIG", "RESETSTAT")
    assert sections(client.ask("INFO"))["Stats"]["rejected_connections"] == "0"


def test_what_is_not_known_is_left_out() -> None:
    found = sections(Client().ask("INFO"))
    assert found["CPU"] == {}
    assert "total_system_memory" not in found["Memory"]
    for word in ("commandstats", "latencystats"):
        assert Client().ask("INFO", word) == b""


def test_it_is_verbatim_text_in_resp3() -> None:
    client = Client()
    client.ask("HELLO", "3")
    assert client.call("INFO", "cluster") == b"=34\r\ntxt:# Cluster\r\ncluster_enabled:0\r\n\r\n"
