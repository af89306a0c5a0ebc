"""What all sessions of the RESP server share: the core, the table, who is connected, counters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from onemq.protocols import Peer
from onemq.protocols.resp.command import Command
from onemq.protocols.resp.commands import COMMANDS, by_name
from onemq.protocols.resp.session import RespSession


class Clock(Protocol):
    """Knows the time of the running turn."""

    @property
    def now_ms(self) -> int: ...


class RespCore(Protocol):
    """What the commands need of the core."""

    @property
    def stage(self) -> Clock: ...

    @property
    def read_only(self) -> str | None:
        """Why messages are refused now, if so."""

    def stats(self) -> dict[str, object]:
        """Numbers for people."""


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What INFO tells about the process, which no protocol finds out by itself."""

    run_id: str
    process_id: int
    started_ms: int
    port: int
    config_file: str
    connections_max: int
    connections: Callable[[], int]
    memory_peak_bytes: Callable[[], int]


class RespService:
    """Makes a session for each connection."""

    def __init__(
        self,
        core: RespCore,
        facts: ServerFacts,
        commands: Mapping[bytes, Command] | None = None,
    ) -> None:
        self.core = core
        self.facts = facts
        self.commands = by_name(COMMANDS) if commands is None else commands
        self.sessions: dict[int, RespSession] = {}
        self.sessions_ever = 0
        self.commands_processed = 0

    @property
    def now_ms(self) -> int:
        """The time of the running turn."""
        return self.core.stage.now_ms

    def connect(self, peer: Peer) -> RespSession:
        """The session factory of the listener."""
        self.sessions_ever += 1
        session = RespSession(self, peer, self.sessions_ever)
        self.sessions[session.id] = session
        return session
