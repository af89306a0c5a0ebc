"""window, reconcile, drain, dead-letters and dedupe from end to end, on a real broker."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from onemq.errors import OneMQError
from onemq.pipelines import dead_letters, dedupe, drain, reconcile, window
from onemq.pipelines.broker import Broker
from onemq.pipelines.outlet import parse_outlet
from onemq.pipelines.reconcile import Request
from onemq.pipelines.sides import parse_side
from onemq.pipelines.state import State
from onemq.pipelines.windows import Plan, Shape, parse_aggregate
from pyspark_onemq.connection import Connection
from tests.process import Serve


@pytest.fixture
def mq(broker: Serve) -> Broker:
    return Broker(f"127.0.0.1:{broker.port}")


def send(connection: Connection, topic: str, bodies: list[dict[str, Any]], key: str | None = None) -> None:
    for body in bodies:
        words = ["KEY", str(body[key])] if key is not None else []
        connection.call("MQ.SEND", topic, json.dumps(body), *words)


def bodies(connection: Connection, topic: str) -> list[dict[str, Any]]:
    return [json.loads(each["body"]) for each in messages(connection, topic)]


def messages(connection: Connection, topic: str) -> list[dict[str, Any]]:
    found = []
    for partition, start, end, *_ in connection.call("MQ.OFFSETS", topic):
        if end > start:
            found += connection.call("MQ.READ", topic, "PARTITION", partition, "OFFSET", start, "COUNT", 10_000)
    return found


def failing_once(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> None:
    """Lets a method fail when it is called first, as if the program had died there."""
    method, calls = getattr(owner, name), []

    def fail_first(self: object, *words: Any) -> Any:
        calls.append(words)
        if len(calls) == 1:
            raise RuntimeError("killed here")
        return method(self, *words)

    monkeypatch.setattr(owner, name, fail_first)


def test_windows_are_written_once_and_late_messages_are_kept(
    spark: SparkSession, mq: Broker, connection: Connection, tmp_path: Path
) -> None:
    """F4"""
    plan = Plan(Shape(60_000, 60_000), "at", ["shop"], [parse_aggregate("sum(amount)")])
    options: dict[str, Any] = {
        "checkpoint": str(tmp_path / "checkpoint"), "delay_ms": 30_000, "to": parse_outlet("topic:minutes"),
        "late": parse_outlet("topic:late"),
    }  # fmt: skip
    day = "2026-11-16T10:"
    send(
        connection,
        "sales",
        [{"at": f"{day}00:10Z", "shop": "x", "amount": 1}, {"at": f"{day}00:50Z", "shop": "x", "amount": 2}],
    )
    send(connection, "sales", [{"at": f"{day}01:40Z", "shop": "y", "amount": 4}, {"at": "?", "shop": "y", "amount": 8}])
    summary = window.run(spark, mq, "sales", plan, **options)
    assert {name: summary.facts[name] for name in ("messages", "windows_closed", "late", "without_a_time")} == {
        "messages": 4, "windows_closed": 1, "late": 0, "without_a_time": 1,
    }  # fmt: skip
    send(
        connection,
        "sales",
        [{"at": f"{day}00:20Z", "shop": "x", "amount": 16}, {"at": f"{day}01:50Z", "shop": "y", "amount": 32}],
    )
    send(connection, "sales", [{"at": f"{day}02:30Z", "shop": "y", "amount": 64}])
    again = window.run(spark, mq, "sales", plan, **options)
    assert (again.facts["messages"], again.facts["windows_closed"], again.facts["late"]) == (3, 1, 1)
    assert [(each["shop"], each["count"], each["sum_amount"]) for each in bodies(connection, "minutes")] == [
        ("x", 2, 3.0), ("y", 2, 36.0),
    ]  # fmt: skip
    late = messages(connection, "late")
    assert [json.loads(each["body"])["amount"] for each in late] == [8, 16]
    assert {name: str(value, "utf-8") for name, value in late[1]["headers"].items()} == {
        "late-reason": "late", "late-from": "sales-0-4",
    }  # fmt: skip
    with pytest.raises(Exception, match="other options"):
        send(connection, "sales", [{"at": f"{day}09:00Z"}])
        window.run(spark, mq, "sales", Plan(Shape(5_000, 5_000), "at"), **options)


def test_the_books_tell_what_was_lost_and_it_is_sent_again_once(
    spark: SparkSession, mq: Broker, connection: Connection, tmp_path: Path
) -> None:
    """F5"""
    send(connection, "orders", [{"orderno": number, "customer": number % 2} for number in range(10)], "customer")
    handled = [0, 1, 2, 4, 3, 6, 5, 5, 99]
    send(connection, "points", [{"orderno": number, "customer": number % 2} for number in handled], "customer")
    connection.call("MQ.RECEIVE", "orders", "points", "COUNT", 9, "MEMBER", "m")
    connection.call("MQ.REJECT", "orders", "points", "0:8", "REASON", "no such customer")
    request = Request(
        parse_side("topic:orders"),
        (parse_side("topic:points"),),
        ("orderno",),
        dead=(parse_side("dead:orders/points"),),
    )
    summary = reconcile.run(spark, mq, request, report=str(tmp_path / "report"), resend="orders")
    counts = ("sent", "handled", "dead", "waiting", "lost", "duplicated", "out_of_order", "unexpected", "resent")
    assert [summary.facts[name] for name in counts] == [10, 7, 1, 0, 2, 1, 0, 1, 2]
    assert not summary.is_good
    assert [row["identity"] for row in summary.tables["lost_examples"]] == ["7", "9"]
    assert summary.tables["dead_examples"][0]["reason"] == "no such customer"
    assert json.loads((tmp_path / "report" / "reconcile.json").read_text())["lost"] == 2
    assert (tmp_path / "report" / "reconcile.png").read_bytes().startswith(b"\x89PNG")

    again = reconcile.run(spark, mq, request, resend="orders")
    assert [again.facts[name] for name in counts] == [10, 7, 1, 2, 0, 1, 0, 1, 0]
    resent = messages(connection, "orders")[10:]
    assert [(json.loads(each["body"])["orderno"], each["headers"]) for each in resent] == [
        (7, {"resent-from": b"orders-0-7"}), (9, {"resent-from": b"orders-0-9"}),
    ]  # fmt: skip


def test_what_a_group_has_acknowledged_is_a_side_of_the_books(
    spark: SparkSession, mq: Broker, connection: Connection
) -> None:
    """F5"""
    send(connection, "jobs", [{"job": number} for number in range(6)])
    connection.call("MQ.RECEIVE", "jobs", "workers", "COUNT", 5, "MEMBER", "m")
    connection.call("MQ.ACK", "jobs", "workers", "0:0", "0:2")
    connection.call("MQ.REJECT", "jobs", "workers", "0:3", "REASON", "broken")
    request = Request(parse_side("topic:jobs"), (parse_side("group:jobs/workers"),), ("job",))
    summary = reconcile.run(spark, mq, request)
    counts = ("handled", "dead", "waiting", "lost", "unexpected", "out_of_order")
    assert [summary.facts[name] for name in counts] == [2, 1, 3, 0, 0, None]
    assert summary.is_good


def test_a_backlog_is_spread_over_more_partitions_in_order_and_the_group_moves_on(
    spark: SparkSession, mq: Broker, connection: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F6: also if it dies after it has copied a batch, and before the group knows."""
    connection.call("MQ.TOPIC", "CREATE", "slow", "PARTITIONS", 2)
    send(connection, "slow", [{"n": number, "who": number % 7} for number in range(60)], "who")
    ends = {place[0]: place[2] for place in connection.call("MQ.OFFSETS", "slow")}
    connection.call("MQ.RECEIVE", "slow", "g", "COUNT", 5, "PARTITION", 0, "MEMBER", "m")
    connection.call("MQ.ACK", "slow", "g", "0:0", "0:2")
    with pytest.raises(OneMQError, match="members at work"):
        drain.prepare(mq, "slow", "g", "wide", 3, False)
    connection.close()
    connection.call("PING")
    options: dict[str, Any] = {"checkpoint": str(tmp_path / "checkpoint"), "times": 3, "rate": 10_000, "most": 25}
    failing_once(monkeypatch, drain._Work, "_move")
    with pytest.raises(Exception, match="killed here"):
        drain.run(spark, mq, "slow", "g", "wide", **options)
    summary = drain.run(spark, mq, "slow", "g", "wide", **options)
    assert (summary.facts["copied"], summary.facts["partitions_now"], summary.facts["lag_left"]) == (58, 6, 0)
    found = messages(connection, "wide")
    assert len({each["partition"] for each in found}) > 1
    for who in range(7):
        mine = [json.loads(each["body"])["n"] for each in found if each["key"] == str(who).encode()]
        assert mine == sorted(mine)
    assert len({json.loads(each["body"])["n"] for each in found}) == len(found) == 58
    info = connection.call("MQ.GROUP", "INFO", "slow", "g")
    assert {each["partition"]: each["low"] for each in info["partitions"]} == ends
    assert drain.run(spark, mq, "slow", "g", "wide", checkpoint=str(tmp_path / "other"), times=3).facts["copied"] == 0


