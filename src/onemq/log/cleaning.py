"""Cleaning: a segment written anew without the records that nobody needs.

One mechanism for three needs: compaction by key, queue topics of which a few messages are still
unacknowledged, and the schedule, whose messages leave in the order of their due times. Offsets stay
as they are; a batch keeps its place in the sequence, only thinner.
"""

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple

from onemq.errors import OneMQError
from onemq.log.batch import COMPRESSION_MASK, TRANSACTIONAL, BatchHeader
from onemq.log.batch_builder import BatchBuilder
from onemq.log.disk import Disk, File
from onemq.log.engine import Keep
from onemq.log.records import UNREADABLE, decode_strictly, encode_headers  # fmt: skip
from onemq.log.scan import scan_file
from onemq.log.segment import Segment
from onemq.message import Record

_WRITE_BYTES = 1 << 20
_NAME = re.compile(r"^(.*?)(?:\.c(\d+))?\.log$")


KeepRecord = Callable[[Record], bool]


class CleanedSegment(NamedTuple):
    """A new file that can take the place of a segment."""

    source: Segment
    base: int
    path: str
    meta: list[int]


def rewrite(
    disk: Disk, segment: Segment, keep: KeepRecord, rest: Callable[[], None] = lambda: None
) -> CleanedSegment | None:
    """Writes and syncs the new file; None if every record stays. Rests after each batch. Raises `Corrupt`, OSError."""
    path = _next_generation(segment.path)
    try:
        size = _write_anew(disk, segment, path, keep, rest)
    except (OSError, OneMQError):
        with suppress(OSError):  # a full disk needs the space back; the first error is the one to tell
            disk.remove(path)
        raise
    if size == segment.size:
        disk.remove(path)
        return None
    disk.sync_folder(path.rpartition("/")[0])
    meta = segment.meta()
    meta[1] = size
    return CleanedSegment(segment, segment.base, path, meta)


def _write_anew(disk: Disk, segment: Segment, path: str, keep: KeepRecord, rest: Callable[[], None]) -> int:
    source = disk.open(segment.path, read_only=True)
    try:
        target = disk.open(path, create=True)
        try:
            if target.size():
                target.truncate(0)
            size = _copy(source, target, segment, keep, rest)
            target.sync()
        finally:
            target.close()
    finally:
        source.close()
    return size


def _copy(source: File, target: File, segment: Segment, keep: KeepRecord, rest: Callable[[], None]) -> int:
    size = waiting_bytes = 0
    waiting: list[bytes] = []
    for _, header, data, at in scan_file(source, segment.path, 0, segment.size, (segment.base, segment.end)):
        rest()
        batch = thin(data, at, header, keep)
        if batch:
            waiting.append(batch)
            waiting_bytes += len(batch)
        if waiting_bytes > _WRITE_BYTES:
            target.append(waiting)
            size, waiting, waiting_bytes = size + waiting_bytes, [], 0
    if waiting:
        target.append(waiting)
    return size + waiting_bytes


def thin(data: bytes, at: int, header: BatchHeader, keep: KeepRecord) -> bytes:
    """The batch without the records that are not kept; empty if none is. One that cannot be read stays as it is."""
    try:
        records = decode_strictly(data, at, header)
    except UNREADABLE:
        return bytes(data[at : at + header.size])
    kept = [record for record in records if keep(record)]
    if len(kept) == len(records):
        return bytes(data[at : at + header.size])
    if not kept:
        return b""
    builder = BatchBuilder(header.base_offset, header.base_timestamp_ms)
    for offset, timestamp_ms, key, value, headers in kept:
        builder.skip_to(offset)
        builder.add(timestamp_ms, key, value, encode_headers(headers))
    attributes = header.attributes & ~(COMPRESSION_MASK | TRANSACTIONAL)  # what is left has no producer
    return builder.seal(
        attributes, header.leader_epoch, header.last_offset_delta, latest_ms=header.max_timestamp_ms
    )


def _next_generation(path: str) -> str:
    match = _NAME.match(path)
    assert match is not None, path
    return f"{match[1]}.c{int(match[2] or 0) + 1}.log"


def by_offset(keep: Keep) -> KeepRecord:
    """Goes by the offset alone."""
    return lambda record: keep(record[0])


def last_by_key(scans: Iterable[Iterable[tuple[BatchHeader, bytes, int]]], tombstones_before_ms: int) -> KeepRecord:
    """Keeps the last record of each key, and those without key; a last one without value only if it is young."""
    newest: dict[bytes, int] = {}
    for scan in scans:
        for header, data, at in scan:
            with suppress(*UNREADABLE):
                for record in decode_strictly(data, at, header):
                    if record[2] is not None:
                        newest[record[2]] = record[0]

    def keep(record: Record) -> bool:
        offset, timestamp_ms, key, value, _ = record
        if key is None:
            return True
        return newest.get(key, offset) <= offset and (value is not None or timestamp_ms >= tombstones_before_ms)

    return keep
