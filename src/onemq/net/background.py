"""Threads for work that blocks: syncing, checkpoints, compaction. Results come back to the loop's thread."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

THREADS = 4
"""So that a long compaction does not keep a sync waiting."""
_WORK_SECONDS = 0.001
_RESTS_PER_WORK = 4
"""Long work takes a fifth of the time: Python runs one thread at a time, and the loop has to answer."""


class BackgroundThreads:
    """Runs work beside the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="onemq")
        self._running = 0
        self._own = threading.local()
        self._awaited = False
        self._idle = asyncio.Event()
        self._idle.set()

    def run(self, work: Callable[[], None], then: Callable[[BaseException | None], None]) -> None:
        """Runs `work` on another thread, then `then` on the loop's, with the exception if there was one."""

        def hand_back(result: Future[None]) -> None:
            self._loop.call_soon_threadsafe(self._finish, then, result.exception())

        self._running += 1
        self._idle.clear()
        self._threads.submit(work).add_done_callback(hand_back)

    def rest(self) -> None:
        """Sleeps, if this thread has worked for a while and nobody waits for it to finish."""
        began = getattr(self._own, "began", 0.0)
        worked = time.perf_counter() - began
        if worked >= _WORK_SECONDS and not self._awaited:
            time.sleep(_RESTS_PER_WORK * min(worked, _WORK_SECONDS))
            self._own.began = time.perf_counter()

    def _finish(self, then: Callable[[BaseException | None], None], problem: BaseException | None) -> None:
        self._running -= 1
        try:
            then(problem)
        finally:
            if not self._running:
                self._idle.set()

    async def idle(self) -> None:
        """Waits until nothing runs."""
        self._awaited = True
        await self._idle.wait()
        self._awaited = False

    def stop(self) -> None:
        """Ends the threads. Nothing can be run after it."""
        self._threads.shutdown()
