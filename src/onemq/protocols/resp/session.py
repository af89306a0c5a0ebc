"""One RESP connection: requests in, replies out in the same order.

    receive -> decoder -> one request after the other: look up, check arity, handler -> replies

A session stops between two requests while a command waits for something (`wait`, `go_on`) or the
peer does not take our replies (`peer.congested`), and goes on from there.
"""

import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from onemq.errors import OneMQError, ProtocolError
from onemq.limits import RESP_PARKED_BYTES_MAX
from onemq.protocols import Peer
from onemq.protocols.resp import replies
from onemq.protocols.resp.codec import RequestDecoder
from onemq.protocols.resp.errors import error_line, unknown_command, wrong_arity

if TYPE_CHECKING:
    from onemq.protocols.resp.command import Command
    from onemq.protocols.resp.service import RespService

_logger = logging.getLogger(__name__)
_BURST_BYTES = 64 * 1024
"""After this much output a session hands it over and looks whether the peer keeps up."""
_HTTP_WORDS = (b"post", b"host:")
"""How a browser begins that was tricked into talking to us."""
_NOTHING: Iterator[list[bytes]] = iter(())


class RespSession:
    """The state of one connection. Handlers read and change what is public here."""

    __slots__ = (
        "_commands",
        "_decoder",
        "_holding",
        "_output",
        "_output_bytes",
        "_running",
        "_todo",
        "_waiting",
        "atomic",
        "born_ms",
        "ended",
        "id",
        "last_command",
        "last_ms",
        "library_name",
        "library_version",
        "name",
        "no_evict",
        "no_touch",
        "on_lost",
        "peer",
        "replies",
        "service",
        "skipped_replies",
    )

    def __init__(self, service: "RespService", peer: Peer, session_id: int) -> None:
        self.service = service
        self.peer = peer
        self.id = session_id
        self.replies = replies.RESP2
        self.born_ms = self.last_ms = service.now_ms
        self.last_command: Command | None = None
        self.name = self.library_name = self.library_version = b""
        self.no_evict = self.no_touch = False
        self.skipped_replies = 0  # so many are left out from here on; -1: all
        self.ended = False
        self.atomic = False
        """Whether a transaction runs: a command that finds nothing answers so instead of waiting."""
        self.on_lost: dict[Callable[[], None], None] = {}
        """What gives back the things that belong to this connection, when it is gone."""
        self._commands = service.commands
        self._decoder = RequestDecoder()
        self._todo = _NOTHING  # decoded, not executed yet
        self._output: list[bytes] = []
        self._output_bytes = 0
        self._running = False
        self._waiting = False  # no further request is executed
        self._holding = False  # and no more is read

    # What the connection calls.

    def receive(self, data: bytes) -> None:
        if self.ended:
            return
        self.last_ms = self.service.core.stage.now_ms
        if not (self._waiting or self._running or self.peer.congested or self._todo is not _NOTHING):
            self._run(data)
            return
        self._decoder.feed(data)
        if self._waiting and not self._holding and self._decoder.buffered_bytes > RESP_PARKED_BYTES_MAX:
            self._holding = True
            self.peer.hold()

    def resume(self) -> None:
        self._run()

    def lost(self) -> None:
        self.ended = self._waiting = True
        self.service.sessions.pop(self.id, None)
        for give_back in list(self.on_lost):
            give_back()

    def refusal(self, error: OneMQError) -> bytes:
        return replies.error(error_line(error))

    # What handlers call.

    def write(self, data: bytes) -> None:
        """Adds output that is no handler's returned reply, in its place among the replies."""
        self._output.append(data)
        self._output_bytes += len(data)
        if not self._running:
            self._hand_over()

    def wait(self) -> None:
        """The running command answers later, by `go_on`; no further request is executed before."""
        self._waiting = True

    def go_on(self, reply: bytes) -> None:
        """Answers the command that waits, and executes further requests."""
        if self.ended:
            return
        self._waiting = False
        self.write(reply)
        if self._holding:
            self._holding = False
            self.peer.proceed()
        self._run()

    def end(self) -> None:
        """Ends the connection, after the reply of the running command if there is one."""
        self.ended = self._waiting = True
        if not self._running:
            self.peer.close()

    # How requests are executed.

    def _run(self, data: bytes = b"") -> None:
        """Executes requests until there are none, one waits, or the peer does not take our output."""
        if self._running or self._waiting:
            return
        self._running = True
        try:
            if self._todo is not _NOTHING:
                self._execute_todo()
            requests = self._decoder.decode(data) if data else self._next_requests()
            while requests:
                self.service.commands_processed += len(requests)
                self._todo = iter(requests)
                self._execute_todo()
                requests = self._next_requests()
        except ProtocolError as error:
            self._output.append(self.refusal(error))
            self.ended = self._waiting = True
        finally:
            self._running = False
        self._hand_over()
        if self.ended:
            self.peer.close()

    def _next_requests(self) -> list[list[bytes]]:
        """What can be executed now."""
        return [] if self._waiting or self.peer.congested else self._decoder.take()

    def _execute_todo(self) -> None:
        """Executes decoded requests. What it leaves when it has to stop stays to do."""
        commands, afterwards = self._commands, self.service.afterwards
        for request in self._todo:
            name = request[0]
            command = commands.get(name) or commands.get(name.lower())
            try:
                if command is None:
                    raise self._unknown(request)
                words, arity = len(request), command.arity
                if words != arity and (arity >= 0 or words < -arity):
                    raise wrong_arity(command.name)
                self.last_command = command
                reply = command.handler(self, request)
                if afterwards:
                    self.service.run_afterwards()
            except OneMQError as error:
                reply = self._refuse(error)
            if reply and not self.skipped_replies:
                self._output.append(reply)
                self._output_bytes += len(reply)
                if self._output_bytes > _BURST_BYTES:
                    self._hand_over()
                    if self.peer.congested:
                        return
            elif self.skipped_replies > 0:
                self.skipped_replies -= 1
            if self._waiting:
                return
        self._todo = _NOTHING

    def _refuse(self, error: OneMQError) -> bytes:
        if error.closes:
            self.ended = self._waiting = True
        return self.refusal(error)

    def _unknown(self, request: list[bytes]) -> OneMQError:
        if request[0].lower() in _HTTP_WORDS:
            _logger.warning("%s sent an HTTP request to the Redis port: closed", self.peer.address)
            self.skipped_replies = -1
            self.ended = self._waiting = True
        return unknown_command(request)

    def _hand_over(self) -> None:
        if self._output:
            data = self._output[0] if len(self._output) == 1 else b"".join(self._output)
            self._output.clear()
            self._output_bytes = 0
            self.peer.send(data)
