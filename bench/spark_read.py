"""Spark reads topics: how fast, how soon, and how many of them.

Broker, Java and the Python workers share the machine. Spark's own read of the same rows from Parquet is the limit.
"""

import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import quantiles
from typing import TYPE_CHECKING, Any

from bench.report import Result
from bench.spark_write import measured
from onemq.log.batch_builder import BatchBuilder
from onemq.log.records import NO_HEADERS
from onemq.pipelines.session import session
from pyspark_onemq.connection import Connection
from tests.process import Serve

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS, QUICK_ROWS, BODY_BYTES = 5_000_000, 100_000, 200
ROWS_PER_BATCH = 5_000
RUNS = 5
"""Java gets quicker from run to run; the best one counts."""
TARGET_ROWS_PER_SECOND = 1_000_000
TOPICS, QUICK_TOPICS, TARGET_START_S = 1_000, 50, 20
SAMPLES, QUICK_SAMPLES, PAUSE_S = 300, 20, 0.1


def read(parent: str | None, quick: bool) -> Iterator[Result]:
    """One large topic, many small ones, and single messages."""
    spark = session("local[2]", "bench", {"spark.driver.memory": "2g"})
    with tempfile.TemporaryDirectory(prefix="onemq-", dir=parent) as folder, Serve(Path(folder) / "data") as serve:
        serve.wait_until_serving()
        with Connection(f"127.0.0.1:{serve.port}") as connection:
            yield from _large(spark, serve, connection, folder, QUICK_ROWS if quick else ROWS)
            yield from _many(spark, serve, connection, folder, QUICK_TOPICS if quick else TOPICS)
            yield from _soon(spark, serve, connection, folder, QUICK_SAMPLES if quick else SAMPLES)
    spark.stop()


def _large(
    spark: "SparkSession", serve: Serve, connection: Connection, folder: str, rows: int
) -> Iterator[Result]:
    _fill(connection, "warm", QUICK_ROWS)
    _fill(connection, "orders", rows)
    _aggregate(_topic(spark, serve, subscribe="warm"), QUICK_ROWS)
    frame = _topic(spark, serve, subscribe="orders")
    files = f"{folder}/rows"
    frame.write.parquet(files)
    yield _best(serve, rows, frame, "spark read, all columns", TARGET_ROWS_PER_SECOND)
    some = _topic(spark, serve, subscribe="orders", columns="value,offset")
    yield _best(serve, rows, some, "spark read, columns value and offset", None)
    yield _best(serve, rows, spark.read.parquet(files), "Spark's own read of the same rows from Parquet", None)


def _best(serve: Serve, rows: int, frame: "DataFrame", name: str, target: float | None) -> Result:
    runs = [measured(serve, rows, lambda: _aggregate(frame, rows), name, target) for _ in range(RUNS)]
    return max(runs, key=lambda each: each.value)


def _fill(connection: Connection, topic: str, rows: int) -> None:
    connection.call("MQ.TOPIC", "CREATE", topic, "FLUSH", "ASYNC")
    for first in range(0, rows, ROWS_PER_BATCH):
        builder = BatchBuilder(0, 0)
        for number in range(first, first + ROWS_PER_BATCH):
            builder.add(0, b"%d" % (number % 100_000), (b"%d" % number).ljust(BODY_BYTES, b"x"), NO_HEADERS)
        connection.call("MQ.APPEND", topic, 0, builder.seal())


def _topic(spark: "SparkSession", serve: Serve, **options: str) -> "DataFrame":
    return spark.read.format("onemq").options(servers=f"127.0.0.1:{serve.port}", **options).load()


def _aggregate(frame: "DataFrame", rows: int) -> None:
    row = frame.selectExpr("count(*)", "sum(length(value))", "max(offset)").collect()[0]
    assert tuple(row) == (rows, rows * BODY_BYTES, rows - 1), row


def _many(spark: "SparkSession", serve: Serve, connection: Connection, folder: str, topics: int) -> Iterator[Result]:
    """From the start of a query until the rows of all topics are there."""
    connection.call_all([("MQ.SEND", f"small.{number}", "x") for number in range(topics)])
    begun = time.monotonic()
    options = {"servers": f"127.0.0.1:{serve.port}", "subscribePattern": "small[.].*", "startingOffsets": "earliest"}
    frame = spark.readStream.format("onemq").options(**options).load()
    writer = frame.writeStream.format("memory").queryName("small").option("checkpointLocation", f"{folder}/small")
    query = writer.start()
    query.processAllAvailable()
    seconds = time.monotonic() - begun
    query.stop()
    assert spark.table("small").count() == topics
    yield Result(f"a query over {topics:,} topics has all rows", seconds, "s", TARGET_START_S, False)


def _soon(spark: "SparkSession", serve: Serve, connection: Connection, folder: str, samples: int) -> Iterator[Result]:
    """From sending a message until a sink has it, with the default trigger."""
    connection.call("MQ.TOPIC", "CREATE", "clock")
    took: list[float] = []
    done = threading.Event()

    def take(batch: "DataFrame", number: int) -> None:
        rows: list[Any] = batch.select("value").collect()
        now = time.time()
        took.extend(now - float(row["value"]) for row in rows)
        if len(took) >= samples:
            done.set()

    options = {"servers": f"127.0.0.1:{serve.port}", "subscribe": "clock", "startingOffsets": "earliest"}
    frame = spark.readStream.format("onemq").options(**options).load()
    query = frame.writeStream.foreachBatch(take).option("checkpointLocation", f"{folder}/clock").start()
    while not done.is_set():
        connection.call("MQ.SEND", "clock", repr(time.time()))
        done.wait(PAUSE_S)
    query.stop()
    steady = took[len(took) // 10 :]  # without the first ones, which wait for the query to start
    cuts = quantiles(steady, n=100)
    yield Result("from send to sink, default trigger, median", cuts[49] * 1000, "ms", None, False)
    yield Result("from send to sink, default trigger, p99", cuts[98] * 1000, "ms", None, False)
