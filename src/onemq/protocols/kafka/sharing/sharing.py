"""All share groups: their members and their sessions."""

from onemq.core.core import Core
from onemq.protocols.kafka.sharing.members import ShareMembers
from onemq.protocols.kafka.sharing.places import groups_of
from onemq.protocols.kafka.sharing.sessions import ShareSessions
from onemq.protocols.kafka.sharing.settings import ShareSettings
from onemq.protocols.kafka.topics import KafkaTopics


class Sharing:
    """What all connections share of it."""

    def __init__(self, core: Core, topics: KafkaTopics) -> None:
        self.core = core
        self.topics = topics
        self.settings = ShareSettings(core)
        self.sessions = ShareSessions(core)
        self.members = ShareMembers(core, self.sessions.end_of)

    def has_members(self, group: str) -> bool:
        """Whether anybody is in a share group now."""
        return group in self.members.groups

    def exists(self, group: str) -> bool:
        """Whether there is a group of that name: a share group, or another in any topic."""
        return self.settings.is_known(group) or bool(groups_of(self.core, group))
