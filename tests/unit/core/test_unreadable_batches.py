"""Batches with a right checksum whose records cannot be decoded: nobody else is harmed, and nobody stops there."""

import zlib
from collections.abc import Callable
from random import Random
from struct import pack_into
from typing import Any

import cramjam
import pytest
from crc32c import crc32c

from onemq import limits
from onemq.core.fetching import fetch
from onemq.core.group import Group
from onemq.core.redelivery import Immediate
from onemq.core.search import Query
from onemq.core.start import LAST, Start
from onemq.core.stream import Stream
from onemq.core.stream_ids import id_of
from onemq.core.whole import Share, Whole
from onemq.log.batch import HEADER_BYTES, walk
from onemq.log.batch_builder import BatchBuilder
from onemq.log.records import NO_HEADERS, decode, varint
from tests.unit.core.broker import DAY_MS, MINUTE_MS, NOW_MS, Answers, Broker, on_both_engines, simulated

CLEAN_ROUND_MS = MINUTE_MS


def records_of(*deltas: int, time_delta: int = 0, key: bytes = b"k") -> bytes:
    """Records that claim to be at these places of their batch."""
    records = b""
    for delta in deltas:
        record = b"\0" + varint(time_delta) + varint(delta) + varint(len(key)) + key + b"\x06bad" + NO_HEADERS
        records += varint(len(record)) + record
    return records


def forged(records: bytes, count: int, compression: int = 0) -> bytes:
    """A batch of so many messages, with any records and a right checksum."""
    builder = BatchBuilder(0, NOW_MS)
    for _ in range(count):
        builder.add(NOW_MS, None, b"", NO_HEADERS)
    data = bytearray(builder.seal(compression, -1)[:HEADER_BYTES]) + records
    pack_into(">i", data, 8, len(data) - 12)
    pack_into(">I", data, 17, crc32c(bytes(data[21:])))
    return bytes(data)


def gzipped(records: bytes) -> bytes:
    packing = zlib.compressobj(wbits=31)
    return packing.compress(records) + packing.flush()


GARBAGE = Random(5).randbytes(200)
TEN = range(10)
UNREADABLE = {
    "garbage": forged(GARBAGE, 10),
    "ones": forged(b"\xff" * 80, 3),
    "nothing": forged(b"", 3),
    "too few": forged(records_of(*TEN), 11),
    "too many": forged(records_of(*TEN), 9),
    "cut": forged(records_of(*TEN)[:-1], 10),
    "lengths": forged(records_of(*TEN).replace(b"\x06bad", b"\x08bad"), 10),
    "negative lengths": forged(b"\x15" + records_of(*TEN)[1:], 10),
    "same place": forged(records_of(*[0] * 10), 10),
    "backwards": forged(records_of(*reversed(TEN)), 10),
    "far places": forged(records_of(*range(5, 15)), 10),
    "very far places": forged(records_of(*range(1 << 40, (1 << 40) + 10)), 10),
    "negative places": forged(records_of(*range(-10, 0)), 10),
    "last place far": forged(records_of(*range(9), 1000), 10),
    "times": forged(records_of(*TEN, time_delta=(1 << 69) - 1), 10),
    "gzip garbage": forged(GARBAGE, 10, 1),
    "gzip cut": forged(gzipped(records_of(*TEN))[:-3], 10, 1),
    "gzip too few": forged(gzipped(records_of(*TEN)), 11, 1),
    "gzip of far places": forged(gzipped(records_of(*range(5, 15))), 10, 1),
    "snappy garbage": forged(GARBAGE, 10, 2),
    "snappy frames": forged(b"\x82SNAPPY\0" + GARBAGE, 10, 2),
    "lz4 garbage": forged(GARBAGE, 10, 3),
    "lz4 too few": forged(bytes(cramjam.lz4.compress(records_of(*TEN))), 11, 3),
    "zstd garbage": forged(GARBAGE, 10, 4),
    "zstd of the same place": forged(bytes(cramjam.zstd.compress(records_of(*[3] * 10))), 10, 4),
    "unknown compression": forged(records_of(*TEN), 10, 7),
}
every_kind = pytest.mark.parametrize("bad", UNREADABLE.values(), ids=UNREADABLE)
SOME = ["garbage", "too few", "last place far", "times", "gzip of far places", "lz4 garbage"]
some_kinds = pytest.mark.parametrize("bad", [UNREADABLE[each] for each in SOME], ids=SOME)
partitions = pytest.mark.parametrize("count", [1, 2], ids=["stream", "partitions"])


