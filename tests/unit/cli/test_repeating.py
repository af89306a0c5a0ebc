"""Messages that repeat, that are sent once, and topics that are traced, from the command line"""

from tests.unit.cli.helpers import Shell


def test_repeating_messages_are_sent_and_listed(shell: Shell) -> None:
    """B9, E5"""
    shell.ok("send", "ticks", "tick", "--every", "1h", "--times", "3")
    shell.ok("send", "mails", "good morning", "--cron", "0 8 * * mon-fri", "--zone", "Europe/Berlin")
    rows = {row["body"]: row for row in shell.json("schedule", "list")}
    assert rows["good morning"]["cron"] == "0 8 * * mon-fri"
    assert rows["tick"]["every"] == "1h"
    assert "0 8 * * mon-fri" in shell.ok("schedule", "list")
    for _ in range(4):
        shell.broker.advance("1h")
    assert [message["body"] for message in shell.lines("tail", "ticks")] == ["tick"] * 3


def test_a_message_with_a_known_key_is_stored_once(shell: Shell) -> None:
    """C14"""
    first = shell.json("send", "orders", "x", "--idempotency-key", "k", "--within", "1h")
    again = shell.json("send", "orders", "x", "--idempotency-key", "k")
    assert (again["duplicate"], again["id"]) == (1, first["id"])
    assert "was known already" in shell.ok("send", "orders", "x", "--idempotency-key", "k")
    assert len(shell.lines("tail", "orders")) == 1


def test_what_happened_to_a_message_is_told(shell: Shell) -> None:
    """A7, E5"""
    shell.ok("topic", "create", "orders", "--trace")
    shell.ok("group", "create", "orders", "points")
    message = shell.json("send", "orders", "x")["id"]
    shell.ok("receive", "orders", "points", "--ack", "--member", "me")
    facts = shell.json("trace", "orders", message)
    assert (facts["id"], facts["body"], facts["traced"]) == (message, "x", True)
    events = [event["event"] for event in facts["events"]]
    assert events[0] == "stored"
    assert len(events) >= 3
    shown = shell.ok("trace", "orders", message)
    assert "events" in shown
    assert "me" in shown
    assert "not a message id" in shell.refused("trace", "orders", "nothing")
    assert "there is no message" in shell.refused("trace", "orders", "1-0-7")
