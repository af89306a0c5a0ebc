"""Snapshots: the sum of all sets up to a sequence, so that a start need not replay them.

Files `snapshots/<sequence>.snapshot`, the two newest kept, written whole or not at all:

    offset  size  field
    0       4     "OMQS"
    4       4     format version, big-endian as all that follows
    8       8     sequence of the last set included
    16      8     length of the topics
    24      ...   topics: MessagePack [id, name, partitions, segment bytes, segment ms,
                                       [[start, end, [[path, [base, size, end, first ms, max ms]]]]]]
            ...   state: the core's own bytes
            4     CRC-32C of everything before it

All segments were synced up to the sizes in it before it was written. The state comes piece by piece and may be large,
so nothing in front of it depends on it. Version 1, which is still read, ends its header with a CRC-32C of the rest:

    16      4     CRC-32C of the body
    20      ...   body: MessagePack [topics, state]
"""

import re
from collections.abc import Callable, Iterable, Iterator
from struct import Struct
from typing import Any, NamedTuple

import msgspec
from crc32c import crc32c

from onemq.errors import FolderError
from onemq.log.disk import Disk, write_whole

FOLDER = "snapshots"
HEADER = Struct(">4sIQQ")
MAGIC = b"OMQS"
VERSION = 2
KEPT = 2
_OLD_HEADER = Struct(">4sIQI")
_PREFIX = Struct(">4sIQ")
"""What all versions begin with."""
_CRC = Struct(">I")
_WRITE_BYTES = 64 << 10
"""Smaller pieces are written together."""
_NAME = re.compile(r"\d{20}\.snapshot")


class Snapshot(NamedTuple):
    """A snapshot as it was read back."""

    sequence: int
    topics: list[Any]
    state: bytes


def path_of(sequence: int) -> str:
    """The file of the snapshot of a sequence."""
    return f"{FOLDER}/{sequence:020d}.snapshot"


def list_files(disk: Disk) -> list[int]:
    """The sequences of the snapshots that are there, oldest first."""
    return [int(name[:20]) for name in disk.list(FOLDER) if _NAME.fullmatch(name)]


def write(
    disk: Disk, sequence: int, topics: list[Any], state: Iterable[bytes], rest: Callable[[], None] = lambda: None
) -> int:
    """Writes a snapshot durably, and calls `rest` every now and then. Returns its bytes."""
    size = 0

    def counted() -> Iterator[bytes]:
        nonlocal size
        for part in _content(sequence, topics, state):
            size += len(part)
            yield part
            rest()

    write_whole(disk, path_of(sequence), counted())
    return size


def _content(sequence: int, topics: list[Any], state: Iterable[bytes]) -> Iterator[bytes]:
    encoded = msgspec.msgpack.encode(topics)
    gathered, crc = [HEADER.pack(MAGIC, VERSION, sequence, len(encoded)), encoded], 0
    gathered_bytes = HEADER.size + len(encoded)
    for piece in state:
        if gathered_bytes >= _WRITE_BYTES:
            part = b"".join(gathered)
            crc = crc32c(part, crc)
            yield part
            gathered, gathered_bytes = [], 0
        gathered.append(piece)
        gathered_bytes += len(piece)
    part = b"".join(gathered)
    yield part + _CRC.pack(crc32c(part, crc))


def read(disk: Disk, sequence: int) -> Snapshot | None:
    """The snapshot of a sequence, or None if it is damaged."""
    file = disk.open(path_of(sequence), read_only=True)
    data = file.read(0, file.size())
    file.close()
    found = parse(data, path_of(sequence))
    return found if found is not None and found.sequence == sequence else None


def parse(data: bytes, path: str) -> Snapshot | None:
    """The snapshot from a file's content, or None if it is damaged."""
    if len(data) < HEADER.size:
        return None
    magic, version, sequence = _PREFIX.unpack_from(data)
    if magic != MAGIC:
        return None
    if version > VERSION:
        raise FolderError(f"{path} has format {version}, newer than this OneMQ reads ({VERSION}): upgrade")
    content = _parse(data) if version == VERSION else _parse_old(data)
    return Snapshot(sequence, *content) if content is not None else None


def _parse(data: bytes) -> tuple[list[Any], bytes] | None:
    """Topics and state."""
    end = len(data) - _CRC.size
    if end < HEADER.size or crc32c(memoryview(data)[:end]) != _CRC.unpack_from(data, end)[0]:
        return None
    state_at = HEADER.size + HEADER.unpack_from(data)[3]
    return msgspec.msgpack.decode(memoryview(data)[HEADER.size : state_at]), data[state_at:end]


def _parse_old(data: bytes) -> tuple[list[Any], bytes] | None:
    """The same of version 1."""
    body = memoryview(data)[_OLD_HEADER.size :]
    if crc32c(body) != _OLD_HEADER.unpack_from(data)[3]:
        return None
    topics, state = msgspec.msgpack.decode(body)
    return topics, state


def remove_old(disk: Disk) -> int:
    """Removes all but the newest ones; returns the sequence of the oldest one kept."""
    sequences = list_files(disk)
    for sequence in sequences[:-KEPT]:
        disk.remove(path_of(sequence))
    return sequences[-KEPT:][0] if sequences else 0
