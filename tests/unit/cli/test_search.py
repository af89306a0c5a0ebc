"""`onemq search`, and conditions wherever they are taken"""

import pytest
import redis

from tests.unit.cli.helpers import Shell


@pytest.fixture
def filled(shell: Shell) -> Shell:
    """A shell beside a topic with six messages, one each minute."""
    for number in range(6):
        shell.ok("send", "orders", f"body {number}", "--key", str(number % 2), "--tag", "odd" if number % 2 else "even",
                 "--header", f"number={number}")  # fmt: skip
        shell.broker.advance("1m")
    return shell


def found(shell: Shell, *options: str) -> list[str]:
    return [message["body"].removeprefix("body ") for message in shell.json("search", "orders", *options)]


def test_messages_are_found_by_what_is_known_of_them(filled: Shell) -> None:
    """A6, E5"""
    third = filled.lines("tail", "orders", "--from", "@2")[0]
    assert found(filled) == ["0", "1", "2", "3", "4", "5"]
    assert found(filled, "--id", third["id"]) == ["2"]
    assert found(filled, "--key", "1") == ["1", "3", "5"]
    assert found(filled, "--from", str(third["stored"]), "--count", "2") == ["2", "3"]
    assert found(filled, "--to", str(third["stored"])) == ["0", "1", "2"]
    assert found(filled, "--filter", "tag = 'even' AND number <> '0'") == ["2", "4"]
    assert found(filled, "--newest", "--count", "2") == ["5", "4"]
    assert filled.ok("search", "orders", "--key", "nothing") == ""
    assert filled.ok("search", "orders", "--id", third["id"]).endswith("body 2\n")


def test_following_takes_a_condition(filled: Shell) -> None:
    bodies = [message["body"] for message in filled.lines("tail", "orders", "--filter", "odd", "-n", "6")]
    assert bodies == ["body 1", "body 3", "body 5"]


def test_dead_letters_take_a_condition(filled: Shell) -> None:
    with redis.Redis(port=filled.broker.port) as client:
        client.execute_command("MQ.RECEIVE", "orders", "points", "COUNT", "6")
        client.execute_command("MQ.REJECT", "orders", "points", "0:0-5")
    assert len(filled.json("dead", "list", "orders", "--filter", "odd")) == 3
    assert filled.json("dead", "replay", "orders", "--filter", "odd", "--yes") == {"found": 3, "sent": 3}
    assert filled.json("dead", "purge", "orders", "--filter", "even", "--yes") == {"found": 3, "removed": 3}


def test_a_condition_that_cannot_be_read_is_told(filled: Shell) -> None:
    assert "it ends after character 6" in filled.refused("search", "orders", "--filter", "tag = ")
