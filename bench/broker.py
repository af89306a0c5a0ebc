"""A broker in this process, for measurements below the network."""

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from onemq.core.core import Core
from onemq.errors import OneMQError
from onemq.log.disk import OsDisk
from onemq.log.local import LocalLog


def open_core(folder: Path) -> Core:
    """A core over the local log in a folder."""
    disk = OsDisk(folder)
    disk.make_folder("")
    log = LocalLog(disk)
    log.open()
    core = Core(log)
    core.recover(1)
    return core


@contextmanager
def fresh_core(parent: str | None) -> Iterator[Core]:
    """A core in a new folder that is removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="onemq-bench-", dir=parent))
    core = open_core(folder)
    try:
        yield core
    finally:
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
