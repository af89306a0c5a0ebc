"""Lookups: single messages that are looked up one after the other, remembered until the end of the turn.

A command that names messages by their ids looks each of them up several times: where it is, whether it is that one,
what it says.
"""

from onemq.core.measure import bytes_of
from onemq.core.partition import Partition
from onemq.limits import LOOKUP_BYTES_MAX
from onemq.message import Record


class Lookups:
    """The records that were looked up in this turn."""

    __slots__ = ("_bytes", "_records")

    def __init__(self) -> None:
        self._records: dict[Partition, dict[int, Record]] = {}
        self._bytes = 0

    def get(self, partition: Partition, offset: int) -> Record | None:
        """The record, if it is known."""
        known = self._records.get(partition)
        return None if known is None else known.get(offset)

    def add(self, partition: Partition, record: Record) -> None:
        """A record was found."""
        self._bytes += bytes_of((record,))
        if self._bytes > LOOKUP_BYTES_MAX:
            self.forget()
        else:
            self._records.setdefault(partition, {})[record[0]] = record

    def forget(self) -> None:
        """The turn is over."""
        if self._bytes:
            self._records.clear()
            self._bytes = 0
