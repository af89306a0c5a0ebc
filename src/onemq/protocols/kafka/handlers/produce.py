"""Produce: batches are stored as they came. Their checksums are checked, their places written, nothing more."""

from collections.abc import Callable

from onemq.core.topics import Topic
from onemq.errors import Corrupt, InvalidArgument, NotFound, OneMQError
from onemq.limits import KAFKA_AHEAD_MS_MAX
from onemq.log.batch import (
    COMPRESSION_MASK,
    CONTROL,
    HEADER_BYTES,
    TRANSACTIONAL,
    BatchHeader,
    check_ready_made,
    read_header,
)
from onemq.log.compression import NAMES
from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.errors import ErrorCode, Refused, code_of
from onemq.protocols.kafka.handlers.transactions import transaction_code
from onemq.protocols.kafka.places import partition_of
from onemq.protocols.kafka.schema import Records
from onemq.protocols.kafka.schemas.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

_ACKS = (-1, 0, 1)
_COMPRESSIONS = {0, *NAMES}
_ZSTD = 4
_ZSTD_SINCE = 7
_TOPIC_IDS_SINCE = 13
_COUNTING = ("librdkafka", "confluent-kafka")


def produce(call: Call[ProduceRequest]) -> ProduceResponse | None:
    """Answers when everything is as durable as its topic asks, whether one replica is to have it or all. Whoever wants
    no answer is told by a closed connection that something was not stored."""
    acks = call.request.acks
    responses = [_topic(call, data) for data in call.request.topic_data]
    if acks:
        return ProduceResponse(responses)
    if any(each.error_code for topic in responses for each in topic.partition_responses):
        call.session.end()
    else:
        call.drop()
    return None


def _topic(call: Call[ProduceRequest], data: TopicProduceData) -> TopicProduceResponse:
    responses = [_partition(call, data, each) for each in data.partition_data]
    return TopicProduceResponse(data.name, data.topic_id, responses)


def _partition(
    call: Call[ProduceRequest], data: TopicProduceData, part: PartitionProduceData
) -> PartitionProduceResponse:
    try:
        topic = _find_topic(call, data)
        offset = _store(call, topic, part)
    except OneMQError as error:
        return PartitionProduceResponse(part.index, code_of(error), -1, error_message=error.text)
    by_broker = topic.config.message_time == "broker"
    start = topic.partitions[part.index].start
    return PartitionProduceResponse(part.index, 0, offset, call.service.now_ms if by_broker else -1, start)


def _find_topic(call: Call[ProduceRequest], data: TopicProduceData) -> Topic:
    if call.request.acks not in _ACKS:
        raise Refused(ErrorCode.INVALID_REQUIRED_ACKS, f"acks is -1, 0 or 1, not {call.request.acks}")
    topics = call.service.topics
    return topics.get_by_id(data.topic_id) if call.version >= _TOPIC_IDS_SINCE else topics.get(data.name)


def _store(call: Call[ProduceRequest], topic: Topic, part: PartitionProduceData) -> int:
    """Stores the batch for one partition; returns its first offset."""
    partition_of(topic, part.index)
    batch = part.records or b""
    header = _checked(call, topic, batch)
    if header.attributes & TRANSACTIONAL:
        return _stage(call, topic, part.index, batch, header)
    core = call.service.core
    return _told_apart(lambda: core.sending.send_batch(topic, part.index, batch, header))


def _stage(call: Call[ProduceRequest], topic: Topic, number: int, batch: Records, header: BatchHeader) -> int:
    """Adds the batch to the transaction of its producer; its messages have no offset before that is committed."""
    name = call.request.transactional_id
    if name is None:
        raise Refused(ErrorCode.INVALID_RECORD, "a batch of a transaction needs a transactional id")
    try:
        offset = call.service.core.owners.produce(name, topic, number, batch, header)
        # librdkafka counts on from the first offset, wherever that is: all that it counts must be below zero.
        counts = call.session.software_name.startswith(_COUNTING)
        return -header.record_count if counts else offset
    except (InvalidArgument, Corrupt) as error:
        raise Refused(ErrorCode.INVALID_RECORD, error.text) from None
    except OneMQError as error:
        raise Refused(transaction_code(error, knows_fenced=False), error.text) from None


def _checked(call: Call[ProduceRequest], topic: Topic, batch: Records) -> BatchHeader:
    """The header of the batch, which is as Kafka wants it from a client."""
    header = _the_only_batch(batch)
    try:
        check_ready_made(batch)
    except InvalidArgument as error:
        raise Refused(ErrorCode.INVALID_RECORD, error.text) from None
    if header.attributes & COMPRESSION_MASK not in _COMPRESSIONS:
        raise Refused(ErrorCode.INVALID_RECORD, f"there is no compression {header.attributes & COMPRESSION_MASK}")
    if header.attributes & CONTROL:
        raise Refused(ErrorCode.INVALID_RECORD, "control batches are the broker's own")
    if header.last_offset_delta != header.record_count - 1:
        raise Refused(ErrorCode.INVALID_RECORD, "the offsets of a batch must count up from 0 without gaps")
    if header.attributes & COMPRESSION_MASK == _ZSTD and call.version < _ZSTD_SINCE:
        raise Refused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"zstd needs Produce {_ZSTD_SINCE} or later")
    ahead_ms = header.max_timestamp_ms - call.service.now_ms
    if ahead_ms > KAFKA_AHEAD_MS_MAX and topic.config.message_time == "producer":
        raise Refused(ErrorCode.INVALID_TIMESTAMP, f"a message is {ahead_ms} ms ahead of the broker's clock")
    return header


def _the_only_batch(batch: Records) -> BatchHeader:
    if len(batch) < HEADER_BYTES:
        raise Refused(ErrorCode.INVALID_RECORD, "there must be a batch of records for each partition")
    header = read_header(batch)
    if header.size != len(batch) and header.size >= HEADER_BYTES:
        raise Refused(ErrorCode.INVALID_RECORD, "there must be one whole batch of records for each partition")
    return header


def _told_apart(store: Callable[[], int]) -> int:
    """What storing raises, as Kafka tells it of batches."""
    try:
        return store()
    except NotFound as error:
        raise Refused(ErrorCode.UNKNOWN_PRODUCER_ID, error.text) from None
    except (InvalidArgument, Corrupt) as error:
        raise Refused(ErrorCode.INVALID_RECORD, error.text) from None
