"""Receiving, for programs without asyncio."""

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Self, TypeVar

from onemq.client.broadcast import AsyncBroadcast
from onemq.client.consumer import STOP_SECONDS, AsyncConsumer
from onemq.client.message import Message
from onemq.client.sync.portal import Portal
from onemq.client.times import Duration

Function = TypeVar("Function", bound=Callable[..., Any])
LOOK_SECONDS = 1.0
"""How long one request of an iteration waits for messages."""


class Consumer:
    """One member of a group. Made by `client.consumer(...)`: a decorator for a handler, or to receive and iterate."""

    def __init__(self, portal: Portal, made: AsyncConsumer) -> None:
        self._portal = portal
        self._async = made

    def __call__(self, function: Function) -> Function:
        """Makes a function the handler: for use as a decorator. It runs in threads; an async one on the loop."""
        return self._async(function)

    @property
    def member(self) -> str | None:
        """Its name in the group, while it runs."""
        return self._async.member

    def start(self) -> None:
        """Makes the group or alters it to what was said here, and begins to call the handler."""
        self._portal.call(self._async.start())

    def stop(self, timeout: Duration = STOP_SECONDS) -> None:
        """No new messages; handlers finish what they have in hand, what waits is given back, then it ends."""
        self._portal.call(self._async.stop(timeout))

    def pause(self) -> None:
        """No new messages until `resume`."""
        self._portal.call(self._async.pause())

    def resume(self) -> None:
        """New messages again."""
        self._portal.call(self._async.resume())

    def receive(self, count: int = 1, wait: Duration = 0) -> list[Message]:
        """Pulls up to `count` messages; if there are none, waits up to `wait` for the first. Acknowledge each."""
        return self._portal.call(self._async.receive(count, wait))

    def flush(self) -> None:
        """Waits until the broker has confirmed all acknowledgements so far."""
        self._portal.call(self._async.flush())

    def __iter__(self) -> Iterator[Message]:
        """Messages as they come, without an end. In the mode `auto` one is acknowledged when the next is asked for."""
        acknowledges = self._async.settings.acknowledge in ("auto", "lazy")
        taken: list[Message] = []
        try:
            while True:
                taken = self.receive(self._async.settings.credit, LOOK_SECONDS)
                taken.reverse()
                while taken:
                    yield taken[-1]
                    message = taken.pop()
                    if acknowledges:
                        message.ack()
        finally:
            for message in taken:
                message.release()

    def __enter__(self) -> Self:
        if self._async.has_handler:
            self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class Broadcast:
    """Reads a topic for itself. Made by `client.broadcast(...)`: a decorator for a handler, or iterated over."""

    def __init__(self, portal: Portal, made: AsyncBroadcast) -> None:
        self._portal = portal
        self._async = made

    def __call__(self, function: Function) -> Function:
        """Makes a function the handler: for use as a decorator."""
        return self._async(function)

    @property
    def positions(self) -> dict[int, int]:
        """The next offset of each partition: save it, and give it as `start` another time."""
        return dict(self._async.positions)

    def start(self) -> None:
        """Begins to call the handler."""
        self._portal.call(self._async.start())

    def stop(self) -> None:
        """Ends when the handlers have ended."""
        self._portal.call(self._async.stop())

    def __iter__(self) -> Iterator[Message]:
        """Messages as they come, without an end."""
        messages = self._async.__aiter__()

        async def following() -> Message:
            return await anext(messages)

        try:
            while True:
                yield self._portal.call(following())
        finally:
            self._portal.call(self._async.stop())

    def __enter__(self) -> Self:
        if self._async.has_handler:
            self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
