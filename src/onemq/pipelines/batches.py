"""A stream in batches: each is given to a function with a number, and again with the same number after a crash."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from onemq.errors import InvalidArgument
from onemq.pipelines.progress import Progress, run_query
from onemq.units import parse_duration_ms

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Work = Callable[["DataFrame", int, str], None]
"""Takes the messages of a batch, its number, and the name of the unit that its writes belong to: a batch that is run
again has the same number and unit, so what it writes to topics is not written twice."""
QUERY_ID = "sql.streaming.queryId"


class Batches:
    """A streaming DataFrame whose batches are worked on one after the other."""

    def __init__(self, rows: DataFrame, checkpoint: str, pipeline: str) -> None:
        self._rows = rows
        self._checkpoint = checkpoint.rstrip("/")
        self._pipeline = pipeline

    def run(self, work: Work, once: bool, interval: str | None = None) -> Progress:
        """Until the messages that are there now are done (once), or it is interrupted."""

        def one(messages: DataFrame, number: int) -> None:
            query = messages.sparkSession.sparkContext.getLocalProperty(QUERY_ID)
            kept = messages.persist()
            try:
                work(kept, number, f"{self._pipeline}:{query}")
            finally:
                kept.unpersist()

        writer = self._rows.writeStream.foreachBatch(one).option("checkpointLocation", f"{self._checkpoint}/query")
        return run_query(writer, self._pipeline, once, interval)


def duration_ms(text: str) -> int:
    """Milliseconds of a duration on a command line; raises `InvalidArgument`."""
    try:
        return parse_duration_ms(text)
    except ValueError as problem:
        raise InvalidArgument(str(problem)) from None
