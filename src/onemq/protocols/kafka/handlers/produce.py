"""Produce: batches are stored as they came. Their checksums are checked, their places written, nothing more."""

from onemq.core.topics import Topic
from onemq.errors import Corrupt, InvalidArgument, NotFound, OneMQError
from onemq.log.batch import TRANSACTIONAL, BatchHeader
from onemq.protocols.kafka.batch import check_batch
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
    try:
        topic = _find_topic(call, data)
    except OneMQError as error:
        responses = [_refused(part, error) for part in data.partition_data]
    else:
        responses = [_partition(call, topic, part) for part in data.partition_data]
    return TopicProduceResponse(data.name, data.topic_id, responses)


def _refused(part: PartitionProduceData, error: OneMQError) -> PartitionProduceResponse:
    return PartitionProduceResponse(part.index, code_of(error), -1, error_message=error.text)


def _partition(call: Call[ProduceRequest], topic: Topic, part: PartitionProduceData) -> PartitionProduceResponse:
    try:
        partition = partition_of(topic, part.index)
        offset = _store(call, topic, part)
    except OneMQError as error:
        return _refused(part, error)
    stamp_ms = call.service.now_ms if topic.config.message_time == "broker" else -1
    return PartitionProduceResponse(part.index, 0, offset, stamp_ms, partition.start)


def _find_topic(call: Call[ProduceRequest], data: TopicProduceData) -> Topic:
    if call.request.acks not in _ACKS:
        raise Refused(ErrorCode.INVALID_REQUIRED_ACKS, f"acks is -1, 0 or 1, not {call.request.acks}")
    topics = call.service.topics
    return topics.get_by_id(data.topic_id) if call.version >= _TOPIC_IDS_SINCE else topics.get(data.name)


def _store(call: Call[ProduceRequest], topic: Topic, part: PartitionProduceData) -> int:
    """Stores the batch for one partition; returns its first offset. What storing raises is as Kafka tells it of
    batches."""
    batch, service = part.records or b"", call.service
    header = check_batch(batch, topic, call.version, service.core.stage.now_ms)
    if header.attributes & TRANSACTIONAL:
        return _stage(call, topic, part.index, batch, header)
    try:
        return service.core.sending.send_batch(topic, part.index, batch, header)
    except NotFound as error:
        raise Refused(ErrorCode.UNKNOWN_PRODUCER_ID, error.text) from None
    except (InvalidArgument, Corrupt) as error:
        raise Refused(ErrorCode.INVALID_RECORD, error.text) from None


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
