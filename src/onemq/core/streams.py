"""All streams: which topics are streams, what was deleted in them, and what their groups' last ids are.

Messages are deleted one by one by marks that nobody reads past; when the marks reach the start of the
partition, the log drops what lies before it. A message that goes while a group has it in flight stays
listed there as a ghost, until it is acknowledged.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from onemq.core.bitmap import Bitmap
from onemq.core.entries import (
    STREAM_DELETED,
    STREAM_FLOOR,
    STREAM_MARK,
    STREAM_PRODUCED,
    STREAM_SET,
    STREAM_TRIMMED,
    STREAM_WINDOW,
)
from onemq.core.group import Group
from onemq.core.groups import Groups
from onemq.core.keyspace import Keyspace
from onemq.core.keyspace.values import TopicKey
from onemq.core.partition import Partition
from onemq.core.reading import Reading
from onemq.core.sending import Sending
from onemq.core.stage import Stage
from onemq.core.stream import Stream
from onemq.core.stream_ids import NUMBER_BITS, id_of, id_text, pack_id, unpack_id
from onemq.core.topics import Topic, TopicConfig, Topics
from onemq.core.window import Window
from onemq.errors import InvalidArgument, WrongType
from onemq.log.records import NO_HEADERS, BatchHeader, encode_headers
from onemq.message import STREAM_ID, Headers

NOWHERE = -1
"""Where a mark stands that holds no more: a power cut took the messages before it."""


class Mark(NamedTuple):
    """What the messages do not tell of a group's position."""

    next: int
    """The mark holds while the group's position is this."""
    last_id: int
    read_before: int | None
    """How many messages count as read before offset 0, if not as many as were added before it."""


