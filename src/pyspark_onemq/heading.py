"""Header blocks out of columns: tag, headers and content type of each row as a record holds them."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from onemq.errors import InvalidArgument
from onemq.log.records import varint
from onemq.message import (
    BORN,
    CONTENT_TYPE,
    CORRELATION,
    DEAD,
    ENCODING,
    EXPIRES,
    ORDER_KEY,
    PRIORITY,
    REPLY_TO,
    TAG,
)
from pyspark_onemq.encoding import NO_HEADERS_COLUMN, binary_column, bounds, joined, sizes_of, varints, with_length

SENDERS_OWN = frozenset((TAG, PRIORITY, EXPIRES, ORDER_KEY, REPLY_TO, CORRELATION, CONTENT_TYPE, ENCODING, BORN, DEAD))
"""Reserved headers that a row may have: what a sender sets, and why a message is dead. They come back unchanged when
messages are copied from topic to topic."""


def blocks(tag: Any | None, headers: Any | None, content_type: str | None, rows: int) -> Any:
    """The header blocks of so many rows: a binary column, or a scalar if all are the same.

    `tag` is binary, `headers` a list of (name, value), both binary. A row's own content type goes before
    `content_type`, since of two headers with one name the first counts.
    """
    if tag is None and headers is None:
        return _constant(content_type)
    counts = np.zeros(rows, np.int64)
    pieces = []
    if tag is not None:
        counts += np.asarray(tag.is_valid())
        pieces.append(_named(TAG, tag))
    if headers is not None:
        lengths = np.asarray(pc.fill_null(headers.value_lengths(), 0)).astype(np.int64)
        counts += lengths
        pieces.append(_listed(headers, lengths))
    if content_type is not None:
        counts += 1
        pieces.append(pa.scalar(_header(CONTENT_TYPE, content_type.encode()), pa.binary()))
    return joined(varints(counts), *pieces)


def order_keys(headers: Any) -> Any | None:
    """The order key of each row that has one among its headers; None if no row has."""
    names, values = headers.flatten().flatten()
    found = np.flatnonzero(np.asarray(pc.fill_null(pc.equal(names, ORDER_KEY), False)))
    if not len(found):
        return None
    ends = np.cumsum(np.asarray(pc.fill_null(headers.value_lengths(), 0)))
    rows, first = np.unique(np.searchsorted(ends, found, side="right"), return_index=True)
    places = np.full(len(headers), -1, np.int64)
    places[rows] = found[first]
    return values.take(pa.array(places, mask=places < 0))


def _constant(content_type: str | None) -> Any:
    if content_type is None:
        return NO_HEADERS_COLUMN
    return pa.scalar(varint(1) + _header(CONTENT_TYPE, content_type.encode()), pa.binary())


def _header(name: bytes, value: bytes) -> bytes:
    return varint(len(name)) + name + varint(len(value)) + value


def _named(name: bytes, values: Any) -> Any:
    """One header of that name for each value, nothing where it is null."""
    lead = pa.scalar(varint(len(name)) + name, pa.binary())
    filled = joined(lead, varints(sizes_of(values, len(values))), values)
    return pc.if_else(values.is_valid(), filled, pa.scalar(b"", pa.binary())) if values.null_count else filled


def _listed(headers: Any, lengths: Any) -> Any:
    """The headers of each row one after the other: they lie so already once each is encoded."""
    elements = headers.flatten()
    names, values = elements.flatten()
    _check_names(names)
    encoded = joined(*with_length(names, len(elements)), *with_length(values, len(elements)))
    ends = bounds(sizes_of(encoded, len(elements)))
    return binary_column(encoded.buffers()[2] or b"", ends[bounds(lengths)])


def _check_names(names: Any) -> None:
    for name in pc.unique(names).to_pylist():
        if not name or (name.startswith(b"_") and name not in SENDERS_OWN):
            shown = name.decode(errors="replace") if name else name
            raise InvalidArgument(f"header names that begin with _ are OneMQ's own, and none is empty: {shown!r}")
