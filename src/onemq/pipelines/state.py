"""What a streaming pipeline remembers from batch to batch: rows and a few facts, by the number of the batch.

Batch n reads what batch n - 1 left and leaves its own. So a batch that is run again after a crash, with the same
messages, begins with the same state and does the same. Beside Spark's own operators this lets a pipeline see which
rows came too late: those drop them without a word.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from onemq.errors import OneMQError
from onemq.pipelines.files import Files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

KEPT = 2
"""The state of so many batches is kept: the last one, and the one that it may have to be made from again."""


def schema_of(text: str) -> StructType:
    """`identity string, event_ms bigint`"""
    from pyspark.sql.types import StructType

    schema = StructType.fromDDL(text)
    assert isinstance(schema, StructType)
    return schema


class State:
    """The state of one query, below a folder of its own."""

    def __init__(self, spark: SparkSession, folder: str, schema: StructType, what: str) -> None:
        """`what` says what is computed: a query that computes something else cannot go on with the state."""
        self._spark = spark
        self._what = what
        self._schema = schema
        self._files = Files(spark, folder)

    def before(self, batch: int) -> tuple[DataFrame, dict[str, Any]]:
        """The rows and facts with which a batch begins."""
        if batch == 0:
            return self._spark.createDataFrame([], self._schema), {}
        if not self._files.exists(f"{batch - 1}/facts.json"):
            raise OneMQError(
                f"{self._files.url} has no state of batch {batch - 1}: the folder was changed by hand, "
                "or belongs to another query; begin with a new --checkpoint"
            )
        facts = json.loads(self._files.read_text(f"{batch - 1}/facts.json"))
        if facts.pop("what") != self._what:
            raise OneMQError(
                f"{self._files.url} was made with other options (windows, fields, aggregates): "
                "use those, or begin with a new --checkpoint"
            )
        return self._spark.read.schema(self._schema).parquet(self._files.at(f"{batch - 1}/rows")), facts

    def keep(self, batch: int, rows: DataFrame, facts: dict[str, Any]) -> None:
        """What the next batch begins with; called last in a batch."""
        rows.write.mode("overwrite").parquet(self._files.at(f"{batch}/rows"))
        self._files.write_text(f"{batch}/facts.json", json.dumps({**facts, "what": self._what}))
        self._files.delete(str(batch - KEPT))
