"""Recovery: from whatever a crash left to a log that is whole.

The newest readable snapshot says what was there and synced; the journal entries after it say what
came later. Each batch of theirs is looked for at its place in its segment: there, fine; not there
but in the journal, written again; in neither, it was never promised to survive a power cut, and is
given up and reported, with what follows it unsynced in the same segment. What no entry vouches for is
cut off.

Files go when a set says so, and sets before that one still speak of them. So the journal is looked
through once for such sets before it is replayed.
"""

from dataclasses import dataclass, field

from onemq.errors import Corrupt, FolderError
from onemq.log import distrust, sets, snapshot
from onemq.log.batch import BatchHeader, is_sound, read_header
from onemq.log.disk import Disk, write_whole
from onemq.log.engine import TopicPlace
from onemq.log.journal import JournalFile
from onemq.log.journal import list_files as list_journals
from onemq.log.journal import path_of as journal_path
from onemq.log.partition import Partition
from onemq.log.segment import Segment
from onemq.log.sets import Row, StoredSet
from onemq.log.snapshot import Snapshot
from onemq.log.topicfiles import FOLDER as TOPICS_FOLDER
from onemq.log.topicfiles import Registry, is_segment_file, is_topic_folder


@dataclass(slots=True)
class Report:
    """What a start found, for people."""

    snapshot: int = 0
    entries: int = 0
    torn_bytes: int = 0
    rewritten_batches: int = 0
    lost_batches: int = 0
    notes: list[str] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)
    """Stored data that cannot be read: the log opens for reading only."""

    @property
    def clean(self) -> bool:
        """Whether nothing had to be replayed."""
        return not (self.entries or self.torn_bytes or self.damage or self.lost_batches)


def newest_snapshot(disk: Disk, report: Report) -> Snapshot | None:
    """The newest snapshot that can be read."""
    for sequence in reversed(snapshot.list_files(disk)):
        found = snapshot.read(disk, sequence)
        if found is not None:
            return found
        report.notes.append(f"{snapshot.path_of(sequence)} is damaged and was passed over")
    return None


def journal_files_after(disk: Disk, sequence: int) -> list[int]:
    """The journal files that may hold entries after a sequence; raises if the first ones are missing."""
    files = list_journals(disk)
    while len(files) > 1 and files[1] <= sequence + 1:
        files.pop(0)
    if not files and not sequence and disk.list(TOPICS_FOLDER):
        raise FolderError("the journal is missing, but topics are there: restore the data folder from a backup")
    if files and files[0] > sequence + 1:
        raise FolderError(
            f"journal entries {sequence + 1} to {files[0] - 1} are missing (first file: {journal_path(files[0])}): "
            "restore the data folder from a backup"
        )
    return files


class Foresight:
    """What sets later in the journal remove."""

    def __init__(self) -> None:
        self.deleted: set[int] = set()
        self.starts: dict[tuple[int, int], int] = {}
        self.swapped: dict[tuple[int, int, int], tuple[int, int]] = {}
        """(topic, partition, base of a segment) -> sequence of the set that cleans it, end of the segment"""

    def note(self, stored: StoredSet, sequence: int) -> None:
        """Remembers what a set removes."""
        self.deleted.update(stored.deletes)
        for topic, number, start in stored.trims:
            self.starts[topic, number] = max(start, self.starts.get((topic, number), 0))
        for topic, number, base, _, meta in stored.swaps:
            self.swapped[topic, number, base] = sequence, meta[2]

    def start(self, row: Row) -> int:
        """The first offset that is kept in the partition of a batch."""
        return self.starts.get((row.topic, row.partition), 0)

    def trims(self, row: Row, data: memoryview | None) -> bool:
        """Whether a batch goes; of one whose bytes are not at hand, whether its first record does."""
        last = row.base_offset if data is None else read_header(data).next_offset - 1
        return last < self.start(row)


