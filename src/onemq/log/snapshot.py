"""Snapshots: the sum of all sets up to a sequence, so that a start need not replay them.

Files `snapshots/<sequence>.snapshot`, the two newest kept, written whole or not at all:

    offset  size  field
    0       4     "OMQS"
    4       4     format version, big-endian as all that follows
    8       8     sequence of the last set included
    16      4     CRC-32C of the body
    20      ...   body: MessagePack [topics, state]
                  topics  [id, name, partitions, segment bytes, segment ms,
                           [[start, end, [[path, [base, size, end, first ms, max ms]]]]]]
                  state   the core's own bytes

All segments were synced up to the sizes in it before it was written.
"""

import re
from struct import Struct
from typing import Any, NamedTuple

import msgspec
from crc32c import crc32c

from onemq.errors import FolderError
from onemq.log.disk import Disk, write_whole

FOLDER = "snapshots"
HEADER = Struct(">4sIQI")
MAGIC = b"OMQS"
VERSION = 1
KEPT = 2
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


def write(disk: Disk, sequence: int, topics: list[Any], state: bytes) -> None:
    """Writes a snapshot durably."""
    body = msgspec.msgpack.encode([topics, state])
    write_whole(disk, path_of(sequence), [HEADER.pack(MAGIC, VERSION, sequence, crc32c(body)), body])


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
    magic, version, sequence, crc = HEADER.unpack_from(data)
    if magic != MAGIC:
        return None
    if version > VERSION:
        raise FolderError(f"{path} has format {version}, newer than this OneMQ reads ({VERSION}): upgrade")
    body = memoryview(data)[HEADER.size :]
    if crc32c(body) != crc:
        return None
    topics, state = msgspec.msgpack.decode(body)
    return Snapshot(sequence, topics, state)


def remove_old(disk: Disk) -> int:
    """Removes all but the newest ones; returns the sequence of the oldest one kept."""
    sequences = list_files(disk)
    for sequence in sequences[:-KEPT]:
        disk.remove(path_of(sequence))
    return sequences[-KEPT:][0] if sequences else 0
