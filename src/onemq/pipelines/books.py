"""The books: for each business key what was sent and what became of it, as one DataFrame.

    sent       how many different messages were sent
    handled    how often it was handled
    dead       how many dead letters there are
    open       how many are not acknowledged yet, or were sent again and are under way

| state | when |
|---|---|
| `lost` | sent, and nothing is known of it on the other side |
| `handled` | handled, once or more often |
| `dead` | not handled, and a dead letter |
| `waiting` | not handled, and still to be: a group has it before it, or it was sent again |
| `unexpected` | handled, and never sent |

Beside its state a key may be `duplicated` (handled more often than sent), `repeated` (sent more than once) and
`late` (out of order: handled after one that was sent later, of the same line).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

COUNTS = ("sent", "handled", "dead", "open")


def balance(sent: DataFrame, handled: DataFrame, dead: DataFrame, still_open: DataFrame) -> DataFrame:
    """The books: one row for each `identity`.

    All four have the columns `identity`, `line`, `id`, `resent`, and the place `timestamp`, `topic`, `partition`,
    `offset`; `dead` has `reason`, too. Messages of `sent` that were sent again count as open. Rows without an identity
    are not counted here.
    """
    from pyspark.sql import functions as F

    again = F.when(F.col("resent").isNull(), "sent").otherwise("open")
    rows = _entries(sent, again).unionByName(_entries(handled, F.lit("handled")))
    rows = rows.unionByName(_entries(dead, F.lit("dead"), F.col("reason")))
    rows = rows.unionByName(_entries(still_open, F.lit("open")))
    books = (
        rows.where("identity IS NOT NULL")
        .groupBy("identity")
        .agg(
            F.size(F.collect_set(F.when(F.col("kind") == "sent", F.col("id")))).alias("sent"),
            *(F.count_if(F.col("kind") == name).alias(name) for name in COUNTS[1:]),
            *(F.min(F.when(F.col("kind") == name, F.col("place"))).alias(f"{name}_at") for name in ("sent", "handled")),
            F.min_by("line", F.when(F.col("kind") == "sent", F.col("place"))).alias("line"),
            F.min("reason").alias("reason"),
        )
    )
    return books.withColumns({
        "state": _state(),
        "duplicated": (F.col("handled") > F.greatest("sent", F.lit(1))) & (F.col("sent") > 0),
        "repeated": F.col("sent") > 1,
    })  # fmt: skip


def with_order(books: DataFrame) -> DataFrame:
    """The books with `late`: of messages on one line, those that were handled after one that was sent later."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    both = (F.col("sent") > 0) & (F.col("handled") > 0) & F.col("line").isNotNull()
    line = Window.partitionBy(F.when(both, F.col("line")), both)
    sent_place = F.row_number().over(line.orderBy("sent_at"))
    before = line.orderBy("handled_at").rowsBetween(Window.unboundedPreceding, -1)
    placed = books.withColumn("sent_place", sent_place)
    return placed.withColumn(
        "late", both & F.coalesce(F.max("sent_place").over(before) > F.col("sent_place"), F.lit(False))
    )


def _entries(rows: DataFrame, kind: Column, reason: Column | None = None) -> DataFrame:
    """Messages as lines of the books."""
    from pyspark.sql import functions as F

    why = F.lit(None).cast("string") if reason is None else reason
    place = F.struct("timestamp", "topic", "partition", "offset").alias("place")
    return rows.select("identity", kind.alias("kind"), "id", "line", place, why.alias("reason"))


def _state() -> Column:
    from pyspark.sql import functions as F

    return (
        F.when(F.col("sent") == 0, F.when(F.col("handled") > 0, "unexpected").otherwise("other"))
        .when(F.col("handled") > 0, "handled")
        .when(F.col("open") > 0, "waiting")
        .when(F.col("dead") > 0, "dead")
        .otherwise("lost")
    )


def totals(books: DataFrame) -> dict[str, int]:
    """How many keys are in each state, and how many have what shall not be."""
    from pyspark.sql import functions as F

    states = ("handled", "dead", "waiting", "lost", "unexpected")
    counts: dict[str, Column] = {"sent": F.count_if(F.col("sent") > 0)}
    counts |= {state: F.count_if(F.col("state") == state) for state in states}
    counts |= {"duplicated": F.count_if("duplicated"), "repeated": F.count_if("repeated")}
    counts["out_of_order"] = F.count_if("late") if "late" in books.columns else F.lit(None)
    row: Any = books.agg(*(count.alias(name) for name, count in counts.items())).first()
    return {name: row[name] for name in counts}
