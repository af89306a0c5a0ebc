"""`onemq schedule`"""

from tests.unit.cli.helpers import Shell


def test_scheduled_messages_are_listed_shown_moved_and_cancelled(shell: Shell) -> None:
    """E5"""
    ids = [shell.json("send", "orders", body, "--delay", delay, "--key", "k")["schedule"]
           for body, delay in (("later", "2h"), ("sooner", "1h"), ("never", "3h"))]  # fmt: skip
    shell.ok("send", "other", "x", "--delay", "1m")
    rows = shell.json("schedule", "list", "--topic", "orders")
    assert [row["body"] for row in rows] == ["sooner", "later", "never"]
    assert [row["body"] for row in shell.json("schedule", "list", "--count", "2")] == ["x", "sooner"]
    header, first, *_ = shell.ok("schedule", "list").splitlines()
    assert header.split() == ["id", "due", "topic", "key", "body"]
    assert first.split()[-1] == "x"
    assert shell.json("schedule", "show", str(ids[0]))["body"] == "later"
    assert "later" in shell.ok("schedule", "show", str(ids[0]))
    shell.ok("schedule", "move", str(ids[0]), "--delay", "30m")
    assert "add --yes" in shell.refused("schedule", "cancel", str(ids[2]))
    assert shell.json("schedule", "cancel", str(ids[2]), "--yes") == {"cancelled": 1}
    assert "no message waits" in shell.refused("schedule", "show", str(ids[2]))
    shell.broker.advance("31m")
    assert [message["body"] for message in shell.lines("tail", "orders")] == ["later"]
    assert [row["body"] for row in shell.json("schedule", "list")] == ["sooner"]


def test_a_move_needs_a_time(shell: Shell) -> None:
    for options in ([], ["--delay", "1h", "--at", "2030-01-01T00:00:00Z"]):
        status, _, err = shell.run("schedule", "move", "1", *options)
        assert (status, "give --delay or --at" in err) == (2, True)
