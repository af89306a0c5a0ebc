"""Idempotent producers: the same sequence of the same producer is stored once.

Each producer has an id and an epoch; a producer that comes again under its name gets the same id and
a higher epoch, and the old one is fenced off. When the epochs of an id are used up the name gets a new id. One without
a name may raise its epoch itself, in each partition when it has nothing on the way there: after an error it cannot get
over, it begins to count anew. Per partition the last few batches are remembered, so that a repeated one is answered
with the offset it has.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from onemq.core.entries import PRODUCED, PRODUCER, PRODUCERS_FORGET
from onemq.core.stage import Stage
from onemq.core.topics import Topic, Topics
from onemq.core.transaction import OWNED
from onemq.errors import Fenced, NotFound, OutOfOrderSequence
from onemq.limits import (
    PRODUCER_BATCHES_REMEMBERED,
    PRODUCER_EPOCH_MAX,
    PRODUCER_IDLE_MS_MAX,
    PRODUCER_PLACES_MAX,
    PRODUCERS_MAX,
)
from onemq.message import check_name

_SEQUENCE_MASK = (1 << 31) - 1
Sent = tuple[int, int, int]
"""(first sequence, last sequence, first offset)"""


class Sequences:
    """The last batches of a producer in a partition, all of one epoch."""

    __slots__ = ("epoch", "sent")

    def __init__(self, epoch: int, sent: Iterable[Sent] = ()) -> None:
        self.epoch = epoch
        self.sent = deque(sent, PRODUCER_BATCHES_REMEMBERED)


class Producer:
    """One producer."""

    __slots__ = ("epoch", "id", "name", "seen_ms", "sent")

    def __init__(self, id: int, epoch: int, name: str | None, now_ms: int) -> None:
        self.id = id
        self.epoch = epoch
        self.name = name
        self.seen_ms = now_ms
        self.sent: dict[tuple[int, int], Sequences] = {}
        """(topic, partition) -> the last batches there."""

    @property
    def owner(self) -> str:
        """The name of the owner of transactions that this is the producer of, if any."""
        return self.name[len(OWNED) :] if self.name is not None and self.name.startswith(OWNED) else ""


class Producers:
    """All producers."""

    def __init__(self, stage: Stage, topics: Topics) -> None:
        self._stage = stage
        topics.on_delete.append(self._topic_deleted)
        self._by_id: dict[int, Producer] = {}
        self._by_name: dict[str, Producer] = {}
        self._next_id = 1
        self._places = 0  # partitions in which batches are remembered, of all producers
        self.is_busy: Callable[[Producer], bool] = lambda producer: False
        """Says of a producer whether it must not be forgotten now."""
        self.on_forget: Callable[[str], None] = lambda owner: None
        """Told of each owner of transactions whose producer is forgotten."""

    def __iter__(self) -> Iterator[Producer]:
        return iter(self._by_id.values())

    def open(self, name: str | None = None) -> Producer:
        """A new producer, or the next epoch of a named one."""
        if name is not None:
            check_name("producer", name)
        return self._open(name)

    def open_owned(self, name: str) -> Producer:
        """A new producer for an owner of transactions, or its next epoch. Their names are apart from all others."""
        return self._open(OWNED + name)

    def owned(self, name: str) -> Producer | None:
        """The producer of an owner of transactions."""
        return self._by_name.get(OWNED + name)

    def _open(self, name: str | None) -> Producer:
        self._stage.check()
        known = self._by_name.get(name) if name is not None else None
        fits = known is not None and known.epoch < PRODUCER_EPOCH_MAX
        if known is None and (len(self._by_id) >= PRODUCERS_MAX or self._places >= PRODUCER_PLACES_MAX):
            self.forget_oldest()
        id, epoch = (known.id, known.epoch + 1) if known is not None and fits else (self._next_id, 0)
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
        known = producer.sent.get((topic, partition))
        valid = producer.epoch if producer.name is not None or known is None else known.epoch
        if epoch < valid:
            raise Fenced(f"producer {id} was taken over by epoch {valid}; this one has epoch {epoch}")
        if epoch > valid and producer.name is not None:
            raise OutOfOrderSequence(f"producer {id} has epoch {valid}, not {epoch}")
        if known is None:
            return None
        if epoch > known.epoch:
            expected = 0
        else:
            expected = (known.sent[-1][1] + 1) & _SEQUENCE_MASK
            if first != expected:
                for known_first, known_last, offset in known.sent:
                    if (known_first, known_last) == (first, last):
                        return offset
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
        self._forget(each for each in self if now_ms - each.seen_ms > PRODUCER_IDLE_MS_MAX)

    def forget_oldest(self, owned: bool = False) -> None:
        """Drops the tenth that sent nothing for longest, of all or of those of owners, but none that is busy."""
        idle = [each for each in self if (each.owner or not owned) and not self.is_busy(each)]
        idle.sort(key=lambda each: each.seen_ms)
        self._forget(idle[: max(len(idle) // 10, 1)])

    def _forget(self, producers: Iterable[Producer]) -> None:
        ids = [each.id for each in producers if not self.is_busy(each)]
        if ids:
            entry = (PRODUCERS_FORGET, ids)
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
            [each.id, each.epoch, each.name, each.seen_ms,
             [[*where, list(some.sent), some.epoch] for where, some in each.sent.items()]]
            for each in self._by_id.values()
        ]  # fmt: skip
        return [self._next_id, rows]

    def load(self, state: Any) -> None:
        """The reverse of `dump`."""
        next_id, rows = state
        for id, epoch, name, seen_ms, partitions in rows:
            self._apply_producer((PRODUCER, id, epoch, name, seen_ms))
            for topic, partition, sent, *own in partitions:  # older snapshots have no epoch of the partition
                self._by_id[id].sent[topic, partition] = Sequences(own[0] if own else epoch, map(tuple, sent))
            self._places += len(partitions)
        self._next_id = next_id

    def _apply_producer(self, entry: Any) -> None:
        _, id, epoch, name, now_ms = entry
        former = self._by_id.get(id)
        producer = self._by_id[id] = Producer(id, epoch, name, now_ms)
        if former is not None:
            producer.sent = former.sent
        if name is not None:
            used_up = self._by_name.get(name)
            if used_up is not None and used_up.id != id:
                del self._by_id[used_up.id]
                self._places -= len(used_up.sent)
            self._by_name[name] = producer
        self._next_id = max(self._next_id, id + 1)

    def _apply_produced(self, entry: Any) -> None:
        _, id, epoch, topic, partition, first, last, offset, now_ms = entry
        producer = self._by_id[id]
        producer.seen_ms = now_ms
        known = producer.sent.get((topic, partition))
        if known is None:
            self._places += 1
        if known is None or known.epoch != epoch:
            known = producer.sent[topic, partition] = Sequences(epoch)
        known.sent.append((first, last, offset))

    def _topic_deleted(self, topic: Topic) -> None:
        for producer in self._by_id.values():
            gone = [where for where in producer.sent if where[0] == topic.id]
            for where in gone:
                del producer.sent[where]
            self._places -= len(gone)

    def _apply_forget(self, entry: Any) -> None:
        for id in entry[1]:
            producer = self._by_id.pop(id)
            self._places -= len(producer.sent)
            if producer.name is not None:
                del self._by_name[producer.name]
            if producer.owner:
                self.on_forget(producer.owner)
