"""Batches that are stored as their producers sealed them: their times may go back, the ids of a stream rise."""

from random import Random

import pytest

from onemq.core.stream import Stream
from onemq.core.stream_ids import NUMBER_BITS, id_of
from onemq.log.batch import walk
from onemq.log.batch_builder import BatchBuilder
from onemq.log.records import encode_headers
from onemq.message import EXPIRES, STREAM_ID, Headers
from tests.unit.core.broker import NOW_MS, Answers, Broker, sealed, simulated


def sealed_at(*times_ms: int, headers: Headers = ()) -> bytes:
    """A batch of messages with these times."""
    builder = BatchBuilder(0, times_ms[0])
    for number, time_ms in enumerate(times_ms):
        builder.add(time_ms, b"k", b"%d" % number, encode_headers(headers))
    return builder.seal(epoch=-1)


def send(broker: Broker, batch: bytes, topic: str = "t", number: int = 0) -> int:
    with broker.turn() as core:
        return core.sending.send_batch(core.topics.get(topic), number, batch)


def stream_of(broker: Broker) -> Stream:
    stream = broker.core.streams.get(b"t")
    assert stream is not None
    return stream


def ids(broker: Broker) -> dict[int, int]:
    """The id of each message, as those see it who read the stream."""
    stream = stream_of(broker)
    return {record[0]: id_of(record) for record in stream.records(stream.partition.start)}


def texts(broker: Broker) -> list[str]:
    return [f"{(id >> NUMBER_BITS) - NOW_MS}-{id & 0xFFFF}" for id in ids(broker).values()]


def test_the_batch_lies_there_as_it_came(broker: Broker) -> None:
    broker.topic()
    batch = sealed_at(NOW_MS - 5, NOW_MS - 9)
    send(broker, batch)
    found: list[bytes] = []
    broker.core.reading.batches(broker.core.topics.get("t").partitions[0], 0, 1 << 20, found.append)
    assert found[0] == batch
    assert next(walk(found[0]))[1].leader_epoch == -1


def test_all_messages_of_a_batch_have_its_highest_time_in_their_ids(broker: Broker) -> None:
    broker.topic()
    send(broker, sealed_at(NOW_MS - 5, NOW_MS - 3, NOW_MS - 9))
    assert texts(broker) == ["-3-0", "-3-1", "-3-2"]


def test_a_time_that_goes_back_does_not_take_the_id_with_it(broker: Broker) -> None:
    broker.topic()
    for times_ms in ([NOW_MS - 5], [NOW_MS - 90], [NOW_MS - 7, NOW_MS - 2], [5]):
        send(broker, sealed_at(*times_ms))
    assert texts(broker) == ["-5-0", "-5-1", "-2-2", "-2-3", "-2-4"]
    assert [id_of(record) for record in stream_of(broker).records_back(5)] == list(ids(broker).values())[::-1]


def test_messages_of_others_go_on_after_a_time_that_is_ahead(broker: Broker) -> None:
    broker.topic()
    send(broker, sealed_at(NOW_MS + 50))
    broker.send(b"now")
    assert texts(broker) == ["50-0", "50-1"]
    broker.now_ms += 60
    broker.send(b"then")
    assert texts(broker) == ["50-0", "50-1", "60-2"]
    send(broker, sealed_at(NOW_MS))
    assert texts(broker)[3] == "60-3"


def test_an_id_that_was_given_by_hand_is_never_passed_below(broker: Broker) -> None:
    broker.topic()
    with broker.turn() as core:
        core.streams.add(stream_of(broker), b"x", (), (NOW_MS + 100) << NUMBER_BITS | 7)
    send(broker, sealed_at(NOW_MS - 1, NOW_MS))
    assert texts(broker) == ["100-7", "100-8", "100-9"]
    assert [record[2:4] for record in broker.records()[1:]] == [(b"k", b"0"), (b"k", b"1")]


def test_ids_stay_when_what_gave_them_their_time_is_trimmed(broker: Broker) -> None:
    broker.topic(segment_bytes=4096)
    send(broker, sealed_at(NOW_MS + 90))
    for _ in range(30):
        send(broker, sealed_at(*[NOW_MS - 50] * 20))
    before = ids(broker)
    with broker.turn() as core:
        core.removing.trim(stream_of(broker), 400)
    assert ids(broker) == {offset: id for offset, id in before.items() if offset >= 400}


@pytest.mark.parametrize("how", ["kill", "stop", "power cut"])
def test_ids_stay_over_a_restart(how: str) -> None:
    broker = simulated()
    broker.topic(segment_bytes=4096)
    send(broker, sealed_at(NOW_MS + 90))
    for _ in range(30):
        send(broker, sealed_at(*[NOW_MS - 50] * 20))
    with broker.turn() as core:
        core.removing.trim(stream_of(broker), 400)
    before = ids(broker)
    broker.restart(how)
    assert ids(broker) == before
    broker.send(b"next")
    assert texts(broker)[-1] == "90-601"


