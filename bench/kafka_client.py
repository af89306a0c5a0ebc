"""One load with confluent-kafka, in a process of its own: `python -m bench.kafka_client '{"do": "produce", ...}'`.

Prints one line of JSON: seconds and messages, or latencies. All loads use the client's defaults but for the compression
and what a test of ten seconds needs: a consumer whose queue is full would fetch nothing for a whole second, and so be
slower the quicker the server is.
"""

import json
import sys
import time
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

STAMP_BYTES = 19
QUEUE_FULL_SECONDS = 0.01
TAKEN_MESSAGES = 500
"""What is taken of a consumer at a time. With thousands the processor's caches are too small for them, the client is
the slowest of all, and so it is what is measured."""


def produce(port: int, topic: str, count: int, size: int, compression: str, partitions: int) -> dict[str, float]:
    """As quick as it goes; ends when all are acknowledged."""
    failed: list[Any] = []
    producer = Producer({"bootstrap.servers": f"127.0.0.1:{port}", "compression.type": compression, "acks": "all"})
    body = _body(size)

    def delivered(error: object, message: object) -> None:
        if error is not None:
            failed.append(error)

    producer.list_topics(topic, timeout=30)
    start = time.perf_counter()
    for number in range(count):
        while True:
            try:
                producer.produce(topic, body, on_delivery=delivered if number % 1000 == 0 else None)
                break
            except BufferError:
                producer.poll(QUEUE_FULL_SECONDS)
        if number % 1000 == 0:
            producer.poll(0)
    producer.flush()
    assert not failed, failed[0]
    return {"seconds": time.perf_counter() - start, "messages": count}


def consume(port: int, topic: str, count: int, size: int, compression: str, partitions: int) -> dict[str, float]:
    """From the beginning, until `count` messages came."""
    consumer = Consumer({
        "bootstrap.servers": f"127.0.0.1:{port}", "group.id": "bench", "enable.auto.commit": False,
        "auto.offset.reset": "earliest", "fetch.queue.backoff.ms": 10,
    })  # fmt: skip
    consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
    start, got = time.perf_counter(), 0
    while got < count:
        messages = consumer.consume(min(TAKEN_MESSAGES, count - got), timeout=10)
        assert messages, f"{got} of {count} messages came"
        for message in messages[:1]:
            if message.error():
                raise KafkaException(message.error())
        got += len(messages)
    seconds = time.perf_counter() - start
    consumer.close()
    return {"seconds": seconds, "messages": got}


def follow(port: int, topic: str, rate: int, seconds: float, size: int) -> dict[str, float]:
    """Sends at a rate and receives in one process. A latency is from when a message was to be sent until it came."""
    consumer = Consumer({
        "bootstrap.servers": f"127.0.0.1:{port}", "group.id": "bench", "enable.auto.commit": False,
        "fetch.wait.max.ms": 500,
    })  # fmt: skip
    consumer.assign([TopicPartition(topic, 0, 0)])
    producer = Producer({"bootstrap.servers": f"127.0.0.1:{port}"})
    rest = b"x" * (size - STAMP_BYTES)
    start, sent, latencies = time.perf_counter(), 0, list[int]()
    total = int(rate * seconds)
    while len(latencies) < total:
        now = time.perf_counter()
        while sent < total and start + sent / rate <= now:
            producer.produce(topic, b"%019d" % int((start + sent / rate) * 1e9) + rest)
            sent += 1
        producer.poll(0)
        came = consumer.consume(1000, timeout=0.0005)
        now_ns = time.perf_counter_ns()
        for message in came:
            value = message.value()
            assert value is not None
            assert message.error() is None, message.error()
            latencies.append(now_ns - int(value[:STAMP_BYTES]))
        assert now < start + seconds + 60, f"{len(latencies)} of {total} messages came"
    latencies = sorted(latencies[rate:])  # the first second is the start of it all
    return {
        "p50_ms": latencies[len(latencies) // 2] / 1e6,
        "p99_ms": latencies[len(latencies) * 99 // 100] / 1e6,
        "messages": total,
    }


def start_group(port: int, topics: int) -> dict[str, float]:
    """How long it takes until metadata of all topics is there, and until a group of one member has all partitions."""
    names: list[str] = []
    while len(names) < topics:  # Kafka tells of new topics some time after it has made them
        start = time.perf_counter()
        found = Producer({"bootstrap.servers": f"127.0.0.1:{port}"}).list_topics(timeout=60)
        metadata_seconds = time.perf_counter() - start
        names = [name for name in found.topics if name.startswith("many-")]
    _assigned_after(port, "first", names[:1])  # Kafka makes a topic for offsets when the first group comes
    return {"metadata_seconds": metadata_seconds, "group_seconds": _assigned_after(port, "many", names)}


def _assigned_after(port: int, group: str, names: list[str]) -> float:
    """How long it takes until a group of one member has the partitions of topics."""
    assigned: list[float] = []
    consumer = Consumer({"bootstrap.servers": f"127.0.0.1:{port}", "group.id": group, "auto.offset.reset": "earliest"})
    start = time.perf_counter()
    consumer.subscribe(names, on_assign=lambda _, partitions: assigned.append(time.perf_counter()))
    while not assigned:
        consumer.poll(0.05)
    consumer.close()
    return assigned[0] - start


def _body(size: int) -> bytes:
    """Letters, as those of Kafka's own test: hardly smaller when compressed."""
    seed, letters = 1, bytearray()
    for _ in range(size):
        seed = (seed * 1103515245 + 12345) % (1 << 31)
        letters.append(65 + (seed >> 16) % 26)
    return bytes(letters)


if __name__ == "__main__":
    wanted = json.loads(sys.argv[1])
    loads = {"produce": produce, "consume": consume, "follow": follow, "start_group": start_group}
    print(json.dumps(loads[wanted.pop("do")](**wanted)))
