"""Removing messages before retention does: single ones, or all before an offset.

Messages are deleted one by one by marks that nobody reads past; when the marks reach the start of the
partition, the log drops what lies before it. Of a stream, what can no longer be read after that is noted first.
"""

from collections.abc import Iterable

from onemq.core.keyspace import Keyspace
from onemq.core.partition import Partition
from onemq.core.reading import Reading
from onemq.core.stage import Stage
from onemq.core.stream import Stream
from onemq.core.stream_groups import StreamGroups
from onemq.core.stream_ids import id_of
from onemq.core.streams import Streams
from onemq.core.topics import Topic, Topics


class Removing:
    """What goes from topics and streams because somebody asked for it."""

    def __init__(
        self, stage: Stage, topics: Topics, reading: Reading, keys: Keyspace, streams: Streams, groups: StreamGroups
    ) -> None:
        self._stage = stage
        self._topics = topics
        self._reading = reading
        self._keys = keys
        self._streams = streams
        self._groups = groups
        topics.on_trim.append(self._topic_trimmed)

    def delete(self, stream: Stream, offsets: Iterable[int], by_trimming: bool = False) -> int:
        """Deletes single messages; returns how many were there. The highest id that was deleted is kept, but
        not of those that were trimmed."""
        live = [offset for offset in sorted(set(offsets)) if stream.is_live(offset)]
        if not live:
            return 0
        self._stage.check()
        last = [] if by_trimming else self._reading.page_at(stream.partition, live[-1:])
        if last and id_of(last[0]) > stream.max_deleted_id:
            self._streams.set(stream, stream.last_id, id_of(last[0]), stream.added_before)
        self._streams.mark_deleted(stream.topic, 0, live)
        deleted = stream.partition.deleted
        if deleted is not None and deleted.low > stream.partition.start:
            self._advance(stream, deleted.low)
        self._keys.topic_changed(stream.key)
        return len(live)

    def delete_at(self, topic: Topic, number: int, offsets: Iterable[int]) -> int:
        """Deletes single messages of any partition of a topic; returns how many were there."""
        if number == 0:
            return self.delete(self._streams.of(topic), offsets)
        partition = topic.partitions[number]
        live = [offset for offset in sorted(set(offsets)) if _is_live(partition, offset)]
        if not live:
            return 0
        self._stage.check()
        self._streams.mark_deleted(topic, number, live)
        if partition.deleted is not None and partition.deleted.low > partition.start:
            self._topics.trim(topic, partition, partition.deleted.low)
        self._keys.topic_changed(topic.name.encode())
        return len(live)

    def trim(self, stream: Stream, start: int) -> int:
        """Removes the messages before an offset; returns how many were there."""
        before = len(stream)
        partition = stream.partition
        if partition.deleted is not None:
            while start < partition.end and partition.deleted.is_done(start):
                start += 1
        if start <= partition.start:
            return 0
        self._stage.check()
        self._advance(stream, start)
        self._keys.topic_changed(stream.key)
        return before - len(stream)

    def trim_at(self, topic: Topic, number: int, start: int) -> None:
        """Removes the messages before an offset of any partition of a topic."""
        if number == 0:
            self.trim(self._streams.of(topic), start)
        else:
            self._stage.check()
            self._topics.trim(topic, topic.partitions[number], start)

    def _advance(self, stream: Stream, start: int) -> None:
        """Moves the start of the partition, after noting the ids of what stays in flight."""
        self._groups.keep_ghosts(stream, start)
        self._topics.trim(stream.topic, stream.partition, start)

    def _topic_trimmed(self, topic: Topic, partition: Partition, start: int) -> None:
        """Notes the ids that can no longer be read after that, whether a command or retention wants it."""
        if topic.internal or partition.number != 0:
            return
        stream = self._streams.of(topic)
        if partition.floor_ms >= 0:
            latest_ms = self._reading.latest_before(partition, start)
            if latest_ms > partition.floor_ms:
                self._streams.set_floor(stream, latest_ms)
        if start == partition.end:
            self._streams.set(stream, stream.last_id, stream.max_deleted_id, stream.added_before)
        self._groups.keep_last_ids(stream, start)


def _is_live(partition: Partition, offset: int) -> bool:
    """Whether a message is there and was not deleted."""
    if not partition.start <= offset < partition.end:
        return False
    return partition.deleted is None or not partition.deleted.is_done(offset)
