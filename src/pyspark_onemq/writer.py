"""Writing rows to topics, each once: tasks stage them as half messages, the driver commits them together.

Who calls what:

    driver    Writer(...)        checks options, schema and broker, before any job starts; pickled for the tasks
    executor  write(batches)     once for each attempt of a task; stages, and returns the names of its transactions
    driver    commit(messages)   of a stream on a writer that is made anew, so everything comes from the messages
    driver    abort(messages)    when the job has failed

The names of transactions say whose they are: `spark.<job>.<batch>.<partition>.<attempt>.<random>.<number>`, where job
is the id of the streaming query, which its checkpoint keeps, or a random one for a batch write. What the driver
commits are the transactions of exactly one attempt of each task. Everything else under that job and batch is rolled
back: failed attempts, speculative ones, those of a driver that died.

The commit of a stream is a unit (query, batch): the broker does it once, also if a driver dies after it and repeats the
batch. A batch write is one if it names a unit itself; else its transactions are enough, whose names are used once.
"""

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StringType, StructType

from onemq.errors import InvalidArgument, OneMQError
from pyspark_onemq.connection import Connection, Refused
from pyspark_onemq.sink_schema import check_schema
from pyspark_onemq.target import Target, Unit, target_of, unit_of, write_options

COMMIT_PATIENCE_S = 600.0
"""How long the driver tries to commit: a commit may move much, and the broker may be restarted meanwhile."""
STREAM_START_PATIENCE_S = 15.0
"""How long a stream that plans its next batch waits for a broker that is gone; the first batch does so, too."""
_PAUSE_S = 0.2
_QUERY_ID, _BATCH_ID = "sql.streaming.queryId", "streaming.sql.batchId"


@dataclass(frozen=True)
class Wrote(WriterCommitMessage):
    """What a task has staged."""

    job: str
    transactions: tuple[str, ...]


class BatchWriter(DataSourceArrowWriter):
    """`df.write.format("onemq").mode("append")`."""

    def __init__(self, options: Mapping[str, str], schema: StructType, overwrite: bool) -> None:
        options = write_options(options, is_stream=False)
        if overwrite:
            raise InvalidArgument("messages are only added to topics: write with mode('append'), not 'overwrite'")
        self._target = _checked_target(options, schema, 0.0)
        self._job = uuid.uuid4().hex
        self._unit = unit_of(options)

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        """On an executor."""
        return Wrote(self._job, _stage(self._target, iterator, _prefix(self._job, 0), 0, self._unit))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """On the driver."""
        with self._target.connect() as connection:
            _commit(connection, messages, self._unit)
            _roll_back(connection, _prefix(self._job, 0))

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """On the driver."""
        with self._target.connect() as connection:
            _roll_back(connection, _prefix(self._job, 0))


class StreamWriter(DataSourceStreamArrowWriter):
    """`df.writeStream.format("onemq")`."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self._target = _checked_target(write_options(options, is_stream=True), schema, STREAM_START_PATIENCE_S)

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        """On an executor."""
        task = TaskContext.get()
        assert task is not None
        job, batch = task.getLocalProperty(_QUERY_ID), task.getLocalProperty(_BATCH_ID)
        if job is None or batch is None:
            raise OneMQError("Spark does not tell its tasks the query and the batch: rows cannot be written once")
        unit = Unit(job, int(batch))
        return Wrote(job, _stage(self._target, iterator, _prefix(job, unit.number), unit.number, unit))

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """On the driver, on a fresh writer for each batch."""
        job = _job_of(messages)
        if job is None:
            return
        with self._target.connect() as connection:
            _commit(connection, messages, Unit(job, batchId))
            _roll_back(connection, _prefix(job, batchId))
            if batchId:  # speculative tasks of the last batch may have ended after its commit
                _roll_back(connection, _prefix(job, batchId - 1))

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """On the driver. Without any message nobody knows the query: the batch that is repeated cleans up then."""
        job = _job_of(messages)
        if job is not None:
            with self._target.connect() as connection:
                _roll_back(connection, _prefix(job, batchId))


def _checked_target(options: Mapping[str, str], schema: StructType, patience_s: float) -> Target:
    target = target_of(options, "value" in schema.fieldNames() and isinstance(schema["value"].dataType, StringType))
    check_schema(schema, target.topic)
    with target.connect(patience_s) as connection:
        if target.topic is not None:
            target.extent(connection, target.topic)
    return target


def _job_of(messages: Sequence[WriterCommitMessage | None]) -> str | None:
    return next((each.job for each in messages if isinstance(each, Wrote)), None)


def _prefix(job: str, batch: int) -> str:
    """Begins the names of all transactions of a batch of a job."""
    return f"spark.{job}.{batch}."


def _stage(target: Target, batches: Iterator[Any], prefix: str, first: int, unit: Unit | None) -> tuple[str, ...]:
    # Only executors need Arrow, numpy and pandas; the driver's Python processes would take two seconds to import them.
    from pyspark_onemq.writing import stage

    return stage(target, batches, prefix, first, unit)


def _commit(connection: Connection, messages: Sequence[WriterCommitMessage | None], unit: Unit | None) -> None:
    """Commits what the tasks staged, in the order of Spark's partitions."""
    names = [name for each in messages if isinstance(each, Wrote) for name in each.transactions]
    words = () if unit is None else ("UNIT", unit.name, unit.number)
    give_up = time.monotonic() + COMMIT_PATIENCE_S
    while names:
        try:
            connection.insist("MQ.TX", "COMMIT", *names, *words, patience_s=COMMIT_PATIENCE_S)
            return
        except Refused as refused:
            if refused.word != "BUSY" or time.monotonic() >= give_up:
                raise
            time.sleep(_PAUSE_S)  # it was interrupted: the same commit again goes on with it


def _roll_back(connection: Connection, prefix: str) -> None:
    """What is left of a job, if the broker can be reached; else the broker forgets it after three days."""
    with suppress(OneMQError):
        connection.call("MQ.TX", "ROLLBACK", "PREFIX", prefix)
