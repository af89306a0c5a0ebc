"""Crowds: requests of many connections that differ in their last word only, read and executed at once.

    *3 $5 LPUSH $4 list $100 | value        the head, with which all of them begin, and last words of one length
    *3 $5 LPUSH $4 list $100 | other

Most of what a small request takes is the way to the core and back. Where many clients do the same, which they do when
a broker is busy, they go that way together. What is not alike is received by each session for itself.
"""

from functools import lru_cache
from itertools import chain
from struct import Struct
from typing import TYPE_CHECKING, cast

from onemq.protocols import Arrived

if TYPE_CHECKING:
    from onemq.protocols.resp.service import RespService
    from onemq.protocols.resp.session import RespSession

_LINE_END = b"\r\n"
_COUNTS = (b"*2\r\n", b"*3\r\n", b"*4\r\n", b"*5\r\n", b"*6\r\n", b"*7\r\n", b"*8\r\n", b"*9\r\n")
_LIKENESS_BYTES = 10
"""Requests whose beginnings differ here already are not looked at any further."""


class Shape:
    """What is the same in all requests of a crowd."""

    __slots__ = ("head", "last_bytes", "size", "words")

    def __init__(self, words: list[bytes], head: bytes, last_bytes: int) -> None:
        self.words = words
        """All but the last."""
        self.head = head
        """Everything before the last word, as it travels."""
        self.last_bytes = last_bytes
        self.size = len(head) + last_bytes + len(_LINE_END)
        """Of a whole request."""

    def last_words(self, data: bytes) -> list[bytes] | None:
        """Those of all requests, if the data is nothing but requests of this shape."""
        head, size = self.head, self.size
        count, rest = divmod(len(data), size)
        if rest:
            return None
        if len(self.words) == 1 and data.startswith(head) and data == data[:size] * count:
            words = [data[len(head) : size - len(_LINE_END)]] * count  # a key as a rule, and the same in all
            return words if data.endswith(_LINE_END) else None
        # Taken out at the same distances; that this was right is seen when they are put in again. Looking for where
        # each request begins takes three times as long.
        words = list(chain.from_iterable(_picker(len(head), self.last_bytes).iter_unpack(data)))
        again = b"".join((head, (_LINE_END + head).join(words), _LINE_END))
        return words if again == data else None


@lru_cache(maxsize=256)
def _picker(head_bytes: int, last_bytes: int) -> Struct:
    """Takes the last word out of a request."""
    return Struct(f"{head_bytes}x{last_bytes}s{len(_LINE_END)}x")


def shape_of(data: bytes) -> Shape | None:
    """The shape of the request with which the data begins; None if that is unusual."""
    if data[:4] not in _COUNTS:
        return None
    count = data[1] - 48  # a digit
    lines = data.split(_LINE_END, 2 * count + 1)
    words = lines[2 : 2 * count + 1 : 2]
    if len(lines) != 2 * count + 2 or lines[1 : 2 * count : 2] != [b"$%d" % len(word) for word in words]:
        return None
    last = words.pop()
    head = _LINE_END.join(lines[: 2 * count]) + _LINE_END
    return Shape(words, head, len(last))


def receive_alike(arrived: Arrived, at: int) -> int:
    """See `ReceiveAlike`."""
    peer, data = arrived[at]
    if arrived[at + 1][1][:_LIKENESS_BYTES] != data[:_LIKENESS_BYTES]:
        return 0
    session = cast("RespSession", peer.session)
    shape = _shape(session.service, data)
    if shape is None:
        return 0
    count = session.count_alike(arrived, at, shape)
    if count < 2:
        return 0
    return count if _execute(session, arrived[at : at + count], shape) else -count


def _shape(service: "RespService", data: bytes) -> Shape | None:
    """The shape of the request with which the data begins, if many of them can be executed at once."""
    known = service.crowd_shape
    if known is not None and data.startswith(known.head) and len(data) % known.size == 0:
        return known
    parts = data.split(_LINE_END, 3)
    command = service.commands.get(parts[2]) if len(parts) == 4 else None
    if command is None or command.alike is None:
        return None
    service.crowd_shape = shape_of(data)
    return service.crowd_shape


def _execute(first: "RespSession", crowd: Arrived, shape: Shape) -> bool:
    """Executes the requests and hands out the replies; False if nothing was done."""
    peers, requests = zip(*crowd, strict=True)
    last_words = shape.last_words(b"".join(requests))
    service = first.service
    command = service.commands[shape.words[0]]
    if last_words is None or command.alike is None:
        return False
    is_one_each = len(last_words) == len(crowd)
    counts = [1] * len(crowd) if is_one_each else [len(data) // shape.size for data in requests]
    replies = command.alike(first, shape.words, last_words, counts)
    if replies is None:
        return False
    service.commands_processed += len(last_words)
    first.peer.send_each(peers, replies)
    return True
