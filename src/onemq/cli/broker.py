"""The broker that a command talks to: one connection, one question after the other, or many at once.

Plain blocking sockets: a command starts quickly, and Ctrl-C ends it wherever it waits.
"""

import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Annotated, Any, Self, cast

import typer

from onemq.client.address import DEFAULT_URL as DEFAULT_URL
from onemq.client.address import parse_address
from onemq.errors import OneMQError

Word = str | bytes | int
Url = Annotated[str, typer.Option("--url", envvar="ONEMQ_URL", metavar="URL", help="The broker.", show_envvar=True)]

WINDOW = 1_000
"""So many requests are under way at once where there are many."""
_READ_BYTES = 1 << 16


class Broker:
    """A connection. Fails with OneMQError, whose text is for people."""

    def __init__(self, url: str) -> None:
        import hiredis

        address = parse_address(url)
        self._pack = cast(Callable[[tuple[Word, ...]], bytes], hiredis.pack_command)
        self._reader = hiredis.Reader(notEnoughData=self)
        self._place = f"{address.host}:{address.port}"
        login = [] if address.password is None else ["AUTH", address.user or "default", address.password]
        try:
            self._socket = socket.create_connection((address.host, address.port), address.connect_timeout_ms / 1000)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.ask("HELLO", 3, *login)
            self._socket.settimeout(None)
        except OSError as problem:
            reason = problem.strerror or str(problem)
            raise OneMQError(
                f"no broker at {self._place}: {reason}; start one with `onemq serve`, or name another with --url"
            ) from None

    def ask(self, *words: Word) -> Any:
        """The reply to one request: text where it is text, bytes where it is not."""
        self._send([words])
        return self._answer()

    def ask_all(self, requests: Iterable[Sequence[Word]]) -> Iterator[Any]:
        """The replies to many requests, in order; as many as fit into a window are under way at a time."""
        window: list[Sequence[Word]] = []
        for request in requests:
            window.append(request)
            if len(window) == WINDOW:
                yield from self._ask_window(window)
                window = []
        if window:
            yield from self._ask_window(window)

    def _ask_window(self, requests: Sequence[Sequence[Word]]) -> Iterator[Any]:
        self._send(requests)
        for _ in requests:
            yield self._answer()

    def _send(self, requests: Sequence[Sequence[Word]]) -> None:
        try:
            self._socket.sendall(b"".join(self._pack(tuple(request)) for request in requests))
        except ConnectionError:
            raise self._lost() from None

    def _answer(self) -> Any:
        reply = self._receive()
        if isinstance(reply, Exception):
            raise OneMQError(_without_code(str(reply)))
        return plain(reply)

    def _receive(self) -> Any:
        while (reply := self._reader.gets()) is self:
            self._reader.feed(self._read())
        return reply

    def _read(self) -> bytes:
        try:
            data = self._socket.recv(_READ_BYTES)
        except ConnectionError:
            data = b""
        if not data:
            raise self._lost()
        return data

    def _lost(self) -> OneMQError:
        return OneMQError(f"the broker at {self._place} has closed the connection; its log may say why")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()


def option(name: str, value: object) -> list[Word]:
    """An option with its value, if one was given; of a switch, its name alone if it is on."""
    if value is None or value is False:
        return []
    return [name] if value is True else [name, value if isinstance(value, bytes) else str(value)]


def yes_or_no(name: str, value: bool | None) -> list[Word]:
    """An option that is YES or NO, if it was given."""
    return [] if value is None else [name, "YES" if value else "NO"]


def place_words(place: str) -> list[Word]:
    """Where to begin, as people write it: first, last, an offset as `@100`, or a time."""
    if place.lower() in ("first", "last"):
        return [place]
    if place.startswith("@"):
        return ["OFFSET", place[1:]]
    return ["TIME", place]


def plain(reply: Any) -> Any:
    """The same with text in place of bytes, wherever they are text."""
    if isinstance(reply, bytes):
        try:
            return reply.decode()
        except UnicodeDecodeError:
            return reply
    if isinstance(reply, dict):
        return {plain(name): plain(value) for name, value in reply.items()}
    return [plain(each) for each in reply] if isinstance(reply, list) else reply


def confirm(question: str, yes: bool) -> None:
    """Asks before something is lost; where nobody can be asked, --yes is needed."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise OneMQError(f"{question} Nothing was changed; add --yes to go ahead.")
    typer.confirm(question, abort=True, err=True)


def _without_code(line: str) -> str:
    """An error reply without the word for programs that it begins with."""
    code, _, text = line.partition(" ")
    return text if code.isupper() and text else line
