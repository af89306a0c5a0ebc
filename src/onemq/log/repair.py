"""Making a damaged folder one that opens for writing again, by giving up what cannot be read.

Two kinds of damage make a log read-only. In the journal, everything from the damage on is given up: later
sets may build on what is lost. In the segment that a partition is writing to, what follows the last sound
batch is given up. Offsets are not used again: where messages were, a gap stays.

Nothing is destroyed: files, and the ends of files, go to `quarantine/<time>/` under their old names, an end
with `.from-<position>` behind it. The same steps run on an overlay first to say what would happen.
"""

from contextlib import closing
from typing import Any, NamedTuple

from onemq.errors import FolderError
from onemq.log import journal, snapshot
from onemq.log.batch import HEADER_BYTES
from onemq.log.disk import Disk
from onemq.log.journal import Journal, JournalFile
from onemq.log.overlay import Overlay
from onemq.log.recovery import newest_snapshot
from onemq.log.salvage import first_unsound, only_zeros
from onemq.log.scan import OFFSET_MAX
from onemq.log.segment import Segment
from onemq.log.survey import Survey, survey
from onemq.log.topicfiles import FOLDER as TOPICS_FOLDER
from onemq.log.topicfiles import is_segment_file, is_topic_folder

QUARANTINE = "quarantine"
_ROUNDS_MAX = 100
_COPY_BYTES = 1 << 20


class Loss(NamedTuple):
    """Something that is given up."""

    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}"


def plan(disk: Disk) -> list[Loss]:
    """What `repair` would give up; nothing if the log opens for writing. Raises `FolderError` if it cannot help."""
    return _Repair(Overlay(disk), None).run()


def repair(disk: Disk, time_name: str) -> list[Loss]:
    """Repairs. The caller holds the folder's lock. Raises `FolderError` if it cannot help."""
    return _Repair(disk, f"{QUARANTINE}/{time_name}").run()