class Recovery:
    """One start."""

    def __init__(self, disk: Disk, registry: Registry) -> None:
        self._disk = disk
        self._registry = registry
        self._lost: set[Partition] = set()
        self._distrust = distrust.is_there(disk)
        self._copied: set[Segment] = set()
        self._ahead = Foresight()
        self.report = Report()
        self.sequence = 0
        self.state_bytes = 0
        """Of the snapshot."""
        self.last_file: tuple[int, int] | None = None
        """(first sequence, good bytes) of the journal file to go on with."""
        self.journal_damage: tuple[int, int] | None = None
        """(first sequence of a journal file, where it is damaged): from there on nothing was replayed."""

    def run(self) -> None:
        """Brings the registry to the state of the last good journal entry."""
        found = newest_snapshot(self._disk, self.report)
        if found is not None:
            self.sequence = self.report.snapshot = found.sequence
            self.state_bytes = len(found.state)
            self._registry.restore(found.topics)
        try:
            files = journal_files_after(self._disk, self.sequence)
        except FolderError as problem:
            raise FolderError("; ".join([*self.report.notes, problem.text])) from None
        # A later journal file was begun for a checkpoint that never came to its end: a sync of it may have failed, and
        # the process been killed before it could leave the note.
        self._distrust = self._distrust or len(files) > 1
        for first in files:
            for entry in JournalFile(self._disk, first).entries():
                if sets.removes(entry.payload):
                    self._ahead.note(sets.decode(entry.payload), entry.sequence)
        if found is not None and found.sequence + 1 not in files:
            self.report.damage.append(f"{journal_path(found.sequence + 1)} is missing, and what came after it")
            self.journal_damage, files = (found.sequence + 1, 0), []
        try:
            self._replay(files)
        except Corrupt as damage:
            self.report.damage.append(damage.text)
        self._registry.behind.write_all()
        for topic in self._registry.topics.values():
            for partition in topic.partitions:
                partition.trim(partition.start)
        self._check_files()

    def _replay(self, files: list[int]) -> None:
        for place, first in enumerate(files):
            self._replay_file(first, last=place == len(files) - 1)
            if self.report.damage:
                return

    def _replay_file(self, first: int, last: bool) -> None:
        report = self.report
        file = JournalFile(self._disk, first)
        if first > self.sequence + 1:
            report.damage.append(f"journal entries {self.sequence + 1} to {first - 1} are missing")
            self.journal_damage = first, 0
            return
        for entry in file.entries():
            if entry.sequence > self.sequence:
                self._apply(sets.decode(entry.payload), entry.sequence)
                self.sequence = entry.sequence
                report.entries += 1
        ending = file.ending
        if ending.damage or (ending.torn_bytes and not last):
            self.journal_damage = first, ending.good_bytes
        if ending.torn_bytes and not last:
            report.damage.append(f"{file.path} is damaged at byte {ending.good_bytes}, and later entries exist")
        elif ending.damage:
            report.damage.append(ending.damage)
        elif ending.torn_bytes:
            report.torn_bytes = ending.torn_bytes
            report.notes.append(f"{file.path}: cut {ending.torn_bytes} unfinished bytes at {ending.good_bytes}")
        self.last_file = (first, ending.good_bytes) if ending.good_bytes else None

    def _apply(self, stored: StoredSet, sequence: int) -> None:
        ahead, registry = self._ahead, self._registry
        for place in stored.creates:
            if place[0] not in ahead.deleted:
                registry.ensure(TopicPlace(*place))
        for row, data in stored.batches():
            if row.topic in ahead.deleted:
                continue
            cleaned_by, end = ahead.swapped.get((row.topic, row.partition, row.segment), (0, 0))
            if cleaned_by > sequence:
                partition = registry.partition(row.topic, row.partition)
                partition.end = max(partition.end, end)
            else:
                self._restore_batch(row, data)
        for topic, number, base, path, meta in stored.swaps:
            if topic not in ahead.deleted:
                self._swap(registry.partition(topic, number), base, path, meta)
        for topic, number, start in stored.trims:
            if topic not in ahead.deleted:
                # Segments go at the end: one that has lost messages may look empty here, but be written to later.
                partition = registry.partition(topic, number)
                partition.start = max(partition.start, start)
                partition.end = max(partition.end, start)
        for topic in stored.deletes:
            if topic in registry.topics:
                registry.delete(topic)

    def _swap(self, partition: Partition, base: int, path: str, meta: list[int]) -> None:
        found = [segment for segment in partition.segments if segment.base == base]
        segment = found[0] if found else partition.new_segment(base)
        partition.segments.sort(key=lambda each: each.base)
        segment.path = path
        segment.restore_meta(meta)
        segment.replace_index()
        partition.end = max(partition.end, segment.end)

    def _restore_batch(self, row: Row, data: memoryview | None) -> None:
        partition = self._registry.partition(row.topic, row.partition)
        segment = self._segment(partition, row, data)
        if segment is None:
            return
        if self._distrust and segment not in self._copied:
            self._copy(segment)
        header = self._find(segment, row, data)
        if header is None and not self._ahead.trims(row, data):
            header = self._write_again(partition, segment, row, data)
        if header is not None:
            self._registry.behind.unsynced.setdefault(segment, segment.written)
            segment.note(header.base_offset, header.next_offset, header.max_timestamp_ms, header.size)
            partition.end = header.next_offset
        elif segment.end == segment.base:  # made for this batch: the next one may start elsewhere
            partition.segments.remove(segment)
            self._registry.files.forget(segment.path)

    def _copy(self, segment: Segment) -> None:
        """Makes what a failed sync may have left in the cache only reach the disk after all."""
        self._copied.add(segment)
        data = segment.file.read(0, segment.file.size())
        self._registry.files.forget(segment.path)
        write_whole(self._disk, segment.path, [data])

    def _write_again(
        self, partition: Partition, segment: Segment, row: Row, data: memoryview | None
    ) -> BatchHeader | None:
        if data is None:
            self._give_up(partition, segment.path, row)
            return None
        behind = self._registry.behind
        if not segment.waiting:
            segment.file.truncate(segment.size)
        behind.append(segment, data, may_wait=True)
        behind.relieve()
        self.report.rewritten_batches += 1
        return read_header(data)

    def _find(self, segment: Segment, row: Row, data: memoryview | None) -> BatchHeader | None:
        """The header of the batch if it is in its place."""
        if segment.waiting:
            return None  # behind what had to be written again nothing is left
        found = segment.file.read(segment.size, row.size)
        if len(found) < row.size or (data is not None and found != data):
            return None
        header = read_header(found)
        same = (header.base_offset, header.crc) == (row.base_offset, row.crc)
        return header if data is not None or (same and is_sound(found, 0, header)) else None

    def _segment(self, partition: Partition, row: Row, data: memoryview | None) -> Segment | None:
        """The segment that a batch belongs to; None if it was removed later on."""
        last = partition.segments[-1] if partition.segments else None
        if last is not None and last.base != row.segment:
            last = None
        path = last.path if last is not None else partition.path(row.segment)
        start = self._ahead.start(row)
        if start and not self._disk.exists(path):
            if self._ahead.trims(row, data):
                return None
            if data is None and last is not None and last.end <= start:
                # An earlier start did not find this batch either, so it removed a file without kept messages.
                self._give_up(partition, path, row)
                return None
        if last is not None:
            if last.file.size() < last.written:
                raise Corrupt(f"{last.path} is shorter than it was: {last.file.size()} of {last.written} bytes")
            return last
        segment = partition.new_segment(row.segment)
        self._registry.files.get(path, create=True)
        return segment

    def _give_up(self, partition: Partition, path: str, row: Row) -> None:
        self.report.lost_batches += 1
        if partition not in self._lost:
            self._lost.add(partition)
            self.report.notes.append(
                f"{path}: unsynced messages from offset {row.base_offset} on were lost (the topic is async)"
            )

    def _check_files(self) -> None:
        """Finds files that are shorter than the snapshot knows them, or gone."""
        for topic in self._registry.topics.values():
            for partition in topic.partitions:
                for segment in partition.segments:
                    self._check_segment(segment, last=segment is partition.segments[-1])

    def _check_segment(self, segment: Segment, last: bool) -> None:
        if not self._disk.exists(segment.path):
            problem = f"{segment.path} is missing (offsets {segment.base} to {segment.end - 1})"
        elif last and segment.file.size() < segment.size:
            problem = f"{segment.path} is shorter than it was: {segment.file.size()} of {segment.size} bytes"
        else:
            return
        (self.report.damage if last else self.report.notes).append(problem)

    def cut_tails(self) -> None:
        """Removes bytes and files of ours that no entry vouches for. The journal must be durable before."""
        for sequence in snapshot.list_files(self._disk):
            if sequence > self.report.snapshot:  # damaged: it must not count as one of the two that are kept
                self._disk.remove(snapshot.path_of(sequence))
        folders = {topic.folder for topic in self._registry.topics.values()}
        for name in self._disk.list(TOPICS_FOLDER):
            if f"{TOPICS_FOLDER}/{name}" not in folders and is_topic_folder(name):
                self._disk.remove_folder(f"{TOPICS_FOLDER}/{name}")
        for topic in self._registry.topics.values():
            known = set()
            for partition in topic.partitions:
                known |= {segment.path for segment in partition.segments}
                for segment in partition.segments:
                    may_have_more = segment is partition.segments[-1] or segment in self._registry.behind.unsynced
                    if may_have_more and segment.file.size() > segment.size:
                        segment.file.truncate(segment.size)
            self._remove_unknown(topic.folder, known)

    def _remove_unknown(self, folder: str, known: set[str]) -> None:
        """Removes segments for good: what was given up must not come back beside what takes its offsets."""
        removed = False
        for name in self._disk.list(folder):
            path = f"{folder}/{name}"
            if path.removesuffix(".index").removesuffix(".log") + ".log" not in known and is_segment_file(name):
                self._registry.files.forget(path)
                self._disk.remove(path)
                removed = True
        if removed:
            self._disk.sync_folder(folder)
