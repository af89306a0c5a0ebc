"""The books, on plain DataFrames."""

from datetime import UTC, datetime, timedelta

from pyspark.sql import DataFrame, SparkSession

from onemq.pipelines.books import balance, totals, with_order

SCHEMA = (
    "timestamp timestamp, topic string, partition int, offset bigint, identity string, line string, id string, "
    "resent string, reason string"
)
BEGIN = datetime(2026, 11, 16, 10, tzinfo=UTC)


def rows(spark: SparkSession, topic: str, *identities: str, line: str = "l", resent: str | None = None) -> DataFrame:
    """One message a second. `a#2` is another message of the key `a` with the id 2."""
    found = []
    for offset, text in enumerate(identities):
        identity, _, id = text.partition("#")
        place = (BEGIN + timedelta(seconds=offset), topic, 0, offset)
        found.append((*place, identity, line, id or text, resent, "no stock"))
    return spark.createDataFrame(found, SCHEMA)


def test_every_key_has_one_state_and_what_is_wrong_with_it(spark: SparkSession) -> None:
    sent = rows(spark, "sent", "a", "b", "c", "d", "e", "f", "f#2", "g").unionByName(
        rows(spark, "sent", "g", resent="sent-0-7")
    )
    handled = rows(spark, "handled", "a", "c", "b", "b", "f", "f", "x")
    books = with_order(balance(sent, handled, rows(spark, "dead", "d"), rows(spark, "sent", "e")))
    found = {row["identity"]: row for row in books.collect()}
    assert {name: row["state"] for name, row in found.items()} == {
        "a": "handled", "b": "handled", "c": "handled", "d": "dead", "e": "waiting", "f": "handled", "g": "waiting",
        "x": "unexpected",
    }  # fmt: skip
    assert [name for name, row in sorted(found.items()) if row["duplicated"]] == ["b"]
    assert [name for name, row in sorted(found.items()) if row["repeated"]] == ["f"]
    assert [name for name, row in sorted(found.items()) if row["late"]] == ["b"]
    assert found["d"]["reason"] == "no stock"


def test_totals_and_order_within_lines_only(spark: SparkSession) -> None:
    sent = rows(spark, "sent", "a", "b", line="one").unionByName(rows(spark, "sent", "c", "d", line="two"))
    handled = rows(spark, "handled", "c", "a", "b")
    nothing = sent.where("false")
    assert totals(with_order(balance(sent, handled, nothing, nothing))) == {
        "sent": 4, "handled": 3, "dead": 0, "waiting": 0, "lost": 1, "unexpected": 0, "duplicated": 0, "repeated": 0,
        "out_of_order": 0,
    }  # fmt: skip
