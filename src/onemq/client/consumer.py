"""Consumers: what a group gets, pushed to a handler, iterated over, or pulled.

    @mq.consumer("orders", group="points", concurrency=8)
    async def add_points(message): ...

A consumer with a handler begins with `client.run()` or `start()`. One without is pulled from with `receive()`, or
iterated over. It has a connection of its own.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Any, Self, TypeVar

from onemq.client.address import Address
from onemq.client.consuming import ConsumerSettings
from onemq.client.handler import Commit, Handler
from onemq.client.hooks import Hooks
from onemq.client.message import Message
from onemq.client.ordered import Lanes
from onemq.client.puller import Puller
from onemq.client.subscription import Subscription
from onemq.client.times import Duration, milliseconds
from onemq.client.workers import Workers, workers_for
from onemq.errors import InvalidArgument

STOP_SECONDS = 30.0
"""How long handlers may take to finish what they have in hand."""
log = logging.getLogger("onemq.consumer")
Function = TypeVar("Function", bound=Callable[..., Any])


class AsyncConsumer:
    """One member of a group. Made by `client.consumer(...)`."""

    def __init__(
        self, address: Address, settings: ConsumerSettings, commit: Commit, hooks: Hooks | None, at_work: set[Any]
    ) -> None:
        settings.check()
        self._at_work = at_work
        """Of the client: what it starts and stops."""
        self.settings = settings
        self._address = address
        self._commit = commit
        self._hooks = hooks
        self._function: Callable[..., Any] | None = None
        self._subscription: Subscription | None = None
        self._workers: Workers | None = None
        self._puller: Puller | None = None
        self._arrived: deque[Message] = deque()
        self._news: asyncio.Event | None = None

    def __call__(self, function: Function) -> Function:
        """Makes a function the handler: for use as a decorator."""
        self._function = function
        self._at_work.add(self)
        return function

    @property
    def has_handler(self) -> bool:
        return self._function is not None

    @property
    def member(self) -> str | None:
        """Its name in the group, while it runs."""
        return self._subscription.member if self._subscription is not None else self.settings.member

    # With a handler.

    async def start(self) -> None:
        """Makes the group or alters it to what was said here, and begins."""
        if self._subscription is not None:
            return
        if self._function is None:
            raise InvalidArgument("this consumer has no handler: decorate a function with it, receive, or iterate")
        settings, order = self.settings, self.settings.settings.order
        handler = Handler(
            self._function,
            settings.group,
            settings.acknowledge,
            settings.batch > 1,
            settings.send_to,
            self._commit,
            self._hooks,
        )
        lanes = Lanes(order) if order in ("partition", "key") else None
        workers = self._workers = workers_for(handler, settings.concurrency, settings.batch, lanes)
        await self._subscribe(workers.offer, self._lost, lanes)

    async def stop(self, timeout: Duration = STOP_SECONDS) -> None:
        """No new messages; handlers finish what they have in hand, what waits is given back, then it ends."""
        subscription, workers, puller = self._subscription, self._workers, self._puller
        self._subscription = self._workers = self._puller = None
        if subscription is not None:
            for message in self._arrived:
                message.release()
            self._arrived.clear()
            try:
                async with asyncio.timeout(milliseconds(timeout) / 1000):
                    await subscription.credit(0)
                    if workers is not None:
                        await workers.stop()
            except TimeoutError:
                log.warning("handlers of group %r did not end in time", self.settings.group)
            except Exception as problem:
                log.warning("the broker could not be told to stop: %s", problem)
            await subscription.close()
            if self._news is not None:
                self._news.set()
        if puller is not None:
            await puller.close()
        if self._function is None:
            self._at_work.discard(self)

    async def pause(self) -> None:
        """No new messages until `resume`."""
        await self._running().credit(0)

    async def resume(self) -> None:
        """New messages again."""
        await self._running().credit(self.settings.credit)

    # Without one.

    async def receive(self, count: int = 1, wait: Duration = 0) -> list[Message]:
        """Pulls up to `count` messages; if there are none, waits up to `wait` for the first. Acknowledge each."""
        if self._puller is None:
            self._at_work.add(self)
            self._puller = Puller(self._address, self.settings)
            await self._puller.open()
        return await self._puller.receive(count, milliseconds(wait))

    async def __aiter__(self) -> AsyncIterator[Message]:
        """Messages as they come. In the mode `auto` one is acknowledged when the next is asked for."""
        if self._subscription is None:
            self._news = asyncio.Event()
            await self._subscribe(self._take, self._lost_while_iterating)
        assert self._news is not None
        while self._subscription is not None:
            while self._arrived:
                message = self._arrived.popleft()
                yield message
                if self.settings.acknowledge in ("auto", "lazy"):
                    message.ack()
            self._news.clear()
            if not self._arrived and self._subscription is not None:
                await self._news.wait()

    async def flush(self) -> None:
        """Waits until the broker has confirmed all acknowledgements so far."""
        if self._subscription is not None:
            await self._subscription.settlements.told()
        if self._puller is not None:
            await self._puller.settlements.told()

    async def __aenter__(self) -> Self:
        if self._function is not None:
            await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    # Inside.

    async def _subscribe(
        self, deliver: Callable[[list[Message]], None], lost: Callable[[], None], lanes: Lanes | None = None
    ) -> None:
        settings = self.settings
        late_count = settings.credit // 2 if settings.acknowledge == "lazy" else 0
        subscription = Subscription(
            self._address,
            settings.topic,
            settings.group,
            settings.settings,
            settings.options(),
            settings.credit,
            late_count,
            lanes,
            deliver,
            lost,
        )
        self._subscription = subscription
        self._at_work.add(self)
        try:
            await subscription.open()
        except BaseException:
            await self.stop()
            raise

    def _lost(self) -> None:
        if self._workers is not None and self._subscription is not None:
            self._workers.lost(self._subscription.era)

    def _take(self, messages: list[Message]) -> None:
        assert self._news is not None
        self._arrived += messages
        self._news.set()

    def _lost_while_iterating(self) -> None:
        self._arrived.clear()

    def _running(self) -> Subscription:
        if self._subscription is None:
            raise InvalidArgument("the consumer does not run")
        return self._subscription
