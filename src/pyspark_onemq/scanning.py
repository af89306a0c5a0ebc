"""Where everything lies in record batches, as arrays: the fields of all records at once, and none of them copied."""

from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onemq.errors import Corrupt, InvalidArgument
from onemq.log.batch import COMPRESSION_MASK, HEADER_BYTES, LENGTH_PREFIX_BYTES, STAMPED
from onemq.log.compression import DECOMPRESSORS
from pyspark_onemq.boundaries import Bytes, Numbers, all_record_starts, batch_starts

_BUFFER_BYTES_MAX = (1 << 31) - 1
"""Arrow's binary columns have offsets of 32 bits."""
_LAST_SHIFT = 63
"""Of the tenth byte of a varint, of which one bit fits into a number."""
_HEADER = np.dtype([
    ("base_offset", ">i8"), ("length", ">i4"), ("leader_epoch", ">i4"), ("magic", "u1"), ("crc", ">u4"),
    ("attributes", ">i2"), ("last_offset_delta", ">i4"), ("base_time_ms", ">i8"), ("max_time_ms", ">i8"),
    ("producer_id", ">i8"), ("producer_epoch", ">i2"), ("base_sequence", ">i4"), ("count", ">i4"),
])  # fmt: skip
"""The head of a batch, as in onemq.log.batch."""


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


class _Batches(NamedTuple):
    """What batches say of their own, and where in the data their records lie, none of which is compressed."""

    data: bytes
    first: Numbers
    end: Numbers
    headers: NDArray[Any]



def scan(batches: bytes, first: int, end: int) -> Records:
    """The records with offsets from `first` on and before `end`. Raises `Corrupt`, and `InvalidArgument` for a
    compression that cannot be read here."""
    try:
        return _fields(_batches(batches), first, end)
    except IndexError:
        raise Corrupt("record batches from the broker do not parse") from None


def _batches(data: bytes) -> _Batches:
    starts = batch_starts(data)
    buffer = np.frombuffer(data, np.uint8)
    headers = buffer[starts[:, None] + np.arange(HEADER_BYTES)].view(_HEADER)[:, 0]
    first, end = starts + HEADER_BYTES, starts + LENGTH_PREFIX_BYTES + headers["length"]
    if (headers["attributes"] & COMPRESSION_MASK).any():
        pieces = [
            _decompressed(data[here:there], header)
            for here, there, header in zip(first.tolist(), end.tolist(), headers, strict=True)
        ]
        data = b"".join(pieces)
        end = np.array(list(accumulate(map(len, pieces))), np.int64)
        first = np.concatenate([[0], end[:-1]])
    if len(data) > _BUFFER_BYTES_MAX:
        raise InvalidArgument("record batches of more than 2 GiB cannot be read at once: fetch fewer bytes")
    return _Batches(data, first, end, headers)


def _decompressed(records: bytes, header: Any) -> bytes:
    codec = int(header["attributes"]) & COMPRESSION_MASK
    if not codec:
        return records
    if codec not in DECOMPRESSORS:
        raise InvalidArgument(f"the batch at offset {header['base_offset']} has compression {codec}, which is unknown")
    return DECOMPRESSORS[codec](records)


def _fields(batches: _Batches, first: int, end: int) -> Records:
    buffer = np.frombuffer(batches.data, np.uint8)
    count = batches.headers["count"].astype(np.int64)
    starts = all_record_starts(batches.data, batches.first, batches.end, count)
    length, at = varints(buffer, starts)
    ends = at + length
    _check_ends(starts, ends, batches.end, count)
    time_delta, at = varints(buffer, at + 1)
    offset_delta, at = varints(buffer, at)
    if ((offset_delta < 0) | (offset_delta > np.repeat(batches.headers["last_offset_delta"], count))).any():
        raise IndexError
    offset = np.repeat(batches.headers["base_offset"].astype(np.int64), count) + offset_delta
    time_ms = _times(batches.headers, time_delta, count)
    wanted = (offset >= first) & (offset < end)
    if not wanted.all():
        offset, time_ms, at, ends = offset[wanted], time_ms[wanted], at[wanted], ends[wanted]
    key, at = _slices(buffer, at)
    value, at = _slices(buffer, at)
    headers, at = _headers(buffer, at)
    if (at != ends).any() or (np.diff(offset) <= 0).any():
        raise IndexError
    return Records(batches.data, offset, time_ms, key, value, headers)


def _check_ends(starts: Numbers, ends: Numbers, batch_end: Numbers, count: Numbers) -> None:
    """Each record must end where the next one begins, or its batch ends."""
    expected = np.empty_like(ends)
    expected[:-1] = starts[1:]
    some = count > 0
    expected[(np.cumsum(count) - 1)[some]] = batch_end[some]
    if (ends != expected).any():
        raise IndexError


def _times(headers: NDArray[Any], delta: Numbers, count: Numbers) -> Numbers:
    """Of a batch that was stamped, all records have the time at which it was stored."""
    is_stamped = headers["attributes"] & STAMPED != 0
    times = np.repeat(np.where(is_stamped, headers["max_time_ms"], headers["base_time_ms"]).astype(np.int64), count)
    if delta.any():
        times += np.where(np.repeat(is_stamped, count), 0, delta)
    return times


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
        rows: Any = slice(None) if more.all() else np.flatnonzero(more)
        for shift in range(7, _LAST_SHIFT + 1, 7):
            byte = buffer.take(after[rows])
            number[rows] |= (byte & 0x7F).astype(np.int64) << shift
            after[rows] += 1
            if shift == _LAST_SHIFT and (byte > 1).any():
                raise IndexError
            more = byte > 0x7F
            if not more.any():
                break
            rows = np.flatnonzero(more) if isinstance(rows, slice) else rows[more]
    return number >> 1 ^ -(number & 1), after
