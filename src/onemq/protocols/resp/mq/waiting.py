"""Replies that may come later: a command begins something, and waits if the answer is not there at once."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from onemq.errors import OneMQError
from onemq.protocols.resp.errors import mq_error_line

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

FOREVER_MS = 1 << 62


class Answer:
    """The reply of one command, given once, now or later. `nothing` is what it is when the time is up."""

    def __init__(self, session: "RespSession", nothing: bytes) -> None:
        self._session = session
        self._nothing = nothing
        self._reply: bytes | None = None
        self._waits = False
        self.stop: Callable[[], None] = lambda: None
        """Ends what was begun, when nobody waits for it any more."""

    @property
    def given(self) -> bool:
        return self._reply is not None

    def give(self, reply: bytes) -> None:
        """Answers, if that was not done."""
        if self._reply is not None:
            return
        self._reply = reply
        if self._waits:
            self._leave()
            self._session.go_on(reply)

    def fail(self, error: OneMQError) -> None:
        if not self.given:
            self.give(self._session.error(mq_error_line(error)))

    def reply(self) -> bytes:
        """What the handler returns: the answer, or nothing yet. Inside a transaction nothing is waited for."""
        if self._reply is None and self._session.atomic:
            self._reply = self._nothing
            self.stop()
        if self._reply is not None:
            return self._reply
        self._waits = True
        self._session.wait()
        self._session.on_lost[self._lost] = None
        self._session.unblock = self._unblock
        return b""

    def _unblock(self, error: OneMQError | None) -> None:
        """CLIENT UNBLOCK: as if the time were up, or with an error."""
        self.stop()
        if error is None:
            self.give(self._nothing)
        else:
            self.fail(error)

    def _lost(self) -> None:
        self._reply = self._nothing
        self._leave()
        self.stop()

    def _leave(self) -> None:
        self._session.on_lost.pop(self._lost, None)
        self._session.unblock = None
