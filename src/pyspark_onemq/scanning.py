"""Where everything lies in record batches, as arrays: the fields of all records at once, and none of them copied.

Only where each record begins must be found one after the other. Records of one size, which is what bulk data mostly
is, are found by a guess that is checked for all of them together; others by `record_starts`, which is quick where
OneMQ is compiled.
"""

from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onemq.errors import Corrupt, InvalidArgument
from onemq.log.records import (
    COMPRESSION_MASK,
    DECOMPRESSORS,
    HEADER_BYTES,
    STAMPED,
    BatchHeader,
    record_starts,
    walk,
)

Numbers = NDArray[np.int64]
Bytes = NDArray[np.uint8]

CODECS = {1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
_GUESS_MIN = 16
"""So many records of one size make the guess cheaper than looking at each."""
_BUFFER_BYTES_MAX = (1 << 31) - 1
"""Arrow's binary columns have offsets of 32 bits."""


class Slices(NamedTuple):
    """Pieces of the data, one for each row, in their order there; a negative size stands for none."""

    at: Numbers
    size: Numbers


class Header(NamedTuple):
    """One header of each of some rows: the first of them, or the second and so on."""

    rows: Numbers
    name: Slices
    value: Slices


class Records(NamedTuple):
    """The fields of records: numbers, and places in the data."""

    data: bytes
    offset: Numbers
    time_ms: Numbers
    key: Slices
    value: Slices
    headers: list[Header]


class _Found(NamedTuple):
    """Where the records of all batches begin, and what each batch says of its own."""

    data: bytes
    starts: Numbers
    base_offset: Numbers
    base_time_ms: Numbers
    is_stamped: NDArray[np.bool_]


def scan(batches: bytes, first: int, end: int) -> Records:
    """The records with offsets from `first` on and before `end`. Raises `Corrupt`, and `InvalidArgument` for a
    compression that cannot be read here."""
    try:
        return _fields(_found(batches), first, end)
    except IndexError:
        raise Corrupt("record batches from the broker do not parse") from None


def _found(batches: bytes) -> _Found:
    data, places = _unpacked(batches)
    if len(data) > _BUFFER_BYTES_MAX:
        raise InvalidArgument("record batches of more than 2 GiB cannot be read at once: fetch fewer bytes")
    starts = _Starts(data)
    rows: list[tuple[int, int, int, bool]] = []
    for position, end, header in places:
        starts.find(position, end, header.record_count)
        is_stamped = bool(header.attributes & STAMPED)
        time_ms = header.max_timestamp_ms if is_stamped else header.base_timestamp_ms
        rows.append((header.record_count, header.base_offset, time_ms, is_stamped))
    counts, *facts = np.array(rows, np.int64).reshape(-1, 4).T
    base_offset, base_time_ms, is_stamped_at = (np.repeat(fact, counts) for fact in facts)
    return _Found(data, starts.all(), base_offset, base_time_ms, is_stamped_at.astype(bool))


def _unpacked(batches: bytes) -> tuple[bytes, list[tuple[int, int, BatchHeader]]]:
    """Data in which no record is compressed, and where in it the records of each batch lie."""
    found = list(walk(batches))
    if not any(header.attributes & COMPRESSION_MASK for _, header in found):
        return batches, [(position + HEADER_BYTES, position + header.size, header) for position, header in found]
    pieces = [_decompressed(batches, position, header) for position, header in found]
    ends = list(accumulate(map(len, pieces)))
    return b"".join(pieces), list(zip([0, *ends], ends, [header for _, header in found], strict=False))


def _decompressed(batches: bytes, position: int, header: BatchHeader) -> bytes:
    records = batches[position + HEADER_BYTES : position + header.size]
    codec = header.attributes & COMPRESSION_MASK
    if not codec:
        return records
    if codec not in DECOMPRESSORS:
        name = CODECS.get(codec, f"codec {codec}")
        raise InvalidArgument(
            f"the batch at offset {header.base_offset} is compressed with {name}, which cannot be read here: "
            "gzip and uncompressed batches can"
        )
    return DECOMPRESSORS[codec](records)


class _Starts:
    """Finds where records begin."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._buffer = np.frombuffer(data, np.uint8)
        self.pieces: list[list[int] | Numbers] = []

    def all(self) -> Numbers:
        arrays = [np.fromiter(each, np.int64, len(each)) if isinstance(each, list) else each for each in self.pieces]
        return np.concatenate([np.zeros(0, np.int64), *arrays])

    def find(self, position: int, end: int, count: int) -> None:
        """The places of so many records that fill a piece of the data."""
        pace = _GUESS_MIN
        while count > 0:
            run, size = self._run(position, end, count) if count >= _GUESS_MIN else (0, 0)
            if run >= _GUESS_MIN:
                self.pieces.append(np.arange(position, position + run * size, size, dtype=np.int64))
                position += run * size
            else:
                run = min(count, pace)
                position = self._look_at_each(position, run)
                pace *= 4
            count -= run
        if position != end or count < 0:
            raise IndexError

    def _look_at_each(self, position: int, count: int) -> int:
        starts = record_starts(self._data, position, count)
        position = starts.pop()
        if self.pieces and isinstance(self.pieces[-1], list):
            self.pieces[-1] += starts
        else:
            self.pieces.append(starts)
        return position

    def _run(self, position: int, end: int, count: int) -> tuple[int, int]:
        """How many records have the size of the first, and that size: each that says so tells where the next is."""
        data, buffer = self._data, self._buffer
        size = record_starts(data, position, 1)[1] - position
        most = min(count, (end - position) // size)
        same = buffer[position : position + most * size : size] == data[position]
        at = position
        while data[at] > 0x7F:
            at += 1
            same &= buffer[at : at + most * size : size][:most] == data[at]
        return most if same.all() else int(same.argmin()), size


def _fields(found: _Found, first: int, end: int) -> Records:
    data, starts, base_offset, base_time_ms, is_stamped = found
    buffer = np.frombuffer(data, np.uint8)
    length, at = varints(buffer, starts)
    ends = at + length
    time_delta, at = varints(buffer, at + 1)
    offset_delta, at = varints(buffer, at)
    offset = base_offset + offset_delta
    time_ms = base_time_ms + np.where(is_stamped, 0, time_delta) if time_delta.any() else base_time_ms
    wanted = (offset >= first) & (offset < end)
    if not wanted.all():
        offset, time_ms, at, ends = offset[wanted], time_ms[wanted], at[wanted], ends[wanted]
    key, at = _slices(buffer, at)
    value, at = _slices(buffer, at)
    headers, at = _headers(buffer, at)
    if (at != ends).any() or ends.max(initial=0) > len(data) or (np.diff(offset) <= 0).any():
        raise IndexError
    return Records(data, offset, time_ms, key, value, headers)


def _headers(buffer: Bytes, at: Numbers) -> tuple[list[Header], Numbers]:
    """All headers, and the places behind them."""
    count, after = varints(buffer, at)
    found: list[Header] = []
    rows = np.flatnonzero(count > 0)
    while len(rows):
        name, at = _slices(buffer, after[rows])
        value, after[rows] = _slices(buffer, at)
        found.append(Header(rows, name, value))
        rows = rows[count[rows] > len(found)]
    return found, after


def _slices(buffer: Bytes, at: Numbers) -> tuple[Slices, Numbers]:
    """Pieces that begin with their sizes, and the places behind them."""
    size, at = varints(buffer, at)
    if size.max(initial=0) > len(buffer):
        raise IndexError
    return Slices(at, size), at + np.maximum(size, 0)


def varints(buffer: Bytes, at: Numbers) -> tuple[Numbers, Numbers]:
    """Zigzag varints at many places, and the places behind them. Raises IndexError."""
    byte = buffer.take(at)
    after = at + 1
    number = byte.astype(np.int64)
    more = byte > 0x7F
    if more.any():
        number &= 0x7F
        shift = 7
        rows: Any = slice(None) if more.all() else np.flatnonzero(more)
        while shift <= 63:
            byte = buffer.take(after[rows])
            number[rows] |= (byte & 0x7F).astype(np.int64) << shift
            after[rows] += 1
            shift += 7
            more = byte > 0x7F
            if not more.any():
                break
            rows = np.flatnonzero(more) if isinstance(rows, slice) else rows[more]
        else:
            raise IndexError
    return number >> 1 ^ -(number & 1), after
