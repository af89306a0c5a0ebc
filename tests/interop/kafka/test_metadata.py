"""What clients learn first: which versions, brokers and topics there are."""

import asyncio
import subprocess
from typing import Any

from aiokafka.client import AIOKafkaClient
from confluent_kafka.admin import AdminClient
from kafka import KafkaConsumer


def described(bootstrap: str, **options: Any) -> Any:
    return AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=10, **options)


def test_confluent_kafka_makes_a_topic_by_asking_for_it(bootstrap: str, topic: str) -> None:
    asked = described(bootstrap, topic=topic)
    assert (asked.controller_id, len(asked.cluster_id)) == (1, 22)
    assert [f"{broker.host}:{broker.port}" for broker in asked.brokers.values()] == [bootstrap]
    assert list(asked.topics[topic].partitions) == [0]
    partition = described(bootstrap).topics[topic].partitions[0]
    assert (partition.leader, partition.replicas, partition.isrs) == (1, [1], [1])


def test_confluent_kafka_is_told_of_a_name_that_cannot_be(bootstrap: str) -> None:
    assert described(bootstrap, topic="no such").topics["no such"].error.name() == "TOPIC_EXCEPTION"


def test_kafka_python_lists_topics(bootstrap: str, topic: str) -> None:
    described(bootstrap, topic=topic)
    consumer = KafkaConsumer(bootstrap_servers=bootstrap)
    try:
        assert topic in consumer.topics()
        assert consumer.partitions_for_topic(topic) == {0}
    finally:
        consumer.close()


def test_aiokafka_lists_topics(bootstrap: str, topic: str) -> None:
    async def listed() -> Any:
        client = AIOKafkaClient(bootstrap_servers=bootstrap)
        await client.bootstrap()
        try:
            return await client.fetch_all_metadata()
        finally:
            await client.close()

    described(bootstrap, topic=topic)
    cluster = asyncio.run(listed())
    assert cluster.partitions_for_topic(topic) == {0}
    assert [f"{broker.host}:{broker.port}" for broker in cluster.brokers()] == [bootstrap]


def test_kcat_lists_topics(bootstrap: str, topic: str) -> None:
    described(bootstrap, topic=topic)
    listed = subprocess.run(["kcat", "-b", bootstrap, "-L"], capture_output=True, text=True, timeout=30, check=True)
    assert f"broker 1 at {bootstrap} (controller)" in listed.stdout
    assert f'topic "{topic}" with 1 partitions:\n    partition 0, leader 1, replicas: 1, isrs: 1' in listed.stdout
