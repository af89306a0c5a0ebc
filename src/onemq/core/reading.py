"""Reading: records by offset, from the log and from what this turn has staged.

Batches that are stored as their producer sealed them have the times that it gave their records, and these may go back.
In a stream, where ids are made of times and must rise, all records of such a batch have one time instead: the highest
of the batch, or of what lies before it if that is higher. Nothing is stored for it: the headers of the batches tell.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator

from onemq.core.decoded import RECORDS_MIN, DecodedBatches
from onemq.core.decoding import decode_batch, decode_record, decode_records
from onemq.core.lookups import Lookups
from onemq.core.partition import Partition
from onemq.core.unreadable import Unreadable, UnreadableBatches
from onemq.errors import Corrupt, OffsetOutOfRange
from onemq.limits import RECEIVE_BYTES_MAX
from onemq.log.batch import COMPRESSION_MASK, NOT_PERSISTENT, STAMPED, BatchHeader, read_header, walk
from onemq.log.engine import Log
from onemq.log.stretch import Stretch
from onemq.message import Record

_READ_ONE_BYTES = 4096
_ONE_BATCH_BYTES = 1
"""Asks for the batch that holds an offset and no more."""
_FAR = 128
"""Offsets further apart are read one by one."""
_TOGETHER_MAX = 1_000


def is_void(partition: Partition, header: BatchHeader) -> bool:
    """Whether the messages of a batch did not survive the restart because they were not persistent."""
    return bool(header.attributes & NOT_PERSISTENT) and header.base_offset < partition.boot


def _may_hold(data: bytes, position: int, header: BatchHeader, needle: bytes) -> bool:
    """Whether some bytes may be in the records of a batch: a look at them is much quicker than decoding."""
    return bool(header.attributes & COMPRESSION_MASK) or data.find(needle, position, position + header.size) >= 0


def _undeleted(partition: Partition, records: list[Record]) -> list[Record]:
    if partition.deleted is None:
        return records
    is_done = partition.deleted.is_done
    return [record for record in records if not is_done(record[0])]


def _bytes_together(descending: list[int]) -> int:
    """How much to read for the lowest of some offsets and those that are not far behind it: what lies between two
    that are far from each other would be read and checked in vain."""
    first = last = descending[-1]
    for offset in descending[-2:-_TOGETHER_MAX:-1]:
        if offset - last > _FAR:
            break
        last = offset
    return max(min((last - first + 1) * 128, RECEIVE_BYTES_MAX), _READ_ONE_BYTES) if last > first else _ONE_BATCH_BYTES


class _RecordsAt:
    """The records at some offsets, read step by step. A class and not nested functions, which would refer to each
    other and so stay in memory until they are collected, many at a time."""

    __slots__ = ("_arrived", "_found", "_is_lookup", "_left", "_looping", "_partition", "_passing", "_reading", "_then")

    def __init__(
        self,
        reading: "Reading",
        partition: Partition,
        left: list[int],
        then: Callable[[list[Record]], None],
        passing: bool,
    ) -> None:
        self._reading = reading
        self._partition = partition
        self._left = left
        """Descending."""
        self._then = then
        self._passing = passing
        """Whether batches that cannot be decoded hold nothing; else they raise."""
        self._is_lookup = len(left) == 1
        self._found: list[Record] = []
        self._arrived = self._looping = False

    def go_on(self) -> None:
        """Reads until an answer takes longer, or all is there."""
        # A loop and not a chain of calls: most engines answer at once, and there may be many steps.
        self._looping = self._arrived = True
        left = self._left
        while left and self._arrived:
            self._arrived = False
            self._reading.batches(self._partition, left[-1], _bytes_together(left), self._take)
        self._looping = False
        if self._arrived:
            self._then(self._found)

    def _take(self, data: bytes) -> None:
        self._arrived = True
        left, partition = self._left, self._partition
        for position, header in self._reading.walk(partition, data):
            void = is_void(partition, header)
            wanted: list[int] = []
            while left and left[-1] < header.next_offset:
                offset = left.pop()
                if not void and offset >= header.base_offset and (not wanted or wanted[-1] != offset):
                    wanted.append(offset)
            try:
                if len(wanted) > 1:  # together: the way to each leads past all that lie before it
                    self._found += decode_records(data, position, header, wanted)
                elif wanted:
                    record = decode_record(data, position, header, wanted[0])
                    if record is not None:
                        self._found.append(record)
                    if self._is_lookup:  # the next one may find it decoded
                        self._reading.decoded.part_of(partition, data, position, header, 1)
            except Unreadable as damage:
                self._pass(damage)
        if not data:
            left.clear()
        if not self._looping:
            self.go_on()

    def _pass(self, damage: Unreadable) -> None:
        """Nothing of the batch is found."""
        if not self._passing:
            raise damage
        self._reading.unreadable.note(self._partition, damage)
        while self._left and self._left[-1] < damage.next_offset:
            self._left.pop()
        while self._found and self._found[-1][0] >= damage.base_offset:
            self._found.pop()


class Reading:
    """Reads partitions."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self.unreadable = UnreadableBatches()
        self.decoded = DecodedBatches()
        self.lookups = Lookups()

    def batches(self, partition: Partition, offset: int, bytes_max: int, then: Callable[[bytes], None]) -> None:
        """Whole batches, the first of which holds the offset or follows it; none at the end."""
        if not partition.start <= offset <= partition.end:
            raise OffsetOutOfRange(f"offset {offset} is not in {partition.start} to {partition.end}")
        staged = partition.staged_from(offset, bytes_max)
        if staged is not None:
            then(staged)
        elif offset == partition.end:
            then(b"")
        else:
            self._read_log(partition, offset, bytes_max, then)

    def stretch(self, partition: Partition, offset: int, bytes_max: int) -> tuple[Stretch, int] | None:
        """As `batches`, but unread: whole batches without void messages, and the offset behind them. None where they
        must be read."""
        if not partition.start <= offset < partition.logged_end:
            return None
        return self._log.stretch(partition.topic_id, partition.number, offset, bytes_max, partition.boot)

    def _read_log(self, partition: Partition, offset: int, bytes_max: int, then: Callable[[bytes], None]) -> None:
        logged_end = partition.logged_end

        def found(data: bytes) -> None:
            if data or logged_end == partition.end:
                then(data)
            else:
                self.batches(partition, logged_end, bytes_max, then)  # the log ends in a gap

        self._log.read(partition.topic_id, partition.number, offset, bytes_max, found)

    def walk(self, partition: Partition, data: bytes) -> Iterator[tuple[int, BatchHeader]]:
        """(position, header) of batches of a partition that were read, with the times that their records have to those
        who read single ones."""
        return walk(data) if partition.floor_ms < 0 else self._walk_timed(partition, data)

    def _walk_timed(self, partition: Partition, data: bytes) -> Iterator[tuple[int, BatchHeader]]:
        latest_ms = -1
        for position, header in walk(data):
            if latest_ms < 0 and header.leader_epoch < 0:
                latest_ms = self.latest_before(partition, header.base_offset)
            if latest_ms >= 0 and header.max_timestamp_ms > latest_ms:
                latest_ms = header.max_timestamp_ms
            if header.leader_epoch < 0:
                header = header._replace(attributes=header.attributes | STAMPED, max_timestamp_ms=latest_ms)
            yield position, header

    def latest_before(self, partition: Partition, offset: int) -> int:
        """The highest time of all the batches that a stream ever had before an offset; at least 0."""
        return max(partition.floor_ms, 0, self.latest_kept_before(partition, offset))

    def latest_kept_before(self, partition: Partition, offset: int) -> int:
        """The highest time of the batches that lie before an offset; -1 without any."""
        latest_ms = -1
        if not partition.all_staged:
            logged_end = min(offset, partition.logged_end)
            latest_ms = max(latest_ms, self._log.latest_before(partition.topic_id, partition.number, logged_end))
        for _, next_offset, batch in partition.sealed:
            if next_offset <= offset:
                latest_ms = max(latest_ms, read_header(batch).max_timestamp_ms)
        return latest_ms

    def records(
        self,
        partition: Partition,
        offset: int,
        bytes_max: int,
        then: Callable[[list[Record], int], None],
        deleted: bool = False,
        needle: bytes | None = None,
        most: int | None = None,
    ) -> None:
        """Records from an offset on, and the offset after what was read: beyond the last record if the
        batches end in a gap or hold void messages. `deleted` asks for those that were deleted, too; with a
        `needle`, batches that cannot hold it are passed over without decoding them. With `most`, no more than so many
        are given."""

        def give(found: list[Record], next_offset: int) -> None:
            then(found if deleted else _undeleted(partition, found), next_offset)

        def decoded(data: bytes) -> None:
            found: list[Record] = []
            next_offset = offset
            for position, header in self.walk(partition, data):
                end = header.next_offset
                if not is_void(partition, header) and (needle is None or _may_hold(data, position, header, needle)):
                    try:
                        if most is None:
                            found += decode_batch(data, position, header)
                        else:
                            first = max(offset, header.base_offset)
                            here, end = self._first_of(partition, data, position, header, first, most - len(found))
                            found += here
                    except Corrupt:
                        if next_offset > offset:
                            break  # first what lies before it
                        raise
                next_offset = end
                if len(found) == most:
                    break
            if found and found[0][0] < offset:
                found = [record for record in found if record[0] >= offset]
            give(found, next_offset if data else partition.end)

        batch = None if most is None else self.decoded.holding(partition, offset)
        if batch is not None and most is not None:
            give(*batch.first(offset, most))
        else:
            self.batches(partition, offset, bytes_max, decoded)

    def _first_of(
        self, partition: Partition, data: bytes, position: int, header: BatchHeader, offset: int, most: int
    ) -> tuple[list[Record], int]:
        """Up to so many records of a batch from an offset on, and the offset behind them."""
        if header.record_count < max(RECORDS_MIN, most):
            records = [record for record in decode_batch(data, position, header) if record[0] >= offset][:most]
            return records, records[-1][0] + 1 if len(records) == most else header.next_offset
        batch = self.decoded.part_of(partition, data, position, header, most)
        if batch is not None:
            return batch.first(offset, most)
        end = min(offset + most, header.next_offset)
        return decode_records(data, position, header, list(range(offset, end))), end

    def records_among(
        self, partition: Partition, offsets: list[int], bytes_max: int, then: Callable[[list[Record], int], None]
    ) -> None:
        """As `records`, from the first of ascending offsets on, but only the records at these offsets."""

        def decoded(data: bytes) -> None:
            found: list[Record] = []
            next_offset = offsets[0]
            for position, header in self.walk(partition, data):
                first = bisect_left(offsets, header.base_offset)
                wanted = offsets[first : bisect_left(offsets, header.next_offset)]
                if wanted and not is_void(partition, header):
                    try:
                        batch = self.decoded.part_of(partition, data, position, header, len(wanted))
                        if batch is None:
                            found += decode_records(data, position, header, wanted)
                        else:
                            found += batch.at(wanted)
                    except Corrupt:
                        if next_offset > offsets[0]:
                            break  # first what lies before it
                        raise
                next_offset = header.next_offset
            then(_undeleted(partition, found), next_offset if data else partition.end)

        held = self.decoded.holding(partition, offsets[0])
        if held is None:
            self.batches(partition, offsets[0], bytes_max, decoded)
        else:
            found = held.at(offsets[: bisect_left(offsets, held.next_offset)])
            then(_undeleted(partition, found), held.next_offset)

    def page(
        self,
        partition: Partition,
        offset: int,
        bytes_max: int = _READ_ONE_BYTES,
        deleted: bool = False,
        most: int | None = None,
    ) -> tuple[list[Record], int]:
        """What `records` gives, at once: for those who cannot go on without. The engine must be one that
        answers at once. A batch that cannot be decoded is passed over."""
        return self._at_once(
            partition, lambda then: self.records(partition, offset, bytes_max, then, deleted, most=most)
        )

    def page_among(self, partition: Partition, offsets: list[int], bytes_max: int) -> tuple[list[Record], int]:
        """What `records_among` gives, likewise."""
        return self._at_once(partition, lambda then: self.records_among(partition, offsets, bytes_max, then))

    def _at_once(
        self, partition: Partition, read: Callable[[Callable[[list[Record], int], None]], None]
    ) -> tuple[list[Record], int]:
        answers: list[tuple[list[Record], int]] = []
        try:
            read(lambda *answer: answers.append(answer))
        except Unreadable as damage:
            self.unreadable.note(partition, damage)
            return [], damage.next_offset
        assert answers, "this engine reads later, not at once"
        return answers[0]

    def page_at(
        self, partition: Partition, offsets: list[int], deleted: bool = False, passing: bool = True
    ) -> list[Record]:
        """What `records_at` gives, at once. Unless told otherwise, batches that cannot be decoded are passed over."""
        answers: list[list[Record]] = []
        self.records_at(partition, offsets, answers.append, deleted, passing)
        assert answers, "this engine reads later, not at once"
        return answers[0]

    def records_at(
        self,
        partition: Partition,
        offsets: list[int],
        then: Callable[[list[Record]], None],
        deleted: bool = False,
        passing: bool = False,
    ) -> None:
        """The records at ascending offsets, each once; those that are gone are left out, and if `passing` says so,
        those of batches that cannot be decoded, which raise `Unreadable` else."""
        left = [offset for offset in reversed(offsets) if partition.start <= offset < partition.end]
        if partition.deleted is not None and not deleted:
            left = [offset for offset in left if not partition.deleted.is_done(offset)]
        if len(left) == 1:
            self._look_up(partition, left[0], then, passing)
        else:
            _RecordsAt(self, partition, left, then, passing).go_on()

    def _look_up(
        self, partition: Partition, offset: int, then: Callable[[list[Record]], None], passing: bool
    ) -> None:
        """The record at one offset."""
        known = self.lookups.get(partition, offset)
        if known is not None:
            then([known])
            return

        def found(records: list[Record]) -> None:
            if records:
                self.lookups.add(partition, records[0])
            then(records)

        batch = self.decoded.holding(partition, offset)
        if batch is not None:
            then(batch.at([offset]))
        else:
            _RecordsAt(self, partition, [offset], found, passing).go_on()
