"""What clients learn first, and what becomes of broken requests: OneMQ answers as a real Apache Kafka does."""

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest

from onemq.protocols.kafka.schemas.metadata import MetadataRequest
from tests.apache_kafka import ApacheKafka, missing
from tests.interop.kafka.raw import Raw
from tests.interop.kafka.test_beside_kafka import Both, new
from tests.interop.kafka.test_hostile import BROKEN
from tests.kafka_raw import call
from tests.process import Serve
from tests.unit.protocols.kafka.fakes import framed

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
    pytest.mark.xdist_group("apache-kafka"),
]

STRANGER = UUID(int=5)
PLACE = {"host", "port", "rack", "cluster_id"}
"""Where each of them is."""


@pytest.fixture(scope="module")
def both(kafka: Serve) -> Iterator[Both]:
    """OneMQ and Kafka with the same topics."""
    with ApacheKafka() as theirs:
        both = Both(kafka.kafka_port, theirs.port)
        both.ask("CreateTopics", 7, timeout_ms=20_000, validate_only=False, topics=[new("one"), new("two", 3)])
        yield both


def without(value: Any, names: set[str]) -> Any:
    if isinstance(value, dict):
        return {name: without(each, names) for name, each in value.items() if name not in names}
    return [without(each, names) for each in value] if isinstance(value, list) else value


def agree(both: Both, name: str, version: int, **fields: Any) -> Any:
    """The answer, which is the same but for where the brokers are."""
    ours, theirs = (without(each, PLACE) for each in both.ask(name, version, **fields))
    assert ours == theirs
    return ours


@pytest.mark.parametrize("version", range(14))
def test_topics_by_name(both: Both, version: int) -> None:
    names = ["one", "two", "nobody", "no such", ".", "x" * 250]
    wanted = [{"name": name} for name in names if version >= 4 or name != "nobody"]
    options = {"allow_auto_topic_creation": False} if version >= 4 else {}
    answer = agree(both, "Metadata", version, topics=wanted, **options)
    assert len(answer["topics"]) == len(wanted)


@pytest.mark.parametrize("version", [8, 10])
def test_what_everybody_may_do(both: Both, version: int) -> None:
    agree(
        both, "Metadata", version, topics=[{"name": "one"}], allow_auto_topic_creation=False,
        include_cluster_authorized_operations=True, include_topic_authorized_operations=True,
    )  # fmt: skip


@pytest.mark.parametrize("version", [12, 13])
def test_a_topic_id_that_is_nobodys(both: Both, version: int) -> None:
    asked = [{"topic_id": STRANGER, "name": None}]
    agree(both, "Metadata", version, topics=asked, allow_auto_topic_creation=False)


@pytest.mark.parametrize("version", range(7))
@pytest.mark.parametrize("kind", [0, 1, 9])
def test_the_coordinator(both: Both, version: int, kind: int) -> None:
    keys = {"coordinator_keys": ["a", "b"]} if version >= 4 else {"key": "a"}
    kinds = {"key_type": kind} if version >= 1 else {}
    give_up = time.monotonic() + 60
    while "error_code': 15" in str(both.ask("FindCoordinator", version, **keys, **kinds)[1]):
        assert time.monotonic() < give_up, "Apache Kafka has no coordinator"
        time.sleep(0.1)
    ours, theirs = (
        without(each, PLACE | {"error_message"}) for each in both.ask("FindCoordinator", version, **keys, **kinds)
    )
    assert ours == theirs


@pytest.mark.parametrize("version", range(3))
@pytest.mark.parametrize("kind", [1, 2, 7])
def test_the_cluster(both: Both, version: int, kind: int) -> None:
    kinds = {"endpoint_type": kind} if version >= 1 else {}
    ours, theirs = (
        without(each, PLACE | {"error_message"})
        for each in both.ask("DescribeCluster", version, include_cluster_authorized_operations=True, **kinds)
    )
    assert ours == theirs


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_topics_page_by_page(both: Both, limit: int) -> None:
    wanted = [{"name": name} for name in ("two", "one", "nobody")]
    cursor = None
    for _ in range(10):
        options = {"topics": wanted, "response_partition_limit": limit, "cursor": cursor}
        answer = agree(both, "DescribeTopicPartitions", 0, **options)
        cursor = answer["next_cursor"]
        if cursor is None:
            return
    pytest.fail("the pages have no end")


@pytest.mark.parametrize(("name", "partition"), [("zzz", 0), ("two", 2), ("two", 9), ("nobody", 1)])
def test_a_page_that_begins_anywhere(both: Both, name: str, partition: int) -> None:
    cursor = {"topic_name": name, "partition_index": partition}
    wanted = [{"name": each} for each in ("two", "one", "nobody")]
    agree(both, "DescribeTopicPartitions", 0, topics=wanted, response_partition_limit=5, cursor=cursor)


def test_the_same_old_versions_are_served(both: Both) -> None:
    ours, theirs = (
        {row["api_key"]: row["min_version"] for row in call(port, "ApiVersions", 2)["api_keys"]} for port in both.ports
    )
    assert ours == {key: theirs[key] for key in ours}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN.keys())
def test_broken_requests_end_the_connection(both: Both, data: bytes) -> None:
    request = MetadataRequest(topics=[])
    is_our_own_limit = data == BROKEN["a giant request that is no Produce"]
    for port in both.ports[: 1 if is_our_own_limit else 2]:
        with Raw(port) as client:
            client.send(framed(request, 9))
            assert client.answer(request, 9).controller_id == 1
            with suppress(ConnectionError):
                client.send(data)
            assert client.rest() == b""
