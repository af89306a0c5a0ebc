"""The tasks of a read, as the driver plans them and Spark hands them to executors."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

from pyspark_onemq.connection import Connection
from pyspark_onemq.options import ReadOptions, Server
from pyspark_onemq.planning import Range

if TYPE_CHECKING:
    import pyarrow


class ReadTask(InputPartition):
    """The ranges of one task, and how they are read. Pickled on the driver."""

    def __init__(self, ranges: list[Range], options: ReadOptions) -> None:
        super().__init__(None)
        self.ranges = ranges
        self.options = options


def connect(server: Server) -> Connection:
    return Connection(server.servers, server.user, server.password)


def tasks_of(ranges: Iterable[list[Range]], options: ReadOptions) -> list[InputPartition]:
    """What Spark hands to executors. A list, as Spark wants it."""
    return [ReadTask(each, options) for each in ranges]


def read(partition: InputPartition) -> "Iterator[pyarrow.RecordBatch]":
    """The rows of one task; on an executor."""
    # Spark has a Python process for each step of the driver. None of them needs Arrow, numpy and pandas, which take two
    # seconds to import.
    from pyspark_onemq.reading import rows

    return rows(partition)
