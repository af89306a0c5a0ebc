"""What all sessions of the RESP server share: the core, the tables, who is connected and listens, counters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from onemq.core.core import Core
from onemq.core.topics import TopicConfig
from onemq.protocols import Peer
from onemq.protocols.backlog import Backlog
from onemq.protocols.resp.blocked import Blocked
from onemq.protocols.resp.chance import Chance
from onemq.protocols.resp.command import Command
from onemq.protocols.resp.commands import COMMANDS, by_name
from onemq.protocols.resp.modes import Modes
from onemq.protocols.resp.mq.members import Members
from onemq.protocols.resp.pause import Pause
from onemq.protocols.resp.pubsub import PubSub
from onemq.protocols.resp.scans import Scans
from onemq.protocols.resp.session import DEFAULT_USER, RespSession
from onemq.protocols.resp.shape import Shape
from onemq.protocols.resp.streams.leases import Leases
from onemq.protocols.resp.unnested import Unnested
from onemq.users import Users


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What INFO and CONFIG GET tell about the process, which no protocol finds out by itself."""

    run_id: str
    process_id: int
    started_ms: int
    port: int
    config_file: str
    connections_max: int
    connections: Callable[[], int]
    memory_peak_bytes: Callable[[], int]
    memory_bytes: Callable[[], int] = lambda: 0
    bind: str = ""
    """The host that it listens on."""
    folder: str = ""
    """Where data is kept."""
    keys_sync: bool = True
    """Whether a change of a key is on disk when it is answered."""
    log_level: str = "info"
    keepalive_s: int = 0
    """After so long a silence a connection is asked whether it is still there."""
    machine_bytes: int = 0
    """The memory of the machine; 0 if it is not known."""
    processor_seconds: Callable[[], Mapping[str, tuple[float, float]]] = dict
    """Used in the system and in the program, by the `process`, its `children` and the `thread` that asks."""
    connections_refused: Callable[[], int] = lambda: 0
    """How many were too many."""
    replication_id: str = "0" * 40
    """Stays with the data."""


class RespService:
    """Makes a session for each connection."""

    def __init__(
        self,
        core: Core,
        facts: ServerFacts,
        commands: Mapping[bytes, Command] | None = None,
        topic_config: TopicConfig | None = None,
        users: Users | None = None,
        backlog: Backlog | None = None,
    ) -> None:
        self.core = core
        self.facts = facts
        self.users = users or Users()
        """Who may log in; if there is anybody, everybody has to."""
        self.backlog = backlog or Backlog()
        self.topic_config = topic_config or TopicConfig()
        """What streams are like that a command makes."""
        self.commands = by_name(COMMANDS) if commands is None else commands
        self.blocked = Blocked(self)
        self.chance = Chance()
        self.scans = Scans()
        self.pubsub = PubSub()
        self.members = Members(core)
        self.leases = Leases(core)
        self.pause = Pause(self)
        self.modes = Modes(self.commands, self.pause)
        self.sessions: dict[int, RespSession] = {}
        self.sessions_ever = self.sessions_before = 0
        self.commands_processed = self.refused_before = 0
        self.errors: dict[str, int] = {}
        """How many error replies began with which word."""
        self.crowd_shape: Shape | None = None
        """Of the last requests that many clients sent alike: the next ones are like them as a rule."""
        self.afterwards: dict[Callable[[], None], None] = {}
        """What is to be done after the running command, or after the whole transaction that it is part of."""
        self.atomic = False
        """Whether a transaction runs."""
        self._to_wake = Unnested()

    @property
    def now_ms(self) -> int:
        """The time of the running turn."""
        return self.core.stage.now_ms

    @property
    def user_names(self) -> list[str]:
        """Whom a session may belong to; where nobody has to log in, everybody is the default user."""
        return self.users.names or [DEFAULT_USER.decode()]

    def run_afterwards(self) -> None:
        """Does it in order, and what that gives rise to."""
        while self.afterwards:
            work = next(iter(self.afterwards))
            del self.afterwards[work]
            work()

    def wake_afterwards(self, wake: Callable[[], None]) -> None:
        """Has somebody go on who waits. Who goes on may have others go on: one after the other, however many."""
        self._to_wake.add(wake)
        self.afterwards[self._to_wake.run] = None

    def reset_statistics(self) -> None:
        """Counts anew what INFO tells; sessions keep their numbers."""
        self.commands_processed = 0
        self.errors.clear()
        self.sessions_before = self.sessions_ever
        self.refused_before = self.facts.connections_refused()

    def connect(self, peer: Peer) -> RespSession:
        """The session factory of the listener."""
        self.sessions_ever += 1
        session = RespSession(self, peer, self.sessions_ever)
        self.sessions[session.id] = session
        return session
