"""The broker that a pipeline reads from and writes to."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from onemq.client.address import DEFAULT_PORT, parse_address

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, DataFrameWriter, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter

    from pyspark_onemq.connection import Connection

FORMAT = "onemq"
"""The name of the data source, `pyspark_onemq`."""
DEFAULT_SERVERS = f"localhost:{DEFAULT_PORT}"


@dataclass(frozen=True, slots=True)
class Broker:
    """Where it is, and as whom."""

    servers: str = DEFAULT_SERVERS
    """`host:port`, or several with commas."""
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    @property
    def options(self) -> dict[str, str]:
        """As the data source takes them."""
        given = {"servers": self.servers, "user": self.user, "password": self.password}
        return {name: value for name, value in given.items() if value is not None}

    def read(self, spark: SparkSession, **options: object) -> DataFrameReader:
        """A batch reader: `broker.read(spark, subscribe="orders").load()`."""
        return spark.read.format(FORMAT).options(**self.options, **_texts(options))

    def read_stream(self, spark: SparkSession, **options: object) -> DataStreamReader:
        """A stream reader."""
        return spark.readStream.format(FORMAT).options(**self.options, **_texts(options))

    def write(self, rows: DataFrame, **options: object) -> DataFrameWriter:
        """A batch writer: `broker.write(rows, topic="orders").save()`. Everything is there at once, or nothing."""
        return rows.write.format(FORMAT).mode("append").options(**self.options, **_texts(options))

    def write_stream(self, rows: DataFrame, **options: object) -> DataStreamWriter:
        """A stream writer; give it a checkpointLocation."""
        return rows.writeStream.format(FORMAT).options(**self.options, **_texts(options))

    def connect(self) -> Connection:
        """A connection for commands; close it."""
        from pyspark_onemq.connection import Connection

        return Connection(self.servers, self.user, self.password)


def broker(servers: str | None = None, user: str | None = None, password: str | None = None) -> Broker:
    """The one that the command line names; else the variable ONEMQ_URL; else localhost:6379."""
    url = os.environ.get("ONEMQ_URL")
    if servers is not None or url is None:
        return Broker(servers or DEFAULT_SERVERS, user, password)
    address = parse_address(url)
    host = f"[{address.host}]" if ":" in address.host else address.host
    return Broker(f"{host}:{address.port}", user or address.user, password or address.password)


def _texts(options: dict[str, object]) -> dict[str, str]:
    """Options that were not given are left out."""
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in options.items()
        if value is not None
    }
