"""Large batches that are read in parts: the log is read a few times, and what is found is the same as ever."""

from itertools import islice
from random import Random

import pytest

from onemq.core import decoded
from onemq.core.housekeeping import ROUND_MS
from onemq.core.stream import Stream
from onemq.message import Record
from tests.unit.core.broker import MINUTE_MS, Broker, sealed
from tests.unit.core.test_lookups import FEW, Looking

LARGE = 500


def bodies(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count)]


def stream_of(looking: Looking) -> Stream:
    return looking.core.streams.of(looking.core.topics.get("t"))


def kept_bytes(broker: Broker) -> int:
    return broker.core.reading.decoded._bytes


def in_parts(looking: Looking, most: int, start: int = 0) -> list[Record]:
    """Everything, in turns of a few messages each."""
    stream, found = stream_of(looking), list[Record]()
    while True:
        with looking.turn():
            part = list(islice(stream.records(start, most), most))
        if not part:
            return found
        found += part
        start = part[-1][0] + 1


@pytest.mark.parametrize("most", [1, 10, 64])
def test_a_large_batch_that_is_read_in_parts_is_read_a_few_times(most: int) -> None:
    looking = Looking(*bodies(LARGE))
    assert [record[3] for record in in_parts(looking, most)] == bodies(LARGE)
    assert looking.reads <= FEW


def test_so_is_one_that_is_read_backwards() -> None:
    looking = Looking(*bodies(LARGE))
    stream = stream_of(looking)
    for end in range(LARGE, 0, -1):
        with looking.turn():
            assert next(stream.records_back(end))[0] == end - 1
    assert looking.reads <= FEW


def test_whoever_reads_all_of_it_at_once_leaves_nothing() -> None:
    looking = Looking(*bodies(LARGE))
    for _ in range(10):
        assert len(list(stream_of(looking).records(0))) == LARGE
    assert kept_bytes(looking) == 0


def test_what_nobody_reads_any_more_is_let_go() -> None:
    looking = Looking(*bodies(LARGE))
    in_parts(looking, 10)
    assert kept_bytes(looking) > 0
    for _ in range(2):
        looking.pass_ms(ROUND_MS)
    assert kept_bytes(looking) == 0


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoded, "DECODED_BYTES_MAX", 100_000)
    looking = Looking()
    for _ in range(10):
        looking.send(*bodies(LARGE))
    assert len(in_parts(looking, 10)) == 10 * LARGE
    assert 0 < kept_bytes(looking) <= 100_000


def test_each_of_many_batches_is_found() -> None:
    looking = Looking()
    looking.topic("other")
    for number in range(40):
        looking.send(*bodies(64 + number), topic="t" if number % 4 else "other")
    everything = list(stream_of(looking).records(0))
    for most in (10, 7):
        assert in_parts(looking, most) == everything
    before = looking.reads
    for record in reversed(everything):
        with looking.turn():
            assert looking.at(record[0]) == [record]
    assert looking.reads == before


def test_a_batch_that_is_larger_than_what_is_kept_is_not_decoded_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoded, "DECODED_BYTES_MAX", 1_000)
    monkeypatch.setattr(decoded, "decode_batch", None)
    looking = Looking(*bodies(LARGE))
    assert [record[3] for record in in_parts(looking, 50)] == bodies(LARGE)


def test_what_compaction_removed_is_not_shown() -> None:
    """A8"""
    looking = Looking()
    looking.topic("c", compact=True, segment_bytes=4096)
    stream = looking.core.streams.of(looking.core.topics.get("c"))
    for _ in range(2):
        with looking.turn() as core:
            for number in range(100):
                core.send("c", b"x" * 100, key=b"%d" % number)
    for _ in range(10):
        assert next(stream.records(0, 1))[0] == 0
    looking.send(b"x" * 5_000, topic="c")
    looking.pass_ms(2 * MINUTE_MS)
    all_at_once = [record[0] for record in stream.records(0)]
    assert [record[0] for record in stream.records(0, 1)] == all_at_once


@pytest.mark.parametrize("seed", range(30))
def test_parts_are_the_same_as_the_whole(seed: int) -> None:
    random = Random(seed)
    looking = Looking()
    topic = looking.core.topics.get("t")
    for _ in range(random.randrange(1, 8)):
        count = random.choice([1, 5, 63, 64, 65, 300])
        with looking.turn() as core:
            if random.random() < 0.3:
                core.sending.send_batch(topic, 0, sealed(*bodies(count)))
            else:
                for body in bodies(count):
                    core.send("t", body)
    end = looking.partition.end
    with looking.turn() as core:
        core.removing.delete_at(topic, 0, random.sample(range(end), random.randrange(end // 2 + 1)))
        if random.random() < 0.3:
            core.removing.trim_at(topic, 0, random.randrange(end))
    stream = stream_of(looking)
    whole = list(stream.records(0))
    assert in_parts(looking, random.randrange(1, 100)) == whole
    for _ in range(50):
        start, most = random.randrange(end), random.randrange(1, 100)
        later = [record for record in whole if record[0] >= start]
        assert list(islice(stream.records(start, most), most)) == later[:most]
        earlier = [record for record in whole if record[0] < start]
        assert list(islice(stream.records_back(start), most)) == earlier[::-1][:most]
        assert stream.records_at([start]) == {record[0]: record for record in whole if record[0] == start}
