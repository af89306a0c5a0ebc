"""`onemq sql`: a view for each topic over what is archived and what is at the broker, as one.

Each message is there once: the archive tells up to which offset of each partition it reads, and from there on the
messages come from the broker.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onemq.errors import InvalidArgument, NotFound
from onemq.pipelines import archived, bodies
from onemq.pipelines.broker import Broker, broker
from onemq.pipelines.options import Conf, Json, Master, Password, Servers, User
from onemq.pipelines.seam import offsets_after, still_there
from onemq.pipelines.session import check_installed, opened
from onemq.pipelines.store import TABLES, Archive
from onemq.pipelines.summary import show_rows, to_json

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from pyspark_onemq.catalog import Extent

LIMIT = 1_000
_ATTEMPTS = 3
_GONE = ("FILE_NOT_EXIST", "FileNotFoundException", "PATH_NOT_FOUND")
"""What Spark says of a file that a compaction has deleted since the query was planned."""


def topic_view(
    spark: SparkSession, broker: Broker, topic: str, archive: str | None = None, schema: str | None = None
) -> DataFrame:
    """All messages of a topic, each once: those of the archive, and those at the broker that are not in it.

    With a schema, that of the archive or the given one, a column `body` has the fields of the JSON bodies, and
    `reason` tells of bodies that do not fit. Raises `NotFound` if the topic is in neither place.
    """
    store = Archive.at(spark, archive) if archive is not None else None
    if store is not None:
        store.check_there()
        schema = schema or store.schema()
    snapshot = store.snapshot([topic]) if store is not None else None
    live = _live(spark, broker, topic, snapshot.ends if snapshot is not None else {}, schema)
    parts = [] if live is None else [live]
    if store is not None and snapshot is not None:
        there = [table for table in TABLES if snapshot.files[table]]
        parts += [_checked(archived.rows(spark, store, snapshot, table), schema) for table in there]
    if not parts:
        raise NotFound(f"there is no topic {topic!r}, neither at the broker nor in an archive")
    view = parts[0]
    for part in parts[1:]:
        view = view.unionByName(part)
    return view


def query(
    spark: SparkSession, broker: Broker, text: str, archive: str | None = None, schema: str | None = None
) -> DataFrame:
    """What a SELECT gives, in which topics are tables. A topic's view is made when the query is found to name it."""
    from pyspark.errors import AnalysisException

    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)  # else each missing table is logged by Spark
    session, named = spark.newSession(), set[str]()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    while True:
        try:
            return session.sql(text)
        except AnalysisException as error:
            topic = _missing_table(error)
            if topic is None or topic in named:
                raise
        named.add(topic)
        topic_view(session, broker, topic, archive, schema).createOrReplaceTempView(f"`{topic.replace('`', '``')}`")


def run(
    spark: SparkSession,
    broker: Broker,
    text: str,
    *,
    archive: str | None = None,
    schema: str | None = None,
    limit: int = LIMIT,
) -> tuple[list[str], list[dict[str, Any]]]:
    """The names of the columns, and at most `limit` rows. A compaction meanwhile makes it start again."""
    for attempt in range(_ATTEMPTS):
        try:
            found = query(spark, broker, text, archive, schema)
            return found.columns, [row.asDict(recursive=True) for row in found.limit(limit).collect()]
        except Exception as error:
            if attempt + 1 == _ATTEMPTS or not any(word in str(error) for word in _GONE):
                raise
    raise AssertionError


def _live(spark: SparkSession, broker: Broker, topic: str, ends: Any, schema: str | None) -> DataFrame | None:
    """What the broker has beyond the archive; None if it does not know the topic."""
    found = _extents(broker, topic)
    if not found:
        return None
    offsets = still_there(offsets_after(ends, found), found)
    reader = broker.read(spark, subscribe=topic, startingOffsets=json.dumps(offsets), includeHeaders=True)
    return _checked(reader.load(), schema, anew=True)


def _extents(broker: Broker, topic: str) -> list[Extent]:
    from pyspark_onemq.catalog import extents_of

    with broker.connect() as connection:
        try:
            return extents_of(connection, [topic])
        except NotFound:
            return []


def _checked(rows: DataFrame, schema: str | None, anew: bool = False) -> DataFrame:
    """The columns of a view, in the same order wherever the rows are from."""
    from pyspark.sql import functions as F

    if schema is not None and (anew or bodies.BODY not in rows.columns):
        rows = bodies.with_body(rows, bodies.parse_schema(schema))
    names = ["key", "value", "topic", "partition", "offset", "timestamp", "id", "tag", "headers"]
    more = [bodies.BODY, bodies.REASON] if schema is not None else []
    return rows.select(*names, *more, F.to_date("timestamp").alias("date"))


def _missing_table(error: Any) -> str | None:
    """The table that a query names and nobody knows."""
    if error.getCondition() != "TABLE_OR_VIEW_NOT_FOUND":
        return None
    name = str(error.getMessageParameters()["relationName"])
    if "`.`" in name:
        raise InvalidArgument(f"{name}: a topic whose name has dots is written `{name.replace('`', '')}`")
    return name.removeprefix("`").removesuffix("`").replace("``", "`")


def sql(
    text: Annotated[str, typer.Argument(metavar="SELECT", help="In which topics are tables.")],
    archive: Annotated[
        str | None, typer.Option(metavar="URL", help="Messages that are archived there count too.")
    ] = None,
    schema: Annotated[
        str | None, typer.Option(metavar="DDL", help="Of JSON bodies, for the column body; else that of the archive.")
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", help="At most so many rows.")] = LIMIT,
    servers: Servers = None,
    user: User = None,
    password: Password = None,
    master: Master = None,
    conf: Conf = None,
    as_json: Json = False,
) -> None:
    """Asks topics in SQL: live messages, and with --archive the archived ones too, each once.

    Columns: key, value, topic, partition, offset, timestamp, id, tag, headers, date; with a schema also body, reason.
    """
    check_installed()
    there = broker(servers, user, password)
    there.connect().close()
    with opened(master, "onemq sql", conf) as spark:
        columns, rows = run(spark, there, text, archive=archive, schema=schema, limit=limit)
    if as_json:
        print(to_json(rows))
    else:
        show_rows(rows, columns)
