"""Clients that mean harm or know no better: a closed connection, memory flat, others undisturbed."""

from collections.abc import Iterator
from contextlib import suppress
from struct import pack

import pytest

from onemq.protocols.kafka.schemas.api_versions import ApiVersionsRequest
from onemq.protocols.kafka.schemas.metadata import MetadataRequest, MetadataRequestTopic
from tests.crowd import resident_bytes
from tests.interop.kafka.raw import Raw
from tests.process import Serve
from tests.unit.protocols.kafka.batches import fetch_request, produce_request, sealed
from tests.unit.protocols.kafka.fakes import framed

MIB = 1 << 20
LIST = MetadataRequest(topics=[])


@pytest.fixture(autouse=True)
def _others_are_undisturbed(kafka: Serve) -> Iterator[None]:
    """Another client, connected all the time, is answered in the end; so is a new one."""
    with Raw(kafka.kafka_port) as other:
        assert other.ask(LIST).controller_id == 1
        yield
        assert other.ask(LIST).controller_id == 1
    with Raw(kafka.kafka_port) as another:
        assert another.ask(ApiVersionsRequest()).error_code == 0


BROKEN = {
    "no size": pack(">ih", 0, 3),
    "a negative size": pack(">ih", -1, 3),
    "a giant size": pack(">ih", 0x7FFFFFFF, 3),
    "a giant request that is no Produce": pack(">ih", 64 * MIB, 1),
    "an unknown API": pack(">ihhih", 10, 999, 0, 1, -1),
    "an unknown version": pack(">ihhih", 10, 3, 99, 1, -1),
    "a header that is cut off": pack(">ihhih", 10, 3, 9, 1, 5),
    "a body that is cut off": pack(">ihhihb", 11, 3, 9, 1, -1, 0),
    "a list of two thousand million": pack(">ihhihi", 14, 3, 1, 1, -1, 0x7FFFFFFF),
    "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "TLS": bytes.fromhex("16030102000100"),
    "Redis": b"*1\r\n$4\r\nPING\r\n",
    "noise": bytes(range(255, 0, -1)),
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN.keys())
def test_broken_requests_end_the_connection_after_those_before_them(kafka: Serve, data: bytes) -> None:
    with Raw(kafka.kafka_port) as client:
        client.send(framed(LIST, 9) + data)
        assert client.answer(LIST, 9).controller_id == 1
        assert client.rest() == b""


def test_a_request_that_never_ends_holds_nobody_up(kafka: Serve) -> None:
    whole = framed(LIST, 9)
    with Raw(kafka.kafka_port) as client:
        client.send(whole[:7])
        with Raw(kafka.kafka_port) as other:
            assert other.ask(LIST)
        client.send(whole[7:])
        assert client.answer(LIST, 9).controller_id == 1


def test_a_client_that_sends_and_never_reads_costs_little_memory(kafka: Serve, topic: str) -> None:
    """Its answers would take more than a GiB."""
    kafka.command(f"MQ.TOPIC CREATE {topic} PARTITIONS 5000")
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
    before = resident_bytes(kafka.pid)
    with Raw(kafka.kafka_port, receive_bytes=4096) as client:
        client.socket.settimeout(0.5)
        with suppress(TimeoutError):
            client.send(framed(request, 9) * 10_000)
        with Raw(kafka.kafka_port) as other:
            assert other.ask(LIST)
        assert resident_bytes(kafka.pid) - before < 64 * MIB


def test_a_client_that_fetches_and_never_reads_costs_little_memory(kafka: Serve, topic: str) -> None:
    with Raw(kafka.kafka_port) as producer:
        batch = sealed(*[bytes(1000)] * 1000)
        producer.ask(MetadataRequest(topics=[MetadataRequestTopic(name=topic)]))
        for _ in range(8):
            assert producer.ask(produce_request(topic, batch), 9).responses[0].partition_responses[0].error_code == 0
    before = resident_bytes(kafka.pid)
    with Raw(kafka.kafka_port, receive_bytes=4096) as client:
        client.send(framed(fetch_request(topic, 0, partition_max_bytes=8 * MIB), 11) * 200)
        with Raw(kafka.kafka_port) as other:
            assert other.ask(LIST)
        assert resident_bytes(kafka.pid) - before < 64 * MIB


def test_a_large_request_in_small_pieces_is_stored(kafka: Serve, topic: str) -> None:
    bodies = [bytes(3_000_000)] * 6
    with Raw(kafka.kafka_port) as client:
        partitions = 6
        kafka.command(f"MQ.TOPIC CREATE {topic} PARTITIONS {partitions}")
        data = framed(produce_request(topic, *[sealed(body) for body in bodies]), 9)
        for at in range(0, len(data), 50_000):
            client.send(data[at : at + 50_000])
        answer = client.answer(produce_request(topic), 9)
        assert [each.error_code for each in answer.responses[0].partition_responses] == [0] * partitions
