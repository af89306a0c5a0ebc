"""`onemq pipeline archive`: topics to Parquet under any URL that Hadoop knows, each message exactly once.

Every micro-batch is written to a staging folder and then added by one record (store.py), which also tells up to
which offsets the archive reads. A batch that Spark repeats after a kill finds its record and does nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from onemq.errors import InvalidArgument
from onemq.limits import MIB
from onemq.pipelines import bodies
from onemq.pipelines.broker import Broker, broker
from onemq.pipelines.options import (
    Conf,
    Interval,
    Json,
    Master,
    Once,
    Password,
    Servers,
    User,
    finish,
    run_main,
)
from onemq.pipelines.progress import run_query
from onemq.pipelines.seam import ends_in_checkpoint, offsets_after
from onemq.pipelines.session import check_installed, opened
from onemq.pipelines.store import BAD_ROWS, CHECKPOINT, MESSAGES, Archive, Ends, Record
from onemq.pipelines.summary import Summary
from onemq.units import parse_bytes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation, SparkSession
    from pyspark.sql.types import StructType

    from pyspark_onemq.catalog import Extent

FILE_BYTES = 128 * MIB
FileSize = Annotated[str | None, typer.Option(metavar="SIZE", help="Of a file, about.  [128MiB]")]
BATCH_ROWS = 1_000_000
PLACE = ("table", "topic", "date")
"""The columns that name the folder of a row."""
_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.adaptive.enabled": "true",
}
"""Of the session that Spark makes for the batches of a query, whatever the caller's session has."""


@dataclass(slots=True)
class Counts:
    """What one run has added."""

    messages: int = 0
    bad_rows: int = 0
    files: int = 0

    def add(self, record: Record, seen: Observation) -> None:
        """A batch; of one without rows Spark observes nothing."""
        if record.adds:
            counted = seen.get
            self.messages += counted["all"] - counted["bad"]
            self.bad_rows += counted["bad"]
            self.files += len(record.adds)


def run(
    spark: SparkSession,
    broker: Broker,
    url: str,
    topics: Sequence[str] = (),
    *,
    pattern: str | None = None,
    schema: str | None = None,
    file_bytes: int = FILE_BYTES,
    batch_rows: int = BATCH_ROWS,
    group: str | None = None,
    fail_on_data_loss: bool = True,
    once: bool = True,
    interval: str | None = None,
) -> Summary:
    """Archives topics, by name or by a regular expression, from their first message on.

    Called again it goes on where it was. `schema` is for JSON bodies: bodies that do not fit it go to the side table.
    """
    begun = time.monotonic()
    found = find(broker, topics, pattern)
    archive = Archive.at(spark, url)
    schema = archive.prepare(schema)
    parsed = bodies.parse_schema(schema) if schema is not None else None
    archive.finish_batches()
    rows = broker.read_stream(
        spark,
        subscribe=",".join(topics) or None,
        subscribePattern=pattern,
        startingOffsets=_first_offsets(archive, found),
        maxOffsetsPerTrigger=batch_rows,
        includeHeaders=True,
        group=group,
        failOnDataLoss=fail_on_data_loss,
    ).load()
    counts = Counts()
    writer = rows.writeStream.foreachBatch(_adder(archive, parsed, file_bytes, counts))
    writer = writer.queryName(f"archive to {archive.url}").option("checkpointLocation", archive.files.at(CHECKPOINT))
    progress = run_query(writer, "archive", once, interval)
    return _summary(archive, counts, progress.batches, time.monotonic() - begun)


def _adder(
    archive: Archive, schema: StructType | None, file_bytes: int, counts: Counts
) -> Callable[[DataFrame, int], None]:
    """What Spark calls with each micro-batch, on the driver."""

    def add(rows: DataFrame, batch: int) -> None:
        query = json.loads(archive.files.read_text(f"{CHECKPOINT}/metadata"))["id"]
        newest = archive.newest_batch()
        if newest is not None and newest.query == query and newest.batch is not None and newest.batch >= batch:
            return
        staging = archive.stage("b")
        seen = write_staged(rows, schema, archive.files.at(staging), file_bytes)
        record = archive.commit_batch(staging, query, batch, _ends_of(archive, batch))
        counts.add(record, seen)

    return add