class _Repair:
    def __init__(self, disk: Disk, quarantine: str | None) -> None:
        self._disk = disk
        self._quarantine = quarantine
        """None: a rehearsal, nothing is kept."""
        self._losses: list[Loss] = []

    def run(self) -> list[Loss]:
        for _ in range(_ROUNDS_MAX):
            found = survey(self._disk)
            if not found.report.damage:
                break
            if found.recovery.journal_damage is not None:
                self._cut_journal(found, *found.recovery.journal_damage)
            else:
                self._cut_segments(found)
        else:
            raise FolderError("the damage cannot be repaired: restore the data folder from a backup")
        if self._losses:
            self._keep_leftovers(found)
        return self._losses

    # The journal

    def _cut_journal(self, found: Survey, first: int, position: int) -> None:
        sequence = found.recovery.sequence
        for each in journal.list_files(self._disk):
            start = position if each == first else 0
            if each >= first:
                self._lose(journal.path_of(each), _describe(JournalFile(self._disk, each), start, sequence))
                self._cut(journal.path_of(each), start) if start else self._move(journal.path_of(each))
        if not position:
            started = Journal(self._disk)
            started.sequence = sequence
            started.start_file()
            started.close()
        self._lose(journal.FOLDER, f"everything after entry {sequence} is given up")

    # Segments

    def _cut_segments(self, found: Survey) -> None:
        kept = newest_snapshot(self._disk, found.report)
        if kept is None:
            raise FolderError("there is no snapshot to repair from: restore the data folder from a backup")
        changed = False
        for *_, partitions in kept.topics:
            for partition in partitions:
                changed |= self._cut_partition(partition)
        if not changed:
            raise FolderError(
                "this damage cannot be repaired (" + "; ".join(found.report.damage) + "): restore a backup"
            )
        self._copy_to_quarantine(snapshot.path_of(kept.sequence), 0)
        snapshot.write(self._disk, kept.sequence, kept.topics, [kept.state])

    def _cut_partition(self, partition: list[Any]) -> bool:
        """Corrects what a snapshot says of a partition. Tells whether that was necessary."""
        segments, changed = partition[2], False
        while segments:
            path, meta = segments[-1]
            size, end = self._sound_part(path, meta)
            if size == meta[1]:
                break
            changed = True
            if self._disk.exists(path):
                self._lose(path, f"bytes {size} to {meta[1] - 1}, offsets {end} to {meta[2] - 1}, are given up")
                self._cut(path, size)
            else:
                self._lose(path, f"the file is missing: offsets {meta[0]} to {meta[2] - 1} are given up")
            if size:
                meta[1], meta[2] = size, end
                break
            segments.pop()
        return changed

    def _sound_part(self, path: str, meta: list[int]) -> tuple[int, int]:
        """(size, end offset) of what a short file still has; all of it if it is not short."""
        base, size, end = meta[:3]
        if not self._disk.exists(path):
            return 0, base
        with closing(self._disk.open(path, read_only=True)) as file:
            if file.size() >= size:
                return size, end
            return first_unsound(file, (0, base), file.size(), OFFSET_MAX)

    # What the next start would remove

    def _keep_leftovers(self, found: Survey) -> None:
        """Bytes and files that belonged to given up sets: the next start would remove them for good."""
        known: dict[str, Segment] = {}
        for topic in found.registry.topics.values():
            for partition in topic.partitions:
                known |= {segment.path: segment for segment in partition.segments}
        folders = {topic.folder for topic in found.registry.topics.values()}
        for name in self._disk.list(TOPICS_FOLDER):
            folder = f"{TOPICS_FOLDER}/{name}"
            if folder in folders or is_topic_folder(name):
                for file in filter(is_segment_file, self._disk.list(folder)):
                    self._keep_leftover(f"{folder}/{file}", known)

    def _keep_leftover(self, path: str, known: dict[str, Segment]) -> None:
        if path in known:
            with closing(self._disk.open(path, read_only=True)) as file:
                is_empty = only_zeros(file, known[path].size)
            if not is_empty:
                self._copy_to_quarantine(path, known[path].size)
        elif path.endswith(".log"):
            with closing(self._disk.open(path, read_only=True)) as file:
                size = file.size()
            if size >= HEADER_BYTES:
                self._move(path)

    # Putting aside

    def _lose(self, path: str, text: str) -> None:
        self._losses.append(Loss(path, text))

    def _move(self, path: str) -> None:
        """Puts a whole file aside."""
        if self._quarantine is None:
            self._disk.remove(path)
            return
        target = f"{self._quarantine}/{path}"
        self._disk.make_folder(target.rpartition("/")[0])
        self._disk.rename(path, target)
        for moved in (target, path):
            self._disk.sync_folder(moved.rpartition("/")[0])

    def _cut(self, path: str, position: int) -> None:
        """Puts the end of a file aside."""
        self._copy_to_quarantine(path, position)
        with closing(self._disk.open(path)) as file:
            file.truncate(position)
            file.sync()

    def _copy_to_quarantine(self, path: str, position: int) -> None:
        if self._quarantine is None:
            return
        target = f"{self._quarantine}/{path}" + (f".from-{position}" if position else "")
        self._disk.make_folder(target.rpartition("/")[0])
        with closing(self._disk.open(path, read_only=True)) as source, closing(
            self._disk.open(target, create=True)
        ) as copy:
            while data := source.read(position, _COPY_BYTES):
                copy.append([data])
                position += len(data)
            copy.sync()
        self._disk.sync_folder(target.rpartition("/")[0])


def _describe(file: JournalFile, position: int, sequence: int) -> str:
    """What the end of a journal file holds, as far as it can still be told."""
    readable = sum(1 for _ in file.entries_behind(position, sequence))
    size = len(file.data) - position
    return f"{size} bytes from byte {position} on are given up ({readable} entries in them could still be read)"
