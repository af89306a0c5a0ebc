"""What leaves a connection that is sent stretches of files, in order.

    answer:  bytes  |  stretch        |  bytes  |  stretch ...
    sent:    bytes and the beginning  |  the rest, by the system, from the file to the socket  |  bytes and ...

The system sends from a file without copying. What is small, and what the socket has no room for, is read, a piece at a
time, and given to the transport together with the bytes around it. The transport says when it has sent that
(`pause_writing`, `resume_writing`): it is told to hold nothing beyond what is on its way. So an answer of many
megabytes takes the memory of one piece.
"""

import asyncio
import errno
import socket
from collections import deque
from collections.abc import Iterable

from onemq.limits import KIB, MIB
from onemq.log.stretch import Stretch

PIECE_BYTES = 1 * MIB
"""What is read and sent at a time where the system cannot send from files."""
EDGE_BYTES = 16 * KIB
"""What is read and sent at a time where it can: together with the bytes in front of it, so that these do not wake the
peer by themselves; and when the socket is full, so that the transport says when there is room again."""
SOCKET_BYTES = 320 * KIB
"""What a socket may hold that was not sent yet. Left to itself, Linux lets it be megabytes, which the processor's
caches have lost when the peer takes them (docs/benchmarks.md)."""
_CANNOT = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)


class Outgoing:
    """Output of one connection that the transport does not have yet."""

    __slots__ = ("_parts", "_socket", "_transport")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._parts: deque[bytes | Stretch] = deque()
        self._socket = _plain_socket(transport)
        """The number of the transport's socket; -1 if the system cannot send from files to it."""
        transport.set_write_buffer_limits(high=0)
        found = transport.get_extra_info("socket")
        if found is not None:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BYTES)

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
            part = self._parts[0]
            if self._socket < 0:
                transport.writelines(self._next(PIECE_BYTES))
            elif isinstance(part, bytes) or len(part) <= EDGE_BYTES or not self._send_file(part):
                transport.writelines(self._next(EDGE_BYTES))
            else:
                self._parts.popleft()

    def _send_file(self, stretch: Stretch) -> bool:
        """Has the system send what the socket takes; whether that is all."""
        try:
            stretch.send(self._socket)
        except (BlockingIOError, ConnectionError):  # of the latter the transport will be told in time
            return False
        except OSError as problem:
            if problem.errno not in _CANNOT:
                raise
            self._socket = -1
        return not len(stretch)

    def _next(self, room: int) -> list[bytes]:
        """A piece of the first stretch, and the bytes before it and behind it."""
        parts, piece = self._parts, list[bytes]()
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


def _plain_socket(transport: asyncio.Transport) -> int:
    """The number of its socket, if bytes go there as they are; else -1."""
    found = transport.get_extra_info("socket")
    is_plain = found is not None and transport.get_extra_info("sslcontext") is None
    return int(found.fileno()) if is_plain else -1
