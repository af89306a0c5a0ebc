"""Readers: who reads a topic for a group and keeps its own place (marking.py).

Protocols tell of them, so that they show among the members of the group. Nothing depends on it, and nothing of it is
durable.
"""

from collections.abc import Mapping, Sequence

Reading = Mapping[str, Sequence[int]]
"""Topic -> partitions."""


class Readers:
    """All of them, by topic and group."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], dict[str, Sequence[int]]] = {}
        self._topics: dict[str, list[str]] = {}
        """Group -> topics that it has readers in."""

    def tell(self, group: str, readers: Mapping[str, Reading]) -> None:
        """Those are the readers of a group, and what they read; whoever was before is gone."""
        for topic in self._topics.pop(group, ()):
            del self._known[topic, group]
        for name, reading in readers.items():
            for topic, partitions in reading.items():
                self._known.setdefault((topic, group), {})[name] = partitions
        topics = list(dict.fromkeys(topic for reading in readers.values() for topic in reading))
        if topics:
            self._topics[group] = topics

    def of(self, topic: str, group: str) -> Mapping[str, Sequence[int]]:
        """The partitions of each reader."""
        return self._known.get((topic, group), {})
