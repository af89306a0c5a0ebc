"""The portal: a loop in a thread, and the way to it from others."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from onemq.errors import Disconnected, InvalidArgument

Result = TypeVar("Result")
END_SECONDS = 5.0
"""How long the thread may take to end."""


def waiting_for_itself() -> InvalidArgument:
    """What is raised where a call would wait for its own thread."""
    return InvalidArgument(
        "this waits, and would wait for itself here: callbacks and async handlers run on the client's own thread; "
        "there, use send_async and no result(), or onemq.aio"
    )


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


class Portal:
    """Runs coroutines for other threads."""

    def __init__(self) -> None:
        self.loop = _new_loop()
        self._thread = threading.Thread(target=self._run, name="onemq-client", daemon=True)
        self._thread.start()

    def call(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Waits for a coroutine that runs on the loop. Interrupted, it is cancelled."""
        if self.is_here:
            coroutine.close()
            raise waiting_for_itself()
        if self.loop.is_closed():
            coroutine.close()
            raise Disconnected("the client is closed")
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    @property
    def is_here(self) -> bool:
        """Whether the caller is on the loop's own thread, and must not wait for it."""
        return threading.current_thread() is self._thread

    def do(self, function: Callable[[], Result]) -> Result:
        """Calls a function on the loop's thread and waits for it."""

        async def run() -> Result:
            return function()

        return self.call(run())

    def close(self) -> None:
        """Ends the loop and its thread."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join(END_SECONDS)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
            tasks = asyncio.all_tasks(self.loop)
            for task in tasks:
                task.cancel()
            self.loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        finally:
            self.loop.close()
