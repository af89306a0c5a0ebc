"""The topics that the local log keeps: each a folder with the segments of its partitions.

`topics/<name>~<id>`, the name percent-encoded and cut to a readable length; the id makes it unique,
so that a topic that is deleted and made again never meets the files of the old one.
"""

import re
from typing import Any
from urllib.parse import quote

from onemq.errors import NotFound
from onemq.log.behind import WriteBehind
from onemq.log.engine import TopicPlace
from onemq.log.openfiles import OpenFiles
from onemq.log.partition import POSITION_MAX, Partition

FOLDER = "topics"
_NAME_CHARACTERS_MAX = 120
_TOPIC_FOLDER = re.compile(r".*~\d+")
_SEGMENT_FILE = re.compile(r"\d+-\d{20}(\.c\d+)?\.(log|index)")


def is_topic_folder(name: str) -> bool:
    """Whether a name in `topics` is one that OneMQ gives. Others are not touched."""
    return _TOPIC_FOLDER.fullmatch(name) is not None


def is_segment_file(name: str) -> bool:
    """Whether a name in a topic's folder is one that OneMQ gives. Others are not touched."""
    return _SEGMENT_FILE.fullmatch(name) is not None


def folder_of(place: TopicPlace) -> str:
    """The folder of a topic."""
    return f"{FOLDER}/{quote(place.name, safe='')[:_NAME_CHARACTERS_MAX]}~{place.id}"


class TopicFiles:
    """One topic's partitions."""

    __slots__ = ("folder", "partitions", "place")

    def __init__(self, place: TopicPlace) -> None:
        self.place = place
        self.folder = folder_of(place)
        self.partitions: list[Partition] = []


class Registry:
    """All topics by id."""

    def __init__(self, files: OpenFiles, behind: WriteBehind, interval_bytes: int) -> None:
        self.files = files
        self.behind = behind
        self._interval_bytes = interval_bytes
        self.topics: dict[int, TopicFiles] = {}

    def partition(self, topic: int, number: int) -> Partition:
        """A partition, or `NotFound`."""
        try:
            return self.topics[topic].partitions[number]
        except (KeyError, IndexError):
            raise NotFound(f"there is no partition {number} of topic number {topic}") from None

    def ensure(self, place: TopicPlace) -> None:
        """Makes a topic, or changes it: more partitions, other segment limits."""
        topic = self.topics.get(place.id)
        if topic is None:
            topic = self.topics[place.id] = TopicFiles(place)
            self.files.disk.make_folder(topic.folder)
        topic.place = place._replace(partitions=max(place.partitions, len(topic.partitions)))
        for number in range(len(topic.partitions), place.partitions):
            topic.partitions.append(Partition(self.files, self.behind, topic.folder, number, self._interval_bytes))
        for partition in topic.partitions:
            # The index has four bytes for a position.
            partition.segment_bytes = min(place.segment_bytes, POSITION_MAX)
            partition.segment_ms = place.segment_ms

    def revert(self, topic: int, place: TopicPlace | None) -> None:
        """Takes an `ensure` back: the topic is as it was, or it was not there."""
        if place is None:
            self.delete(topic)
        else:
            del self.topics[topic].partitions[place.partitions :]
            self.ensure(place)

    def delete(self, topic: int) -> str:
        """Forgets a topic; returns its folder, which the caller removes when that is durable."""
        gone = self.topics.pop(topic)
        for partition in gone.partitions:
            self.behind.forget(partition.segments)
            for segment in partition.segments:
                self.files.forget(segment.path)
        return gone.folder

    def cut_ahead(self) -> None:
        """Nothing more is written: see `Segment.cut_ahead`. Raises OSError."""
        for topic in self.topics.values():
            for partition in topic.partitions:
                if partition.segments:
                    partition.segments[-1].cut_ahead()

    def meta(self) -> list[Any]:
        """What a snapshot keeps."""
        return [
            [*topic.place, [partition.meta() for partition in topic.partitions]]
            for topic in self.topics.values()
        ]

    def restore(self, meta: list[Any]) -> None:
        """The reverse of `meta`."""
        for *place, partitions in meta:
            self.ensure(TopicPlace(*place))
            for partition, (start, end, segments) in zip(self.topics[place[0]].partitions, partitions, strict=True):
                partition.start, partition.end = start, end
                for path, segment_meta in segments:
                    partition.new_segment(segment_meta[0], path).restore_meta(segment_meta)
