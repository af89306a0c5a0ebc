"""What a protocol is to the rest of OneMQ: a session per connection, fed bytes, without I/O.

    net.Connection  --receive(bytes)-->  Session  --calls-->  core
                    <--send(bytes)-----

A protocol is a folder with `codec.py`, `session.py` and its handlers. It imports neither asyncio
nor socket, and knows no other protocol. `net/` owns sockets, limits, flow control and shutdown.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from onemq import native
from onemq.errors import OneMQError
from onemq.limits import KIB, ConnectionLimits
from onemq.log.stretch import Stretch

native.use()

LARGE_BYTES = 64 * KIB
"""From here on output that is handed over is not copied on its way to the socket."""


class Peer(Protocol):
    """The other end of a connection, as its session sees it."""

    @property
    def address(self) -> str:
        """Where the peer connects from, `host:port`."""

    @property
    def local_address(self) -> str:
        """Which of our addresses it connected to, `host:port`."""

    limits: ConnectionLimits
    """What it may hold of our memory. A session may set its own."""

    @property
    def session(self) -> "Session":
        """Its session."""

    @property
    def congested(self) -> bool:
        """Whether the peer does not take our output. A session stops executing commands then and
        goes on when it is told to `resume`."""

    def send(self, data: bytes | Stretch) -> None:
        """Hands over output. It leaves when everything that this turn wrote is durable."""

    def send_each(self, peers: "Sequence[Peer]", outputs: Sequence[bytes]) -> None:
        """Hands over output to several peers, of which it need not be one: as `send` of each, in less time."""

    def close(self) -> None:
        """Ends the connection after the output that was handed over so far."""

    def hold(self) -> None:
        """Stops reading from the peer, which then finds that its own sending does not go on."""

    def proceed(self) -> None:
        """Reads on after `hold`."""


class Session(Protocol):
    """One connection's state in one protocol. Never called again after `lost`."""

    @property
    def receive_alike(self) -> "ReceiveAlike | None":
        """What executes small requests of many sessions at once, if the protocol has such a way: what they receive
        is then gathered for an iteration of the loop, or a few."""

    def receive(self, data: bytes) -> None:
        """Takes what the peer sent: any part of a frame, or many frames."""

    def resume(self) -> None:
        """The peer takes output again: goes on with what `receive` left undone."""

    def lost(self) -> None:
        """The connection is gone. Gives back what belonged to it."""

    def refusal(self, error: OneMQError) -> bytes:
        """The protocol's form of an error after which the connection ends."""


Arrived = Sequence[tuple[Peer, bytes]]
"""What came from peers, in that order."""

ReceiveAlike = Callable[[Arrived, int], int]
"""Executes what has arrived from a place on as long as it is alike. Returns how many that were; 0 if the session at the
place has to `receive` by itself, and less than 0 if so many sessions have to, which only seemed to be alike."""

SessionFactory = Callable[[Peer], Session]
