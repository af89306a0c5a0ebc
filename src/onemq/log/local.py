"""The local log: a journal and partition segments in one folder. The default engine.

An append puts each batch at the end of its segment and the whole set as one entry into the journal, then
syncs the journal alone if the set asks for it: one sync, whatever the number of topics. Small batches that
are in the journal with their bytes reach their segments later, many in one write (log/behind.py).
Segments are synced at checkpoints, after which older journal files go. A write that fails is undone,
and after it nothing more is appended until `try_again` succeeds; after a failed sync, until a restart.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from onemq.errors import FolderError, OneMQError, ReadOnly
from onemq.log import distrust, folder, sets
from onemq.log.ahead import AHEAD_BYTES
from onemq.log.behind import SEGMENT_WAITING_BYTES_MAX, WAITING_BYTES_MAX, WriteBehind
from onemq.log.checkpoints import Checkpoints
from onemq.log.cleaner import Choose, Cleaner
from onemq.log.cleaning import CleanedSegment, by_offset
from onemq.log.commit import INLINE_SECONDS_MAX, Background, GroupCommit, sync_failure
from onemq.log.disk import OUT_OF_SPACE, Disk
from onemq.log.engine import Done, Keep, Replay, WriteSet
from onemq.log.health import Health
from onemq.log.journal import RESERVE_BYTES, Journal, JournalFile
from onemq.log.openfiles import OpenFiles
from onemq.log.pending import PendingSet
from onemq.log.recovery import Recovery, Report, journal_files_after, newest_snapshot
from onemq.log.segment import Segment
from onemq.log.since import Since
from onemq.log.stretch import Stretch
from onemq.log.topicfiles import Registry

JOURNAL_BYTES = 64 << 20
INDEX_INTERVAL_BYTES = 4096
OPEN_FILES_MAX = 4096
"""Fewer where the process may not open so many."""
CHECKPOINT_ENTRIES = 500_000


class LocalLog:
    """`Log` over a `Disk`. Call `open` first."""

    def __init__(
        self,
        disk: Disk,
        *,
        background: Background | None = None,
        journal_bytes: int = JOURNAL_BYTES,
        journal_reserve_bytes: int = RESERVE_BYTES,
        index_interval_bytes: int = INDEX_INTERVAL_BYTES,
        checkpoint_entries: int = CHECKPOINT_ENTRIES,
        inline_sync_seconds_max: float = INLINE_SECONDS_MAX,
        open_files_max: int = OPEN_FILES_MAX,
        segment_waiting_bytes_max: int = SEGMENT_WAITING_BYTES_MAX,
        waiting_bytes_max: int = WAITING_BYTES_MAX,
        segment_ahead_bytes: int = AHEAD_BYTES,
        on_trouble: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`on_trouble` is told what an operator should know and what stops nothing."""
        self._disk = disk
        self._background = background
        self._on_trouble = on_trouble
        self._files = OpenFiles(disk, open_files_max)
        self._behind = WriteBehind(segment_waiting_bytes_max, waiting_bytes_max, segment_ahead_bytes)
        self._registry = Registry(self._files, self._behind, index_interval_bytes)
        self._journal = Journal(disk, journal_reserve_bytes)
        self._cleaner = Cleaner(disk, background)
        self._commit = GroupCommit(self._journal.sync, background, inline_sync_seconds_max)
        self._health = Health()
        self._pending: deque[PendingSet] = deque()
        self._since = Since(journal_bytes, checkpoint_entries)
        self._checkpoints = Checkpoints(
            disk, self._journal, self._registry, self._behind, self._since, self._health, background,
            sync_now=self._sync_now, on_sync_failed=self._fail, on_trouble=on_trouble,
        )  # fmt: skip
        self.report = Report()

    # Starting and stopping

    def open(self) -> Report:
        """Recovers the folder. Raises `FolderError`; damage leaves the log readable, with `failure` set."""
        try:
            return self._open()
        except OSError as problem:
            self.close()
            raise FolderError(
                f"the data folder cannot be used ({problem}): give this account the right to read and write it, "
                "free some space, or check the disk"
            ) from problem

    def _open(self) -> Report:
        folder.check_format(self._disk)
        folder.prepare(self._disk)
        recovery = Recovery(self._disk, self._registry)
        recovery.run()
        self.report = recovery.report
        self._journal.sequence = recovery.sequence
        if self.report.damage:
            self._health.fail(ReadOnly(
                "stored data is damaged, so OneMQ only reads: " + "; ".join(self.report.damage)
                + ". Restore a backup, or accept the loss with `onemq log repair`"
            ))  # fmt: skip
            return self.report
        if recovery.last_file is None:
            self._journal.start_file()
        else:
            self._continue_journal(*recovery.last_file)
        self._journal.sync()
        recovery.cut_tails()
        self._since.entries = self.report.entries
        self._since.wrote(recovery.state_bytes)
        # What was replayed may be in the page cache only, even if a sync now says otherwise: one may have failed
        # before. And after a loss the journal speaks of batches that are gone. A checkpoint settles both.
        self._checkpoints.urgent = not self.report.clean
        return self.report

    def _continue_journal(self, first: int, size: int) -> None:
        """Goes on in the last file. After an unclean stop in a copy of it: a process may have been killed between a
        failed sync and the note about that, and then the disk may never get what reading finds in the cache."""
        if not self.report.clean and not distrust.is_there(self._disk):
            try:
                self._journal.continue_file(first, size, anew=True)
                return
            except OSError as problem:
                if problem.errno not in OUT_OF_SPACE:
                    raise  # a full disk has no room for a copy, and serves without
        self._journal.continue_file(first, size, anew=distrust.is_there(self._disk))

    def close(self) -> None:
        """Closes all files. What waits for its segment stays in the journal, and the next start writes it."""
        self._journal.close()
        with suppress(OSError):  # the next start does it
            self._registry.cut_ahead()
        self._files.close()

    def replay(self) -> Replay:
        """The newest snapshot's state and the entries of every acknowledged set after it."""
        found = newest_snapshot(self._disk, Report())
        sequence = found.sequence if found else 0
        return Replay(found.state if found else None, self._replay_sets(sequence, self._journal.sequence))

    def _replay_sets(self, after: int, last: int) -> Iterator[list[list[object]]]:
        for first in journal_files_after(self._disk, after):
            for entry in JournalFile(self._disk, first).entries():
                if after < entry.sequence <= last:
                    yield sets.decode(entry.payload).entries

    # Appending

    @property
    def failure(self) -> OneMQError | None:
        """Why nothing can be appended now."""
        return self._health.failure

    def append(self, writes: WriteSet, done: Done) -> None:
        """See `Log.append`."""
        if self._health.failure is not None:
            done(self._health.failure)
            return
        pending = PendingSet(self._registry, self._journal.sequence, self._journal.size, done)
        try:
            self._write(writes, [], pending)
        except OSError as problem:
            self._refuse(pending, problem)
            done(self.failure)
            return
        except Exception:
            self._take_back(pending)
            raise
        self._pending.append(pending)
        self._since.entries += len(writes.entries)
        if writes.trims or writes.deletes:
            pending.trim(writes.trims)
            pending.delete(writes.deletes)
        if writes.sync or pending.garbage:
            self._commit.wait(lambda failure: self._synced(pending, failure), pending.begun)
        else:
            pending.good = True
            self._acknowledge()

    def _write(self, writes: WriteSet, swaps: list[Any], pending: PendingSet) -> None:
        if writes.creates:
            pending.create(writes.creates)
        base = self._base_beforehand(writes)
        if base >= 0:
            self._write_alone(writes, base, pending)
            return
        rows = [sets.row_of(*each) for each in zip(writes.batches, pending.append(writes.batches), strict=True)]
        if writes.trims:
            writes = replace(writes, trims=self._within_bounds(writes.trims))
        meta = sets.encode(writes, rows, swaps)
        self._journal.append([meta, *[data for _, _, _, data, journaled in writes.batches if journaled]])
        if rows:
            self._behind.relieve()
            self._since.segment_bytes += sum([row[3] for row in rows])

    def _base_beforehand(self, writes: WriteSet) -> int:
        """The segment of a batch that may go there after the journal has it: one that somebody waits for alone. -1 if
        it is not as simple as that."""
        if not writes.sync or len(writes.batches) != 1 or writes.creates or writes.trims or writes.deletes:
            return -1
        topic, number, _, data, journaled = writes.batches[0]
        return self._registry.partition(topic, number).base_for(data) if journaled else -1

    def _write_alone(self, writes: WriteSet, base: int, pending: PendingSet) -> None:
        """Writes a set of one batch that goes to the segment of this base: that is done while the disk is busy with the
        journal, and until then as little as possible."""
        batch = writes.batches[0]
        self._journal.append((sets.encode(writes, (sets.row_of(batch, base),), []), batch.data))
        pending.begun = self._journal.begin_sync()
        pending.append(writes.batches)
        self._behind.relieve()
        self._since.segment_bytes += len(batch.data)

    def _within_bounds(self, trims: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
        """Trims as they will be carried out: recovery, which may lack what they removed, takes them at their word."""
        return [
            (topic, number, min(start, self._registry.partition(topic, number).end)) for topic, number, start in trims
        ]

    def _synced(self, pending: PendingSet, failure: OneMQError | None) -> None:
        if failure is None:
            pending.good = True
            self._acknowledge()
        else:
            self._fail(failure)

    def _sync_now(self) -> bool:
        """Makes all sets so far durable, right here; they are acknowledged when the log next comes to it."""
        try:
            self._journal.sync()
        except OSError as problem:
            self._fail(sync_failure(problem))
            return False
        for pending in self._pending:
            pending.good = True
        return True

    def _acknowledge(self) -> None:
        """Answers sets in the order in which they were appended: none overtakes one that it may build on."""
        while self._pending and self._pending[0].good:
            pending = self._pending.popleft()
            if pending.garbage:
                self._remove_files(pending.garbage)
            pending.done(None)

    def _remove_files(self, paths: list[str]) -> None:
        for path in paths:
            self._files.forget(path)
            try:
                if path.endswith((".log", ".index")):
                    self._disk.remove(path)
                else:
                    self._disk.remove_folder(path)
            except OSError:
                self._on_trouble(f"{path} could not be removed; the next start tries again")

    # Failing closed

    def _fail(self, failure: OneMQError) -> None:
        """After a failed sync: undoes every set that may not be durable and refuses further ones."""
        for pending in self._pending:
            # An earlier sync that ran meanwhile may have covered sets that still wait for theirs.
            pending.good = pending.good or pending.sequence < self._journal.synced
        self._acknowledge()
        self._health.fail(failure)
        distrust.leave(self._disk)
        undone, self._pending = self._pending, deque()
        if undone:
            with suppress(OSError):  # the next start finds out what is there
                self._cut_journal(undone[0])
        for pending in reversed(undone):
            pending.undo()
        for pending in undone:
            pending.done(failure)

    def _refuse(self, pending: PendingSet, problem: OSError) -> None:
        """After a failed write: undoes that set and refuses further ones. Those before it are not concerned."""
        self._health.could_not_write(problem)
        self._take_back(pending)

    def _take_back(self, pending: PendingSet) -> None:
        """Undoes the newest set, which was not written to its end."""
        failure: OneMQError | None = None
        try:
            self._cut_journal(pending)
        except OSError as problem:
            failure = sync_failure(problem)
        if not pending.undo():
            self._health.can_retry = False
        if failure is not None:
            self._fail(failure)

    def _cut_journal(self, pending: PendingSet) -> None:
        """Back to before a set. First of all, so that a crash finds its entry and its batches, or no entry."""
        self._journal.sequence, self._journal.size = pending.sequence, pending.journal_size
        self._journal.cut_back()

    def _write_synced(self, swaps: list[Any]) -> bool:
        """Appends a set of the log's own, durable when this returns. If that fails, it is as with any set."""
        pending = PendingSet(self._registry, self._journal.sequence, self._journal.size, lambda _: None)
        try:
            self._write(WriteSet(), swaps, pending)
        except OSError as problem:
            self._refuse(pending, problem)
            return False
        self._pending.append(pending)
        if not self._sync_now():
            return False
        self._pending.pop()
        return True

    def try_again(self) -> bool:
        """After a full disk: whether appending works again."""
        health = self._health
        if health.can_retry and health.failure is not None and self._write_synced([]):
            health.failure = None
        return health.failure is None

    # Reading

    def read(self, topic: int, partition: int, offset: int, bytes_max: int, then: Callable[[bytes], None]) -> None:
        """See `Log.read`."""
        then(self._registry.partition(topic, partition).read(offset, bytes_max))

    def stretch(
        self, topic: int, partition: int, offset: int, bytes_max: int, boot: int
    ) -> tuple[Stretch, int] | None:
        """See `Log.stretch`."""
        return self._registry.partition(topic, partition).stretch(offset, bytes_max, boot)

    def bounds(self, topic: int, partition: int) -> tuple[int, int]:
        """See `Log.bounds`."""
        found = self._registry.partition(topic, partition)
        return found.start, found.end

    def offset_at(self, topic: int, partition: int, timestamp_ms: int, then: Callable[[int], None]) -> None:
        """See `Log.offset_at`."""
        then(self._registry.partition(topic, partition).offset_at(timestamp_ms))

    def latest_before(self, topic: int, partition: int, offset: int) -> int:
        """See `Log.latest_before`."""
        return self._registry.partition(topic, partition).latest_before(offset)

    def stored_bytes(self, topic: int, partition: int) -> int:
        """See `Log.stored_bytes`."""
        return self._registry.partition(topic, partition).stored_bytes()

    def free_ratio(self) -> float:
        """See `Log.free_ratio`."""
        free, total = self._disk.free()
        return free / total if total else 0.0

    # Making room

    def expired(
        self, topic: int, partition: int, before_ms: int | None, bytes_max: int | None, below: int | None
    ) -> int:
        """See `Log.expired`."""
        return self._registry.partition(topic, partition).expired(before_ms, bytes_max, below)

    def clean(self, topic: int, partition: int, keep: Keep, then: Callable[[int], None]) -> None:
        """See `Log.clean`."""
        closed = self._registry.partition(topic, partition).segments[:-1]
        self._clean(topic, partition, closed, lambda: by_offset(keep), then)

    def compact(self, topic: int, partition: int, tombstones_before_ms: int, then: Callable[[int], None]) -> None:
        """See `Log.compact`. Waits until half of what is no longer appended to is new."""
        found = self._registry.partition(topic, partition)
        closed = found.segments[:-1]
        new_bytes = sum(segment.size for segment in closed if segment.base >= found.compacted_to)
        too_early = not new_bytes or 2 * new_bytes < sum(segment.size for segment in closed)
        if too_early or self._checkpoints.running or self.failure is not None:
            then(0)
            return
        try:
            if found.segments[-1].waiting:
                self._behind.write(found.segments[-1])  # it is read, too, and from the file
        except OSError as problem:
            self._health.could_not_write(problem)
            then(0)
            return
        found.compacted_to = found.segments[-1].base
        choose = self._cleaner.last_by_key(found.segments, self._behind.unsynced, tombstones_before_ms)
        self._clean(topic, partition, closed, choose, then)

    def _clean(
        self, topic: int, partition: int, closed: list[Segment], choose: Choose, then: Callable[[int], None]
    ) -> None:
        def finish(cleaned: list[CleanedSegment], problem: BaseException | None) -> None:
            if problem is None:
                then(self._finish_clean(topic, partition, cleaned))
                return
            self._on_trouble(f"cleaning partition {partition} of topic {topic} failed: {problem}")
            self._remove_files([each.path for each in cleaned])
            if isinstance(problem, ReadOnly):
                self._health.fail(problem)
            then(0)

        if not self._cleaner.start((topic, partition), closed, choose, finish):
            then(0)

    def _finish_clean(self, topic: int, partition: int, cleaned: list[CleanedSegment]) -> int:
        """Puts the new files in the place of the old ones. Returns the bytes freed."""
        if topic not in self._registry.topics:
            return 0
        found = self._registry.partition(topic, partition)
        current = {segment.base: segment for segment in found.segments}
        unwanted = [each.path for each in cleaned if current.get(each.base) is not each.source]
        cleaned = [each for each in cleaned if current.get(each.base) is each.source]
        if self.failure is not None:
            unwanted, cleaned = unwanted + [each.path for each in cleaned], []
        self._remove_files(unwanted)
        swaps = [[topic, partition, each.base, each.path, each.meta] for each in cleaned]
        if not swaps or not self._write_synced(swaps):
            return 0
        return sum(self._swap(current[each.base], each) for each in cleaned)

    def _swap(self, segment: Segment, cleaned: CleanedSegment) -> int:
        freed = segment.size - cleaned.meta[1]
        old = [segment.path, segment.index_path]
        segment.path = cleaned.path
        segment.cut(cleaned.meta[1], segment.end)
        segment.restore_meta(cleaned.meta)
        segment.replace_index()
        self._behind.forget([segment])
        self._remove_files(old)
        return freed

    # Checkpoints

    def checkpoint_due(self) -> bool:
        """See `Log.checkpoint_due`."""
        return self._checkpoints.is_due()

    def checkpoint(self, state: Iterable[bytes]) -> None:
        """See `Log.checkpoint`."""
        self._checkpoints.make(state)
