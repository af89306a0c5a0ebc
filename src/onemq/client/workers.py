"""Workers: who calls the handler. Tasks for async functions, threads for plain ones; as many as `concurrency` says.

No task and no future is made per message. A worker that is done with one takes the next that waits.
"""

import asyncio
import queue
import threading
from collections import deque

from onemq.client.handler import Handler
from onemq.client.message import Message
from onemq.client.ordered import Lanes

STOP_LOOK_SECONDS = 0.01
"""How often a stopping consumer looks whether its handlers have ended."""

ORPHANS_SECONDS = 10.0
"""After a lost connection, how long the broker may take to send again what a handler had in hand."""


class Workers:
    """What both kinds share: what waits, what is in hand, and the order."""

    def __init__(self, handler: Handler, concurrency: int, batch: int, lanes: Lanes | None) -> None:
        self._handler = handler
        self._concurrency = concurrency
        self._batch = batch
        self._lanes = lanes
        self.in_hand: set[Message] = set()
        self._orphans: dict[tuple[int, int], Message] = {}
        """Those that were in hand when a connection was lost, by partition and offset, until some time after it."""
        self.era = 0
        """What came by an earlier connection than this one was given back."""
        self._is_stopping = self._is_forgetting = False

    def offer(self, messages: list[Message]) -> None:
        """Messages to handle, on the loop."""
        if self._is_stopping:
            for message in messages:
                message.release()
            return
        if self._orphans:
            messages = [message for message in messages if not self._is_known(message)]
        if self._lanes is not None:
            messages = [message for message in messages if self._admitted(message)]
        if messages:
            self._queue(messages)

    def lost(self, era: int) -> None:
        """The connection is gone, and with it what waits."""
        self.era = era
        self._orphans = {(message.partition, message.offset): message for message in self.in_hand.copy()}
        if self._lanes is not None:
            self._lanes.clear()

    async def stop(self) -> None:
        """No new ones; gives back those that wait, and returns when none is in hand."""
        self._is_stopping = True
        self._give_back()
        if self._lanes is not None:
            for message in self._lanes.clear():
                message.release()
        while self.in_hand or not self._ended():
            await asyncio.sleep(STOP_LOOK_SECONDS)

    def _is_known(self, message: Message) -> bool:
        """Whether a handler has it from an earlier connection: then how that ends, or has ended, counts for both."""
        if not self._is_forgetting:
            self._is_forgetting = True
            asyncio.get_running_loop().call_later(ORPHANS_SECONDS, self._forget)
        orphan = self._orphans.get((message.partition, message.offset))
        if orphan is None:
            return False
        if orphan.is_settled and not orphan.is_done:  # it failed, and for that it has come again
            return False
        if orphan.is_done:
            message.ack()
        return orphan.is_done or orphan in self.in_hand

    def _forget(self) -> None:
        self._is_forgetting = False
        self._orphans = {place: orphan for place, orphan in self._orphans.items() if orphan in self.in_hand}

    def _admitted(self, message: Message) -> bool:
        assert self._lanes is not None
        verdict = self._lanes.enter(message)
        if verdict == "back":
            message.release()
        return verdict == "now"

    def _is_void(self, message: Message) -> bool:
        """Whether it is not to be handled any more."""
        if message.era < self.era:
            self._passed(message)
            return True
        if self._is_stopping:
            message.release()
            self._passed(message)
            return True
        return False

    def _passed(self, message: Message) -> None:
        if self._lanes is not None:
            self._continue(message)

    def _finished(self, messages: list[Message]) -> None:
        """A handler has ended; on any thread."""
        if self._lanes is not None:
            for message in messages:
                self._continue(message)
        self.in_hand.difference_update(messages)

    def _continue(self, message: Message) -> None:
        assert self._lanes is not None
        following = self._lanes.leave(message)
        if following is not None:
            self._queue([following])

    def _queue(self, messages: list[Message]) -> None:
        raise NotImplementedError

    def _give_back(self) -> None:
        raise NotImplementedError

    def _ended(self) -> bool:
        """Nothing is in hand: whether all workers have gone home, and if not, sends them."""
        raise NotImplementedError


