"""What a sender gets back: the receipt of a message, and what stands for it until it comes."""

import asyncio
import threading
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from onemq.errors import OneMQError, TimedOut


class Receipt(NamedTuple):
    """Where a message is. It is durable as its topic asks for. A tuple, since one is made for every message."""

    topic: str
    id: str
    partition: int | None = None
    offset: int | None = None
    """None while it waits in the schedule or is half."""
    schedule: str | None = None
    """Its id in the schedule, to cancel or move it."""
    due: int | None = None
    """When it is due, ms since 1970."""
    transaction: str | None = None
    duplicate: bool = False
    """Whether the broker knew it already, by its idempotency key: then this is the place of the first one."""


class Outcome:
    """What becomes of messages that travel together: all stored, or an error for all."""

    __slots__ = ("_callbacks", "_event", "_lock", "error", "is_done")

    def __init__(self) -> None:
        self.is_done = False
        self.error: OneMQError | None = None
        self._lock = threading.Lock()
        self._event: threading.Event | None = None
        self._callbacks: list[Callable[[], None]] = []

    def receipt(self, index: int) -> Receipt:
        """The receipt of one of them, when all are stored."""
        raise NotImplementedError

    def receipts(self, first: int, count: int) -> list[Receipt]:
        """The receipts of some that follow each other."""
        return [self.receipt(index) for index in range(first, first + count)]

    def on_done(self, callback: Callable[[], None]) -> None:
        """Calls back on the client's loop, or at once if it is done."""
        with self._lock:
            if not self.is_done:
                self._callbacks.append(callback)
                return
        callback()

    def finish(self, error: OneMQError | None) -> None:
        """Called once, on the loop."""
        with self._lock:
            self.error = error
            self.is_done = True
            event, callbacks = self._event, self._callbacks
            self._callbacks = []
        if event is not None:
            event.set()
        for callback in callbacks:
            callback()

    def done(self) -> asyncio.Future[None]:
        """To be awaited, on the loop."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def done() -> None:
            if not future.done():
                future.set_result(None)

        self.on_done(done)
        return future

    def wait(self, timeout: float | None) -> bool:
        """Blocks a thread until it is done."""
        with self._lock:
            if self.is_done:
                return True
            if self._event is None:
                self._event = threading.Event()
            event = self._event
        return event.wait(timeout)


class Pending:
    """A message under way: `await` it, or ask for its `result()` from another thread."""

    __slots__ = ("_index", "_outcome")

    def __init__(self, outcome: Outcome, index: int) -> None:
        self._outcome = outcome
        self._index = index

    @property
    def part(self) -> "Part":
        """It as a part of a list."""
        return self._outcome, self._index, 1

    def done(self) -> bool:
        """Whether it is stored or has failed."""
        return self._outcome.is_done

    @property
    def error(self) -> OneMQError | None:
        """Why it failed, if it did."""
        return self._outcome.error

    @property
    def receipt(self) -> Receipt:
        """The receipt of a message that is done; raises its error."""
        if not self._outcome.is_done:
            raise TimedOut("the message is still under way")
        if self._outcome.error is not None:
            raise self._outcome.error
        return self._outcome.receipt(self._index)

    def result(self, timeout: float | None = None) -> Receipt:
        """Blocks until it is done. Not on the loop: there, `await` it."""
        if not self._outcome.wait(timeout):
            raise TimedOut(f"the message was not stored within {timeout:g} s")
        return self.receipt

    def add_done_callback(self, callback: Callable[["Pending"], Any]) -> None:
        """Called with this when it is done, on the client's loop: be short there."""
        self._outcome.on_done(lambda: callback(self))

    def __await__(self) -> Generator[Any, None, Receipt]:
        if not self._outcome.is_done:
            yield from self._outcome.done()
        return self.receipt

    def __repr__(self) -> str:
        outcome = self._outcome
        state = "under way" if not outcome.is_done else f"failed: {outcome.error}" if outcome.error else self.receipt
        return f"<Pending {state}>"


Part = tuple[Outcome, int, int]
"""(outcome, index of the first, count): messages of a list that travel together."""


def receipts_of(parts: list[Part]) -> list[Receipt]:
    """Of messages that are done; raises the first error."""
    found: list[Receipt] = []
    for outcome, first, count in parts:
        if outcome.error is not None:
            raise outcome.error
        found += outcome.receipts(first, count)
    return found
