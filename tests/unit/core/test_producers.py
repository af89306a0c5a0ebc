"""Idempotent producers (B5): the same sequence of the same producer is stored once."""

from struct import pack_into

import pytest
from crc32c import crc32c

from onemq.core.core import Core
from onemq.core.producers import Producer
from onemq.core.topics import Topic
from onemq.errors import Fenced, InvalidArgument, NotFound, OutOfOrderSequence
from onemq.limits import PRODUCER_BATCHES_REMEMBERED, PRODUCER_EPOCH_MAX, PRODUCER_IDLE_MS_MAX
from tests.unit.core.broker import HOUR_MS, Broker, sealed

SEQUENCE_MAX = (1 << 31) - 1


def opened(broker: Broker, name: str | None = None) -> Producer:
    with broker.turn() as core:
        return core.producers.open(name)


def produce(
    broker: Broker, producer: Producer, sequence: int, body: bytes = b"x", number: int = 0, topic: str = "t"
) -> int:
    """Sends one message; returns its offset."""
    identity = (producer.id, producer.epoch, sequence)
    ((_, offset),) = broker.send(body, topic=topic, number=number, producer=identity)
    return offset


def of_producer(batch: bytes, id: int, epoch: int, sequence: int) -> bytes:
    """The batch with a producer written into it, as Kafka's clients send it."""
    data = bytearray(batch)
    pack_into(">qhi", data, 43, id, epoch, sequence)
    pack_into(">I", data, 17, crc32c(bytes(data[21:])))
    return bytes(data)


def test_each_producer_without_a_name_is_a_new_one(broker: Broker) -> None:
    first, second = opened(broker), opened(broker)
    assert first.id != second.id
    assert first.epoch == second.epoch == 0


def test_a_repetition_is_answered_with_the_offset_of_the_first_time_and_not_stored(broker: Broker) -> None:
    """B5"""
    broker.topic()
    producer = opened(broker)
    assert [produce(broker, producer, 0, b"a"), produce(broker, producer, 1, b"b")] == [0, 1]
    assert [produce(broker, producer, 0, b"a"), produce(broker, producer, 1, b"b")] == [0, 1]
    assert produce(broker, producer, 2, b"c") == 2
    assert broker.values() == [b"a", b"b", b"c"]


def test_a_repetition_within_the_same_turn_is_recognised(broker: Broker) -> None:
    """B5"""
    broker.topic()
    producer = opened(broker)
    assert broker.send(b"a", b"a", producer=(producer.id, 0, 0)) == [(0, 0), (0, 0)]
    assert broker.values() == [b"a"]


def test_a_gap_is_refused_and_nothing_is_stored(broker: Broker) -> None:
    """B5"""
    broker.topic()
    producer = opened(broker)
    produce(broker, producer, 5)
    with broker.turn() as core, pytest.raises(OutOfOrderSequence, match="sequence 7 where 6 comes next"):
        core.send("t", b"late", producer=(producer.id, 0, 7))
    assert produce(broker, producer, 6) == 1


def test_sequences_are_counted_for_each_partition_and_topic(broker: Broker) -> None:
    """B5"""
    broker.topic("t", 2)
    broker.topic("u")
    producer = opened(broker)
    assert produce(broker, producer, 0, number=0) == 0
    assert produce(broker, producer, 0, number=1) == 0
    assert broker.send(b"x", topic="u", producer=(producer.id, 0, 0)) == [(0, 0)]
    assert [len(values) for values in broker.all_values()] == [1, 1]


def test_the_last_few_sequences_are_remembered(broker: Broker) -> None:
    """B5: as many as a client has in flight."""
    broker.topic()
    producer = opened(broker)
    last = PRODUCER_BATCHES_REMEMBERED
    offsets = [produce(broker, producer, sequence) for sequence in range(last + 1)]
    assert [produce(broker, producer, sequence) for sequence in range(1, last + 1)] == offsets[1:]
    with broker.turn() as core, pytest.raises(OutOfOrderSequence):
        core.send("t", b"long ago", producer=(producer.id, 0, 0))


def test_after_the_highest_sequence_comes_zero(broker: Broker) -> None:
    broker.topic()
    producer = opened(broker)
    assert [produce(broker, producer, sequence) for sequence in (SEQUENCE_MAX, 0, 1)] == [0, 1, 2]


def test_a_producer_that_comes_again_fences_off_its_former_self(broker: Broker) -> None:
    """B5"""
    broker.topic()
    old = opened(broker, "billing")
    produce(broker, old, 0)
    new = opened(broker, "billing")
    assert (new.id, new.epoch) == (old.id, old.epoch + 1)
    assert produce(broker, new, 0) == 1
    for sequence in (0, 1):
        with broker.turn() as core, pytest.raises(Fenced, match="taken over by epoch 1"):
            core.send("t", b"zombie", producer=(old.id, old.epoch, sequence))
    assert len(broker.values()) == 2


