"""How far the groups of streams have come, by ids.

The messages tell most of it: a group's last id is that of the newest message before its position. A mark says what
they do not tell: that a group was placed after another id, or that the message is gone. A message that goes while a
group has it in flight stays listed there as a ghost, until it is acknowledged.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from onemq.core.cursor import Cursor
from onemq.core.entries import STREAM_MARK, STREAM_TRIMMED
from onemq.core.group import Group
from onemq.core.groups import Groups
from onemq.core.stage import Stage
from onemq.core.stream import Stream
from onemq.core.stream_ids import NUMBER_MAX, pack_id, unpack_id
from onemq.core.topics import Topic, Topics
from onemq.errors import Corrupt

NOWHERE = -1
"""Where a mark stands that holds no more: a power cut took the messages before it."""


class Mark(NamedTuple):
    """What the messages do not tell of a group's position."""

    next: int
    """The mark holds while the group's position is this."""
    last_id: int
    read_before: int | None
    """How many messages count as read before offset 0, if not as many as were added before it."""


class StreamGroups:
    """The marks and the ghosts of all groups of streams."""

    def __init__(self, stage: Stage, topics: Topics, groups: Groups) -> None:
        self._stage = stage
        self._groups = groups
        self._marks: dict[int, Mark] = {}
        self._gone: dict[int, int] = {}
        self._removed: tuple[object, ...] = ()
        """What was removed when that was made, and whose it is."""
        topics.on_delete.append(self._topic_deleted)

    def pending_offset(self, stream: Stream, group: Group, id: int) -> int | None:
        """The offset of a message that a group has in flight, if it has."""
        cursor = stream.cursor(group)
        if not cursor.unacknowledged:
            return None
        offset = stream.offset_of(id)
        if offset is None:
            offset = self._gone_offset(stream, cursor, id)
        return offset if offset in cursor.unacknowledged else None

    def _gone_offset(self, stream: Stream, cursor: Cursor, id: int) -> int | None:
        """The same for a message that was removed."""
        deleted, ghosts = stream.partition.deleted, cursor.ghosts
        if deleted is None and not ghosts:
            return None
        usual = id & NUMBER_MAX
        if ghosts.get(usual) == id or (deleted is not None and stream.ids_of(cursor, [usual]).get(usual) == id):
            return usual
        return self._gone_ids(stream, cursor).get(id)

    def _gone_ids(self, stream: Stream, cursor: Cursor) -> dict[int, int]:
        """The offsets of what a group has in flight although it was removed, by their ids. Made anew when more was
        removed: where that was done one by one, all that is in flight is looked at, and many ids may be asked for."""
        partition = stream.partition
        deleted = partition.deleted
        marks = () if deleted is None else (deleted, deleted.low, deleted.count_done_above_low)
        removed = (cursor, partition.start, *marks)
        if removed != self._removed:
            among = cursor.ghosts if deleted is None else cursor.unacknowledged
            gone = [offset for offset in among if not stream.is_live(offset)]
            self._removed = removed
            self._gone = {id: offset for offset, id in stream.ids_of(cursor, gone).items()}
        return self._gone

    def last_delivered(self, stream: Stream, group: Group) -> int:
        """The id that a group has come to."""
        cursor = stream.cursor(group)
        marked = self._marks.get(group.id)
        if marked is not None and marked.next == cursor.last:
            return marked.last_id
        return stream.id_before(cursor.last)

    def entries_read(self, stream: Stream, group: Group) -> int:
        """How many messages a group has come past, counted from the first ever."""
        marked = self._marks.get(group.id)
        before = marked.read_before if marked is not None and marked.read_before is not None else stream.added_before
        return stream.cursor(group).last + before

    def place(self, stream: Stream, group: Group, last_id: int, entries_read: int | None) -> None:
        """Makes a group go on after an id; what it has in flight stays so."""
        cursor = stream.cursor(group)
        offset = stream.find(last_id + 1)
        if offset != cursor.next or offset != cursor.last:
            self._groups.move(group, 0, offset)
        if last_id > stream.last_id:
            stream.has_groups_ahead = True
            stream.plain_end = -1
        before = None if entries_read is None else entries_read - offset
        entry = (STREAM_MARK, group.id, offset, pack_id(last_id), before)
        self._apply_mark(entry)
        self._stage.entry(entry, stream.topic.sync)

    def pass_ahead(self, stream: Stream, id: int) -> None:
        """Groups that go on after a higher id than that of the message just added do not get it."""
        stream.has_groups_ahead = False
        for group in stream.topic.groups.values():
            mark = self._marks.get(group.id)
            if mark is not None and mark.last_id > id and mark.next == stream.cursor(group).last:
                stream.has_groups_ahead = True
            if mark is not None and mark.last_id >= id and mark.next == stream.cursor(group).last:
                self._stay_ahead(stream, group, mark.last_id)

    def keep_ahead(self, stream: Stream) -> None:
        """Groups that had come further than the stream's last id, which was lowered, go on behind where they were."""
        for group in stream.topic.groups.values():
            last_id = self.last_delivered(stream, group)
            if last_id > stream.last_id:
                self._stay_ahead(stream, group, last_id)

    def _stay_ahead(self, stream: Stream, group: Group, last_id: int) -> None:
        """What the group passes counts as read, unless somebody said how much it has read."""
        mark = self._marks.get(group.id)
        is_said = mark is not None and mark.read_before is not None
        self.place(stream, group, last_id, self.entries_read(stream, group) if is_said else None)

    def keep_ghosts(self, stream: Stream, start: int) -> None:
        """Notes the ids of what groups have in flight before an offset, where the partition is about to start."""
        ghosts: list[list[object]] = []
        for group in stream.topic.groups.values():
            cursor = stream.cursor(group)
            lost = cursor.unacknowledged_among(stream.partition.start, start)  # what lies before are ghosts already
            ids = _readable_ids(stream, cursor, lost) if lost else {}
            ghosts += [[group.id, offset, pack_id(id)] for offset, id in ids.items()]
        self._trimmed(stream, ghosts, [])

    def keep_last_ids(self, stream: Stream, start: int) -> None:
        """Notes the last ids of groups that have not come past an offset, where the partition is about to start."""
        passed = [group for group in stream.topic.groups.values() if stream.cursor(group).last <= start]
        self._trimmed(stream, [], [[group.id, start, pack_id(self.last_delivered(stream, group))] for group in passed])

    def _trimmed(self, stream: Stream, ghosts: list[list[object]], marks: list[list[object]]) -> None:
        if ghosts or marks:
            entry = (STREAM_TRIMMED, ghosts, marks)
            self._apply_trimmed(entry)
            self._stage.entry(entry, stream.topic.sync)

    def _topic_deleted(self, topic: Topic) -> None:
        for group in topic.groups.values():
            self._marks.pop(group.id, None)

    # State

    def appliers(self) -> dict[int, Callable[[Any], None]]:
        """What applies each kind of entry."""
        return {STREAM_TRIMMED: self._apply_trimmed, STREAM_MARK: self._apply_mark}

    def dump(self, streams: Iterable[Stream]) -> tuple[list[object], list[object]]:
        """The marks and the ghosts, for the snapshot."""
        groups = [group for stream in streams for group in stream.topic.groups.values()]
        marks: list[object] = [
            [group.id, mark.next, pack_id(mark.last_id), mark.read_before]
            for group in groups
            if (mark := self._marks.get(group.id)) is not None
        ]
        ghosts: list[object] = [
            [group.id, offset, pack_id(id)] for group in groups for offset, id in group.cursors[0].ghosts.items()
        ]
        return marks, ghosts

    def load(self, marks: Any, ghosts: Any) -> None:
        """The reverse of `dump`."""
        for mark in marks:
            self._apply_mark((STREAM_MARK, *mark))
        self._apply_trimmed((STREAM_TRIMMED, ghosts, []))

    def forget_lost(self, stream: Stream) -> None:
        """After recovery, when the bounds of the partition are known: marks behind its end hold no more."""
        for group in stream.topic.groups.values():
            mark = self._marks.get(group.id)
            if mark is not None and mark.next > stream.partition.end:
                self._marks[group.id] = mark._replace(next=NOWHERE)

    def _apply_trimmed(self, entry: Any) -> None:
        _, ghosts, marks = entry
        for group_id, offset, id in ghosts:
            self._groups.by_id(group_id).cursors[0].ghosts[offset] = unpack_id(id)
        for group_id, offset, id in marks:
            known = self._marks.get(group_id)
            self._marks[group_id] = Mark(offset, unpack_id(id), known.read_before if known is not None else None)

    def _apply_mark(self, entry: Any) -> None:
        _, group_id, offset, last_id, before = entry
        self._marks[group_id] = Mark(offset, unpack_id(last_id), before)


def _readable_ids(stream: Stream, cursor: Cursor, offsets: list[int]) -> dict[int, int]:
    """The ids of messages that can be read: damage must not keep what comes after it from being trimmed."""
    try:
        return stream.ids_of(cursor, offsets)
    except Corrupt:
        if len(offsets) == 1:
            return {}
    half = len(offsets) // 2
    return _readable_ids(stream, cursor, offsets[:half]) | _readable_ids(stream, cursor, offsets[half:])
