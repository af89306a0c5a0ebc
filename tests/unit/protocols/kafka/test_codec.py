"""Every message of every version: written and read again it is the same, and nothing but itself is read as it."""

from random import Random
from typing import Any

import msgspec
import pytest

from onemq.errors import ProtocolError
from onemq.limits import KAFKA_LIST_ELEMENTS_MAX
from onemq.protocols.kafka.codec import decode
from onemq.protocols.kafka.fields import fields_in
from onemq.protocols.kafka.schema import Message, Struct
from onemq.protocols.kafka.schemas.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from onemq.protocols.kafka.schemas.metadata import MetadataRequest, MetadataRequestTopic
from onemq.protocols.kafka.schemas.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.unit.protocols.kafka.samples import all_messages, packed, sample

MESSAGES = all_messages()
PRODUCE = ProduceRequest(
    acks=-1,
    timeout_ms=1000,
    topic_data=[TopicProduceData(name="t", partition_data=[PartitionProduceData(index=1, records=b"batch")])],
)


def values_of(message: Any) -> Any:
    return msgspec.to_builtins(message)


@pytest.mark.parametrize("kind", MESSAGES, ids=lambda kind: kind.__name__)
def test_what_is_written_is_read_again(kind: type[Message]) -> None:
    random = Random(kind.__name__)
    for version in kind.versions:
        for message in (kind(), *(sample(random, kind, version) for _ in range(4))):
            data = packed(message, version)
            found = decode(kind, version, b"before" + data, 6)
            assert values_of(found) == values_of(message)
            assert packed(found, version) == data


@pytest.mark.parametrize("kind", MESSAGES, ids=lambda kind: kind.__name__)
def test_what_is_cut_off_is_refused(kind: type[Message]) -> None:
    random = Random(kind.__name__)
    for version in kind.versions:
        data = packed(sample(random, kind, version), version)
        for end in {0, len(data) - 1, *(random.randrange(len(data)) for _ in range(5))} if data else ():
            with pytest.raises(ProtocolError):
                decode(kind, version, data[:end])


def test_the_bytes_are_those_of_the_protocol() -> None:
    assert packed(PRODUCE, 3).hex(" ") == (
        "ff ff ff ff 00 00 03 e8 00 00 00 01 00 01 74 00 00 00 01 00 00 00 01 00 00 00 05 62 61 74 63 68"
    )
    assert packed(PRODUCE, 9).hex(" ") == "00 ff ff 00 00 03 e8 02 02 74 02 00 00 00 01 06 62 61 74 63 68 00 00 00"
    metadata = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
    assert packed(metadata, 0).hex(" ") == "00 00 00 01 00 01 74"
    assert packed(metadata, 9).hex(" ") == "02 02 74 00 01 00 00 00"


def test_records_are_a_view_of_the_request() -> None:
    data = packed(PRODUCE, 9)
    records = decode(ProduceRequest, 9, data).topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    assert records.obj is data
    assert records == b"batch"


def test_records_are_written_as_they_are() -> None:
    records = memoryview(b"x" * 1000)
    response = FetchResponse(responses=[FetchableTopicResponse(partitions=[PartitionData(records=records)])])
    assert packed(response, 12).count(b"x" * 1000) == 1


def test_unknown_tagged_fields_are_passed_over() -> None:
    data = packed(PRODUCE, 9)
    assert data.endswith(b"\0")
    assert values_of(decode(ProduceRequest, 9, data[:-1] + b"\x02\x63\x03abc\x64\x00")) == values_of(PRODUCE)


@pytest.mark.parametrize(
    ("version", "data"),
    [
        (3, b"\xff\xff\0\0\0\0\0\0\xff\xff\xff\xff"),  # no null here
        (3, b"\xff\xff\0\0\0\0\0\0\xff\xff\xff\xfe"),  # nobody has so few
        (3, b"\xff\xfe\0\0\0\0\0\0\0\0\0\0"),
        (3, b"\xff\xff\0\0\0\0\0\0\x7f\xff\xff\xff"),
        (3, b"\0\x02\xff\xff\0\0\0\0\0\0\0\0\0\0"),  # not UTF-8
        (9, b"\0\0\0\0\0\0\0\xff\xff\xff\xff\x0f"),
        (9, b"\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff"),
        (9, b"\0\0\0\0\0\0\0\x00\0"),
        (9, b"\0\0\0\0\0\0\0\x01\xff\xff\xff\xff\x0f"),  # tags without end
    ],
)
def test_what_makes_no_sense_is_refused(version: int, data: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode(ProduceRequest, version, data)


def test_every_element_of_a_list_takes_room() -> None:
    """Else a few bytes could announce a list that fills the memory."""
    for kind in MESSAGES:
        for version in kind.versions if kind.__name__.endswith("Request") else ():
            if version < kind.flexible_since:
                assert_elements_take_room(kind, version)


def assert_elements_take_room(structure: type[Struct], version: int) -> None:
    for field in fields_in(structure, version):
        if isinstance(field.kind, type) and issubclass(field.kind, Struct):
            assert fields_in(field.kind, version) or not field.is_list, f"{structure.__name__}.{field.name} {version}"
            assert_elements_take_room(field.kind, version)


def test_a_list_has_no_more_elements_than_it_may() -> None:
    """Three bytes on the way are a hundred in memory."""
    topics = [MetadataRequestTopic(name="t")] * KAFKA_LIST_ELEMENTS_MAX
    decode(MetadataRequest, 9, packed(MetadataRequest(topics=topics), 9))
    with pytest.raises(ProtocolError, match="100,000 elements at most"):
        decode(MetadataRequest, 9, packed(MetadataRequest(topics=[*topics, topics[0]]), 9))
