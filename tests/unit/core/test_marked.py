"""Ready-made batches whose messages say when they are due, or what priority they have."""

import zlib
from struct import pack_into

import pytest
from crc32c import crc32c

from onemq.core.marked import may_be_marked
from onemq.core.whole import Share, Whole
from onemq.errors import Corrupt, InvalidArgument
from onemq.log.batch import HEADER_BYTES, read_header
from onemq.log.batch_builder import BatchBuilder
from onemq.log.records import NO_HEADERS, encode_headers
from onemq.message import DUE, EXPIRES, ID, PRIORITY
from tests.unit.core.broker import NOW_MS, SECOND_MS, Broker, sealed


def batch_of(*messages: tuple[bytes, bytes | None]) -> bytes:
    """Messages with their due times."""
    builder = BatchBuilder(0, NOW_MS - 7)
    for body, due in messages:
        builder.add(NOW_MS - 7, b"k", body, NO_HEADERS if due is None else encode_headers([(DUE, due), (b"h", b"v")]))
    return builder.seal()


def send(broker: Broker, batch: bytes) -> int:
    with broker.turn() as core:
        return core.sending.send_batch(core.topics.get("t"), 0, batch)


def test_messages_that_are_due_later_come_then_and_the_others_at_once(broker: Broker) -> None:
    broker.topic()
    due = b"%d" % (NOW_MS + SECOND_MS)
    assert send(broker, batch_of((b"a", None), (b"later", due), (b"b", None), (b"delayed", b"+2000"))) == 0
    assert broker.values() == [b"a", b"b"]
    assert [record[1] for record in broker.records()] == [NOW_MS - 7] * 2
    broker.pass_ms(SECOND_MS)
    assert broker.values() == [b"a", b"b", b"later"]
    broker.pass_ms(SECOND_MS)
    assert broker.values() == [b"a", b"b", b"later", b"delayed"]
    _, _, key, _, headers = broker.records()[2]
    assert (key, dict(headers)) == (b"k", {DUE: due, b"h": b"v", ID: b"2-0-0"})


def test_a_batch_of_which_nothing_is_due_now_stores_nothing(broker: Broker) -> None:
    broker.topic()
    send(broker, batch_of((b"a", b"+1"), (b"b", b"+1")))
    assert broker.values() == []
    broker.pass_ms(1)
    assert broker.values() == [b"a", b"b"]


def test_a_due_time_that_has_come_means_now(broker: Broker) -> None:
    broker.topic()
    send(broker, batch_of((b"a", b"0"), (b"b", b"%d" % NOW_MS), (b"c", b"+0")))
    assert broker.values() == [b"a", b"b", b"c"]


@pytest.mark.parametrize("due", [b"", b"+", b"soon", b"-5", b"1.5", b"9" * 15, b"+" + b"9" * 15])
def test_a_time_that_is_none_is_refused_and_nothing_of_the_batch_is_stored(broker: Broker, due: bytes) -> None:
    broker.topic()
    with pytest.raises(InvalidArgument, match="'_due' must be ms since 1970"):
        send(broker, batch_of((b"a", None), (b"later", b"+5"), (b"b", due)))
    assert broker.values() == []
    assert len(broker.core.schedule) == 0


def test_a_null_body_can_be_due_later(broker: Broker) -> None:
    broker.topic()
    send(broker, sealed(None, key=b"k", headers=((DUE, b"+5"),)))
    broker.pass_ms(5)
    assert [(record[2], record[3]) for record in broker.records()] == [(b"k", None)]


def test_what_looks_like_a_mark_in_a_body_is_none(broker: Broker) -> None:
    broker.topic()
    group = broker.group()
    assert send(broker, sealed(b"\x08_due\x02+9 \x08_pri\x029", b"b")) == 0
    assert broker.bodies(group) == [b"\x08_due\x02+9 \x08_pri\x029", b"b"]


