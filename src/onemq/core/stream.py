"""A stream: a topic with one partition whose messages have ids that grow.

A message whose sender left the
choice to the stream has the time at which it was stored and its offset, so that nothing needs to be kept
for it; any other id stands in the message's first header. Ids grow with the offsets, hence an id is found
by bisection, among the messages that were not deleted.
"""

from collections.abc import Iterator
from itertools import chain, islice, starmap
from typing import TYPE_CHECKING

from onemq.core.cursor import Cursor
from onemq.core.group import Group
from onemq.core.measure import at_once, bytes_of
from onemq.core.reading import Reading
from onemq.core.stream_ids import ID_MAX, NUMBER_BITS, NUMBER_MAX, id_of
from onemq.core.unreadable import Unreadable
from onemq.core.window import Window
from onemq.errors import Corrupt
from onemq.message import Record

if TYPE_CHECKING:
    from onemq.core.topics import Topic

_PAGE_BYTES = 64 * 1024
_BLOCK = 128


class Stream:
    """The messages of a topic by their ids."""

    __slots__ = (
        "_last_id", "_latest_end", "_latest_ms", "_reading", "_seen_end", "added_before", "has_groups_ahead", "key",
        "max_deleted_id", "partition", "plain_end", "plain_ms", "topic", "window",
    )  # fmt: skip

    def __init__(self, topic: "Topic", reading: Reading) -> None:
        self.topic = topic
        self.key = topic.name.encode()
        self.partition = topic.partitions[0]
        self.max_deleted_id = 0
        self.added_before = 0
        """How many messages count as added before offset 0."""
        self.window: Window | None = None
        """The messages that its producers named, if any did."""
        self.has_groups_ahead = True
        """Whether a group may go on only after an id that is not there yet."""
        self._reading = reading
        self._last_id = 0
        self._seen_end = 0
        self._latest_ms, self._latest_end = 0, -1
        """The highest time of all messages, as of when the partition ended there."""
        self.plain_ms = 0
        self.plain_end = -1
        """While the partition ends at `plain_end`, a plain id from this time on is higher than all others.
        Adding such a message changes only these two."""

    def __len__(self) -> int:
        partition = self.partition
        gone = partition.deleted.count_done_above_low if partition.deleted is not None else 0
        return partition.end - partition.start - gone

    @property
    def last_id(self) -> int:
        """The highest id that there ever was."""
        end = self.partition.end
        if self._seen_end == end:
            return self._last_id
        if self.plain_end == end:
            self._last_id = self.plain_ms << NUMBER_BITS | end - 1
        else:  # others send to the topic, too
            self._last_id = max(self._last_id, self.id_before(end))
        self._seen_end = end
        return self._last_id

    @last_id.setter
    def last_id(self, id: int) -> None:
        self._last_id = id
        self._seen_end = self.plain_end = self.partition.end
        self.plain_ms = (id >> NUMBER_BITS) + (id & NUMBER_MAX >= self._seen_end)
        if self.has_groups_ahead:
            self.plain_end = -1

    def restore_last_id(self, id: int, end: int) -> None:
        """The last id when the partition ended there; newer messages may have higher ones."""
        self._last_id = id
        self._seen_end = end
        self.plain_end = -1

    @property
    def added(self) -> int:
        """How many messages were ever added."""
        return self.partition.end + self.added_before

    def time_for(self, max_timestamp_ms: int) -> int:
        """The time that makes the ids of the next batch, if it is one that is kept as its producer sealed it."""
        end = self.partition.end
        if self._latest_end != end:
            self._latest_ms, self._latest_end = self._reading.latest_before(self.partition, end), end
        return max(self._latest_ms, max_timestamp_ms)

    def added_foreign(self, time_ms: int) -> None:
        """Such a batch was added, with that time."""
        self._latest_ms, self._latest_end = time_ms, self.partition.end
        self.last_id = time_ms << NUMBER_BITS | self.partition.end - 1

    def next_id(self, now_ms: int) -> int:
        """The id of a message whose sender leaves the choice to the stream; 0 if there is none left."""
        last = self.last_id
        id = now_ms << NUMBER_BITS | self.partition.end
        if id > last:
            return id
        return last + 1 if last < ID_MAX else 0

    def find(self, id: int) -> int:
        """The first offset of that id or a higher one; the end if there is none."""
        partition = self.partition
        if id > self.last_id:
            return partition.end
        low, high = partition.start, partition.end
        if id >> NUMBER_BITS == 0 and id <= 1:
            return low
        guess = id & NUMBER_MAX  # its offset, if the stream made the id; next, as far from there as the ids are apart
        guesses = 3
        while low < high:
            middle = guess if guesses > 0 and low <= guess < high else (low + high) // 2
            record = self._at(middle)
            if record is None:
                high = middle
                continue
            other = id_of(record)
            if other == id:
                return record[0]
            if other > id:
                high = middle
            else:
                low = record[0] + 1
            apart = id - other
            guess = record[0] + apart if abs(apart) <= NUMBER_MAX else high - 1 if apart < 0 else low
            guesses -= 1
        found = self._at(low) if partition.deleted is not None else None
        return low if found is None else found[0]

    def offset_of(self, id: int) -> int | None:
        """The offset of the message that has that id, if there is one."""
        offset = self.find(id)
        if offset >= self.partition.end:
            return None
        record = self._at(offset)
        return record[0] if record is not None and id_of(record) == id else None

    def offset_after(self, count: int) -> int:
        """The offset before which there are so many messages."""
        partition = self.partition
        offset = min(partition.start + count, partition.end)
        deleted = partition.deleted
        if deleted is None or not count:
            return offset
        offset = partition.start
        while count and offset < partition.end:
            count -= not deleted.is_done(offset)
            offset += 1
        return offset

    def count_before(self, offset: int) -> int:
        """How many messages there are before an offset that is not before the first one."""
        return len(self) - (self.partition.end - offset - self.deleted_from(offset))

    def deleted_from(self, offset: int) -> int:
        """How many of the messages from an offset on were deleted."""
        deleted = self.partition.deleted
        return 0 if deleted is None else deleted.count_done_from(max(offset, self.partition.start))

    def top_id(self) -> int:
        """The highest id of a message that is there; 0 without any."""
        last = self.last()
        return id_of(last) if last is not None else 0

    def id_before(self, offset: int) -> int:
        """The id of the newest message before an offset, deleted or not; 0 without any. Damage is passed over: who
        trims, or keeps the state, must not stop because of it."""
        partition = self.partition
        while offset > partition.start:
            start = max(partition.start, offset - _BLOCK)
            try:
                last = self._reading.page_at(partition, [offset - 1], deleted=True, passing=False)
                last = last or self._reading.page_at(partition, list(range(start, offset)), deleted=True)
            except Corrupt as damage:
                if partition.floor_ms < 0 and not isinstance(damage, Unreadable):
                    return self._id_before_damage(offset)
                return self._reading.latest_before(partition, offset) << NUMBER_BITS | offset - 1
            if last:
                return id_of(last[-1])
            offset = start
        return 0

    def _id_before_damage(self, end: int) -> int:
        """The same where some of what lies before the offset cannot be read: in longer and longer steps, since a
        damaged batch may be long."""
        start, step = end, 1
        while start > self.partition.start:
            start, end, step = max(start - step, self.partition.start), start, 2 * step
            id = self._last_id_among(start, end)
            if id:
                return id
        return 0

    def _last_id_among(self, offset: int, end: int) -> int:
        """The id of the last message from an offset to before another that can be read; 0 without any."""
        id = 0
        while offset < end:
            try:
                page, offset = self._reading.page(self.partition, offset, _PAGE_BYTES, deleted=True)
            except Corrupt as damage:
                if damage.resume_offset is None or damage.resume_offset <= offset:
                    return id
                page, offset = [], damage.resume_offset
            id = max([id_of(record) for record in page if record[0] < end], default=id)
        return id

    def is_live(self, offset: int) -> bool:
        """Whether the message is there and was not deleted."""
        partition = self.partition
        if not partition.start <= offset < partition.end:
            return False
        return partition.deleted is None or not partition.deleted.is_done(offset)

    def offsets(self, end: int, most: int) -> Iterator[int]:
        """The offsets of the messages before an offset, up to so many."""
        partition = self.partition
        if partition.deleted is None:
            return islice(range(partition.start, end), most)
        return islice(chain.from_iterable(starmap(range, partition.deleted.ranges_live(most, end))), most)

    def records(self, offset: int, most: int | None = None) -> Iterator[Record]:
        """The messages from an offset on. With `most`, no more than about so many are needed."""
        offset = max(offset, self.partition.start)
        while offset < self.partition.end:
            page, offset = self._reading.page(self.partition, offset, _PAGE_BYTES, most=most)
            yield from page

    def records_back(self, end: int) -> Iterator[Record]:
        """The messages before an offset, the last one first."""
        block = 1  # mostly the last one is enough, and messages may be large
        while end > self.partition.start:
            start = max(self.partition.start, end - block)
            yield from reversed(self.between(start, end))
            end, block = start, min(2 * block, _BLOCK)

    def between(self, start: int, end: int) -> list[Record]:
        """The messages from an offset to before another."""
        found: list[Record] = []
        start, end = max(start, self.partition.start), min(end, self.partition.end)
        while start < end:
            page, start = self._reading.page_among(self.partition, list(range(start, end)), _PAGE_BYTES)
            found += page
        return found

    def records_at(self, offsets: list[int]) -> dict[int, Record]:
        """The messages at offsets, without those that are gone."""
        return {record[0]: record for record in self._reading.page_at(self.partition, sorted(offsets))}

    def first_at(self, offsets: list[int], bytes_max: int) -> tuple[list[int], dict[int, Record]]:
        """The first of some offsets and their messages, as many as about so many bytes are."""
        found: dict[int, Record] = {}
        step, end = at_once(self.topic.config.message_bytes_max), 0
        while end < len(offsets) and bytes_max > 0:
            records = self.records_at(offsets[end : end + step])
            bytes_max -= bytes_of(records.values())
            found.update(records)
            end += step
        return offsets[:end], found

    def first(self) -> Record | None:
        """The oldest message."""
        return next(self.records(self.partition.start, 1), None)

    def last(self) -> Record | None:
        """The newest message."""
        return next(self.records_back(self.partition.end), None)

    def ids_of(self, cursor: Cursor, offsets: list[int]) -> dict[int, int]:
        """The ids of messages that a group has in flight, also of those that were deleted since."""
        found = {record[0]: id_of(record) for record in self._reading.page_at(self.partition, sorted(offsets), True)}
        ghosts = cursor.ghosts
        if ghosts:
            found.update((offset, ghosts[offset]) for offset in offsets if offset in ghosts)
        return found

    def cursor(self, group: Group) -> Cursor:
        """The group's position."""
        return group.cursors[0]

    def _at(self, offset: int) -> Record | None:
        """The first message at an offset or after it."""
        partition, deleted = self.partition, self.partition.deleted
        while True:
            if deleted is not None:
                offset = deleted.next_live(offset)
            if offset >= partition.end:
                return None
            exact = self._reading.page_at(partition, [offset])
            if exact:
                return exact[0]
            page, offset = self._reading.page(partition, offset)
            if page:
                return page[0]
