"""Spark's part of the measurements: reading, then writing."""

from collections.abc import Iterator

from bench.report import Result


def spark(parent: str | None, quick: bool) -> Iterator[Result]:
    from bench import spark_read, spark_write

    yield from spark_read.read(parent, quick)
    yield from spark_write.write(parent, quick)