def test_dead_letters_are_grouped_chosen_by_sql_and_sent_back_once(
    spark: SparkSession, mq: Broker, connection: Connection
) -> None:
    """F7"""
    send(connection, "parcels", [{"n": number} for number in range(6)])
    connection.call("MQ.RECEIVE", "parcels", "vans", "COUNT", 6, "MEMBER", "m")
    connection.call("MQ.REJECT", "parcels", "vans", "0:0-3", "REASON", "no address")
    connection.call("MQ.REJECT", "parcels", "vans", "0:4-5", "REASON", "too heavy")
    choice = dead_letters.Choice("parcels", where="reason = 'no address' AND get_json_object(value, '$.n') > 0")
    dry = dead_letters.run(spark, mq, dead_letters.Choice("parcels"), replay=True, dry_run=True)
    assert (dry.facts["found"], dry.facts["sent_back"]) == (6, 0)
    assert [(row["reason"], row["letters"]) for row in dry.tables["by_reason"]] == [("no address", 4), ("too heavy", 2)]
    assert dead_letters.run(spark, mq, choice, replay=True, rate=1000).facts == {"found": 3, "sent_back": 3}
    assert dead_letters.run(spark, mq, choice, replay=True).facts == {"found": 0, "sent_back": 0}
    assert [each["n"] for each in bodies(connection, "parcels")[6:]] == [1, 2, 3]
    assert dead_letters.run(spark, mq, dead_letters.Choice("parcels.vans.dead", "vans")).facts == {"found": 3}


