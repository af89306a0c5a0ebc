"""Arrow columns to sealed record batches, without a loop over rows.

The bytes of a record (log/records.py draws them) are joined column by column by Arrow; what numpy adds are the
numbers between them. A row costs about as much as copying it a few times.
"""

from struct import Struct
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from crc32c import crc32c
from numpy.typing import NDArray

from onemq.log.batch import HEADER, HEADER_BYTES, LENGTH_PREFIX_BYTES, MAGIC, NO_PRODUCER
from onemq.log.records import NO_HEADERS

Numbers = NDArray[np.int64]
RECORD_BYTES_MAX = 32
"""What the numbers of a record take at most, beside its key, value and headers."""

_CRC = Struct(">I")
_CRC_AT, _CHECKED_AT = 17, 21
_SEPARATOR = pa.scalar(b"", pa.binary())
_TIMELY = pa.scalar(b"\x00\x00", pa.binary())
"""The attributes and the timestamp delta of every record: the broker gives batches its own time."""
NO_HEADERS_COLUMN = pa.scalar(NO_HEADERS, pa.binary())


def sizes_of(column: Any, rows: int) -> Numbers:
    """Bytes of each value of a binary column, 0 where it is null; a scalar counts for every row."""
    if isinstance(column, pa.Scalar):
        return np.full(rows, len(column.as_py()), np.int64)
    return np.asarray(pc.fill_null(pc.binary_length(column), 0)).astype(np.int64)


def joined(*columns: Any) -> Any:
    """Binary columns, or scalars, side by side as one; null counts as empty."""
    return pc.binary_join_element_wise(*columns, _SEPARATOR, null_handling="replace", null_replacement=b"")


def varints(numbers: Numbers) -> Any:
    """Each number as a zigzag varint, as a binary column."""
    zigzag = ((numbers << 1) ^ (numbers >> 63)).astype(np.uint64)
    width = max(1, -(-int(zigzag.max(initial=0)).bit_length() // 7))
    parts = zigzag[:, None] >> np.arange(0, 7 * width, 7, dtype=np.uint64)
    more = parts > 0x7F
    digits = (parts & np.uint64(0x7F)).astype(np.uint8) | (more.astype(np.uint8) << 7)
    keep = np.ones(digits.shape, np.bool_)
    keep[:, 1:] = more[:, :-1]
    return binary_column(digits[keep], bounds(keep.sum(axis=1)))


def bounds(sizes: NDArray[Any]) -> Numbers:
    """Where each of so many pieces begins, and the end of all."""
    found = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=found[1:])
    return found


def binary_column(data: Any, offsets: NDArray[Any]) -> Any:
    """A binary column over data that lies at these offsets."""
    if offsets[-1] > np.iinfo(np.int32).max:
        raise OverflowError("a column of more than 2 GiB")
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(offsets) - 1, buffers)


def with_length(column: Any, rows: int) -> tuple[Any, Any]:
    """(the sizes as varints, the column) of a nullable binary column: -1 says null."""
    sizes = sizes_of(column, rows)
    if column.null_count:
        sizes[np.asarray(column.is_null())] = -1
    return varints(sizes), column


def seal(value: Any, key: Any | None, headers: Any, starts: Numbers) -> list[bytes]:
    """One batch for each row in `starts`, of the rows from there to the next one. `headers` are the header blocks."""
    rows = len(value)
    if not rows:
        return []
    counts = np.diff(np.append(starts, rows))
    deltas = np.arange(rows) - np.repeat(starts, counts)
    no_key = (pa.scalar(b"\x01", pa.binary()),)
    fields = [_TIMELY, varints(deltas), *(no_key if key is None else with_length(key, rows))]
    fields += [*with_length(value, rows), headers]
    lengths = sum((sizes_of(field, rows) for field in fields), np.zeros(rows, np.int64))
    records = joined(varints(lengths), *fields)
    ends = np.frombuffer(records.buffers()[1], np.int32, rows + 1)
    data = memoryview(records.buffers()[2])
    edges = [*ends[starts].tolist(), int(ends[-1])]
    return [
        _sealed(data[first:end], count) for first, end, count in zip(edges, edges[1:], counts.tolist(), strict=False)
    ]


def _sealed(records: memoryview, count: int) -> bytes:
    length = HEADER_BYTES - LENGTH_PREFIX_BYTES + len(records)
    head = bytearray(HEADER.pack(0, length, 0, MAGIC, 0, 0, count - 1, 0, 0, *NO_PRODUCER, count))
    _CRC.pack_into(head, _CRC_AT, crc32c(records, crc32c(head[_CHECKED_AT:])))
    return b"".join((head, records))
