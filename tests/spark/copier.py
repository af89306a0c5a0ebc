"""A streaming query as a program of its own, so that tests can kill it: files of rows to a topic, one file at a time.

It fails and dies where it is told to. A task of every batch fails at its first attempt, after it has staged rows.
`--die` names steps such as `staged:2`, `committed:4`: there the driver kills itself, once, with SIGKILL.
"""

import argparse
import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from pyspark_onemq.writer import StreamWriter

DRIVER, MARKS, DEATHS = "COPIER_DRIVER", "COPIER_MARKS", "COPIER_DEATHS"


class FrailWriter(StreamWriter):
    """The sink, in a world that ends at certain steps."""

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        message = super().write(iterator)
        task = TaskContext.get()
        assert task is not None
        if task.partitionId() == 0 and task.attemptNumber() == 0:
            raise RuntimeError("the first attempt fails when it has staged everything")
        return message

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        _die(f"staged:{batchId}")
        super().commit(messages, batchId)
        _die(f"committed:{batchId}")


class FrailSink(DataSource):
    """`onemq` for writing."""

    @classmethod
    def name(cls) -> str:
        return "frail"

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        return FrailWriter(self.options, schema)


def _die(step: str) -> None:
    """Kills the driver, Python and Java at once, if it is to die at this step and has not yet."""
    mark = Path(os.environ[MARKS]) / step
    if step in os.environ[DEATHS].split(",") and not mark.exists():
        mark.touch()
        os.killpg(int(os.environ[DRIVER]), signal.SIGKILL)
        os._exit(1)  # workers are a group of their own


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("master", "servers", "source", "topic", "checkpoint", "marks", "die"):
        parser.add_argument(f"--{name}", default="")
    given = parser.parse_args()
    os.environ.update({DRIVER: str(os.getpid()), MARKS: given.marks, DEATHS: given.die})
    builder = SparkSession.builder.master(given.master).config("spark.ui.enabled", "false")
    for name, value in {
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.streaming.pollingDelay": "10ms",
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.dataSource.register(FrailSink)
    rows = spark.readStream.schema("key string, value string").option("maxFilesPerTrigger", 1).json(given.source)
    query = (
        rows.repartition(2, "key").writeStream.format("frail").trigger(availableNow=True)
        .options(servers=given.servers, topic=given.topic, partitions="3", checkpointLocation=given.checkpoint).start()
    )  # fmt: skip
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main()
