"""The checkpoints of a log: when the next one is due, and what follows from how it went.

What everybody waits for is kept short: the journal is synced beforehand, in the background, and the work itself
(checkpoint.py) is done there, too.
"""

from collections.abc import Callable, Iterable

from onemq.errors import OneMQError, ReadOnly
from onemq.log import distrust
from onemq.log.behind import WriteBehind
from onemq.log.checkpoint import Checkpoint
from onemq.log.commit import Background, run, sync_failure
from onemq.log.disk import OUT_OF_SPACE, Disk
from onemq.log.health import Health
from onemq.log.journal import Journal
from onemq.log.since import Since
from onemq.log.topicfiles import Registry


class Checkpoints:
    """One at a time."""

    def __init__(
        self,
        disk: Disk,
        journal: Journal,
        registry: Registry,
        behind: WriteBehind,
        since: Since,
        health: Health,
        background: Background | None,
        *,
        sync_now: Callable[[], bool],
        on_sync_failed: Callable[[OneMQError], None],
        on_trouble: Callable[[str], None],
    ) -> None:
        """`sync_now` makes all sets so far durable, or says that it could not; `on_sync_failed` is told if the journal
        could not be synced in the background."""
        self._disk = disk
        self._journal = journal
        self._registry = registry
        self._behind = behind
        self._since = since
        self._health = health
        self._background = background
        self._sync_now = sync_now
        self._on_sync_failed = on_sync_failed
        self._on_trouble = on_trouble
        self._syncing = False  # the journal, before the next one
        self._synced_file = 0  # the first sequence of the journal file of which that was done
        self.running = False
        self.urgent = False
        """After an unclean start, or one that failed: what the log holds may be in the page cache only. So the next one
        is made at once, and everything waits until it is there."""

    def is_due(self) -> bool:
        """Whether replaying what has come would take noticeable time. Before it says so, the journal is synced in the
        background, so that `make` has little of that left to do."""
        if self._health.failure is not None or self.running or self._syncing:
            return False
        if self.urgent:
            return True
        if not self._is_much():
            return False
        journal = self._journal
        if self._background is None or journal.synced == journal.sequence or self._synced_file == journal.first:
            return True
        self._syncing, self._synced_file = True, journal.first
        self._background.run(journal.sync, self._synced_beforehand)
        return False

    def _is_much(self) -> bool:
        """Whether enough has come since the last one."""
        since, size = self._since, self._journal.size
        if since.is_enough(size):
            since.segment_bytes = min(since.segment_bytes, self._behind.unsynced_bytes())
        return since.is_enough(size)

    def _synced_beforehand(self, problem: BaseException | None) -> None:
        self._syncing = False
        if problem is not None and self._health.failure is None:
            self._on_sync_failed(sync_failure(problem))

    def make(self, state: Iterable[bytes]) -> None:
        """Keeps `state` as the sum of all sets so far. Does nothing while another one runs."""
        if self._health.failure is not None or self.running:
            return
        if not self._sync_now():
            return
        try:
            self._behind.write_all()
            self._journal.start_file()
        except OSError as problem:
            self._health.could_not_write(problem)
            return
        unsynced, self._behind.unsynced = self._behind.unsynced, {}
        background = None if self.urgent else self._background
        rest = background.rest if background is not None else _no_rest
        job = Checkpoint(self._disk, self._journal.sequence, self._registry.meta(), state, unsynced, rest)
        self._since.start_over()
        self.urgent, self.running = False, True
        run(background, job.run, lambda problem: self._done(job, problem))

    def _done(self, job: Checkpoint, problem: BaseException | None) -> None:
        self.running = False
        if problem is not None:
            self._failed(job, problem)
            return
        self._since.wrote(job.snapshot_bytes)
        try:
            if distrust.is_there(self._disk):
                distrust.clear(self._disk)
            if job.not_removed is not None:
                raise job.not_removed
        except OSError as failed:
            self._on_trouble(f"old snapshots or journals could not be removed ({failed}); later ones try again")

    def _failed(self, job: Checkpoint, problem: BaseException) -> None:
        """Refuses further sets. A full disk may be tried again, a failed sync not: its bytes may be lost."""
        job.give_back()
        if job.sync_failed:
            distrust.leave(self._disk)
        self._behind.unsynced |= job.dirty  # with its positions, which come before those since
        self.urgent = True
        if isinstance(problem, OSError) and problem.errno in OUT_OF_SPACE and not job.sync_failed:
            self._health.could_not_write(problem)
        else:
            self._health.fail(
                ReadOnly(f"a checkpoint failed ({problem}); nothing more is acknowledged: check the disk and restart")
            )


def _no_rest() -> None:
    """For work that is waited for."""
