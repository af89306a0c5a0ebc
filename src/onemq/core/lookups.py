"""Lookups: single messages that are looked up one after the other, remembered until the end of the turn.

A command that names messages by their ids looks each of them up several times: where it is, whether it is that one,
what it says. Each time the batch that holds it is read, checked and passed through up to the record, and what somebody
sent in one pipeline is one large batch. So what was found is kept, and where many are looked up in a batch, all of it.
"""

from contextlib import suppress

from onemq.core.decoding import decode_batch
from onemq.core.measure import bytes_of
from onemq.core.partition import Partition
from onemq.core.unreadable import Unreadable
from onemq.limits import LOOKUP_BYTES_MAX
from onemq.log.batch import BatchHeader
from onemq.message import Record

_MANY = 8
"""From so many on, decoding the whole batch takes less than looking for each."""


class Lookups:
    """The records that were looked up in this turn."""

    __slots__ = ("_bytes", "_counts", "_records")

    def __init__(self) -> None:
        self._records: dict[Partition, dict[int, Record]] = {}
        self._counts: dict[tuple[Partition, int], int] = {}
        """How many were looked for in each batch, by its first offset."""
        self._bytes = 0

    def get(self, partition: Partition, offset: int) -> Record | None:
        """The record, if it is known."""
        known = self._records.get(partition)
        return None if known is None else known.get(offset)

    def found(self, partition: Partition, data: bytes, position: int, header: BatchHeader, record: Record) -> None:
        """A record was found in a batch that had to be read for it."""
        place = (partition, header.base_offset)
        count = self._counts.get(place, 0) + 1
        records = [record]
        if count == _MANY:
            with suppress(Unreadable):  # this one can be read, some other cannot
                records = decode_batch(data, position, header)
        size = bytes_of(records)
        if self._bytes + size > LOOKUP_BYTES_MAX:
            self.forget()
        if size <= LOOKUP_BYTES_MAX:
            self._bytes += size
            self._counts[place] = count
            self._records.setdefault(partition, {}).update((each[0], each) for each in records)

    def forget(self) -> None:
        """The turn is over."""
        if self._bytes:
            self._records.clear()
            self._counts.clear()
            self._bytes = 0
