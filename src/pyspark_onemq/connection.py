"""A connection to a broker for programs that may block: the driver, the tasks of a job, the pipelines.

Strings in replies are bytes; the names in maps are text.
"""

import socket
import time
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Self, cast

import hiredis

from onemq.client.address import Address, parse_address
from onemq.errors import OneMQError

Word = str | bytes | int
DEFAULT_SERVERS = "localhost:6379"
CONNECT_TIMEOUT_S = 5.0
REPLY_TIMEOUT_S = 120.0
PATIENCE_S = 60.0
"""For so long `insist` tries to reach a broker that is gone, for example because it is restarted."""
_PAUSE_S = 0.2
_READ_BYTES = 1 << 20


class Unreachable(OneMQError):
    """No server answers, or the connection broke: whether the last request was heard is not known."""

    code = "unreachable"


class Refused(OneMQError):
    """The broker answered with an error; `word` is its first word, such as NOTOPIC."""

    code = "refused"

    def __init__(self, line: str) -> None:
        word, _, text = line.partition(" ")
        is_word = word.isupper() and bool(text)
        super().__init__(text if is_word else line)
        self.word = word if is_word else "ERR"


class Connection:
    """Connects at once, to the first of `servers` (`host:port,host:port`) that answers, and again when it must.

    Raises `Unreachable`, `Refused`, and `InvalidArgument` if `servers` makes no sense.
    """

    def __init__(
        self, servers: str | Sequence[str] = DEFAULT_SERVERS, user: str | None = None, password: str | None = None
    ) -> None:
        names = servers.split(",") if isinstance(servers, str) else servers
        self._addresses = [parse_address(name.strip()) for name in names if name.strip()] or [Address()]
        self._login = (user, password)
        self._pack = cast(Callable[[tuple[Word, ...]], bytes], hiredis.pack_command)
        self._socket: socket.socket | None = None
        self._connect()

    def call(self, *words: Word) -> Any:
        """The reply to one request."""
        return self.call_all([words])[0]

    def call_all(self, requests: Iterable[Sequence[Word]]) -> list[Any]:
        """The replies to requests that are sent together, in order; the first error among them is raised."""
        packed = [self._pack(tuple(request)) for request in requests]
        replies = self._exchange(b"".join(packed), len(packed))
        for reply in replies:
            if isinstance(reply, Exception):
                raise Refused(str(reply))
        return [_named(reply) for reply in replies]

    def insist(self, *words: Word, patience_s: float = PATIENCE_S) -> Any:
        """Like `call`, for requests that may be heard twice: waits for a broker that is gone to come back."""
        give_up = time.monotonic() + patience_s
        while True:
            try:
                return self.call(*words)
            except Unreachable:
                if time.monotonic() >= give_up:
                    raise
                time.sleep(_PAUSE_S)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _exchange(self, data: bytes, count: int) -> list[Any]:
        if self._socket is None:
            self._connect()
        try:
            return self._send_and_receive(data, count)
        except OSError as problem:
            self.close()
            reason = problem.strerror or str(problem)
            raise Unreachable(f"the connection to the OneMQ broker at {self._place} broke: {reason}") from None

    def _send_and_receive(self, data: bytes, count: int) -> list[Any]:
        assert self._socket is not None
        self._socket.sendall(data)
        replies: list[Any] = []
        while len(replies) < count:
            while (reply := self._reader.gets()) is self:
                size = self._socket.recv_into(self._buffer)
                if size == 0:
                    raise ConnectionResetError("the broker has closed it")
                self._reader.feed(self._buffer, 0, size)
            replies.append(reply)
        return replies

    def _connect(self) -> None:
        problems = []
        for address in self._addresses:
            try:
                self._connect_to(address)
                return
            except OSError as problem:
                self.close()
                problems.append(f"{address.host}:{address.port} ({problem.strerror or problem})")
            except Refused:
                self.close()
                raise
        raise Unreachable(f"no OneMQ broker answers at {', '.join(problems)}")

    def _connect_to(self, address: Address) -> None:
        user, password = self._login if self._login[1] is not None else (address.user, address.password)
        self._place = f"{address.host}:{address.port}"
        self._reader = hiredis.Reader(notEnoughData=self)
        self._buffer = bytearray(_READ_BYTES)
        self._socket = socket.create_connection((address.host, address.port), CONNECT_TIMEOUT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.settimeout(REPLY_TIMEOUT_S)
        login = [] if password is None else ["AUTH", user or "default", password]
        reply = self._send_and_receive(self._pack(("HELLO", 3, *login)), 1)[0]
        if isinstance(reply, Exception) and password is None and str(reply).startswith("NOAUTH "):
            raise Refused(f"NOAUTH the broker at {self._place} has users: give the options user and password")
        if isinstance(reply, Exception):
            raise Refused(str(reply))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _named(reply: Any) -> Any:
    """The same with text as the names in maps."""
    if isinstance(reply, dict):
        return {name.decode() if isinstance(name, bytes) else name: _named(value) for name, value in reply.items()}
    return [_named(each) for each in reply] if isinstance(reply, list) else reply