def test_an_epoch_that_was_never_given_to_a_name_is_refused(broker: Broker) -> None:
    broker.topic()
    producer = opened(broker, "billing")
    with broker.turn() as core, pytest.raises(OutOfOrderSequence, match="has epoch 0, not 1"):
        core.send("t", b"", producer=(producer.id, 1, 0))


def test_a_producer_without_a_name_raises_its_epoch_in_each_partition_and_counts_from_zero_there(local: Broker) -> None:
    local.topic("t", 2)
    producer = opened(local)
    for number in (0, 1):
        produce(local, producer, 0, number=number)
    with local.turn() as core, pytest.raises(OutOfOrderSequence, match="sequence 1 where 0 comes next"):
        core.send("t", b"", number=0, producer=(producer.id, 2, 1))
    with local.turn() as core:
        assert core.send("t", b"a", number=0, producer=(producer.id, 2, 0)) == (0, 1)
        assert core.send("t", b"a", number=0, producer=(producer.id, 2, 0)) == (0, 1)
    local.restart()
    assert produce(local, producer, 1, b"old", number=1) == 1
    with local.turn() as core:
        with pytest.raises(Fenced, match="taken over by epoch 2"):
            core.send("t", b"", number=0, producer=(producer.id, 0, 1))
        assert core.send("t", b"b", number=0, producer=(producer.id, 2, 1)) == (0, 2)


def test_a_named_producer_counts_from_zero_in_its_next_epoch(broker: Broker) -> None:
    broker.topic()
    produce(broker, opened(broker, "billing"), 0)
    again = opened(broker, "billing")
    with broker.turn() as core, pytest.raises(OutOfOrderSequence, match="sequence 1 where 0 comes next"):
        core.send("t", b"", producer=(again.id, again.epoch, 1))
    assert produce(broker, again, 0) == 1


