"""What is due soon: scheduled messages, read before their time in the order in which they lie.

Messages that are due at the same time may lie anywhere among millions. Fetched when they are due, each of them would
cost a read of its own, and the later ones would come late. So those of the next seconds are read ahead, a part in each
turn. What is missing here, because it was scheduled just now or is too much, is read when it is due.
"""

from collections.abc import Callable

from onemq.core.parking import Parking
from onemq.core.reading import Reading
from onemq.errors import Corrupt
from onemq.limits import SOON_BYTES_MAX, SOON_MESSAGES_MAX
from onemq.message import Record

WINDOW_MS = 2_000
"""Messages of so long a time are read together."""
LEAD_MS = 1_500
"""How long before the first of them is due reading begins."""
READ_PER_TURN = 100
_RECORD_BYTES = 300
"""What a record takes beside its body, about."""

Timers = Callable[[int, int, int], list[int]]
"""The ids that are due after one time and up to another, at most so many: `Wheel.ids_between`."""


class Soon:
    """The messages of the next seconds, as far as they were read."""

    least = 1_000
    """For fewer messages in a window reading ahead is not worth while."""

    def __init__(self, parking: Parking, reading: Reading, timers: Timers) -> None:
        self._parking = parking
        self._reading = reading
        self._timers = timers
        self._records: dict[int, Record] = {}
        self._bytes = 0
        self._left: list[int] = []
        """Ids that are still to be read, the lowest last."""
        self._until_ms = 0
        """The messages that are due up to this time have been looked for."""
        self._busy = False

    def tick(self, now_ms: int) -> bool:
        """Reads on. Returns whether there is more to read."""
        if not self._left and not self._busy and now_ms + LEAD_MS >= self._until_ms:
            self._look_ahead(now_ms)
        if self._left and not self._busy:
            self._read_some()
        return bool(self._left)

    def take(self, ids: list[int]) -> dict[int, Record]:
        """Those of the messages that were read; they are forgotten here."""
        if not self._records:
            return {}
        found = {id: record for id in ids if (record := self._records.pop(id, None)) is not None}
        self._bytes -= sum(map(_size, found.values()))
        return found

    def _look_ahead(self, now_ms: int) -> None:
        self._records = {id: each for id, each in self._records.items() if self._parking.is_live(id)}
        self._bytes = sum(map(_size, self._records.values()))
        start_ms = max(self._until_ms, now_ms)
        if start_ms > now_ms + LEAD_MS + WINDOW_MS:  # the clock went back
            start_ms = now_ms
        self._until_ms = start_ms + WINDOW_MS
        ids = self._timers(start_ms, self._until_ms, SOON_MESSAGES_MAX)
        if len(ids) >= self.least:
            self._left = sorted(ids, reverse=True)

    def _read_some(self) -> None:
        part = self._left[: -READ_PER_TURN - 1 : -1]
        del self._left[-READ_PER_TURN:]
        self._busy = True

        def found(records: list[Record]) -> None:
            self._busy = False
            self._records.update((record[0], record) for record in records)
            self._bytes += sum(map(_size, records))
            if self._bytes > SOON_BYTES_MAX:
                self._left.clear()

        try:
            self._reading.records_at(self._parking.partition, part, found)
        except Corrupt:  # told when they are due
            self._busy = False
            self._left.clear()


def _size(record: Record) -> int:
    return len(record[3] or b"") + _RECORD_BYTES
