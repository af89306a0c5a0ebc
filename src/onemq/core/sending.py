"""Sending: messages go to the partitions' stage, one by one or as ready-made batches."""

from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from onemq.core.expiry import EXPIRES_MARK
from onemq.core.foreign import checked_records
from onemq.core.lanes import PRIORITY_MARK, priority_in, priority_of
from onemq.core.marked import may_be_marked, sort_by_due
from onemq.core.partition import Partition
from onemq.core.placed import Duplicate
from onemq.core.producers import Producers
from onemq.core.stage import Stage
from onemq.core.topics import Topic, TopicConfig
from onemq.errors import InvalidArgument, OneMQError, TooLarge
from onemq.log.batch import (
    COMPRESSION_MASK,
    FOREIGN_EPOCH,
    BatchHeader,
    Buffer,
    check_ready_made,
    placed_foreign,
    read_header,
    stamped,
)
from onemq.log.batch_builder import BatchBuilder
from onemq.log.records import NO_HEADERS, UNREADABLE, decode, decode_strictly, encode_headers, with_header
from onemq.message import PRIORITY_DEFAULT, STREAM_ID, Record

ProducerSequence = tuple[int, int, int]
"""(producer id, epoch, sequence)"""
Place = tuple[int, int, int, int, int, int]
"""(producer id, epoch, topic, partition, first sequence, last sequence)"""


class Appended(NamedTuple):
    """What became of a batch."""

    offset: int
    """Of its first message."""
    messages: int
    repeated: bool
    """Whether it was there already."""


def check_size(topic: Topic, body: bytes | None, key: bytes | None, headers: bytes) -> int:
    """The size of key, body and headers together. Raises `TooLarge` if that is more than the topic takes."""
    return check_size_for(topic.name, topic.config, body, key, headers)


def check_size_for(name: str, config: TopicConfig, body: bytes | None, key: bytes | None, headers: bytes) -> int:
    """The same for a topic that is not there yet."""
    size = len(body or b"") + len(headers) - len(NO_HEADERS) + len(key or b"")
    if size > config.message_bytes_max:
        raise TooLarge(f"topic {name!r} takes messages of up to {config.message_bytes_max} bytes, this one has {size}")
    return size


def _identified(partition: Partition, headers: bytes) -> bytes:
    """The headers of a message for a stream, with its id if that cannot be made of its time and offset."""
    id = partition.identify(partition) if partition.identify is not None else None
    return headers if id is None else with_header(headers, STREAM_ID, id)


def has_priorities(batch: bytes, header: BatchHeader, records: list[Record]) -> bool:
    """Whether some messages of a batch have other than the default priority."""
    if batch.find(PRIORITY_MARK) < 0 and not header.attributes & COMPRESSION_MASK:
        return False
    return any(priority_of(record[4]) != PRIORITY_DEFAULT for record in records)


def _note_expiring(partition: Partition, batch: bytes, header: BatchHeader) -> None:
    """The partition has a batch more, whose messages may say when they expire."""
    if EXPIRES_MARK in batch or header.attributes & COMPRESSION_MASK:
        partition.expiring_end = partition.end


def _is_marked(topic: Topic, batch: bytes, header: BatchHeader, now_ms: int) -> bool:
    """Whether messages of a batch say when they are due or what priority they have, and can be understood."""
    try:
        if not may_be_marked(batch, header, topic.config.look_inside):
            return False
        sort_by_due(decode_strictly(batch, 0, header), now_ms)
    except (*UNREADABLE, InvalidArgument):
        return False
    return True


