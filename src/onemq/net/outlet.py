"""What a turn needs of connections."""

from typing import Protocol

from onemq.errors import OneMQError
from onemq.log.stretch import Stretch
from onemq.protocols import Arrived, Peer

Output = bytes | list[bytes | Stretch]
"""Of one connection: a list if copying it together would take long, or cannot be."""


class Outlet(Protocol):
    """Where output leaves."""

    def collect(self) -> Output:
        """Takes the output that the connection gathered in this turn."""

    def release(self, data: Output) -> None:
        """The output may leave."""

    def fail(self, error: OneMQError) -> None:
        """The output must not leave; the peer is told why, and the connection ends."""


class Inlet(Outlet, Peer, Protocol):
    """Where requests come from that are gathered."""

    def take_alike(self, arrived: Arrived, at: int) -> int:
        """See `ReceiveAlike`; 0 if the connection cannot do that."""

    def take(self, data: bytes) -> None:
        """Executes what it received."""
