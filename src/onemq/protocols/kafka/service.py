"""What all sessions of the Kafka server share: the core, the table of APIs, the topics, who is connected."""

from base64 import urlsafe_b64encode
from dataclasses import dataclass, field

from onemq.core.core import Core
from onemq.core.topics import TopicConfig
from onemq.protocols import Peer
from onemq.protocols.backlog import Backlog
from onemq.protocols.kafka.apis import APIS, by_key
from onemq.protocols.kafka.fetch_sessions import FetchSessions
from onemq.protocols.kafka.groups.catalog import TopicCatalog
from onemq.protocols.kafka.groups.coordinator import Coordinator
from onemq.protocols.kafka.groups.waking import Waking
from onemq.protocols.kafka.session import KafkaSession
from onemq.protocols.kafka.sharing.sharing import Sharing
from onemq.protocols.kafka.topics import KafkaTopics
from onemq.users import Users


@dataclass(frozen=True, slots=True)
class KafkaFacts:
    """What the process knows and no protocol finds out by itself, and what the settings say."""

    identity: bytes
    """16 bytes that are the cluster's id: the same for the same data."""
    folder: str = ""
    """Where the data is."""
    advertise: tuple[str, int] | None = None
    """Where clients are told to connect; else, where they did."""
    auto_create: bool = True
    """Whether a topic is made when it is first asked for."""
    partitions: int = 1
    """How many it has then."""
    users: Users = field(default_factory=Users)
    """Who may log in; if there is anybody, everybody has to."""


class KafkaService:
    """Makes a session for each connection."""

    def __init__(
        self,
        core: Core,
        facts: KafkaFacts,
        topic_config: TopicConfig | None = None,
        backlog: Backlog | None = None,
    ) -> None:
        self.core = core
        self.facts = facts
        self.users = facts.users
        self.backlog = backlog or Backlog()
        cluster_id = _cluster_id(facts.identity)
        self.cluster_id = urlsafe_b64encode(cluster_id).decode().rstrip("=")
        self.topics = KafkaTopics(core, cluster_id, topic_config or TopicConfig(), facts.partitions, facts.auto_create)
        self.groups = Coordinator(Waking(core).alarms, TopicCatalog(core, self.topics))
        self.groups.on_change = lambda group: core.readers.tell(group.name, group.reading())
        self.sharing = Sharing(core, self.topics)
        self.groups.is_shared = self.sharing.has_members
        self.sharing.members.is_taken = self.groups.is_busy
        self.apis = by_key(APIS)
        self.fetch_sessions = FetchSessions()
        self.sessions: dict[int, KafkaSession] = {}
        self.sessions_ever = 0

    @property
    def now_ms(self) -> int:
        """The time of the running turn."""
        return self.core.stage.now_ms

    def address_for(self, session: KafkaSession) -> tuple[str, int]:
        """Where the client of a session finds this broker."""
        if self.facts.advertise is not None:
            return self.facts.advertise
        host, _, port = session.peer.local_address.rpartition(":")
        return host.strip("[]"), int(port or 0)

    def connect(self, peer: Peer) -> KafkaSession:
        """The session factory of the listener."""
        self.sessions_ever += 1
        session = KafkaSession(self, peer, self.sessions_ever)
        self.sessions[session.id] = session
        return session


def _cluster_id(identity: bytes) -> bytes:
    """Ids that begin with a dash in base64 would be taken for options by command-line tools."""
    return bytes((identity[0] & 0x7F,)) + identity[1:]
