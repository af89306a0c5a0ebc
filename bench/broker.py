"""A broker in this process, for measurements below the network."""

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

from onemq.core.core import Core
from onemq.errors import OneMQError
from onemq.log.disk import OsDisk
from onemq.log.local import LocalLog


class Threads:
    """Blocking work beside the measurement, as in the server; what is finished is taken up at each turn."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(2)
        self._finished: SimpleQueue[tuple[Callable[[BaseException | None], None], BaseException | None]] = SimpleQueue()

    def run(self, work: Callable[[], None], then: Callable[[BaseException | None], None]) -> None:
        self._pool.submit(work).add_done_callback(lambda future: self._finished.put((then, future.exception())))

    def rest(self) -> None:
        pass

    def take_up(self) -> None:
        """Calls the completions of what is finished."""
        while not self._finished.empty():
            then, problem = self._finished.get()
            then(problem)

    def close(self) -> None:
        self._pool.shutdown()
        self.take_up()


def open_core(folder: Path, threads: Threads | None = None) -> Core:
    """A core over the local log in a folder."""
    disk = OsDisk(folder)
    disk.make_folder("")
    log = LocalLog(disk, background=threads)
    log.open()
    core = Core(log)
    core.recover(1)
    return core


@contextmanager
def fresh_core(parent: str | None, threads: Threads | None = None) -> Iterator[Core]:
    """A core in a new folder that is removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="onemq-bench-", dir=parent))
    core = open_core(folder, threads)
    try:
        yield core
    finally:
        if threads is not None:
            threads.close()
        core.log.close()
        shutil.rmtree(folder, ignore_errors=True)


def turn_done(error: OneMQError | None) -> None:
    """Fails the measurement if a turn was not written."""
    if error is not None:
        raise error


class TurnLoop:
    """Ends a turn once per iteration of the loop, as the server does."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._waiting: list[asyncio.Future[None]] = []
        self._loop = asyncio.get_running_loop()

    def durable(self) -> "asyncio.Future[None]":
        """Resolves when this turn is as durable as asked."""
        if not self._waiting:
            self._loop.call_soon(self._end)
        future = self._loop.create_future()
        self._waiting.append(future)
        return future

    def _end(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._core.settle()

        def done(error: OneMQError | None) -> None:
            turn_done(error)
            for future in waiting:
                future.set_result(None)

        self._core.flush(done)
