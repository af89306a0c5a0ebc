"""One RESP connection: requests in, replies out in the same order.

    receive -> decoder -> one request after the other: look up, check arity, handler -> replies

A session stops between two requests when a blocking command waits (`waiting`), or when the peer
does not take its replies (`peer.congested`), and goes on from there.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onemq.errors import OneMQError, ProtocolError
from onemq.limits import RESP_PARKED_BYTES_MAX
from onemq.protocols import Peer
from onemq.protocols.resp import replies
from onemq.protocols.resp.codec import RequestDecoder
from onemq.protocols.resp.errors import error_line, unknown_command, wrong_arity

if TYPE_CHECKING:
    from onemq.protocols.resp.service import RespService

_BURST_BYTES = 64 * 1024
"""After this much output a session hands it over and looks whether the peer keeps up."""
_HTTP_WORDS = (b"post", b"host:")
"""A browser that was tricked into talking to us begins with these."""


class RespSession:
    """The state of one connection. Handlers read and change what is public here."""

    __slots__ = (
        "_decoder",
        "_output",
        "_output_bytes",
        "_running",
        "_takes_replies",
        "_todo",
        "born_ms",
        "ended",
        "held",
        "id",
        "last_command",
        "last_ms",
        "library_name",
        "library_version",
        "name",
        "no_evict",
        "no_touch",
        "peer",
        "replies",
        "service",
        "skips",
        "waiting",
    )

    def __init__(self, service: "RespService", peer: Peer, session_id: int) -> None:
        self.service = service
        self.peer = peer
        self.id = session_id
        self.born_ms = self.last_ms = service.core.now_ms
        self.last_command = "NULL"
        self.name = b""
        self.library_name = b""
        self.library_version = b""
        self.replies = replies.RESP2
        self.waiting = False  # a command waits for something: no further request until `go_on`
        self.ended = False
        self.held = False
        self.no_evict = False
        self.no_touch = False
        self.skips = 0  # replies to leave out; -1: all (CLIENT REPLY)
        self._decoder = RequestDecoder()
        self._todo: Iterator[list[bytes]] = iter(())  # decoded, not executed yet
        self._output: list[bytes] = []
        self._output_bytes = 0
        self._running = False

    # What the connection calls.

    def receive(self, data: bytes) -> None:
        if self.ended:
            return
        self.last_ms = self.service.core.now_ms
        self._decoder.feed(data)
        if self.waiting:
            self._hold_if_flooded()
        else:
            self._run()

    def resume(self) -> None:
        if not self.waiting:
            self._run()

    def lost(self) -> None:
        self.ended = True
        self.service.sessions.pop(self.id, None)

    def refusal(self, error: OneMQError) -> bytes:
        return replies.error(error_line(error))

    # What handlers call.

    def write(self, data: bytes) -> None:
        """Adds output that is not the returned reply of a handler: it keeps its place in the order."""
        self._output.append(data)
        self._output_bytes += len(data)
        if not self._running:
            self._hand_over()

    def wait(self) -> None:
        """The running command answers later: no further request until `go_on`."""
        self.waiting = True

    def go_on(self, reply: bytes) -> None:
        """Answers the command that waited and takes further requests."""
        self.waiting = False
        self.write(reply)
        if self.held:
            self.held = False
            self.peer.proceed()
        self._run()

    def end(self) -> None:
        """Ends the connection after what was written so far and the running command's reply."""
        self.ended = True
        if not self._running:
            self.peer.close()

    # How requests are executed.

    def _run(self) -> None:
        """Executes requests until there are none, one waits, or the peer does not take our output."""
        if self._running or self.ended:
            return
        self._running = True
        try:
            while not (self.waiting or self.ended or self.peer.congested):
                self._execute_todo()
                ...
        finally:
            self._running = False
