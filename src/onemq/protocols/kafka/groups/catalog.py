"""The catalog: topics as groups need them that the broker shares out among members."""

from collections.abc import Iterator
from typing import Protocol

from onemq.core.core import Core
from onemq.core.topics import Topic
from onemq.protocols.kafka.expressions import Expression
from onemq.protocols.kafka.topics import KafkaTopics


class Catalog(Protocol):
    """The topics, as groups need them."""

    @property
    def version(self) -> int:
        """Rises whenever a topic comes, goes or gets partitions."""

    def named(self, name: str) -> tuple[int, int] | None:
        """(number, partitions) of a topic."""

    def matching(self, expression: Expression) -> Iterator[str]:
        """The names of topics that an expression matches."""

    def name_of(self, number: int) -> str | None:
        """The name of a topic, if it is still there."""

    def id_of(self, number: int) -> bytes:
        """Its id."""

    def number_of(self, id: bytes) -> int | None:
        """The topic of an id."""


class TopicCatalog:
    """The core's topics, and when they change."""

    def __init__(self, core: Core, topics: KafkaTopics) -> None:
        self._core = core
        self._topics = topics
        self._version = 0
        self._watch()

    @property
    def version(self) -> int:
        """Rises whenever a topic comes, goes or gets partitions."""
        if self._core.topics is not self._watched:  # the core has taken its state from the log again
            self._watch()
        return self._version

    def _watch(self) -> None:
        self._watched = self._core.topics
        self._watched.on_change.append(self._changed)
        self._watched.on_delete.append(self._changed)
        self._version += 1

    def _changed(self, topic: Topic) -> None:
        self._version += 1

    def named(self, name: str) -> tuple[int, int] | None:
        topic = self._topics.find(name)
        return None if topic is None else (topic.id, len(topic.partitions))

    def matching(self, expression: Expression) -> Iterator[str]:
        return (topic.name for topic in self._topics.all() if expression.fullmatch(topic.name))

    def name_of(self, number: int) -> str | None:
        topic = self._core.topics.by_id(number)
        return None if topic is None else topic.name

    def id_of(self, number: int) -> bytes:
        return self._topics.id_of_number(number)

    def number_of(self, id: bytes) -> int | None:
        topic = self._topics.by_id(id)
        return None if topic is None else topic.id
