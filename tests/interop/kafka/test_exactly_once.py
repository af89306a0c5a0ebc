"""Exactly once: a topic is copied while the copier and the broker are killed, and a transaction outlives each kill."""

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.interop.kafka.copier import RECONNECTING
from tests.interop.kafka.test_transactions import SECONDS, consumed, producer, values, wait_until
from tests.process import Serve, free_port

pytestmark = pytest.mark.long
MESSAGES = 400
PARTITIONS = 2
KILLS = 10
COPY_SECONDS = 120
LARGE = 60_000


class Broker:
    """A broker that can be killed and comes back at the same address with its data."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kafka_port = free_port()
        self.bootstrap = f"127.0.0.1:{self._kafka_port}"
        self.serving = self._start()

    def _start(self) -> Serve:
        serving = Serve(self._folder, kafka_port=self._kafka_port)
        serving.wait_until_serving()
        return serving

    def kill(self) -> None:
        self.close()
        self.serving = self._start()

    def close(self) -> None:
        self.serving.__exit__(None, None, None)

    def lengths(self, topic: str) -> list[int]:
        """How many messages each partition has."""
        reader = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "lengths"})
        try:
            places = [TopicPartition(topic, number) for number in range(PARTITIONS)]
            return [reader.get_watermark_offsets(place, SECONDS)[1] for place in places]
        finally:
            reader.close()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    made = Broker(tmp_path / "data")
    yield made
    made.close()


def test_each_step_of_a_transaction_outlives_a_kill_of_the_broker(broker: Broker) -> None:
    sender = producer(broker.bootstrap, "survivor", **RECONNECTING)
    reader = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g"} | RECONNECTING)
    for turn in range(2):
        broker.kill()
        sender.begin_transaction()
        sender.produce("t", b"%da" % turn)
        sender.flush(SECONDS)
        broker.kill()
        sender.produce("t", b"%db" % turn)
        sender.flush(SECONDS)
        place = TopicPartition("t", 0, turn)
        sender.send_offsets_to_transaction([place], reader.consumer_group_metadata(), SECONDS)
        broker.kill()
        assert broker.serving.command("XLEN t") == b":%d\r\n" % (2 * turn)
        if turn == 0:
            sender.commit_transaction(SECONDS)
        else:
            sender.abort_transaction(SECONDS)
    broker.kill()
    assert values(consumed(broker.bootstrap, "t", 2)) == [b"0a", b"0b"]
    (found,) = reader.committed([TopicPartition("t", 0)], SECONDS)
    assert found.offset == 0
    reader.close()


def test_a_large_commit_goes_on_after_a_kill_and_is_answered_then(broker: Broker) -> None:
    """More than one turn moves: the broker dies with a part of it in place."""
    sender = producer(broker.bootstrap, "mover", **RECONNECTING, **{"linger.ms": 5})
    sender.begin_transaction()
    for number in range(LARGE):
        sender.produce("t", b"%d" % number + b"x" * 1_000)
    assert sender.flush(SECONDS) == 0
    with ThreadPoolExecutor() as threads:
        commit = threads.submit(sender.commit_transaction, COPY_SECONDS)
        wait_until(lambda: broker.serving.command("XLEN t") != b":0\r\n")
        broker.kill()
        commit.result(COPY_SECONDS)
    assert broker.serving.command("XLEN t") == b":%d\r\n" % LARGE
    found = [int(value.rstrip(b"x")) for value in values(consumed(broker.bootstrap, "t", LARGE))]
    assert found == list(range(LARGE))


@contextmanager
def copier(bootstrap: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "tests.interop.kafka.copier", bootstrap, "source", "target"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("seed", [1, 2])
def test_a_topic_is_copied_exactly_once_while_the_copier_and_the_broker_are_killed(broker: Broker, seed: int) -> None:
    random = Random(seed)
    for name in ("source", "target"):
        assert broker.serving.command(f"MQ.TOPIC CREATE {name} PARTITIONS {PARTITIONS}").startswith(b"+OK")
    feeder = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True})
    for number in range(MESSAGES):
        feeder.produce("source", b"%d" % number, partition=number % PARTITIONS)
    assert feeder.flush(SECONDS) == 0
    for _ in range(KILLS):
        with copier(broker.bootstrap) as process:
            copied = sum(broker.lengths("target"))
            more = min(copied + random.randint(1, MESSAGES // KILLS), MESSAGES)
            if random.random() < 0.5:
                wait_until(lambda: sum(broker.lengths("target")) >= more)
                time.sleep(random.random() * 0.05)  # somewhere within a transaction
                broker.kill()
            wait_until(lambda: sum(broker.lengths("target")) >= more or process.poll() is not None)
            time.sleep(random.random() * 0.05)
    give_up = time.monotonic() + COPY_SECONDS
    while sum(broker.lengths("target")) < MESSAGES:
        with copier(broker.bootstrap) as process:
            wait_until(lambda: sum(broker.lengths("target")) >= MESSAGES or process.poll() is not None)
        assert time.monotonic() < give_up, "the copy does not come to its end"
    for number in range(PARTITIONS):
        expected = [b"%d" % each for each in range(number, MESSAGES, PARTITIONS)]
        assert values(consumed(broker.bootstrap, "target", len(expected), number=number)) == expected
