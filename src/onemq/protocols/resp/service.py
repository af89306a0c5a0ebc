"""What all sessions of the RESP server share: the core, the table, who is connected, counters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from onemq.core.core import Core
from onemq.protocols import Peer
from onemq.protocols.resp.command import Command
from onemq.protocols.resp.commands import COMMANDS, by_name
from onemq.protocols.resp.session import RespSession


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
        core: Core,
        facts: ServerFacts,
        commands: Mapping[bytes, Command] | None = None,
    ) -> None:
        self.core = core
        self.facts = facts
        self.commands = by_name(COMMANDS) if commands is None else commands
        self.sessions: dict[int, RespSession] = {}
        self.sessions_ever = 0
        self.commands_processed = 0
        self.afterwards: dict[Callable[[], None], None] = {}
        """What is to be done after the running command, or after the whole transaction that it is part of."""

    @property
    def now_ms(self) -> int:
        """The time of the running turn."""
        return self.core.stage.now_ms

    def run_afterwards(self) -> None:
        """Does it, and what that gives rise to."""
        while self.afterwards:
            work, _ = self.afterwards.popitem()
            work()

    def connect(self, peer: Peer) -> RespSession:
        """The session factory of the listener."""
        self.sessions_ever += 1
        session = RespSession(self, peer, self.sessions_ever)
        self.sessions[session.id] = session
        return session
