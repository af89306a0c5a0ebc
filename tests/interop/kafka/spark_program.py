"""A program with Spark's own Kafka source and sink: `python -m tests.interop.kafka.spark_program ADDRESS JARS FOLDER`.

It is a process of its own because the classes of the source must be there when its one Java process starts. It writes
rows to the topic `rows`, reads them in several ways, and copies them to `copies` with a stream that is stopped and goes
on. It ends well only if everything is as it should be.
"""

import sys

from pyspark.sql import DataFrame, SparkSession

ROWS = 1000
SETTINGS = {"ui.enabled": "false", "sql.shuffle.partitions": "2", "driver.memory": "512m"}


class Program:
    def __init__(self, address: str, jars: str, folder: str) -> None:
        self._address, self._folder = address, folder
        builder = SparkSession.builder.master("local[2]").config("spark.jars", jars)
        for name, value in SETTINGS.items():
            builder = builder.config(f"spark.{name}", value)
        self.spark = builder.getOrCreate()
        self.spark.sparkContext.setLogLevel("ERROR")

    def options(self, **more: str) -> dict[str, str]:
        return {"kafka.bootstrap.servers": self._address, **more}

    def rows(self, first: int = 0) -> DataFrame:
        return self.spark.range(first, first + ROWS).selectExpr("cast(id as string) key", "concat('row ', id) value")

    def write(self, rows: DataFrame) -> None:
        rows.write.format("kafka").options(**self.options(topic="rows")).save()

    def read(self, **more: str) -> DataFrame:
        return self.spark.read.format("kafka").options(**self.options(**more)).load()

    def copy(self) -> None:
        """Copies what is new since the last time, in several steps."""
        source = self.options(subscribe="rows", startingOffsets="earliest", maxOffsetsPerTrigger="400")
        frame = self.spark.readStream.format("kafka").options(**source).load().select("key", "value")
        writer = frame.writeStream.format("kafka").options(**self.options(topic="copies"))
        query = writer.option("checkpointLocation", self._folder).trigger(availableNow=True).start()
        assert query.awaitTermination(300)


def values(frame: DataFrame) -> list[str]:
    return sorted(row[0] for row in frame.selectExpr("cast(value as string)").collect())


def main() -> None:
    program = Program(*sys.argv[1:])
    program.write(program.rows())
    read = program.read(subscribe="rows", includeHeaders="true")
    assert values(read) == values(program.rows())
    assert read.select("partition").distinct().count() == 3
    some = program.read(
        subscribe="rows",
        startingOffsets='{"rows": {"0": 5, "1": -2, "2": -2}}',
        endingOffsets='{"rows": {"0": 15, "1": 0, "2": 0}}',
    )
    assert some.count() == 10
    assert program.read(subscribePattern="ro.*", startingTimestamp="0").count() == ROWS
    program.copy()
    program.write(program.rows(ROWS))
    program.copy()
    expected = values(program.rows()) + values(program.rows(ROWS))
    assert values(program.read(subscribe="copies")) == sorted(expected)
    program.spark.stop()


if __name__ == "__main__":
    main()