def test_after_the_last_epoch_a_name_gets_a_new_id_and_the_old_one_is_gone(
    local: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onemq.core.producers.PRODUCER_EPOCH_MAX", 2)
    local.topic()
    first, *_, last = [opened(local, "billing") for _ in range(3)]
    assert (last.id, last.epoch) == (first.id, 2)
    new = opened(local, "billing")
    assert new.epoch == 0
    assert new.id > last.id
    local.restart()
    with local.turn() as core, pytest.raises(NotFound):
        core.producers.get(first.id)
    assert opened(local, "billing").epoch == 1
    assert PRODUCER_EPOCH_MAX < 2**15 - 1


def test_an_unknown_producer_is_told_to_open_a_new_one(broker: Broker) -> None:
    broker.topic()
    with broker.turn() as core, pytest.raises(NotFound, match="open a new one"):
        core.send("t", b"", producer=(99, 0, 0))
    assert broker.values() == []


@pytest.mark.parametrize("name", ["", "x" * 250, "a\nb"])
def test_names_of_producers_have_the_limits_of_all_names(broker: Broker, name: str) -> None:
    with broker.turn() as core, pytest.raises(InvalidArgument, match="producer name"):
        core.producers.open(name)


# Batches


def test_a_ready_made_batch_is_stored_once(broker: Broker) -> None:
    """B5"""
    topic = broker.topic()
    producer = opened(broker)

    def batch(sequence: int, *values: bytes) -> bytes:
        return of_producer(sealed(*values), producer.id, 0, sequence)

    with broker.turn() as core:
        assert core.sending.send_batch(topic, 0, batch(0, b"a", b"b", b"c")) == 0
        assert core.sending.send_batch(topic, 0, batch(3, b"d")) == 3
    with broker.turn() as core:
        assert core.sending.send_batch(topic, 0, batch(0, b"a", b"b", b"c")) == 0
        assert core.sending.send_batch(topic, 0, batch(3, b"d")) == 3
        assert core.sending.send_batch(topic, 0, batch(4, b"e")) == 4
        with pytest.raises(OutOfOrderSequence, match="sequence 6 where 5"):
            core.sending.send_batch(topic, 0, batch(6, b"g"))
        with pytest.raises(Fenced):
            core.sending.send_batch(topic, 0, of_producer(sealed(b"z"), producer.id, -1, 5))
    assert broker.values() == [b"a", b"b", b"c", b"d", b"e"]


def test_a_batch_across_the_highest_sequence_goes_on_from_zero(broker: Broker) -> None:
    topic = broker.topic()
    producer = opened(broker)
    with broker.turn() as core:
        core.sending.send_batch(topic, 0, of_producer(sealed(b"a", b"b"), producer.id, 0, SEQUENCE_MAX))
        assert core.sending.send_batch(topic, 0, of_producer(sealed(b"c"), producer.id, 0, 1)) == 2


def test_a_batch_without_a_producer_is_stored_as_often_as_it_is_sent(broker: Broker) -> None:
    topic = broker.topic()
    with broker.turn() as core:
        assert [core.sending.send_batch(topic, 0, sealed(b"a")) for _ in range(2)] == [0, 1]


# Restarts and forgetting


@pytest.mark.parametrize("how", ["kill", "stop", "power cut"])
def test_producers_and_their_sequences_survive_a_restart(local: Broker, how: str) -> None:
    """B5: the repetition may come after the crash that made it necessary."""
    local.topic()
    producer, named = opened(local), opened(local, "billing")
    for sequence in range(7):
        produce(local, producer, sequence)
    local.restart(how)
    assert produce(local, producer, 6) == 6
    assert produce(local, producer, 7) == 7
    with local.turn() as core, pytest.raises(OutOfOrderSequence):
        core.send("t", b"", producer=(producer.id, 0, 9))
    again = opened(local, "billing")
    assert (again.id, again.epoch) == (named.id, 1)
    assert opened(local).id > again.id


def test_a_producer_that_sends_nothing_for_a_week_is_forgotten(broker: Broker) -> None:
    """Everything is bounded."""
    broker.topic()
    idle, busy, named = opened(broker), opened(broker), opened(broker, "billing")
    produce(broker, busy, 0)
    broker.pass_ms(PRODUCER_IDLE_MS_MAX - HOUR_MS)
    produce(broker, busy, 1)
    broker.pass_ms(HOUR_MS + 1)
    broker.pass_ms(HOUR_MS)
    with broker.turn() as core:
        for id in (idle.id, named.id):
            with pytest.raises(NotFound):
                core.producers.get(id)
    assert produce(broker, busy, 2) == 2
    again = opened(broker, "billing")
    assert again.epoch == 0
    assert again.id not in (idle.id, busy.id, named.id)


def test_only_so_many_producers_are_known_and_those_stay_that_sent_last(
    local: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything is bounded."""
    monkeypatch.setattr("onemq.core.producers.PRODUCERS_MAX", 3)
    local.topic()
    known = [opened(local) for _ in range(3)]
    local.pass_ms(1)
    produce(local, known[0], 0)
    latest = opened(local)
    assert [each.id for each in local.core.producers] == [known[0].id, known[2].id, latest.id]
    assert produce(local, known[0], 1) == 1
    local.restart()
    with local.turn() as core, pytest.raises(NotFound):
        core.producers.get(known[1].id)


def test_only_so_many_places_of_producers_are_remembered(local: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is bounded: each producer may send to all partitions that there are."""
    monkeypatch.setattr("onemq.core.producers.PRODUCER_PLACES_MAX", 3)
    for name in ("a", "b", "c"):
        local.topic(name)
    first, second = opened(local), opened(local)
    for name in ("a", "b"):
        produce(local, first, 0, topic=name)
    with local.turn() as core:
        core.topics.delete("b")
    local.restart()
    local.pass_ms(1)
    produce(local, second, 0, topic="a")
    assert [each.id for each in local.core.producers] == [first.id, second.id]
    produce(local, second, 0, topic="c")
    third = opened(local)
    assert [each.id for each in local.core.producers] == [second.id, third.id]


def test_a_topic_that_goes_takes_its_sequences_along(local: Broker) -> None:
    """Everything is bounded: a producer may outlive any number of topics."""
    producer = opened(local)
    for _ in range(3):
        local.topic()
        produce(local, producer, 0)
        with local.turn() as core:
            core.topics.delete("t")
    assert _remembered(local.core, producer) == 0
    local.restart()
    assert _remembered(local.core, producer) == 0


def _remembered(core: Core, producer: Producer) -> int:
    return len(core.producers.get(producer.id).sent)


def test_a_refused_message_uses_up_no_sequence(broker: Broker) -> None:
    """B5"""
    topic: Topic = broker.topic(message_bytes_max=10)
    producer = opened(broker)
    with broker.turn() as core, pytest.raises(Exception, match="up to 10 bytes"):
        core.send("t", b"x" * 11, producer=(producer.id, 0, 0))
    assert produce(broker, producer, 0) == 0
    assert topic.partitions[0].end == 1


def test_a_producer_names_the_partition_so_that_a_repetition_finds_the_same_one(broker: Broker) -> None:
    """B5: taking turns, or hashing into a topic that has grown, would store it twice."""
    broker.topic("t", 1)
    producer = opened(broker)
    assert broker.send(b"a", producer=(producer.id, 0, 0)) == [(0, 0)]
    with broker.turn() as core:
        core.topics.alter("t", partitions=2)
        for key in (None, b"k"):
            with pytest.raises(InvalidArgument, match="name the partition"):
                core.send("t", b"a", key=key, producer=(producer.id, 0, 0))
        assert core.send("t", b"a", number=0, producer=(producer.id, 0, 0)) == (0, 0)
    assert broker.all_values() == [[b"a"], []]


def test_a_producer_cannot_schedule_since_a_repetition_would_be_stored_twice(broker: Broker) -> None:
    """B5, B8: refused rather than ignored"""
    broker.topic()
    producer = opened(broker)
    with broker.turn() as core, pytest.raises(InvalidArgument, match="cannot schedule"):
        core.send("t", b"x", deliver_at_ms=broker.now_ms + 1, producer=(producer.id, 0, 0))
    assert len(broker.core.schedule) == 0