def send_batch(broker: Broker, batch: bytes, topic: str = "t") -> int:
    with broker.turn() as core:
        return core.sending.send_batch(core.topics.get(topic), 0, batch)


def filled(broker: Broker, bad: bytes, count: int = 1, **settings: Any) -> None:
    """A topic with good messages around an unreadable batch."""
    broker.topic("t", count, **settings)
    broker.send(b"a", b"b", number=0)
    send_batch(broker, bad)
    broker.send(b"c", b"d", number=0)


def stream_of(broker: Broker) -> Stream:
    stream = broker.core.streams.get(b"t")
    assert stream is not None
    return stream


GOOD = [b"a", b"b", b"c", b"d"]


# Groups


@every_kind
@partitions
def test_a_group_passes_over_it_and_is_done(broker: Broker, bad: bytes, count: int) -> None:
    filled(broker, bad, count)
    group = broker.group()
    handed = broker.receive(group)
    assert [record[3] for _, record, _ in handed] == GOOD
    broker.acknowledge(group, *[record[0] for _, record, _ in handed])
    assert group.lag == 0


@some_kinds
@pytest.mark.parametrize("settings", [{"filter": "tag IS NULL"}, {"order": "key"}, {"order": "partition"}], ids=str)
def test_groups_that_look_at_each_message_pass_over_it_too(
    broker: Broker, bad: bytes, settings: dict[str, Any]
) -> None:
    filled(broker, bad)
    group = broker.group(**settings)
    got: list[bytes | None] = []
    for _ in range(8):
        handed = broker.receive(group)
        got += [record[3] for _, record, _ in handed]
        broker.acknowledge(group, *[record[0] for _, record, _ in handed])
    assert (got, group.lag) == (GOOD, 0)


@some_kinds
def test_priorities_around_it_count(broker: Broker, bad: bytes) -> None:
    broker.topic()
    group = broker.group()
    broker.send(b"low", priority=0)
    send_batch(broker, bad)
    broker.send(b"plain")
    broker.send(b"high", priority=9)
    assert broker.bodies(group) == [b"high", b"plain", b"low"]


def take_whole(broker: Broker, group: Group) -> list[Share]:
    told: list[list[Share]] = []
    with broker.turn() as core:
        core.receiving.receive_whole(group, "m", lambda: 100, Whole([0], 1 << 20, False), told.append)
    return told[0]


@every_kind
def test_who_takes_whole_batches_gets_it_once_and_then_no_more(broker: Broker, bad: bytes) -> None:
    filled(broker, bad)
    group = broker.group(policy=Immediate(3))
    (share,) = take_whole(broker, group)
    ((first, last, _),) = share.runs
    broker.fail(group, *range(first, last + 1))
    while again := take_whole(broker, group):
        for each in again:
            assert all(first < 2 or first > last - 2 for first, _, _ in each.runs)
            broker.acknowledge(group, *[offset for one, end, _ in each.runs for offset in range(one, end + 1)])
    assert group.lag == 0


@some_kinds
def test_no_dead_letter_is_waited_for(broker: Broker, bad: bytes) -> None:
    filled(broker, bad)
    group = broker.group(policy=Immediate(1))
    end = broker.core.topics.get("t").partitions[0].end
    take_whole(broker, group)
    broker.fail(group, *range(end))
    dead = broker.values("t.g.dead")
    assert [body for body in dead if body != b"bad"] == GOOD
    assert group.lag == 0


@pytest.mark.parametrize("count", [1, 2])
@on_both_engines
def test_an_operator_is_told_once_where_it_is_whoever_reads_it(make: Callable[..., Broker], count: int) -> None:
    told: list[str] = []
    broker = make(on_trouble=told.append)
    filled(broker, UNREADABLE["lz4 garbage"], count)
    for name in ("g", "h", "i"):
        broker.bodies(broker.group(name=name))
    assert len(told) == 1
    assert "partition 0 of 't'" in told[0]
    assert "offset 2" in told[0]
    send_batch(broker, UNREADABLE["garbage"])
    broker.bodies(broker.core.groups.get("t", "g"))
    assert len(told) == 2
    assert broker.core.reading.unreadable.count == 2


