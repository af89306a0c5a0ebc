"""All streams: which topics are streams, how messages get their ids, and what the messages do not tell of them."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from onemq.core.bitmap import Bitmap
from onemq.core.entries import (
    STREAM_DELETED,
    STREAM_FLOOR,
    STREAM_PRODUCED,
    STREAM_SET,
    STREAM_WINDOW,
)
from onemq.core.keyspace import Keyspace
from onemq.core.keyspace.values import TopicKey
from onemq.core.partition import Partition
from onemq.core.reading import Reading
from onemq.core.sending import Sending, check_size_for
from onemq.core.stage import Stage
from onemq.core.stream import Stream
from onemq.core.stream_groups import StreamGroups
from onemq.core.stream_ids import NUMBER_BITS, id_text, pack_id, unpack_id
from onemq.core.topics import Topic, TopicConfig, Topics
from onemq.core.window import Window
from onemq.errors import AlreadyExists, InvalidArgument, OneMQError, WrongType
from onemq.log.batch import BatchHeader
from onemq.log.records import NO_HEADERS, encode_headers
from onemq.message import STREAM_ID, Headers


class Streams:
    """The streams by their keys."""

    def __init__(
        self, stage: Stage, topics: Topics, groups: StreamGroups, reading: Reading, sending: Sending, keys: Keyspace
    ) -> None:
        self._stage = stage
        self._topics = topics
        self._groups = groups
        self._reading = reading
        self._sending = sending
        self._keys = keys
        self._by_key: dict[bytes, Stream] = {}
        self._by_topic: dict[int, Stream] = {}
        self._expires_at_ms = keys.expires_at_ms
        self._watched = keys.watched
        sending.on_put = self._put
        sending.time_of_foreign = self._time_of_foreign
        sending.on_foreign = self._added_foreign
        topics.on_change.append(self._topic_changed)
        topics.on_name_free.append(self._name_free)
        topics.on_delete.append(self._topic_deleted)
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

    def find(self, key: bytes) -> Stream | None:
        """The same for those who wait for a stream: anything else is as good as nothing."""
        try:
            return self.get(key)
        except (WrongType, InvalidArgument):
            return None

    def of(self, topic: Topic) -> Stream:
        """The stream that a topic is, or that its first partition is; of any but internal topics."""
        return self._by_topic[topic.id]

    def create(self, key: bytes, config: TopicConfig) -> Stream:
        """Makes a stream for a key that is free."""
        self._topics.create(_text(key), 1, config)
        return self._by_key[key]

    def check_first(self, key: bytes, config: TopicConfig, body: bytes, headers: Headers, id: int | None) -> None:
        """Raises what adding a message to a new stream would raise. Without an id, the stream chooses."""
        self._sending.check()
        if id is not None and id != self._stage.now_ms << NUMBER_BITS:
            headers = ((STREAM_ID, id_text(id)), *headers)
        check_size_for(_text(key), config, body, None, encode_headers(headers))

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

    def _name_free(self, topic: Topic) -> None:
        if not topic.internal:
            key = topic.name.encode()
            self._by_key.pop(key, None)
            self._keys.topic_gone(key)

    def _topic_deleted(self, topic: Topic) -> None:
        self._by_topic.pop(topic.id, None)

    def _key_removed(self, key: bytes) -> None:
        self._topics.delete(key.decode())

    def _key_renamed(self, key: bytes, target: bytes) -> None:
        topic = self._topics.get(key.decode())
        name = _text(target)
        self._topics.check_name(name)
        for config in (topic.config.group, *(group.config for group in topic.groups.values())):
            config.check(name)
        if target in self._keys.hidden_topics:
            raise AlreadyExists(f"topic {name!r} exists already, hidden by the key of that name: delete both first")
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
        try:
            self._sending.send(stream.topic, body, None, encoded, 0)
        except OneMQError:
            partition.identify = self._identify
            raise
        stream.last_id = id
        if id >> NUMBER_BITS >= self._stage.now_ms and id != plain:
            partition.identify = self._identify
        if stream.has_groups_ahead:
            self._groups.pass_ahead(stream, id)
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
            self.set_floor(stream, 0)
        stream.added_foreign(time_ms)
        if time_ms >= self._stage.now_ms:
            partition.identify = self._identify

    def clock_went_back(self) -> None:
        """Ids that are made of the time may be too low from now on."""
        for stream in self._by_topic.values():
            stream.partition.identify = self._identify

    def _put(self, partition: Partition) -> None:
        """The broker itself has added a message."""
        stream = self._by_topic.get(partition.topic_id)
        if stream is not None:
            self._keys.topic_changed(stream.key)

    # What the messages do not tell

    def set(self, stream: Stream, last_id: int, max_deleted_id: int, added_before: int) -> None:
        """Sets what cannot be read off the messages."""
        self._stage.check()
        is_lowered = last_id < stream.last_id
        end = stream.partition.end
        entry = (STREAM_SET, stream.topic.id, pack_id(last_id), pack_id(max_deleted_id), added_before, end)
        self._apply_set(entry)
        stream.last_id = last_id
        self._stage.entry(entry, stream.topic.sync)
        if is_lowered:
            self._groups.keep_ahead(stream)

    def set_floor(self, stream: Stream, floor_ms: int) -> None:
        """Sets the highest time of the messages that went, of a stream with batches that are kept as they came."""
        entry = (STREAM_FLOOR, stream.topic.id, floor_ms)
        self._apply_floor(entry)
        self._stage.entry(entry, stream.topic.sync)

    def mark_deleted(self, topic: Topic, number: int, offsets: list[int]) -> None:
        """Nobody reads these messages of a partition any more."""
        entry = (STREAM_DELETED, topic.id, offsets, number) if number else (STREAM_DELETED, topic.id, offsets)
        self._apply_deleted(entry)
        self._stage.entry(entry, topic.sync)

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

    # State

    def appliers(self) -> dict[int, Callable[[Any], None]]:
        """What applies each kind of entry."""
        return {
            STREAM_SET: self._apply_set,
            STREAM_DELETED: self._apply_deleted,
            STREAM_PRODUCED: self._apply_produced,
            STREAM_WINDOW: self._apply_window,
            STREAM_FLOOR: self._apply_floor,
            **self._groups.appliers(),
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
        marks, ghosts = self._groups.dump(self._by_topic.values())
        windows = [
            [stream.topic.id, *stream.window.dump()] for stream in self._by_topic.values() if stream.window is not None
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
        self._groups.load(marks, ghosts)
        for topic_id, *window in windows:
            self._window(topic_id).load(window)

    def place_all(self) -> None:
        """After recovery, when the bounds of all partitions are known."""
        for stream in self._by_topic.values():
            for partition in stream.topic.partitions:
                if partition.deleted is not None:
                    partition.deleted = _within_bounds(partition.deleted, partition)
            self._groups.forget_lost(stream)

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


def _text(key: bytes) -> str:
    try:
        return key.decode()
    except UnicodeDecodeError:
        raise InvalidArgument("the name of a stream must be text in UTF-8") from None


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
