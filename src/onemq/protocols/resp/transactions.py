"""MULTI and WATCH: commands that run together or not at all.

    MULTI -> commands are checked and queued (modes.py) -> EXEC runs them

EXEC runs the whole queue within one call, so it is part of one turn, and a turn is one atomic set of
the log: after a crash all of its changes are there, or none. What it puts into async topics is
stored as durably as the rest (`Stage.promote`).

As in Redis a command that fails does not keep the others from running, with one exception: MQ commands run all or none.
A message must not be acknowledged when what was to be sent for it was not, and nothing be sent for one that cannot be
acknowledged: not for one either that was handed out again meanwhile, and that somebody else has finished. So what sends
and acknowledges is checked before anything runs. After an MQ command that failed all the same no other MQ command runs.
"""

import logging
from typing import TYPE_CHECKING

from onemq.core.keyspace import Keyspace
from onemq.errors import OneMQError, TooLarge
from onemq.limits import (
    BACKLOG_UNCOUNTED_BYTES,
    RESP_NAMES_BYTES_MAX,
    RESP_REPLY_BYTES_MAX,
    RESP_TRANSACTION_BYTES_MAX,
)
from onemq.protocols.backlog import Backlog, Share
from onemq.protocols.resp import replies
from onemq.protocols.resp.command import Argument, Command
from onemq.protocols.resp.errors import CommandError, error_line

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

_logger = logging.getLogger(__name__)

# What each queued command, each of its words and each watched key counts beside its own bytes.
_COMMAND_BYTES = 150
_WORD_BYTES = 50
_WATCH_BYTES = 200
_NOT_RUN = "ABORTED another MQ command of this transaction failed, so this one did not run"
_LATE = "SETTLED not every message named here waits for its acknowledgement any more: nothing was sent"
_ACK = "mq.ack"
_CHANGES_PLACES = ("mq.topic|", "mq.group|")
"""After such a command others cannot be checked before it has run."""


class Transaction:
    """The commands queued since MULTI."""

    def __init__(self, backlog: Backlog) -> None:
        self._queue: list[tuple[Command, list[bytes]]] = []
        self._bytes = 0
        self._share = Share(backlog)
        self._count_above = BACKLOG_UNCOUNTED_BYTES
        self.failed = False
        """Whether a command was refused, so that EXEC must refuse all."""
        self.writes = 0
        """How many of the commands may change something."""

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, row: Command, request: list[bytes]) -> None:
        """Queues a command. Raises TooLarge if the queue would hold too much, and Busy if all together would."""
        if self.failed:
            return
        self._bytes += _COMMAND_BYTES + len(request) * _WORD_BYTES + sum(map(len, request))
        if self._bytes > RESP_TRANSACTION_BYTES_MAX:
            raise TooLarge(f"the commands of a transaction can take {RESP_TRANSACTION_BYTES_MAX} bytes together")
        if self._bytes > self._count_above:
            self._share.resize(self._bytes)
            self._count_above = self._bytes + BACKLOG_UNCOUNTED_BYTES
        self._queue.append((row, request))
        self.writes += row.writes

    def fail(self) -> None:
        """A command was refused: nothing of this will run, so nothing is kept."""
        self.failed = True
        self._queue.clear()
        self.leave()

    def leave(self) -> None:
        """It is not queued any more: it runs now, or never."""
        self._share.resize(0)

    def run(self, session: "RespSession") -> None:
        """Executes all commands and writes the reply: an array of their replies."""
        silent = session.skipped_replies != 0
        if not silent:
            session.write(b"*%d\r\n" % len(self._queue))
        session.atomic = session.service.atomic = True
        bytes_left = RESP_REPLY_BYTES_MAX
        try:
            refused = self._refused(session)
            is_broken = bool(refused)
            for index, (row, request) in enumerate(self._queue):
                is_ours = row.name.startswith("mq.")
                reply = refused.get(index)
                if reply is None:
                    reply = session.error(_NOT_RUN) if is_broken and is_ours else _reply(session, row, request)
                if len(reply) > bytes_left and not row.writes:
                    reply = session.refusal(replies.too_large(", with those before it in the transaction"))
                bytes_left -= len(reply)
                is_broken |= is_ours and reply.startswith(b"-")
                if session.skipped_replies <= 0:  # CLIENT REPLY SKIP means the command after this transaction
                    silent = session.skipped_replies < 0
                if not silent:
                    session.write(reply)
        finally:
            session.atomic = session.service.atomic = False
        if self.writes > 1:
            session.service.core.stage.promote()

    def _refused(self, session: "RespSession") -> dict[int, bytes]:
        """The replies to commands that are known to fail, by their places in the queue."""
        if len(self._queue) < 2 or any(row.name.startswith(_CHANGES_PLACES) for row, _ in self._queue):
            return {}
        found: dict[int, bytes] = {}
        late: list[int] = []
        has_more = False
        for index, (row, request) in enumerate(self._queue):
            is_due = row.writes and row.name.startswith("mq.")
            if row.check is not None:
                try:
                    is_due = row.check(session, request)
                except OneMQError as error:
                    found[index] = session.refusal(error)
            if row.name != _ACK:
                has_more |= is_due
            elif not is_due:
                late.append(index)
        # Without anything new it is a transaction that comes again since its answer was lost.
        return found or ({index: session.error(_LATE) for index in late} if has_more else {})


