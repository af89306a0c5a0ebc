"""Crowds: requests of many connections that differ in their last word only, read and executed at once.

    *3 $5 LPUSH $4 list $100 | value        the head, with which all of them begin, and last words of one length
    *3 $5 LPUSH $4 list $100 | other

Most of what a small request takes is the way to the core and back. Where many clients do the same, which they do when
a broker is busy, they go that way together. What is not alike is received by each session for itself.
"""

from typing import TYPE_CHECKING, cast

from onemq.protocols import Arrived
from onemq.protocols.resp.shape import Shape, shape_of

if TYPE_CHECKING:
    from onemq.protocols.resp.service import RespService
    from onemq.protocols.resp.session import RespSession

_LINE_END = b"\r\n"
_LIKENESS_BYTES = 10
"""Requests whose beginnings differ here already are not looked at any further."""


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
    now_ms = service.core.stage.now_ms
    for peer in peers:
        session: RespSession = peer.session
        session.last_ms = now_ms
        session.last_command = command
    first.peer.send_each(peers, replies)
    return True
