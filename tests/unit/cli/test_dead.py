"""`onemq dead`"""

import pytest
import redis

from tests.unit.cli.helpers import Shell


@pytest.fixture
def dead(shell: Shell) -> Shell:
    """A shell beside a topic of which three messages were rejected."""
    for body in ("one", "two", "three"):
        shell.ok("send", "orders", body, "--key", body, "--tag", "odd" if body == "two" else "even")
    with redis.Redis(port=shell.broker.port) as client:
        client.execute_command("MQ.RECEIVE", "orders", "points", "COUNT", "3")
        client.execute_command("MQ.REJECT", "orders", "points", "0:0-2", "REASON", "no such customer")
    return shell


def ids(shell: Shell) -> list[str]:
    return [row["id"] for row in shell.json("dead", "list", "orders")]


def test_dead_letters_are_listed_with_their_reason(dead: Shell) -> None:
    """E5"""
    header, *rows = dead.ok("dead", "list", "orders", "--count", "2").splitlines()
    assert header.split() == ["id", "at", "group", "deliveries", "reason", "key", "body"]
    assert [row.split()[-2:] for row in rows] == [["one", "one"], ["two", "two"]]
    assert all("no such customer" in row for row in rows)
    letter = dead.json("dead", "show", "orders", ids(dead)[0])
    assert (letter["body"], letter["dead"]["reason"], letter["dead"]["group"]) == ("one", "no such customer", "points")
    assert "no such customer" in dead.ok("dead", "show", "orders", ids(dead)[0])
    assert dead.json("dead", "list", "orders", "--group", "others") == []
    assert "no dead letter nothing" in dead.refused("dead", "show", "orders", "nothing")


def test_dead_letters_are_sent_back(dead: Shell) -> None:
    first, second, third = ids(dead)
    assert dead.json("dead", "replay", "orders", "--dry-run") == {"found": 3, "sent": 0}
    assert dead.refused("dead", "replay", "orders").startswith("Send 3 dead letters back to orders?")
    assert len(ids(dead)) == 3
    assert dead.ok("dead", "replay", "orders", "--id", second, "--yes") == "1 dead letter sent back\n"
    assert ids(dead) == [first, third]
    assert dead.json("dead", "replay", "orders", "--count", "1", "--yes") == {"found": 1, "sent": 1}
    assert ids(dead) == [third]
    taken = dead.lines("receive", "orders", "points", "--count", "9", "--ack")
    assert [(message["id"], message["body"], message["deliveries"]) for message in taken] == [
        (second, "two", 1), (first, "one", 1),
    ]  # fmt: skip


def test_many_dead_letters_are_sent_back_in_rounds(dead: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onemq.cli.dead.ROUND", 2)
    assert dead.json("dead", "replay", "orders", "--yes") == {"found": 3, "sent": 3}
    assert ids(dead) == []
    assert dead.ok("dead", "replay", "orders") == "0 dead letters found\n"


def test_dead_letters_are_removed_for_good(dead: Shell) -> None:
    first, *_ = ids(dead)
    assert dead.json("dead", "purge", "orders", "--dry-run", "--id", first) == {"found": 1, "removed": 0}
    assert dead.refused("dead", "purge", "orders").startswith("Remove 3 dead letters of orders for good?")
    assert dead.json("dead", "purge", "orders", "--id", first, "--yes") == {"found": 1, "removed": 1}
    assert dead.ok("dead", "purge", "orders", "--yes") == "2 dead letters removed\n"
    assert ids(dead) == []


def test_either_a_filter_or_ids(dead: Shell) -> None:
    status, _, err = dead.run("dead", "replay", "orders", "--filter", "x", "--id", "1")
    assert (status, "give either --filter or --id" in err) == (2, True)


def test_what_is_pending_is_listed(shell: Shell) -> None:
    shell.ok("send", "orders", "x")
    with redis.Redis(port=shell.broker.port) as client:
        client.execute_command("MQ.RECEIVE", "orders", "points", "MEMBER", "me")
        client.execute_command("MQ.NACK", "orders", "points", "0:0", "DELAY", "1h", "REASON", "no stock")
        (row,) = shell.json("group", "pending", "orders", "points")
        assert row["receipt"] == "0:0"
        assert row["history"][-1]["reason"] == "no stock"
        assert "no stock" in shell.ok("group", "pending", "orders", "points")
