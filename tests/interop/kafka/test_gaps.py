"""Where there is nothing: every client gets across what was deleted, and what a restart took, and shows none of it."""

from collections.abc import Iterator

import pytest
import redis
from confluent_kafka import Consumer, TopicPartition

from tests.interop.kafka.clients import READERS, SECONDS
from tests.process import Serve

BODY = "x" * 100_000
LOST = 400
"""As many as take a client several fetches to get across."""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """With a stream of a message, much that was not persistent before a restart, and two more."""
    folder = tmp_path_factory.mktemp("gaps") / "data"
    with Serve(folder, kafka=True) as before:
        before.wait_until_serving()
        with redis.Redis(port=before.port) as client:
            client.execute_command("MQ.SEND", "lost", "first")
            for _ in range(LOST):
                client.execute_command("MQ.SEND", "lost", BODY, "TRANSIENT")
            client.execute_command("MQ.SEND", "lost", "last")
        before.kill()
    with Serve(folder, kafka=True) as serving:
        serving.wait_until_serving()
        yield serving


@pytest.mark.parametrize("reader", READERS)
def test_a_client_gets_across_what_a_restart_took(broker: Serve, reader: str) -> None:
    found = READERS[reader](f"127.0.0.1:{broker.kafka_port}", "lost", 2)
    assert [each.value for each in found] == [b"first", b"last"]


@pytest.mark.parametrize("reader", READERS)
def test_a_client_gets_across_what_was_deleted(bootstrap: str, kafka: Serve, topic: str, reader: str) -> None:
    with redis.Redis(port=kafka.port) as client:
        client.xadd(topic, {"body": "first"})
        ids = [client.xadd(topic, {"body": BODY}) for _ in range(LOST)]
        client.xadd(topic, {"body": "last"})
        client.xdel(topic, *ids)
    found = READERS[reader](bootstrap, topic, 2)
    assert [each.value for each in found] == [b"first", b"last"]


def test_a_client_is_at_the_end_when_the_rest_was_deleted(bootstrap: str, kafka: Serve, topic: str) -> None:
    """So that its lag is none."""
    with redis.Redis(port=kafka.port) as client:
        ids = [client.xadd(topic, {"body": number}) for number in range(10)]
        client.xdel(topic, *ids[4:])
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "enable.auto.commit": False})
    place = TopicPartition(topic, 0, 0)
    consumer.assign([place])
    assert len(consumer.consume(4, SECONDS)) == 4
    with redis.Redis(port=kafka.port) as client:
        client.xadd(topic, {"body": 10})
    (message,) = consumer.consume(1, SECONDS)
    assert message.error() is None
    assert message.offset() == 10
    consumer.close()
