"""A handler: the user's function, with what goes before and after it.

Returning acknowledges; raising retries, unless it is `Retry(after=...)` or `Reject(reason)`. A body that cannot be
read as what the function asks for is rejected at once: trying again would not help.
"""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import Any, Literal

from onemq.client import bodies
from onemq.client.hooks import Hooks
from onemq.client.message import Message
from onemq.client.retry import Reject, Retry
from onemq.client.unit import Unit
from onemq.errors import AlreadySettled, BadBody
from onemq.limits import REASON_CHARACTERS_MAX

Acknowledge = Literal["auto", "client", "lazy", "transacted"]
"""auto: when the handler returns. client: when the handler says so. lazy: some time after it returned, in large runs;
after a crash some come again. transacted: the handler gets a session, and what it sends there and the acknowledgement
become true together."""
Commit = Callable[[Unit], Awaitable[Any]]
log = logging.getLogger("onemq.consumer")
_NOTHING = nullcontext()


class Handler:
    """Called by workers, on their threads or tasks."""

    def __init__(
        self,
        function: Callable[..., Any],
        group: str,
        acknowledge: Acknowledge,
        is_batch: bool,
        send_to: str | None,
        commit: Commit,
        hooks: Hooks | None,
    ) -> None:
        self.function = function
        self.is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004 - an object with an async __call__
        )
        self.loop: asyncio.AbstractEventLoop | None = None
        self._group = group
        self._acknowledge = acknowledge
        self._is_batch = is_batch
        self._send_to = send_to
        self._commit = commit
        self._hooks = hooks
        self._annotation = None if is_batch else _annotation(function)
        self.is_plain = hooks is None and acknowledge != "transacted" and self._annotation is None and not is_batch
        """Whether nothing goes before and after the function but the acknowledgement."""

    # On a thread.

    def run(self, messages: list[Message]) -> None:
        """Handles one message, or a batch."""
        try:
            unit = Unit() if self._acknowledge == "transacted" else None
            with self._around(messages):
                result = self.function(*self._arguments(messages, unit))
            closing = self._closing(messages, result, unit)
            if closing is not None:
                assert self.loop is not None
                asyncio.run_coroutine_threadsafe(self.committed(closing), self.loop).result()
        except Exception as error:
            self.failed(messages, error)

    # On the loop.

    async def run_async(self, messages: list[Message]) -> None:
        """The same for an async function."""
        try:
            unit = Unit() if self._acknowledge == "transacted" else None
            with self._around(messages):
                result = await self.function(*self._arguments(messages, unit))
            closing = self._closing(messages, result, unit)
            if closing is not None:
                await self._commit(closing)
        except Exception as error:
            self.failed(messages, error)
        except asyncio.CancelledError:
            for message in messages:
                message.release()
            raise

    def succeeded(self, message: Message, result: Any) -> Unit | None:
        """Acknowledges as it was asked for; what must be committed instead, if anything."""
        if result is not None and (self._send_to is not None or message.reply_to is not None):
            return self._closing([message], result, None)
        if self._acknowledge != "client":
            message.ack()
        return None

    def failed(self, messages: list[Message], error: Exception) -> None:
        """Has the messages come again, or makes them dead letters."""
        if isinstance(error, AlreadySettled):
            log.info("group %r: what was done for %r does not count: %s", self._group, messages, error.text)
            for message in messages:
                message.release()  # some of them may still wait
            return
        for message in messages:
            if isinstance(error, Reject):
                message.reject(error.reason)
            elif isinstance(error, BadBody):
                message.reject(error.text)
            elif isinstance(error, Retry):
                message.settler().nack(message, error.after_ms, error.reason)
            else:
                reason = f"{type(error).__name__}: {error}"
                message.nack(reason=reason[:REASON_CHARACTERS_MAX])
        if not isinstance(error, Reject | Retry):
            log.error("handler of group %r failed on %r", self._group, messages, exc_info=error)

    def _around(self, messages: list[Message]) -> Any:
        if self._hooks is None:
            return _NOTHING
        return self._hooks.handling(messages[0], self._group)

    def _arguments(self, messages: list[Message], unit: Unit | None) -> tuple[Any, ...]:
        first: Any = messages
        if not self._is_batch:
            message = messages[0]
            first = message if self._annotation is None else message.read(self._annotation)
        return (first,) if unit is None else (first, unit)

    def _closing(self, messages: list[Message], result: Any, unit: Unit | None) -> Unit | None:
        """Acknowledges what is left of it, or returns what does so together with what is to be sent."""
        if result is not None and not self._is_batch:
            unit = self._with_answer(messages[0], result, unit)
        if unit is None:
            if self._acknowledge != "client":
                for message in messages:
                    message.ack()
            return None
        for message in messages:
            if not message.is_settled:
                unit.ack(message)
        return unit

    def _with_answer(self, message: Message, result: Any, unit: Unit | None) -> Unit | None:
        reply_to = message.reply_to
        if reply_to is not None:
            unit = unit or Unit()
            unit.send(reply_to, result, message.key_bytes, correlation=message.correlation or message.id)
        elif self._send_to is not None:
            unit = unit or Unit()
            unit.send(self._send_to, result, message.key_bytes)
        return unit

    async def committed(self, unit: Unit) -> None:
        """Makes a unit true, on the loop."""
        await self._commit(unit)


def _annotation(function: Callable[..., Any]) -> Any:
    """What the function wants of a message; None: the message itself."""
    annotation = bodies.annotation_of(function)
    return None if annotation is Message or annotation is Any else annotation
