"""Rows of a task as binary columns, the way the encoder wants them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from onemq.errors import InvalidArgument
from onemq.limits import MIB
from pyspark_onemq.encoding import RECORD_BYTES_MAX, Numbers, sizes_of
from pyspark_onemq.heading import blocks, order_keys

PORTION_BYTES = 8 * MIB
"""About how much a task gathers before it places, encodes and stages it: larger portions make larger batches."""
_HEADERS = pa.list_(pa.struct([("key", pa.binary()), ("value", pa.binary())]))


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one topic. All columns are of Arrow; those that no row has are None."""

    value: Any
    key: Any | None
    partition: Any | None
    order: Any | None
    """What decides on the partition, where that is not the key."""
    headers: Any
    """Header blocks."""

    def __len__(self) -> int:
        return len(self.value)

    def sizes(self) -> Numbers:
        """Bytes of each row as a record, at most."""
        rows = len(self)
        key = 0 if self.key is None else sizes_of(self.key, rows)
        return sizes_of(self.value, rows) + key + sizes_of(self.headers, rows) + RECORD_BYTES_MAX


def portions(batches: Iterable[Any]) -> Iterator[Any]:
    """The same rows in Arrow batches of about `PORTION_BYTES`."""
    gathered: list[Any] = []
    size = 0
    for batch in batches:
        for part in _parts(batch):
            gathered.append(part)
            size += part.nbytes
            if size >= PORTION_BYTES:
                yield _one(gathered)
                gathered, size = [], 0
    if gathered:
        yield _one(gathered)


def _parts(batch: Any) -> Iterator[Any]:
    """A huge batch in slices."""
    step = max(1, batch.num_rows * PORTION_BYTES // max(batch.nbytes, 1))
    for first in range(0, batch.num_rows, step):
        yield batch.slice(first, step)


def _one(batches: list[Any]) -> Any:
    if len(batches) == 1:
        return batches[0]
    table = pa.Table.from_batches(batches).combine_chunks()
    return table.to_batches()[0]


def by_topic(batch: Any, topic: str | None) -> Iterator[tuple[str, Any]]:
    """(topic, its rows) of an Arrow batch; a topic that is given goes before the column."""
    if topic is not None:
        yield topic, batch
        return
    column = batch.column("topic")
    names = pc.unique(column).to_pylist()
    if None in names or "" in names:
        raise InvalidArgument("a row has no topic: its column 'topic' is null or empty, and there is no option topic")
    for name in names:
        yield name, batch if len(names) == 1 else batch.filter(pc.equal(column, name))


def rows_of(batch: Any, content_type: str | None) -> Rows:
    """The columns of an Arrow batch."""
    names = batch.schema.names
    headers = batch.column("headers").cast(_HEADERS) if "headers" in names else None
    order = order_keys(headers) if headers is not None else None
    key, tag = (_binary(batch.column(name)) if name in names else None for name in ("key", "tag"))
    return Rows(
        _binary(batch.column("value")),
        key,
        batch.column("partition") if "partition" in names else None,
        order if key is None or order is None else pc.coalesce(order, key),
        blocks(tag, headers, content_type, batch.num_rows),
    )


def _binary(column: Any) -> Any:
    return column.cast(pa.binary())


def taken(rows: Rows, order: Numbers) -> Rows:
    """The same rows in another order."""
    if len(order) < 2 or bool(np.all(order[1:] > order[:-1])):
        return rows
    places = pa.array(order)
    value, headers = rows.value.take(places), rows.headers
    return Rows(
        value,
        None if rows.key is None else rows.key.take(places),
        None,
        None,
        headers if isinstance(headers, pa.Scalar) else headers.take(places),
    )
