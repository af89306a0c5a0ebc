"""MQ.* typed into redis-cli, as people do: replies and errors are for them, and hints know every command."""

import json
import subprocess

import pytest

from tests.interop.pair import needs_redis_server

pytestmark = needs_redis_server  # redis-cli comes with it


def typed(port: int, script: str, *options: str) -> str:
    command = ["redis-cli", "-p", str(port), "--no-raw", *options]
    done = subprocess.run(command, input=script, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


SCRIPT = r"""
flushall
mq.topic create orders partitions 2 retention 7d
mq.send orders "{\"orderno\": 10001}" key 10001 tag created partition 0
mq.send orders later delay 1h
mq.receive orders points member me
mq.nack orders points 0:0 delay 0 reason "no stock"
mq.receive orders points member me
mq.ack orders points 0:0
mq.group info orders points
mq.schedule list
mq.schedule cancel 0
mq.topic list
mq.search orders key 10001
mq.dead list orders
mq.ack orders points nonsense
mq.frobnicate
"""


@pytest.mark.parametrize("options", [(), ("-3",)], ids=["RESP2", "RESP3"])
def test_a_session_by_hand(onemq_port: int, options: tuple[str, ...]) -> None:
    printed = typed(onemq_port, SCRIPT, *options)
    assert printed.count("OK\n") == 2
    assert printed.count('"{\\"orderno\\": 10001}"') == 3
    assert '"retry"' in printed
    assert "(error) ERR 'nonsense' is not a receipt: partition:offset, as in 0:42, or for many 0:42-99" in printed
    assert "(error) ERR unknown command 'mq.frobnicate'" in printed
    if options:
        assert '"deliveries" => (integer) 2' in printed


def test_help_is_readable(onemq_port: int) -> None:
    printed = subprocess.run(
        ["redis-cli", "-p", str(onemq_port), "MQ.HELP", "SEND"], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    assert printed.startswith("MQ.SEND topic body [KEY message-key] [TAG tag]")
    assert "Send a message, now or later." in printed


def test_the_hints_know_every_command(onemq_port: int) -> None:
    """redis-cli asks COMMAND DOCS for its hints and its own HELP."""
    printed = subprocess.run(
        ["redis-cli", "-p", str(onemq_port), "--json", "COMMAND", "DOCS", "mq.send", "mq.topic"],
        capture_output=True, text=True, timeout=60, check=True,
    ).stdout  # fmt: skip
    docs = json.loads(printed)
    assert docs["mq.send"]["summary"] == "Send a message, now or later"
    assert {argument["name"] for argument in docs["mq.send"]["arguments"]} >= {"topic", "body", "tag", "when", "header"}
    assert set(docs["mq.topic"]["subcommands"]) == {
        "mq.topic|create", "mq.topic|alter", "mq.topic|info", "mq.topic|list", "mq.topic|delete",
    }  # fmt: skip
