"""A set on its way: what it has changed in topics and segments, and how that is undone if it fails."""

from onemq.log.engine import Batch, Done, TopicPlace
from onemq.log.partition import Mark, Partition
from onemq.log.segment import Segment
from onemq.log.topicfiles import Registry, TopicFiles


class PendingSet:
    """A set that is not acknowledged yet."""

    __slots__ = (
        "_created",
        "_deleted",
        "_marks",
        "_registry",
        "_trimmed",
        "begun",
        "done",
        "garbage",
        "good",
        "journal_size",
        "sequence",
    )

    def __init__(self, registry: Registry, sequence: int, journal_size: int, done: Done) -> None:
        """The last sequence and the size of the journal are those before this set."""
        self._registry = registry
        self.sequence = sequence
        self.journal_size = journal_size
        self.done = done
        self.good = False
        """Whether it is as durable as it asks. It is acknowledged when all before it are."""
        self.begun = 0.0
        """When the disk began with its journal entry, if it was told to."""
        self.garbage: list[str] = []
        """Paths to remove when it is durable."""
        self._created: list[tuple[int, TopicPlace | None]] = []
        self._marks: list[tuple[Partition, Mark]] = []
        self._trimmed: list[tuple[Partition, int, list[Segment]]] = []
        self._deleted: list[TopicFiles] = []

    def create(self, places: list[TopicPlace]) -> None:
        """Makes topics, or changes how they are kept. Raises OSError."""
        for place in places:
            known = self._registry.topics.get(place.id)
            self._created.append((place.id, known.place if known else None))
            self._registry.ensure(place)

    def append(self, batches: list[Batch]) -> list[int]:
        """Puts batches at the ends of their partitions. Returns the bases of their segments. Raises OSError."""
        bases: list[int] = []
        first, count = 0, len(batches)
        while first < count:
            topic, number, _, _, journaled = batches[first]
            partition = self._registry.partition(topic, number)
            self._marks.append((partition, partition.mark()))
            end = first + 1
            while end < count and _are_alike(batches[first], batches[end]):
                end += 1
            if journaled or end == first + 1:
                bases += [partition.append(data, journaled).base for _, _, _, data, _ in batches[first:end]]
            else:
                bases += partition.append_all([data for _, _, _, data, _ in batches[first:end]])
            first = end
        return bases

    def trim(self, trims: list[tuple[int, int, int]]) -> None:
        """Raises first kept offsets; files go later."""
        for topic, number, start in trims:
            partition = self._registry.partition(topic, number)
            before, gone = partition.start, partition.trim(start)
            self._trimmed.append((partition, before, gone))
            self._registry.behind.forget(gone)
            for segment in gone:
                self.garbage += [segment.path, segment.index_path]

    def delete(self, topics: list[int]) -> None:
        """Forgets topics; files go later."""
        for topic in topics:
            if topic in self._registry.topics:
                self._deleted.append(self._registry.topics[topic])
                self.garbage.append(self._registry.delete(topic))

    def undo(self) -> bool:
        """Takes everything back, the last thing first. Returns whether the files, too, are as before."""
        registry, restored = self._registry, True
        for topic in self._deleted:
            registry.topics[topic.place.id] = topic
        for partition, start, gone in reversed(self._trimmed):
            partition.start = start
            partition.segments[:0] = gone
        for partition, mark in reversed(self._marks):
            try:
                for path in partition.restore(mark):
                    registry.files.forget(path)
                    registry.files.disk.remove(path)
            except OSError:
                restored = False
        registry.behind.recount()
        for topic_id, place in reversed(self._created):
            registry.revert(topic_id, place)
        return restored


def _are_alike(one: Batch, other: Batch) -> bool:
    """Whether two batches are for one partition, and both journaled or both not."""
    return one.partition == other.partition and one.topic == other.topic and one.journaled == other.journaled
