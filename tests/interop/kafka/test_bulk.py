"""Producing and fetching with Kafka's clients."""

import threading
from time import monotonic, time
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec
from kafka import KafkaConsumer
from kafka import TopicPartition as PythonTopicPartition

from tests.interop.kafka.clients import (
    READERS,
    SECONDS,
    SENDERS,
    Sent,
    confluent_messages,
    confluent_producer,
    confluent_read,
    confluent_send,
)

COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")


def some(count: int, tag: str = "") -> list[Sent]:
    return [Sent(f"{tag} value {number}".encode() * 3, b"key %d" % number, (("h", b"v"),)) for number in range(count)]


@pytest.mark.parametrize("client", SENDERS)
def test_every_compression_and_every_acks_is_stored_and_read_by_all_clients(
    bootstrap: str, topic: str, client: str
) -> None:
    sent: list[Sent] = []
    for compression in COMPRESSIONS:
        for acks in ("all", "1", "0"):
            messages = some(20, f"{compression} {acks}")
            SENDERS[client](bootstrap, topic, messages, compression, acks)
            sent += messages
            assert confluent_read(bootstrap, topic, 20, len(sent) - 20) == messages  # also those nobody told us of
    for reader in READERS.values():
        assert reader(bootstrap, topic, len(sent)) == sent


def test_large_messages_are_stored_and_read(bootstrap: str, topic: str) -> None:
    size = 3 << 20
    producer = confluent_producer(bootstrap, **{"message.max.bytes": 10 << 20})
    outcomes: list[Any] = []
    for body in (b"a" * size, b"b" * 10, b"c" * (5 << 20)):
        producer.produce(topic, body, partition=0, on_delivery=lambda error, _: outcomes.append(error))
        producer.flush(SECONDS)
    assert outcomes[:2] == [None, None]
    assert outcomes[2].code() == KafkaError.MSG_SIZE_TOO_LARGE
    limits = {"fetch.message.max.bytes": 1000, "fetch.max.bytes": 1 << 20, "receive.message.max.bytes": 100 << 20}
    assert [len(each.value or b"") for each in confluent_read(bootstrap, topic, 2, **limits)] == [size, 10]


def test_a_fetch_waits_for_what_comes(bootstrap: str, topic: str) -> None:
    confluent_send(bootstrap, topic, some(1))
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none", "fetch.wait.max.ms": SECONDS * 1000})
    consumer.assign([TopicPartition(topic, 0, 1)])
    assert consumer.poll(0.5) is None
    sent = threading.Timer(0.1, confluent_send, (bootstrap, topic, some(1, "late")))
    begun = monotonic()
    sent.start()
    message = consumer.poll(SECONDS)
    sent.join()
    consumer.close()
    assert message is not None
    assert message.value() == some(1, "late")[0].value
    assert monotonic() - begun < SECONDS / 2, "it did not wait until its time was up"


def test_offsets_are_found_by_time(bootstrap: str, topic: str) -> None:
    producer, now_ms = confluent_producer(bootstrap), int(time() * 1000)
    for number in range(10):
        producer.produce(topic, b"%d" % number, partition=0, timestamp=now_ms - 10_000 + 1000 * number)
        producer.flush(SECONDS)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none"})
    wanted = [(now_ms - 20_000, 0), (now_ms - 10_000, 0), (now_ms - 9_500, 1), (now_ms - 1000, 9), (now_ms, -1)]
    for time_ms, offset in wanted:
        (found,) = consumer.offsets_for_times([TopicPartition(topic, 0, time_ms)], SECONDS)
        assert found.offset == offset
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), SECONDS) == (0, 10)
    consumer.close()
    times = [each.timestamp() for each in confluent_messages(bootstrap, topic, 10)]
    assert times == [(1, now_ms - 10_000 + 1000 * number) for number in range(10)]


def test_offsets_are_listed_for_administrators(bootstrap: str, topic: str) -> None:
    confluent_send(bootstrap, topic, some(3))
    admin, place = AdminClient({"bootstrap.servers": bootstrap}), TopicPartition(topic, 0)
    for spec, offset in ((OffsetSpec.earliest(), 0), (OffsetSpec.latest(), 3), (OffsetSpec.for_timestamp(0), 0)):
        assert admin.list_offsets({place: spec})[place].result(SECONDS).offset == offset
    latest = admin.list_offsets({place: OffsetSpec.max_timestamp()})[place].result(SECONDS)
    assert 0 <= latest.offset < 3
    assert latest.timestamp > 0


def test_records_are_deleted(bootstrap: str, topic: str) -> None:
    confluent_send(bootstrap, topic, some(10))
    admin = AdminClient({"bootstrap.servers": bootstrap})
    deleted = admin.delete_records([TopicPartition(topic, 0, 4)])
    assert next(iter(deleted.values())).result(SECONDS).low_watermark == 4
    assert confluent_read(bootstrap, topic, 6, 4) == some(10)[4:]
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none", "auto.offset.reset": "error"})
    consumer.assign([TopicPartition(topic, 0, 1)])
    message = consumer.poll(SECONDS)
    consumer.close()
    assert message is not None
    assert message.error().code() == KafkaError._AUTO_OFFSET_RESET
    with pytest.raises(KafkaException, match="OFFSET_OUT_OF_RANGE"):
        next(iter(admin.delete_records([TopicPartition(topic, 0, 99)]).values())).result(SECONDS)


def test_the_time_of_the_broker_can_be_asked_for(bootstrap: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    new = NewTopic(topic, 1, config={"message.timestamp.type": "LogAppendTime"})
    admin.create_topics([new])[topic].result(SECONDS)
    producer, before_ms = confluent_producer(bootstrap), int(time() * 1000)
    producer.produce(topic, b"x", timestamp=5)
    producer.flush(SECONDS)
    ((kind, time_ms),) = [each.timestamp() for each in confluent_messages(bootstrap, topic, 1)]
    assert (kind, before_ms <= time_ms <= int(time() * 1000)) == (2, True)


def test_many_partitions_are_fetched_in_one_session(bootstrap: str, topic: str) -> None:
    """By kafka-python: librdkafka has no sessions."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, 50)])[topic].result(SECONDS)
    producer = confluent_producer(bootstrap)
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False, fetch_max_wait_ms=100)
    places = [PythonTopicPartition(topic, number) for number in range(50)]
    consumer.assign(places)
    consumer.seek_to_beginning()
    found: set[tuple[int, bytes]] = set()
    sessions: set[int] = set()

    def read(turn: int, numbers: range) -> None:
        """What is new in these partitions, and nothing of others."""
        for number in range(50):
            producer.produce(topic, b"%d" % turn, partition=number)
        producer.flush(SECONDS)
        wanted, end = {(number, b"%d" % turn) for number in numbers}, monotonic() + SECONDS
        while not found >= wanted and monotonic() < end:
            for messages in consumer.poll(timeout_ms=200).values():
                found.update((message.partition, message.value) for message in messages)
        assert found >= wanted
        sessions.update(each.next_metadata.session_id for each in consumer._fetcher._session_handlers.values())

    read(0, range(50))
    read(1, range(50))
    consumer.pause(*places[:25])  # the session forgets them
    read(2, range(25, 50))
    assert not found & {(number, b"2") for number in range(25)}
    consumer.resume(*places[:25])
    read(3, range(50))
    consumer.close()
    assert found == {(number, b"%d" % turn) for number in range(50) for turn in range(4)}
    assert len(sessions) == 1
    assert 0 not in sessions
