"""What tests of the data source share: sending to a broker and reading it with Spark."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession

from pyspark_onemq.connection import Connection
from tests.process import Serve

WAIT_SECONDS_MAX = 120


class Source:
    """A broker and the session that reads it."""

    def __init__(self, spark: SparkSession, broker: Serve) -> None:
        self.spark = spark
        self.servers = f"127.0.0.1:{broker.port}"

    def read(self, **options: str) -> DataFrame:
        return self.spark.read.format("onemq").options(servers=self.servers, **options).load()

    def stream(self, **options: str) -> DataFrame:
        return self.spark.readStream.format("onemq").options(servers=self.servers, **options).load()

    def drain(self, checkpoint: Path, **options: str) -> tuple[list[Row], list[int]]:
        """What a stream reads with Trigger.AvailableNow, and how many rows each of its batches has."""
        rows: list[Row] = []
        sizes: list[int] = []

        def take(batch: DataFrame, number: int) -> None:
            got = batch.collect()
            rows.extend(got)
            sizes.append(len(got))

        writer = self.stream(**options).writeStream.foreachBatch(take).option("checkpointLocation", str(checkpoint))
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(WAIT_SECONDS_MAX), "the query does not end"
        return rows, sizes


def send(connection: Connection, topic: str, bodies: Iterable[Any], *options: str | int) -> None:
    """Sends each body, in order."""
    connection.call_all([("MQ.SEND", topic, str(body), *options) for body in bodies])


def values(rows: Iterable[Row]) -> list[str]:
    """The bodies, sorted."""
    return sorted(row["value"].decode() for row in rows)
