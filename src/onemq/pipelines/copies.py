"""Messages that are copied from topic to topic: what stays, and in which order they arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

DEAD = "_dead"
"""The header that makes a dead letter of a message: a copy is none."""


def copied(rows: DataFrame, *more: Column) -> DataFrame:
    """Messages as they are written again: body, key, tag and headers, with more headers behind them."""
    from pyspark.sql import functions as F

    kept = F.filter("headers", lambda each: each["key"] != DEAD)
    headers = F.concat(F.coalesce(kept, F.array().cast("array<struct<key:string,value:binary>>")), F.array(*more))
    return rows.select("value", "key", "tag", headers.alias("headers") if more else kept.alias("headers"))


def in_order(rows: DataFrame) -> DataFrame:
    """Messages of one key in one task, in the order in which they were stored: so they are stored again in that order.
    Those without a key are spread."""
    from pyspark.sql import functions as F

    line = F.when(F.col("key").isNotNull(), F.xxhash64("key")).otherwise(F.xxhash64("partition", "offset"))
    return rows.repartition(line).sortWithinPartitions("partition", "offset")


def header(name: str, value: Column) -> Column:
    """One more header."""
    from pyspark.sql import functions as F

    return F.struct(F.lit(name).alias("key"), value.cast("binary").alias("value"))
