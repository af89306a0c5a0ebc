"""An archive: Parquet files, and the records that say which of them count.

    URL/messages/topic=orders/date=2026-11-16/b0000000012-00.parquet    a file of the 12th record of a batch
    URL/messages/topic=orders/date=2026-11-15/c0000000003-00.parquet    a file of the third compaction
    URL/bad_rows/topic=orders/date=2026-11-16/...                       bodies that do not fit the schema
    URL/_onemq/archive.json                                             version, and the schema of bodies
    URL/_onemq/batches/0000000012.json                                  the newest batch: what it adds, how far it reads
    URL/_onemq/compactions/0000000003.json                              what a compaction adds and removes
    URL/_onemq/staging/<name>/                                          files before their record
    URL/_onemq/checkpoint/                                              Spark's

Nothing counts before its record is there, and a record appears at once. Files are written to a staging folder first;
the record is the decision; then files move to their places and what it removes is deleted. Whoever opens the archive
next finishes what was interrupted. So a row is in the archive once, whenever a writer is killed.

Readers of the folders alone (`spark.read.parquet`, pandas) see each row at most once: files are moved, never copied,
and a compaction deletes before it adds. `snapshot` also knows what is on its way, and leaves out what does not count
yet.
"""

from __future__ import annotations

import json
import re
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from onemq.errors import InvalidArgument, NotFound, OneMQError
from onemq.pipelines.files import Files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VERSION = 1
OURS = "_onemq"
CHECKPOINT = f"{OURS}/checkpoint"
STAGING = f"{OURS}/staging"
BATCHES = f"{OURS}/batches"
COMPACTIONS = f"{OURS}/compactions"
ABOUT = f"{OURS}/archive.json"
MESSAGES, BAD_ROWS = TABLES = ("messages", "bad_rows")
_FILE = re.compile(r"(?P<kind>[bc])(?P<number>\d{10})-\d+\.parquet")
_SNAPSHOT_ATTEMPTS = 100

Ends = dict[str, dict[str, Any]]
"""Topic -> {"id": 3, "partitions": {"0": 23}}: the offset after the last one read, as the data source writes it."""


