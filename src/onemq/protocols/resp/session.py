"""One RESP connection: requests in, replies out in the same order.

    receive -> decoder -> one request after the other: look up, check arity, handler -> replies

A session stops between two requests while a command waits for something (`wait`, `go_on`) or the
peer does not take our replies (`peer.congested`), and goes on from there.

While it queues a transaction, only listens or is paused it works with another command table
(modes.py), so that ordinary commands are not asked about any of that.
"""

import logging
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from onemq.errors import Busy, OneMQError, ProtocolError
from onemq.limits import BACKLOG_UNCOUNTED_BYTES, RESP_PARKED_BYTES_MAX, RESP_REPLY_BYTES_MAX
from onemq.protocols import Arrived, Peer, ReceiveAlike
from onemq.protocols.backlog import Share
from onemq.protocols.resp import replies
from onemq.protocols.resp.codec import RequestDecoder
from onemq.protocols.resp.crowd import receive_alike
from onemq.protocols.resp.errors import error_line, unknown_command, wrong_arity
from onemq.protocols.resp.runs import last_words
from onemq.protocols.resp.shape import Shape
from onemq.protocols.resp.transactions import Transaction, WatchedKeys, aborted, leave

if TYPE_CHECKING:
    from onemq.protocols.resp.command import Command
    from onemq.protocols.resp.mq.connection import MqConnection
    from onemq.protocols.resp.pubsub import Subscriptions
    from onemq.protocols.resp.service import RespService

_logger = logging.getLogger(__name__)
_BURST_BYTES = 64 * 1024
"""After this much output a session hands it over and looks whether the peer keeps up."""
_CROWD_REQUESTS_MAX = 1024
"""About so many of many clients are executed at once: with more, nothing is gained any more, and what they bring may be
too much."""
_RUN_MIN = 8
"""From so many requests on it is worth while to look whether they are alike."""
_HTTP_WORDS = (b"post", b"host:")
"""How a browser begins that was tricked into talking to us."""
DEFAULT_USER = b"default"
_NOTHING: Iterator[list[bytes]] = iter(())


