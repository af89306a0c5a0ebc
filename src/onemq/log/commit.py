"""Group commit: one sync of the journal serves everyone who waits for it.

While a sync is quick it is done right away, on the caller's thread: that beats a hand-over to a
thread and keeps closed-loop clients in one group. When syncs become slow they move to the
background: those who come meanwhile form the next group, and a finished sync first releases its
waiters and then starts the next one.

A disk that was told beforehand to begin gets a moment before it is synced: a sync that comes too early goes to sleep
twice, for the bytes and for the disk's own cache, and in a virtual machine each time costs some tens of microseconds.
"""

import time
from collections.abc import Callable
from typing import Protocol

from onemq.errors import OneMQError, ReadOnly
from onemq.log.engine import Done

INLINE_SECONDS_MAX = 0.001
HEAD_START_SECONDS_MAX = 20e-6
HEAD_START_SHARE_MAX = 0.25
"""Of the time that a sync takes: for disks that take little."""
_WEIGHT = 0.1


class Background(Protocol):
    """Runs blocking work elsewhere."""

    def run(self, work: Callable[[], None], then: Callable[[BaseException | None], None]) -> None:
        """Runs `work` off the caller's thread and calls `then` on the caller's thread afterwards."""

    def rest(self) -> None:
        """Called by long work every now and then: pauses it where it would keep the caller's thread waiting."""


def run(
    background: Background | None, work: Callable[[], None], then: Callable[[BaseException | None], None]
) -> None:
    """Runs work in the background if there is one, else right here."""
    if background is not None:
        background.run(work, then)
        return
    try:
        work()
    except (OSError, OneMQError) as problem:
        then(problem)
    else:
        then(None)


def sync_failure(problem: BaseException) -> OneMQError:
    """What a failed sync of the journal means."""
    return ReadOnly(
        f"syncing the journal failed ({problem}); nothing more is acknowledged: check the disk, then restart OneMQ"
    )


class GroupCommit:
    """Decides when to sync, and tells the waiters."""

    def __init__(
        self, sync: Callable[[], None], background: Background | None, inline_seconds_max: float = INLINE_SECONDS_MAX
    ) -> None:
        self._inline_seconds_max = inline_seconds_max
        self._sync = sync
        self._background = background
        self._average_seconds = 0.0
        self._waiting: list[Done] = []
        self._running: list[Done] = []
        self.failure: OneMQError | None = None
        self.syncs = 0

    @property
    def busy(self) -> bool:
        """Whether a sync runs in the background."""
        return bool(self._running)

    def wait(self, done: Done, begun: float = 0.0) -> None:
        """Calls `done` when everything written before this call is durable, or with the failure. `begun` is the time
        (`perf_counter`) at which the disk began with it, if it was told to."""
        self._waiting.append(done)
        if not self._running:
            self._start(begun)

    def _start(self, begun: float = 0.0) -> None:
        self._running, self._waiting = self._waiting, []
        if self._background is None or self._average_seconds < self._inline_seconds_max:
            if begun:
                self._await_head_start(begun)
            self._finish(self._attempt())
        else:
            self._background.run(self._timed_sync, self._finish_background)

    def _await_head_start(self, begun: float) -> None:
        until = begun + min(HEAD_START_SECONDS_MAX, HEAD_START_SHARE_MAX * self._average_seconds)
        while time.perf_counter() < until:
            pass

    def _attempt(self) -> BaseException | None:
        try:
            self._timed_sync()
        except Exception as problem:  # whatever it is: as in the background, those who wait are told
            return problem
        return None

    def _timed_sync(self) -> None:
        started = time.perf_counter()
        self._sync()
        took = time.perf_counter() - started
        self._average_seconds += _WEIGHT * (took - self._average_seconds)
        self.syncs += 1

    def _finish_background(self, problem: BaseException | None) -> None:
        self._finish(problem)
        if self._waiting and not self._running:
            self._start()

    def _finish(self, problem: BaseException | None) -> None:
        if problem is not None and self.failure is None:
            self.failure = sync_failure(problem)
        released, self._running = self._running, []
        if self.failure is not None:
            released, self._waiting = released + self._waiting, []
        for done in released:
            done(self.failure)
