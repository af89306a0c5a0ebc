"""Checking a whole data folder: every checksum, the order of offsets, indexes against their segments, and
what snapshots and journal promise against the files. Changes nothing and needs no lock; while a broker uses
the folder, what looks wrong is looked at once more before it is called a problem.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from struct import iter_unpack
from typing import NamedTuple

from onemq.errors import Corrupt, FolderError
from onemq.log import journal, sets, snapshot
from onemq.log.batch import BatchHeader
from onemq.log.disk import Disk
from onemq.log.index import CHUNK, NO_TIME, ROW
from onemq.log.index import parse as parse_index
from onemq.log.journal import JournalFile
from onemq.log.salvage import Place, first_unsound, next_sound
from onemq.log.scan import scan_file
from onemq.log.segment import Segment
from onemq.log.survey import Survey, check_data_folder, survey
from onemq.log.topicfiles import FOLDER as TOPICS_FOLDER
from onemq.log.topicfiles import is_segment_file, is_topic_folder

_ATTEMPTS = 10


class Problem(NamedTuple):
    """Something that should not be."""

    path: str
    position: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}: byte {self.position}: {self.text}"


class Verification:
    """One look at everything. `problems` does the work; the counts grow meanwhile."""

    def __init__(self, disk: Disk, in_use: bool = False, progress: Callable[[int], None] = lambda _: None) -> None:
        self._disk = disk
        self._attempts = _ATTEMPTS if in_use else 1
        self._progress = progress
        self.files = self.bytes = self.entries = self.batches = self.records = 0
        self.notes: list[str] = []

    def total_bytes(self) -> int:
        """About how many bytes `problems` will go through, as it reports them to `progress`."""
        total = 0
        for folder in self._folders():
            for name in self._disk.list(folder):
                try:
                    with closing(self._disk.open(f"{folder}/{name}", read_only=True)) as file:
                        total += file.size()
                except FileNotFoundError:
                    continue
        return total

    def problems(self) -> Iterator[Problem]:
        """Finds them one by one. Raises `FolderError` if this is no data folder that can be read."""
        check_data_folder(self._disk)
        yield from self._again(self._check_snapshots)
        yield from self._again(self._check_journal)
        try:
            found = self._survey()
        except FolderError as problem:
            yield Problem(journal.FOLDER, 0, problem.text)
            return
        self.notes += found.report.notes
        if found.report.rewritten_batches:
            self.notes.append(f"{found.report.rewritten_batches} batches are only in the journal: a start writes them")
        damage = found.recovery.journal_damage
        if damage is not None and not self._disk.exists(journal.path_of(damage[0])):
            yield Problem(journal.path_of(damage[0]), 0, "the file is missing, and what came after it")
        for path, segment in self._segments(found).items():
            yield from self._again(partial(self._check_segment, path, segment))
        self._note_strangers(found)

    def _again(self, check: Callable[[], list[Problem]]) -> list[Problem]:
        """The problems that are still there after a few looks, if somebody may be writing."""
        problems: list[Problem] = []
        for _ in range(self._attempts):
            problems = check()
            if not problems:
                break
        return problems

    def _survey(self) -> Survey:
        for left in reversed(range(self._attempts)):
            try:
                found = survey(self._disk)
                if not (left and found.report.damage):
                    return found
            except FolderError:
                if not left:
                    raise
            except FileNotFoundError:
                continue  # somebody removed it between two looks
        raise FolderError("the folder changes too quickly to be checked: try again")

    def _segments(self, found: Survey) -> dict[str, Segment]:
        topics = found.registry.topics.values()
        partitions = [partition for topic in topics for partition in topic.partitions]
        return {segment.path: segment for partition in partitions for segment in partition.segments}

    def _count(self, size: int) -> None:
        self.files += 1
        self.bytes += size

    # Snapshots and the journal

    def _check_snapshots(self) -> list[Problem]:
        problems = []
        for sequence in snapshot.list_files(self._disk):
            path = snapshot.path_of(sequence)
            try:
                with closing(self._disk.open(path, read_only=True)) as file:
                    size = file.size()
                if snapshot.read(self._disk, sequence) is None:
                    problems.append(Problem(path, 0, "the snapshot does not match its checksum"))
            except FileNotFoundError:
                continue
            except FolderError as problem:
                problems.append(Problem(path, 4, problem.text))
            self._count(size)
            self._progress(size)
        return problems

    def _check_journal(self) -> list[Problem]:
        problems: list[Problem] = []
        files = journal.list_files(self._disk)
        expected = files[0] if files else 0
        for first in files:
            if first != expected:
                text = f"the entries {expected} to {first - 1} before it are missing"
                problems.append(Problem(journal.path_of(first), 0, text))
            try:
                expected = self._check_journal_file(first, first == files[-1], problems)
            except FileNotFoundError:
                expected = min((each for each in files if each > first), default=0)
        return problems

    def _check_journal_file(self, first: int, last: bool, problems: list[Problem]) -> int:
        """Returns the sequence that the next file must begin with."""
        file, sequence = JournalFile(self._disk, first), first
        try:
            for entry in file.entries():
                sequence = entry.sequence + 1
                self.entries += 1
                stored = sets.decode(entry.payload)
                if sum(size for _, _, _, size, _, _, journaled in stored.rows if journaled) != len(stored.data):
                    problems.append(Problem(file.path, entry.position, "the entry's batches do not fit it"))
        except FolderError as problem:
            problems.append(Problem(file.path, 4, problem.text))
            return sequence
        ending = file.ending
        if ending.damage or (ending.torn_bytes and not last):
            text = ending.damage or "the entry cannot be read, and later files exist"
            problems.append(Problem(file.path, ending.good_bytes, text))
        elif ending.torn_bytes:
            self.notes.append(f"{file.path}: {ending.torn_bytes} unfinished bytes at {ending.good_bytes}")
        self._count(len(file.data))
        self._progress(len(file.data))
        return sequence

    # Segments

    def _check_segment(self, path: str, segment: Segment) -> list[Problem]:
        if self._attempts > 1 and not self._disk.exists(path):
            current = self._segments(self._survey()).get(path)
            if current is None:
                return []  # it was removed meanwhile
            segment = current
        try:
            problems = list(_SegmentCheck(self, segment).problems())
        except Corrupt as problem:
            return [Problem(path, 0, problem.text)]
        except FileNotFoundError:
            return [Problem(path, 0, f"the file is missing (offsets {segment.base} to {segment.end - 1})")]
        self._count(segment.size)
        self._progress(segment.size)
        return problems

    def index_content(self, segment: Segment) -> bytes:
        """What the index file of a segment holds; nothing if there is none."""
        try:
            with closing(self._disk.open(segment.index_path, read_only=True)) as file:
                data = file.read(0, file.size())
        except FileNotFoundError:
            return b""
        self._count(len(data))
        self._progress(len(data))
        return data

    # What else lies there

    def _folders(self) -> list[str]:
        topics = [f"{TOPICS_FOLDER}/{name}" for name in self._disk.list(TOPICS_FOLDER)]
        return [snapshot.FOLDER, journal.FOLDER, *topics]

    def _note_strangers(self, found: Survey) -> None:
        known = self._segments(found)
        known_folders = {topic.folder for topic in found.registry.topics.values()}
        for name in self._disk.list(TOPICS_FOLDER):
            folder = f"{TOPICS_FOLDER}/{name}"
            if folder not in known_folders:
                left = "left over, the next start removes it" if is_topic_folder(name) else "not OneMQ's"
                self.notes.append(f"{folder}: {left}")
                continue
            for file in self._disk.list(folder):
                log = f"{folder}/{file}".removesuffix(".index").removesuffix(".log") + ".log"
                if log not in known:
                    left = "left over, the next start removes it" if is_segment_file(file) else "not OneMQ's"
                    self.notes.append(f"{folder}/{file}: {left}")


class _SegmentCheck:
    """One segment and its index."""

    def __init__(self, verification: Verification, segment: Segment) -> None:
        self._verification = verification
        self._segment = segment
        self._time_ms: int | None = NO_TIME
        """The highest time so far; None behind damage, where it is not known."""
        self._rows: dict[int, tuple[int, int, int]] = {}
        """position -> (offset, time, where the row is in the index)"""

    def problems(self) -> Iterator[Problem]:
        """Finds them."""
        segment = self._segment
        yield from self._read_index()
        place: Place = (0, segment.base)
        while place[0] < segment.size:
            try:
                offsets = place[1], segment.end
                for position, header, _, _ in scan_file(segment.file, segment.path, place[0], segment.size, offsets):
                    yield from self._check_batch(position, header)
                    place = position + header.size, header.next_offset
            except Corrupt:
                damaged = first_unsound(segment.file, place, segment.size, segment.end)
                place = self._pass_over(damaged)
                text = f"a batch cannot be read (offsets {damaged[1]} to {place[1] - 1})"
                yield Problem(segment.path, damaged[0], text)
        if place[1] != segment.end and ".c" not in segment.path and self._time_ms is not None:
            yield Problem(segment.path, place[0], f"it ends with offset {place[1]} and not with {segment.end}")
        for offset, _, at in self._rows.values():
            yield Problem(segment.index_path, at, f"no batch starts where the row for offset {offset} says")

    def _check_batch(self, position: int, header: BatchHeader) -> Iterator[Problem]:
        self._verification.batches += 1
        self._verification.records += header.record_count
        row = self._rows.pop(position, None)
        if row is not None:
            offset, time_ms, at = row
            if offset != header.base_offset or self._time_ms not in (None, time_ms):
                yield Problem(self._segment.index_path, at, f"the row for offset {offset} does not fit the segment")
        if self._time_ms is not None:
            self._time_ms = max(self._time_ms, header.max_timestamp_ms)

    def _pass_over(self, damaged: Place) -> Place:
        """Where sound batches go on. Index rows of what lies between cannot be checked."""
        segment, self._time_ms = self._segment, None
        following = next_sound(segment.file, damaged[0], segment.size, damaged[1], segment.end)
        following = following or (segment.size, segment.end)
        for position in [position for position in self._rows if damaged[0] <= position < following[0]]:
            del self._rows[position]
        return following

    def _read_index(self) -> Iterator[Problem]:
        data, position = self._verification.index_content(self._segment), 0
        while position < len(data):
            count = CHUNK.unpack_from(data.ljust(position + CHUNK.size, b"\0"), position)[0]
            end = position + CHUNK.size + count * ROW.size
            if end > len(data) or parse_index(data[position:end], 1) is None:
                yield Problem(self._segment.index_path, position, "the index is damaged (it is rebuilt when needed)")
                self._rows.clear()
                return
            rows = iter_unpack(ROW.format, data[position + CHUNK.size : end])
            for at, (offset, place, time_ms) in enumerate(rows):
                if place < self._segment.size:  # others belong to a checkpoint that was not finished
                    row_at = position + CHUNK.size + at * ROW.size
                    self._rows[place] = (self._segment.base + offset, time_ms, row_at)
            position = end
