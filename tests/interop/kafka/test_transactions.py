"""Transactions with Kafka's clients: committed, rolled back, fenced off, timed out."""

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import redis
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AioPartition
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as PythonPartition
from kafka.errors import KafkaError as PythonKafkaError

from tests.process import Serve

SECONDS = 20
TIME_MS = 1_234_567_890_123


def producer(bootstrap: str, name: str, **more: Any) -> Producer:
    settings = {"bootstrap.servers": bootstrap, "transactional.id": name, "linger.ms": 0, "retry.backoff.ms": 10}
    made = Producer(settings | more, logger=_Quiet())
    made.init_transactions(SECONDS)
    return made


class _Quiet:
    """librdkafka tells of each lost connection; the tests cut some."""

    def log(self, level: int, text: str, *rest: object) -> None:
        pass


def consumed(
    bootstrap: str, topic: str, count: int, isolation: str = "read_committed", number: int = 0
) -> list[Message]:
    """The messages of a partition, from the first on to its end; so many must come."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "reader", "isolation.level": isolation,
                "enable.partition.eof": True}  # fmt: skip
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(topic, number, 0)])
    found: list[Message] = []
    try:
        give_up = time.monotonic() + SECONDS
        while time.monotonic() < give_up:
            message = consumer.poll(0.1)
            if message is None:
                continue
            if message.error() is None:
                found.append(message)
            elif message.error().code() == KafkaError._PARTITION_EOF and len(found) >= count:
                return found
        raise AssertionError(f"{len(found)} messages instead of {count}")
    finally:
        consumer.close()


def values(messages: list[Message]) -> list[bytes]:
    return [message.value() for message in messages]


@pytest.fixture
def stream(kafka: Serve) -> Iterator[redis.Redis]:
    with redis.Redis(port=kafka.port) as client:
        yield client


# Commit and abort


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_readers_of_any_isolation_and_protocol_see_what_is_committed_and_nothing_else(
    bootstrap: str, topic: str, stream: redis.Redis, isolation: str
) -> None:
    sender = producer(bootstrap, topic)
    for commit, value in ((True, b"a"), (False, b"never"), (True, b"b")):
        sender.begin_transaction()
        for _ in range(3):
            sender.produce(topic, value)
        sender.flush(SECONDS)
        before = stream.xlen(topic)
        assert before == {b"a": 0, b"never": 3, b"b": 3}[value], "it is there before its commit"
        if commit:
            sender.commit_transaction(SECONDS)
        else:
            sender.abort_transaction(SECONDS)
        assert stream.xlen(topic) == before + (3 if commit else 0)
    found = consumed(bootstrap, topic, 6, isolation)
    assert values(found) == [b"a"] * 3 + [b"b"] * 3
    assert [message.offset() for message in found] == list(range(6))


def test_readers_who_wait_get_them_when_they_are_committed(bootstrap: str, topic: str, stream: redis.Redis) -> None:
    """Both would wait for a minute."""
    sender = producer(bootstrap, topic)
    sender.begin_transaction()
    sender.produce(topic, b"now")
    sender.flush(SECONDS)
    settings = {"bootstrap.servers": bootstrap, "group.id": topic, "fetch.wait.max.ms": 60_000,
                "socket.timeout.ms": 61_000}  # fmt: skip
    reader = Consumer(settings)
    reader.assign([TopicPartition(topic, 0, 0)])
    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(stream.xread, {topic: "0"}, None, 60_000)
        assert reader.poll(0.3) is None
        sender.commit_transaction(SECONDS)
        assert polled(reader).value() == b"now"
        ((_, entries),) = waiting.result(SECONDS)
    reader.close()
    assert len(entries) == 1


def test_messages_have_no_offset_before_the_commit(bootstrap: str, topic: str) -> None:
    sender, offsets = producer(bootstrap, topic), []
    sender.begin_transaction()
    for _ in range(5):
        sender.produce(topic, b"x", on_delivery=lambda error, message: offsets.append((error, message.offset())))
    sender.commit_transaction(SECONDS)
    assert offsets == [(None, None)] * 5


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_keys_headers_times_and_compressed_bodies_come_out_as_they_went_in(
    bootstrap: str, topic: str, compression: str
) -> None:
    sender = producer(bootstrap, topic, **{"compression.type": compression})
    sender.begin_transaction()
    bodies = [b"%d" % number * 200 for number in range(20)]
    for number, body in enumerate(bodies):
        sender.produce(topic, body, b"key", headers=[("h", b"%d" % number), ("h", None)], timestamp=TIME_MS + number)
    sender.commit_transaction(SECONDS)
    found = consumed(bootstrap, topic, 20)
    assert values(found) == bodies
    assert {message.key() for message in found} == {b"key"}
    assert [message.timestamp() for message in found] == [(1, TIME_MS + number) for number in range(20)]
    assert [message.headers() for message in found] == [[("h", b"%d" % n), ("h", None)] for n in range(20)]


def test_a_transaction_has_many_partitions_and_a_long_one_moves_in_order(bootstrap: str, topic: str) -> None:
    sender = producer(bootstrap, topic, **{"batch.size": 1_000})
    names = [f"{topic}-{letter}" for letter in "abc"]
    for turn in range(3):
        sender.begin_transaction()
        for number in range(200):
            sender.produce(names[number % 3], b"%d.%d" % (turn, number))
        sender.commit_transaction(SECONDS)
    for place, name in enumerate(names):
        expected = [b"%d.%d" % (turn, number) for turn in range(3) for number in range(place, 200, 3)]
        assert values(consumed(bootstrap, name, len(expected))) == expected


def test_kafka_python_commits_and_aborts(bootstrap: str, topic: str) -> None:
    sender = KafkaProducer(bootstrap_servers=bootstrap, transactional_id=topic, retry_backoff_ms=10)
    sender.init_transactions()
    for commit, value in ((True, b"a"), (False, b"never"), (True, b"b")):
        sender.begin_transaction()
        sender.send(topic, value, partition=0)
        sender.flush()
        if commit:
            sender.commit_transaction()
        else:
            sender.abort_transaction()
    sender.close()
    for isolation in ("read_committed", "read_uncommitted"):
        reader = KafkaConsumer(
            bootstrap_servers=bootstrap, isolation_level=isolation, consumer_timeout_ms=SECONDS * 1000
        )
        reader.assign([PythonPartition(topic, 0)])
        reader.seek_to_beginning()
        assert [next(reader).value for _ in range(2)] == [b"a", b"b"]
        reader.close()


def test_aiokafka_commits_and_aborts_and_commits_offsets(bootstrap: str, topic: str) -> None:
    async def scenario() -> tuple[list[bytes], int | None]:
        sender = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=topic, retry_backoff_ms=10)
        await sender.start()
        try:
            async with sender.transaction():
                await sender.send_and_wait(topic, b"a", partition=0)
                await sender.send_offsets_to_transaction({AioPartition(topic, 0): 1}, f"{topic}-group")
            with pytest.raises(LookupError):
                async with sender.transaction():
                    await sender.send_and_wait(topic, b"never", partition=0)
                    await sender.send_offsets_to_transaction({AioPartition(topic, 0): 2}, f"{topic}-group")
                    raise LookupError
            async with sender.transaction():
                await sender.send_and_wait(topic, b"b", partition=0)
        finally:
            await sender.stop()
        reader = AIOKafkaConsumer(
            bootstrap_servers=bootstrap, isolation_level="read_committed", group_id=f"{topic}-group"
        )
        reader.assign([AioPartition(topic, 0)])
        await reader.start()
        try:
            committed = await reader.committed(AioPartition(topic, 0))
            await reader.seek_to_beginning()
            return [(await reader.getone()).value for _ in range(2)], committed
        finally:
            await reader.stop()

    assert asyncio.run(asyncio.wait_for(scenario(), SECONDS)) == ([b"a", b"b"], 1)


# Consume, transform, produce


def test_offsets_are_committed_with_the_messages(bootstrap: str, topic: str) -> None:
    group = f"{topic}-group"
    plain = Producer({"bootstrap.servers": bootstrap})
    for number in range(4):
        plain.produce(topic, b"%d" % number)
    plain.flush(SECONDS)
    reader = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest",
                       "enable.auto.commit": False})  # fmt: skip
    reader.subscribe([topic])
    sender = producer(bootstrap, topic)
    for commit in (False, True):
        sender.begin_transaction()
        message = polled(reader)
        sender.produce(f"{topic}-copy", message.value())
        sender.send_offsets_to_transaction(reader.position(reader.assignment()), reader.consumer_group_metadata())
        if commit:
            sender.commit_transaction(SECONDS)
        else:
            sender.abort_transaction(SECONDS)
        (place,) = reader.committed([TopicPartition(topic, 0)], SECONDS)
        assert place.offset == (2 if commit else -1001), "offsets are those of committed transactions"
    reader.close()
    assert values(consumed(bootstrap, f"{topic}-copy", 1)) == [b"1"]


def polled(reader: Consumer) -> Message:
    give_up = time.monotonic() + SECONDS
    while time.monotonic() < give_up:
        message = reader.poll(0.1)
        if message is not None and message.error() is None:
            return message
    raise AssertionError("nothing came")


# Fencing and time


def test_a_zombie_is_fenced_off_and_its_transaction_rolled_back(bootstrap: str, topic: str) -> None:
    zombie = producer(bootstrap, topic)
    zombie.begin_transaction()
    zombie.produce(topic, b"zombie")
    zombie.flush(SECONDS)
    heir = producer(bootstrap, topic)
    with pytest.raises(KafkaException) as caught:
        zombie.commit_transaction(SECONDS)
    assert caught.value.args[0].code() == KafkaError._FENCED
    heir.begin_transaction()
    heir.produce(topic, b"heir")
    heir.commit_transaction(SECONDS)
    assert values(consumed(bootstrap, topic, 1)) == [b"heir"]


def test_kafka_python_learns_that_it_was_fenced_off(bootstrap: str, topic: str) -> None:
    zombie = KafkaProducer(bootstrap_servers=bootstrap, transactional_id=topic, retry_backoff_ms=10)
    zombie.init_transactions()
    zombie.begin_transaction()
    zombie.send(topic, b"zombie", partition=0).get(SECONDS)
    producer(bootstrap, topic)
    with pytest.raises(PythonKafkaError):
        zombie.commit_transaction()
    zombie.close(timeout=1)


def test_a_transaction_is_rolled_back_when_its_time_is_up(bootstrap: str, topic: str, kafka: Serve) -> None:
    sender = producer(bootstrap, topic, **{"transaction.timeout.ms": 1_000})
    sender.begin_transaction()
    sender.produce(topic, b"late")
    sender.flush(SECONDS)
    wait_until(lambda: topic.encode() not in kafka.command("MQ.TX LIST"))
    with pytest.raises(KafkaException) as caught:
        sender.commit_transaction(SECONDS)
    assert caught.value.args[0].code() == KafkaError._FENCED
    heir = producer(bootstrap, topic)
    heir.begin_transaction()
    heir.produce(topic, b"in time")
    heir.commit_transaction(SECONDS)
    assert values(consumed(bootstrap, topic, 1)) == [b"in time"]


def wait_until(is_so: Callable[[], bool]) -> None:
    give_up = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < give_up, "it did not come"
        time.sleep(0.01)
