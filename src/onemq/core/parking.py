"""Parked messages: they lie in an internal topic, each with where it goes, until it is time to send them there.

The schedule parks messages until they are due, transactions until they are committed. A parked message is
known by its offset in the internal topic. Which of them are done is a bit each, so that housekeeping can drop
them, wherever they lie.
"""

from collections.abc import Callable
from typing import Any

from onemq.core.batches import BatchesIn
from onemq.core.bitmap import Bitmap
from onemq.core.partition import Partition
from onemq.core.reading import Reading
from onemq.core.sending import Sending, check_size
from onemq.core.topics import Topic, Topics
from onemq.errors import Corrupt
from onemq.log.batch import BatchHeader, Buffer, read_header
from onemq.log.records import NO_HEADERS, encode_headers
from onemq.message import (
    DUE,
    ID,
    ORDER_KEY,
    TARGET,
    TARGET_ID,
    TARGET_PARTITION,
    Headers,
    Record,
    header,
    message_id,
)

_OWN = (TARGET, TARGET_ID, DUE, TARGET_PARTITION)
"""The headers that parking puts before those of the message."""
PARKED_BATCH_MESSAGES = 16
"""Parked messages are taken out one by one, in any order: finding one in a large batch would take long."""
HeaderList = list[tuple[bytes, bytes | None]]
Own = dict[bytes, bytes | None]
Parcel = tuple[int, bytes | None, bytes | None, bytes, int, bytes, int, bytes | None]
"""A parked message ready to go: (id, key, body, header block, topic id, topic name, partition or -1, routing key). A
plain tuple of plain values, because very many may wait: the garbage collector need not follow such.
"""


