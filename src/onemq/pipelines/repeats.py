"""Which messages repeat another one of the same business key, on DataFrames.

A message is a repeat if one with the same key came before it by no more than the window. It is compared with the last
one, repeats included: as long as repeats keep coming, they are removed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SEEN = "identity string, event_ms bigint"
"""What is remembered: the last time of each key."""


def repeats(messages: DataFrame, seen: DataFrame, window_ms: int) -> DataFrame:
    """Messages with `is_repeat`. They have `identity` (null: never a repeat), `event_ms`, `partition`, `offset`.

    What was seen counts in both directions: a message that is older than that, but not by more than the window, repeats
    it as well.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    known = seen.select("identity", F.col("event_ms").alias("seen_ms"))
    joined = messages.join(known, "identity", "left")
    line = Window.partitionBy("identity").orderBy("event_ms", "partition", "offset")
    near = F.col("event_ms") - F.lag("event_ms").over(line) <= window_ms
    near_seen = F.abs(F.col("event_ms") - F.col("seen_ms")) <= window_ms
    found = F.coalesce(near, F.lit(False)) | F.coalesce(near_seen, F.lit(False))
    return joined.withColumn("is_repeat", F.col("identity").isNotNull() & found).drop("seen_ms")


def remembered(messages: DataFrame, seen: DataFrame, keep_ms: int) -> DataFrame:
    """What is known of keys after these messages, without what is older than the newest one by more than `keep_ms`."""
    from pyspark.sql import functions as F

    both = seen.unionByName(messages.where("identity IS NOT NULL").select("identity", "event_ms"))
    last = both.groupBy("identity").agg(F.max("event_ms").alias("event_ms"))
    newest = last.agg(F.max("event_ms").alias("newest_ms"))
    return last.join(F.broadcast(newest)).where(F.col("event_ms") >= F.col("newest_ms") - keep_ms).drop("newest_ms")