def test_repeats_are_left_out_over_batches_and_nothing_else_is(
    spark: SparkSession, mq: Broker, connection: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F9: also if it dies after it has copied a batch, and before it remembers the keys."""
    rows = [("a", 0), ("b", 1), ("a", 5), ("c", 100), ("a", 101), ("b", 8)]
    options: dict[str, Any] = {
        "by": ["id"], "within_ms": 10_000, "time": "at", "checkpoint": str(tmp_path / "checkpoint"), "most": 3,
    }  # fmt: skip
    send(connection, "raw", [{"id": id, "at": 1_794_823_200 + at} for id, at in rows], "id")
    send(connection, "raw", [{"no": "id"}, {"no": "id"}])
    failing_once(monkeypatch, State, "keep")
    with pytest.raises(Exception, match="killed here"):
        dedupe.run(spark, mq, "raw", "clean", **options)
    summary = dedupe.run(spark, mq, "raw", "clean", **options)
    assert [summary.facts[name] for name in ("messages", "copied", "repeats", "without_a_key")] == [8, 6, 2, 2]
    send(connection, "raw", [{"id": "a", "at": 1_794_823_200 + 105}, {"id": "d", "at": 1_794_823_200 + 105}], "id")
    assert dedupe.run(spark, mq, "raw", "clean", **options).facts["copied"] == 1
    assert [each.get("id", "-") for each in bodies(connection, "clean")] == ["a", "b", "c", "a", "-", "-", "d"]
