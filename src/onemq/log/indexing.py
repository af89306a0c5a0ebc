"""The index of a segment: read from its file or, where that is missing or wrong, made anew from the segment."""

from contextlib import closing
from typing import TYPE_CHECKING

from onemq.errors import Corrupt
from onemq.log import index as index_file
from onemq.log.disk import Disk
from onemq.log.index import NO_TIME, Index
from onemq.log.salvage import Place, first_unsound

if TYPE_CHECKING:
    from onemq.log.segment import Segment


def load_index(segment: "Segment", disk: Disk, interval_bytes: int) -> Index:
    """The index, with about so many bytes of the segment for a row if it has to be made."""
    if segment.size and disk.exists(segment.index_path):
        with closing(disk.open(segment.index_path, read_only=True)) as file:
            data = file.read(0, file.size())
        index = index_file.parse(data, interval_bytes)
        if index is not None:
            index.cut(segment.size)  # rows of a checkpoint that was not finished
            return index
    return _rebuilt(segment, interval_bytes)


def _rebuilt(segment: "Segment", interval_bytes: int) -> Index:
    index = Index(interval_bytes)
    place = (0, segment.base)
    while place[0] < segment.size:
        index.next_position = place[0]  # a row for the first sound batch behind damage
        place = _index_from(segment, index, place)
    return index


def _index_from(segment: "Segment", index: Index, start: Place) -> Place:
    """Indexes sound batches; returns where others begin behind damage. Reading that says what is wrong."""
    time_ms = segment.max_timestamp_ms if start[0] else NO_TIME
    try:
        for position, header, _, _ in segment.scan(start[0]):
            index.add(header.base_offset - segment.base, position, time_ms)
            time_ms = max(time_ms, header.max_timestamp_ms)
    except Corrupt:
        damaged = first_unsound(segment.content, start, segment.size, segment.end)
        index.cut(damaged[0])
        return segment.behind(damaged)
    return segment.size, segment.end
