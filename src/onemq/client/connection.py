"""One connection to a broker: RESP3, requests pipelined, answers in their order, pushes as they come.

Nothing is written at once: what is asked for in one turn of the loop leaves in one write.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, cast

from hiredis import PushNotification, Reader, pack_command

from onemq.client.address import Address
from onemq.client.replies import raised
from onemq.errors import AccessDenied, Disconnected, ProtocolError

Word = bytes | str | int
Answer = Callable[[Any], None]
"""Called once, on the loop, with the reply: an exception if it is an error or the connection is lost."""

_NOTHING = object()
SOCKET_BUFFER_BYTES = 4 << 20


def packed(words: tuple[Word, ...]) -> bytes:
    """A request as it is sent."""
    return cast(Callable[[tuple[Word, ...]], bytes], pack_command)(words)


class Connection(asyncio.Protocol):
    """Made by `connected`; lives until `close` or until the broker ends it."""

    def __init__(self, on_push: Callable[[list[Any]], None], on_lost: Callable[["Connection"], None]) -> None:
        self._on_push = on_push
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._reader = Reader(notEnoughData=_NOTHING)
        self._answers: deque[Answer] = deque()
        self._output: list[bytes] = []
        self._transport: asyncio.Transport | None = None
        self._blocked: list[asyncio.Future[None]] = []
        self._paused = False
        self.is_open = False

    # Asking.

    def ask(self, words: tuple[Word, ...], answer: Answer) -> None:
        """Sends a request with the next write; `answer` gets the reply."""
        self.ask_packed(packed(words), answer)

    def ask_packed(self, data: bytes, answer: Answer) -> None:
        """The same with words that are encoded already."""
        if not self.is_open:
            self._loop.call_soon(answer, Disconnected("the connection to the broker is closed"))
            return
        self._answers.append(answer)
        if not self._output:
            self._loop.call_soon(self._write)
        self._output.append(data)

    def request(self, *words: Word) -> Awaitable[Any]:
        """Asks and waits: the reply, or the error that it is."""
        future: asyncio.Future[Any] = self._loop.create_future()

        def answer(reply: Any) -> None:
            if not future.done():
                future.set_result(reply)

        self.ask(words, answer)
        return _unwrapped(future)

    async def drained(self) -> None:
        """Waits while the broker takes less than we send."""
        if self._paused and self.is_open:
            future = self._loop.create_future()
            self._blocked.append(future)
            await future

    def close(self) -> None:
        """Sends what was asked for and hangs up; open requests are answered with `Disconnected`."""
        if self._transport is not None and self.is_open:
            self._write()
            self.is_open = False
            self._transport.close()

    def abort(self) -> None:
        """Hangs up at once: the peer does not answer."""
        if self._transport is not None:
            self._transport.abort()

    def _write(self) -> None:
        if self._output and self._transport is not None and not self._transport.is_closing():
            data = self._output[0] if len(self._output) == 1 else b"".join(self._output)
            self._output = []
            self._transport.write(data)

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(SOCKET_BUFFER_BYTES)
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        reader, answers, nothing = self._reader, self._answers, _NOTHING
        reader.feed(data)
        try:
            while (reply := reader.gets()) is not nothing:
                if type(reply) is PushNotification:
                    self._on_push(reply)
                elif answers:
                    answers.popleft()(reply)
                else:
                    raise ProtocolError(f"the broker answered what was not asked: {reply!r:.100}")
        except Exception as error:
            self._loop.call_exception_handler({"message": "onemq: a reply could not be handled", "exception": error})
            self.abort()

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        self._unblock()

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        self._unblock()
        lost = Disconnected(f"the connection to the broker was lost{f': {error}' if error else ''}")
        answers, self._answers = self._answers, deque()
        self._on_lost(self)
        for answer in answers:
            answer(lost)

    def _unblock(self) -> None:
        blocked, self._blocked = self._blocked, []
        for future in blocked:
            if not future.done():
                future.set_result(None)


async def connected(
    address: Address, on_push: Callable[[list[Any]], None], on_lost: Callable[[Connection], None]
) -> Connection:
    """A connection that is ready for requests. Raises `Disconnected`, `AccessDenied`."""
    loop = asyncio.get_running_loop()
    timeout = address.connect_timeout_ms / 1000
    try:
        async with asyncio.timeout(timeout):
            _, connection = await loop.create_connection(
                lambda: Connection(on_push, on_lost), address.host, address.port
            )
            try:
                await _greet(connection, address)
            except BaseException:
                connection.abort()
                raise
    except TimeoutError:
        raise Disconnected(f"{address} did not answer within {timeout:g} s") from None
    except OSError as problem:
        reason = problem.strerror or problem
        raise Disconnected(f"no connection to {address}: {reason}; is the broker running?") from None
    return connection


async def _greet(connection: Connection, address: Address) -> None:
    words: list[Word] = ["HELLO", 3]
    if address.password is not None:
        words += ["AUTH", address.user or "default", address.password]
    if address.name is not None:
        words += ["SETNAME", address.name]
    try:
        await connection.request(*words)
    except AccessDenied:
        if address.password is not None:
            raise
        text = f"{address} has users: log in with onemq://user:password@{address.host}:{address.port}"
        raise AccessDenied(text) from None


async def _unwrapped(future: asyncio.Future[Any]) -> Any:
    return raised(await future)
