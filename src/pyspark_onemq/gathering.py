"""Arrow columns out of pieces of data, of numbers, and of one value for all rows."""

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pyspark_onemq.boundaries import Numbers
from pyspark_onemq.scanning import Slices

_HEX = np.frombuffer(b"".join(b"%04x" % number for number in range(1 << 16)), np.uint32)
"""Numbers of 16 bits as four hexadecimal digits."""
_POWERS = np.array([16**digits for digits in range(1, 16)], np.int64)


def gathered(data: bytes, slices: Slices) -> Any:
    """A binary column of pieces of the data."""
    at, size = slices
    rows, is_null = len(at), size < 0
    if is_null.all():
        return pa.nulls(rows, pa.binary())
    # An array of all pieces and of what lies between them, out of which the pieces are taken.
    bounds = np.empty(2 * rows, np.int32)
    bounds[0::2] = at
    bounds[1::2] = at + np.maximum(size, 0)
    places = pa.array(np.arange(0, 2 * rows, 2, dtype=np.int32), mask=is_null if is_null.any() else None)
    everything = pa.Array.from_buffers(pa.binary(), 2 * rows - 1, [None, pa.py_buffer(bounds), pa.py_buffer(data)])
    return everything.take(places)


def as_text(column: Any) -> Any:
    """A binary column as text; what is no UTF-8 is replaced."""
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        texts = [None if each is None else each.decode(errors="replace") for each in column.to_pylist()]
        return pa.array(texts, pa.string())


def numbers(values: NDArray[Any], kind: Any) -> Any:
    """A column of numbers, which are not copied."""
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def repeated(text: str, rows: int) -> Any:
    """A column with the same text in all rows."""
    content = text.encode()
    bounds = np.arange(rows + 1, dtype=np.int32) * len(content)
    return pa.Array.from_buffers(pa.string(), rows, [None, pa.py_buffer(bounds), pa.py_buffer(content * rows)])


def identities(topic_id: int, partition: int, offsets: Numbers) -> Any:
    """The ids that messages have by their places: topic, partition and offset in hexadecimal. Offsets ascend."""
    prefix = f"{topic_id:x}-{partition:x}-".encode()
    cuts = [0, *np.searchsorted(offsets, _POWERS).tolist(), len(offsets)]
    pieces, sizes = [], []
    for digits, (first, end) in enumerate(pairwise(cuts), 1):
        if first < end:
            pieces.append(_identities(prefix, offsets[first:end], digits))
        sizes.append(len(prefix) + digits)
    bounds = np.zeros(len(offsets) + 1, np.int32)
    np.cumsum(np.repeat(np.array(sizes, np.int32), np.diff(cuts)), out=bounds[1:])
    content = pa.py_buffer(np.concatenate([np.zeros(0, np.uint8), *pieces]))
    return pa.Array.from_buffers(pa.string(), len(offsets), [None, pa.py_buffer(bounds), content])


def _identities(prefix: bytes, offsets: Numbers, digits: int) -> NDArray[np.uint8]:
    """The ids of offsets with so many digits, one behind the other."""
    lead = len(prefix)
    lines = np.empty((len(offsets), lead + digits), np.uint8)
    lines[:, :lead] = np.frombuffer(prefix, np.uint8)
    for low in range(0, digits, 4):
        stop = lead + digits - low
        start = max(stop - 4, lead)
        four = _HEX.take(offsets >> 4 * low & 0xFFFF).view(np.uint8).reshape(-1, 4)
        lines[:, start:stop] = four[:, start - stop :]
    return lines.reshape(-1)
