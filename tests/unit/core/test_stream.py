"""A stream's messages by their ids: plain and explicit ones, with gaps, deleted ones, and what others send."""

from random import Random

import pytest

from onemq.core.stream import Stream
from onemq.core.stream_ids import ID_MAX, NUMBER_BITS, NUMBER_MAX, id_of
from onemq.core.topics import TopicConfig
from tests.unit.core.broker import NOW_MS, Broker, CountingLog, in_memory


def id(ms: int, number: int = 0) -> int:
    return ms << NUMBER_BITS | number


def make(broker: Broker, *ids: int, key: bytes = b"s") -> Stream:
    """A stream with messages of these ids, each from a turn of its own."""
    with broker.turn() as core:
        stream = core.streams.create(key, TopicConfig())
    add(broker, stream, *ids)
    return stream


def add(broker: Broker, stream: Stream, *ids: int) -> None:
    for each in ids:
        with broker.turn() as core:
            core.streams.add(stream, b"body", (), each)


def delete(broker: Broker, stream: Stream, *offsets: int) -> int:
    with broker.turn() as core:
        return core.removing.delete(stream, offsets)


def trim(broker: Broker, stream: Stream, start: int) -> int:
    with broker.turn() as core:
        return core.removing.trim(stream, start)


def ids_of(stream: Stream) -> list[int]:
    return [id_of(record) for record in stream.records(0)]


def test_an_empty_stream_has_no_ids(broker: Broker) -> None:
    stream = make(broker)
    assert (len(stream), stream.last_id, stream.top_id(), stream.added) == (0, 0, 0, 0)
    assert stream.first() is None
    assert stream.last() is None
    assert stream.find(0) == stream.find(1) == stream.find(ID_MAX) == 0
    assert stream.offset_of(id(1)) is None


def test_a_plain_id_is_time_and_offset_and_takes_no_header(broker: Broker) -> None:
    stream = make(broker)
    for number in range(3):
        with broker.turn() as core:
            core.streams.add(stream, b"body", (), stream.next_id(core.stage.now_ms))
        assert stream.last_id == id(NOW_MS, number)
    assert [record[4] for record in stream.records(0)] == [(), (), ()]
    assert [stream.find(id(NOW_MS, number)) for number in range(5)] == [0, 1, 2, 3, 3]
    assert stream.find(id(NOW_MS - 1, NUMBER_MAX)) == 0


def test_when_the_clock_goes_back_ids_still_grow(broker: Broker) -> None:
    stream = make(broker)
    for step_ms in (0, -60_000, 0, 30_000, 40_000):
        broker.now_ms += step_ms
        with broker.turn() as core:
            core.streams.add(stream, b"body", (), stream.next_id(core.stage.now_ms))
    found = ids_of(stream)
    assert found == sorted(set(found))
    assert found[:4] == [id(NOW_MS, number) for number in range(4)]
    assert found[4] == id(NOW_MS + 10_000, 4)


def test_there_is_no_id_after_the_last_one(broker: Broker) -> None:
    stream = make(broker, ID_MAX)
    assert stream.next_id(NOW_MS) == 0
    assert stream.find(ID_MAX) == 0
    assert stream.find(ID_MAX + 1) == 1


def test_explicit_ids_are_found_between_gaps(broker: Broker) -> None:
    stream = make(broker, id(1, 1), id(1, 5), id(3), id(3, NUMBER_MAX), id(9, 2))
    for wanted, offset in [
        (0, 0), (id(1, 1), 0), (id(1, 2), 1), (id(1, 5), 1), (id(1, 6), 2), (id(2), 2), (id(3), 2), (id(3, 1), 3),
        (id(3, NUMBER_MAX), 3), (id(4), 4), (id(9, 2), 4), (id(9, 3), 5), (ID_MAX, 5),
    ]:  # fmt: skip
        assert stream.find(wanted) == offset
    assert [stream.offset_of(each) for each in (id(1, 5), id(2), id(9, 2), id(9, 3))] == [1, None, 4, None]


def test_an_explicit_id_that_looks_like_another_offset(broker: Broker) -> None:
    stream = make(broker, id(1, 2), id(2, 1), id(3, 0))
    assert [stream.find(each) for each in (id(1, 2), id(2, 1), id(3, 0), id(1, 1), id(2, 0))] == [0, 1, 2, 0, 1]


