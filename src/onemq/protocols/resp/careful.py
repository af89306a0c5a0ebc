"""Requests decoded step by step, in plain Python: the reference for what a request is.

    *2\\r\\n              number of arguments, then for each
    $4\\r\\nECHO\\r\\n    its length, its bytes, and two bytes that nobody looks at
    ECHO hello\\r\\n      or an inline command: any line that does not begin with *

codec.py decodes whole requests faster, with hiredis, and leaves to this one what is cut in two,
inline, oversized or wrong. Lengths are checked when they are announced: nothing is buffered or
allocated for a length that is refused. Error texts are those of Redis, which clients match on.

A client that must log in and has not is a stranger: it may announce only what logging in takes.
"""

import re

from onemq.errors import ProtocolError
from onemq.limits import (
    RESP_ARGUMENTS_MAX,
    RESP_BULK_BYTES_MAX,
    RESP_INLINE_BYTES_MAX,
    RESP_LOGIN_ARGUMENTS_MAX,
    RESP_LOGIN_BULK_BYTES_MAX,
    RESP_REQUEST_BYTES_MAX,
)
from onemq.protocols.resp.inline import split_words

_INTEGER = re.compile(rb"0|-?[1-9][0-9]{0,18}")
_STAR = ord("*")
_DOLLAR = ord("$")
_ARGUMENT_BYTES = 50


class CarefulDecoder:
    """Takes bytes in any pieces, gives out requests one by one."""

    __slots__ = ("_arguments", "_buffer", "_bulk_bytes", "_missing", "_position", "_request_bytes", "of_stranger")

    def __init__(self) -> None:
        self.of_stranger = False
        """Whether the next requests are a stranger's. Only to be changed between two requests."""
        self._buffer = bytearray()
        self._position = 0
        self._forget_request()

    def _forget_request(self) -> None:
        self._arguments: list[bytes] = []
        self._missing = 0
        self._bulk_bytes = -1
        self._request_bytes = 0

    @property
    def buffered_bytes(self) -> int:
        """At most this many received bytes have not become a request yet."""
        return len(self._buffer) - self._position + self._request_bytes

    @property
    def held_bytes(self) -> int:
        """What it holds of received bytes, with what each finished argument takes beside its own."""
        finished = self._request_bytes - max(self._bulk_bytes, 0)
        return len(self._buffer) + finished + len(self._arguments) * _ARGUMENT_BYTES

    @property
    def between_requests(self) -> bool:
        """Whether the last byte received was the last byte of a request."""
        return self._missing == 0 and self._position == len(self._buffer)

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def take_rest(self) -> bytes:
        """Takes back what was fed after the last complete request."""
        assert self._missing == 0
        rest = bytes(memoryview(self._buffer)[self._position :])
        self._buffer.clear()
        self._position = 0
        return rest

    def next(self) -> list[bytes] | None:
        """The next complete request, or None when more bytes are needed first."""
        if (self._missing or self._begin_request()) and self._read_arguments():
            request = self._arguments
            self._forget_request()
            return request
        self._drop_consumed()
        return None

    def _begin_request(self) -> bool:
        """Reads up to the first argument, or an inline command as a whole."""
        while self._position < len(self._buffer):
            if self._buffer[self._position] != _STAR:
                if not self._read_inline():
                    return False
            else:
                count = self._read_length("too big mbulk count string", "invalid multibulk length")
                if count is None:
                    return False
                if count > RESP_ARGUMENTS_MAX:
                    raise ProtocolError("invalid multibulk length")
                if self.of_stranger and count > RESP_LOGIN_ARGUMENTS_MAX:
                    raise ProtocolError("unauthenticated multibulk length")
                self._missing = max(count, 0)
            if self._missing or self._arguments:
                return True
        return False

    def _read_inline(self) -> bool:
        """Reads a line if it is complete; a blank one leaves no arguments."""
        end = self._buffer.find(b"\n", self._position)
        if end < 0:
            if len(self._buffer) - self._position > RESP_INLINE_BYTES_MAX:
                raise ProtocolError("too big inline request")
            return False
        line = bytes(self._buffer[self._position : end])
        self._position = end + 1
        self._arguments = split_words(line.removesuffix(b"\r"))
        return True

    def _read_arguments(self) -> bool:
        """Reads arguments while they are complete; returns whether all are there."""
        while self._missing:
            if self._bulk_bytes < 0 and not self._read_bulk_header():
                return False
            end = self._position + self._bulk_bytes
            if end + 2 > len(self._buffer):
                return False
            self._arguments.append(bytes(memoryview(self._buffer)[self._position : end]))
            self._position = end + 2
            self._bulk_bytes = -1
            self._missing -= 1
        return True

    def _read_bulk_header(self) -> bool:
        if self._position == len(self._buffer):
            return False
        kind = self._buffer[self._position]
        if kind != _DOLLAR:
            found = bytes([kind]).decode(errors="surrogateescape")
            raise ProtocolError(f"expected '$', got '{found}'")
        length = self._read_length("too big bulk count string", "invalid bulk length")
        if length is None:
            return False
        if not 0 <= length <= RESP_BULK_BYTES_MAX:
            raise ProtocolError("invalid bulk length")
        if self.of_stranger and length > RESP_LOGIN_BULK_BYTES_MAX:
            raise ProtocolError("unauthenticated bulk length")
        self._request_bytes += length
        if self._request_bytes > RESP_REQUEST_BYTES_MAX:
            raise ProtocolError(f"request is larger than {RESP_REQUEST_BYTES_MAX} bytes")
        self._bulk_bytes = length
        return True

    def _read_length(self, endless: str, invalid: str) -> int | None:
        """Reads the line `*n` or `$n` at the position; None when its end has not come yet."""
        end = self._buffer.find(b"\r", self._position, self._position + RESP_INLINE_BYTES_MAX + 1)
        if end < 0:
            if len(self._buffer) - self._position > RESP_INLINE_BYTES_MAX:
                raise ProtocolError(endless)
            return None
        if end + 2 > len(self._buffer):
            return None
        digits = self._buffer[self._position + 1 : end]
        if not _INTEGER.fullmatch(digits):
            raise ProtocolError(invalid)
        self._position = end + 2
        return int(digits)

    def _drop_consumed(self) -> None:
        if self._position:
            del self._buffer[: self._position]
            self._position = 0
