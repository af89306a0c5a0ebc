"""A connection on which a test decides about every byte."""

import socket
from contextlib import suppress
from struct import pack, unpack
from types import TracebackType
from typing import Any, Self

from onemq.protocols.kafka.apis import by_key
from onemq.protocols.kafka.codec import decode
from onemq.protocols.kafka.schema import Message
from tests.unit.protocols.kafka.fakes import framed

APIS = by_key()


class Raw:
    """One connection to the Kafka port."""

    def __init__(self, port: int, receive_bytes: int | None = None) -> None:
        """With `receive_bytes`, the kernel takes no more than about that much for us."""
        self.socket = socket.socket()
        if receive_bytes is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.settimeout(20)
        self.socket.connect(("127.0.0.1", port))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def ask(self, request: Message, version: int | None = None) -> Any:
        """The answer to one request."""
        api = APIS[request.api_key]
        version = api.last if version is None else version
        self.send(framed(request, version))
        return self.answer(request, version)

    def answer(self, request: Message, version: int) -> Any:
        """The next answer, to such a request."""
        (size,) = unpack(">i", self._exactly(4))
        response = APIS[request.api_key].response
        has_tags = version >= response.flexible_since and response.api_key != 18
        return decode(response, version, self._exactly(size), 4 + has_tags)

    def token(self, token: bytes) -> bytes:
        """The token that answers one, where a client logs in without requests."""
        self.send_token(token)
        (size,) = unpack(">i", self._exactly(4))
        return self._exactly(size)

    def send_token(self, token: bytes) -> None:
        self.send(pack(">i", len(token)) + token)

    def rest(self) -> bytes:
        """All that comes until the server closes."""
        parts = []
        with suppress(ConnectionError):
            while part := self.socket.recv(65_536):
                parts.append(part)
        return b"".join(parts)

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            assert part, "the broker closed the connection"
            data += part
        return bytes(data)
