"""The supply: what cursors hand out next is read here, and what turns out to be damaged is passed over.

A read may take longer than the request that it is for can wait. Then the cursor is busy; what arrives stays with it,
and the group is hot, so that those who wait get it when they are served next.
"""

from collections.abc import Callable

from onemq.core.cursor import Cursor
from onemq.core.fetching import fetch
from onemq.core.group import Group
from onemq.core.groups import Groups
from onemq.core.overtaking import read_lane
from onemq.core.reading import Reading
from onemq.core.screening import is_plain
from onemq.core.whole import Whole
from onemq.errors import Corrupt
from onemq.limits import RECEIVE_BYTES_MAX
from onemq.message import Record

_READ_BYTES_PER_MESSAGE = 256
_READ_BYTES_MIN = 4096


class Supply:
    """Reads for cursors."""

    def __init__(self, groups: Groups, reading: Reading) -> None:
        self._groups = groups
        self._reading = reading
        self.on_damage: Callable[[Cursor, Corrupt], None] = lambda cursor, damage: None
        self.on_passed: Callable[[], None] = lambda: None
        """Told when something that cannot be read was passed over."""
        self.may_read: Callable[[Group], bool] = lambda group: True
        """Asked whether more is read for a group in this turn."""

    def look_ahead(self, cursor: Cursor) -> bool:
        """Whether the next records of a cursor are decoded, if need be now."""
        if not cursor.ahead and cursor.has_fresh:
            self.read_ahead(cursor, 1)
        return bool(cursor.ahead)

    def read_ahead(self, cursor: Cursor, wanted: int) -> bool:
        """Decodes the next records of a cursor, of which so many are wanted. Returns whether they are there already."""
        if not self.may_read(cursor.group):
            return False
        bytes_max = max(min(wanted * _READ_BYTES_PER_MESSAGE, RECEIVE_BYTES_MAX), _READ_BYTES_MIN)
        cursor.busy = True
        lane, offset = cursor.lane, cursor.position

        def arrived(records: list[Record], next_offset: int) -> None:
            cursor.busy = False
            if not self._groups.has(cursor.group):
                return
            self._groups.hot[cursor.group] = None
            if cursor.lane != lane or cursor.position != offset:
                return  # the group was moved meanwhile
            if records:
                records.reverse()
                cursor.ahead = records
                cursor.plain = is_plain(cursor, records)
            elif next_offset > offset:
                self._groups.pass_over(cursor, next_offset)

        try:
            lanes = None if cursor.partition.lanes is None else cursor.ranked
            if lanes is None:
                self._reading.records(cursor.partition, offset, bytes_max, arrived)
            else:
                read_lane(self._reading, cursor, lanes, wanted, bytes_max, arrived)
        except Corrupt as damage:
            cursor.busy = False
            self.pass_over(cursor, damage)
        return not cursor.busy

    def pass_over(self, cursor: Cursor, damage: Corrupt) -> None:
        """Goes on after damaged messages, once that was told loudly."""
        if damage.resume_offset is None or damage.resume_offset <= cursor.position:
            raise damage
        self.on_passed()
        self.on_damage(cursor, damage)
        self._groups.pass_over(cursor, damage.resume_offset)

    def read_again(self, cursor: Cursor, offsets: list[int]) -> list[Record]:
        """Records that were handed out before, as far as they are there already and nobody was quicker."""
        deliveries = [cursor.unacknowledged[offset] for offset in offsets]
        found: list[Record] = []
        at_once = True

        def arrived(records: list[Record]) -> None:
            cursor.busy = False
            if not self._groups.has(cursor.group):
                return
            ours = zip(offsets, deliveries, strict=True)  # not acknowledged, claimed or forgotten meanwhile
            still = {offset for offset, each in ours if cursor.unacknowledged.get(offset) is each}
            records = [record for record in records if record[0] in still]
            gone = still.difference(record[0] for record in records)
            self._groups.dismiss(cursor.group, cursor.partition.number, sorted(gone))
            if at_once:
                found.extend(records)
            else:
                self._keep(cursor, records)

        cursor.busy = True
        try:
            self._reading.records_at(cursor.partition, offsets, arrived)
        except Corrupt as damage:
            cursor.busy = False
            self._pass_over_again(cursor, offsets, damage)
        at_once = False
        return found

    def _keep(self, cursor: Cursor, records: list[Record]) -> None:
        """Records arrived later than they were asked for: those who wait get them when they are served next."""
        cursor.again = {offset: each for offset, each in cursor.again.items() if offset in cursor.unacknowledged}
        cursor.again.update((record[0], record) for record in records)
        for record in records:
            cursor.make_ready(record[0])
        self._groups.hot[cursor.group] = None

    def _pass_over_again(self, cursor: Cursor, offsets: list[int], damage: Corrupt) -> None:
        """The same for messages that were handed out before: the readable ones come back later."""
        self.on_passed()
        self.on_damage(cursor, damage)
        first = damage.offset if damage.offset is not None else offsets[0]
        resume_offset = damage.resume_offset if damage.resume_offset is not None else offsets[-1] + 1
        lost = [offset for offset in offsets if first <= offset < resume_offset] or offsets
        for offset in offsets:
            if offset not in lost:
                cursor.make_ready(offset)
        self._groups.dismiss(cursor.group, cursor.partition.number, lost)

    def read_batches(self, cursor: Cursor, whole: Whole, wanted: int) -> tuple[int, bytes, int] | None:
        """The next batches of a cursor: (offset asked for, batches, next offset), of which so many messages are wanted.
        None if they come later."""
        offset, number = cursor.next, cursor.partition.number
        found = whole.read.pop(number, None)
        if found is not None and found[0] == offset:
            return found
        bytes_max = max(min(wanted * _READ_BYTES_PER_MESSAGE, whole.bytes_left, RECEIVE_BYTES_MAX), _READ_BYTES_MIN)
        cursor.busy, at_once = True, True

        def arrived(data: bytes, next_offset: int) -> None:
            cursor.busy = False
            whole.read[number] = (offset, data, next_offset)
            if not at_once and self._groups.has(cursor.group):
                self._groups.hot[cursor.group] = None

        fetch(self._reading, cursor.partition, offset, bytes_max, arrived)
        at_once = False
        return whole.read.pop(number, None)
