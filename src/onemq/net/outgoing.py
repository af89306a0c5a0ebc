"""What leaves a connection that is sent stretches of files, in order.

A stretch is read when it is its turn: a piece at a time, together with the bytes around it, and the next one when the
transport has sent the last. So an answer of many megabytes takes the memory of one piece, which the processor still has
in its cache when it is sent. The transport says when it is done (`pause_writing`, `resume_writing`): it is told to hold
nothing beyond what is on its way.
"""

import asyncio
from collections import deque
from collections.abc import Iterable

from onemq.limits import MIB
from onemq.log.stretch import Stretch

PIECE_BYTES = 1 * MIB
"""What is read and sent at a time."""


class Outgoing:
    """Output of one connection that the transport does not have yet."""

    __slots__ = ("_parts", "_transport")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._parts: deque[bytes | Stretch] = deque()
        transport.set_write_buffer_limits(high=0)

    @property
    def is_empty(self) -> bool:
        return not self._parts

    def add(self, parts: Iterable[bytes | Stretch]) -> None:
        """Puts parts behind what is there. They leave when `go_on` is called."""
        self._parts.extend(parts)

    def go_on(self) -> None:
        """Sends as much as the peer takes; to be called again when writing resumes. Raises OSError if a file cannot be
        read."""
        transport = self._transport
        while self._parts and not transport.get_write_buffer_size() and not transport.is_closing():
            transport.writelines(self._next())

    def _next(self) -> list[bytes]:
        """A piece of the first stretch, and the bytes before it and behind it."""
        parts, piece = self._parts, list[bytes]()
        room = PIECE_BYTES
        while parts:
            part = parts[0]
            if isinstance(part, bytes):
                piece.append(part)
            elif room:
                data = part.read(room)
                piece.append(data)
                room -= len(data)
                if len(part):
                    break
            else:
                break
            parts.popleft()
        return piece

    def clear(self) -> None:
        """Lets go of everything."""
        self._parts.clear()
