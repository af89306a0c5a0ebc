"""`onemq send`, `receive`, `tail`"""

from pathlib import Path

import pytest

from tests.unit.cli.helpers import Shell, typed


def test_a_message_has_what_the_options_say(shell: Shell) -> None:
    """E5"""
    receipt = shell.json("send", "orders", '{"n":1}', "--key", "k", "--tag", "paid", "--header", "a=1",
                         "--header", "b==", "--type", "json", "--expires", "1h", "--reply-to", "answers",
                         "--correlation", "c", "--ordering-key", "o", "--transient",
                         )  # fmt: skip
    (message,) = shell.lines("tail", "orders")
    assert message["id"] == receipt["id"]
    assert (message["topic"], message["partition"], message["offset"]) == ("orders", 0, 0)
    assert (message["body"], message["key"], message["tag"]) == ('{"n":1}', "k", "paid")
    assert message["headers"] == {"a": "1", "b": "="}
    assert (message["reply_to"], message["correlation"]) == ("answers", "c")


def test_a_message_is_one_line_for_people(shell: Shell) -> None:
    shell.ok("send", "orders", "two\nlines \x1b[31m", "--key", "k", "--tag", "paid", "--header", "a=1")
    words = shell.ok("tail", "orders").rstrip("\n").split("  ")
    assert words[1:] == ["0:0", "key=k", "tag=paid", "a=1", "two\\nlines \\x1b[31m"]


def test_lines_of_standard_input_are_messages(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    with typed(monkeypatch, b"one\ntwo\n\n\xff"):
        assert shell.ok("send", "orders", "--tag", "t") == "4 messages sent to orders\n"
    messages = shell.lines("tail", "orders")
    assert [message["body"] for message in messages] == ["one", "two", "", {"base64": "/w=="}]
    assert {message["tag"] for message in messages} == {"t"}
    with typed(monkeypatch, b"x\ny\n"):
        assert [receipt["offset"] for receipt in shell.lines("send", "orders")] == [4, 5]


def test_a_file_is_one_message_or_many(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"one\ntwo\n")
    shell.ok("send", "whole", "--file", str(file))
    shell.ok("send", "parts", "--file", str(file), "--lines")
    with typed(monkeypatch, b"typed\n"):
        shell.ok("send", "whole", "--file", "-")
    assert [message["body"] for message in shell.lines("tail", "whole")] == ["one\ntwo\n", "typed\n"]
    assert [message["body"] for message in shell.lines("tail", "parts")] == ["one", "two"]
    assert "cannot be read" in shell.refused("send", "whole", "--file", str(tmp_path / "none"))


def test_a_delayed_message_comes_when_it_is_due(shell: Shell) -> None:
    shell.ok("topic", "create", "orders")
    assert "waits as" in shell.ok("send", "orders", "later", "--delay", "1h")
    assert shell.lines("tail", "orders") == []
    shell.broker.advance("1h")
    assert [message["body"] for message in shell.lines("tail", "orders")] == ["later"]


def test_receiving_with_ack_takes_and_without_only_looks(shell: Shell) -> None:
    for body in ("one", "two", "three"):
        shell.ok("send", "orders", body)
    look = ("receive", "orders", "points", "--count", "2")
    assert [message["body"] for message in shell.lines(*look)] == ["one", "two"]
    taken = shell.lines(*look, "--ack")
    assert [(message["body"], message["deliveries"]) for message in taken] == [("one", 1), ("two", 1)]
    assert [message["body"] for message in shell.lines("receive", "orders", "points", "--count", "9")] == ["three"]
    assert shell.json("group", "show", "orders", "points")["lag"] == 1


def test_receiving_more_than_fits_into_one_round(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    with typed(monkeypatch, b"".join(b"%d\n" % number for number in range(250))):
        shell.ok("send", "orders")
    bodies = [message["body"] for message in shell.lines("receive", "orders", "points", "--count", "1000", "--ack")]
    assert bodies == [str(number) for number in range(250)]


def test_waiting_ends_when_the_time_is_up(shell: Shell) -> None:
    shell.ok("topic", "create", "orders")
    assert shell.ok("receive", "orders", "points", "--wait", "10ms") == ""


def test_tail_begins_where_it_is_told(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.ok("topic", "create", "orders", "--partitions", "2")

    def bodies(*options: str) -> list[str]:
        return [message["body"] for message in shell.lines("tail", "orders", *options)]

    with typed(monkeypatch, b"".join(b"%d\n" % number for number in range(300))):
        shell.ok("send", "orders", "--partition", "0")
    middle_ms = shell.broker.clock.now_ms + 500
    shell.broker.advance("1s")
    shell.ok("send", "orders", "late", "--partition", "1")
    assert bodies("-n", "2") == ["298", "299", "late"]
    assert bodies("--from", "first") == [*map(str, range(300)), "late"]
    assert bodies("--from", "last") == []
    assert bodies("--from", "@298", "--partition", "0") == ["298", "299"]
    assert bodies("--from", str(middle_ms)) == ["late"]
    assert "no partition 5" in shell.refused("tail", "orders", "--partition", "5")
    assert "'nothing'" in shell.refused("tail", "nothing")


@pytest.mark.parametrize(
    "arguments",
    [["send", "t", "body", "--file", "x"], ["send", "t", "body", "--header", "x"], ["send"], ["receive", "t"]],
)
def test_a_command_line_without_sense_has_status_2(shell: Shell, arguments: list[str]) -> None:
    status, out, err = shell.run(*arguments)
    assert (status, out) == (2, "")
    assert "Usage: onemq" in err
    assert "Traceback" not in err


def test_a_broker_that_is_not_there_is_told(shell: Shell) -> None:
    shell.broker.stop()
    assert "start one with `onemq serve`" in shell.refused("topic", "list")
    assert "no address of a broker" in shell.refused("topic", "list", "--url", "http://x")
    shell.broker.start()
    assert shell.ok("topic", "list", "--url", f"localhost:{shell.broker.port}") == "none\n"
