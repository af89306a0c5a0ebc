"""How long a stream may be: the MAXLEN and MINID options of XADD and XTRIM."""

from dataclasses import dataclass
from itertools import filterfalse, islice

from onemq.core.core import Core
from onemq.core.stream import Stream
from onemq.protocols.resp.arguments import integer
from onemq.protocols.resp.errors import CommandError
from onemq.protocols.resp.streams.ids import parse_id
from onemq.protocols.resp.streams.removing import Removal, drop_references

_NODE = 100
"""Trimming that need not be exact removes this many at a time."""
_LIMIT = 100 * _NODE


@dataclass(slots=True)
class Trimming:
    """What to keep."""

    length_max: int | None = None
    id_min: int | None = None
    about: bool = False
    limit: int | None = None
    removal: Removal | None = None

    @property
    def given(self) -> bool:
        return self.length_max is not None or self.id_min is not None

    def parse(self, words: list[bytes], place: int) -> int:
        """Takes an option at a place of the request, if it is one of trimming; returns the place after it."""
        name, left = words[place].lower(), len(words) - place - 1
        if name in (b"maxlen", b"minid") and left:
            return self._parse_threshold(name, words, place + 1)
        if name == b"limit" and left:
            self.limit = integer(words[place + 1])
            if self.limit < 0:
                raise CommandError("ERR The LIMIT argument must be >= 0.")
            return place + 2
        return place

    def _parse_threshold(self, name: bytes, words: list[bytes], place: int) -> int:
        if self.given:
            raise CommandError("ERR syntax error, MAXLEN and MINID options at the same time are not compatible")
        if words[place] in (b"~", b"=") and place + 1 < len(words):
            self.about = words[place] == b"~"
            place += 1
        if name == b"minid":
            self.id_min = parse_id(words[place])
        else:
            self.length_max = integer(words[place])
            if self.length_max < 0:
                raise CommandError("ERR The MAXLEN argument must be >= 0.")
        return place + 1

    def check(self) -> None:
        """Refuses what does not go together."""
        if self.limit and not self.given:
            raise CommandError("ERR syntax error, LIMIT cannot be used without specifying a trimming strategy")
        if self.limit is not None and not self.about:
            raise CommandError("ERR syntax error, LIMIT cannot be used without the special ~ option")

    def apply(self, core: Core, stream: Stream) -> int:
        """Removes what is too old; returns how many entries that were."""
        if self.removal is Removal.ACKED:
            return self._remove_acknowledged(core, stream)
        start = self._start(stream)
        if start <= stream.partition.start:
            return 0
        if self.removal is Removal.DELREF:
            drop_references(core, stream, list(stream.offsets(start, len(stream))))
        return core.removing.trim(stream, start)

    def _start(self, stream: Stream) -> int:
        """The first offset to keep."""
        if self.length_max is not None:
            surplus = len(stream) - self.length_max
        else:
            assert self.id_min is not None
            start = stream.find(self.id_min)
            if not self.about:
                return start
            surplus = stream.count_before(start)
        return stream.offset_after(self._going(surplus, len(stream)))

    def _going(self, surplus: int, length: int) -> int:
        """How many of the entries that are too many go now; the last hundred need not be full if all go."""
        if not self.about:
            return max(surplus, 0)
        going = min(surplus, self._most(surplus))
        return length if going >= length else max(going, 0) // _NODE * _NODE

    def _most(self, length: int) -> int:
        """How many of so many entries may be looked at."""
        limit = _LIMIT if self.limit is None else self.limit
        return limit if self.about and limit else length

    def _remove_acknowledged(self, core: Core, stream: Stream) -> int:
        """Looks at no entry that some group has not come to: a group that reads nothing must not make this slow."""
        partition = stream.partition
        cursors = [stream.cursor(group) for group in stream.topic.groups.values()]
        end = min([cursor.fresh_high for cursor in cursors], default=partition.end)
        if self.id_min is not None:
            end = min(end, stream.find(self.id_min))
        if end <= partition.start:
            return 0
        surplus = len(stream) - self.length_max if self.length_max is not None else stream.count_before(end)
        going = self._going(surplus, len(stream))
        if not going:
            return 0
        free = stream.offsets(end, self._most(len(stream)))
        for cursor in cursors:
            free = filterfalse(cursor.unacknowledged.__contains__, free)
            if cursor.ranked is not None:
                free = filterfalse(cursor.is_fresh, free)
        return core.removing.delete(stream, list(islice(free, going)), by_trimming=True)
