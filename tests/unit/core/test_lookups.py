"""Single messages that are looked up one after the other, in one turn."""

import pytest

from onemq.core import lookups
from onemq.core.partition import Partition
from onemq.core.stream import Stream
from onemq.core.stream_ids import id_of
from onemq.log.engine import Log
from onemq.message import Record
from tests.unit.core.broker import Broker, CountingLog, sealed
from tests.unit.core.test_stream import delete, id, make
from tests.unit.core.test_unreadable_batches import forged, records_of

FEW = 10
"""Reads of the log for any number of lookups in one batch."""


class Looking(Broker):
    """A broker with one partition, whose reads of the log are counted."""

    def __init__(self, *bodies: bytes) -> None:
        self._counting = CountingLog()
        super().__init__(None)
        self.partition: Partition = self.topic().partitions[0]
        if bodies:
            self.send(*bodies)
        self._counting.offsets.clear()

    def _open(self) -> Log:
        return self._counting

    @property
    def reads(self) -> int:
        return len(self._counting.offsets)

    def at(self, offset: int) -> list[Record]:
        return self.core.reading.page_at(self.partition, [offset])


@pytest.fixture
def large() -> Looking:
    """One batch of a thousand messages."""
    return Looking(*[b"%d" % number for number in range(1_000)])


def test_many_lookups_in_one_batch_read_it_a_few_times(large: Looking) -> None:
    for offset in range(1_000):
        ((found, _, _, body, _),) = large.at(offset)
        assert (found, body) == (offset, b"%d" % offset)
    assert large.reads <= FEW


def test_the_same_message_is_read_once(large: Looking) -> None:
    assert large.at(7) == large.at(7)
    assert large.reads == 1


def test_the_next_turn_remembers_nothing(large: Looking) -> None:
    with large.turn():
        large.at(7)
    with large.turn():
        large.at(7)
    assert large.reads == 2


def test_what_was_removed_in_the_turn_is_not_found_any_more(large: Looking) -> None:
    with large.turn() as core:
        for offset in range(20):
            assert large.at(offset)
        core.removing.delete_at(core.topics.get("t"), 0, [5])
        assert large.at(5) == []
        assert large.at(6) != []
        core.topics.trim(core.topics.get("t"), large.partition, 10)
        assert large.at(6) == []
        assert large.at(10) != []


def test_what_is_added_in_the_turn_is_found(large: Looking) -> None:
    with large.turn() as core:
        for number in range(1_000, 1_100):
            core.send("t", b"%d" % number)
            assert [record[3] for record in large.at(number)] == [b"%d" % number]


def test_what_is_remembered_is_bounded(large: Looking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookups, "LOOKUP_BYTES_MAX", 2_000)
    for offset in range(0, 1_000, 7):
        assert [record[0] for record in large.at(offset)] == [offset]
    assert large.core.reading.lookups._bytes <= 2_000


def test_a_batch_of_which_some_records_cannot_be_read_gives_the_others() -> None:
    looking = Looking()
    with looking.turn() as core:
        core.sending.send_batch(core.topics.get("t"), 0, sealed(*[b"x"] * 20))
        core.sending.send_batch(core.topics.get("t"), 0, forged(records_of(*range(9), 9, 20), 11))
    for _ in range(3):
        assert [len(looking.at(offset)) for offset in range(31)] == [1] * 20 + [1] * 10 + [0]


def mixed() -> tuple[Looking, Stream]:
    """A stream with ids of its own and of its clients, of which one run and every fifth were deleted."""
    looking = Looking()
    stream = make(looking, id(1))
    with looking.turn() as core:
        for number in range(2, 600):
            core.streams.add(stream, b"body", (), id(number * number, number % 3))
    delete(looking, stream, *range(100, 300), *range(300, 600, 5))
    return looking, stream


def test_ids_are_found_or_not_without_reading_a_batch_again_and_again() -> None:
    looking, stream = mixed()
    live = {id_of(record): record[0] for record in stream.records(0)}
    before = looking.reads
    with looking.turn():
        for number in range(600):
            for wanted in (id(number * number, number % 3), id(number * number, 7)):
                assert stream.offset_of(wanted) == live.get(wanted)
    assert looking.reads - before <= 3 * FEW
