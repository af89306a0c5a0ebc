"""Topics as Kafka's clients see them: by name or by id, made when first asked for."""

import re

from onemq.core.core import Core
from onemq.core.topics import Topic, TopicConfig
from onemq.protocols.kafka.errors import ErrorCode, Refused

_NAME = re.compile(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}")
_PREFIX_BYTES = 8


class KafkaTopics:
    """The topics of the core that are not the broker's own."""

    def __init__(self, core: Core, cluster_id: bytes, config: TopicConfig, partitions: int, auto_create: bool) -> None:
        """`cluster_id` has 16 bytes; the rest is what a topic is like that is made without being asked how."""
        self._core = core
        self._id_prefix = cluster_id[:_PREFIX_BYTES]
        self.config = config
        self.partitions = partitions
        self.auto_create = auto_create

    def all(self) -> list[Topic]:
        """By name."""
        return sorted((topic for topic in self._core.topics if not topic.internal), key=lambda topic: topic.name)

    def find(self, name: str) -> Topic | None:
        topic = self._core.topics.find(name)
        return None if topic is None or topic.internal else topic

    def is_current(self, topic: Topic) -> bool:
        """Whether what was found earlier is still there, and not only another one of its name."""
        return self._core.topics.by_id(topic.id) is topic

    def get(self, name: str) -> Topic:
        """Raises UNKNOWN_TOPIC_OR_PARTITION."""
        topic = self.find(name)
        if topic is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}")
        return topic

    # Ids: the cluster's, and the number of the topic, which no later topic gets again.

    def id_of(self, topic: Topic) -> bytes:
        return self.id_of_number(topic.id)

    def id_of_number(self, number: int) -> bytes:
        """Of a topic that may be gone."""
        return self._id_prefix + number.to_bytes(16 - _PREFIX_BYTES, "big")

    def by_id(self, id: bytes) -> Topic | None:
        if id[:_PREFIX_BYTES] != self._id_prefix:
            return None
        topic = self._core.topics.by_id(int.from_bytes(id[_PREFIX_BYTES:], "big"))
        return None if topic is None or topic.internal else topic

    def get_by_id(self, id: bytes) -> Topic:
        """Raises UNKNOWN_TOPIC_ID."""
        topic = self.by_id(id)
        if topic is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_ID, "there is no topic of this id")
        return topic

    # New ones.

    def check_name(self, name: str) -> None:
        """Raises INVALID_TOPIC_EXCEPTION for a name that a client of Kafka cannot give to a topic."""
        if not _NAME.fullmatch(name):
            raise Refused(
                ErrorCode.INVALID_TOPIC_EXCEPTION,
                f"{name!r} is no name for a topic: 1 to 249 letters, digits, dots, dashes and underscores",
            )
        if name.startswith("__"):
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"names that begin with __ are OneMQ's own: {name!r}")
        if self._core.keys.holds(name.encode()):
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"there is a key {name!r} that holds something else")

    def ensure(self, name: str, allowed: bool = True) -> Topic:
        """The topic; made if there is none, and the client and the settings allow it."""
        topic = self.find(name)
        if topic is not None:
            return topic
        self.check_name(name)
        if not (allowed and self.auto_create):
            return self.get(name)
        return self._core.topics.create(name, self.partitions, self.config)
