"""Topics and settings with the admin clients of confluent-kafka, kafka-python and aiokafka."""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin import NewPartitions as AioPartitions
from aiokafka.admin import NewTopic as AioTopic
from aiokafka.admin.config_resource import ConfigResource as AioResource
from aiokafka.admin.config_resource import ConfigResourceType as AioType
from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource as PythonResource
from kafka.admin import ConfigResourceType as PythonType
from kafka.errors import TopicAlreadyExistsError

from tests.process import Serve


@pytest.fixture(scope="module")
def confluent(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap})


@pytest.fixture(scope="module")
def kafka_python(bootstrap: str) -> Iterator[KafkaAdminClient]:
    client = KafkaAdminClient(bootstrap_servers=bootstrap)
    yield client
    client.close()


def result(futures: dict[Any, Any]) -> Any:
    """What became of the one thing that was asked for."""
    (future,) = futures.values()
    return future.result(timeout=60)


def test_confluent_makes_changes_and_deletes_a_topic(confluent: AdminClient, kafka: Serve, topic: str) -> None:
    settings = {"cleanup.policy": "compact", "flush.messages": "7"}
    result(confluent.create_topics([NewTopic(topic, 3, 1, config=settings)]))
    with pytest.raises(KafkaException, match="already exists"):
        result(confluent.create_topics([NewTopic(topic, 3, 1)]))
    assert b"compact" in kafka.command(f"MQ.TOPIC INFO {topic}")
    result(confluent.create_partitions([NewPartitions(topic, 5)]))
    assert len(confluent.list_topics(topic, timeout=60).topics[topic].partitions) == 5
    result(confluent.delete_topics([topic]))
    with pytest.raises(KafkaException, match="UNKNOWN_TOPIC_OR_PART"):
        result(confluent.delete_topics([topic]))


def test_confluent_reads_and_changes_settings(confluent: AdminClient, topic: str) -> None:
    result(confluent.create_topics([NewTopic(topic, 1, 1)]))
    change = ConfigEntry("retention.ms", "60000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[change])
    result(confluent.incremental_alter_configs([resource]))
    told = result(confluent.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]))
    assert (told["retention.ms"].value, told["retention.ms"].is_default) == ("60000", False)
    assert told["max.message.bytes"].is_default
    with pytest.raises(KafkaException, match="Unknown topic config name: foo"):
        wrong = ConfigEntry("foo", "1", incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[wrong])
        result(confluent.incremental_alter_configs([resource]))
    broker = result(confluent.describe_configs([ConfigResource(ResourceType.BROKER, "1")]))
    assert broker["num.partitions"].value == "1"


def test_kafka_python_makes_changes_and_deletes_a_topic(
    kafka_python: KafkaAdminClient, kafka: Serve, topic: str
) -> None:
    settings = {"retention.ms": "60000", "onemq.kind": "queue"}
    kafka_python.create_topics({topic: {"num_partitions": 2, "replication_factor": 1, "configs": settings}})
    assert b"queue" in kafka.command(f"MQ.TOPIC INFO {topic}")
    with pytest.raises(TopicAlreadyExistsError):
        kafka_python.create_topics({topic: {"num_partitions": 2, "replication_factor": 1}})
    kafka_python.create_partitions({topic: 3})
    (described,) = kafka_python.describe_topics([topic])
    assert len(described["partitions"]) == 3
    kafka_python.delete_topics([topic])
    assert topic not in kafka_python.list_topics()


def test_kafka_python_reads_and_changes_settings(kafka_python: KafkaAdminClient, topic: str) -> None:
    kafka_python.create_topics({topic: {"num_partitions": 1, "replication_factor": 1}})
    kafka_python.alter_configs([PythonResource(PythonType.TOPIC, topic, {"segment.bytes": "1048576"})])
    told = kafka_python.describe_configs([PythonResource(PythonType.TOPIC, topic)])
    assert "1048576" in str(told)
    refused = kafka_python.alter_configs([PythonResource(PythonType.TOPIC, topic, {"segment.bytes": "1"})])
    assert "Value must be at least 1048576" in str(refused)
    assert topic in str(kafka_python.describe_log_dirs())


def test_aiokafka_makes_changes_and_deletes_a_topic(bootstrap: str, topic: str) -> None:
    async def work() -> None:
        client = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
        await client.start()
        try:
            made = await client.create_topics([AioTopic(topic, 2, 1, topic_configs={"retention.ms": "60000"})])
            assert [each[1] for each in made.topic_errors] == [0]
            await client.create_partitions({topic: AioPartitions(total_count=4)})
            (described,) = await client.describe_topics([topic])
            assert len(described["partitions"]) == 4
            await client.alter_configs([AioResource(AioType.TOPIC, topic, {"retention.ms": "70000"})])
            (told,) = await client.describe_configs([AioResource(AioType.TOPIC, topic)])
            assert "70000" in str(told.resources)
            await client.delete_topics([topic])
            assert topic not in await client.list_topics()
        finally:
            await client.close()

    asyncio.run(work())


def test_settings_survive_a_restart(tmp_path: Any) -> None:
    for expected in (None, "12345"):
        with Serve(tmp_path / "data", kafka=True) as broker:
            broker.wait_until_serving()
            client = AdminClient({"bootstrap.servers": f"127.0.0.1:{broker.kafka_port}"})
            if expected is None:
                settings = {"retention.ms": "12345", "compression.type": "lz4"}
                result(client.create_topics([NewTopic("kept", 2, 1, config=settings)]))
                broker.kill()
                continue
            told = result(client.describe_configs([ConfigResource(ResourceType.TOPIC, "kept")]))
            assert (told["retention.ms"].value, told["compression.type"].value) == (expected, "lz4")


def test_a_consumer_learns_of_a_deleted_topic(confluent: AdminClient, topic: str) -> None:
    result(confluent.create_topics([NewTopic(topic, 1, 1)]))
    result(confluent.delete_topics([topic]))
    give_up = time.monotonic() + 60
    while topic in confluent.list_topics(timeout=60).topics:
        assert time.monotonic() < give_up
