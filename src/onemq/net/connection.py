"""A connection: owns the transport, feeds its session, holds its output until the turn is durable.

    data_received -> turns.begin -> session.receive -> send ... collect -> release -> transport.write
    a small request: data_received -> turns.gather ... take -> session.receive, or many of them together -> send ...

Flow control: while the peer does not take our output, neither its commands nor its input go on. Above
a hard limit, which only output can reach that its session was not asked for, it is cut off. Stretches of files are
read when they are sent (outgoing.py), and count for nothing before that: they take no memory.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import cast

from onemq.errors import OneMQError, TooManyConnections
from onemq.limits import CLOSE_LINGER_MS, KIB, ConnectionLimits
from onemq.log.stretch import Stretch
from onemq.net.outgoing import Outgoing
from onemq.net.outlet import Output
from onemq.net.turn import Turns
from onemq.protocols import LARGE_BYTES, Arrived, Peer, ReceiveAlike, Session, SessionFactory

_logger = logging.getLogger(__name__)
_GATHERED_BYTES_MAX = 16 * KIB
"""Larger pieces are executed at once: they are large requests, or so many that they cost little each as it is."""


class Connections:
    """All open connections of the server, over all listeners."""

    def __init__(self, count_max: int) -> None:
        self.count_max = count_max
        self.refused = 0
        """How many were too many."""
        self._open: set[Connection] = set()
        self._empty = asyncio.Event()
        self._empty.set()

    def __len__(self) -> int:
        return len(self._open)

    @property
    def full(self) -> bool:
        return len(self._open) >= self.count_max

    def add(self, connection: "Connection") -> None:
        self._open.add(connection)
        self._empty.clear()

    def remove(self, connection: "Connection") -> None:
        self._open.discard(connection)
        if not self._open:
            self._empty.set()

    def close_all(self) -> None:
        for connection in list(self._open):
            connection.close()

    def abort_all(self) -> None:
        for connection in list(self._open):
            connection.abort()

    async def empty(self) -> None:
        """Waits until there is none."""
        await self._empty.wait()


class Connection:
    """One accepted socket. To its transport it is a `Protocol`, to its session the `Peer`, to its turn an `Outlet`."""

    __slots__ = (
        "_closing",
        "_connections",
        "_factory",
        "_has_large",
        "_held_bytes",
        "_holding",
        "_outgoing",
        "_output",
        "_reading",
        "_receive_alike",
        "_session_lost",
        "_transport",
        "_turns",
        "_write_paused",
        "address",
        "congested",
        "limits",
        "local_address",
        "session",
    )

    __deletable__ = ("session",)

    _transport: asyncio.Transport
    session: Session

    def __init__(
        self, factory: SessionFactory, turns: Turns, connections: Connections, limits: ConnectionLimits
    ) -> None:
        self._factory = factory
        self._turns = turns
        self._connections = connections
        self.limits = limits
        self.address = self.local_address = ""
        self.congested = False
        self._output: list[bytes | Stretch] = []  # of the running turn
        self._has_large = False  # in the output of the running turn
        self._outgoing: Outgoing | None = None  # of one that was ever sent a stretch
        self._held_bytes = 0  # of the running turn and of those that are not durable yet
        self._write_paused = False
        self._holding = False
        self._reading = True
        self._closing = False
        self._session_lost = False
        self._receive_alike: ReceiveAlike | None = None

    # What the transport calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.address = format_address(transport.get_extra_info("peername"))
        self.local_address = format_address(transport.get_extra_info("sockname"))
        self._transport.set_write_buffer_limits(high=self.limits.output_pause_bytes)
        self._turns.begin()
        self.session = self._factory(self)
        self._receive_alike = self.session.receive_alike
        if self._connections.full:
            self._connections.refused += 1
            self.fail(TooManyConnections("max number of clients reached"))
        else:
            self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        if self._closing:
            return
        if self._receive_alike is not None and len(data) <= _GATHERED_BYTES_MAX:
            self._turns.gather(self, data)
        else:
            self._turns.begin(len(data))
            self.take(data)

    def eof_received(self) -> bool:
        self._turns.begin()  # what came before it is executed first
        self.close()
        self._lose_session()  # now: what comes while our output leaves is not for a peer that has gone
        return True  # the transport stays until our output has left

    def pause_writing(self) -> None:
        self._write_paused = True
        self._congest()

    def resume_writing(self) -> None:
        self._write_paused = False
        if self._is_sending():
            self._send_on()
            if self._closing and not self._held_bytes and not self._is_sending():
                self._close_transport()
        self._relieve()

    def connection_lost(self, problem: Exception | None) -> None:
        self._closing = True
        self._drop_output()
        if self._outgoing is not None:
            self._outgoing.clear()
        self._connections.remove(self)
        self._turns.begin()
        self._lose_session()
        del self.session  # each knows the other: neither waits for the garbage collector

    # What the session calls.

    def send(self, data: bytes | Stretch) -> None:
        if self._closing or not data:
            return
        if not self._output:
            self._turns.touch(self)
        self._output.append(data)
        if isinstance(data, Stretch):
            self._has_large = True
            return
        self._held_bytes += len(data)
        if len(data) >= LARGE_BYTES:
            self._has_large = True
        if self._write_paused or self._held_bytes > self.limits.output_pause_bytes:
            self._congest()
            self._cut_off_if_over_limit()

    def send_each(self, peers: Sequence[Peer], outputs: Sequence[bytes]) -> None:
        complete = self._turns.complete_outputs()
        for connection, data in zip(cast(Sequence[Connection], peers), outputs, strict=True):
            is_quiet = not (connection._held_bytes or connection._output or connection._closing)
            size = len(data)
            if is_quiet and not connection._write_paused and 0 < size <= connection.limits.output_pause_bytes:
                connection._held_bytes = size
                complete.append((connection, data))
            else:
                connection.send(data)

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._update_reading()
            if not self._held_bytes:
                self._close_when_sent()

    def hold(self) -> None:
        self._holding = True
        self._update_reading()

    def proceed(self) -> None:
        self._holding = False
        self._update_reading()

    # What the turn calls.

    def take_alike(self, arrived: Arrived, at: int) -> int:
        if self._closing or self._receive_alike is None:
            return 0
        return self._receive_alike(arrived, at)

    def take(self, data: bytes) -> None:
        if self._closing:
            return
        try:
            self.session.receive(data)
        except Exception:
            self._end_after_bug()

    def collect(self) -> Output:
        output, has_large = self._output, self._has_large
        self._has_large = False
        if has_large and (len(output) > 1 or isinstance(output[0], Stretch)):
            self._output = []
            return output
        data = cast(bytes, output[0]) if len(output) == 1 else b"".join(cast(list[bytes], output))
        output.clear()
        return data

    def release(self, data: Output) -> None:
        transport = self._transport
        if isinstance(data, bytes):
            self._held_bytes -= len(data)
            if transport.is_closing():
                return
            if self._outgoing is None:
                transport.write(data)
            else:
                self._send_in_order(data)
        else:
            self._held_bytes -= _bytes_in(data)
            if transport.is_closing():
                return
            self._send_in_order(data)
        if self._closing:
            if not self._held_bytes:
                self._close_when_sent()
        elif self.congested:
            self._relieve()

    def fail(self, error: OneMQError) -> None:
        self._closing = self.congested = True  # what it asked for after that must not be executed either
        self._drop_output()
        self._held_bytes = 0  # what earlier turns held was dropped with them
        if not self._transport.is_closing():
            self._send_in_order(self.session.refusal(error))
            self._close_when_sent()

    # What the server calls.

    def abort(self) -> None:
        """Ends the connection at once."""
        self._closing = self.congested = True  # as in `fail`
        self._transport.abort()

    # Sending.

    def _drop_output(self) -> None:
        """Forgets the output of the running turn."""
        self._output.clear()
        self._has_large = False

    def _send_in_order(self, data: Output) -> None:
        """Sends output behind what is on its way."""
        outgoing = self._outgoing
        if isinstance(data, bytes):
            if outgoing is None or outgoing.is_empty:
                self._transport.write(data)
            else:
                outgoing.add([data])
            return
        if outgoing is None:
            if not any(isinstance(part, Stretch) for part in data):
                self._transport.writelines(cast(list[bytes], data))
                return
            outgoing = self._outgoing = Outgoing(self._transport)
        outgoing.add(data)
        self._send_on()

    def _send_on(self) -> None:
        """Sends as much as the peer takes."""
        outgoing = self._outgoing
        assert outgoing is not None
        try:
            outgoing.go_on()
        except OSError as problem:
            _logger.error("%s: what it was to be sent cannot be read (%s); it is cut off", self.address, problem)
            self.abort()

    def _is_sending(self) -> bool:
        """Whether some output is on its way that the transport does not have yet."""
        return self._outgoing is not None and not self._outgoing.is_empty

    # Flow control.

    def _congest(self) -> None:
        if not self.congested:
            self.congested = True
            self._update_reading()

    def _relieve(self) -> None:
        """Goes on if the peer has taken enough of our output."""
        if self.congested and not self._write_paused and self._held_bytes <= self.limits.output_pause_bytes:
            self.congested = False
            # Later: this may be called from within the release of a turn.
            asyncio.get_running_loop().call_soon(self._resume)

    def _resume(self) -> None:
        if not self._closing:
            self._turns.begin()
            self._call(self.session.resume)
            self._update_reading()  # now: what was read before is worked off, or the peer is congested again

    def _cut_off_if_over_limit(self) -> None:
        unsent_bytes = self._held_bytes + self._transport.get_write_buffer_size()
        if unsent_bytes > self.limits.output_bytes_max:
            _logger.warning(
                "%s does not read: cut off with %d bytes unsent (output_bytes_max)", self.address, unsent_bytes
            )
            self.abort()

    def _update_reading(self) -> None:
        reading = not (self.congested or self._holding or self._closing)
        if reading != self._reading and not self._transport.is_closing():
            self._reading = reading
            if reading:
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()

    # Ending.

    def _lose_session(self) -> None:
        """Tells the session that its peer has gone, once."""
        if not self._session_lost:
            self._session_lost = True
            self._call(self.session.lost)

    def _close_when_sent(self) -> None:
        """Closes after what is on its way, for which the peer has some time."""
        if self._is_sending():
            asyncio.get_running_loop().call_later(CLOSE_LINGER_MS / 1000, self._transport.abort)
        else:
            self._close_transport()

    def _close_transport(self) -> None:
        self._transport.close()
        if self._transport.get_write_buffer_size():
            asyncio.get_running_loop().call_later(CLOSE_LINGER_MS / 1000, self._transport.abort)

    def _call(self, step: Callable[[], None]) -> None:
        try:
            step()
        except Exception:
            self._end_after_bug()

    def _end_after_bug(self) -> None:
        """One connection's mistake, or ours on its behalf, must not end the others."""
        _logger.exception("%s: a command failed in an unforeseen way; the connection is closed", self.address)
        self.send(self.session.refusal(OneMQError("internal error, the server's log has the details")))
        self.close()


def format_address(address: object) -> str:
    """`host:port` of a socket address, `[host]:port` for IPv6."""
    if not isinstance(address, tuple):
        return str(address or "")
    host, port = address[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _bytes_in(parts: list[bytes | Stretch]) -> int:
    """What parts take of our memory."""
    return sum([len(part) for part in parts if isinstance(part, bytes)])