@pytest.mark.parametrize("seed", range(5))
def test_find_is_right_for_any_mixture(local: Broker, seed: int) -> None:
    random, expected = Random(seed), dict[int, int]()
    stream = make(local)
    for _ in range(60):
        local.now_ms += random.randint(0, 5)
        with local.turn() as core:
            for _ in range(random.randint(1, 4)):
                chosen = stream.next_id(core.stage.now_ms)
                if random.random() < 0.3:
                    chosen = stream.last_id + random.choice([1, 100, id(2), id(1_000)])
                expected[stream.partition.end] = chosen
                core.streams.add(stream, b"x" * random.choice([1, 500]), (), chosen)
    delete(local, stream, *random.sample(sorted(expected), 40))
    trim(local, stream, 17)
    start = stream.partition.start
    known = {offset: each for offset, each in expected.items() if offset >= start}
    live = [offset for offset in known if stream.is_live(offset)]
    for offset, each in known.items():
        assert stream.offset_of(each) == (offset if offset in live else None)
        for wanted in (each - 1, each, each + 1):
            found = stream.find(wanted)
            assert [o for o in live if o >= found] == [o for o in live if known[o] >= wanted]
    assert len(stream) == len(live)
    assert [record[0] for record in stream.records(0)] == live
    assert [record[0] for record in stream.records_back(stream.partition.end)] == live[::-1]
    for count in (0, 1, 10, len(live), len(live) + 5):
        offset = stream.offset_after(count)
        assert sum(each < offset for each in live) == min(count, len(live))
    for offset in (start, start + 9, stream.partition.end):
        assert stream.deleted_from(offset) == sum(each >= offset and not stream.is_live(each) for each in known)


def test_messages_from_elsewhere_count(broker: Broker) -> None:
    stream = make(broker, id(1))
    broker.send(b"other", topic="s")
    assert stream.last_id == id(NOW_MS, 1)
    assert stream.find(id(2)) == 1
    broker.send(b"void", topic="s", persistent=False)
    assert stream.last_id == id(NOW_MS, 2)


def test_a_message_that_did_not_survive_does_not_hide_the_last_id(local: Broker) -> None:
    stream = make(local, id(5), id(7))
    local.send(b"void", topic="s", persistent=False)
    local.restart()
    found = local.core.streams.get(b"s")
    assert found is not None
    assert found.last_id == id(7)
    assert found.find(id(7)) == 1
    assert found.find(id(8)) == stream.partition.end == 3


def test_ids_that_are_set_back_below_deleted_ones(broker: Broker) -> None:
    stream = make(broker, id(1), id(5))
    delete(broker, stream, 1)
    with broker.turn() as core:
        core.streams.set(stream, id(2), stream.max_deleted_id, 0)
    add(broker, stream, id(3))
    assert stream.offset_of(id(3)) == 2


def test_a_message_from_elsewhere_after_an_id_of_the_future(broker: Broker) -> None:
    stream = make(broker, id(NOW_MS + 60_000))
    broker.send(b"other", topic="s")
    found = ids_of(stream)
    assert found == sorted(found)


def test_a_message_from_elsewhere_after_the_clock_went_back(broker: Broker) -> None:
    stream = make(broker)
    broker.send(b"one", topic="s")
    broker.now_ms -= 60_000
    broker.send(b"two", b"three", topic="s")
    assert ids_of(stream) == [id(NOW_MS), id(NOW_MS, 1), id(NOW_MS, 2)]
    broker.now_ms += 120_000
    broker.send(b"four", topic="s")
    assert stream.last_id == id(NOW_MS + 60_000, 3)
    assert [record[4] for record in stream.records(3)] == [()]


def test_reading_backwards_begins_with_the_last_message_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    log = CountingLog()
    monkeypatch.setattr(Broker, "_open", lambda self: log)
    stream = make(in_memory(), *map(id, range(1, 301)))
    log.offsets.clear()
    back = stream.records_back(300)
    assert (next(back)[0], min(log.offsets)) == (299, 299)
    assert (next(back)[0], min(log.offsets)) == (298, 297)
    assert [record[0] for record in back] == list(range(297, -1, -1))
