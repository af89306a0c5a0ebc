"""CLIENT PAUSE: for a while commands wait, all of them or those that write, and then run as if sent later."""

from typing import TYPE_CHECKING

from onemq.core.waiting import Wait

if TYPE_CHECKING:
    from onemq.protocols.resp.service import RespService
    from onemq.protocols.resp.session import RespSession


class Pause:
    """The pause of a service, and the requests that wait for its end."""

    def __init__(self, service: "RespService") -> None:
        self._service = service
        self._until_ms = 0
        self._timer: Wait | None = None
        self._parked: dict[RespSession, list[bytes]] = {}
        self.everything = False
        """Whether commands that only read wait, too."""

    @property
    def on(self) -> bool:
        return self._timer is not None

    def begin(self, until_ms: int, everything: bool) -> None:
        """Begins a pause, or makes the one that is on longer and stricter; never shorter or milder."""
        if self._timer is not None:
            self._timer.cancel()
        self._until_ms = max(self._until_ms, until_ms)
        self.everything |= everything
        self._timer = self._service.core.waiting.wait([], self._until_ms, self.end)
        self._tell_sessions()

    def end(self) -> None:
        """Ends it now; what waits is executed, in the order in which it came."""
        if self._timer is None:
            return
        self._timer.cancel()
        self._timer = None
        self._until_ms = 0
        self.everything = False
        self._tell_sessions()
        parked, self._parked = self._parked, {}
        for session, request in parked.items():
            session.on_lost.pop(self._sweep, None)
            session.retry(request)

    def park(self, session: "RespSession", request: list[bytes]) -> bytes:
        """The handler of commands that have to wait."""
        session.wait()
        self._parked[session] = request
        session.on_lost[self._sweep] = None
        return b""

    def _sweep(self) -> None:
        for session in [session for session in self._parked if session.ended]:
            del self._parked[session]

    def _tell_sessions(self) -> None:
        for session in self._service.sessions.values():
            session.choose_table()