def write_staged(rows: DataFrame, schema: StructType | None, url: str, file_bytes: int) -> Observation:
    """Writes rows by table, topic and date, in files of about that size. Returns what will tell `all` and `bad`."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    for name, value in _SETTINGS.items():
        rows.sparkSession.conf.set(name, value)
    rows.sparkSession.conf.set("spark.sql.adaptive.advisoryPartitionSizeInBytes", str(file_bytes))
    seen = Observation()
    (
        _placed(rows, schema)
        .observe(seen, F.count(F.lit(1)).alias("all"), F.count_if(F.col("table") == BAD_ROWS).alias("bad"))
        .hint("rebalance", *map(F.col, PLACE))
        .sortWithinPartitions(*PLACE, "partition", "offset")
        .write.partitionBy(*PLACE)
        .parquet(url)
    )
    return seen


def _placed(rows: DataFrame, schema: StructType | None) -> DataFrame:
    """With the columns that say where a row belongs."""
    from pyspark.sql import functions as F

    if schema is None:
        table = F.lit(MESSAGES)
    else:
        rows = bodies.with_body(rows, schema)
        table = F.when(F.col(bodies.REASON).isNull(), MESSAGES).otherwise(BAD_ROWS)
    return rows.withColumns({"table": table, "date": F.to_date("timestamp")})


def find(broker: Broker, topics: Sequence[str], pattern: str | None) -> list[Extent]:
    """What the broker has of the topics. Raises `OneMQError` if one of them is not there, or the broker is not."""
    if bool(topics) == (pattern is not None):
        raise InvalidArgument("which topics? name them, or give a --pattern, and not both")
    from pyspark_onemq.catalog import extents
    from pyspark_onemq.options import Topics

    with broker.connect() as connection:
        return extents(connection, Topics(names=tuple(topics), pattern=pattern))


def _first_offsets(archive: Archive, found: list[Extent]) -> str:
    """Where a query without a checkpoint begins: after what the archive has already."""
    newest = archive.newest_batch()
    if newest is None or archive.files.exists(f"{CHECKPOINT}/metadata"):
        return "earliest"
    return json.dumps(offsets_after(newest.ends, found))


def _ends_of(archive: Archive, batch: int) -> Ends:
    return ends_in_checkpoint(archive.files.read_text(f"{CHECKPOINT}/offsets/{batch}"))


def _summary(archive: Archive, counts: Counts, batches: int, seconds: float) -> Summary:
    newest = archive.newest_batch()
    rows = [
        {"topic": topic, "partition": int(number), "archived_up_to": end}
        for topic, each in sorted((newest.ends if newest else {}).items())
        for number, end in sorted(each["partitions"].items(), key=lambda item: int(item[0]))
    ]
    facts = {
        "archive": archive.url,
        "messages": counts.messages,
        "bad_rows": counts.bad_rows,
        "files": counts.files,
        "batches": batches,
        "seconds": round(seconds, 1),
    }
    return Summary("archive", facts, {"topics": rows})


def file_size_bytes(text: str | None) -> int:
    """Raises `InvalidArgument`."""
    try:
        return FILE_BYTES if text is None else max(1, parse_bytes(text))
    except ValueError as problem:
        raise InvalidArgument(f"--file-size: {problem}") from None


def command(
    to: Annotated[str, typer.Option("--to", metavar="URL", help="Where: a folder, or hdfs:, s3a: and others.")],
    topics: Annotated[list[str] | None, typer.Argument(metavar="TOPIC...", help="Names of topics.")] = None,
    pattern: Annotated[str | None, typer.Option(metavar="REGEX", help="All topics whose names it fits.")] = None,
    schema: Annotated[
        str | None,
        typer.Option(metavar="DDL", help="Of JSON bodies: 'orderno BIGINT NOT NULL, city STRING'; misfits go aside."),
    ] = None,
    file_size: FileSize = None,
    batch_rows: Annotated[int, typer.Option(metavar="N", help="Messages in a batch, at most.")] = BATCH_ROWS,
    group: Annotated[
        str | None, typer.Option(metavar="GROUP", help="Under this name the broker shows how far it is.")
    ] = None,
    fail_on_data_loss: Annotated[
        bool, typer.Option(help="Stop if messages are gone before they were archived, or go on after them.")
    ] = True,
    once: Once = True,
    interval: Interval = None,
    servers: Servers = None,
    user: User = None,
    password: Password = None,
    master: Master = None,
    conf: Conf = None,
    as_json: Json = False,
) -> None:
    """Archives topics to Parquet, each message exactly once, from the first one on. Again: goes on where it was."""
    check_installed()
    there, file_bytes = broker(servers, user, password), file_size_bytes(file_size)
    find(there, topics or (), pattern)
    with opened(master, "onemq archive", conf) as spark:
        summary = run(
            spark, there, to, topics or (), pattern=pattern, schema=schema,
            file_bytes=file_bytes, batch_rows=batch_rows, group=group,
            fail_on_data_loss=fail_on_data_loss, once=once, interval=interval,
        )  # fmt: skip
    finish(summary, as_json)


def main(argv: Sequence[str] | None = None) -> None:
    """`python -m onemq.pipelines.archive`, or under spark-submit."""
    run_main(command, argv)


if __name__ == "__main__":
    main()
