"""A set in bytes and back."""

import pytest

from onemq.log import sets
from onemq.log.batch import read_header
from onemq.log.engine import Batch, TopicPlace, WriteSet
from onemq.log.sets import Row
from tests.unit.log.helpers import sealed

FIRST = sealed(5, [b"a", b"b"])
SECOND = sealed(9, [b"c" * 1000])


def row(batch: Batch, segment: int) -> Row:
    crc = read_header(batch.data).crc
    return Row(batch.topic, batch.partition, batch.base_offset, len(batch.data), crc, segment, batch.journaled)


def encoded(writes: WriteSet, rows: list[Row], swaps: list[list[object]]) -> memoryview:
    data = b"".join(batch.data for batch in writes.batches if batch.journaled)
    return memoryview(sets.encode(writes, rows, swaps) + data)


def test_a_set_comes_back() -> None:
    batches = [Batch(1, 0, 5, FIRST, True), Batch(2, 1, 0, b"in its segment only", False), Batch(1, 0, 9, SECOND, True)]
    writes = WriteSet(
        creates=[TopicPlace(7, "name", 3, 1000, 60_000)],
        deletes=[4, 5],
        trims=[(1, 2, 3)],
        batches=batches,
        entries=[("kind", 1, b"bytes", None, ["list", 2.5])],
    )
    rows = [row(batches[0], 0), Row(2, 1, 0, 19, 0, 0, False), row(batches[2], 9)]
    stored = sets.decode(encoded(writes, rows, [[1, 0, 0, "path", [0, 1, 2, 3, 4]]]))
    assert [TopicPlace(*place) for place in stored.creates] == writes.creates
    assert stored.deletes == [4, 5]
    assert stored.trims == [[1, 2, 3]]
    assert stored.swaps == [[1, 0, 0, "path", [0, 1, 2, 3, 4]]]
    assert stored.entries == [["kind", 1, b"bytes", None, ["list", 2.5]]]
    assert [(found, data and bytes(data)) for found, data in stored.batches()] == [
        (rows[0], FIRST),
        (rows[1], None),
        (rows[2], SECOND),
    ]


def test_an_empty_set_comes_back() -> None:
    stored = sets.decode(encoded(WriteSet(), [], []))
    assert list(stored.batches()) == []
    assert (stored.creates, stored.deletes, stored.trims, stored.swaps, stored.entries) == ([], [], [], [], [])


@pytest.mark.parametrize(
    ("writes", "swaps", "removes"),
    [
        (WriteSet(), [], False),
        (WriteSet(entries=[("x",)], creates=[TopicPlace(1, "x", 1, 1)]), [], False),
        (WriteSet(deletes=[1]), [], True),
        (WriteSet(trims=[(1, 0, 5)]), [], True),
        (WriteSet(), [[1, 0, 0, "path", [0, 0, 0, 0, 0]]], True),
    ],
)
def test_a_set_tells_whether_it_removes_files_without_being_decoded(
    writes: WriteSet, swaps: list[list[object]], removes: bool
) -> None:
    assert sets.removes(encoded(writes, [], swaps)) is removes
