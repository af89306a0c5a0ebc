"""Record batches as Arrow: what a task got from the broker becomes columns, without a step for each message."""

import gzip
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from onemq.message import (
    DUE,
    ENCODING,
    ID,
    PRODUCER_GROUP,
    SERIES_ID,
    STREAM_ID,
    TAG,
    TARGET,
    TARGET_ID,
    TARGET_PARTITION,
    TRANSACTION,
)
from pyspark_onemq.boundaries import Numbers
from pyspark_onemq.gathering import as_text, gathered, identities, numbers, repeated
from pyspark_onemq.scanning import Header, Records, Slices, scan

HIDDEN = (TAG, ID, STREAM_ID, DUE, SERIES_ID, TARGET, TARGET_ID, TARGET_PARTITION, PRODUCER_GROUP, TRANSACTION, b"_f")
"""Headers that have a column of their own, or that the broker made for itself: the column headers is without them."""


def decode(
    batches: bytes, first: int, end: int, topic: str, partition: int, topic_id: int, schema: Any
) -> pa.RecordBatch:
    """The messages with offsets from `first` on and before `end`, as the columns that the Arrow schema names. Bodies
    that their sender compressed are given as they were before.

    Raises `Corrupt`, and `InvalidArgument` if a batch is compressed in a way that cannot be read here.
    """
    records = scan(batches, first, end)
    rows = len(records.offset)
    bodies = _plain_bodies(records)
    makers: dict[str, Callable[[], Any]] = {
        "key": lambda: gathered(records.data, records.key),
        "value": lambda: _values(records, bodies),
        "topic": lambda: repeated(topic, rows),
        "partition": lambda: numbers(np.full(rows, partition, np.int32), pa.int32()),
        "offset": lambda: numbers(records.offset, pa.int64()),
        "timestamp": lambda: numbers(records.time_ms * 1000, pa.timestamp("us", tz="UTC")),
        "id": lambda: _ids(records, topic_id, partition),
        "tag": lambda: _header_texts(records, TAG),
        "headers": lambda: _headers(records, bodies, schema.field("headers").type),
    }
    return pa.RecordBatch.from_arrays([makers[name]() for name in schema.names], schema=schema)


def _plain_bodies(records: Records) -> dict[int, bytes]:
    """The bodies of the rows whose sender compressed them, decompressed. What does not decompress stays as it is."""
    found: dict[int, bytes] = {}
    places, sizes = _header_slices(records, ENCODING)
    for row in np.flatnonzero(sizes > 0).tolist():
        encoding, body = places[row], records.value.at[row]
        is_gzip = records.data[encoding : encoding + sizes[row]] == b"gzip"
        with suppress(OSError, EOFError, zlib.error):
            if is_gzip and records.value.size[row] >= 0:
                found[row] = gzip.decompress(records.data[body : body + records.value.size[row]])
    return found


def _values(records: Records, bodies: dict[int, bytes]) -> Any:
    stored = gathered(records.data, records.value)
    if not bodies:
        return stored
    is_plain = np.zeros(len(stored), np.bool_)
    is_plain[list(bodies)] = True
    return pc.replace_with_mask(stored, is_plain, pa.array(list(bodies.values()), pa.binary()))


def _ids(records: Records, topic_id: int, partition: int) -> Any:
    """The id that is stored with the message, else that of its place."""
    by_place = identities(topic_id, partition, records.offset)
    stored = _header_texts(records, ID)
    return by_place if stored.null_count == len(stored) else pc.coalesce(stored, by_place)


def _header_texts(records: Records, name: bytes) -> Any:
    """The values of the first header of that name in each row, as text."""
    return as_text(gathered(records.data, _header_slices(records, name)))


def _header_slices(records: Records, name: bytes) -> Slices:
    """Where these values lie."""
    at, size = records.value.at.copy(), np.full_like(records.value.size, -1)
    is_open = np.ones(len(at), np.bool_)
    for header in records.headers:
        found = np.flatnonzero(_is_named(records.data, header, name) & is_open[header.rows])
        places = header.rows[found]
        at[places], size[places] = header.value.at[found], header.value.size[found]
        is_open[places] = False
    return Slices(at, size)


def _is_named(data: bytes, header: Header, name: bytes) -> Any:
    """Which rows have a header of that name."""
    at, size = header.name
    same = size == len(name)
    if not same.any():
        return same
    buffer = np.frombuffer(data, np.uint8)
    for place, byte in enumerate(name):
        same &= buffer.take(at + place, mode="clip") == byte
    return same


def _headers(records: Records, bodies: dict[int, bytes], kind: Any) -> Any:
    """All headers of each row but the hidden ones, and but the encoding of a body that is decompressed."""
    decompressed = np.fromiter(bodies, np.int64, len(bodies))
    shown = [_shown(records.data, header, decompressed) for header in records.headers]
    rows = _joined([each.rows for each in shown])
    order = np.argsort(rows, kind="stable")
    names = _in_order(records.data, [each.name for each in shown], order)
    values = _in_order(records.data, [each.value for each in shown], order)
    counts = np.bincount(rows, minlength=len(records.offset))
    bounds = numbers(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32), pa.int32())
    element = kind.value_type
    pairs = pa.StructArray.from_arrays([as_text(names), values], fields=[element.field(0), element.field(1)])
    return pa.ListArray.from_arrays(bounds, pairs, type=kind)


def _shown(data: bytes, header: Header, decompressed: Numbers) -> Header:
    hidden = np.isin(header.rows, decompressed) & _is_named(data, header, ENCODING)
    for each in HIDDEN:
        hidden |= _is_named(data, header, each)
    wanted = np.flatnonzero(~hidden)
    name, value = header.name, header.value
    return Header(
        header.rows[wanted],
        Slices(name.at[wanted], np.maximum(name.size[wanted], 0)),
        Slices(value.at[wanted], value.size[wanted]),
    )


def _in_order(data: bytes, slices: list[Slices], order: Numbers) -> Any:
    at, size = _joined([each.at for each in slices]), _joined([each.size for each in slices])
    return gathered(data, Slices(at[order], size[order]))


def _joined(arrays: list[Numbers]) -> Numbers:
    return np.concatenate([np.zeros(0, np.int64), *arrays])
