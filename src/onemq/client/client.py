"""The client of asyncio: `async with onemq.aio.connect("onemq://localhost:6379") as mq:`"""

import asyncio
import logging
import signal
import threading
from collections.abc import Generator, Mapping
from types import TracebackType
from typing import Any, Self, TypedDict, Unpack

from onemq.client import hooks
from onemq.client.address import DEFAULT_URL, Address, parse_address
from onemq.client.admin import AsyncDead, AsyncGroups, AsyncLooking, AsyncSchedule, AsyncTopics
from onemq.client.broadcast import AsyncBroadcast
from onemq.client.connection import Connection, Word
from onemq.client.consumer import AsyncConsumer
from onemq.client.consuming import ConsumerOptions, consumer_settings
from onemq.client.grouping import Start
from onemq.client.link import Link
from onemq.client.message import Message
from onemq.client.outgoing import SendOptions
from onemq.client.producer import (
    BUFFER_BYTES,
    COMPRESS_ABOVE_BYTES,
    RETRIES,
    TIMEOUT_SECONDS,
    AsyncProducer,
    ProducerCore,
)
from onemq.client.request import Requests
from onemq.client.route import Selector
from onemq.client.session import AsyncSession
from onemq.client.times import Duration
from onemq.client.unit import Unit

REQUEST_SECONDS = 10.0
log = logging.getLogger("onemq.client")


class ProducerOptions(TypedDict, total=False):
    """What `producer(...)` takes."""

    group: str | None
    """Who can say what became of half messages."""
    retries: int
    """2"""
    timeout: Duration
    """How long an answer may take: 3 s."""
    compress_above: int | None
    """Bodies of more bytes are compressed: 4096; None: none is."""
    buffer_bytes: int
    """What may be under way before senders wait: 32 MiB."""
    selector: Selector | None
    """Chooses the partition; else the hash of the key does, and messages without one go round."""