def test_an_id_in_a_header_of_a_producer_counts_for_nothing(broker: Broker) -> None:
    broker.topic()
    send(broker, sealed_at(NOW_MS, headers=((STREAM_ID, b"5-5"), (b"a", b"b"))))
    assert texts(broker) == ["0-0"]
    assert stream_of(broker).first() == (0, NOW_MS, b"k", b"0", ((b"a", b"b"),))


def test_topics_with_several_partitions_keep_the_times_of_their_producers(broker: Broker) -> None:
    broker.topic("many", 2)
    send(broker, sealed_at(NOW_MS - 1, NOW_MS - 9), "many")
    group = broker.group("many")
    assert [record[1] for _, record, _ in broker.receive(group)] == [NOW_MS - 1, NOW_MS - 9]


def test_the_broker_can_give_messages_its_own_time(broker: Broker) -> None:
    broker.topic(message_time="broker")
    broker.now_ms += 5
    send(broker, sealed_at(3, 4))
    assert [record[1] for record in broker.records()] == [NOW_MS + 5] * 2
    assert texts(broker) == ["5-0", "5-1"]


def test_a_null_body_is_received_and_read(broker: Broker) -> None:
    broker.topic()
    group = broker.group()
    send(broker, sealed(None, b"", key=b"k"))
    assert broker.bodies(group) == [None, b""]
    assert [record[3] for record in stream_of(broker).records(0)] == [None, b""]


def test_a_message_of_a_batch_may_expire(broker: Broker) -> None:
    broker.topic()
    group = broker.group()
    send(broker, sealed(b"a", headers=((EXPIRES, b"%d" % (NOW_MS + 5)),)))
    send(broker, sealed(b"b"))
    broker.pass_ms(5)
    assert broker.bodies(group) == [b"b"]


def test_who_waits_for_a_group_gets_it(broker: Broker) -> None:
    broker.topic()
    answers = Answers(broker, broker.group())
    with broker.turn():
        answers.ask("a", most=5)
    send(broker, sealed_at(NOW_MS - 3, NOW_MS - 8))
    assert answers.told == {"a": [b"0", b"1"]}


def test_the_broker_itself_can_move_such_a_batch(broker: Broker) -> None:
    broker.topic()
    broker.send(b"before")
    batch = sealed_at(NOW_MS - 5, NOW_MS - 9)
    with broker.turn() as core:
        topic = core.topics.get("t")
        core.sending.put_foreign(topic, topic.partitions[0], batch)
    found: list[bytes] = []
    broker.core.reading.batches(topic.partitions[0], 1, 1 << 20, found.append)
    assert found[0][12:] == batch[12:]
    assert texts(broker) == ["0-0", "0-1", "0-2"]


@pytest.mark.parametrize("flush", ["sync", "async"])
@pytest.mark.parametrize("seed", range(8))
def test_ids_rise_and_never_change_whatever_happens(seed: int, flush: str) -> None:
    """Producers with any clock, senders without, ids by hand, trimming, deletions, restarts, a clock that jumps."""
    random, broker = Random(seed), simulated()
    broker.topic(segment_bytes=4096, flush=flush)
    known: dict[int, int] = {}
    for _ in range(60):
        _random_step(random, broker)
        found = ids(broker)
        assert list(found.values()) == sorted(set(found.values()))
        if flush == "sync":  # a power cut may take what the ids of an async topic rest on
            assert all(known.get(offset, id) == id for offset, id in found.items())
            known.update(found)
        stream = stream_of(broker)
        assert stream.last_id >= max(found.values(), default=0)
        for offset in random.sample(sorted(found), min(3, len(found))):
            assert next(stream.records(stream.find(found[offset])))[0] == offset


def _random_step(random: Random, broker: Broker) -> None:
    broker.now_ms += random.choice([0, 0, 1, 5, 500, -20])
    stream = stream_of(broker)
    match random.randrange(12):
        case 0 | 1 | 2 | 3 | 4:
            base_ms = broker.now_ms + random.choice([0, -1, -3, -500, 40, -10_000])
            send(broker, sealed_at(*[base_ms + random.randint(-30, 30) for _ in range(random.randint(1, 20))]))
        case 5 | 6:
            broker.send(*[b"x"] * random.randint(1, 5))
        case 7:
            with broker.turn() as core:
                core.streams.add(stream, b"x", (), stream.last_id + random.randint(1, 3 << NUMBER_BITS))
        case 8:
            with broker.turn() as core:
                core.removing.trim(stream, random.randint(stream.partition.start, stream.partition.end))
        case 9:
            with broker.turn() as core:
                end = stream.partition.end
                core.removing.delete(stream, random.sample(range(end + 1), min(end, 3)))
        case 10:
            with broker.turn():
                send_in_turn(broker, random)
        case 11:
            broker.restart(random.choice(["kill", "stop", "power cut"]))


def send_in_turn(broker: Broker, random: Random) -> None:
    """Several of them, and a reader, in one turn."""
    topic = broker.core.topics.get("t")
    for _ in range(3):
        broker.core.sending.send_batch(topic, 0, sealed_at(broker.now_ms + random.randint(-50, 50)))
        broker.core.send("t", b"between")
        ids(broker)


