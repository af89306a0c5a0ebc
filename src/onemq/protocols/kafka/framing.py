"""Frames: from pieces of bytes as they come to whole requests.

    size (4)  key (2)  version (2)  correlation (4) ...

Pieces are joined once, when the request that they belong to is whole; one that came whole in a piece, alone or among
others, is not copied at all. A size over the limit is refused before anything is gathered for it.

Between a SaslHandshake of version 0 and the end of logging in there are tokens instead: a size, and so many bytes.
"""

from struct import Struct

from onemq.errors import ProtocolError
from onemq.limits import KAFKA_LOGIN_BYTES_MAX, KAFKA_PRODUCE_BYTES_MAX, KAFKA_REQUEST_BYTES_MAX

_HEAD = Struct(">ih")
_SIZE = Struct(">i")
_SIZE_BYTES = 4
_REQUEST_BYTES_MIN = 8
_PRODUCE_KEY = 0


class Frames:
    """Takes bytes in any pieces, gives out requests."""

    __slots__ = ("_at", "_data", "_pieces", "_wanted_bytes", "buffered_bytes", "bytes_max")

    def __init__(self, bytes_max: int | None = None) -> None:
        self.bytes_max = bytes_max
        """The most that a request may have, if it is less than usual."""
        self.buffered_bytes = 0
        """What came and was not given out yet."""
        self._data = b""
        self._at = 0  # where the next request begins in the data
        self._pieces: list[bytes] = []  # what came after the data
        self._wanted_bytes = _HEAD.size  # with fewer there is nothing to be found

    def feed(self, data: bytes) -> None:
        self.buffered_bytes += len(data)
        self._pieces.append(data)

    def next(self) -> tuple[bytes, int, int] | None:
        """Bytes that hold the next request, where it begins in them, after its size, and where it ends; None if it is
        not whole. Raises `ProtocolError`."""
        if self.buffered_bytes < self._wanted_bytes:
            return None
        if self._pieces:
            self._join()
        size, key = _HEAD.unpack_from(self._data, self._at)
        self._check_size(size, key)
        start = self._at + _SIZE_BYTES
        end = start + size
        if end > len(self._data):
            self._wanted_bytes = _SIZE_BYTES + size
            return None
        return self._give_out(start, end)

    def next_token(self) -> bytes | None:
        """The next bytes that are no request; None if they are not whole. Raises `ProtocolError`."""
        if self.buffered_bytes < _SIZE_BYTES or max(self.buffered_bytes, _HEAD.size) < self._wanted_bytes:
            return None
        if self._pieces:
            self._join()
        (size,) = _SIZE.unpack_from(self._data, self._at)
        if not 0 <= size <= KAFKA_LOGIN_BYTES_MAX:
            raise ProtocolError(f"a token of {size} bytes: logging in takes up to {KAFKA_LOGIN_BYTES_MAX}")
        if self.buffered_bytes < _SIZE_BYTES + size:
            self._wanted_bytes = _SIZE_BYTES + size
            return None
        start = self._at + _SIZE_BYTES
        data, start, end = self._give_out(start, start + size)
        return data[start:end]

    def _join(self) -> None:
        if self._at < len(self._data):
            self._data = b"".join((memoryview(self._data)[self._at :], *self._pieces))
        else:
            self._data = b"".join(self._pieces) if len(self._pieces) > 1 else self._pieces[0]
        self._at = 0
        self._pieces.clear()

    def _give_out(self, start: int, end: int) -> tuple[bytes, int, int]:
        self.buffered_bytes -= end - start + _SIZE_BYTES
        self._wanted_bytes = _HEAD.size
        data = self._data
        if end == len(data):
            self._data, self._at = b"", 0
        else:
            self._at = end
        return data, start, end

    def _check_size(self, size: int, key: int) -> None:
        most = self.bytes_max or (KAFKA_PRODUCE_BYTES_MAX if key == _PRODUCE_KEY else KAFKA_REQUEST_BYTES_MAX)
        if not _REQUEST_BYTES_MIN <= size <= most:
            raise ProtocolError(f"a request of {size} bytes: this port speaks Kafka's protocol, up to {most} bytes")