@dataclass(frozen=True, slots=True)
class Record:
    """A decision: the staging folder it comes from, names that are added (staged -> place) and names removed."""

    number: int
    staging: str
    adds: dict[str, str]
    removes: list[str] = field(default_factory=list)
    query: str | None = None
    batch: int | None = None
    ends: Ends = field(default_factory=dict)

    def to_json(self) -> str:
        return json.dumps({name: getattr(self, name) for name in self.__slots__})


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is in an archive at one moment: files of each table by the folder below which they stand, and its end."""

    files: dict[str, dict[str, list[str]]]
    """Table -> folder -> files; a few may still stand in a staging folder."""
    ends: Ends


class Archive:
    """One writer of batches and one compactor may be at work at a time, and any number of readers."""

    def __init__(self, files: Files) -> None:
        self.files = files

    @classmethod
    def at(cls, spark: SparkSession, url: str) -> Self:
        """The archive at a URL, whether it is there yet or not."""
        return cls(Files(spark, url.rstrip("/")))

    @property
    def url(self) -> str:
        return self.files.url

    def is_there(self) -> bool:
        return self.files.exists(ABOUT)

    def check_there(self) -> None:
        """Raises `NotFound`."""
        if not self.is_there():
            raise NotFound(f"there is no archive at {self.url}; `onemq pipeline archive` makes one")

    def schema(self) -> str | None:
        """Of JSON bodies, as it was given when the archive was made."""
        if not self.is_there():
            return None
        about = json.loads(self.files.read_text(ABOUT))
        if about["version"] != VERSION:
            raise OneMQError(f"the archive at {self.url} has version {about['version']}; this OneMQ reads {VERSION}")
        schema: str | None = about["schema"]
        return schema

    def prepare(self, schema: str | None) -> str | None:
        """Makes the archive if it is not there. Returns the schema of bodies that it has."""
        known = self.schema()
        if known is not None and schema is not None and known != schema:
            raise InvalidArgument(
                f"the archive at {self.url} has the schema {known!r}: leave out --schema, or archive to another URL"
            )
        if not self.is_there() or (known is None and schema is not None):
            self.files.write_text(ABOUT, json.dumps({"version": VERSION, "schema": schema}))
        return schema or known

    def newest_batch(self) -> Record | None:
        """The last decision of the writer. It may replace the record while we read it."""
        while names := self._records(BATCHES):
            try:
                return self._record(BATCHES, names[-1])
            except Exception:
                if self.files.exists(f"{BATCHES}/{names[-1]}.json"):
                    raise
        return None

    def stage(self, name: str) -> str:
        """A staging folder that nobody has used before."""
        return f"{STAGING}/{name}-{uuid.uuid4().hex[:8]}"

    def commit_batch(self, staging: str, query: str, batch: int, ends: Ends) -> Record:
        """Adds the staged files to the archive, which then is read up to `ends`."""
        newest = self.newest_batch()
        number = newest.number + 1 if newest else 1
        ends = {**(newest.ends if newest else {}), **ends}
        record = Record(number, staging, self._adds(staging, f"b{number:010}"), [], query, batch, ends)
        self.files.write_text(f"{BATCHES}/{number:010}.json", record.to_json())
        self._finish(record)
        if newest is not None:
            self.files.delete(f"{BATCHES}/{newest.number:010}.json")
        return record

    def compactions(self) -> list[str]:
        """The names of all compactions that were decided."""
        return self._records(COMPACTIONS)

    def commit_compaction(self, staging: str, before: list[str], removes: list[str]) -> Record:
        """Puts the staged files in the place of others. `before`: the compactions that were there when they were read.

        Raises `OneMQError` if somebody else has compacted since: what was read may have been compacted already.
        """
        if self.compactions() != before:
            raise OneMQError(f"somebody else compacts the archive at {self.url}: wait until that is done")
        number = int(before[-1]) + 1 if before else 1
        record = Record(number, staging, self._adds(staging, f"c{number:010}"), removes)
        self.files.write_text(f"{COMPACTIONS}/{number:010}.json", record.to_json())
        self._finish(record)
        return record

    def finish_batches(self) -> None:
        """Finishes a batch that was interrupted, and clears what was staged and not decided."""
        newest = self.newest_batch()
        if newest is not None:
            self._finish(newest)
            for name in self._records(BATCHES)[:-1]:
                self.files.delete(f"{BATCHES}/{name}.json")
        self._sweep("b")

    def finish_compactions(self) -> None:
        """The same for compactions."""
        for record in self._open_compactions(self.compactions()):
            self._finish(record)
        self._sweep("c")

    def snapshot(self, topics: list[str] | None = None) -> Snapshot:
        """What the archive holds now: all of every batch that was decided, and nothing of any other."""
        for _ in range(_SNAPSHOT_ATTEMPTS):
            compactions = self.compactions()
            newest = self.newest_batch()
            on_the_way = [*self._open_batch(newest), *self._open_compactions(compactions)]
            found = {table: self._found(table, topics, newest, on_the_way) for table in TABLES}
            if compactions == self.compactions():
                return Snapshot(found, newest.ends if newest else {})
        raise OneMQError(f"the archive at {self.url} is compacted all the time: try again later")

    def _found(
        self, table: str, topics: list[str] | None, newest: Record | None, on_the_way: list[Record]
    ) -> dict[str, list[str]]:
        """The files of a table by folder."""
        folders = [f"topic={self.files.escape(topic)}" for topic in topics] if topics is not None else ["topic=*"]
        listed = [name for folder in folders for name in self.files.matching(f"{table}/{folder}/date=*/*.parquet")]
        last = newest.number if newest else 0
        counted = {name for name in listed if _counts(name, last)}
        elsewhere: dict[str, list[str]] = {}
        for record in on_the_way:
            counted -= set(record.removes)
            for staged, place in record.adds.items():
                if not place.startswith(f"{table}/") or not _is_of(place, folders):
                    continue
                if self.files.exists(staged):
                    counted.discard(place)
                    elsewhere.setdefault(f"{record.staging}/table={table}", []).append(staged)
                elif self.files.exists(place):
                    counted.add(place)
        return {**({table: sorted(counted)} if counted else {}), **elsewhere}

    def _open_batch(self, newest: Record | None) -> list[Record]:
        return [newest] if newest is not None and self.files.exists(newest.staging) else []

    def _open_compactions(self, names: list[str]) -> list[Record]:
        """Those whose staging folder is still there."""
        staged = {name.partition("-")[0] for name in self.files.children(STAGING) if name.startswith("c")}
        return [self._record(COMPACTIONS, name) for name in names if f"c{name}" in staged]

    def _adds(self, staging: str, prefix: str) -> dict[str, str]:
        """Where each staged file will be."""
        adds = {}
        for number, name in enumerate(self.files.matching(f"{staging}/table=*/topic=*/date=*/*.parquet")):
            folder = name.removeprefix(f"{staging}/").rpartition("/")[0].removeprefix("table=")
            adds[name] = f"{folder}/{prefix}-{number:02}.parquet"
        return adds

    def _finish(self, record: Record) -> None:
        """May be called again at any point of itself."""
        if not self.files.exists(record.staging):
            return
        for name in record.removes:
            self.files.delete(name)
        for staged, place in record.adds.items():
            if self.files.exists(staged):
                self.files.move(staged, place)
        self.files.delete(record.staging)

    def _sweep(self, kind: str) -> None:
        for name in self.files.children(STAGING):
            if name.startswith(kind):
                self.files.delete(f"{STAGING}/{name}")

    def _records(self, folder: str) -> list[str]:
        names = self.files.children(folder)
        return [name.removesuffix(".json") for name in names if name.endswith(".json")]

    def _record(self, folder: str, name: str) -> Record:
        return Record(**json.loads(self.files.read_text(f"{folder}/{name}.json")))


def _counts(name: str, last_batch: int) -> bool:
    """Whether a file is one of the archive's, and not of a batch after the last one that is looked at."""
    found = _FILE.fullmatch(name.rpartition("/")[2])
    return found is not None and (found["kind"] == "c" or int(found["number"]) <= last_batch)


def _is_of(place: str, folders: list[str]) -> bool:
    return folders == ["topic=*"] or place.split("/")[1] in folders
