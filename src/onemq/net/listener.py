"""Listeners: from an address in the configuration to connections, and back to none.

An address is bound before anything else starts, so that a port in use is found while nothing has
been changed; peers are accepted when everything is ready.
"""

import asyncio
import errno
import logging
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import ip_address
from typing import cast

from onemq.config import Address
from onemq.errors import ListenError
from onemq.limits import CONNECTION_LIMITS, LISTEN_BACKLOG, ConnectionLimits
from onemq.net.connection import Connection, Connections, format_address
from onemq.net.turn import Turns
from onemq.protocols import SessionFactory

_logger = logging.getLogger(__name__)

KEEPALIVE_IDLE_S = 60
KEEPALIVE_INTERVAL_S = 15
KEEPALIVE_PROBES = 4
"""A peer whose machine is gone is noticed after about two minutes of silence."""
_UNPACED = b"reno"
"""What watches over the ways of a listener that only this machine can reach, where nothing gets lost. Many systems have
BBR for all ways, which sets a timer after every 64 KiB: a quarter of the processor time of a large answer. This one
every Linux has and allows everybody. It must be inherited: a way that began with BBR stays paced."""


class Listener:
    """The addresses on which one protocol is spoken."""

    def __init__(self, protocol: str, address: Address) -> None:
        """Binds the address, or fails with ListenError. `protocol` is also the name of its option."""
        self.protocol = protocol
        self._sockets = _bind(protocol, address)
        self._servers: list[asyncio.Server] = []

    @property
    def addresses(self) -> list[str]:
        """Where it listens, `host:port`; the port is a real one even if 0 was asked for."""
        return [format_address(each.getsockname()) for each in self._sockets]

    @property
    def port(self) -> int:
        return int(self._sockets[0].getsockname()[1])

    async def accept(
        self,
        factory: SessionFactory,
        turns: Turns,
        connections: Connections,
        limits: ConnectionLimits = CONNECTION_LIMITS,
    ) -> None:
        """Begins to accept connections."""

        def connect() -> asyncio.Protocol:
            return cast(asyncio.Protocol, Connection(factory, turns, connections, limits))

        loop = asyncio.get_running_loop()
        for each in self._sockets:
            self._servers.append(await loop.create_server(connect, sock=each, backlog=LISTEN_BACKLOG))

    def close(self) -> None:
        """Accepts no more."""
        for server in self._servers:
            server.close()
        for each in self._sockets:
            each.close()


async def drain(
    listeners: Sequence[Listener], connections: Connections, turns: Turns, timeout_ms: int
) -> None:
    """Accepts no more, lets the running turn finish, closes all connections; cuts off the slow ones."""
    for listener in listeners:
        listener.close()
    connections.close_all()
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            await connections.empty()
    except TimeoutError:
        _logger.warning("%d connections did not fetch their last replies in time: cut off", len(connections))
        connections.abort_all()
        await connections.empty()
    turns.stop()
    await turns.quiet()


def _bind(protocol: str, address: Address) -> list[socket.socket]:
    """One socket for each address that the host stands for."""
    try:
        found = socket.getaddrinfo(
            address.host or None, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError):
        raise _refusal(protocol, address, f"the host {address.host!r} is unknown; write an address") from None
    sockets: list[socket.socket] = []
    problems: list[OSError] = []
    port = address.port
    for family, *_, place in dict.fromkeys(found):
        try:
            sockets.append(_listening_socket(family, (place[0], port, *place[2:])))
        except OSError as problem:
            problems.append(problem)
        else:
            port = sockets[-1].getsockname()[1]  # if any was asked for, all take the same
    if not sockets or any(problem.errno == errno.EADDRINUSE for problem in problems):
        for each in sockets:
            each.close()
        raise _refusal(protocol, address, _reason(problems[0], address))
    return sockets


def _listening_socket(family: int, place: tuple[object, ...]) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        _keep_alive(made)
        if ip_address(str(place[0]).partition("%")[0]).is_loopback:
            _leave_unpaced(made)
        made.bind(place)
        made.listen(LISTEN_BACKLOG)
        made.setblocking(False)
    except BaseException:
        made.close()
        raise
    return made


def _keep_alive(made: socket.socket) -> None:
    """Accepted sockets inherit this: a peer whose machine died must not keep its deliveries for ever."""
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_IDLE_S)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, KEEPALIVE_PROBES)


def _leave_unpaced(made: socket.socket) -> None:
    """Accepted sockets inherit this, too. A system that does not let us choose is as good as another."""
    if sys.platform == "linux":
        with suppress(OSError):
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, _UNPACED)


def _reason(problem: OSError, address: Address) -> str:
    if problem.errno == errno.EADDRINUSE:
        return "the port is in use; stop the program that listens there or choose another port"
    if problem.errno == errno.EACCES:
        return "this account may not listen there; choose a port above 1023"
    if problem.errno == errno.EADDRNOTAVAIL:
        return f"{address.host} is not an address of this machine; choose one of its own"
    return f"{problem.strerror or problem}; choose another address"


def _refusal(protocol: str, address: Address, reason: str) -> ListenError:
    return ListenError(
        f"cannot listen on {address} for {protocol}: {reason}, with --{protocol} HOST:PORT or off"
    )
