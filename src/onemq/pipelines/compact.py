"""`onemq pipeline compact`: the small files of finished dates to files of the target size, with the same rows.

A date of a topic is one step: its small files are read, written anew to a staging folder, compared, and then one
record puts the new ones in their place (store.py). A compaction that is killed is finished by the next one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onemq.errors import InvalidArgument, OneMQError
from onemq.pipelines.archive import FILE_BYTES, FileSize, file_size_bytes
from onemq.pipelines.files import File
from onemq.pipelines.options import Conf, Json, Master, finish, run_main
from onemq.pipelines.progress import shown
from onemq.pipelines.session import opened
from onemq.pipelines.store import TABLES, Archive
from onemq.pipelines.summary import Summary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SMALL = 0.5
"""A file below this part of the target size is small."""


@dataclass(frozen=True, slots=True)
class Step:
    """The small files of one table, topic and date."""

    folder: str
    files: tuple[File, ...]

    @property
    def size_bytes(self) -> int:
        return sum(each.size_bytes for each in self.files)

    def files_after(self, file_bytes: int) -> int:
        return max(1, math.ceil(self.size_bytes / file_bytes))


def run(
    spark: SparkSession,
    url: str,
    *,
    topics: Sequence[str] = (),
    before: date | None = None,
    file_bytes: int = FILE_BYTES,
) -> Summary:
    """Compacts the dates before `before`, by default before today (UTC), of all topics or of some."""
    begun = time.monotonic()
    archive = Archive.at(spark, url)
    archive.check_there()
    archive.finish_compactions()
    steps = list(_steps(archive, topics, before or datetime.now(UTC).date(), file_bytes))
    rows = []
    with shown("compact") as show:
        for number, step in enumerate(steps, 1):
            rows.append(_compact(spark.newSession(), archive, step, file_bytes))
            show(f"{number} of {len(steps)} dates")
    facts = {
        "archive": archive.url,
        "dates": len(rows),
        "files_before": sum(row["files_before"] for row in rows),
        "files_after": sum(row["files_after"] for row in rows),
        "seconds": round(time.monotonic() - begun, 1),
    }
    return Summary("compact", facts, {"compacted": rows})


def _steps(archive: Archive, topics: Sequence[str], before: date, file_bytes: int) -> Iterator[Step]:
    wanted = {f"topic={archive.files.escape(topic)}" for topic in topics}
    for table in TABLES:
        for folder in archive.files.matching(f"{table}/topic=*/date=*"):
            _, topic, day = folder.split("/")
            if (wanted and topic not in wanted) or not _is_before(day.removeprefix("date="), before):
                continue
            found = archive.files.sized(folder)
            small = [each for each in found if _is_data(each) and each.size_bytes < file_bytes * SMALL]
            step = Step(folder, tuple(sorted(small, key=lambda file: file.name)))
            if step.files_after(file_bytes) < len(small):
                yield step


def _compact(spark: SparkSession, archive: Archive, step: Step, file_bytes: int) -> dict[str, Any]:
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    done = archive.compactions()
    table, topic, day = step.folder.split("/")
    staging = archive.stage(f"c{int(done[-1]) + 1 if done else 1:010}")
    places = [archive.files.at(file.name) for file in step.files]
    target = archive.files.at(f"{staging}/table={table}/{topic}/{day}")
    old = spark.read.option("mergeSchema", "true").parquet(*places)
    _in_order(old, step.files_after(file_bytes)).write.parquet(target)
    count = _check_same(old, spark.read.parquet(target), step)
    record = archive.commit_compaction(staging, done, [file.name for file in step.files])
    return {
        "table": table,
        "topic": archive.files.unescape(topic.removeprefix("topic=")),
        "date": day.removeprefix("date="),
        "messages": count,
        "files_before": len(step.files),
        "files_after": len(record.adds),
    }


def _in_order(rows: DataFrame, files: int) -> DataFrame:
    spread = rows.coalesce(1) if files == 1 else rows.repartitionByRange(files, "partition", "offset")
    return spread.sortWithinPartitions("partition", "offset")


def _check_same(old: DataFrame, new: DataFrame, step: Step) -> int:
    """Nothing is deleted before its copy was seen. Returns the number of rows."""
    from pyspark.sql import functions as F

    sums = [F.count(F.lit(1)), F.sum(F.xxhash64("partition", "offset").cast("decimal(38,0)"))]
    before, after = (tuple(rows.agg(*sums).first() or ()) for rows in (old, new))
    if before != after:
        raise OneMQError(f"{step.folder} was written anew with other rows ({after} for {before}): nothing was changed")
    return int(before[0])


def _is_before(day: str, before: date) -> bool:
    try:
        return date.fromisoformat(day) < before
    except ValueError:
        return False


def _is_data(file: File) -> bool:
    return file.name.endswith(".parquet")


def command(
    archive: Annotated[str, typer.Argument(metavar="URL", help="The archive.")],
    topics: Annotated[
        list[str] | None, typer.Option("--topic", metavar="TOPIC", help="Only this one; may be given several times.")
    ] = None,
    before: Annotated[
        str | None, typer.Option(metavar="DATE", help="Dates before this one, e.g. 2026-11-16.  [today]")
    ] = None,
    file_size: FileSize = None,
    master: Master = None,
    conf: Conf = None,
    as_json: Json = False,
) -> None:
    """Compacts the small files of an archive: the same rows in few files of the target size."""
    try:
        day = None if before is None else date.fromisoformat(before)
    except ValueError:
        raise InvalidArgument(f"--before {before}: write a date like 2026-11-16") from None
    with opened(master, "onemq compact", conf) as spark:
        summary = run(spark, archive, topics=topics or (), before=day, file_bytes=file_size_bytes(file_size))
    finish(summary, as_json)


def main(argv: Sequence[str] | None = None) -> None:
    """`python -m onemq.pipelines.compact`, or under spark-submit."""
    run_main(command, argv)


if __name__ == "__main__":
    main()
