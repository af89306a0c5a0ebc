"""Requests: bytes in any pieces to lists of arguments, fast where it can be.

    chunk   *3..*3..*5..*2.        one read from the socket
            |----------|           whole requests: hiredis, slice by slice
                       |---|       the cut one at the end: careful.py, together with the next chunk

hiredis parses in C but was made for replies: it would allocate a list of any announced length,
accept arguments that are not strings, and knows no inline commands. So it only ever sees a slice
that begins with a request and announces no giant list. It does not tell where it stands, so a mark
fed after the slice shows whether the slice ended with a request. If it did not, or if anything in it
was not a plain request, the slice is decoded again by `CarefulDecoder`, which has the last word. (Only an argument sent
as a simple or verbatim string or a big number, which no client does, is taken for what it says.)

What comes from strangers (careful.py) is left to the careful decoder altogether, which gives out one request at a
time: whether the next one is still a stranger's is known when this one was executed.

A client that sends one request at a time mostly sends the same one again, but for its last word: then there is nothing
to parse.
"""

import re
from collections import deque
from collections.abc import Callable
from os import urandom
from typing import Any

import hiredis

from onemq.protocols.resp.careful import CarefulDecoder
from onemq.protocols.resp.shape import Shape

_SLICE_BYTES = 16 * 1024
"""hiredis moves what it has not parsed yet after every KiB it has: small slices keep that cheap."""
_IDLE_BYTES = 4 * 1024
"""A reader that had more than this to parse is not kept: its buffer grew, and the connection may idle."""
_HEAD_BYTES_MAX = 512
"""Longer requests are not kept to compare others with."""
_GIANT_LIST = re.compile(rb"\*[0-9]{5}")
_DIGITS = b"0123456789"
_STAR = ord("*")
_MARK_VALUE = int.from_bytes(urandom(7))  # no client can know it
_MARK = b":%d\r\n" % _MARK_VALUE
_MORE = object()
_join = b"".join