def _reply(session: "RespSession", row: Command, request: list[bytes]) -> bytes:
    try:
        return row.handler(session, request)
    except OneMQError as error:
        return session.refusal(error)
    except Exception:
        # The others were promised to run together: they do, whatever became of this one.
        _logger.exception("%s: %s failed in an unforeseen way in a transaction", session.peer.address, row.name)
        return session.refusal(OneMQError("internal error, the server's log has the details"))


class WatchedKeys:
    """The keys that a session watches, with the versions that they had."""

    def __init__(self, keys: Keyspace) -> None:
        self._keys = keys
        self._versions: dict[bytes, int] = {}
        self._bytes = 0

    def add(self, key: bytes) -> None:
        if key in self._versions:
            return
        size = self._bytes + len(key) + _WATCH_BYTES
        if size > RESP_NAMES_BYTES_MAX:
            raise TooLarge(f"the keys that a connection watches can take {RESP_NAMES_BYTES_MAX} bytes together")
        self._bytes = size
        self._versions[key] = self._keys.watch(key)

    def unchanged(self, keys: Keyspace) -> bool:
        """Whether no key has changed; `keys` is another keyspace than before if the core had to start anew."""
        return keys is self._keys and all(keys.version(key) == version for key, version in self._versions.items())

    def forget(self) -> None:
        for key in self._versions:
            self._keys.unwatch(key)
        self._versions.clear()


def multi(session: "RespSession", request: list[bytes]) -> bytes:
    if session.transaction is not None:
        return session.error("ERR MULTI calls can not be nested")  # not raised: what is queued stays
    session.transaction = Transaction(session.service.backlog)
    session.choose_table()
    return replies.OK


def discard(session: "RespSession", request: list[bytes]) -> bytes:
    if session.transaction is None:
        raise CommandError("ERR DISCARD without MULTI")
    leave(session)
    return replies.OK


def exec_(session: "RespSession", request: list[bytes]) -> bytes:
    transaction, core = session.transaction, session.service.core
    if transaction is None:
        raise CommandError("ERR EXEC without MULTI")
    unchanged = session.watched is None or session.watched.unchanged(core.keys)
    leave(session)
    if transaction.failed:
        raise CommandError("EXECABORT Transaction discarded because of previous errors.")
    if transaction.writes:
        try:
            core.check_writable()
        except OneMQError as error:
            raise aborted(error_line(error)) from None
    if not unchanged:
        return session.replies.null_array
    transaction.run(session)
    return b""


def aborted(reason: str) -> CommandError:
    """Why EXEC could not run what was queued."""
    return CommandError(f"EXECABORT Transaction discarded because of: {reason}")


def watch(session: "RespSession", request: list[bytes]) -> bytes:
    if session.transaction is not None:
        return session.error("ERR WATCH inside MULTI is not allowed")  # not raised: what is queued stays
    if session.watched is None:
        session.watched = WatchedKeys(session.service.core.keys)
        session.on_lost[session.watched.forget] = None
    for key in request[1:]:
        session.watched.add(key)
    return replies.OK


def unwatch(session: "RespSession", request: list[bytes]) -> bytes:
    forget_watched(session)
    return replies.OK


def leave(session: "RespSession") -> None:
    """Ends the transaction that is queued, if any, and forgets the watched keys."""
    forget_watched(session)
    if session.transaction is not None:
        session.transaction.leave()
        session.transaction = None
        session.choose_table()


def forget_watched(session: "RespSession") -> None:
    watched = session.watched
    if watched is not None:
        session.watched = None
        session.on_lost.pop(watched.forget, None)
        watched.forget()


_FLAGS = ("noscript", "loading", "stale", "fast", "allow_busy")
_CATEGORIES = ("transaction",)

COMMANDS: tuple[Command, ...] = (
    Command(
        "discard", 1, discard, "Discard all commands issued after MULTI", "2.0.0", "transactions",
        flags=_FLAGS, categories=_CATEGORIES, complexity="O(N), when N is the number of queued commands",
    ),
    Command(
        "exec", 1, exec_, "Execute all commands issued after MULTI", "1.2.0", "transactions",
        flags=("noscript", "loading", "stale", "skip_slowlog"), categories=_CATEGORIES,
        complexity="Depends on commands in the transaction",
    ),
    Command(
        "multi", 1, multi, "Mark the start of a transaction block", "1.2.0", "transactions",
        flags=_FLAGS, categories=_CATEGORIES,
    ),
    Command(
        "unwatch", 1, unwatch, "Forget about all watched keys", "2.2.0", "transactions",
        flags=_FLAGS, categories=_CATEGORIES,
    ),
    Command(
        "watch", -2, watch, "Watch the given keys to determine execution of the MULTI/EXEC block", "2.2.0",
        "transactions", flags=_FLAGS, categories=_CATEGORIES, keys=(1, -1, 1), complexity="O(1) for every key.",
        arguments=(Argument("key", "key", flags=("multiple",)),),
    ),
)  # fmt: skip
