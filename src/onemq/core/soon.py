"""What is due soon: scheduled messages, read before their time in the order in which they lie.

Messages that are due at the same time may lie anywhere among millions. Fetched when they are due, each of them would
cost a read of its own, and the later ones would come late. So those of the next seconds are looked for and read ahead,
a part in each turn. What is missing here, because it was scheduled just now or is too much, is read when it is due.
"""

from collections.abc import Callable

from onemq.core.parking import Parcel, Parking
from onemq.core.reading import Reading
from onemq.errors import Corrupt
from onemq.limits import SOON_BYTES_MAX, SOON_MESSAGES_MAX
from onemq.message import Record

WINDOW_MS = 2_000
"""Messages of so long a time are read together."""
SLICE_MS, LOOK_PER_TURN = 100, 2_000
"""Timers are looked for by so long a time, until so many are found in one turn."""
LEAD_MS = 1_500
"""How long before the first of them is due looking begins."""
READ_PER_TURN = 100
_PARCEL_BYTES = 300
"""What a message takes beside its body and headers, about."""

Timers = Callable[[int, int, int], list[int]]
"""The ids that are due after one time and up to another, at most so many: `Wheel.ids_between`."""


class Soon:
    """The messages of the next seconds, as far as they were read."""

    least = 1_000
    """For fewer messages in a window reading ahead is not worth while."""

    def __init__(self, parking: Parking, reading: Reading, timers: Timers, pack: Callable[[Record], Parcel]) -> None:
        self._parking = parking
        self._reading = reading
        self._timers = timers
        self._pack = pack
        self._parcels: dict[int, Parcel] = {}
        """Those of the window that is read now, or was last."""
        self._before: dict[int, Parcel] = {}
        """Those of the window before it, and late ones."""
        self._bytes = 0
        self._found: list[int] = []
        """Ids of the window as far as it was looked through."""
        self._left: list[int] = []
        """Ids that are still to be read, the lowest last."""
        self._looked_ms = self._until_ms = 0
        """The window was looked through up to the one, and goes up to the other."""
        self._busy = False

    def tick(self, now_ms: int) -> bool:
        """Looks and reads on. Returns whether there is more to do."""
        if self._is_time(now_ms):
            self._begin(now_ms)
        if self._looked_ms < self._until_ms:
            self._look_on()
        if self._left and not self._busy:
            self._read_some()
        return bool(self._left) or self._looked_ms < self._until_ms

    def take(self, ids: list[int]) -> dict[int, Parcel]:
        """Those of the messages that were read; they are forgotten here."""
        taken: dict[int, Parcel] = {}
        for parcels in (self._before, self._parcels):
            if parcels:
                taken |= {id: parcel for id in ids if (parcel := parcels.pop(id, None)) is not None}
        self._bytes -= sum(map(_size, taken.values()))
        return taken

    def forget(self, id: int) -> None:
        """The message is due at another time."""
        self.take([id])

    def _is_time(self, now_ms: int) -> bool:
        """Whether the next window is to begin: its time came, or the clock went back."""
        if self._left or self._busy or self._looked_ms < self._until_ms:
            return False
        return not now_ms + LEAD_MS < self._until_ms <= now_ms + LEAD_MS + WINDOW_MS

    def _begin(self, now_ms: int) -> None:
        """The next window. What is left of the last but one is late, or was cancelled."""
        late = {id: parcel for id, parcel in self._before.items() if self._parking.is_live(id)}
        self._bytes -= sum(map(_size, self._before.values())) - sum(map(_size, late.values()))
        self._before, self._parcels = late | self._parcels, {}
        clock_went_back = self._until_ms > now_ms + LEAD_MS + WINDOW_MS
        self._looked_ms = now_ms if clock_went_back else max(self._until_ms, now_ms)
        self._until_ms = self._looked_ms + WINDOW_MS
        self._found = []

    def _look_on(self) -> None:
        enough = len(self._found) + LOOK_PER_TURN
        while self._looked_ms < self._until_ms and len(self._found) < enough:
            after_ms = self._looked_ms
            self._looked_ms = min(after_ms + SLICE_MS, self._until_ms)
            self._found += self._timers(after_ms, self._looked_ms, max(SOON_MESSAGES_MAX - len(self._found), 0))
        if self._looked_ms == self._until_ms:
            if len(self._found) >= self.least:
                self._left = sorted(self._found, reverse=True)
            self._found = []

    def _read_some(self) -> None:
        part = self._left[: -READ_PER_TURN - 1 : -1]
        del self._left[-READ_PER_TURN:]
        self._busy = True
        parcels = self._parcels

        def found(records: list[Record]) -> None:
            self._busy = False
            for record in records:
                parcel = parcels[record[0]] = self._pack(record)
                self._bytes += _size(parcel)
            if self._bytes > SOON_BYTES_MAX:
                self._left.clear()

        try:
            self._reading.records_at(self._parking.partition, part, found)
        except Corrupt:  # told when they are due
            self._busy = False
            self._left.clear()


def _size(parcel: Parcel) -> int:
    return len(parcel[2] or b"") + len(parcel[3]) + _PARCEL_BYTES
