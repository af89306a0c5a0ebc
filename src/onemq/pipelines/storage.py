"""Small files under any Hadoop URL, through Spark's own file systems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Storage:
    """Reads, writes and removes below one folder."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self._spark = spark
        self.folder = folder.rstrip("/")
        self._jvm: Any = spark._jvm
        self._files: Any = self._path("").getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())

    def url(self, name: str) -> str:
        """The place of a file or folder."""
        return f"{self.folder}/{name}" if name else self.folder

    def read(self, name: str) -> str | None:
        """The text of a file, or None if there is none."""
        path = self._path(name)
        if not self._files.exists(path):
            return None
        stream = self._files.open(path)
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write(self, name: str, text: str) -> None:
        """Makes or replaces a file; whoever sees it sees all of its text."""
        place, draft = self._path(name), self._path(f"{name}.draft")
        stream = self._files.create(draft, True)
        try:
            stream.write(text.encode())
        finally:
            stream.close()
        self._files.delete(place, False)
        if not self._files.rename(draft, place):
            raise OSError(f"{draft} could not be renamed to {place}")

    def exists(self, name: str) -> bool:
        return bool(self._files.exists(self._path(name)))

    def remove(self, name: str) -> None:
        """Removes a file or a folder, if it is there."""
        self._files.delete(self._path(name), True)

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self.url(name))
