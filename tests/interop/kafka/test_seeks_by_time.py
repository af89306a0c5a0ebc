"""Reading from a time on: every client finds the first message of that time or later, seeks there, and reads on."""

import asyncio
import subprocess
from collections.abc import Callable
from time import time

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as AioTopicPartition
from confluent_kafka import Consumer, TopicPartition
from kafka import KafkaConsumer
from kafka import TopicPartition as PythonTopicPartition

from tests.interop.kafka.clients import SECONDS, confluent_producer

COUNT, BATCH, STEP_MS = 20, 5, 1_000
WANTED = [(-5_000, 0), (0, 0), (1, 1), (6_999, 7), (7_000, 7), (15_000, 15), (19_000, 19), (19_001, None)]
"""A time after that of the first message, and the offset of the first message that is no older."""

Found = tuple[int | None, list[bytes | None]]
"""An offset if there is one, and all that is read from there on."""


@pytest.fixture(params=["none", "lz4"])
def first_ms(bootstrap: str, topic: str, request: pytest.FixtureRequest) -> int:
    """The time of the first message; each further one is a second later. They lie in batches of five."""
    begun_ms = int(time() * 1000) - COUNT * STEP_MS
    producer = confluent_producer(bootstrap, **{"compression.type": request.param, "linger.ms": 10_000})
    for number in range(COUNT):
        producer.produce(topic, b"%d" % number, partition=0, timestamp=begun_ms + number * STEP_MS)
        if (number + 1) % BATCH == 0:
            assert producer.flush(SECONDS) == 0
    return begun_ms


def with_confluent_kafka(bootstrap: str, topic: str, time_ms: int) -> Found:
    quick = {"group.id": "none", "enable.auto.commit": False, "fetch.wait.max.ms": 100}
    consumer = Consumer({"bootstrap.servers": bootstrap} | quick)
    consumer.assign([TopicPartition(topic, 0, 3)])
    elsewhere = consumer.poll(SECONDS)
    assert elsewhere is not None
    assert elsewhere.value() == b"3"
    (found,) = consumer.offsets_for_times([TopicPartition(topic, 0, time_ms)], SECONDS)
    bodies: list[bytes | None] = []
    if found.offset >= 0:
        consumer.seek(TopicPartition(topic, 0, found.offset))
        bodies += [each.value() for each in consumer.consume(COUNT - found.offset, SECONDS)]
    consumer.close()
    return found.offset if found.offset >= 0 else None, bodies


def with_kafka_python(bootstrap: str, topic: str, time_ms: int) -> Found:
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, enable_auto_commit=False, consumer_timeout_ms=SECONDS * 1000, fetch_max_wait_ms=100
    )
    place = PythonTopicPartition(topic, 0)
    consumer.assign([place])
    consumer.seek(place, 3)
    assert next(consumer).value == b"3"
    found = consumer.offsets_for_times({place: time_ms})[place]
    bodies: list[bytes | None] = []
    if found is not None:
        assert found.timestamp >= time_ms
        consumer.seek(place, found.offset)
        bodies += [next(consumer).value for _ in range(COUNT - found.offset)]
    consumer.close()
    return found.offset if found is not None else None, bodies


def with_aiokafka(bootstrap: str, topic: str, time_ms: int) -> Found:
    async def run() -> Found:
        consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False, fetch_max_wait_ms=100)
        await consumer.start()
        try:
            place = AioTopicPartition(topic, 0)
            consumer.assign([place])
            consumer.seek(place, 3)
            assert (await consumer.getone()).value == b"3"
            found = (await consumer.offsets_for_times({place: time_ms}))[place]
            if found is None:
                return None, []
            assert found.timestamp >= time_ms
            consumer.seek(place, found.offset)
            return found.offset, [(await consumer.getone()).value for _ in range(COUNT - found.offset)]
        finally:
            await consumer.stop()

    return asyncio.run(asyncio.wait_for(run(), SECONDS))


def with_kcat(bootstrap: str, topic: str, time_ms: int) -> Found:
    def told(*words: str) -> bytes:
        command = ["kcat", "-b", bootstrap, *words]
        return subprocess.run(command, capture_output=True, timeout=SECONDS, check=True).stdout

    offset = int(told("-Q", "-t", f"{topic}:0:{time_ms}").split()[-1])
    lines = told("-C", "-t", topic, "-p", "0", "-o", f"s@{time_ms}", "-e", "-q", "-f", "%s\n").splitlines()
    return offset if offset >= 0 else None, list(lines)


CLIENTS: dict[str, Callable[[str, str, int], Found]] = {
    "confluent-kafka": with_confluent_kafka,
    "kafka-python": with_kafka_python,
    "aiokafka": with_aiokafka,
    "kcat": with_kcat,
}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_reads_on_from_a_time(bootstrap: str, topic: str, first_ms: int, client: str) -> None:
    for later_ms, offset in WANTED:
        rest = [] if offset is None else [b"%d" % number for number in range(offset, COUNT)]
        assert CLIENTS[client](bootstrap, topic, first_ms + later_ms) == (offset, rest), later_ms
