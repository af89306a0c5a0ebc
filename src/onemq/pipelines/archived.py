"""Messages in an archive as a DataFrame."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from onemq.pipelines import bodies
from onemq.pipelines.store import MESSAGES, Archive, Snapshot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


def read(spark: SparkSession, url: str, topics: list[str] | None = None, table: str = MESSAGES) -> DataFrame:
    """The messages of an archive at one moment, whatever is written or compacted meanwhile; `bad_rows` is a table too.

    A query that runs for long may find that a compaction has deleted a file: it fails, and can be repeated.
    """
    archive = Archive.at(spark, url)
    archive.check_there()
    return rows(spark, archive, archive.snapshot(topics), table)


def rows(spark: SparkSession, archive: Archive, snapshot: Snapshot, table: str) -> DataFrame:
    """A table of a snapshot."""
    schema = columns(archive.schema())
    parts = [
        spark.read.schema(schema)
        .option("basePath", archive.files.at(folder))
        .parquet(*(archive.files.at(name) for name in names))
        for folder, names in snapshot.files[table].items()
    ]
    return reduce(lambda left, right: left.unionByName(right), parts or [spark.createDataFrame([], schema)])


def columns(schema: str | None) -> StructType:
    """What the files and the names of their folders hold; with a schema of bodies also what is in those."""
    from pyspark.sql.types import DateType, StringType, StructField, StructType

    from pyspark_onemq.columns import HEADERS, MESSAGE

    fields = [StructField(name, kind) for name, kind in MESSAGE.items() if name != "topic"]
    fields.append(StructField("headers", HEADERS))
    if schema is not None:
        parsed = bodies.nullable(bodies.parse_schema(schema))
        fields += [StructField(bodies.BODY, parsed), StructField(bodies.REASON, StringType())]
    return StructType([*fields, StructField("topic", StringType()), StructField("date", DateType())])
