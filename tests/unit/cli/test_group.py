"""`onemq group`"""

from tests.unit.cli.helpers import Shell


def test_a_group_is_made_shown_changed_and_deleted(shell: Shell) -> None:
    """E5"""
    shell.ok("send", "orders", "x")
    shell.ok("group", "create", "orders", "points", "--from", "last", "--retry", "backoff 1s 2 1m 6", "--dead", "bad",
             "--lease", "30s", "--filter", "tag = 'paid'", "--order", "key", "--assign", "hash", "--once", "header:n",
             "--once-within", "1d")  # fmt: skip
    facts = shell.json("group", "show", "orders", "points")
    assert (facts["retry"], facts["dead"], facts["lease"], facts["lag"]) == ("backoff 1s 2 1m 6", "bad", "30s", 0)
    assert [facts[name] for name in ("filter", "order", "assign", "once", "once_within")] == [
        "tag = 'paid'", "key", "hash", "header n", "1d",
    ]  # fmt: skip
    shell.ok("group", "alter", "orders", "points", "--retry", "ladder", "--lease", "none", "--filter", "paid || new",
             "--once", "none")  # fmt: skip
    facts = shell.json("group", "show", "orders", "points")
    assert (facts["retry"], facts["lease"], facts["filter"], facts["once"]) == ("ladder", "none", "paid || new", "none")
    assert [row["name"] for row in shell.json("group", "list", "orders")] == ["points"]
    assert shell.ok("group", "list", "orders").splitlines()[1].split()[:2] == ["points", "0"]
    assert shell.json("group", "delete", "orders", "points", "--yes") == {"deleted": 1}
    assert shell.ok("group", "list", "orders") == "none\n"


def test_a_group_is_moved(shell: Shell) -> None:
    for body in ("one", "two", "three"):
        shell.ok("send", "orders", body)
    shell.ok("group", "create", "orders", "points")

    def lag() -> int:
        return int(shell.json("group", "show", "orders", "points")["lag"])

    assert lag() == 3
    assert shell.ok("group", "seek", "orders", "points", "last") == "group points of orders goes on at last\n"
    assert lag() == 0
    shell.ok("group", "seek", "orders", "points", "@1", "--partition", "0")
    assert lag() == 2
    shell.ok("group", "seek", "orders", "points", "2020-01-01T00:00:00Z")
    assert lag() == 3
    shell.ok("group", "seek", "orders", "points", "last")
    assert "add --yes" in shell.refused("group", "reset", "orders", "points")
    shell.ok("group", "reset", "orders", "points", "--yes")
    assert lag() == 3
    assert "add --yes" in shell.refused("group", "delete", "orders", "points")


def test_what_makes_no_sense_is_refused(shell: Shell) -> None:
    shell.ok("topic", "create", "orders")
    assert "RETRY" in shell.refused("group", "create", "orders", "points", "--retry", "sometimes")
    assert "'points'" in shell.refused("group", "show", "orders", "points")
    for arguments in (["alter", "orders", "points"], ["create", "orders", "points", "--once-within", "1d"]):
        status, _, err = shell.run("group", *arguments)
        assert (status, "Usage" in err) == (2, True)