def test_of_very_many_only_some_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    broker = simulated(on_trouble=told.append)
    monkeypatch.setattr(limits, "UNREADABLE_BATCHES_MAX", 5)
    broker.topic()
    for _ in range(9):
        send_batch(broker, UNREADABLE["garbage"])
    broker.send(b"x")
    assert broker.bodies(broker.group()) == [b"x"]
    assert len(told) == 6
    assert "further ones are not told of" in told[-1]


@pytest.mark.parametrize("wait_ms", [None, MINUTE_MS])
def test_very_many_of_them_do_not_keep_others_waiting(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, wait_ms: int | None
) -> None:
    """However long the receiver is ready to wait, it is served by a later turn."""
    monkeypatch.setattr(limits, "UNREADABLE_PER_TURN_MAX", 5)
    broker.topic()
    group = broker.group()
    broker.pass_ms(0)
    answers = Answers(broker, group)
    with broker.turn() as core:
        for _ in range(12):
            core.sending.send_batch(core.topics.get("t"), 0, UNREADABLE["garbage"])
        core.send("t", b"x")
        answers.ask("a", wait_ms=wait_ms)
    assert group.cursors[0].next == 50
    broker.pass_ms(0)
    assert (group.cursors[0].next, answers.told) == (100, {})
    broker.pass_ms(0)
    assert answers.told == {"a": [b"x"]}


def test_nor_do_very_many_that_were_given_whole_before(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "UNREADABLE_PER_TURN_MAX", 5)
    broker.topic()
    group = broker.group()
    for _ in range(8):
        send_batch(broker, UNREADABLE["garbage"])
    broker.send(b"x")
    take_whole(broker, group)
    broker.fail(group, *range(81))
    answers = Answers(broker, group)
    with broker.turn():
        answers.ask("a", most=10)
    assert 0 < len(group.cursors[0].unacknowledged) < 80
    for _ in range(20):
        broker.pass_ms(0)
    assert answers.told == {"a": [b"x"]}


# Those who read by offset or id


@every_kind
def test_a_stream_is_read_around_it(broker: Broker, bad: bytes) -> None:
    filled(broker, bad)
    stream, end = stream_of(broker), broker.core.topics.get("t").partitions[0].end
    assert [record[3] for record in stream.records(0)] == GOOD
    assert [record[3] for record in stream.records_back(end)] == GOOD[::-1]
    assert [each and each[3] for each in (stream.first(), stream.last())] == [b"a", b"d"]
    assert [record[3] for record in stream.between(1, end - 1)] == [b"b", b"c"]


@some_kinds
def test_ids_around_it_are_found(broker: Broker, bad: bytes) -> None:
    filled(broker, bad)
    stream = stream_of(broker)
    for record in list(stream.records(0)):
        assert stream.find(id_of(record)) == record[0]
        assert stream.offset_of(id_of(record)) == record[0]
    assert stream.find(stream.last_id + 1) == stream.partition.end


@some_kinds
@partitions
def test_a_search_finds_what_is_around_it(broker: Broker, bad: bytes, count: int) -> None:
    filled(broker, bad, count)
    found: list[Any] = []
    for query in (Query(), Query(newest=True), Query(from_ms=NOW_MS)):
        with broker.turn() as core:
            core.searching.search("t", query, found.append)
        for _ in range(10):
            with broker.turn():
                pass
        assert sorted(record[3] for _, record in found.pop().found) == GOOD


@some_kinds
@partitions
def test_a_group_can_begin_around_it_by_time(broker: Broker, bad: bytes, count: int) -> None:
    filled(broker, bad, count)
    broker.now_ms += 1000
    broker.send(b"late", number=0)
    for name, start, bodies in (
        ("all", Start("time", NOW_MS - 5), [*GOOD, b"late"]),
        ("late", Start("time", NOW_MS + 500), [b"late"]),
        ("last", LAST, []),
    ):
        group = broker.group(name=name, start=start)
        assert broker.bodies(group) == bodies


# What the broker does by itself


