"""Metadata: brokers and topics, by name and by id, in old and new versions."""

from base64 import urlsafe_b64encode

import pytest

from onemq.protocols.kafka.errors import ErrorCode
from onemq.protocols.kafka.schemas.metadata import MetadataRequest, MetadataRequestTopic
from onemq.protocols.kafka.service import KafkaFacts, KafkaService
from tests.unit.protocols.kafka.fakes import Client, make_core, make_service


def wanted(*names: str) -> list[MetadataRequestTopic]:
    return [MetadataRequestTopic(name=name) for name in names]


def test_the_one_broker_is_where_the_client_came_to() -> None:
    answer = Client().ask(MetadataRequest(topics=[]))
    assert [(each.node_id, each.host, each.port) for each in answer.brokers] == [(1, "10.0.0.9", 9092)]
    assert answer.controller_id == 1
    assert len(answer.cluster_id) == 22


def test_or_where_the_settings_say() -> None:
    client = Client(make_service(advertise=("broker.example", 19092)))
    (broker,) = client.ask(MetadataRequest(topics=[])).brokers
    assert (broker.host, broker.port) == ("broker.example", 19092)


@pytest.mark.parametrize("version", MetadataRequest.versions)
def test_a_topic_is_made_when_it_is_asked_for(version: int) -> None:
    client = Client(make_service(partitions=3))
    (topic,) = client.ask(MetadataRequest(topics=wanted("new")), version).topics
    assert (topic.error_code, topic.name) == (0, "new")
    assert [(each.partition_index, each.leader_id) for each in topic.partitions] == [(0, 1), (1, 1), (2, 1)]
    assert len(client.core.topics.get("new").partitions) == 3


def test_unless_the_client_or_the_settings_forbid_it() -> None:
    client = Client()
    (topic,) = client.ask(MetadataRequest(topics=wanted("new"), allow_auto_topic_creation=False)).topics
    assert topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    client = Client(make_service(auto_create=False))
    (topic,) = client.ask(MetadataRequest(topics=wanted("new"))).topics
    assert topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert client.core.topics.find("new") is None


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "x" * 250, "__schedule", "grün"])
def test_some_names_cannot_be_given(name: str) -> None:
    (topic,) = Client().ask(MetadataRequest(topics=wanted(name))).topics
    assert (topic.error_code, topic.name) == (ErrorCode.INVALID_TOPIC_EXCEPTION, name)


def test_a_topic_of_another_protocol_has_any_name() -> None:
    client = Client()
    client.core.topics.create("orders:größe 1")
    (topic,) = client.ask(MetadataRequest(topics=wanted("orders:größe 1"))).topics
    assert topic.error_code == 0


def test_a_key_of_the_same_name_is_not_hidden() -> None:
    client = Client()
    client.core.keys.strings.set(b"taken", b"value")
    (topic,) = client.ask(MetadataRequest(topics=wanted("taken"))).topics
    assert topic.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_all_topics_are_listed_but_those_of_the_broker_itself() -> None:
    client = Client()
    client.core.topics.create("b")
    client.core.topics.create("a")
    client.core.topics.ensure_internal("__schedule")
    assert [topic.name for topic in client.ask(MetadataRequest(topics=None)).topics] == ["a", "b"]
    assert [topic.name for topic in client.ask(MetadataRequest(topics=[]), 0).topics] == ["a", "b"]
    assert client.ask(MetadataRequest(topics=[]), 1).topics == []


def test_a_topic_is_found_by_its_id_whatever_it_is_called() -> None:
    client = Client()
    (named,) = client.ask(MetadataRequest(topics=wanted("a"))).topics
    client.core.topics.rename(client.core.topics.get("a"), "b")
    (found,) = client.ask(MetadataRequest(topics=[MetadataRequestTopic(topic_id=named.topic_id, name=None)])).topics
    assert (found.name, found.error_code) == ("b", 0)


@pytest.mark.parametrize("version", [10, 12, 13])
def test_an_unknown_id_is_told_so(version: int) -> None:
    client = Client()
    (named,) = client.ask(MetadataRequest(topics=wanted("a"))).topics
    client.core.topics.delete("a")
    for topic_id in (named.topic_id, b"x" * 16):
        request = MetadataRequest(topics=[MetadataRequestTopic(topic_id=topic_id, name=None)])
        (found,) = client.ask(request, version).topics
        assert (found.error_code, found.topic_id) == (ErrorCode.UNKNOWN_TOPIC_ID, topic_id)


def test_everything_is_allowed_to_everybody() -> None:
    request = MetadataRequest(
        topics=wanted("a"), include_cluster_authorized_operations=True, include_topic_authorized_operations=True
    )
    answer = Client().ask(request, 10)
    assert (answer.cluster_authorized_operations, answer.topics[0].topic_authorized_operations) == (8096, 3576)


def test_no_id_begins_with_a_dash() -> None:
    """Kafka's own tools would take it for an option."""
    for number in range(256):
        service = KafkaService(make_core(), KafkaFacts(bytes([number]) * 16))
        topic = service.core.topics.create("a")
        assert not service.cluster_id.startswith("-")
        assert not urlsafe_b64encode(service.topics.id_of(topic)).startswith(b"-")


def test_a_topic_that_is_named_many_times_is_told_once() -> None:
    client = Client()
    client.core.topics.create("many", 1_000)
    (topic,) = client.ask(MetadataRequest(topics=wanted(*["many"] * 50_000))).topics
    assert len(topic.partitions) == 1_000
