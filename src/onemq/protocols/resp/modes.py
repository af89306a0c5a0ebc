"""Modes: what a session does with requests when it does not simply execute them.

    queueing     between MULTI and EXEC: commands are kept
    listening    a RESP2 client with subscriptions: most commands are refused
    paused       CLIENT PAUSE: commands wait, all or those that write
    unknown      not logged in, where there are users: nearly all commands are refused

A mode is a command table of its own, with the same rows but other handlers. A session changes its
table when its mode changes (`RespSession.choose_table`), and the ordinary way costs nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from onemq.protocols.resp import replies
from onemq.protocols.resp.command import Command, Handler
from onemq.protocols.resp.errors import CommandError
from onemq.protocols.resp.pause import Pause
from onemq.protocols.resp.transactions import aborted

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

Table = Mapping[bytes, Command]
Change = Callable[[Command], Command]

_QUEUED = replies.simple("QUEUED")
_NOT_LOGGED_IN = "NOAUTH Authentication required."
_NEVER_QUEUED = frozenset(("exec", "discard", "multi", "watch", "quit", "reset"))
_PUBLISHING = frozenset(("publish", "spublish"))
"""They wait with the commands that write."""
_LISTENERS_MAY = frozenset((
    "subscribe", "unsubscribe", "psubscribe", "punsubscribe", "ssubscribe", "sunsubscribe", "ping", "quit", "reset",
))  # fmt: skip


class Modes:
    """The tables of a service. All but the plain one are made when they are first needed."""

    def __init__(self, plain: Table, pause: Pause) -> None:
        self._plain = plain
        self._pause = pause
        self._made: dict[tuple[bool, bool, bool, bool], Table] = {}
        self._for_strangers: Table | None = None

    def table(self, session: "RespSession") -> Table:
        """What the session's requests are looked up in now."""
        if session.user is None:
            self._for_strangers = self._for_strangers or _changed(self._plain, _refusing)
            return self._for_strangers
        queueing = session.transaction is not None
        listening = session.subscriptions is not None and session.replies.version == 2
        pause = self._pause
        if not (queueing or listening or pause.on):
            return self._plain
        mode = (queueing, listening, pause.on, pause.everything)
        if mode not in self._made:
            self._made[mode] = self._make(*mode)
        return self._made[mode]

    def _make(self, queueing: bool, listening: bool, paused: bool, everything: bool) -> Table:
        table = self._plain
        if queueing:
            table = _changed(table, _queueing)
        if listening:
            table = _changed(table, _listening)
        if paused:
            table = _changed(table, self._all_paused if everything else self._writes_paused)
        return table

    def _all_paused(self, row: Command) -> Command:
        return replace(row, handler=self._pause.park)

    def _writes_paused(self, row: Command) -> Command:
        if row.name == "exec":
            return replace(row, handler=self._parking(row.handler, _transaction_writes))
        if row.subcommands:
            return replace(row, handler=self._parking(row.handler, lambda session, request: row.find(request).writes))
        return replace(row, handler=self._pause.park) if row.writes or row.name in _PUBLISHING else row

    def _parking(self, handler: Handler, waits: Callable[["RespSession", list[bytes]], bool]) -> Handler:
        def park_or_run(session: "RespSession", request: list[bytes]) -> bytes:
            return self._pause.park(session, request) if waits(session, request) else handler(session, request)

        return park_or_run


def _changed(table: Table, change: Change) -> Table:
    rows = {id(row): change(row) for row in table.values()}
    return {name: rows[id(row)] for name, row in table.items()}


def _refusing(row: Command) -> Command:
    """The row for those who have not logged in."""
    if "no_auth" in row.flags:
        return row

    def refuse(session: "RespSession", request: list[bytes]) -> bytes:
        row.find(request)  # what is not there is refused as such
        raise aborted(_NOT_LOGGED_IN) if row.name == "exec" else CommandError(_NOT_LOGGED_IN)

    return replace(row, handler=refuse)


def _transaction_writes(session: "RespSession", request: list[bytes]) -> bool:
    return session.transaction is not None and session.transaction.writes > 0


def _queueing(row: Command) -> Command:
    """The row while a transaction is queued. What the handler raises makes EXEC refuse."""
    if row.name in _NEVER_QUEUED:
        return row

    def queue(session: "RespSession", request: list[bytes]) -> bytes:
        assert session.transaction is not None
        found = row.find(request)
        if "no_multi" in found.flags:
            raise CommandError("ERR Command not allowed inside a transaction")
        if found.writes:
            session.service.core.check_writable()
        session.transaction.add(found, request)
        return _QUEUED

    return replace(row, handler=queue)


def _listening(row: Command) -> Command:
    if row.name in _LISTENERS_MAY:
        return row

    def refuse(session: "RespSession", request: list[bytes]) -> bytes:
        reason = (
            f"Can't execute '{row.find(request).name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET "
            "are allowed in this context"
        )
        raise aborted(reason) if row.name == "exec" else CommandError(f"ERR {reason}")

    return replace(row, handler=refuse)
