"""The client: `with onemq.connect("onemq://localhost:6379") as mq:`"""

import atexit
import logging
import signal
import threading
from collections.abc import Mapping
from types import FrameType, TracebackType
from typing import Any, Self, Unpack

from onemq.client.address import DEFAULT_URL, Address, parse_address
from onemq.client.admin import Facts, Messages, Rows
from onemq.client.client import REQUEST_SECONDS, AsyncClient, ProducerOptions
from onemq.client.connection import Word
from onemq.client.consuming import ConsumerOptions
from onemq.client.grouping import Start
from onemq.client.message import Message
from onemq.client.outgoing import SendOptions
from onemq.client.sync.admin import Dead, Groups, Schedule, Topics
from onemq.client.sync.consumer import Broadcast, Consumer
from onemq.client.sync.portal import Portal
from onemq.client.sync.producer import Producer
from onemq.client.sync.session import Session
from onemq.client.times import Duration, Time

log = logging.getLogger("onemq.client")


class Client:
    """A broker, as seen from here. Made by `onemq.connect`; close it when done."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._portal = Portal()
        try:
            self._async = self._portal.do(lambda: AsyncClient(address))
            self._portal.call(self._async.open())
        except BaseException:
            self._portal.close()
            raise
        self.topics = Topics(self._portal, self._async.topics)
        self.groups = Groups(self._portal, self._async.groups)
        self.schedule = Schedule(self._portal, self._async.schedule)
        self.dead = Dead(self._portal, self._async.dead)
        self._stopping = threading.Event()
        self._is_closed = False
        atexit.register(self.close)

    # Sending and receiving.

    def producer(self, **options: Unpack[ProducerOptions]) -> Producer:
        """Sends messages."""
        return Producer(self._portal, self._portal.do(lambda: self._async.producer_core(options)))

    def consumer(self, topic: str, group: str, **options: Unpack[ConsumerOptions]) -> Consumer:
        """Takes messages as a member of a group: a decorator for a handler, or to receive and iterate."""
        return Consumer(self._portal, self._async.consumer(topic, group, **options))

    def broadcast(
        self,
        topic: str,
        *,
        filter: str | None = None,
        start: Start | Mapping[int, int] = "last",
        concurrency: int = 1,
    ) -> Broadcast:
        """Takes all messages of a topic, as every other instance does; no retry."""
        made = self._async.broadcast(topic, filter=filter, start=start, concurrency=concurrency)
        return Broadcast(self._portal, made)

    def session(self) -> Session:
        """Sends and acknowledgements that commit together."""
        return Session(self._portal, self._async.session())

    def request(
        self,
        topic: str,
        body: object,
        key: str | bytes | None = None,
        *,
        timeout: Duration = REQUEST_SECONDS,
        **options: Unpack[SendOptions],
    ) -> Message:
        """Sends a message and waits for what its handler returns."""
        return self._portal.call(self._async.request(topic, body, key, timeout=timeout, **options))

    # Looking.

    def search(
        self,
        topic: str,
        *,
        id: str | None = None,
        key: str | bytes | None = None,
        since: Time | None = None,
        until: Time | None = None,
        filter: str | None = None,
        partition: int | None = None,
        count: int = 10,
        newest: bool = False,
    ) -> Messages:
        """Messages by id, key, time or filter."""
        return self._portal.call(
            self._async.search(
                topic,
                id=id,
                key=key,
                since=since,
                until=until,
                filter=filter,
                partition=partition,
                count=count,
                newest=newest,
            )
        )

    def trace(self, topic: str, id: str) -> Facts:
        """What happened to a message: its fields, and `events`."""
        return self._portal.call(self._async.trace(topic, id))

    def read(
        self,
        topic: str,
        *,
        partition: int | None = None,
        start: Start | None = None,
        count: int = 100,
        wait: Duration = 0,
        filter: str | None = None,
    ) -> Messages:
        """Messages from a place on; changes nothing."""
        return self._portal.call(
            self._async.read(topic, partition=partition, start=start, count=count, wait=wait, filter=filter)
        )

    def offsets(self, topic: str, at: Time | None = None) -> list[tuple[int, ...]]:
        """(partition, first, end) of each partition, and with a time the offset there."""
        return self._portal.call(self._async.offsets(topic, at))

    def transactions(self, group: str | None = None) -> Rows:
        """Transactions of half messages that are neither committed nor rolled back."""
        return self._portal.call(self._async.transactions(group))

    def execute(self, *words: Word) -> Any:
        """Any command of the broker, raw."""
        return self._portal.call(self._async.execute(*words))

    # Running.

    def run(self) -> None:
        """Runs all consumers that have a handler until `stop()`, Ctrl-C or SIGTERM; then ends gracefully."""
        self._stopping.clear()
        with _Termination(self._stopping):
            try:
                self._portal.call(self._async.start())
                self._stopping.wait()
            except KeyboardInterrupt:
                log.info("stopping: handlers finish what they have in hand")
            finally:
                self._portal.call(self._async.stop_consumers())

    def run_in_background(self) -> "Running":
        """Begins all consumers that have a handler and returns; `with` it, they end with the block."""
        self._portal.call(self._async.start())
        return Running(self)

    def stop(self) -> None:
        """Ends `run`; also from a handler."""
        self._stopping.set()

    def stop_consumers(self) -> None:
        """Ends all consumers when their handlers have finished what they have in hand."""
        self._portal.call(self._async.stop_consumers())

    def close(self) -> None:
        """Ends consumers, sends what is left, and hangs up."""
        if not self._is_closed:
            self._is_closed = True
            atexit.unregister(self.close)
            try:
                self._portal.call(self._async.close())
            finally:
                self._portal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Running:
    """Consumers at work in the background."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def stop(self) -> None:
        """Ends them when their handlers have finished what they have in hand."""
        self._client.stop_consumers()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class _Termination:
    """SIGTERM sets an event while this lasts, where a program can be told so."""

    def __init__(self, event: threading.Event) -> None:
        self._event = event
        self._before: Any = None

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGTERM, self._terminate)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGTERM, self._before)

    def _terminate(self, number: int, frame: FrameType | None) -> None:
        self._event.set()


def connect(url: str = DEFAULT_URL) -> Client:
    """A client of the broker at `onemq://user:password@host:port?name=...`. Raises `Disconnected`."""
    return Client(parse_address(url))
