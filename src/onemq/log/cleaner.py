"""Runs cleaning in the background: at most once at a time for each partition, over file handles of its own."""

from collections.abc import Callable, Container, Iterator, Sequence

from onemq.errors import ReadOnly
from onemq.log import distrust
from onemq.log.batch import BatchHeader
from onemq.log.cleaning import CleanedSegment, KeepRecord, last_by_key, rewrite
from onemq.log.commit import Background, run
from onemq.log.disk import Disk, File
from onemq.log.scan import Scanned, scan_file
from onemq.log.segment import Segment

Choose = Callable[[], KeepRecord]
"""Called in the background: finds out which records stay."""
Cleaned = Callable[[list[CleanedSegment], BaseException | None], None]
"""Called with the new files, and with what went wrong."""


class Cleaner:
    """Writes new files; the log puts them in the place of the old ones."""

    def __init__(self, disk: Disk, background: Background | None) -> None:
        self._disk = disk
        self._background = background
        self._rest = background.rest if background is not None else _go_on
        self._running: set[tuple[int, int]] = set()

    def start(self, place: tuple[int, int], closed: list[Segment], choose: Choose, then: Cleaned) -> bool:
        """Cleans segments of the partition at a place. Returns False, and does nothing, if there are none or it is
        at it already."""
        if not closed or place in self._running:
            return False
        cleaned: list[CleanedSegment] = []

        def work() -> None:
            keep = choose()
            cleaned.extend(each for segment in closed if (each := rewrite(self._disk, segment, keep, self._rest)))

        def finish(problem: BaseException | None) -> None:
            self._running.discard(place)
            then(cleaned, problem)

        self._running.add(place)
        run(self._background, work, finish)
        return True

    def last_by_key(
        self, segments: Sequence[Segment], unsynced: Container[Segment], tombstones_before_ms: int
    ) -> Choose:
        """Keeps the last record of each key, and makes those durable in favour of which others go."""
        ends = [(segment.path, segment.size, segment in unsynced) for segment in segments]
        return lambda: last_by_key(self._scans(ends), tombstones_before_ms)

    def _scans(self, ends: list[tuple[str, int, bool]]) -> Iterator[Iterator[tuple[BatchHeader, bytes, int]]]:
        for path, size, unsynced in ends:
            file = self._disk.open(path, read_only=True)
            try:
                if unsynced:  # a record must not go in favour of one that a power cut takes
                    self._sync(file, path)
                yield self._batches(scan_file(file, path, 0, size))
            finally:
                file.close()

    def _batches(self, scan: Iterator[Scanned]) -> Iterator[tuple[BatchHeader, bytes, int]]:
        for _, header, data, at in scan:
            self._rest()
            yield header, data, at

    def _sync(self, file: File, path: str) -> None:
        try:
            file.sync()
        except OSError as problem:
            distrust.leave(self._disk)
            raise ReadOnly(
                f"syncing {path} failed ({problem}); nothing more is acknowledged: check the disk, then restart OneMQ"
            ) from None


def _go_on() -> None:
    """Nobody is kept waiting."""