def test_a_sequence_of_which_everything_is_due_later_is_known_when_it_comes_again(broker: Broker) -> None:
    broker.topic()
    with broker.turn() as core:
        id = core.producers.open().id
    builder = BatchBuilder(0, NOW_MS)
    builder.add(NOW_MS, None, b"a", encode_headers([(DUE, b"+5")]))
    batch = builder.seal(producer=(id, 0, 0))
    assert send(broker, batch) == send(broker, batch) == 0
    assert len(broker.core.schedule) == 1


# Compressed batches


def gzipped(batch: bytes) -> bytes:
    """The batch as a producer compresses it."""
    packing = zlib.compressobj(wbits=31)
    packed = packing.compress(batch[HEADER_BYTES:]) + packing.flush()
    data = bytearray(batch[:HEADER_BYTES]) + packed
    pack_into(">h", data, 21, read_header(batch).attributes | 1)
    pack_into(">i", data, 8, len(data) - 12)
    pack_into(">I", data, 17, crc32c(bytes(data[21:])))
    return bytes(data)


def test_compressed_batches_are_looked_into_where_the_topic_asks_for_it(broker: Broker) -> None:
    broker.topic(look_inside=True)
    assert send(broker, gzipped(batch_of((b"a", None), (b"later", b"+1000"), (b"b", None)))) == 0
    assert broker.values() == [b"a", b"b"]
    broker.pass_ms(SECOND_MS)
    assert broker.values() == [b"a", b"b", b"later"]


def test_priorities_in_compressed_batches_count_there(broker: Broker) -> None:
    broker.topic(look_inside=True)
    group = broker.group()
    batch = gzipped(sealed(b"high", headers=((PRIORITY, b"9"),)))
    send(broker, sealed(b"plain"))
    send(broker, batch)
    assert broker.bodies(group) == [b"high", b"plain"]
    stored: list[bytes] = []
    broker.core.reading.batches(broker.core.topics.get("t").partitions[0], 1, 1, stored.append)
    assert stored[0][HEADER_BYTES:] == batch[HEADER_BYTES:]


def test_elsewhere_compressed_batches_are_stored_without_a_look(broker: Broker) -> None:
    broker.topic()
    send(broker, gzipped(batch_of((b"a", None), (b"later", b"+1000"))))
    assert broker.values() == [b"a", b"later"]


def test_a_compressed_batch_that_cannot_be_unpacked_is_refused_there(broker: Broker) -> None:
    broker.topic(look_inside=True)
    batch = bytearray(gzipped(sealed(b"a")))
    batch[-5:] = b"xxxxx"
    pack_into(">I", batch, 17, crc32c(bytes(batch[21:])))
    with pytest.raises(Corrupt):
        send(broker, bytes(batch))
    assert broker.values() == []


def test_expiry_in_a_compressed_batch_counts_there_for_those_who_take_whole_batches(broker: Broker) -> None:
    broker.topic(look_inside=True)
    group = broker.group()
    send(broker, gzipped(sealed(b"old", headers=((EXPIRES, b"%d" % (NOW_MS + 5)),))))
    send(broker, gzipped(sealed(b"good")))
    broker.pass_ms(5)
    told: list[list[Share]] = []
    with broker.turn() as core:
        core.receiving.receive_whole(group, "m", lambda: 100, Whole([0], 1 << 20, False), told.append)
    assert [share.runs for share in told[0]] == [[(1, 1, 1)]]


@pytest.mark.parametrize("name", [DUE, PRIORITY])
@pytest.mark.parametrize("before", [b"", b"\x08" * 1000, bytes(range(256)) * 1000], ids=["plain", "eights", "bytes"])
def test_marks_are_found_wherever_they_are(name: bytes, before: bytes) -> None:
    batch = sealed(before, b"b", headers=((name, b"5"),))
    assert may_be_marked(batch, read_header(batch))
    batch = sealed(before, b"b", headers=((b"_tag", b"5"),))
    assert not may_be_marked(batch, read_header(batch))
