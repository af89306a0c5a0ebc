"""The four clients behind one pair of functions each: send messages, and read a partition from an offset on."""

import asyncio
import subprocess
from collections.abc import Callable
from time import monotonic
from typing import Any, NamedTuple

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AioTopicPartition
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as PythonTopicPartition

SECONDS = 20


class Sent(NamedTuple):
    """A message, as all of them know it."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes], ...] = ()


def confluent_producer(bootstrap: str, **settings: Any) -> Producer:
    """Quick to send, and to give up."""
    quick = {"linger.ms": 5, "message.timeout.ms": SECONDS * 1000, "retry.backoff.ms": 20, "reconnect.backoff.ms": 20}
    return Producer({"bootstrap.servers": bootstrap} | quick | settings)


def confluent_send(
    bootstrap: str, topic: str, messages: list[Sent], compression: str = "none", acks: str = "all"
) -> None:
    failures: list[Any] = []
    producer = confluent_producer(bootstrap, **{"compression.type": compression, "acks": acks})
    for value, key, headers in messages:
        producer.produce(
            topic, value, key, headers=list(headers), partition=0, on_delivery=lambda error, _: failures.append(error)
        )
    assert producer.flush(SECONDS) == 0
    assert failures == [None] * len(messages)


def confluent_read(bootstrap: str, topic: str, count: int, offset: int = 0, **settings: Any) -> list[Sent]:
    return [Sent(each.value(), each.key(), tuple(each.headers() or ())) for each in confluent_messages(
        bootstrap, topic, count, offset, **settings
    )]  # fmt: skip


def confluent_messages(bootstrap: str, topic: str, count: int, offset: int = 0, **settings: Any) -> list[Any]:
    """As confluent-kafka gives them."""
    quick = {"group.id": "none", "enable.auto.commit": False, "fetch.wait.max.ms": 100, "fetch.error.backoff.ms": 20}
    consumer = Consumer({"bootstrap.servers": bootstrap} | quick | settings)
    consumer.assign([TopicPartition(topic, 0, offset)])
    found: list[Any] = []
    end = monotonic() + SECONDS
    while len(found) < count and monotonic() < end:
        found += consumer.consume(count - len(found), 0.2)
    consumer.close()
    assert all(each.error() is None for each in found)
    return found


def python_send(bootstrap: str, topic: str, messages: list[Sent], compression: str = "none", acks: Any = "all") -> None:
    kind = None if compression == "none" else compression
    producer = KafkaProducer(
        bootstrap_servers=bootstrap, compression_type=kind, acks=acks if acks == "all" else int(acks),
        enable_idempotence=acks == "all", retry_backoff_ms=20,
    )  # fmt: skip
    sent = [
        producer.send(topic, value, key, headers=list(headers), partition=0) for value, key, headers in messages
    ]
    producer.flush(SECONDS)
    offsets = [each.get(SECONDS).offset for each in sent]
    producer.close()
    assert acks == "0" or offsets == list(range(offsets[0], offsets[0] + len(messages)))


def python_read(bootstrap: str, topic: str, count: int, offset: int = 0) -> list[Sent]:
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, enable_auto_commit=False, consumer_timeout_ms=SECONDS * 1000, fetch_max_wait_ms=100
    )
    place = PythonTopicPartition(topic, 0)
    consumer.assign([place])
    consumer.seek(place, offset)
    found: list[Sent] = []
    for each in consumer:
        found.append(Sent(each.value, each.key, tuple(each.headers)))
        if len(found) == count:
            break
    consumer.close()
    return found


def aio_send(bootstrap: str, topic: str, messages: list[Sent], compression: str = "none", acks: Any = "all") -> None:
    async def send() -> None:
        kind = None if compression == "none" else compression
        producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap, compression_type=kind, acks=acks if acks == "all" else int(acks),
            enable_idempotence=acks == "all", retry_backoff_ms=20,
        )  # fmt: skip
        await producer.start()
        try:
            futures = [
                await producer.send(topic, value, key, partition=0, headers=list(headers))
                for value, key, headers in messages
            ]
            await asyncio.gather(*futures)
        finally:
            await producer.stop()

    asyncio.run(asyncio.wait_for(send(), SECONDS))


def aio_read(bootstrap: str, topic: str, count: int, offset: int = 0) -> list[Sent]:
    async def read() -> list[Sent]:
        consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False, fetch_max_wait_ms=100)
        await consumer.start()
        found: list[Sent] = []
        try:
            place = AioTopicPartition(topic, 0)
            consumer.assign([place])
            consumer.seek(place, offset)
            while len(found) < count:
                for each in (await consumer.getmany(timeout_ms=200, max_records=count - len(found))).values():
                    found += [Sent(message.value, message.key, message.headers) for message in each]
        finally:
            await consumer.stop()
        return found

    return asyncio.run(asyncio.wait_for(read(), SECONDS))


def kcat_send(bootstrap: str, topic: str, messages: list[Sent], compression: str = "none", acks: str = "all") -> None:
    """All with the same headers, one message a line."""
    headers = [word for name, value in messages[0].headers for word in ("-H", f"{name}={value.decode()}")]
    lines = b"".join(b"%b:%b\n" % (each.key or b"", each.value or b"") for each in messages)
    words = ["kcat", "-b", bootstrap, "-P", "-t", topic, "-p", "0", "-K:", "-z", compression, "-X", f"acks={acks}"]
    subprocess.run([*words, *headers], input=lines, timeout=SECONDS, check=True)


def kcat_read(bootstrap: str, topic: str, count: int, offset: int = 0) -> list[Sent]:
    words = ["kcat", "-b", bootstrap, "-C", "-t", topic, "-p", "0", "-o", str(offset), "-c", str(count), "-q"]
    words += ["-f", "%k\x1f%s\x1f%h\n"]
    lines = subprocess.run(words, capture_output=True, timeout=SECONDS, check=True).stdout.splitlines()
    found = []
    for line in lines:
        key, value, headers = line.split(b"\x1f")
        pairs = [pair.partition(b"=") for pair in headers.split(b",") if pair]
        found.append(Sent(value, key, tuple((name.decode(), text) for name, _, text in pairs)))
    return found


Send = Callable[[str, str, list[Sent], str, str], None]
Read = Callable[[str, str, int], list[Sent]]
SENDERS: dict[str, Send] = {
    "confluent-kafka": confluent_send, "kafka-python": python_send, "aiokafka": aio_send, "kcat": kcat_send,
}  # fmt: skip
READERS: dict[str, Read] = {
    "confluent-kafka": confluent_read, "kafka-python": python_read, "aiokafka": aio_read, "kcat": kcat_read,
}  # fmt: skip
