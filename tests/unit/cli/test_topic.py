"""`onemq topic`"""

from tests.unit.cli.helpers import Shell


def test_a_topic_is_made_shown_changed_and_deleted(shell: Shell) -> None:
    """E5"""
    assert shell.ok("topic", "create", "orders", "--partitions", "2", "--retention", "7d", "--flush", "async",
                    "--compact", "--max-bytes", "1MiB", "--expires", "1h", "--expired", "dead",
                    ) == "topic orders is there\n"  # fmt: skip
    facts = shell.json("topic", "show", "orders")
    assert (facts["name"], facts["partitions"], facts["retention"], facts["flush"]) == ("orders", 2, "7d", "async")
    assert (facts["compact"], facts["max_bytes"], facts["offsets"]) == (True, 1 << 20, [[0, 0], [0, 0]])
    assert (facts["expires"], facts["expired"]) == ("1h", "dead")
    shell.ok("topic", "alter", "orders", "--partitions", "3", "--retention", "none", "--no-compact")
    facts = shell.json("topic", "show", "orders")
    assert (facts["partitions"], facts["retention"], facts["compact"]) == (3, "none", False)
    assert shell.json("topic", "delete", "orders", "nothing", "--yes") == {"deleted": 1}
    assert shell.json("topic", "list") == []
    assert shell.ok("topic", "list") == "none\n"


def test_topics_are_a_table_for_people_and_json_for_programs(shell: Shell) -> None:
    for name in ("orders", "other", "queue"):
        shell.ok("topic", "create", name, "--kind", "queue" if name == "queue" else "stream")
    shell.ok("send", "orders", "x")
    assert [row.split() for row in shell.ok("topic", "list", "--match", "o*").splitlines()] == [
        ["name", "kind", "partitions", "messages", "groups", "dead"],
        ["orders", "stream", "1", "1", "0", "no"],
        ["other", "stream", "1", "0", "0", "no"],
    ]
    assert [row["name"] for row in shell.json("topic", "list")] == ["orders", "other", "queue"]
    shown = shell.ok("topic", "show", "orders")
    assert "retention" in shown
    assert shown.splitlines()[-1].split() == ["0", "0", "1"]


def test_what_makes_no_sense_is_refused(shell: Shell) -> None:
    shell.ok("topic", "create", "orders")
    assert "'orders'" in shell.refused("topic", "create", "orders")
    assert shell.ok("topic", "create", "orders", "--if-not-exists")
    assert "'nothing'" in shell.refused("topic", "show", "nothing")
    assert "PARTITIONS" in shell.refused("topic", "create", "x", "--partitions", "0")
    assert shell.refused("topic", "delete", "orders").endswith("Nothing was changed; add --yes to go ahead.")
    assert shell.json("topic", "list")
    status, _, err = shell.run("topic", "alter", "orders")
    assert (status, "give at least one setting" in err) == (2, True)
