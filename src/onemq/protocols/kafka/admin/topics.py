"""CreateTopics, DeleteTopics, CreatePartitions."""

from collections import Counter

from onemq.core.topics import Topic, TopicConfig
from onemq.errors import OneMQError
from onemq.limits import PARTITIONS_MAX
from onemq.protocols.kafka.admin.names import check_kafka_name
from onemq.protocols.kafka.admin.placement import check_replicas, partition_count
from onemq.protocols.kafka.admin.topic_settings import made_of, value_of
from onemq.protocols.kafka.admin.topic_table import SETTINGS
from onemq.protocols.kafka.admin.topic_view import source_of
from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.errors import ErrorCode, Refused, code_of
from onemq.protocols.kafka.schema import NO_UUID
from onemq.protocols.kafka.schemas.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from onemq.protocols.kafka.schemas.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from onemq.protocols.kafka.schemas.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

_DUPLICATE = "Duplicate topic name."
_NO_TOPIC = "This server does not host this topic-partition."
_NO_ID = "This server does not host this topic ID."


def create_topics(call: Call[CreateTopicsRequest]) -> CreateTopicsResponse:
    """Each topic for itself: some may be made while others are refused."""
    names = Counter(topic.name for topic in call.request.topics)
    results, room = [], PARTITIONS_MAX
    for topic in call.request.topics:
        if names[topic.name] == 1:
            results.append(_create(call, topic, room))
            room -= max(results[-1].num_partitions, 0)
    results += [
        CreatableTopicResult(name=name, error_code=ErrorCode.INVALID_REQUEST, error_message=_DUPLICATE)
        for name, times in names.items()
        if times > 1
    ]
    return CreateTopicsResponse(topics=results)


def _create(call: Call[CreateTopicsRequest], wanted: CreatableTopic, room: int) -> CreatableTopicResult:
    """`room`: how many partitions the request may still make."""
    service = call.service
    try:
        service.core.check_writable()
        partitions, config = _checked(call, wanted, room)
        id = NO_UUID
        if not call.request.validate_only:
            id = service.topics.id_of(service.core.topics.create(wanted.name, partitions, config))
    except OneMQError as error:
        return CreatableTopicResult(name=wanted.name, error_code=code_of(error), error_message=error.text)
    defaults = service.topics.config
    return CreatableTopicResult(
        name=wanted.name,
        topic_id=id,
        num_partitions=partitions,
        replication_factor=1,
        configs=[
            CreatableTopicConfigs(
                name=name, value=value_of(setting, config), config_source=source_of(setting, config, defaults)
            )
            for name, setting in SETTINGS.items()
        ],
    )


def _checked(call: Call[CreateTopicsRequest], wanted: CreatableTopic, room: int) -> tuple[int, TopicConfig]:
    """The number of partitions and the settings. Raises `Refused` in Kafka's order and words."""
    topics = call.service.topics
    if topics.find(wanted.name) is not None:
        raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{wanted.name}' already exists.")
    check_kafka_name(wanted.name)
    topics.check_name(wanted.name)
    partitions = partition_count(wanted, topics.partitions)
    if partitions > room:
        raise Refused(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")
    settings = {}
    for each in wanted.configs:
        if each.value is None:
            raise Refused(ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {each.name}")
        settings[each.name] = each.value
    return partitions, made_of(settings, topics.config, topics.config)


def delete_topics(call: Call[DeleteTopicsRequest]) -> DeleteTopicsResponse:
    """By name, or by id from version 6 on."""
    wanted = call.request.topics or [DeleteTopicState(name) for name in call.request.topic_names]
    times = Counter((each.name, each.topic_id) for each in wanted)
    results = []
    for (name, id), count in times.items():
        results.append(_delete(call, name, id, count))
    return DeleteTopicsResponse(responses=results)


def _delete(call: Call[DeleteTopicsRequest], name: str | None, id: bytes, times: int) -> DeletableTopicResult:
    try:
        topic = _to_delete(call, name, id, times)
        name, id = topic.name, call.service.topics.id_of(topic)
        call.service.core.topics.delete(name)
    except OneMQError as error:
        shown = "" if name is None and call.version < 6 else name
        return DeletableTopicResult(name=shown, topic_id=id, error_code=code_of(error), error_message=error.text)
    return DeletableTopicResult(name=name, topic_id=id)


def _to_delete(call: Call[DeleteTopicsRequest], name: str | None, id: bytes, times: int) -> Topic:
    topics = call.service.topics
    if name is not None and id != NO_UUID:
        raise Refused(ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id.")
    if name is None and id == NO_UUID:
        raise Refused(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
    if times > 1:
        raise Refused(ErrorCode.INVALID_REQUEST, _DUPLICATE if name is not None else "Duplicate topic id.")
    found = topics.find(name) if name is not None else topics.by_id(id)
    if found is not None:
        return found
    if name is not None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, _NO_TOPIC)
    raise Refused(ErrorCode.UNKNOWN_TOPIC_ID, _NO_ID)


def create_partitions(call: Call[CreatePartitionsRequest]) -> CreatePartitionsResponse:
    """Each topic for itself."""
    names = Counter(topic.name for topic in call.request.topics)
    results = [
        CreatePartitionsTopicResult(name, ErrorCode.INVALID_REQUEST, _DUPLICATE)
        for name, times in names.items()
        if times > 1
    ]
    return CreatePartitionsResponse(
        results=results + [_grow(call, topic) for topic in call.request.topics if names[topic.name] == 1]
    )


def _grow(call: Call[CreatePartitionsRequest], wanted: CreatePartitionsTopic) -> CreatePartitionsTopicResult:
    topic = call.service.topics.find(wanted.name)
    if topic is None:
        return CreatePartitionsTopicResult(wanted.name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    try:
        _check_growth(wanted, len(topic.partitions))
        call.service.core.check_writable()
        if not call.request.validate_only:
            call.service.core.topics.alter(topic.name, wanted.count)
    except OneMQError as error:
        return CreatePartitionsTopicResult(wanted.name, code_of(error), error.text)
    return CreatePartitionsTopicResult(wanted.name)


def _check_growth(wanted: CreatePartitionsTopic, there: int) -> None:
    if wanted.count == there:
        raise Refused(ErrorCode.INVALID_PARTITIONS, f"Topic already has {there} partition(s).")
    if wanted.count < there:
        raise Refused(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {wanted.name} currently has {there} partition(s); {wanted.count} would not be an increase.",
        )
    if wanted.count > PARTITIONS_MAX:
        raise Refused(ErrorCode.INVALID_PARTITIONS, f"A topic has {PARTITIONS_MAX} partitions at most.")
    if wanted.assignments is not None:
        more = wanted.count - there
        if len(wanted.assignments) != more:
            raise Refused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Attempted to add {more} additional partition(s), but only {len(wanted.assignments)} assignment(s) "
                "were specified.",
            )
        for assignment in wanted.assignments:
            check_replicas(assignment.broker_ids)