class AsyncClient:
    """A broker, as seen from here. Made by `onemq.aio.connect`; close it when done."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._link = Link(address, self._up)
        self.topics = AsyncTopics(self._link)
        self.groups = AsyncGroups(self._link)
        self.schedule = AsyncSchedule(self._link)
        self.dead = AsyncDead(self._link)
        looking = AsyncLooking(self._link)
        self.search, self.trace, self.read = looking.search, looking.trace, looking.read
        self.offsets, self.transactions = looking.offsets, looking.transactions
        self._hooks = hooks.find()
        self._producers: set[ProducerCore] = set()
        self._at_work: set[AsyncConsumer | AsyncBroadcast] = set()
        """Consumers that have a handler, or are being read from."""
        self._sessions: set[AsyncSession] = set()
        self._requests: Requests | None = None
        self._stopping: asyncio.Event | None = None

    async def open(self) -> Self:
        """Connects. Raises `Disconnected`."""
        await self._link.open()
        return self

    # Sending and receiving.

    def producer(self, **options: Unpack[ProducerOptions]) -> AsyncProducer:
        """Sends messages."""
        return AsyncProducer(self.producer_core(options))

    def producer_core(self, options: ProducerOptions) -> ProducerCore:
        """What a producer of either face is made of; on the loop."""
        known = ProducerOptions.__annotations__
        for name in options:
            if name not in known:
                raise TypeError(f"a producer has no option {name!r}; it has {', '.join(known)}")
        core = ProducerCore(
            self._link,
            options.get("group"),
            options.get("retries", RETRIES),
            options.get("timeout", TIMEOUT_SECONDS),
            options.get("compress_above", COMPRESS_ABOVE_BYTES),
            options.get("buffer_bytes", BUFFER_BYTES),
            options.get("selector"),
            self._hooks,
            self._producers.discard,
        )
        self._producers.add(core)
        return core

    def consumer(self, topic: str, group: str, **options: Unpack[ConsumerOptions]) -> AsyncConsumer:
        """Takes messages as a member of a group: a decorator for a handler, or to receive and iterate."""
        settings = consumer_settings(topic, group, **options)
        return AsyncConsumer(self.address, settings, self._commit, self._hooks, self._at_work)

    def broadcast(
        self,
        topic: str,
        *,
        filter: str | None = None,
        start: Start | Mapping[int, int] = "last",
        concurrency: int = 1,
    ) -> AsyncBroadcast:
        """Takes all messages of a topic, as every other instance does; no retry."""
        return AsyncBroadcast(
            self._link, topic, filter, start, concurrency, self._commit, self._hooks, self._at_work
        )

    def session(self) -> AsyncSession:
        """Sends and acknowledgements that commit together."""
        return AsyncSession(self._link, self.address, COMPRESS_ABOVE_BYTES, self._sessions)

    async def request(
        self,
        topic: str,
        body: object,
        key: str | bytes | None = None,
        *,
        timeout: Duration = REQUEST_SECONDS,
        **options: Unpack[SendOptions],
    ) -> Message:
        """Sends a message and waits for what its handler returns."""
        if self._requests is None:
            self._requests = Requests(self._link, self.producer(), self._reply_consumer)
        return await self._requests.request(topic, body, key, timeout, options)

    async def execute(self, *words: Word) -> Any:
        """Any command of the broker, raw."""
        return await self._link.request(*words)

    # Running.

    async def run(self) -> None:
        """Runs all consumers that have a handler until `stop()`, SIGINT or SIGTERM; then ends gracefully."""
        stopping = self._stopping = asyncio.Event()
        with _Signals(stopping):
            try:
                await self.start()
                await stopping.wait()
            finally:
                await self.stop_consumers()

    def stop(self) -> None:
        """Ends `run`."""
        if self._stopping is not None:
            self._stopping.set()

    async def start(self) -> None:
        """Begins all consumers that have a handler."""
        for consumer in [*self._at_work]:
            if consumer.has_handler:
                await consumer.start()

    async def stop_consumers(self) -> None:
        """Ends all consumers when their handlers have finished what they have in hand."""
        await asyncio.gather(*(consumer.stop() for consumer in [*self._at_work]))

    async def close(self) -> None:
        """Ends consumers, sends what is left, and hangs up."""
        await self.stop_consumers()
        for session in [*self._sessions]:
            await session.close()
        if self._requests is not None:
            await self._requests.close()
        for producer in [*self._producers]:
            await producer.close()
        await self._link.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _reply_consumer(self, topic: str, group: str) -> AsyncConsumer:
        """One that is not started and stopped with the others."""
        return AsyncConsumer(self.address, consumer_settings(topic, group), self._commit, self._hooks, set())

    async def _up(self, connection: Connection) -> None:
        for producer in self._producers:
            await producer.batching.resume(connection)

    async def _commit(self, unit: Unit) -> None:
        await unit.committed(self._link)


class Connecting:
    """What `connect` returns: `await` it, or use it in `async with`."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._client: AsyncClient | None = None

    def __await__(self) -> Generator[Any, None, AsyncClient]:
        return AsyncClient(self._address).open().__await__()

    async def __aenter__(self) -> AsyncClient:
        self._client = await self
        return self._client

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._client is not None
        await self._client.close()


def connect(url: str = DEFAULT_URL) -> Connecting:
    """A client of the broker at `onemq://user:password@host:port?name=...`, for asyncio."""
    return Connecting(parse_address(url))


class _Signals:
    """SIGINT and SIGTERM set an event while this lasts, where a program can be told so."""

    def __init__(self, event: asyncio.Event) -> None:
        self._event = event
        self._loop = asyncio.get_running_loop()
        self._set: list[signal.Signals] = []

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._loop.add_signal_handler(number, self._event.set)
                self._set.append(number)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number in self._set:
            self._loop.remove_signal_handler(number)
