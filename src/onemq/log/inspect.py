"""Looking into files of the log: what is in them, item by item, without changing or locking anything.

Each item is a dictionary of plain values with a `kind`; bytes stay bytes. Long files come in pieces, a
damaged place is an item among others, and reading goes on behind it.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from struct import iter_unpack

from onemq.errors import Corrupt, FolderError, InvalidArgument, OneMQError
from onemq.log import journal, sets, snapshot
from onemq.log.batch import COMPRESSION_MASK, BatchHeader, read_header
from onemq.log.disk import Disk
from onemq.log.engine import TopicPlace
from onemq.log.folder import FORMAT_FILE
from onemq.log.index import CHUNK, ROW
from onemq.log.index import parse as parse_index
from onemq.log.journal import JournalEntry, JournalFile
from onemq.log.records import decode
from onemq.log.salvage import first_unsound, next_sound, only_zeros
from onemq.log.scan import OFFSET_MAX, scan_file

Item = dict[str, object]

_SEGMENT_NAME = re.compile(r"(\d+)-(\d{20})(\.c\d+)?\.(log|index)")
_QUARANTINED = re.compile(r"\.from-\d+$")
_COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")


def inspect(disk: Disk, path: str, records: bool = False) -> Iterator[Item]:
    """The items of one file, or of all files of ours in a folder. Raises `InvalidArgument` for another file."""
    kind = kind_of(path)
    if kind is not None:
        try:
            yield from _KINDS[kind](disk, path, records)
        except FileNotFoundError:  # somebody uses the folder
            yield {"kind": "gone", "file": path}
    elif _is_folder(disk, path):
        for name in disk.list(path):
            inner = f"{path}/{name}" if path else name
            if kind_of(inner) is not None or _is_folder(disk, inner):
                yield from inspect(disk, inner, records)
    else:
        raise InvalidArgument(f"{path} is no file of OneMQ's log: it should end in {', '.join(_KINDS)}")


def kind_of(path: str) -> str | None:
    """Which kind of file a path is by its name; the end of a file in quarantine is of the file's kind."""
    path = _QUARANTINED.sub("", path)
    return next((kind for kind in _KINDS if path.endswith(kind)), None)


def _is_folder(disk: Disk, path: str) -> bool:
    try:
        with closing(disk.open(path, read_only=True)) as file:
            file.read(0, 1)
    except IsADirectoryError:
        return True
    except FileNotFoundError:
        return False
    return False


def _content(disk: Disk, path: str) -> bytes:
    with closing(disk.open(path, read_only=True)) as file:
        return file.read(0, file.size())


def _format(disk: Disk, path: str, _: bool) -> Iterator[Item]:
    try:
        yield {"kind": "format", "file": path, **json.loads(_content(disk, path))}
    except (ValueError, TypeError):
        yield _damage(path, 0, "it cannot be read")


def _damage(path: str, position: int, text: str) -> Item:
    return {"kind": "damage", "file": path, "position": position, "text": text}


# The journal


def _journal(disk: Disk, path: str, records: bool) -> Iterator[Item]:
    file = JournalFile(disk, _first_sequence(disk, path), path)
    yield {"kind": "journal", "file": path, "first": file.first, "bytes": len(file.data)}
    sequence = file.first - 1
    try:
        for entry in file.entries():
            yield _entry(entry, records)
            sequence = entry.sequence
    except FolderError as problem:
        yield _damage(path, 0, problem.text)
        return
    ending = file.ending
    if ending.damage:
        yield _damage(path, ending.good_bytes, ending.damage)
        for entry in file.entries_behind(ending.good_bytes, sequence):
            yield _entry(entry, records)
    elif ending.torn_bytes:
        yield {"kind": "torn", "file": path, "position": ending.good_bytes, "bytes": ending.torn_bytes}


def _entry(entry: JournalEntry, records: bool) -> Item:
    place: Item = {"position": entry.position, "bytes": entry.size}
    stored = _set(sets.decode(entry.payload), records)
    return {"kind": "entry", "sequence": entry.sequence, "synced": entry.synced, **place, **stored}


def _first_sequence(disk: Disk, path: str) -> int:
    name = path.rpartition("/")[2].partition(".")[0]
    if name.isdigit():
        return int(name)
    head = _content(disk, path)[: journal.FILE_HEADER.size].ljust(journal.FILE_HEADER.size, b"\0")
    return int(journal.FILE_HEADER.unpack(head)[2])


