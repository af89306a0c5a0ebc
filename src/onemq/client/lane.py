"""A lane: the messages that one producer sends to one partition, in order, as idempotent batches.

At most `PRODUCER_BATCHES_REMEMBERED` batches are under way, since the broker recognises the repetition of that many.
After a lost connection all of them are sent again with the same sequence numbers, so none is stored twice.

When one fails, those behind it come back with `OutOfOrderSequence`, unstored: they are numbered anew and sent again.
When one is given up and nobody knows what became of it, the lane goes on under a new identity.
"""

from collections import deque
from typing import NamedTuple

from onemq.client.receipt import Outcome, Receipt
from onemq.limits import PRODUCER_BATCHES_REMEMBERED
from onemq.log.batch_builder import BatchBuilder

SEQUENCE_MASK = (1 << 31) - 1


class Identity(NamedTuple):
    """An idempotent producer as the broker knows it."""

    id: int
    epoch: int


class Batch(Outcome):
    """Messages that are sent and answered together."""

    __slots__ = ("begun", "builder", "count", "data", "lane", "offset", "sent", "sequence", "size", "topic_id")

    def __init__(self, lane: "Lane", now: float) -> None:
        super().__init__()
        self.lane = lane
        self.begun = now
        """When its first message came, by the loop's clock."""
        self.sent = 0.0
        self.builder = BatchBuilder(0, 0)
        self.size = 0
        self.count = 0
        self.sequence = -1
        self.data: bytes | None = None
        self.offset = -1
        self.topic_id = lane.topic_id

    def receipt(self, index: int) -> Receipt:
        return self.receipts(index, 1)[0]

    def receipts(self, first: int, count: int) -> list[Receipt]:
        topic, number, offset = self.lane.topic, self.lane.number, self.offset + first
        prefix = f"{self.topic_id:x}-{number:x}-"  # as message_id() makes ids
        return [Receipt(topic, f"{prefix}{each:x}", number, each) for each in range(offset, offset + count)]

    def seal(self, identity: Identity, sequence: int) -> bytes:
        """Its bytes under an identity, from a sequence number on."""
        self.sequence = sequence
        self.count = self.builder.next_offset
        self.data = self.builder.seal(producer=(identity.id, identity.epoch, sequence))
        return self.data


class Lane:
    """Batches to one partition."""

    __slots__ = ("broken", "flying", "identity", "number", "sequence", "topic", "topic_id", "unknown", "waiting")

    def __init__(self, topic: str, topic_id: int, number: int, identity: Identity | None) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.number = number
        self.identity = identity
        self.sequence = 0
        """The next one."""
        self.waiting: deque[Batch] = deque()
        """Not sent yet; the last one still grows."""
        self.flying: deque[Batch] = deque()
        """Sent and not answered."""
        self.broken = False
        """Whether one failed: nothing new is sent until all that fly have come back."""
        self.unknown = False
        """Whether one was given up without knowing what became of it."""

    @property
    def may_send(self) -> bool:
        return bool(
            self.waiting
            and self.identity is not None
            and not self.broken
            and len(self.flying) < PRODUCER_BATCHES_REMEMBERED
        )

    def next_data(self) -> Batch:
        """Seals the next batch and lets it fly."""
        batch = self.waiting.popleft()
        assert self.identity is not None
        batch.seal(self.identity, self.sequence)
        self.sequence = (self.sequence + batch.count) & SEQUENCE_MASK
        self.flying.append(batch)
        return batch

    def stored(self, batch: Batch, offset: int) -> None:
        """The broker has it."""
        self.flying.remove(batch)
        batch.offset = offset
        if self.broken:
            # The broker goes on from here, whatever was given up before.
            self.sequence = (batch.sequence + batch.count) & SEQUENCE_MASK
        self._settle()

    def refused(self, batch: Batch) -> None:
        """The broker does not have it, and says why."""
        self.flying.remove(batch)
        if not self.broken:
            self.broken = True
            self.sequence = batch.sequence
        self._settle()

    def put_back(self, batch: Batch) -> None:
        """The broker does not have it, because it misses one before it, or the producer: again, with new numbers."""
        self.flying.remove(batch)
        if not self.broken:  # nothing failed before it, so the broker's memory differs from ours
            self.broken = self.unknown = True
        position = sum(1 for each in self.waiting if 0 <= each.sequence < batch.sequence)
        self.waiting.insert(position, batch)
        self._settle()

    def given_up(self, batch: Batch) -> None:
        """Nobody knows whether the broker has it."""
        self.flying.remove(batch)
        self.broken = self.unknown = True
        self._settle()

    def adopt(self, identity: Identity) -> None:
        """Goes on under this identity."""
        self.identity = identity
        self.sequence = 0

    def _settle(self) -> None:
        if self.broken and not self.flying:
            self.broken = False
            if self.unknown:
                self.unknown = False
                self.identity = None
            for batch in self.waiting:
                batch.sequence = -1
