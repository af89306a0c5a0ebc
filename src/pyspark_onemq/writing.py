"""What an executor does to write: places rows, seals them into batches and stages those as half messages."""

from collections.abc import Iterator
from typing import Any

from pyspark import TaskContext

from pyspark_onemq.connection import Connection
from pyspark_onemq.placing import Turn
from pyspark_onemq.rows import by_topic, portions, rows_of
from pyspark_onemq.sealing import Route, appends
from pyspark_onemq.staging import Staging
from pyspark_onemq.target import Target, Unit


def stage(target: Target, batches: Iterator[Any], prefix: str, first: int, unit: Unit | None) -> tuple[str, ...]:
    """Stages the rows of a task; returns the names of the transactions, which begin with the prefix. Rows without a key
    begin with the partition `first`, counted on by the tasks."""
    task = TaskContext.get()
    assert task is not None
    with target.connect() as connection:
        if unit is not None and _is_done(connection, unit):
            return ()
        staging = Staging(connection, f"{prefix}{task.partitionId()}.{task.attemptNumber()}.")
        try:
            _put_all(target, connection, staging, batches, task.partitionId() + first)
            return tuple(staging.finish())
        except BaseException:
            staging.abandon()
            raise


def _put_all(target: Target, connection: Connection, staging: Staging, batches: Iterator[Any], first: int) -> None:
    routes: dict[str, Route] = {}
    for portion in portions(batches):
        batched = []
        for topic, rows in by_topic(portion, target.topic):
            if topic not in routes:
                staging.wait()
                routes[topic] = Route(topic, *target.extent(connection, topic), Turn(first))
            batched += appends(rows_of(rows, target.content_type), routes[topic])
        if batched:
            staging.put(batched)


def _is_done(connection: Connection, unit: Unit) -> bool:
    """Whether a driver that died has committed this batch: then nothing needs to be staged."""
    highest = connection.insist("MQ.TX", "UNIT", unit.name)
    return highest is not None and int(highest) >= unit.number
