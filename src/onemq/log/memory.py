"""The log in memory: the same contract without a disk, for tests and for data that may go.

What is appended stays until it is trimmed or the process ends.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator

from onemq.errors import NotFound, OffsetOutOfRange, OneMQError
from onemq.log.batch import read_header
from onemq.log.cleaning import KeepRecord, by_offset, last_by_key, thin
from onemq.log.engine import Done, Keep, Replay, WriteSet
from onemq.log.index import NO_TIME
from onemq.log.records import first_since


class MemoryPartition:
    """Batches of one partition, in order."""

    def __init__(self) -> None:
        self.batches: list[bytes] = []
        self.ends: list[int] = []
        """Next offset after each batch."""
        self.start = self.end = 0
        self.stored_bytes = 0

    def append(self, base_offset: int, data: bytes) -> None:
        """Adds a batch at the end."""
        assert base_offset >= self.end, "a batch must come after what is there"
        self.batches.append(data)
        self.end = read_header(data).next_offset
        self.ends.append(self.end)
        self.stored_bytes += len(data)

    def read(self, offset: int, bytes_max: int) -> bytes:
        """See `Log.read`."""
        if not self.start <= offset <= self.end:
            raise OffsetOutOfRange(f"offset {offset} is not in {self.start} to {self.end}")
        first = last = bisect_right(self.ends, offset)
        size = 0
        while last < len(self.batches) and (not size or size + len(self.batches[last]) <= bytes_max):
            size += len(self.batches[last])
            last += 1
        return b"".join(self.batches[first:last])

    def offset_at(self, timestamp_ms: int) -> int:
        """See `Log.offset_at`."""
        for data in self.batches:
            found = first_since(data, 0, read_header(data), timestamp_ms, self.start)
            if found is not None:
                return found
        return self.end

    def latest_before(self, offset: int) -> int:
        """See `Log.latest_before`."""
        whole = bisect_right(self.ends, offset)
        return max([read_header(data).max_timestamp_ms for data in self.batches[:whole]], default=NO_TIME)

    def trim(self, start: int) -> None:
        """Drops the batches that lie wholly before an offset."""
        self.start = max(self.start, min(start, self.end))
        gone = bisect_right(self.ends, self.start)
        self.stored_bytes -= sum(map(len, self.batches[:gone]))
        del self.batches[:gone], self.ends[:gone]

    def expired(self, before_ms: int | None, bytes_max: int | None, below: int | None) -> int:
        """See `Log.expired`."""
        start, stored = self.start, self.stored_bytes
        for data, end in zip(self.batches, self.ends, strict=True):
            too_old = before_ms is not None and read_header(data).max_timestamp_ms < before_ms
            too_large = bytes_max is not None and stored - len(data) >= bytes_max
            unneeded = below is not None and end <= below
            if not (too_old or too_large or unneeded):
                break
            start, stored = end, stored - len(data)
        return start

    def clean(self, keep: KeepRecord) -> int:
        """Drops records that are not kept; returns the bytes freed."""
        before = self.stored_bytes
        kept = [
            (batch, end)
            for data, end in zip(self.batches, self.ends, strict=True)
            if (batch := thin(data, 0, read_header(data), keep))
        ]
        self.batches, self.ends = [batch for batch, _ in kept], [end for _, end in kept]
        self.stored_bytes = sum(map(len, self.batches))
        return before - self.stored_bytes


class MemoryLog:
    """`Log` without files."""

    failure: OneMQError | None = None

    def __init__(self) -> None:
        self._topics: dict[int, list[MemoryPartition]] = {}

    def replay(self) -> Replay:
        """Nothing: a log in memory starts empty."""
        nothing: Iterator[list[list[object]]] = iter(())
        return Replay(None, nothing)

    def append(self, writes: WriteSet, done: Done) -> None:
        """See `Log.append`."""
        self._check(writes)
        for place in writes.creates:
            partitions = self._topics.setdefault(place.id, [])
            partitions += [MemoryPartition() for _ in range(len(partitions), place.partitions)]
        for batch in writes.batches:
            self._partition(batch.topic, batch.partition).append(batch.base_offset, batch.data)
        for topic, partition, start in writes.trims:
            self._partition(topic, partition).trim(start)
        for topic in writes.deletes:
            self._topics.pop(topic, None)
        done(None)

    def _check(self, writes: WriteSet) -> None:
        """Raises `NotFound` before anything is changed."""
        made = {place.id: place.partitions for place in writes.creates}
        wanted = [(batch.topic, batch.partition) for batch in writes.batches]
        for topic, partition in wanted + [(topic, partition) for topic, partition, _ in writes.trims]:
            if partition >= made.get(topic, 0):
                self._partition(topic, partition)

    def read(self, topic: int, partition: int, offset: int, bytes_max: int, then: Callable[[bytes], None]) -> None:
        """See `Log.read`."""
        then(self._partition(topic, partition).read(offset, bytes_max))

    def stretch(self, topic: int, partition: int, offset: int, bytes_max: int, boot: int) -> None:
        """None: there are no files."""

    def bounds(self, topic: int, partition: int) -> tuple[int, int]:
        """See `Log.bounds`."""
        found = self._partition(topic, partition)
        return found.start, found.end

    def offset_at(self, topic: int, partition: int, timestamp_ms: int, then: Callable[[int], None]) -> None:
        """See `Log.offset_at`."""
        then(self._partition(topic, partition).offset_at(timestamp_ms))

    def expired(
        self, topic: int, partition: int, before_ms: int | None, bytes_max: int | None, below: int | None
    ) -> int:
        """See `Log.expired`."""
        return self._partition(topic, partition).expired(before_ms, bytes_max, below)

    def clean(self, topic: int, partition: int, keep: Keep, then: Callable[[int], None]) -> None:
        """See `Log.clean`."""
        then(self._partition(topic, partition).clean(by_offset(keep)))

    def compact(self, topic: int, partition: int, tombstones_before_ms: int, then: Callable[[int], None]) -> None:
        """See `Log.compact`."""
        found = self._partition(topic, partition)
        scan = [(read_header(data), data, 0) for data in found.batches]
        then(found.clean(last_by_key([scan], tombstones_before_ms)))

    def latest_before(self, topic: int, partition: int, offset: int) -> int:
        """See `Log.latest_before`."""
        return self._partition(topic, partition).latest_before(offset)

    def stored_bytes(self, topic: int, partition: int) -> int:
        """See `Log.stored_bytes`."""
        return self._partition(topic, partition).stored_bytes

    def free_ratio(self) -> float:
        """Always all: memory has no watermark of ours."""
        return 1.0

    def try_again(self) -> bool:
        """Appending always works."""
        return True

    def checkpoint_due(self) -> bool:
        """Never: there is nothing to start from again."""
        return False

    def checkpoint(self, state: Iterable[bytes]) -> None:
        """Keeps nothing."""

    def close(self) -> None:
        """Forgets all."""
        self._topics.clear()

    def _partition(self, topic: int, number: int) -> MemoryPartition:
        try:
            return self._topics[topic][number]
        except (KeyError, IndexError):
            raise NotFound(f"there is no partition {number} of topic number {topic}") from None
