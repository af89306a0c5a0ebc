"""Raw connections to OneMQ and to a real redis-server: the same bytes to both, and what comes back compared.

Client libraries hide much of the wire: the place of a push among the replies, what CLIENT REPLY OFF
leaves out, what a transaction's array holds. Requests here are inline commands, one to a line.
"""

import re
import socket
from collections.abc import Callable
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Self

_END = b"no-more-is-to-come"


class Raw:
    """One connection."""

    def __init__(self, port: int, protocol: int = 2) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        if protocol == 3:
            self.talk("HELLO 3")

    def send(self, *lines: str) -> None:
        """Sends requests without waiting for anything."""
        self._socket.sendall("".join(f"{line}\r\n" for line in lines).encode())

    def talk(self, *lines: str) -> bytes:
        """All that has come when the requests are answered, or the connection has ended."""
        came = b""
        with suppress(ConnectionError):
            self.send(*lines, f"PING {_END.decode()}")
        while not came.endswith(_END + b"\r\n"):
            try:
                part = self._socket.recv(1 << 16)
            except ConnectionResetError:  # it ended before it had read everything
                part = b""
            if not part:
                return came + b"(end)"
            came += part
        return re.sub(rb"(\*2\r\n\$4\r\npong\r\n)?\$\d+\r\n%b\r\n" % _END, b"", came)

    def close(self) -> None:
        self._socket.close()


class RawPair:
    """A connection to each server."""

    def __init__(self, ours: Raw, theirs: Raw) -> None:
        self.ours = ours
        self.theirs = theirs

    def same(self, *lines: str, alike: Callable[[bytes], object] = lambda came: came) -> bytes:
        """Sends the same to both; returns what came from OneMQ, which must be alike what came from Redis."""
        came, expected = self.ours.talk(*lines), self.theirs.talk(*lines)
        assert alike(came) == alike(expected), f"{lines}: OneMQ {came!r}, Redis {expected!r}"
        return came

    def send(self, *lines: str) -> None:
        self.ours.send(*lines)
        self.theirs.send(*lines)

    def close(self) -> None:
        self.ours.close()
        self.theirs.close()


class RawPairs:
    """Makes pairs, and closes them all in the end."""

    def __init__(self, onemq_port: int, redis_port: int, protocol: int) -> None:
        self._ports = onemq_port, redis_port
        self._protocol = protocol
        self._opened = ExitStack()

    def connect(self, protocol: int | None = None) -> RawPair:
        ours, theirs = (Raw(port, protocol or self._protocol) for port in self._ports)
        self._opened.callback(ours.close)
        self._opened.callback(theirs.close)
        return RawPair(ours, theirs)

    def __enter__(self) -> Self:
        self.connect().same("FLUSHALL")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()