@some_kinds
@partitions
def test_retention_drops_it(broker: Broker, bad: bytes, count: int) -> None:
    filled(broker, bad, count, retention_ms=DAY_MS, segment_bytes=4096)
    group = broker.group()
    broker.bodies(group)
    broker.pass_ms(DAY_MS * 2)
    broker.send(b"x" * 5000, b"y" * 5000, number=0)
    broker.pass_ms(DAY_MS * 2)
    assert broker.core.topics.get("t").partitions[0].start > 0
    broker.send(b"new", number=0)
    assert broker.values()[-1] == b"new"


@some_kinds
@partitions
def test_a_queue_drops_it_when_its_group_has_passed_it(broker: Broker, bad: bytes, count: int) -> None:
    broker.topic("t", count, kind="queue", segment_bytes=4096)
    group = broker.group()
    broker.send(b"x" * 5000, number=0)
    send_batch(broker, bad)
    broker.acknowledge(group, *[record[0] for _, record, _ in broker.receive(group)])
    broker.send(b"y" * 5000, number=0)
    broker.pass_ms(MINUTE_MS)
    assert broker.core.topics.get("t").partitions[0].start > 1
    assert broker.bodies(group) == [b"y" * 5000]


@some_kinds
@partitions
def test_it_can_be_trimmed_at_any_place(broker: Broker, bad: bytes, count: int) -> None:
    filled(broker, bad, count)
    group = broker.group()
    take_whole(broker, group)
    end = broker.core.topics.get("t").partitions[0].end
    for start in range(1, end + 1):
        with broker.turn() as core:
            core.removing.trim_at(core.topics.get("t"), 0, start)
    assert broker.core.topics.get("t").partitions[0].start == end


@some_kinds
@partitions
def test_its_messages_can_be_deleted(broker: Broker, bad: bytes, count: int) -> None:
    filled(broker, bad, count)
    end = broker.core.topics.get("t").partitions[0].end
    for offset in (end - 3, 2, 0, 1):
        with broker.turn() as core:
            core.removing.delete_at(core.topics.get("t"), 0, [offset])
    assert broker.bodies(broker.group()) == [b"c", b"d"]
    answers: list[tuple[bytes, int]] = []
    partition = broker.core.topics.get("t").partitions[0]
    fetch(broker.core.reading, partition, 3, 1 << 20, lambda *answer: answers.append(answer))
    data, next_offset = answers[0]
    assert [record[3] for at, header in walk(data) for record in decode(data, at, header)] == [b"c", b"d"]
    assert next_offset == end


@every_kind
def test_compaction_keeps_the_last_of_each_key_of_the_others(broker: Broker, bad: bytes) -> None:
    """Offsets that a bad batch claims must not make a newer message of the same key go."""
    broker.topic(compact=True, segment_bytes=4096)
    broker.send(b"old", key=b"k")
    send_batch(broker, bad)
    broker.send(b"newest", key=b"k")
    for number in range(20):
        broker.send(b"x" * 1000, key=b"%d" % (number % 2))
    broker.pass_ms(CLEAN_ROUND_MS)
    stored = [record[3] for record in stream_of(broker).records(0)]
    assert b"newest" in stored
    assert b"old" not in stored
    assert len(stored) < 15
    group = broker.group()
    assert broker.bodies(group)[0] == b"newest"


@some_kinds
@partitions
@pytest.mark.parametrize("how", ["kill", "stop"])
def test_a_restart_finds_everything_as_it_was(bad: bytes, count: int, how: str) -> None:
    broker = simulated()
    filled(broker, bad, count)
    group = broker.group()
    broker.receive(group, most=1)
    broker.restart(how)
    broker.send(b"after", number=0)
    group = broker.core.groups.get("t", "g")
    assert broker.bodies(group)[-1] == b"after"
    assert broker.bodies(broker.group(name="h")) == [*GOOD, b"after"]


@some_kinds
def test_a_message_can_be_sent_after_it_in_the_same_turn(broker: Broker, bad: bytes) -> None:
    broker.topic()
    group = broker.group()
    with broker.turn() as core:
        core.sending.send_batch(core.topics.get("t"), 0, bad)
        core.send("t", b"after")
        assert [record[3] for record in stream_of(broker).records(0)] == [b"after"]
    assert broker.bodies(group) == [b"after"]
