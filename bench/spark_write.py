"""Spark writes a topic exactly once: rows staged by two tasks at a time, committed together.

Broker, Java and the Python workers share the machine, as they do on a laptop. Beside the rate stands what each of them
took of the processors for a row, which a busy machine changes less than the rate.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bench.processors import used
from bench.report import Result
from onemq.pipelines.session import session
from tests.process import Serve

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS, QUICK_ROWS, BODY_BYTES = 2_000_000, 50_000, 200
PARTITIONS, TASKS = 4, 8
TARGET_ROWS_PER_SECOND = 150_000


def write(parent: str | None, quick: bool) -> Iterator[Result]:
    """A batch write with keys, and the same rows as one batch of a stream."""
    rows = QUICK_ROWS if quick else ROWS
    spark = session("local[2]", "bench", {"spark.driver.memory": "2g"})
    with tempfile.TemporaryDirectory(prefix="onemq-", dir=parent) as folder, Serve(Path(folder) / "data") as serve:
        serve.wait_until_serving()
        servers = f"127.0.0.1:{serve.port}"
        _write(_frame(spark, QUICK_ROWS), servers, "warm")
        target = TARGET_ROWS_PER_SECOND
        work = partial(_write, _frame(spark, rows), servers, "batch")
        yield measured(serve, rows, work, "spark write, batch", target)
        for topic, count in (("warm", QUICK_ROWS), ("stream", rows)):
            source = str(Path(folder) / topic)
            _frame(spark, count).write.parquet(source)
            work = partial(_stream, spark, source, servers, topic)
            result = measured(serve, count, work, "spark write, stream", target)
        yield result
        for topic in ("batch", "stream"):
            assert f"messages\r\n:{rows}\r\n".encode() in serve.command(f"MQ.TOPIC INFO {topic}"), topic
    spark.stop()


def _frame(spark: "SparkSession", rows: int) -> "DataFrame":
    return spark.range(0, rows, 1, TASKS).selectExpr(
        "cast(id % 100000 as string) AS key", f"rpad(cast(id as string), {BODY_BYTES}, 'x') AS value"
    )


def _write(frame: "DataFrame", servers: str, topic: str) -> None:
    options = {"servers": servers, "topic": topic, "partitions": str(PARTITIONS)}
    frame.write.format("onemq").mode("append").options(**options).save()


def _stream(spark: "SparkSession", source: str, servers: str, topic: str) -> None:
    frame = spark.readStream.schema("key string, value string").parquet(source)
    options = {"servers": servers, "topic": topic, "partitions": str(PARTITIONS)}
    writing = frame.writeStream.format("onemq").options(checkpointLocation=f"{source}.checkpoint", **options)
    query = writing.trigger(availableNow=True).start()
    query.awaitTermination()


def measured(serve: Serve, rows: int, work: Callable[[], None], name: str, target: float | None) -> Result:
    """Rows a second, and what a row takes of the processors."""
    before, begun = used(serve.pid), time.monotonic()
    work()
    seconds = time.monotonic() - begun
    taken = {who: (now - before.get(who, 0.0)) / rows * 1e6 for who, now in used(serve.pid).items()}
    return Result(name, rows / seconds, "rows/s", target, beside=taken)