def _set(stored: sets.StoredSet, records: bool) -> Item:
    batches: list[Item] = []
    for row, data in stored.batches():
        item: Item = {**row._asdict()}
        if records and data is not None:
            item["records"] = list(_records(bytes(data), 0, read_header(data)))
        batches.append(item)
    return {
        "creates": [TopicPlace(*place)._asdict() for place in stored.creates],
        "deletes": stored.deletes,
        "trims": stored.trims,
        "swaps": stored.swaps,
        "batches": batches,
        "entries": stored.entries if records else len(stored.entries),
    }


# Snapshots


def _snapshot(disk: Disk, path: str, records: bool) -> Iterator[Item]:
    data = _content(disk, path)
    try:
        found = snapshot.parse(data, path)
    except FolderError as problem:
        yield _damage(path, 0, problem.text)
        return
    if found is None:
        yield _damage(path, 0, "it does not match its checksum")
        return
    state: Item = {"state": found.state} if records else {}
    sizes: Item = {"bytes": len(data), "topics": len(found.topics), "state_bytes": len(found.state)}
    yield {"kind": "snapshot", "file": path, "sequence": found.sequence, **sizes, **state}
    for *place, partitions in found.topics:
        yield {"kind": "topic", **TopicPlace(*place)._asdict()}
        for number, (start, end, segments) in enumerate(partitions):
            yield {"kind": "partition", "topic": place[0], "partition": number, "start": start, "end": end}
            for segment_path, meta in segments:
                fields = dict(zip(("base", "size", "end", "first_ms", "max_ms"), meta, strict=True))
                yield {"kind": "kept segment", "path": segment_path, **fields}


# Segments and their indexes


def _segment(disk: Disk, path: str, records: bool) -> Iterator[Item]:
    with closing(disk.open(path, read_only=True)) as file:
        size, place = file.size(), (0, 0)
        yield {"kind": "segment", "file": path, "bytes": size}
        while place[0] < size:
            try:
                for position, header, data, at in scan_file(file, path, place[0], size, (place[1], OFFSET_MAX)):
                    yield _batch(position, header)
                    if records:
                        yield from _records(data, at, header)
                return
            except Corrupt:
                damaged = first_unsound(file, place, size, OFFSET_MAX)
                if only_zeros(file, damaged[0]):
                    yield {"kind": "zeros", "position": damaged[0], "bytes": size - damaged[0]}
                    return
                place = next_sound(file, damaged[0], size, damaged[1], OFFSET_MAX) or (size, 0)
                yield _damage(path, damaged[0], f"{place[0] - damaged[0]} bytes cannot be read")


def _batch(position: int, header: BatchHeader) -> Item:
    compression = header.attributes & COMPRESSION_MASK
    return {
        "kind": "batch",
        "position": position,
        "bytes": header.size,
        "offset": header.base_offset,
        "next_offset": header.next_offset,
        "records": header.record_count,
        "first_ms": header.base_timestamp_ms,
        "max_ms": header.max_timestamp_ms,
        "compression": _COMPRESSIONS[compression] if compression < len(_COMPRESSIONS) else str(compression),
        "attributes": header.attributes,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "crc": header.crc,
    }


def _records(data: bytes, at: int, header: BatchHeader) -> Iterator[Item]:
    try:
        for offset, timestamp_ms, key, value, headers in decode(data, at, header):
            times: Item = {"offset": offset, "timestamp_ms": timestamp_ms}
            yield {"kind": "record", **times, "key": key, "value": value, "headers": headers}
    except OneMQError as problem:
        yield {"kind": "unreadable", "offset": header.base_offset, "text": problem.text}


def _index(disk: Disk, path: str, _: bool) -> Iterator[Item]:
    data = _content(disk, path)
    match = _SEGMENT_NAME.search(path)
    base = int(match[2]) if match else 0
    yield {"kind": "index", "file": path, "bytes": len(data)}
    position = 0
    while position < len(data):
        count = CHUNK.unpack_from(data.ljust(position + CHUNK.size, b"\0"), position)[0]
        end = position + CHUNK.size + count * ROW.size
        if parse_index(data[position:end], 1) is None or end > len(data):
            yield _damage(path, position, "it is rebuilt when it is next needed")
            return
        for offset, place, time_ms in iter_unpack(ROW.format, data[position + CHUNK.size : end]):
            yield {"kind": "row", "offset": base + offset, "position": place, "before_ms": time_ms}
        position = end


_KINDS: dict[str, Callable[[Disk, str, bool], Iterator[Item]]] = {
    ".journal": _journal,
    ".snapshot": _snapshot,
    ".log": _segment,
    ".index": _index,
    FORMAT_FILE: _format,
}
