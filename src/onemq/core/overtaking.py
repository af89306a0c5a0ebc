"""Overtaking: reading on in one lane of a partition, past the messages of the others."""

from collections.abc import Callable

from onemq.core.cursor import Cursor
from onemq.core.lanes import Lanes
from onemq.core.reading import Reading
from onemq.message import PRIORITY_DEFAULT, Record

_OFFSETS_MIN = 512
"""So many messages of a lane are looked for in what one read brings, also if fewer were asked for."""


def read_lane(
    reading: Reading,
    cursor: Cursor,
    lanes: Lanes,
    wanted: int,
    bytes_max: int,
    then: Callable[[list[Record], int], None],
) -> None:
    """As `Reading.records`, from the cursor's position on in the lane that it hands out from."""
    partition = cursor.partition
    if cursor.lane == PRIORITY_DEFAULT:
        start = lanes.default_from(cursor.next, partition.end)
        reading.records(
            partition, start, bytes_max, lambda records, next_offset: then(lanes.only_default(records), next_offset)
        )
        return
    offsets = lanes.some_from(cursor.lane, cursor.position, max(wanted, _OFFSETS_MIN))
    if offsets:
        reading.records_among(partition, offsets, bytes_max, then)
    else:
        then([], cursor.position)
