"""What clients have sent that cannot be executed yet, counted over all connections.

One connection may hold much: most of a giant request whose last byte is missing, or the commands that it has queued
behind MULTI. Some dozens of such connections would take all memory. So whatever is more than
`BACKLOG_UNCOUNTED_BYTES` of one is counted for a total, and one that would go beyond that is refused. All others, who
send requests of usual sizes, are never counted, which costs them nothing.
"""

from onemq.errors import Busy
from onemq.limits import BACKLOG_BYTES_MAX, MIB


class Backlog:
    """The total."""

    def __init__(self, bytes_max: int = BACKLOG_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self.bytes = 0
        """What all shares hold now."""

    def change(self, by: int) -> None:
        """Raises Busy, and changes nothing, if it would be too much."""
        if by > 0 and self.bytes + by > self._bytes_max:
            raise Busy(
                f"all connections together have sent {self._bytes_max // MIB} MiB of large requests and transactions "
                "that are not complete, which is as much as they may: try again later"
            )
        self.bytes += by


class Share:
    """What one holder has of it: a connection's input, or a transaction."""

    __slots__ = ("_backlog", "_bytes")

    def __init__(self, backlog: Backlog) -> None:
        self._backlog = backlog
        self._bytes = 0

    def resize(self, size: int) -> None:
        """The holder has so much now. Raises Busy if that is too much for all together; then the share is as it was."""
        self._backlog.change(size - self._bytes)
        self._bytes = size
