"""A link: a connection that comes back by itself.

When the connection is lost, the link tries again with a growing pause until it is closed. Each new connection is
first given to `on_up`, which says there what must be said again (subscriptions, unanswered batches), and only then to
everybody else.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import Any

from onemq.client.address import Address
from onemq.client.connection import Answer, Connection, Word, connected
from onemq.errors import AccessDenied, Disconnected, OneMQError, TimedOut

PAUSE_FIRST_SECONDS = 0.05
PAUSE_MOST_SECONDS = 2.0
log = logging.getLogger("onemq.client")


async def _nothing(connection: Connection) -> None: ...


class Link:
    """Owns one connection at a time."""

    def __init__(
        self,
        address: Address,
        on_up: Callable[[Connection], Awaitable[None]] = _nothing,
        on_push: Callable[[list[Any]], None] = lambda push: None,
        on_down: Callable[[], None] = lambda: None,
    ) -> None:
        self.address = address
        self.connection: Connection | None = None
        self._on_up = on_up
        self._on_push = on_push
        self._on_down = on_down
        self._up = asyncio.Event()
        self._reconnecting: asyncio.Task[None] | None = None
        self._closed = False

    async def open(self) -> "Link":
        """Connects; unlike later, the first time a failure is raised."""
        await self._connect()
        return self

    def ask(self, words: tuple[Word, ...], answer: Answer) -> None:
        """As `Connection.ask`; answers with `Disconnected` while there is no connection."""
        if self.connection is None:
            asyncio.get_running_loop().call_soon(answer, Disconnected(f"no connection to {self.address}"))
        else:
            self.connection.ask(words, answer)

    async def request(self, *words: Word, timeout: float | None = None) -> Any:
        """Waits for the connection, asks and waits for the reply. A request whose connection is lost before it is
        answered raises `Disconnected`: whether it happened is not known."""
        if timeout is None:
            return await (await self.ready()).request(*words)
        try:
            async with asyncio.timeout(timeout):
                return await (await self.ready()).request(*words)
        except TimeoutError:
            raise self._late(words, timeout) from None

    async def insist(self, *words: Word, timeout: float) -> Any:
        """Asks again after a lost connection: for what may happen twice without harm."""
        try:
            async with asyncio.timeout(timeout):
                while True:
                    try:
                        return await (await self.ready()).request(*words)
                    except Disconnected:
                        if self._closed:
                            raise
        except TimeoutError:
            raise self._late(words, timeout) from None

    async def ready(self) -> Connection:
        """The connection, as soon as there is one."""
        while self.connection is None:
            if self._closed:
                raise Disconnected("the client is closed")
            await self._up.wait()
        return self.connection

    def renew(self) -> None:
        """The broker does not answer in time: drops the connection and makes a new one."""
        if self.connection is not None:
            log.warning("%s does not answer; connecting anew", self.address)
            self.connection.abort()

    async def close(self) -> None:
        """Sends what was asked for and ends."""
        self._closed = True
        self._up.set()
        if self._reconnecting is not None:
            self._reconnecting.cancel()
            await asyncio.gather(self._reconnecting, return_exceptions=True)
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    @property
    def is_closed(self) -> bool:
        return self._closed

    async def _connect(self) -> None:
        connection = await connected(self.address, self._on_push, self._lost)
        try:
            await self._on_up(connection)
        except BaseException:
            connection.abort()
            raise
        if self._closed or not connection.is_open:
            connection.abort()
            raise Disconnected(f"the connection to {self.address} was lost")
        self.connection = connection
        self._up.set()

    def _lost(self, connection: Connection) -> None:
        if connection is not self.connection:
            return
        self.connection = None
        self._up.clear()
        if self._closed:
            return
        log.warning("lost the connection to %s; trying again", self.address)
        self._on_down()
        self._reconnecting = asyncio.get_running_loop().create_task(self._reconnect())

    async def _reconnect(self) -> None:
        pause = PAUSE_FIRST_SECONDS
        while not self._closed:
            try:
                await self._connect()
                log.info("connected to %s again", self.address)
                return
            except OneMQError as problem:
                level = logging.ERROR if isinstance(problem, AccessDenied) else logging.DEBUG
                log.log(level, "%s", problem.text)
            except Exception:
                log.exception("could not connect to %s", self.address)
            await asyncio.sleep(pause * (0.5 + random.random() / 2))
            pause = min(pause * 2, PAUSE_MOST_SECONDS)

    def _late(self, words: tuple[Word, ...], timeout: float) -> OneMQError:
        return TimedOut(f"{words[0]!s} was not answered by {self.address} within {timeout:g} s")