class Streams:
    """The streams by their keys."""

    def __init__(
        self, stage: Stage, topics: Topics, groups: Groups, reading: Reading, sending: Sending, keys: Keyspace
    ) -> None:
        self._stage = stage
        self._topics = topics
        self._groups = groups
        self._reading = reading
        self._sending = sending
        self._keys = keys
        self._by_key: dict[bytes, Stream] = {}
        self._by_topic: dict[int, Stream] = {}
        self._marks: dict[int, Mark] = {}
        self._awaited: dict[bytes, dict[Callable[[], None], None]] = {}
        """Who waits for a stream to come into being, by its key."""
        self._expires_at_ms = keys.expires_at_ms
        self._watched = keys.watched
        sending.on_put = self._put
        sending.time_of_foreign = self._time_of_foreign
        sending.on_foreign = self._added_foreign
        topics.on_change.append(self._topic_changed)
        topics.on_name_free.append(self._name_free)
        topics.on_delete.append(self._topic_deleted)
        topics.on_trim.append(self._topic_trimmed)
        keys.on_topic_removed = self._key_removed
        keys.on_topic_renamed = self._key_renamed

    # Streams and their keys

    def get(self, key: bytes) -> Stream | None:
        """The stream of a key, if there is one. Raises `WrongType`, and `InvalidArgument` for a topic that
        has several partitions."""
        if key in self._keys.expires_at_ms:
            self._keys.evict(key)
        stream = self._by_key.get(key)
        if (stream is None or key in self._keys.hidden_topics) and self._keys.holds(key):
            if type(self._keys.values[key]) is not TopicKey:
                raise WrongType("Operation against a key holding the wrong kind of value")
            raise InvalidArgument(
                f"topic {key.decode(errors='replace')!r} has several partitions: stream commands need one"
            )
        return stream

    def create(self, key: bytes, config: TopicConfig) -> Stream:
        """Makes a stream for a key that is free."""
        self._topics.create(_text(key), 1, config)
        return self._by_key[key]

    def await_creation(self, key: bytes, tell: Callable[[], None]) -> Callable[[], None]:
        """Calls `tell` when the key becomes a stream. Returns what ends the waiting."""
        self._awaited.setdefault(key, {})[tell] = None

        def stop() -> None:
            waiting = self._awaited.get(key, {})
            waiting.pop(tell, None)
            if not waiting:
                self._awaited.pop(key, None)

        return stop

    def _topic_changed(self, topic: Topic) -> None:
        if topic.internal:
            return
        stream = self._by_topic.get(topic.id)
        if stream is None:
            stream = self._by_topic[topic.id] = Stream(topic, self._reading)
            stream.partition.identify = self._identify
        stream.key = topic.name.encode()
        if len(topic.partitions) == 1:
            self._by_key[stream.key] = stream
        else:
            self._by_key.pop(stream.key, None)
        self._keys.topic_created(stream.key)
        for tell in list(self._awaited.get(stream.key, ())):
            tell()

    def _name_free(self, topic: Topic) -> None:
        if not topic.internal:
            key = topic.name.encode()
            self._by_key.pop(key, None)
            self._keys.topic_gone(key)

    def _topic_deleted(self, topic: Topic) -> None:
        self._by_topic.pop(topic.id, None)
        for group in topic.groups.values():
            self._marks.pop(group.id, None)

    def _key_removed(self, key: bytes) -> None:
        self._topics.delete(key.decode())

    def _key_renamed(self, key: bytes, target: bytes) -> None:
        topic = self._topics.get(key.decode())
        name = _text(target)
        self._topics.check_name(name)
        self._keys.delete(target)
        self._topics.rename(topic, name)

    # Messages

    def add_plain(self, key: bytes, bodies: Sequence[bytes], headers: bytes) -> int:
        """Adds messages that differ in their bodies only to a stream that is there, the short way: their ids are
        made of the time of this turn and of their offsets, the first of which this returns; -1 if it is not as
        simple as that, and nothing was added."""
        stream = self._by_key.get(key)
        if stream is None:
            return -1
        partition = stream.partition
        offset, now_ms = partition.end, self._stage.now_ms
        longest = len(bodies[0]) if len(bodies) == 1 else max(map(len, bodies))
        if (
            offset != stream.plain_end
            or now_ms < stream.plain_ms
            or longest + len(headers) > stream.topic.config.message_bytes_max
            or key in self._expires_at_ms
            or key in self._keys.hidden_topics
            or self._watched
            or self._sending.refusal is not None
            or self._stage.refusal is not None
        ):
            return -1
        if partition.builder is None:
            self._stage.message(partition)
        if len(bodies) == 1:
            partition.add(now_ms, None, bodies[0], headers, True)
        else:
            partition.add_alike(now_ms, bodies, headers)
        stream.plain_ms = now_ms
        stream.plain_end = partition.end
        return offset

    def add(self, stream: Stream, body: bytes, headers: Headers, id: int) -> None:
        """Adds a message with an id that is higher than the last one."""
        partition = stream.partition
        plain = self._stage.now_ms << NUMBER_BITS | partition.end
        if id != plain:
            headers = ((STREAM_ID, id_text(id)), *headers)
        encoded = encode_headers(headers) if headers else NO_HEADERS
        partition.identify = None
        self._sending.send(stream.topic, body, None, encoded, 0)
        stream.last_id = id
        if id >> NUMBER_BITS >= self._stage.now_ms and id != plain:
            partition.identify = self._identify
        if stream.has_groups_ahead:
            self._pass_groups_ahead(stream, id)
            stream.last_id = id
        if self._keys.watched:
            self._keys.changed(stream.key)

    def _identify(self, partition: Partition) -> bytes | None:
        """The id of a message from elsewhere, if one made of its time and offset would not be the highest."""
        stream, now_ms = self._by_topic[partition.topic_id], self._stage.now_ms
        last = stream.last_id
        if now_ms << NUMBER_BITS | partition.end > last:
            if last >> NUMBER_BITS < now_ms:
                partition.identify = None
            return None
        return id_text(stream.next_id(now_ms))

    def _time_of_foreign(self, partition: Partition, header: BatchHeader) -> int:
        """The time that makes the ids of a batch that is kept as it came; -1 if they would not be the highest."""
        stream = self._by_topic.get(partition.topic_id)
        if stream is None or stream.partition is not partition or len(stream.topic.partitions) > 1:
            return 0
        self._keys.topic_changed(stream.key)
        time_ms = stream.time_for(header.max_timestamp_ms)
        if time_ms << NUMBER_BITS | partition.end > stream.last_id:
            return time_ms
        partition.identify = self._identify
        return -1

    def _added_foreign(self, partition: Partition, time_ms: int) -> None:
        """A batch was added as it came."""
        stream = self._by_topic.get(partition.topic_id)
        if stream is None or stream.partition is not partition or len(stream.topic.partitions) > 1:
            return
        if partition.floor_ms < 0:
            self._set_floor(stream, 0)
        stream.added_foreign(time_ms)
        if time_ms >= self._stage.now_ms:
            partition.identify = self._identify

    def _set_floor(self, stream: Stream, floor_ms: int) -> None:
        entry = (STREAM_FLOOR, stream.topic.id, floor_ms)
        self._apply_floor(entry)
        self._stage.entry(entry, stream.topic.sync)

    def clock_went_back(self) -> None:
        """Ids that are made of the time may be too low from now on."""
        for stream in self._by_topic.values():
            stream.partition.identify = self._identify

    def _put(self, partition: Partition) -> None:
        """The broker itself has added a message."""
        stream = self._by_topic.get(partition.topic_id)
        if stream is not None:
            self._keys.topic_changed(stream.key)

    def _pass_groups_ahead(self, stream: Stream, id: int) -> None:
        """Groups that go on after a higher id than that of the message just added do not get it."""
        stream.has_groups_ahead = False
        for group in stream.topic.groups.values():
            mark = self._marks.get(group.id)
            if mark is not None and mark.last_id > id and mark.next == stream.cursor(group).last:
                stream.has_groups_ahead = True
            if mark is not None and mark.last_id >= id and mark.next == stream.cursor(group).last:
                self.place_group(stream, group, mark.last_id, self.entries_read(stream, group))

    def delete(self, stream: Stream, offsets: Iterable[int], by_trimming: bool = False) -> int:
        """Deletes single messages; returns how many were there. The highest id that was deleted is kept, but
        not of those that were trimmed."""
        live = [offset for offset in sorted(set(offsets)) if stream.is_live(offset)]
        if not live:
            return 0
        self._stage.check()
        last = [] if by_trimming else self._reading.page_at(stream.partition, live[-1:])
        if last and id_of(last[0]) > stream.max_deleted_id:
            self.set(stream, stream.last_id, id_of(last[0]), stream.added_before)
        entry = (STREAM_DELETED, stream.topic.id, live)
        self._apply_deleted(entry)
        self._stage.entry(entry, stream.topic.sync)
        deleted = stream.partition.deleted
        if deleted is not None and deleted.low > stream.partition.start:
            self._advance(stream, deleted.low)
        self._keys.topic_changed(stream.key)
        return len(live)

    def delete_at(self, topic: Topic, number: int, offsets: Iterable[int]) -> int:
        """Deletes single messages of any partition of a topic; returns how many were there."""
        if number == 0:
            return self.delete(self._by_topic[topic.id], offsets)
        partition = topic.partitions[number]
        live = [offset for offset in sorted(set(offsets)) if is_live(partition, offset)]
        if not live:
            return 0
        self._stage.check()
        entry = (STREAM_DELETED, topic.id, live, number)
        self._apply_deleted(entry)
        self._stage.entry(entry, topic.sync)
        if partition.deleted is not None and partition.deleted.low > partition.start:
            self._topics.trim(topic, partition, partition.deleted.low)
        self._keys.topic_changed(topic.name.encode())
        return len(live)

    def trim_at(self, topic: Topic, number: int, start: int) -> None:
        """Removes the messages before an offset of any partition of a topic."""
        if number == 0:
            self.trim(self._by_topic[topic.id], start)
        else:
            self._stage.check()
            self._topics.trim(topic, topic.partitions[number], start)

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

    def _advance(self, stream: Stream, start: int) -> None:
        """Moves the start of the partition, after noting the ids of what stays in flight."""
        ghosts: list[list[object]] = []
        for group in stream.topic.groups.values():
            cursor = stream.cursor(group)
            lost = [each for each in cursor.unacknowledged if each < start and each not in cursor.ghosts]
            ids = stream.ids_of(cursor, lost) if lost else {}
            ghosts += [[group.id, offset, pack_id(id)] for offset, id in ids.items()]
        self._trimmed(stream, ghosts, [])
        self._topics.trim(stream.topic, stream.partition, start)

    def _topic_trimmed(self, topic: Topic, partition: Partition, start: int) -> None:
        """Notes the ids that can no longer be read after that, whether a command or retention wants it."""
        stream = self._by_topic.get(topic.id)
        if stream is None or stream.partition is not partition:
            return
        if partition.floor_ms >= 0:
            latest_ms = self._reading.latest_before(partition, start)
            if latest_ms > partition.floor_ms:
                self._set_floor(stream, latest_ms)
        if start == partition.end:
            self.set(stream, stream.last_id, stream.max_deleted_id, stream.added_before)
        passed = [group for group in topic.groups.values() if stream.cursor(group).last <= start]
        self._trimmed(
            stream, [], [[group.id, start, pack_id(self.last_delivered(stream, group))] for group in passed]
        )

    def _trimmed(self, stream: Stream, ghosts: list[list[object]], marks: list[list[object]]) -> None:
        if ghosts or marks:
            entry = (STREAM_TRIMMED, ghosts, marks)
            self._apply_trimmed(entry)
            self._stage.entry(entry, stream.topic.sync)

    def set(self, stream: Stream, last_id: int, max_deleted_id: int, added_before: int) -> None:
        """Sets what cannot be read off the messages."""
        self._stage.check()
        end = stream.partition.end
        entry = (STREAM_SET, stream.topic.id, pack_id(last_id), pack_id(max_deleted_id), added_before, end)
        self._apply_set(entry)
        stream.last_id = last_id
        self._stage.entry(entry, stream.topic.sync)

    # Named messages

    def repeated(self, stream: Stream, producer: bytes, name: bytes) -> int | None:
        """The id of the message that the producer gave this name before, if that is remembered."""
        return stream.window.find(producer, name, self._stage.now_ms) if stream.window is not None else None

    def remember(self, stream: Stream, producer: bytes, name: bytes, id: int) -> None:
        """The message, which was just added, has that name from now on. It survives together with its name."""
        stream.partition.journaled = True
        entry = (STREAM_PRODUCED, stream.topic.id, producer, name, pack_id(id), self._stage.now_ms)
        self._apply_produced(entry)
        self._stage.entry(entry, stream.topic.sync)

    def set_window(self, stream: Stream, duration_ms: int, names_max: int) -> None:
        """How long names are remembered, and how many of each producer."""
        self._stage.check()
        entry = (STREAM_WINDOW, stream.topic.id, duration_ms, names_max)
        self._apply_window(entry)
        self._stage.entry(entry, stream.topic.sync)

    # Groups

    def pending_offset(self, stream: Stream, group: Group, id: int) -> int | None:
        """The offset of a message that a group has in flight, if it has."""
        cursor = stream.cursor(group)
        offset = stream.offset_of(id)
        if offset is not None:
            return offset if offset in cursor.unacknowledged else None
        gone = [each for each in cursor.unacknowledged if not stream.is_live(each)]
        return next((each for each, known in stream.ids_of(cursor, gone).items() if known == id), None)

    def last_delivered(self, stream: Stream, group: Group) -> int:
        """The id that a group has come to."""
        cursor = stream.cursor(group)
        marked = self._marks.get(group.id)
        if marked is not None and marked.next == cursor.last:
            return marked.last_id
        return stream.id_before(cursor.last)

    def entries_read(self, stream: Stream, group: Group) -> int:
        """How many messages a group has come past, counted from the first ever."""
        marked = self._marks.get(group.id)
        before = marked.read_before if marked is not None and marked.read_before is not None else stream.added_before
        return stream.cursor(group).last + before

    def claim(self, group: Group, consumer: str, offsets: list[int]) -> list[int]:
        """Hands entries that are in flight to a consumer, which counts as a delivery; returns which. Those that
        were handed out as often as the group allows become dead letters instead."""
        return self._groups.claim(group, 0, offsets, consumer)

    def place_group(self, stream: Stream, group: Group, last_id: int, entries_read: int | None) -> None:
        """Makes a group go on after an id; what it has in flight stays so."""
        cursor = stream.cursor(group)
        offset = stream.find(last_id + 1)
        if offset != cursor.next or offset != cursor.last:
            self._groups.move(group, 0, offset)
        if last_id > stream.last_id:
            stream.has_groups_ahead = True
            stream.plain_end = -1
        before = None if entries_read is None else entries_read - offset
        entry = (STREAM_MARK, group.id, offset, pack_id(last_id), before)
        self._apply_mark(entry)
        self._stage.entry(entry, stream.topic.sync)

    # State

    def appliers(self) -> dict[int, Callable[[Any], None]]:
        """What applies each kind of entry."""
        return {
            STREAM_SET: self._apply_set,
            STREAM_DELETED: self._apply_deleted,
            STREAM_TRIMMED: self._apply_trimmed,
            STREAM_MARK: self._apply_mark,
            STREAM_PRODUCED: self._apply_produced,
            STREAM_WINDOW: self._apply_window,
            STREAM_FLOOR: self._apply_floor,
        }

    def dump(self) -> object:
        """For the snapshot."""
        streams = [
            [
                stream.topic.id, pack_id(stream.last_id), pack_id(stream.max_deleted_id), stream.added_before,
                stream.partition.deleted.dump() if stream.partition.deleted is not None else None,
                stream.partition.end,
                [
                    [each.number, each.deleted.dump()]
                    for each in stream.topic.partitions[1:]
                    if each.deleted is not None
                ],
                stream.partition.floor_ms,
            ]
            for stream in self._by_topic.values()
        ]  # fmt: skip
        groups = [group for stream in self._by_topic.values() for group in stream.topic.groups.values()]
        marks = [
            [group.id, mark.next, pack_id(mark.last_id), mark.read_before]
            for group in groups
            if (mark := self._marks.get(group.id)) is not None
        ]
        ghosts = [
            [group.id, offset, pack_id(id)] for group in groups for offset, id in group.cursors[0].ghosts.items()
        ]
        windows = [
            [stream.topic.id, stream.window.duration_ms, stream.window.names_max, *_dump_names(stream.window)]
            for stream in self._by_topic.values()
            if stream.window is not None
        ]
        return [streams, marks, ghosts, windows]

    def load(self, state: Any) -> None:
        """The reverse of `dump`."""
        streams, marks, ghosts, windows = state
        for topic_id, last_id, max_deleted_id, added_before, deleted, end, *others in streams:
            self._apply_set((STREAM_SET, topic_id, last_id, max_deleted_id, added_before, end))
            if deleted is not None:
                self._stream(topic_id).partition.deleted = Bitmap.load(deleted)
            for number, bitmap in others[0] if others else ():
                self._stream(topic_id).topic.partitions[number].deleted = Bitmap.load(bitmap)
            if len(others) > 1:
                self._apply_floor((STREAM_FLOOR, topic_id, others[1]))
        for mark in marks:
            self._apply_mark((STREAM_MARK, *mark))
        self._apply_trimmed((STREAM_TRIMMED, ghosts, []))
        for topic_id, duration_ms, names_max, added, duplicates, producers in windows:
            window = self._window(topic_id)
            window.duration_ms, window.names_max = duration_ms, names_max
            window.added, window.duplicates = added, duplicates
            for producer, names, ids in producers:
                window.producers[producer] = dict(zip(names, map(unpack_id, ids), strict=True))

    def place_all(self) -> None:
        """After recovery, when the bounds of all partitions are known."""
        for stream in self._by_topic.values():
            for partition in stream.topic.partitions:
                if partition.deleted is not None:
                    partition.deleted = _within_bounds(partition.deleted, partition)
            partition = stream.partition
            for group in stream.topic.groups.values():
                mark = self._marks.get(group.id)
                if mark is not None and mark.next > partition.end:
                    self._marks[group.id] = mark._replace(next=NOWHERE)

    def _apply_set(self, entry: Any) -> None:
        _, topic_id, last_id, max_deleted_id, added_before, end = entry
        stream = self._stream(topic_id)
        stream.restore_last_id(unpack_id(last_id), end)
        stream.max_deleted_id = unpack_id(max_deleted_id)
        stream.added_before = added_before

    def _apply_deleted(self, entry: Any) -> None:
        _, topic_id, offsets, *more = entry
        number = more[0] if more else 0
        topic = self._stream(topic_id).topic
        partition = topic.partitions[number]
        for group in topic.groups.values():
            group.cursors[number].forget_ahead()
        if partition.deleted is None:
            partition.deleted = Bitmap(partition.start)
        for offset in offsets:
            partition.deleted.mark(offset)

    def _apply_trimmed(self, entry: Any) -> None:
        _, ghosts, marks = entry
        for group_id, offset, id in ghosts:
            self._groups.by_id(group_id).cursors[0].ghosts[offset] = unpack_id(id)
        for group_id, offset, id in marks:
            known = self._marks.get(group_id)
            self._marks[group_id] = Mark(offset, unpack_id(id), known.read_before if known is not None else None)

    def _apply_mark(self, entry: Any) -> None:
        _, group_id, offset, last_id, before = entry
        self._marks[group_id] = Mark(offset, unpack_id(last_id), before)

    def _apply_produced(self, entry: Any) -> None:
        _, topic_id, producer, name, id, now_ms = entry
        self._window(topic_id).remember(producer, name, unpack_id(id), now_ms)

    def _apply_window(self, entry: Any) -> None:
        _, topic_id, duration_ms, names_max = entry
        self._window(topic_id).set_limits(duration_ms, names_max)

    def _apply_floor(self, entry: Any) -> None:
        _, topic_id, floor_ms = entry
        self._stream(topic_id).partition.floor_ms = floor_ms

    def _window(self, topic_id: int) -> Window:
        stream = self._by_topic[topic_id]
        if stream.window is None:
            stream.window = Window()
        return stream.window

    def _stream(self, topic_id: int) -> Stream:
        return self._by_topic[topic_id]


def is_live(partition: Partition, offset: int) -> bool:
    """Whether a message is there and was not deleted."""
    if not partition.start <= offset < partition.end:
        return False
    return partition.deleted is None or not partition.deleted.is_done(offset)


def _text(key: bytes) -> str:
    try:
        return key.decode()
    except UnicodeDecodeError:
        raise InvalidArgument("the name of a stream must be text in UTF-8") from None


def _dump_names(window: Window) -> list[object]:
    names = [[producer, list(ids), list(map(pack_id, ids.values()))] for producer, ids in window.producers.items()]
    return [window.added, window.duplicates, names]


def _within_bounds(deleted: Bitmap, partition: Partition) -> Bitmap | None:
    """The marks on messages that are there: a power cut may have taken the last ones of async topics."""
    if deleted.high > partition.end:
        live = deleted.ranges_live(deleted.high, partition.end)
        deleted = Bitmap(deleted.low)
        for (_, gone), (until, _) in pairwise([*live, (partition.end, partition.end)]):
            for offset in range(gone, until):
                deleted.mark(offset)
    deleted.mark_below(partition.start)
    return deleted if deleted.count_done_above_low else None