class Sending:
    """Stages messages."""

    def __init__(self, stage: Stage, producers: Producers) -> None:
        self._stage = stage
        self._producers = producers
        self.refusal: OneMQError | None = None
        """Why no messages are taken now, if so."""
        self.on_put: Callable[[Partition], None] = lambda partition: None
        """Told of each message that the broker itself moves to a partition."""
        self.on_rank: Callable[[Partition, int, int], None] = lambda partition, offset, priority: None
        """Told of each message of other than the default priority: its offset and its priority."""
        self.on_due: Callable[[Topic, int, int, Record], None] = lambda topic, number, due_ms, record: None
        """Told of each message of a ready-made batch that is due later: its topic, partition, time and itself."""
        self.time_of_foreign: Callable[[Partition, BatchHeader], int] = lambda partition, header: 0
        """Asked for the time that a ready-made batch has in its stream; -1 if it cannot be kept as it is."""
        self.on_foreign: Callable[[Partition, int], None] = lambda partition, time_ms: None
        """Told that such a batch was staged, with that time."""

    def send(
        self,
        topic: Topic,
        body: bytes,
        key: bytes | None = None,
        headers: bytes = NO_HEADERS,
        number: int | None = None,
        persistent: bool = True,
        producer: ProducerSequence | None = None,
    ) -> tuple[int, ...]:
        """Stages one message, which does not say itself when it expires (`Sender` takes such, too). Returns
        (partition, offset), as a `Duplicate` if it is there already. Raises `TooLarge`, `DiskFull`, and what the
        producer's sequence gives rise to."""
        # Paid for every message: what the checks would find is looked at here, and they tell.
        stage = self._stage
        if self.refusal is not None or stage.refusal is not None:
            self.check()
        if len(body) + len(headers) + (0 if key is None else len(key)) > topic.config.message_bytes_max:
            check_size(topic, body, key, headers)
        if producer is not None:
            if number is None and len(topic.partitions) > 1:
                raise InvalidArgument("an idempotent producer must name the partition: sequences count in each of them")
            partition = topic.choose(key, number)
            return self._send_once(topic, partition, body, key, headers, persistent, producer)
        partitions = topic.partitions
        partition = partitions[0] if number is None and len(partitions) == 1 else topic.choose(key, number)
        if partition.identify is not None:
            headers = _identified(partition, headers)
        if partition.builder is None:
            stage.message(partition)
        offset = partition.add(stage.now_ms, key, body, headers, persistent)
        if len(headers) > 1 and headers.find(PRIORITY_MARK) > 0:
            self._rank(partition, offset, headers)
        return partition.number, offset

    def check(self) -> None:
        """Raises if no messages are taken now."""
        if self.refusal is not None:
            raise self.refusal
        self._stage.check()

    def put(self, partition: Partition, body: bytes | None, key: bytes | None, headers: bytes) -> int:
        """Stages a message past all checks: one that the broker has taken already and moves. It survives
        together with the entry that says so, also on its way to an async topic."""
        if partition.identify is not None:
            headers = _identified(partition, headers)
        self._stage.message(partition)
        partition.journaled = True
        offset = partition.add(self._stage.now_ms, key, body, headers, persistent=True)
        if len(headers) > 1 and headers.find(PRIORITY_MARK) > 0:
            self._rank(partition, offset, headers)
        if EXPIRES_MARK in headers:
            partition.expiring_end = partition.end
        self.on_put(partition)
        return offset

    def _rank(self, partition: Partition, offset: int, headers: bytes) -> None:
        priority = priority_in(headers)
        if priority != PRIORITY_DEFAULT:
            self.on_rank(partition, offset, priority)

    def _rank_all(self, partition: Partition, first: int, records: list[Record]) -> None:
        for offset, record in enumerate(records, first):
            priority = priority_of(record[4])
            if priority != PRIORITY_DEFAULT:
                self.on_rank(partition, offset, priority)

    def send_batch(self, topic: Topic, number: int, batch: Buffer, header: BatchHeader | None = None) -> int:
        """Stages a batch as its producer sealed it: its records are not looked at, unless some of them seem to be due
        later or to have priorities (marked.py). The header is given if the batch was checked (`check_ready_made`).
        Returns its first offset. Raises what the checks, the producer's sequence and marked records give rise to."""
        header = self.check_batch(topic, batch, header)
        partition = topic.choose(None, number)
        place = self._known_place(topic, partition, header)
        if isinstance(place, int):
            return place
        placed = placed_foreign(batch, partition.end)  # the one copy on its way from the socket to the log
        if may_be_marked(placed, header, topic.config.look_inside):
            offset = self._send_marked(topic, partition, placed, header)
        else:
            offset = self._add_foreign(topic, partition, placed, header)
        if place is not None:
            self._note_produced(place, offset, partition.sync)
        return offset

    def check_batch(self, topic: Topic, batch: Buffer, header: BatchHeader | None = None) -> BatchHeader:
        """The header of a ready-made batch that a topic takes, whatever its records are. It is given if the batch was
        checked (`check_ready_made`)."""
        self.check()
        if len(batch) > topic.config.message_bytes_max:
            raise TooLarge(
                f"topic {topic.name!r} takes batches of up to {topic.config.message_bytes_max} bytes, "
                f"this one has {len(batch)}"
            )
        return check_ready_made(batch) if header is None else header

    def _add_foreign(self, topic: Topic, partition: Partition, placed: bytes, header: BatchHeader) -> int:
        now_ms = self._stage.now_ms
        if topic.config.message_time == "broker":
            placed = placed_foreign(stamped(placed, header, now_ms), partition.end)
            header = header._replace(max_timestamp_ms=now_ms)
        time_ms = self.time_of_foreign(partition, header)
        if time_ms < 0:
            with suppress(*UNREADABLE):  # then nobody will see the ids of its records
                return self._append_identified(partition, decode(placed, 0, header))
        offset = partition.add_placed(placed, header.last_offset_delta + 1)
        self._stage.message(partition)
        partition.expiring_end = partition.end  # that costs those little who receive messages without such headers
        if time_ms >= 0:
            self.on_foreign(partition, time_ms)
        return offset

    def _send_marked(self, topic: Topic, partition: Partition, placed: bytes, header: BatchHeader) -> int:
        """As `_add_foreign`, for a batch some of whose messages may be due later or have priorities."""
        now, later = sort_by_due(decode_strictly(placed, 0, header), self._stage.now_ms)
        if later and now:
            builder = BatchBuilder(partition.end, header.base_timestamp_ms)
            for _, timestamp_ms, key, body, headers in now:
                builder.add(timestamp_ms, key, body, encode_headers(headers))
            attributes = header.attributes & ~COMPRESSION_MASK
            placed = builder.seal(attributes, FOREIGN_EPOCH, latest_ms=header.max_timestamp_ms)
            header = read_header(placed)
        offset = self._add_foreign(topic, partition, placed, header) if now else partition.end
        self._rank_all(partition, offset, now)
        for due_ms, record in later:
            self.on_due(topic, partition.number, due_ms, record)
        return offset

    def append(self, topic: Topic, number: int, batch: bytes, producer: ProducerSequence | None = None) -> Appended:
        """Stages a batch that a producer sealed, with the time of this turn. Its records are checked, since a broken
        one would stay in the way of all readers. `producer` takes the place of what the batch says of it."""
        header, records = self.checked_batch(topic, batch)
        if producer is not None:
            id, epoch, sequence = producer
            header = header._replace(producer_id=id, producer_epoch=epoch, base_sequence=sequence)
        partition = topic.choose(None, number)
        place = self._known_place(topic, partition, header)
        if isinstance(place, int):
            return Appended(place, len(records), True)
        if partition.identify is not None and partition.identify(partition) is not None:
            offset = self._append_identified(partition, records)
        else:
            offset = partition.add_batch(stamped(batch, header, self._stage.now_ms), len(records))
            self._stage.message(partition)
        if batch.find(PRIORITY_MARK) > 0 or header.attributes & COMPRESSION_MASK:
            self._rank_all(partition, offset, records)
        _note_expiring(partition, batch, header)
        if place is not None:
            self._note_produced(place, offset, partition.sync)
        return Appended(offset, len(records), False)

    def checked_batch(self, topic: Topic, batch: bytes) -> tuple[BatchHeader, list[Record]]:
        """The header and the records of a batch that a producer sealed. Raises what `append` raises of it."""
        header = self.check_batch(topic, batch)
        return header, checked_records(batch, header)

    def put_batch(self, partition: Partition, batch: bytes, ranked: bool = False) -> int:
        """As `put`, for a whole batch that was checked before, with the time of this turn. `ranked`: some of its
        messages have priorities. Returns the first offset."""
        header = read_header(batch)
        self._stage.message(partition)
        partition.journaled = True
        if partition.identify is not None and partition.identify(partition) is not None:
            offset = self._append_identified(partition, decode(batch, 0, header))
        else:
            # Placed here, so that nothing has to copy it once more.
            placed = header._replace(base_offset=partition.end, producer_id=-1, producer_epoch=-1, base_sequence=-1)
            offset = partition.add_batch(stamped(batch, placed, self._stage.now_ms), header.last_offset_delta + 1)
        if ranked:
            self._rank_all(partition, offset, decode(batch, 0, header))
        _note_expiring(partition, batch, header)
        self.on_put(partition)
        return offset

    def put_foreign(self, topic: Topic, partition: Partition, batch: Buffer) -> None:
        """As `put_batch`, for one that is kept as its producer sealed it, with its times, and that was checked
        (`check_foreign`). Those of its messages that are due later are scheduled."""
        header = read_header(batch)
        self._stage.message(partition)
        partition.journaled = True
        placed = placed_foreign(batch, partition.end)
        if _is_marked(topic, placed, header, self._stage.now_ms):
            self._send_marked(topic, partition, placed, header)
        else:
            self._add_foreign(topic, partition, placed, header)
        self.on_put(partition)

    def park_foreign(self, partition: Partition, batch: Buffer, header: BatchHeader) -> int:
        """Stages such a batch where it waits, whatever its messages say of themselves. Returns its first offset."""
        self._stage.message(partition)
        partition.journaled = True
        return partition.add_placed(placed_foreign(batch, partition.end), header.last_offset_delta + 1)

    def check_foreign(self, topic: Topic, batch: Buffer, header: BatchHeader) -> None:
        """Raises what `send_batch` would raise now of a batch that its protocol has checked (`check_ready_made`)."""
        self.check_batch(topic, batch, header)
        look_inside = topic.config.look_inside
        if look_inside or not header.attributes & COMPRESSION_MASK:
            whole = bytes(batch)
            if may_be_marked(whole, header, look_inside):
                sort_by_due(decode_strictly(whole, 0, header), self._stage.now_ms)

    def _append_identified(self, partition: Partition, records: list[Record]) -> int:
        """Stages records one by one, since each needs an id of its own in its stream."""
        first = partition.end
        for _, _, key, body, headers in records:
            self._stage.message(partition)
            encoded = _identified(partition, encode_headers(headers))
            partition.add(self._stage.now_ms, key, body, encoded, persistent=True)
        partition.expiring_end = partition.end
        return first

    def _known_place(self, topic: Topic, partition: Partition, header: BatchHeader) -> "Place | int | None":
        """Where an idempotent producer's batch belongs in its sequence, or the offset that it has already."""
        if header.producer_id < 0 or header.base_sequence < 0:
            return None
        id, epoch, first = header.producer_id, header.producer_epoch, header.base_sequence
        last = first + header.last_offset_delta & 0x7FFFFFFF
        known = self._producers.repeated(id, epoch, topic.id, partition.number, first, last)
        return (id, epoch, topic.id, partition.number, first, last) if known is None else known

    def _note_produced(self, place: Place, offset: int, sync: bool) -> None:
        id, epoch, topic, partition, first, last = place
        self._producers.produced(id, epoch, topic, partition, first, last, offset, sync)

    def _send_once(
        self,
        topic: Topic,
        partition: Partition,
        body: bytes,
        key: bytes | None,
        headers: bytes,
        persistent: bool,
        producer: ProducerSequence,
    ) -> tuple[int, ...]:
        id, epoch, sequence = producer
        known = self._producers.repeated(id, epoch, topic.id, partition.number, sequence, sequence)
        if known is not None:
            return Duplicate(partition.number, known)
        if partition.identify is not None:
            headers = _identified(partition, headers)
        self._stage.message(partition)
        offset = partition.add(self._stage.now_ms, key, body, headers, persistent)
        if len(headers) > 1 and headers.find(PRIORITY_MARK) > 0:
            self._rank(partition, offset, headers)
        self._producers.produced(id, epoch, topic.id, partition.number, sequence, sequence, offset, partition.sync)
        return partition.number, offset
