"""Files under a URL of any file system that Hadoop knows: file:, hdfs:, s3a: and others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from onemq.errors import OneMQError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class File:
    """A file's name below the URL, and its size."""

    name: str
    size_bytes: int


class Files:
    """Names are relative to the URL, with slashes. All calls are made on the driver, through Spark's Java."""

    def __init__(self, spark: SparkSession, url: str) -> None:
        context: Any = spark.sparkContext
        self._jvm = context._jvm
        path = self._jvm.org.apache.hadoop.fs.Path(url)
        self._system = path.getFileSystem(context._jsc.hadoopConfiguration())
        self.url: str = self._system.makeQualified(path).toString()

    def at(self, name: str) -> str:
        """The whole URL of a file."""
        return f"{self.url}/{name}" if name else self.url

    def exists(self, name: str) -> bool:
        return bool(self._system.exists(self._path(name)))

    def children(self, folder: str) -> list[str]:
        """The names directly in a folder, sorted; none if it is not there."""
        found = self._glob(f"{folder}/*")
        return sorted(name.rpartition("/")[2] for name in found)

    def matching(self, pattern: str) -> list[str]:
        """The names of all files that a pattern with `*` fits, sorted."""
        return sorted(self._glob(pattern))

    def sized(self, folder: str) -> list[File]:
        """The files directly in a folder, with their sizes."""
        if not self.exists(folder):
            return []
        found = self._system.listStatus(self._path(folder))
        return [File(f"{folder}/{each.getPath().getName()}", each.getLen()) for each in found if each.isFile()]

    def read_text(self, name: str) -> str:
        stream = self._system.open(self._path(name))
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write_text(self, name: str, text: str) -> None:
        """All of it is there or nothing: written beside it, then renamed. What was there of that name is replaced."""
        draft = f"{name}.draft"
        stream = self._system.create(self._path(draft), True)
        try:
            stream.write(text.encode())
        finally:
            stream.close()
        self.delete(name)
        self.move(draft, name)

    def move(self, name: str, target: str) -> None:
        """Renames; folders on the way are made."""
        path = self._path(target)
        self._system.mkdirs(path.getParent())
        if not self._system.rename(self._path(name), path):
            raise OneMQError(f"{self.at(name)} could not be renamed to {self.at(target)}")

    def delete(self, name: str) -> None:
        """A file, or a folder with everything in it; nothing happens if it is not there."""
        self._system.delete(self._path(name), True)

    def unescape(self, text: str) -> str:
        """A value within the name of a partition's folder, as it was before Spark escaped it."""
        return str(self._jvm.org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils.unescapePathName(text))

    def escape(self, text: str) -> str:
        """As Spark writes a value into the name of a partition's folder."""
        return str(self._jvm.org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils.escapePathName(text))

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self.at(name))

    def _glob(self, pattern: str) -> list[str]:
        found = self._system.globStatus(self._path(pattern)) or []
        return [each.getPath().toString().removeprefix(f"{self.url}/") for each in found]
