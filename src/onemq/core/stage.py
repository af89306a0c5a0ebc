"""The stage: what one turn has changed and the log does not have yet.

Commands apply their entries to memory at once and put them here; at the end of the turn the whole
stage becomes one atomic set. What is staged can be read already: replies that tell of it leave only
when the set is durable.
"""

from collections.abc import Iterable

from onemq.core.keyspace.entries import KEYSPACE_KINDS
from onemq.core.partition import Partition
from onemq.errors import OneMQError
from onemq.log.engine import Batch, Entry, TopicPlace, WriteSet


class Stage:
    """Gathers a turn."""

    def __init__(self, keys_sync: bool = True) -> None:
        """`keys_sync` says whether whoever changes keys must wait until it is on disk."""
        self.now_ms = 0
        self.entries: list[Entry] = []
        """Always the same list, so that the keyspace adds to it without a detour."""
        self._keys_sync = keys_sync
        self.refusal: OneMQError | None = None
        """Why nothing can be written now, if so."""
        self._writes = WriteSet()
        self.partitions: dict[Partition, None] = {}
        """Those that got messages in this turn."""

    def entry(self, entry: Entry, sync: bool) -> None:
        """Adds an entry; `sync` says whether whoever caused it must wait until it is on disk."""
        self.entries.append(entry)
        if sync:
            self._writes.sync = True

    def check(self) -> None:
        """Raises if nothing can be written now. Every command that changes something asks before it does."""
        if self.refusal is not None:
            raise self.refusal

    def message(self, partition: Partition) -> None:
        """Notes that a partition has messages of this turn."""
        self.partitions[partition] = None
        if partition.sync:
            self._writes.sync = True

    def promote(self) -> None:
        """Makes everything staged so far survive together or not at all: an atomic unit is as durable as its
        strongest part."""
        for partition in self.partitions:
            partition.journaled = True

    def create(self, place: TopicPlace) -> None:
        """The log must keep this topic, or keep it differently."""
        self._writes.creates.append(place)

    def delete(self, topic: int, partitions: Iterable[Partition]) -> None:
        """The log must drop this topic, and what was staged for it."""
        for partition in partitions:
            self.partitions.pop(partition, None)
        self._writes.deletes.append(topic)

    def trim(self, topic: int, partition: int, start: int) -> None:
        """The log may drop what lies before an offset."""
        self._writes.trims.append((topic, partition, start))

    def take(self) -> tuple[WriteSet, list[Partition]] | None:
        """The set of this turn, and the partitions whose staged messages it holds; then a new turn begins."""
        writes, partitions = self._writes, list(self.partitions)
        if not (partitions or self.entries or writes.creates or writes.deletes or writes.trims):
            return None
        if self.entries:
            writes.entries = self.entries.copy()
            self.entries.clear()
            if self._keys_sync and not writes.sync:
                writes.sync = any(entry[0] in KEYSPACE_KINDS for entry in writes.entries)
        for partition in partitions:
            partition.seal()
            topic = partition.topic_id
            journaled = partition.sync or partition.journaled
            for base_offset, _, data in partition.sealed:
                writes.batches.append(Batch(topic, partition.number, base_offset, data, journaled))
        self._writes, self.partitions = WriteSet(), {}
        return writes, partitions
