"""The data source `onemq`, as Spark makes it: on the driver, anew for every query."""

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from onemq.errors import InvalidArgument
from pyspark_onemq.catalog import extents
from pyspark_onemq.columns import table_schema
from pyspark_onemq.options import ReadOptions, check_kind, read_options
from pyspark_onemq.reader import OneMQReader
from pyspark_onemq.stream_reader import OneMQStreamReader
from pyspark_onemq.tasks import connect
from pyspark_onemq.writer import BatchWriter, StreamWriter


class OneMQDataSource(DataSource):
    """`spark.read.format("onemq")`, and so `readStream`, `write` and `writeStream`."""

    @classmethod
    def name(cls) -> str:
        return "onemq"

    def schema(self) -> StructType:
        """Called by `load()`: the first occasion to tell what is wrong."""
        options = read_options(self.options)
        _check_broker(options)
        return table_schema(options)

    def reader(self, schema: StructType) -> DataSourceReader:
        return OneMQReader(self._checked(schema, is_stream=False))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return OneMQStreamReader(self._checked(schema, is_stream=True))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        return BatchWriter(self.options, schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        """`overwrite` is true for the output mode complete: then every batch is the whole result, and is added."""
        return StreamWriter(self.options, schema)

    def _checked(self, schema: StructType, is_stream: bool) -> ReadOptions:
        options = read_options(self.options)
        check_kind(self.options, is_stream)
        if schema.fieldNames() != table_schema(options).fieldNames():
            raise InvalidArgument(
                "the columns of onemq are fixed, so .schema(...) cannot be used: fields of JSON bodies are named with "
                "the option schema, fewer columns with the option columns"
            )
        return options


def _check_broker(options: ReadOptions) -> None:
    """That the broker answers and has the topics, and understands the filter."""
    with connect(options.server) as connection:
        found = extents(connection, options.topics)
        if options.filter is not None and found:
            first = found[0]
            connection.call("MQ.FETCH", first.topic, first.number, first.end, "FILTER", options.filter)
