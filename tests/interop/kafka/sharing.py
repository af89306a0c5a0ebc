"""What the tests with share consumers share: consumers, messages and a look at the group from the other side."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import redis
from confluent_kafka import AcknowledgeType, Message, Producer, ShareConsumer

ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT
SECONDS_MAX = 60
POLL_SECONDS = 0.2

Row = dict[bytes, Any]


class Shared:
    """One group of one topic, worked on over all protocols."""

    def __init__(self, bootstrap: str, port: int, topic: str, group: str = "g") -> None:
        self.bootstrap = bootstrap
        self.redis = redis.Redis(port=port)
        self.topic = topic
        self.name = group

    def create(self, *settings: str, partitions: int = 1) -> "Shared":
        """Makes the topic, and the group with settings of its own, at the first message."""
        self.command("MQ.TOPIC", "CREATE", self.topic, "PARTITIONS", partitions)
        self.command("MQ.GROUP", "CREATE", self.topic, self.name, *settings)
        return self

    def command(self, *words: Any) -> Any:
        return self.redis.execute_command(*words)

    @contextmanager
    def consumer(self, explicit: bool = False, **settings: Any) -> Iterator[ShareConsumer]:
        """A consumer that is subscribed to the topic; settings have underlines for dots."""
        named = {name.replace("_", "."): value for name, value in settings.items()}
        mode = "explicit" if explicit else "implicit"
        basic = {"bootstrap.servers": self.bootstrap, "group.id": self.name, "share.acknowledgement.mode": mode}
        basic |= {"fetch.wait.max.ms": 100, "log_level": 0}
        consumer = ShareConsumer(basic | named)
        consumer.subscribe([self.topic])
        try:
            yield consumer
        finally:
            consumer.close()

    def produce(self, *bodies: bytes, partition: int = 0, **settings: Any) -> None:
        """With Kafka's producer; settings have underlines for dots."""
        named = {name.replace("_", "."): value for name, value in settings.items()}
        producer = Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 5} | named)
        for body in bodies:
            producer.produce(self.topic, body, partition=partition)
        assert producer.flush(SECONDS_MAX) == 0

    def info(self) -> Row:
        found: Row = self.command("MQ.GROUP", "INFO", self.topic, self.name)
        return found

    def lag(self) -> tuple[int, int]:
        """(messages not acknowledged, those of them that someone has)"""
        info = self.info()
        return info[b"lag"], info[b"in_flight"]

    def dead(self) -> list[tuple[bytes, bytes, int]]:
        """(body, reason, deliveries) of the dead letters."""
        rows = self.command("MQ.DEAD", "LIST", self.topic, "GROUP", self.name)
        return [(row[b"body"], row[b"dead"][b"reason"], row[b"dead"][b"deliveries"]) for row in rows]


def wait_until(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + SECONDS_MAX
    while not condition():
        assert time.monotonic() < give_up, "it did not happen in time"
        time.sleep(0.01)


def poll(consumer: ShareConsumer, count: int, acknowledge: AcknowledgeType | None = None) -> list[Message]:
    """The next so many messages; acknowledged one by one where that is asked for."""
    got: list[Message] = []
    give_up = time.monotonic() + SECONDS_MAX
    while len(got) < count:
        assert time.monotonic() < give_up, f"only {len(got)} of {count} messages came"
        for message in consumer.poll(POLL_SECONDS):
            assert message.error() is None, message.error()
            got.append(message)
            if acknowledge is not None:
                consumer.acknowledge(message, acknowledge)
    return got


def facts(messages: list[Message]) -> list[tuple[bytes | None, int]]:
    """(body, how often it was handed out) of each."""
    return [(message.value(), message.delivery_count()) for message in messages]


def bodies(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count)]
