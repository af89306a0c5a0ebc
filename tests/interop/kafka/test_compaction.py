"""Compacted topics: the last message of each key stays, however a Kafka producer packed it, and readers see no gap."""

import random
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from onemq.testing import Broker, broker
from tests.kafka_raw import call

KEYS = 200
ROUNDS = 40
SEGMENT_BYTES = 1 << 20
VALUE_BYTES = 600


def produce(port: int, topic: str, compression: str) -> dict[bytes, bytes | None]:
    """Gives every key many values, the last of some of them none. Returns the last ones."""
    producer = Producer({
        "bootstrap.servers": f"127.0.0.1:{port}", "compression.type": compression, "batch.size": 50_000,
        "linger.ms": 5, "enable.idempotence": True,
    })  # fmt: skip
    chance, last = random.Random(7), dict[bytes, bytes | None]()
    for turn in range(ROUNDS):
        for number in range(KEYS):
            key = b"key-%d" % number
            gone = turn == ROUNDS - 1 and number % 10 == 0
            last[key] = None if gone else b"%d-" % turn + chance.randbytes(VALUE_BYTES)
            producer.produce(topic, last[key], key)
    # What is written to is not compacted: these fill the last segment.
    for number in range(2 * SEGMENT_BYTES // VALUE_BYTES):
        last[b"filler"] = b"%d-" % number + chance.randbytes(VALUE_BYTES)
        producer.produce(topic, last[b"filler"], b"filler")
    assert producer.flush(60) == 0
    return last


def consumed(port: int, topic: str, isolation: str = "read_committed") -> list[tuple[int, bytes, bytes | None]]:
    """Everything from the beginning to the end: offset, key, value."""
    consumer = Consumer({
        "bootstrap.servers": f"127.0.0.1:{port}", "group.id": "reader", "enable.partition.eof": True,
        "isolation.level": isolation, "check.crcs": True,
    })  # fmt: skip
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = []
    while True:
        message = consumer.poll(60)
        assert message is not None
        error = message.error()
        if error is not None:
            assert error.code() == KafkaError._PARTITION_EOF, error
            break
        offset, key = message.offset(), message.key()
        assert offset is not None
        assert key is not None
        found.append((offset, bytes(key), message.value()))
    consumer.close()
    return found


def compacted(serving: Broker, topic: str) -> None:
    """Waits until the partition has become much smaller."""
    before = stored_bytes(serving, topic)
    give_up = time.monotonic() + 120
    while stored_bytes(serving, topic) > before - 2 * SEGMENT_BYTES:
        serving.advance("61s")
        assert time.monotonic() < give_up, "it is not compacted"


def stored_bytes(serving: Broker, topic: str) -> int:
    asked = [{"topic": topic, "partitions": [0]}]
    (folder,) = call(serving.kafka_port, "DescribeLogDirs", 4, topics=asked)["results"]
    return int(folder["topics"][0]["partitions"][0]["partition_size"])


LONG = (pytest.param(each, marks=pytest.mark.long) for each in ("none", "gzip", "snappy", "zstd"))


@pytest.mark.parametrize("compression", ["lz4", *LONG])
def test_the_last_message_of_each_key_stays(tmp_path: Path, compression: str) -> None:
    with broker(tmp_path / "data", kafka=True) as serving:
        settings = {
            "cleanup.policy": "compact", "segment.bytes": str(SEGMENT_BYTES), "flush.messages": "1000",
            "delete.retention.ms": "3600000",
        }  # fmt: skip
        admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{serving.kafka_port}"})
        admin.create_topics([NewTopic("state", 1, 1, config=settings)])["state"].result(60)
        last = produce(serving.kafka_port, "state", compression)
        everything = consumed(serving.kafka_port, "state")
        compacted(serving, "state")
        found = consumed(serving.kafka_port, "state")
        assert len(found) < len(everything) - KEYS * ROUNDS // 2
        assert set(found) <= set(everything)
        assert [offset for offset, _, _ in found] == sorted({offset for offset, _, _ in found})
        assert {key: value for _, key, value in found} == last
        assert consumed(serving.kafka_port, "state", "read_uncommitted") == found
        # A tombstone goes when its time is up and the partition is compacted again.
        serving.advance("2h")
        produce(serving.kafka_port, "state", compression)
        compacted(serving, "state")
        assert [value for _, _, value in found].count(None) == KEYS // 10
        assert [value for _, _, value in consumed(serving.kafka_port, "state")].count(None) == 0
