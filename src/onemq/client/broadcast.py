"""Broadcast: every instance gets all messages, from where it begins. No group, no acknowledgement, no retry.

The positions are the instance's own: `positions` may be saved, and given as `start` another time. Each partition is
read over a connection of its own, since reading waits there.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from onemq.client.grouping import Start
from onemq.client.handler import Commit, Handler
from onemq.client.hooks import Hooks
from onemq.client.link import Link
from onemq.client.message import Message
from onemq.client.replies import mapping
from onemq.client.times import time_word
from onemq.client.workers import Workers, workers_for
from onemq.errors import Disconnected, InvalidArgument, OffsetOutOfRange, OneMQError
from onemq.log.batch import walk
from onemq.log.records import UNREADABLE, decode_strictly
from onemq.message import Record

FETCH_BYTES = 1 << 20
WAIT_MS = 10_000
"""How long one request waits for messages."""
AHEAD = 1_000
"""Messages that wait for their handler before no more are read."""
log = logging.getLogger("onemq.consumer")
Function = TypeVar("Function", bound=Callable[..., Any])


class Unsettled:
    """Nobody waits for acknowledgements; but what is still to be handled is counted."""

    def __init__(self) -> None:
        self.group = ""
        self.open: set[Message] = set()

    def ack(self, message: Message) -> None:
        message.is_settled = True
        self.open.discard(message)

    def nack(self, message: Message, delay_ms: int | None, reason: str) -> None:
        self.ack(message)

    def reject(self, message: Message, reason: str) -> None:
        self.ack(message)

    def release(self, message: Message) -> None:
        self.ack(message)

    def extend(self, message: Message) -> None: ...


class AsyncBroadcast:
    """Reads a topic for itself. Made by `client.broadcast(...)`: a decorator for a handler, or iterated over."""

    def __init__(
        self,
        link: Link,
        topic: str,
        filter: str | None,
        start: Start | Mapping[int, int],
        concurrency: int,
        commit: Commit,
        hooks: Hooks | None,
        at_work: set[Any],
    ) -> None:
        self._at_work = at_work
        """Of the client: what it starts and stops."""
        self.topic = topic
        self.positions: dict[int, int] = {}
        """The next offset of each partition."""
        self._link = link
        self._filter = filter
        self._start = start
        self._concurrency = concurrency
        self._commit = commit
        self._hooks = hooks
        self._function: Callable[..., Any] | None = None
        self._workers: Workers | None = None
        self._unsettled = Unsettled()
        self._links: list[Link] = []
        self._tasks: list[asyncio.Task[None]] = []

    def __call__(self, function: Function) -> Function:
        """Makes a function the handler: for use as a decorator."""
        self._function = function
        self._at_work.add(self)
        return function

    @property
    def has_handler(self) -> bool:
        return self._function is not None

    async def start(self) -> None:
        """Begins to call the handler."""
        if self._function is None:
            raise InvalidArgument("this broadcast has no handler: decorate a function with it, or iterate")
        if not self._tasks:
            handler = Handler(self._function, "", "auto", False, None, self._commit, self._hooks)
            self._workers = workers_for(handler, self._concurrency, 1, None)
            await self._begin(self._workers.offer)

    async def stop(self) -> None:
        """Ends when the handlers have ended."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._workers is not None:
            await self._workers.stop()
        for link in self._links:
            await link.close()
        self._tasks, self._links, self._workers = [], [], None
        if self._function is None:
            self._at_work.discard(self)

    async def __aiter__(self) -> AsyncIterator[Message]:
        arrived: asyncio.Queue[Message] = asyncio.Queue()

        def take(messages: list[Message]) -> None:
            for message in messages:
                arrived.put_nowait(message)

        await self._begin(take)
        try:
            while True:
                message = await arrived.get()
                message.ack()
                yield message
        finally:
            await self.stop()

    async def __aenter__(self) -> Self:
        if self._function is not None:
            await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def _begin(self, deliver: Callable[[list[Message]], None]) -> None:
        self._at_work.add(self)
        await self._link.request("MQ.TOPIC", "CREATE", self.topic, "IFNOTEXISTS")
        info = mapping(await self._link.request("MQ.TOPIC", "INFO", self.topic))
        if not self.positions:
            self.positions = await self._first_positions()
        loop = asyncio.get_running_loop()
        for partition in self.positions:
            link = await Link(self._link.address).open()
            self._links.append(link)
            self._tasks.append(loop.create_task(self._read(link, partition, int(info["id"]), deliver)))

    async def _first_positions(self) -> dict[int, int]:
        if isinstance(self._start, Mapping):
            return dict(self._start)
        is_time = not isinstance(self._start, int) and self._start not in ("first", "last")
        words = ("TIME", time_word(self._start)) if is_time else ()
        rows = await self._link.request("MQ.OFFSETS", self.topic, *words)
        if isinstance(self._start, int):
            return {row[0]: min(max(self._start, row[1]), row[2]) for row in rows}
        return {row[0]: row[3] if is_time else row[1] if self._start == "first" else row[2] for row in rows}

    async def _read(
        self, link: Link, partition: int, topic_id: int, deliver: Callable[[list[Message]], None]
    ) -> None:
        chosen = _chooser(self._filter, topic_id, partition)
        while True:
            try:
                records = await self._fetch(link, partition)
            except (Disconnected, OffsetOutOfRange):
                await link.ready()
                continue
            except OneMQError as problem:
                log.error("reading %r, partition %d failed: %s", self.topic, partition, problem.text)
                await asyncio.sleep(1)
                continue
            messages = [self._message(partition, topic_id, record) for record in chosen(records)]
            self._unsettled.open.update(messages)
            deliver(messages)
            while len(self._unsettled.open) > AHEAD:
                await asyncio.sleep(0.005)

    async def _fetch(self, link: Link, partition: int) -> list[Record]:
        position = self.positions[partition]
        words = ("MQ.FETCH", self.topic, partition, position, "MAXBYTES", FETCH_BYTES, "WAIT", WAIT_MS)
        reply = mapping(await link.request(*words))
        data = reply["batches"] or b""
        records = [record for record in decoded(self.topic, partition, data) if record[0] >= position]
        self.positions[partition] = max(position, int(reply["next"]), int(reply["start"]))
        return records

    def _message(self, partition: int, topic_id: int, record: Record) -> Message:
        offset, stored, key, value, headers = record
        pairs: list[Any] = [part for pair in headers for part in pair]
        return Message(
            self.topic, partition, offset, 1, stored, key, value, pairs or None, self._unsettled, 0, topic_id
        )


def decoded(topic: str, partition: int, data: bytes) -> Iterator[Record]:
    """The messages of some batches; one that its producer made wrong is passed over, as in groups."""
    for at, header in walk(data):
        try:
            yield from decode_strictly(data, at, header)
        except UNREADABLE as problem:
            log.error(
                "%r, partition %d: the batch at offset %d cannot be decoded, its %d messages are passed over: %s",
                topic, partition, header.base_offset, header.record_count, problem.text,
            )  # fmt: skip


def _chooser(text: str | None, topic_id: int, partition: int) -> Callable[[list[Record]], list[Record]]:
    """What keeps the records that match a filter."""
    if text is None:
        return lambda records: records
    from onemq.core.filter import compile_filter  # as the broker filters for groups; only needed here

    found = compile_filter(text).at(topic_id, partition)
    return lambda records: list(found.select(records))
