"""A client that knows exactly what was answered: each reply counts from the moment it is read.

redis-py's pipelines give all replies or none; here those that came before the connection broke are kept.
"""

import socket
from collections.abc import Iterator
from typing import Any

import hiredis


class Wire:
    """One connection. Raises ConnectionError when the broker is gone."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._reader = hiredis.Reader()

    def pipeline(self, *commands: tuple[object, ...]) -> Iterator[Any]:
        """Sends all commands at once; gives the replies one by one as they come."""
        self.send(*commands)
        for _ in commands:
            yield self.reply()

    def answers(self, *commands: tuple[object, ...]) -> Iterator[Any]:
        """The same, with errors as objects."""
        self.send(*commands)
        for _ in commands:
            yield self.answer()

    def command(self, *words: object) -> Any:
        """The reply to one command."""
        (reply,) = self.pipeline(words)
        return reply

    def send(self, *commands: tuple[object, ...]) -> None:
        """Sends all commands at once."""
        self._socket.sendall(b"".join(encode(*command) for command in commands))

    def reply(self) -> Any:
        """The next reply, which is no error."""
        reply = self.answer()
        if isinstance(reply, hiredis.ReplyError):
            raise AssertionError(f"refused: {reply}")
        return reply

    def answer(self) -> Any:
        """The next reply, errors as objects."""
        while (reply := self._reader.gets()) is False:
            data = self._socket.recv(1 << 16)
            if not data:
                raise ConnectionError("the broker closed the connection")
            self._reader.feed(data)
        return reply

    def close(self) -> None:
        self._socket.close()


def encode(*words: object) -> bytes:
    """A request as it travels."""
    encoded = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(encoded) + b"".join([b"$%d\r\n%b\r\n" % (len(word), word) for word in encoded])
