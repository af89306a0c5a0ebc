"""Batches as Kafka's producers seal them."""

from collections.abc import Sequence
from struct import pack_into

from crc32c import crc32c

from onemq.log.batch import HEADER_BYTES, read_header, walk
from onemq.log.batch_builder import BatchBuilder
from onemq.log.records import decode, encode_headers
from onemq.message import Headers, Record
from onemq.protocols.kafka.schemas.fetch import FetchPartition, FetchRequest, FetchTopic
from onemq.protocols.kafka.schemas.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.unit.protocols.kafka.fakes import NOW_MS

NO_PRODUCER = (-1, -1, -1)


def sealed(
    *bodies: bytes | None,
    key: bytes | None = None,
    headers: Headers = (),
    times_ms: Sequence[int] = (),
    attributes: int = 0,
    producer: tuple[int, int, int] = NO_PRODUCER,
    last_delta: int | None = None,
) -> bytes:
    """One batch."""
    times_ms = times_ms or [NOW_MS] * len(bodies)
    builder = BatchBuilder(0, times_ms[0] if times_ms else NOW_MS)
    for body, time_ms in zip(bodies, times_ms, strict=True):
        builder.add(time_ms, key, body, encode_headers(headers))
    return builder.seal(attributes, -1, last_delta, producer)


def repacked(batch: bytes, packed: bytes, attributes: int) -> bytes:
    """The batch with its records in another form."""
    checked = bytearray(batch[21:HEADER_BYTES] + packed)
    checked[0:2] = attributes.to_bytes(2, "big")
    length = (HEADER_BYTES - 12 + len(packed)).to_bytes(4, "big")
    return batch[:8] + length + batch[12:17] + crc32c(bytes(checked)).to_bytes(4, "big") + bytes(checked)


def counted(batch: bytes, count: int) -> bytes:
    """The batch with another number of messages, and a right checksum."""
    data = bytearray(batch)
    pack_into(">i", data, 23, max(count - 1, -(1 << 31)))
    pack_into(">i", data, 57, count)
    pack_into(">I", data, 17, crc32c(bytes(data[21:])))
    return bytes(data)


def produce_request(topic: str, *batches: bytes | None, acks: int = -1, first: int = 0) -> ProduceRequest:
    """One batch for each partition from the first on."""
    parts = [PartitionProduceData(number, batch) for number, batch in enumerate(batches, first)]
    return ProduceRequest(acks=acks, topic_data=[TopicProduceData(topic, partition_data=parts)])


def fetch_request(topic: str, *offsets: int, **settings: int) -> FetchRequest:
    """From these offsets of the partitions on."""
    bytes_max = settings.pop("partition_max_bytes", 1 << 20)
    parts = [
        FetchPartition(number, fetch_offset=offset, partition_max_bytes=bytes_max)
        for number, offset in enumerate(offsets)
    ]
    return FetchRequest(topics=[FetchTopic(topic, partitions=parts)], **settings)


def records_in(data: bytes | memoryview | None) -> list[Record]:
    """All records of some batches."""
    stored = bytes(data or b"")
    return [record for position, header in walk(stored) for record in decode(stored, position, header)]


def base_offsets(data: bytes | memoryview | None) -> list[int]:
    return [header.base_offset for _, header in walk(bytes(data or b""))]


def header_of(data: bytes | memoryview | None) -> tuple[int, ...]:
    return tuple(read_header(bytes(data or b"")))