class TaskWorkers(Workers):
    """For async functions."""

    def __init__(self, handler: Handler, concurrency: int, batch: int, lanes: Lanes | None) -> None:
        super().__init__(handler, concurrency, batch, lanes)
        self._waiting: deque[Message] = deque()
        self._sleeping: list[asyncio.Future[None]] = []
        loop = asyncio.get_running_loop()
        work = self._work_plainly if handler.is_plain else self._work
        self._tasks = [loop.create_task(work()) for _ in range(concurrency)]

    def _queue(self, messages: list[Message]) -> None:
        self._waiting += messages
        for _ in range(min(len(messages), len(self._sleeping))):
            future = self._sleeping.pop()
            if not future.done():
                future.set_result(None)

    async def _next(self) -> Message:
        while not self._waiting:
            future = asyncio.get_running_loop().create_future()
            self._sleeping.append(future)
            await future
        return self._waiting.popleft()

    async def _work_plainly(self) -> None:
        """The quick way of a function that just takes the message."""
        handler, held, waiting = self._handler, self.in_hand, self._waiting
        function = handler.function
        while True:
            message = waiting.popleft() if waiting else await self._next()
            if (message.era < self.era or self._is_stopping) and self._is_void(message):
                continue
            held.add(message)
            try:
                result = await function(message)
                closing = handler.succeeded(message, result)
                if closing is not None:
                    await handler.committed(closing)
            except Exception as error:
                handler.failed([message], error)
            except asyncio.CancelledError:
                message.release()
                raise
            if self._lanes is None:
                held.discard(message)
            else:
                self._finished([message])

    async def _work(self) -> None:
        while True:
            messages = [await self._next()]
            while self._waiting and len(messages) < self._batch:
                messages.append(self._waiting.popleft())
            self.in_hand.update(messages)
            void = [message for message in messages if self._is_void(message)]
            self.in_hand.difference_update(void)
            messages = [message for message in messages if message not in void] if void else messages
            if messages:
                await self._handler.run_async(messages)
                self._finished(messages)

    def _give_back(self) -> None:
        while self._waiting:
            message = self._waiting.popleft()
            if message.era >= self.era:
                message.release()

    def _ended(self) -> bool:
        for task in self._tasks:
            task.cancel()
        return True


class ThreadWorkers(Workers):
    """For plain functions: they may block, so they never run on the loop."""

    def __init__(self, handler: Handler, concurrency: int, batch: int, lanes: Lanes | None) -> None:
        super().__init__(handler, concurrency, batch, lanes)
        self._waiting: queue.SimpleQueue[list[Message] | None] = queue.SimpleQueue()
        self._loop = handler.loop = asyncio.get_running_loop()
        work = self._work_plainly if handler.is_plain else self._work
        names = (f"onemq-handler-{number}" for number in range(concurrency))
        self._threads = [threading.Thread(target=work, name=name, daemon=True) for name in names]
        for thread in self._threads:
            thread.start()

    def _queue(self, messages: list[Message]) -> None:
        put = self._waiting.put
        if self._concurrency == 1 and self._handler.is_plain:  # one takes them all, one by one
            put(messages)
        else:
            for position in range(0, len(messages), self._batch):
                put(messages[position : position + self._batch])

    def _work_plainly(self) -> None:
        """The quick way of a function that just takes the message."""
        handler, held = self._handler, self.in_hand
        function = handler.function
        while (messages := self._waiting.get()) is not None:
            for message in messages:
                held.add(message)  # before looking whether it may: who stops looks here after saying so
                if (message.era < self.era or self._is_stopping) and self._is_void(message):
                    held.discard(message)
                    continue
                try:
                    result = function(message)
                    closing = handler.succeeded(message, result)
                    if closing is not None:
                        asyncio.run_coroutine_threadsafe(handler.committed(closing), self._loop).result()
                except Exception as error:
                    handler.failed([message], error)
                if self._lanes is None:
                    held.discard(message)
                else:
                    self._finished([message])

    def _work(self) -> None:
        while (messages := self._waiting.get()) is not None:
            self.in_hand.update(messages)
            void = [message for message in messages if self._is_void(message)]
            self.in_hand.difference_update(void)
            messages = [message for message in messages if message not in void] if void else messages
            if messages:
                self._handler.run(messages)
                self._finished(messages)

    def _give_back(self) -> None:
        while True:
            try:
                messages = self._waiting.get_nowait()
            except queue.Empty:
                return
            for message in messages or ():
                if message.era >= self.era:
                    message.release()

    def _ended(self) -> bool:
        alive = [thread for thread in self._threads if thread.is_alive()]
        for _ in alive:
            self._waiting.put(None)
        return not alive


def workers_for(handler: Handler, concurrency: int, batch: int, lanes: Lanes | None) -> Workers:
    """The kind that fits the function."""
    kind = TaskWorkers if handler.is_async else ThreadWorkers
    return kind(handler, concurrency, batch, lanes)
