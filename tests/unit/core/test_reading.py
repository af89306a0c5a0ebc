"""Reading by offset, from the log and from what the turn has staged."""

import pytest

from onemq.core.partition import Partition
from onemq.errors import OffsetOutOfRange
from onemq.log import records
from onemq.log.batch import walk
from onemq.message import Record
from tests.unit.core.broker import MINUTE_MS, Broker, sealed


@pytest.fixture
def partition(broker: Broker) -> Partition:
    """Three batches: offsets 0 to 2, 3 to 4 and 5 to 24, the last one long enough to be searched."""
    topic = broker.topic()
    for first, end in ((0, 3), (3, 5), (5, 25)):
        broker.send(*[b"%d" % offset for offset in range(first, end)])
    return topic.partitions[0]


def records_at(broker: Broker, partition: Partition, offsets: list[int]) -> list[Record]:
    found: list[list[Record]] = []
    broker.core.reading.records_at(partition, offsets, found.append)
    assert len(found) == 1
    return found[0]


def test_batches_come_whole_from_the_one_that_holds_the_offset(broker: Broker, partition: Partition) -> None:
    """A6"""
    for offset, bases in ((0, [0, 3, 5]), (2, [0, 3, 5]), (3, [3, 5]), (24, [5]), (25, [])):
        read: list[bytes] = []
        broker.core.reading.batches(partition, offset, 1 << 20, read.append)
        assert [header.base_offset for _, header in walk(read[0])] == bases


@pytest.mark.parametrize("offset", [-1, 26])
def test_an_offset_outside_the_partition_is_refused(broker: Broker, partition: Partition, offset: int) -> None:
    """A6"""
    with pytest.raises(OffsetOutOfRange, match=f"offset {offset} is not in 0 to 25"):
        broker.core.reading.batches(partition, offset, 100, lambda data: None)


@pytest.mark.parametrize("offset", [0, 1, 4, 24, 25])
def test_records_begin_exactly_at_the_offset(broker: Broker, partition: Partition, offset: int) -> None:
    """A6"""
    answers: list[tuple[list[Record], int]] = []
    broker.core.reading.records(partition, offset, 1 << 20, lambda found, end: answers.append((found, end)))
    ((found, end),) = answers
    assert [record[0] for record in found] == list(range(offset, 25))
    assert end == 25


@pytest.mark.parametrize("offsets", [[0], [4], [24], [0, 24], [1, 2, 3, 17], list(range(25)), []], ids=str)
def test_records_at_some_offsets_are_found(broker: Broker, partition: Partition, offsets: list[int]) -> None:
    assert [record[0] for record in records_at(broker, partition, offsets)] == offsets


@pytest.mark.parametrize("offsets", [[1, 1], [7, 7], [0, 7, 7, 7, 8, 24, 24]], ids=str)
def test_a_record_that_is_asked_for_twice_is_found_once(
    broker: Broker, partition: Partition, offsets: list[int]
) -> None:
    assert [record[0] for record in records_at(broker, partition, offsets)] == sorted(set(offsets))


def test_offsets_that_are_gone_or_never_were_are_left_out(broker: Broker, partition: Partition) -> None:
    topic = broker.core.topics.get("t")
    with broker.turn() as core:
        core.topics.trim(topic, partition, 4)
    assert [record[0] for record in records_at(broker, partition, [0, 3, 4, 10, 25, 99])] == [4, 10]


def test_records_far_apart_are_found_over_many_reads(broker: Broker) -> None:
    topic = broker.topic("t", segment_bytes=1 << 20)
    for _ in range(30):
        broker.send(*[b"x" * 1_000] * 100)
    found = records_at(broker, topic.partitions[0], list(range(0, 3_000, 250)))
    assert [record[0] for record in found] == list(range(0, 3_000, 250))


def test_records_in_the_log_and_staged_are_found_together(broker: Broker, partition: Partition) -> None:
    with broker.turn() as core:
        core.send("t", b"25")
        core.sending.send_batch(core.topics.get("t"), 0, sealed(b"26", b"27"))
        core.send("t", b"28")
        found = records_at(broker, partition, [2, 24, 25, 27, 28])
    assert [record[3] for record in found] == [b"2", b"24", b"25", b"27", b"28"]


def test_records_on_both_sides_of_a_gap_are_found(broker: Broker) -> None:
    """A8"""
    topic = broker.topic("t", compact=True, segment_bytes=4096)
    for number in range(40):
        broker.send(b"x" * 500, key=b"once" if number == 3 else b"k")
    broker.pass_ms(MINUTE_MS)
    offsets = [record[0] for record in broker.records()]
    assert 3 in offsets
    assert 4 not in offsets
    found = records_at(broker, topic.partitions[0], list(range(40)))
    assert [record[0] for record in found] == offsets


def test_records_of_one_batch_are_read_on_one_way_through_it(
    broker: Broker, partition: Partition, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has many in flight, and loses them, would otherwise hold up all others."""
    skipped: list[int] = []
    skip = records._skip_records

    def counted(data: bytes, position: int, count: int) -> int:
        skipped.append(count)
        return skip(data, position, count)

    monkeypatch.setattr(records, "_skip_records", counted)
    assert [record[0] for record in records_at(broker, partition, list(range(5, 25, 2)))] == list(range(5, 25, 2))
    assert sum(skipped) <= 20
