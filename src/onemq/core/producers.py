"""Idempotent producers: the same sequence of the same producer is stored once.

Each producer has an id and an epoch; a producer that comes again under its name gets the same id and
a higher epoch, and the old one is fenced off. Per partition the last few batches are remembered, so
that a repeated one is answered with the offset it has.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

from onemq.core.entries import PRODUCED, PRODUCER, PRODUCERS_FORGET
from onemq.core.stage import Stage
from onemq.core.topics import Topic, Topics
from onemq.errors import Fenced, NotFound, OutOfOrderSequence
from onemq.limits import PRODUCER_BATCHES_REMEMBERED, PRODUCER_IDLE_MS_MAX
from onemq.message import check_name

_SEQUENCE_MASK = (1 << 31) - 1
Sent = tuple[int, int, int]
"""(first sequence, last sequence, first offset)"""


class Producer:
    """One producer."""

    __slots__ = ("epoch", "id", "name", "seen_ms", "sent")

    def __init__(self, id: int, epoch: int, name: str | None, now_ms: int) -> None:
        self.id = id
        self.epoch = epoch
        self.name = name
        self.seen_ms = now_ms
        self.sent: dict[tuple[int, int], deque[Sent]] = {}
        """(topic, partition) -> the last batches there."""


class Producers:
    """All producers."""

    def __init__(self, stage: Stage, topics: Topics) -> None:
        self._stage = stage
        topics.on_delete.append(self._topic_deleted)
        self._by_id: dict[int, Producer] = {}
        self._by_name: dict[str, Producer] = {}
        self._next_id = 1

    def open(self, name: str | None = None) -> Producer:
        """A new producer, or the next epoch of a named one."""
        self._stage.check()
        if name is not None:
            check_name("producer", name)
        known = self._by_name.get(name) if name is not None else None
        id, epoch = (known.id, known.epoch + 1) if known else (self._next_id, 0)
        entry = (PRODUCER, id, epoch, name, self._stage.now_ms)
        self._apply_producer(entry)
        self._stage.entry(entry, sync=True)
        return self._by_id[id]

    def get(self, id: int) -> Producer:
        """The producer, or `NotFound`."""
        producer = self._by_id.get(id)
        if producer is None:
            raise NotFound(f"producer {id} is not known (any more): open a new one")
        return producer

    def repeated(self, id: int, epoch: int, topic: int, partition: int, first: int, last: int) -> int | None:
        """The offset that these sequences have already, or None if they are the next ones to store.
        Raises `Fenced`, `OutOfOrderSequence`, `NotFound`."""
        producer = self.get(id)
        if epoch < producer.epoch:
            raise Fenced(f"producer {id} was taken over by epoch {producer.epoch}; this one has epoch {epoch}")
        if epoch > producer.epoch:
            raise OutOfOrderSequence(f"producer {id} has epoch {producer.epoch}, not {epoch}")
        sent = producer.sent.get((topic, partition))
        if not sent:
            return None
        for known_first, known_last, offset in sent:
            if (known_first, known_last) == (first, last):
                return offset
        expected = (sent[-1][1] + 1) & _SEQUENCE_MASK
        if first != expected:
            raise OutOfOrderSequence(f"producer {id} sent sequence {first} where {expected} comes next")
        return None

    def produced(
        self, id: int, epoch: int, topic: int, partition: int, first: int, last: int, offset: int, sync: bool
    ) -> None:
        """Remembers what was stored."""
        entry = (PRODUCED, id, epoch, topic, partition, first, last, offset, self._stage.now_ms)
        self._apply_produced(entry)
        self._stage.entry(entry, sync)

    def forget_idle(self, now_ms: int) -> None:
        """Drops producers that sent nothing for a week."""
        idle = [each.id for each in self._by_id.values() if now_ms - each.seen_ms > PRODUCER_IDLE_MS_MAX]
        if idle:
            entry = (PRODUCERS_FORGET, idle)
            self._apply_forget(entry)
            self._stage.entry(entry, sync=False)

    def appliers(self) -> dict[int, Callable[[Any], None]]:
        """What applies each kind of entry."""
        return {
            PRODUCER: self._apply_producer,
            PRODUCED: self._apply_produced,
            PRODUCERS_FORGET: self._apply_forget,
        }

    def dump(self) -> object:
        """For the snapshot."""
        rows = [
            [each.id, each.epoch, each.name, each.seen_ms, [[*where, list(sent)] for where, sent in each.sent.items()]]
            for each in self._by_id.values()
        ]
        return [self._next_id, rows]

    def load(self, state: Any) -> None:
        """The reverse of `dump`."""
        next_id, rows = state
        for id, epoch, name, seen_ms, partitions in rows:
            self._apply_producer((PRODUCER, id, epoch, name, seen_ms))
            for topic, partition, sent in partitions:
                remembered = deque((tuple(each) for each in sent), PRODUCER_BATCHES_REMEMBERED)
                self._by_id[id].sent[topic, partition] = remembered
        self._next_id = next_id

    def _apply_producer(self, entry: Any) -> None:
        _, id, epoch, name, now_ms = entry
        producer = self._by_id[id] = Producer(id, epoch, name, now_ms)
        if name is not None:
            self._by_name[name] = producer
        self._next_id = max(self._next_id, id + 1)

    def _apply_produced(self, entry: Any) -> None:
        _, id, _, topic, partition, first, last, offset, now_ms = entry
        producer = self._by_id[id]
        producer.seen_ms = now_ms
        sent = producer.sent.setdefault((topic, partition), deque(maxlen=PRODUCER_BATCHES_REMEMBERED))
        sent.append((first, last, offset))

    def _topic_deleted(self, topic: Topic) -> None:
        for producer in self._by_id.values():
            for partition in topic.partitions if producer.sent else ():
                producer.sent.pop((topic.id, partition.number), None)

    def _apply_forget(self, entry: Any) -> None:
        for id in entry[1]:
            producer = self._by_id.pop(id)
            if producer.name is not None:
                del self._by_name[producer.name]
