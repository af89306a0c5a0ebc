"""What groups were handed for the first time: nothing twice, nothing left out, and the highest priority first.

Looking at the entries as they are staged, this keeps a record of its own that knows nothing of lanes and positions.
After a crash it goes back to the turn that survived.
"""

from typing import TYPE_CHECKING, Any

from onemq.core.cursor import Cursor
from onemq.core.entries import DELIVER, DELIVER_LANE, GROUP_CREATE, HOLD, MARK, SEEK, UNRANK, offsets_of
from onemq.core.expiry import expires_at_ms
from onemq.core.partition import Partition
from onemq.core.screening import PLAIN
from onemq.limits import LANE_STREAK_MAX
from onemq.message import PRIORITY, PRIORITY_DEFAULT, header
from tests.sim.streams import NAMES

if TYPE_CHECKING:
    from tests.sim.world import World

CUT, LEVEL = "cut", "level"
Place = tuple[int, int]


class Track:
    """What one group was handed of one partition since it was placed there."""

    def __init__(self, base: int) -> None:
        self.base = base
        self.handed: set[int] = set()
        self.streak = 0


class Handed:
    """Watches all groups but those of the streams that Redis clients use."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._events: list[tuple[int, Any]] = []
        self._tracks: dict[Place, Track] = {}
        self._unranked: dict[Place, int] = {}
        self._seen = 0

    def begin(self) -> None:
        """A new core is there."""
        self._seen = 0

    def look(self) -> None:
        """Looks at the entries that were staged since the last time, while nothing else has happened since."""
        entries = self._world.core.stage.entries
        for place in range(self._seen, len(entries)):
            self._told(entries[place])
        self._seen = len(entries)

    def flushed(self) -> None:
        """The entries of the turn are with the log."""
        self._seen = 0

    def levelled(self, cursor: Cursor) -> None:
        """The group got an eye for priorities, or lost it: from its position on everything comes again."""
        self._happened((LEVEL, cursor.group.id, cursor.partition.number, cursor.next))

    def forget_after(self, number: int) -> None:
        """What happened in turns after this one never happened."""
        self._events = [event for event in self._events if event[0] <= number]
        self._tracks, self._unranked = {}, {}
        for _, entry in self._events:
            self._note(entry)

    def cut(self, number: int) -> None:
        """After that turn a power cut may have taken the last messages of async topics."""
        for topic in self._world.core.topics:
            for partition in topic.partitions:
                groups = [group.id for group in topic.groups.values()]
                entry = (CUT, topic.id, partition.number, partition.end, groups)
                self._events.append((number, entry))
                self._note(entry)

    def check_all_handed(self) -> None:
        """At the end, each group has got every message that is there, from where it was placed."""
        core = self._world.core
        for topic in core.topics:
            for group in topic.groups.values() if topic.name not in NAMES else ():
                for cursor in group.cursors:
                    track = self._track(group.id, cursor.partition.number)
                    there = {offset for offset, _ in self._readable(cursor.partition) if offset >= track.base}
                    missing = self._not_passed(cursor, sorted(there - track.handed))
                    assert not missing, f"{group.name} of {topic.name} never got {missing}"

    def _told(self, entry: Any) -> None:
        if entry[0] in (DELIVER, DELIVER_LANE):
            offsets = _offsets(entry)
            group = self._world.core.groups.by_id(entry[1]) if offsets else None
            if group is not None and group.topic.name not in NAMES:
                self._check(group.cursors[entry[2]], self._track(entry[1], entry[2]), offsets)
        if entry[0] in (GROUP_CREATE, SEEK, MARK, UNRANK, DELIVER, DELIVER_LANE, HOLD):
            self._happened(entry)

    def _happened(self, entry: Any) -> None:
        self._events.append((self._world.turn + 1, entry))
        self._note(entry)

    def _check(self, cursor: Cursor, track: Track, offsets: list[int]) -> None:
        twice = track.handed.intersection(offsets)
        assert not twice, f"handed out twice: {sorted(twice)}"
        if cursor.group.config.order != "none":
            return  # what must hold then is checked elsewhere
        readable = dict(self._readable(cursor.partition))
        handed = {readable[offset] for offset in offsets if offset in readable}
        if not handed:
            track.streak += len(offsets)
            return  # read ahead, and compacted since
        assert len(handed) == 1, f"one delivery of several priorities: {handed}"
        lowest = min(handed)
        better = [
            offset
            for offset, priority in readable.items()
            if priority > lowest and offset >= track.base and offset not in track.handed and offset not in offsets
        ]
        better = self._wanted(cursor, better)
        if better:
            assert len(offsets) == 1, f"{offsets} of priority {lowest} were handed out before {better}"
            assert track.streak >= LANE_STREAK_MAX, f"{offsets} of priority {lowest} came before {better}"
            track.streak = 0
        else:
            track.streak += len(offsets)

    def _wanted(self, cursor: Cursor, offsets: list[int]) -> list[int]:
        """Those that the group would hand out."""
        if not offsets:
            return []
        admission, now_ms = cursor.group.admission or PLAIN, self._world.core.stage.now_ms
        records = self._world.core.reading.page_at(cursor.partition, offsets)
        wanted, _ = admission.fresh(cursor, records, now_ms)
        return self._not_passed(cursor, [record[0] for record in wanted])

    def _not_passed(self, cursor: Cursor, offsets: list[int]) -> list[int]:
        """Those that the group cannot have passed for a reason: what its settings said, or because they expired."""
        config, topic = cursor.group.config, cursor.group.topic
        altered = cursor.group.id in self._world.handout.altered
        choosy = altered or config.filter is not None or config.once is not None
        records = self._world.core.reading.page_at(cursor.partition, offsets)
        return [
            record[0]
            for record in records
            if cursor.is_fresh(record[0]) or not (choosy or expires_at_ms(topic, record) is not None)
        ]

    def _readable(self, partition: Partition) -> list[tuple[int, int]]:
        """(offset, priority) of the messages that are there."""
        below = self._unranked.get((partition.topic_id, partition.number), 0)
        found: list[tuple[int, int]] = []
        offset = partition.start
        while offset < partition.end:
            records, offset = self._world.core.reading.page(partition, offset, 1 << 20)
            for record in records:
                told = header(record[4], PRIORITY) if record[0] >= below else None
                found.append((record[0], PRIORITY_DEFAULT if told is None else int(told)))
        return found

    def _note(self, entry: Any) -> None:
        kind = entry[0]
        if kind == GROUP_CREATE:
            for number, position in enumerate(entry[4]):
                self._tracks[entry[1], number] = Track(position)
        elif kind in (SEEK, MARK):
            self._tracks[entry[1], entry[2]] = Track(entry[3])
        elif kind == UNRANK:
            self._unranked[entry[1], entry[2]] = entry[3]
        elif kind == CUT:
            _, topic, number, end, groups = entry
            if (topic, number) in self._unranked:
                self._unranked[topic, number] = min(self._unranked[topic, number], end)
            for track in [self._track(group, number) for group in groups]:
                track.base = min(track.base, end)
                track.handed = {offset for offset in track.handed if offset < end}
        elif kind == LEVEL:
            track = self._track(entry[1], entry[2])
            track.handed = {offset for offset in track.handed if offset < entry[3]}
        else:
            self._track(entry[1], entry[2]).handed.update(_offsets(entry))

    def _track(self, group: int, number: int) -> Track:
        return self._tracks.setdefault((group, number), Track(0))  # partitions that came later are read from 0


def _offsets(entry: Any) -> list[int]:
    """What a delivery handed out, or a group took for later."""
    if entry[0] == HOLD:
        return list(entry[5])
    if entry[0] == DELIVER_LANE:
        return list(entry[8])
    return list(offsets_of(entry[6])) if entry[6] else []
