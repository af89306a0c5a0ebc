"""FindCoordinator, DescribeCluster, DescribeTopicPartitions: one broker is all there is."""

import pytest

from onemq.protocols.kafka.errors import ErrorCode
from onemq.protocols.kafka.schemas.describe_cluster import DescribeClusterRequest
from onemq.protocols.kafka.schemas.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from onemq.protocols.kafka.schemas.find_coordinator import FindCoordinatorRequest
from tests.unit.protocols.kafka.fakes import Client


@pytest.mark.parametrize("version", range(4))
def test_the_coordinator_is_here(version: int) -> None:
    answer = Client().ask(FindCoordinatorRequest(key="group"), version)
    assert (answer.error_code, answer.node_id, answer.host, answer.port) == (0, 1, "10.0.0.9", 9092)


@pytest.mark.parametrize("version", range(4, 7))
def test_and_so_are_all_others(version: int) -> None:
    answer = Client().ask(FindCoordinatorRequest(key_type=1, coordinator_keys=["a", "b"]), version)
    found = [(each.key, each.error_code, each.node_id, each.host, each.port) for each in answer.coordinators]
    assert found == [("a", 0, 1, "10.0.0.9", 9092), ("b", 0, 1, "10.0.0.9", 9092)]


def test_an_unknown_type_of_key_is_refused() -> None:
    client = Client()
    assert client.ask(FindCoordinatorRequest(key="a", key_type=9), 3).error_code == ErrorCode.INVALID_REQUEST
    (found,) = client.ask(FindCoordinatorRequest(coordinator_keys=["a"], key_type=9)).coordinators
    assert (found.key, found.error_code) == ("a", ErrorCode.INVALID_REQUEST)


@pytest.mark.parametrize("version", DescribeClusterRequest.versions)
def test_the_cluster_is_one_broker(version: int) -> None:
    answer = Client().ask(DescribeClusterRequest(), version)
    assert (answer.controller_id, len(answer.cluster_id)) == (1, 22)
    assert [(each.broker_id, each.host, each.port) for each in answer.brokers] == [(1, "10.0.0.9", 9092)]


def test_there_are_no_controllers_to_describe() -> None:
    client = Client()
    assert client.ask(DescribeClusterRequest(endpoint_type=2)).error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE
    assert client.ask(DescribeClusterRequest(endpoint_type=7)).error_code == ErrorCode.UNSUPPORTED_ENDPOINT_TYPE


def pages(answer: DescribeTopicPartitionsResponse) -> list[tuple[str | None, int, list[int]]]:
    return [
        (topic.name, topic.error_code, [each.partition_index for each in topic.partitions]) for topic in answer.topics
    ]


def test_topics_are_told_page_by_page() -> None:
    client = Client()
    for name, partitions in (("b", 3), ("a", 2), ("c", 1)):
        client.core.topics.create(name, partitions)
    told, cursor = [], None
    for _ in range(3):
        answer = client.ask(DescribeTopicPartitionsRequest(response_partition_limit=2, cursor=cursor))
        told.append(pages(answer))
        cursor = answer.next_cursor
    assert told == [[("a", 0, [0, 1])], [("b", 0, [0, 1])], [("b", 0, [2]), ("c", 0, [0])]]
    assert cursor is None


def test_only_what_was_asked_for_is_told_and_nothing_is_made() -> None:
    client = Client()
    client.core.topics.create("a")
    wanted = [TopicRequest(name) for name in ("new", "a", "a")]
    answer = client.ask(DescribeTopicPartitionsRequest(topics=wanted))
    assert pages(answer) == [("a", 0, [0]), ("new", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, [])]
    assert client.core.topics.find("new") is None


@pytest.mark.parametrize("cursor", [Cursor("b", 0), Cursor("a", -5)])
def test_a_page_that_begins_elsewhere_is_refused(cursor: Cursor) -> None:
    client = Client()
    client.core.topics.create("a")
    answer = client.ask(DescribeTopicPartitionsRequest(topics=[TopicRequest("a"), TopicRequest("c")], cursor=cursor))
    assert pages(answer) == [("a", ErrorCode.INVALID_REQUEST, []), ("c", ErrorCode.INVALID_REQUEST, [])]


def test_pages_of_all_topics_go_on_when_a_topic_is_gone() -> None:
    client = Client()
    for name in ("a", "c"):
        client.core.topics.create(name)
    assert pages(client.ask(DescribeTopicPartitionsRequest(cursor=Cursor("b", 3)))) == [("c", 0, [0])]
