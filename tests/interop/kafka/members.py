"""What the tests of groups share: consumers that are quick to join and to leave, and ways to wait for them."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

from tests.process import Serve

WAIT_SECONDS_MAX = 30
QUICK = {
    "session.timeout.ms": 10_000,
    "heartbeat.interval.ms": 100,
    "fetch.wait.max.ms": 50,
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
}


def consumer(bootstrap: str, group: str, **settings: Any) -> Consumer:
    """Words of settings are joined by underscores here."""
    changed = {name.replace("_", "."): value for name, value in settings.items()}
    return Consumer({"bootstrap.servers": bootstrap, "group.id": group} | QUICK | changed)


def make_topic(kafka: Serve, topic: str, partitions: int) -> None:
    assert kafka.command(f"MQ.TOPIC CREATE {topic} PARTITIONS {partitions}") == b"+OK\r\n"


def fill(bootstrap: str, topic: str, partitions: int, each: int) -> set[bytes]:
    """Sends so many messages to each partition; returns their bodies."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 1})
    bodies = {(number, b"%d-%d" % (number, place)) for place in range(each) for number in range(partitions)}
    for number, body in sorted(bodies):
        producer.produce(topic, body, partition=number)
    assert producer.flush(WAIT_SECONDS_MAX) == 0
    return {body for _, body in bodies}


class Members:
    """Consumers that are polled together; every message is noted with who got it."""

    def __init__(self, *consumers: Consumer) -> None:
        self.consumers = list(consumers)
        self.got: list[tuple[Consumer, Message]] = []

    def poll_until(self, condition: Callable[[], bool]) -> None:
        give_up = time.monotonic() + WAIT_SECONDS_MAX
        while not condition():
            assert time.monotonic() < give_up, "it does not happen"
            for each in self.consumers:
                message = each.poll(0.01)
                if message is not None:
                    assert message.error() is None, message.error()
                    self.got.append((each, message))

    def wait_for_shares(self, *sizes: int) -> None:
        """Until they have so many partitions, whoever has how many."""
        self.poll_until(lambda: sorted(len(each.assignment()) for each in self.consumers) == sorted(sizes))

    def wait_for(self, bodies: set[bytes]) -> None:
        self.poll_until(lambda: self.bodies >= bodies)

    @property
    def bodies(self) -> set[bytes]:
        return {message.value() or b"" for _, message in self.got}

    def shares(self) -> list[set[int]]:
        return [{each.partition for each in member.assignment()} for member in self.consumers]

    def commit(self) -> None:
        """What the first one has got, as soon as it is a member."""
        done: list[object] = []

        def try_it() -> bool:
            with suppress(KafkaException):
                done.append(self.consumers[0].commit(asynchronous=False))
            return bool(done)

        self.poll_until(try_it)

    def close(self) -> None:
        for each in self.consumers:
            each.close()


def places(topic: str, numbers: Sequence[int]) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in numbers]


PYTHON_QUICK = {
    "session_timeout_ms": 10_000,
    "heartbeat_interval_ms": 100,
    "fetch_max_wait_ms": 50,
    "retry_backoff_ms": 20,
    "auto_offset_reset": "earliest",
    "enable_auto_commit": False,
}
"""The settings of kafka-python and aiokafka."""


_CONFLUENT = """
import sys
from tests.interop.kafka.members import consumer
bootstrap, group, topic, *settings = sys.argv[1:]
member = consumer(bootstrap, group, **dict(each.split("=") for each in settings))
member.subscribe([topic])
told = None
while True:
    member.poll(0.01)
    share = sorted(each.partition for each in member.assignment())
    if share != told:
        told = share
        print(share, flush=True)
"""
_KAFKA_PYTHON = """
import sys
from kafka import KafkaConsumer
from tests.interop.kafka.members import PYTHON_QUICK
bootstrap, group, topic, *settings = sys.argv[1:]
changed = {name: int(value) for name, value in (each.split("=") for each in settings)}
member = KafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=group, **(PYTHON_QUICK | changed))
told = None
while True:
    member.poll(timeout_ms=300)
    share = sorted(each.partition for each in member.assignment())
    if share != told:
        told = share
        print(share, flush=True)
"""
_AIOKAFKA = """
import asyncio
import sys
from aiokafka import AIOKafkaConsumer
from tests.interop.kafka.members import PYTHON_QUICK
bootstrap, group, topic, *settings = sys.argv[1:]
changed = {name: int(value) for name, value in (each.split("=") for each in settings)}

async def run():
    member = AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=group, **(PYTHON_QUICK | changed))
    await member.start()
    told = None
    while True:
        await member.getmany(timeout_ms=20)
        share = sorted(each.partition for each in member.assignment())
        if share != told:
            told = share
            print(share, flush=True)

asyncio.run(run())
"""
_PROGRAMS = {"confluent-kafka": _CONFLUENT, "kafka-python": _KAFKA_PYTHON, "aiokafka": _AIOKAFKA}


class MemberProcess:
    """A member in a process of its own, which can be killed."""

    def __init__(
        self, bootstrap: str, group: str, topic: str, client: str = "confluent-kafka", **settings: Any
    ) -> None:
        words = [f"{name}={value}" for name, value in settings.items()]
        command = [sys.executable, "-c", _PROGRAMS[client], bootstrap, group, topic, *words]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def wait_for_share(self) -> None:
        """Until it has partitions."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.strip() not in ("", "[]"):
                return
        raise AssertionError("the member ended")

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