class RespSession:
    """The state of one connection. Handlers read and change what is public here."""

    __slots__ = (
        "_commands",
        "_decoder",
        "_has_more",
        "_holding",
        "_interrupted",
        "_output",
        "_output_bytes",
        "_running",
        "_share",
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
        "mq",
        "name",
        "no_evict",
        "no_touch",
        "on_lost",
        "on_resume",
        "peer",
        "receive_alike",
        "replies",
        "service",
        "skipped_replies",
        "subscriptions",
        "transaction",
        "unblock",
        "user",
        "watched",
    )
    __deletable__ = ("_decoder",)

    def __init__(self, service: "RespService", peer: Peer, session_id: int) -> None:
        self.service = service
        self.peer = peer
        self.id = session_id
        self.replies = replies.RESP2
        self.receive_alike: ReceiveAlike | None = receive_alike
        self.born_ms = self.last_ms = service.now_ms
        self.last_command: Command | None = None
        self.name = self.library_name = self.library_version = b""
        self.no_evict = self.no_touch = False
        self.skipped_replies = 0  # so many are left out from here on; -1: all
        self.ended = False
        self.atomic = False
        """Whether a transaction runs: a command that finds nothing answers so instead of waiting."""
        self.transaction: Transaction | None = None
        """The commands that are queued, between MULTI and EXEC."""
        self.watched: WatchedKeys | None = None
        self.subscriptions: Subscriptions | None = None
        """What it listens to, if anything."""
        self.unblock: Callable[[OneMQError | None], None] | None = None
        """Set by a command that waits, if it can be woken: with None it answers as when its time is up, with an
        error it answers that. The next `go_on` forgets it."""
        self.on_lost: dict[Callable[[], None], None] = {}
        """What gives back the things that belong to this connection, when it ends."""
        self.on_resume: dict[Callable[[], None], None] = {}
        """What goes on when the peer takes our output again."""
        self.mq: MqConnection | None = None
        """Its members of groups and its subscriptions, if it has any."""
        self.user: bytes | None = None if service.users else DEFAULT_USER
        """Who logged in; nobody needs to where there are no users."""
        self._commands = service.modes.table(self)
        self._decoder = RequestDecoder()
        if self.user is None:
            self._decoder.restrict()
        self._todo = _NOTHING  # decoded, not executed yet
        self._has_more = False  # of what was received, decoded or not
        self._output: list[bytes] = []
        self._output_bytes = 0
        self._running = False
        self._interrupted = False  # whoever executes requests has to look around before the next one
        self._waiting = False  # no further request is executed
        self._holding = False  # and no more is read
        self._share: Share | None = None  # of the backlog, while much of what was received cannot be executed

    # What the connection calls.

    def receive(self, data: bytes) -> None:
        if self.ended:
            return
        self.last_ms = self.service.core.stage.now_ms
        if not (self._waiting or self._running or self.peer.congested or self._todo is not _NOTHING):
            requests = self._decoder.decode_whole(data)
            if len(requests) != 1 or not self._execute_single(requests[0]):
                self._run(data, requests)
            return
        self._decoder.feed(data)
        self._has_more = True
        if not self._holding and self._decoder.buffered_bytes > RESP_PARKED_BYTES_MAX:
            self._holding = True
            self.peer.hold()

    def count_alike(self, arrived: Arrived, at: int, shape: Shape) -> int:
        """How many peers from a place on, of which this is the first one's session, seem to have sent whole requests of
        this shape, which their sessions execute at once and answer alike. None runs."""
        head, size, commands, replies = shape.head, shape.size, self.service.commands, self.replies
        count, most = 0, _CROWD_REQUESTS_MAX * size
        for peer, data in arrived[at : at + _CROWD_REQUESTS_MAX]:
            session: RespSession = peer.session  # type: ignore[assignment]
            if (
                len(data) % size
                or most <= 0
                or not data.startswith(head)
                or session._commands is not commands
                or session.replies is not replies
                or session._waiting
                or session._has_more
                or session.skipped_replies
                or peer.congested
            ):
                break
            count += 1
            most -= len(data)
        return count

    def resume(self) -> None:
        self._run()
        for go_on in list(self.on_resume):
            go_on()

    def lost(self) -> None:
        self._stop()
        self.service.sessions.pop(self.id, None)
        self._give_back()
        if self.transaction is not None:
            self.transaction.leave()
        if self._share is not None:
            self._share.resize(0)
        self._todo = _NOTHING
        del self._decoder  # what it holds may be much

    def refusal(self, error: OneMQError) -> bytes:
        return self.error(error_line(error))

    # What handlers call.

    def error(self, line: str) -> bytes:
        """An error reply. INFO tells how many there were, by their first words."""
        errors, word = self.service.errors, line.partition(" ")[0]
        errors[word] = errors.get(word, 0) + 1
        return replies.error(line)

    def write(self, data: bytes) -> None:
        """Adds output that is no handler's returned reply, in its place among the replies."""
        if not self._running:
            self.peer.send(data)
            return
        self._output.append(data)
        self._output_bytes += len(data)
        if self._output_bytes > _BURST_BYTES:
            self._hand_over()

    @property
    def blocked(self) -> bool:
        """Whether a command waits."""
        return self._waiting and not self.ended

    def wait(self) -> None:
        """The running command answers later, by `go_on`; no further request is executed before. If it raises all the
        same, that is its answer."""
        self._waiting = self._interrupted = True

    def go_on(self, reply: bytes) -> None:
        """Answers the command that waits, and executes further requests; after a transaction that runs."""
        if self.ended:
            return
        if self.service.atomic:
            self.service.afterwards[partial(self.go_on, reply)] = None
            return
        if not self.skipped_replies:
            self.write(reply)
        elif self.skipped_replies > 0:
            self.skipped_replies -= 1
        self._proceed()

    def retry(self, request: list[bytes]) -> None:
        """Executes the request that waits once more from the beginning, and then further ones."""
        if not self.ended:
            self._todo = chain((request,), self._todo)
            self._proceed()

    def become(self, user: bytes | None) -> None:
        """Somebody has logged in, or with None out."""
        if user is None and self.user is not None:
            self._decoder.restrict()
        elif user is not None and self.user is None:
            self._decoder.lift()
        self.user = user
        self.choose_table()

    def choose_table(self) -> None:
        """To be called when the session's mode has changed: further requests find other handlers."""
        self._commands = self.service.modes.table(self)
        self._interrupted = True

    def end(self) -> None:
        """Ends the connection, after the reply of the running command if there is one. What it waits for goes to
        others from now on: it may be long until the connection is gone."""
        if self.ended:
            return
        is_executing = self._running and not self._waiting
        self._stop()
        if not is_executing:  # else the rest of its transaction still needs what belongs to it
            self._give_back()
        if not self._running:
            self.peer.close()

    def _proceed(self) -> None:
        self._waiting = False
        self.unblock = None
        self._run()

    def _stop(self) -> None:
        """No further request is executed, ever."""
        self.ended = self._waiting = self._interrupted = True

    def _close(self) -> None:
        """It has ended, and the last command is answered."""
        self._give_back()
        self.peer.close()

    def _give_back(self) -> None:
        """Gives back what belongs to this connection, once."""
        given, self.on_lost = self.on_lost, {}
        for give_back in given:
            give_back()

    # How requests are executed.

    def _run(self, data: bytes = b"", requests: list[list[bytes]] | None = None) -> None:
        """Executes requests until there are none, one waits, or the peer does not take our output. The first ones may
        be given; else `data` is for the decoder."""
        if self._running or self._waiting:
            return
        self._running = True
        if self._share is not None:
            self._share.resize(0)  # what becomes a request now may be counted elsewhere
        try:
            if self._todo is not _NOTHING:
                self._execute_todo()
            if not requests:
                self._decoder.feed(data)
                requests = self._next_requests()
            while requests:
                self.service.commands_processed += len(requests)
                if len(requests) < _RUN_MIN or not self._execute_run(requests):
                    self._todo = iter(requests)
                    self._execute_todo()
                requests = self._next_requests()
        except ProtocolError as error:
            self._output.append(self.refusal(error))
            self._stop()
        finally:
            self._running = False
            self._has_more = self._todo is not _NOTHING or not self._decoder.is_empty
        if self._has_more:
            self._count_input()
        self._hand_over()
        if self.ended:
            self._close()
        elif self._holding and not (self._waiting or self.peer.congested):
            self._holding = False
            self.peer.proceed()

    def _count_input(self) -> None:
        """Counts what was received and cannot be executed yet, if it is much."""
        size = self._decoder.held_bytes
        if size <= BACKLOG_UNCOUNTED_BYTES:
            return
        if self._share is None:
            self._share = Share(self.service.backlog)
        try:
            self._share.resize(size)
        except Busy as error:
            _logger.warning("%s is disconnected: %s", self.peer.address, error.text)
            self._output.append(self.refusal(error))
            self._decoder = RequestDecoder()  # what it held is much
            self._stop()

    def _next_requests(self) -> list[list[bytes]]:
        """What can be executed now."""
        return [] if self._waiting or self.peer.congested or self._decoder.is_empty else self._decoder.take()

    def _execute_single(self, request: list[bytes]) -> bool:
        """Executes the only request there is, which is the most common case; False if it is not that simple."""
        command = self._commands.get(request[0])
        if command is None or self.skipped_replies:
            return False
        words, arity = len(request), command.arity
        if words != arity and (arity >= 0 or words < -arity):
            return False
        service = self.service
        service.commands_processed += 1
        self.last_command = command
        self._interrupted = False
        self._running = True
        try:
            reply = command.handler(self, request)
            if service.afterwards:
                service.run_afterwards()
        except OneMQError as error:
            reply = self._refuse(error)
        finally:
            self._running = False
        if len(reply) > RESP_REPLY_BYTES_MAX:
            reply = self._instead_of(reply, command)
        if self._interrupted or self._output or self.skipped_replies:
            self._finish_single(reply)
        elif reply:
            self.peer.send(reply)
        return True

    def _finish_single(self, reply: bytes) -> None:
        """What a request leaves that did more than to answer."""
        if reply and not self.skipped_replies:
            self._output.append(reply)
        elif self.skipped_replies > 0 and not self._waiting:
            self.skipped_replies -= 1
        self._hand_over()
        if self.ended:
            self._close()

    def _execute_run(self, requests: list[list[bytes]]) -> bool:
        """Executes a pipeline of the same command at once; False if it is none, or not that simple."""
        command = self._commands.get(requests[0][0])
        in_another_mode = self.skipped_replies or self._commands is not self.service.commands
        if command is None or in_another_mode:
            return False
        reply = self._run_of(command, requests)
        if reply is None:
            return False
        self.last_command = command
        self._output.append(reply)
        self._hand_over()
        return True

    def _run_of(self, command: "Command", requests: list[list[bytes]]) -> bytes | None:
        """The replies to requests of one command that can be executed at once."""
        if command.run is not None:
            return command.run(self, requests)
        last = last_words(requests) if command.alike is not None else None
        if command.alike is None or last is None:
            return None
        answers = command.alike(self, requests[0][:-1], last, [len(last)])
        return None if answers is None else answers[0]

    def _execute_todo(self) -> None:
        """Executes decoded requests. What it leaves when it has to stop stays to do."""
        while self._todo is not _NOTHING and not (self._waiting or self.peer.congested):
            self._interrupted = False
            self._execute_some()

    def _execute_some(self) -> None:
        """Executes decoded requests until something interrupts it."""
        commands, afterwards = self._commands, self.service.afterwards
        for request in self._todo:
            name = request[0]
            command = commands.get(name) or commands.get(name.lower())
            try:
                if command is None:
                    raise self._unknown(request)
                words, arity = len(request), command.arity
                if words != arity and (arity >= 0 or words < -arity):
                    raise self._wrong_arity(command)
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
                    if len(reply) > RESP_REPLY_BYTES_MAX and command is not None:
                        self._output[-1] = self._instead_of(reply, command)
                    self._hand_over()
                    if self.peer.congested:
                        return
            elif self.skipped_replies > 0 and not self._waiting:
                self.skipped_replies -= 1
            if self._interrupted:
                return
        self._todo = _NOTHING

    def _refuse(self, error: OneMQError) -> bytes:
        if not self.ended:
            self._waiting = False  # what has failed does not answer later
            self.unblock = None
        if error.closes:
            self._stop()
        if self.transaction is not None:
            self.transaction.fail()
        if self.service.afterwards:
            self.service.run_afterwards()
        return self.refusal(error)

    def _instead_of(self, reply: bytes, command: "Command") -> bytes:
        """What is sent instead of a reply that is too large. One that tells of a change must be sent all the same."""
        if command.writes or (self.last_command is not None and self.last_command.writes):
            return reply
        return self.refusal(replies.too_large(": ask for less at a time"))

    def _unknown(self, request: list[bytes]) -> OneMQError:
        if request[0].lower() in _HTTP_WORDS:
            _logger.warning("%s sent an HTTP request to the Redis port: closed", self.peer.address)
            self.skipped_replies = -1
            self._stop()
        return unknown_command(request)

    def _wrong_arity(self, command: "Command") -> OneMQError:
        if command.name == "exec":
            leave(self)
            return aborted("wrong number of arguments for 'exec' command")
        return wrong_arity(command.name)

    def _hand_over(self) -> None:
        if self._output:
            data = self._output[0] if len(self._output) == 1 else b"".join(self._output)
            self._output.clear()
            self._output_bytes = 0
            self.peer.send(data)