class RequestDecoder:
    """Takes bytes in any pieces, gives out requests, each a list of at least one argument."""

    __slots__ = (
        "_careful",
        "_chunk",
        "_chunks",
        "_end",
        "_is_careful",
        "_last_bytes",
        "_one_only",
        "_reader",
        "_shape",
        "_start",
    )

    def __init__(self) -> None:
        self._chunks: deque[bytes] = deque()  # not looked at yet
        self._chunk = b""
        self._start = self._end = 0  # the slice of the chunk that hiredis has
        self._reader = hiredis.Reader(notEnoughData=_MORE)
        self._careful = CarefulDecoder()
        self._is_careful = False  # the careful decoder has something to go on with, or has all that comes
        self._one_only = False  # it gives back what follows the request it is at
        self._last_bytes = 0  # the size of the last chunk that hiredis had whole
        self._shape: Shape | None = None  # of a request that came alone, after another one of its size

    @property
    def buffered_bytes(self) -> int:
        """At most this many received bytes have not become a request yet."""
        waiting = sum(map(len, self._chunks)) + len(self._chunk) - self._start
        return waiting + self._careful.buffered_bytes

    @property
    def held_bytes(self) -> int:
        """What it takes of memory while a request is not whole."""
        return sum(map(len, self._chunks)) + len(self._chunk) + self._careful.held_bytes

    @property
    def is_empty(self) -> bool:
        """Whether everything that was received has become a request; of a stranger that is never said."""
        return not (self._chunk or self._is_careful)

    def restrict(self) -> None:
        """The next requests are a stranger's. Only to be called between two requests, as is `lift`."""
        if self._start < self._end:
            self._reader = hiredis.Reader(notEnoughData=_MORE)
        self._hand_over()
        self._careful.of_stranger = True

    def lift(self) -> None:
        """The stranger has logged in; only to be called after `restrict`."""
        self._careful.of_stranger = False
        if rest := self._careful.take_rest():
            self._chunks.appendleft(rest)
        self._is_careful = False
        self._next_chunk()

    def feed(self, data: bytes) -> None:
        if not data:
            return
        if self._chunk or self._is_careful:
            self._chunks.append(data)
        else:
            self._chunk = data
            self._supply_slice()

    def decode_whole(self, data: bytes) -> list[list[bytes]]:
        """A short way for the most common chunks, a few whole requests; empty if it takes `feed` and `take`."""
        if (
            not (self._chunk or self._is_careful)
            and len(data) <= _IDLE_BYTES
            and data.endswith(b"\r\n")
        ):
            shape = self._shape
            if shape is not None and len(data) == shape.size and data.startswith(shape.head):
                return [[*shape.words, data[len(shape.head) : -2]]]
            if data[0] == _STAR and not _GIANT_LIST.search(data):
                return self._parse_whole(data)
        return []

    def _parse_whole(self, data: bytes) -> list[list[bytes]]:
        self._reader.feed(data + _MARK)
        requests = _plain_requests(self._reader.gets)
        if not requests:
            self._reader = hiredis.Reader(notEnoughData=_MORE)
        elif len(data) != self._last_bytes:
            self._last_bytes = len(data)
        elif len(requests) == 1:
            *words, last = requests[0]
            head = data[: -len(last) - 2]
            is_usual = len(head) <= _HEAD_BYTES_MAX and head.endswith(b"$%d\r\n" % len(last))
            self._shape = Shape(words, head, len(last)) if is_usual else None
        return requests

    def take(self) -> list[list[bytes]]:
        """The next complete requests, few enough to hold; none when more bytes are needed first.

        Fails with ProtocolError where the bytes are no request; the decoder is of no use after that."""
        while self._chunk or self._is_careful:
            if self._start < self._end:
                if requests := self._parse_slice():
                    return requests
            elif not self._is_careful:
                self._supply_slice()
            elif request := self._next_careful():
                return [request]
            elif not self._supply_careful():
                break
        return []

    def _parse_slice(self) -> list[list[bytes]]:
        """The requests of the slice that hiredis has; none if they are not for hiredis."""
        requests = _plain_requests(self._reader.gets)
        if not requests:
            self._reader = hiredis.Reader(notEnoughData=_MORE)
            self._shorten_slice()
            return []
        self._start = self._end
        if self._end == len(self._chunk):
            self._next_chunk()
        return requests

    def _next_chunk(self) -> None:
        if len(self._chunk) > _IDLE_BYTES:
            self._reader = hiredis.Reader(notEnoughData=_MORE)
        self._chunk = self._chunks.popleft() if self._chunks else b""
        self._start = self._end = 0

    def _supply_slice(self) -> None:
        chunk, start = self._chunk, self._start
        end = len(chunk)
        seems_whole = chunk.endswith(b"\r\n")
        if end - start > _SLICE_BYTES or not seems_whole:
            end = _last_request(chunk, start)
            seems_whole |= end < len(chunk)
        if not seems_whole or chunk[start] != _STAR or _GIANT_LIST.search(chunk, start, end):
            self._hand_over()
        else:
            self._reader.feed(chunk[start:end] + _MARK)
            self._end = end

    def _shorten_slice(self) -> None:
        """Something in the slice was not for hiredis: most likely only its last request, cut in two."""
        end = _last_request(self._chunk, self._start)
        if end < self._end:
            self._reader.feed(self._chunk[self._start : end] + _MARK)
            self._end = end
        else:
            self._hand_over()

    def _hand_over(self) -> None:
        """Gives the rest of the chunk to the careful decoder."""
        self._careful.feed(self._chunk[self._start :])
        self._chunk = b""
        self._start = self._end = 0
        self._is_careful, self._one_only = True, False

    def _next_careful(self) -> list[bytes] | None:
        request = self._careful.next()
        if request is not None and self._one_only and (rest := self._careful.take_rest()):
            # It was only cut in two: what follows it is for hiredis again.
            self._chunks.appendleft(rest)
        if self._careful.between_requests and not self._careful.of_stranger:
            self._is_careful = False
            self._next_chunk()
        return request

    def _supply_careful(self) -> bool:
        """Gives more to the careful decoder if it is in the middle of a request; False if none is there."""
        if not self._is_careful:
            return True
        if not self._chunks:
            return False
        self._careful.feed(self._chunks.popleft())
        self._one_only = not self._careful.of_stranger
        return True


def _plain_requests(gets: Callable[[], Any]) -> list[list[bytes]]:
    """What hiredis gives up to the mark; none if there is anything else than plain requests."""
    requests = []
    try:
        request = gets()
        while type(request) is list and request:
            _join(request)  # fails unless every argument is bytes
            requests.append(request)
            request = gets()
    except (hiredis.ProtocolError, TypeError):
        return []
    return requests if request == _MARK_VALUE else []


def _last_request(chunk: bytes, start: int) -> int:
    """Where the last request of the slice that begins at `start` begins, going by its looks.

    If it is the only one of its slice, where it ends, going by its looks."""
    limit = start + _SLICE_BYTES
    at = chunk.rfind(b"\r\n*", start, limit)
    while at >= 0 and chunk[at + 3 : at + 4] not in _DIGITS:
        at = chunk.rfind(b"\r\n*", start, at)
    if at < 0:
        at = chunk.find(b"\r\n*", limit)
    return at + 2 if at >= 0 else len(chunk)