class Parking:
    """An internal topic with one partition, and what of it is done."""

    def __init__(self, name: str, topics: Topics, sending: Sending, reading: Reading) -> None:
        self.name = name
        self._topics = topics
        self._sending = sending
        self._reading = reading
        self._done = Bitmap()
        self.end = 0
        """One above the highest id."""
        self.on_lost: Callable[[int, str], None] = lambda id, reason: None
        """Told of messages that cannot be read or have no topic to go to any more."""

    def __len__(self) -> int:
        return self.end - self._done.low - self._done.count_done_above_low

    @property
    def low(self) -> int:
        """Everything below is done."""
        return self._done.low

    @property
    def partition(self) -> Partition:
        """Where the messages lie; made when it is first asked for."""
        return self._topics.ensure_internal(self.name).partitions[0]

    def is_live(self, id: int) -> bool:
        """Whether the message is still to be sent."""
        return 0 <= id < self.end and not self._done.is_done(id)

    def live_copy(self) -> Callable[[int], bool]:
        """Says of each message whether it is still to be sent, as of now; can be asked on another thread."""
        done, end = Bitmap.load(self._done.dump()), self.end
        return lambda id: id >= end or not done.is_done(id)

    def message_id(self, id: int) -> str:
        """The id under which a parked message is known outside, now and later."""
        return message_id(self.partition.topic_id, 0, id)

    # In

    def check(self, topic: Topic, body: bytes | None, key: bytes | None, headers: Headers, number: int | None) -> int:
        """Raises what sending the message to its topic now would raise; returns its size."""
        self._sending.check()
        if number is not None:
            topic.choose(key, number)
        return check_size(topic, body, key, encode_headers(headers) if headers else NO_HEADERS)

    def put(
        self,
        topic: Topic,
        body: bytes | None,
        key: bytes | None,
        headers: Headers,
        number: int | None,
        due_ms: int | None = None,
    ) -> int:
        """Parks a message that was checked. Returns its id, for an entry of whoever parks."""
        own: HeaderList = [(TARGET, topic.name.encode()), (TARGET_ID, b"%d" % topic.id)]
        if due_ms is not None:
            own.append((DUE, b"%d" % due_ms))
        if number is not None:
            own.append((TARGET_PARTITION, b"%d" % number))
        partition = self.partition
        id = self._sending.put(partition, body, key, encode_headers([*own, *headers]))
        if partition.builder is not None and id + 1 - partition.builder.base_offset >= PARKED_BATCH_MESSAGES:
            partition.seal()
        return id

    # Out

    def take(self, ids: list[int], then: Callable[[dict[int, Record]], None]) -> None:
        """The messages by their ids. Those that cannot be read are left out, and `on_lost` is told of them."""

        def found(records: list[Record]) -> None:
            by_id = {record[0]: record for record in records}
            for id in ids:
                if id not in by_id:
                    self.on_lost(id, "the stored message cannot be found")
            then(by_id)

        try:
            self._reading.records_at(self.partition, sorted(ids), found)
        except Corrupt as damage:
            self._take_around(ids, damage, then)

    def _take_around(self, ids: list[int], damage: Corrupt, then: Callable[[dict[int, Record]], None]) -> None:
        first = damage.offset if damage.offset is not None else min(ids)
        resume = damage.resume_offset if damage.resume_offset is not None else max(ids) + 1
        lost = {id for id in ids if first <= id < max(resume, first + 1)}
        for id in sorted(lost):
            self.on_lost(id, damage.text)
        self.take([id for id in ids if id not in lost], then)

    def opened(self, record: Record) -> tuple[Own, HeaderList]:
        """What parking put in front of the headers of a message, and those of the message itself."""
        return _apart(record[4])

    def identified(self, record: Record, headers: HeaderList) -> HeaderList:
        """The headers with the id that the message has had since it was parked."""
        if header(headers, ID) is not None:
            return headers
        return [*headers, (ID, message_id(self.partition.topic_id, 0, record[0]).encode())]

    def packed(self, record: Record, own: Own, headers: HeaderList) -> Parcel:
        """A message that only has to be sent, with these headers."""
        id, number, order_key = own.get(TARGET_ID), own.get(TARGET_PARTITION), header(headers, ORDER_KEY)
        return (
            record[0],
            record[2],
            record[3],
            encode_headers(headers),
            -1 if id is None else int(id),
            own.get(TARGET) or b"",
            -1 if number is None else int(number),
            record[2] if order_key is None else order_key,
        )

    def send(self, parcel: Parcel) -> bool:
        """Sends a message to its topic, if that is still there. What was taken is delivered: the topic's settings
        may have changed since, and some of the headers are ours."""
        id, key, body, headers, topic_id, name, number, routing_key = parcel
        topic = self.topic_of(topic_id, name.decode())
        if topic is None:
            self.on_lost(id, f"topic {name.decode()!r} does not exist any more")
            return False
        wanted = number if 0 <= number < len(topic.partitions) else None
        self._sending.put(topic.choose(routing_key, wanted), body, key, headers)
        return True

    def forward(self, record: Record, own: Own, headers: HeaderList) -> bool:
        """Packs and sends."""
        return self.send(self.packed(record, own, headers))

    def target_name(self, record: Record) -> str:
        """The name of the topic that a message goes to."""
        topic = self._target(record, _apart(record[4])[0])
        return target_of(record) if topic is None else topic.name

    def _target(self, record: Record, own: Own) -> Topic | None:
        """Where a message goes: its topic, which may have another name now, or one that took its place."""
        id = own.get(TARGET_ID)
        return self.topic_of(-1 if id is None else int(id), target_of(record))

    def topic_of(self, id: int, name: str) -> Topic | None:
        """A topic by its id, whatever its name is now, or the one that took its place; if there is one."""
        return self._topics.by_id(id) or self._topics.find(name)

    # Whole batches

    def put_batch(self, batch: bytes) -> int:
        """Parks a batch that was checked. Returns the id of its first message, for an entry of whoever parks."""
        return self._sending.put_batch(self.partition, batch)

    def take_batches(self, runs: list[list[int]], then: Callable[[list[list[bytes]]], None]) -> None:
        """The batches that lie in each run of [first, last, bytes, ...]. Those that cannot be read are left out, and
        `on_lost` is told of them."""
        BatchesIn(self._reading, self.partition, runs, self.on_lost, then).go_on()

    def forward_batch(self, batch: bytes, topic: Topic | None, name: str, number: int, ranked: bool) -> bool:
        """Sends a batch to a partition of its topic, if that is still there. If it has fewer partitions now, what
        went to the same one still does."""
        if topic is None:
            header = read_header(batch)
            count = header.last_offset_delta + 1
            self.on_lost(header.base_offset, f"topic {name!r} does not exist any more; its batch has {count} messages")
            return False
        self._sending.put_batch(topic.partitions[number % len(topic.partitions)], batch, ranked)
        return True

    def put_foreign(self, batch: Buffer, header: BatchHeader) -> int:
        """Parks a batch as its producer sealed it. Returns the id of its first message, for an entry of whoever
        parks."""
        return self._sending.park_foreign(self.partition, batch, header)

    def forward_foreign(self, batch: bytes, topic: Topic | None, name: str, number: int) -> None:
        """Sends such a batch to a partition of its topic, if that is still there."""
        if topic is None or number >= len(topic.partitions):
            first = read_header(batch).base_offset
            self.on_lost(first, f"partition {number} of topic {name!r} does not exist any more")
            return
        self._sending.put_foreign(topic, topic.partitions[number], batch)

    # What entries say

    def parked(self, first: int, count: int) -> None:
        """So many messages were parked."""
        self.end = first + count

    def done(self, id: int) -> None:
        """A message is sent, or of no use any more."""
        self._done.mark(id)

    def done_between(self, first: int, last: int) -> None:
        """Messages that lie next to each other are sent, or of no use any more."""
        self._done.mark_between(first, last + 1)

    def dump_done(self) -> object:
        """Which ones are done, for the snapshot."""
        return self._done.dump()

    def load(self, end: int, done: Any) -> None:
        """What the snapshot says."""
        self.end = end
        self._done = Bitmap.load(done)


def _apart(headers: Headers) -> tuple[Own, HeaderList]:
    """The headers that parking put there, and those of the message."""
    own: Own = {}
    for name, value in headers:
        if name not in _OWN or name in own:
            break
        own[name] = value
    return own, list(headers[len(own) :])


def target_of(record: Record) -> str:
    """The topic that a parked message was sent to."""
    return (header(record[4], TARGET) or b"").decode()
