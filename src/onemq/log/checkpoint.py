"""A checkpoint: makes segments and indexes durable, writes the snapshot that relies on them, and removes what no
snapshot needs any more.

Built on the log's thread, run on any: it has file handles of its own and touches only what is
no longer changing, the bytes up to the sizes in its snapshot.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from onemq.log import journal, snapshot
from onemq.log.disk import Disk
from onemq.log.segment import Segment


class Checkpoint:
    """The work of one checkpoint."""

    def __init__(
        self,
        disk: Disk,
        sequence: int,
        topics: list[Any],
        state: Iterable[bytes],
        dirty: dict[Segment, int],
        rest: Callable[[], None] = lambda: None,
    ) -> None:
        self._disk = disk
        self._sequence = sequence
        self._topics = topics
        self._state = state
        self._rest = rest
        self.dirty = dirty
        self.sync_failed = False
        self.snapshot_bytes = 0
        self.not_removed: OSError | None = None
        """Why old files are still there, if so."""
        ordered = sorted(dirty, key=lambda segment: segment.path)
        self._segments = [(segment.path, segment.index_path, *segment.unsaved_index()) for segment in ordered]

    def run(self) -> None:
        """Does it all, in the order that makes a crash at any point harmless. Raises OSError."""
        for path, index_path, rows, anew in self._segments:
            with suppress(FileNotFoundError):  # its topic was deleted or trimmed meanwhile
                self._sync(path)
                if rows:
                    self._append(index_path, rows, anew)
        for folder in sorted({path.rpartition("/")[0] for path, _, _, _ in self._segments}):
            with suppress(FileNotFoundError):
                self._disk.sync_folder(folder)
        self.snapshot_bytes = snapshot.write(self._disk, self._sequence, self._topics, self._state, self._rest)
        try:
            journal.remove_before(self._disk, snapshot.remove_old(self._disk) + 1)
        except OSError as problem:
            self.not_removed = problem

    def give_back(self) -> None:
        """After a failure, on the log's thread: the next checkpoint has all of this to do again."""
        for segment in self.dirty:
            segment.save_index_anew()

    def _sync(self, path: str) -> None:
        file = self._disk.open(path)
        try:
            file.sync()
        except OSError:
            self.sync_failed = True
            raise
        finally:
            file.close()

    def _append(self, path: str, rows: bytes, anew: bool) -> None:
        file = self._disk.open(path, create=True)
        try:
            if anew and file.size():
                file.truncate(0)
            file.append([rows])
            file.sync()
        finally:
            file.close()
