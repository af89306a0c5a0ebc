"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

import msgspec

from onemq.core.topics import Topic, TopicConfig
from onemq.errors import OneMQError
from onemq.protocols.kafka.admin.broker_settings import describe_broker, is_known
from onemq.protocols.kafka.admin.forms import LIST, parts
from onemq.protocols.kafka.admin.names import check_kafka_name
from onemq.protocols.kafka.admin.topic_settings import made_of, value_of, was_set
from onemq.protocols.kafka.admin.topic_table import SETTINGS
from onemq.protocols.kafka.admin.topic_view import describe_topic
from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.errors import ErrorCode, Refused, code_of
from onemq.protocols.kafka.identity import NODE_ID
from onemq.protocols.kafka.schemas import alter_configs as plain
from onemq.protocols.kafka.schemas import incremental_alter_configs as incremental
from onemq.protocols.kafka.schemas.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from onemq.protocols.kafka.sharing.configs import GROUP, alter_group, describe_group

if TYPE_CHECKING:
    from onemq.protocols.kafka.service import KafkaService

TOPIC, BROKER, BROKER_LOGGER = 2, 4, 8
"""Kafka's numbers for what has settings."""
SET, DELETE, APPEND, SUBTRACT = range(4)
_MALFORMED = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
    "incompatible broker. See the broker logs for more details."
)


def describe_configs(call: Call[DescribeConfigsRequest]) -> DescribeConfigsResponse:
    """Each resource for itself."""
    once = {(each.resource_type, each.resource_name): each for each in call.request.resources}
    return DescribeConfigsResponse(results=[_describe(call, each) for each in once.values()])


def _describe(call: Call[DescribeConfigsRequest], asked: DescribeConfigsResource) -> DescribeConfigsResult:
    try:
        configs = _settings(call, asked)
        code, text = ErrorCode.NONE, ""
    except OneMQError as error:
        configs, code, text = [], code_of(error), error.text
    if not call.request.include_synonyms:
        for each in configs:
            each.synonyms = []
    return DescribeConfigsResult(code, text, asked.resource_type, asked.resource_name, configs)


def _settings(
    call: Call[DescribeConfigsRequest], asked: DescribeConfigsResource
) -> list[DescribeConfigsResourceResult]:
    service, name, wanted = call.service, asked.resource_name, asked.configuration_keys
    with_texts = call.request.include_documentation
    match asked.resource_type:
        case 2:
            topic = service.topics.find(name)
            if topic is None:
                check_kafka_name(name)
                raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
            return describe_topic(topic.config, service.topics.config, wanted, with_texts)
        case 4:
            _check_broker(name, "1 or empty string")
            return describe_broker(service, call.session, wanted, with_texts) if name else []
        case 8:
            _check_broker(name, "1")
            return []
        case 32:
            return describe_group(service.sharing.settings, name, wanted)
        case _:
            raise Refused(ErrorCode.INVALID_REQUEST, _MALFORMED)


def _check_broker(name: str, expected: str) -> None:
    if not name and "empty" in expected:
        return
    if not name.lstrip("+-").isdecimal():
        raise Refused(ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}")
    if int(name) != NODE_ID:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Unexpected broker id, expected {expected}, but received {name}")


def alter_configs(call: Call[plain.AlterConfigsRequest]) -> plain.AlterConfigsResponse:
    """What is not named gets its default."""
    request = call.request

    def wanted(resource: plain.AlterConfigsResource) -> Callable[[Topic], dict[str, str]]:
        return lambda topic: {each.name: _not_null(each.name, each.value) for each in resource.configs}

    outcomes = _alter(call.service, request.resources, wanted, request.validate_only)
    return plain.AlterConfigsResponse(responses=[plain.AlterConfigsResourceResponse(*each) for each in outcomes])


def incremental_alter_configs(
    call: Call[incremental.IncrementalAlterConfigsRequest],
) -> incremental.IncrementalAlterConfigsResponse:
    """What is not named stays."""
    request, service = call.request, call.service

    def wanted(resource: incremental.AlterConfigsResource) -> Callable[[Topic], dict[str, str]]:
        return lambda topic: _changed(topic, service.topics.config, resource.configs)

    outcomes = _alter(service, request.resources, wanted, request.validate_only)
    responses = [incremental.AlterConfigsResourceResponse(*each) for each in outcomes]
    return incremental.IncrementalAlterConfigsResponse(responses=responses)


R = TypeVar("R", plain.AlterConfigsResource, incremental.AlterConfigsResource)


def _alter(
    service: "KafkaService",
    resources: list[R],
    wanted: Callable[[R], Callable[[Topic], dict[str, str]]],
    validate_only: bool,
) -> Iterator[tuple[ErrorCode, str | None, int, str]]:
    """Changes each resource for itself; `wanted` tells what a topic is to have of its own then. Yields the outcomes."""
    times = Counter((each.resource_type, each.resource_name) for each in resources)
    for resource in resources:
        place: tuple[int, str] = (resource.resource_type, resource.resource_name)
        try:
            if times[place] > 1:
                raise Refused(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            if resource.resource_type == GROUP:
                alter_group(service.sharing.settings, resource.resource_name, resource.configs, validate_only)
            else:
                _check_place(place, [each.name for each in resource.configs])
                topic = _topic(service, resource.resource_name)
                _apply(service, topic, wanted(resource)(topic), validate_only)
        except OneMQError as error:
            yield code_of(error), error.text, *place
        else:
            yield ErrorCode.NONE, None, *place


def _check_place(place: tuple[int, str], names: Iterable[str]) -> None:
    """Only topics and groups can be changed: the broker's own settings are in its file."""
    kind, name = place
    if kind == TOPIC:
        return
    if kind not in (BROKER, BROKER_LOGGER):
        raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown resource type {kind}")
    if name or kind == BROKER_LOGGER:
        _check_broker(name, str(NODE_ID))
    for each in names:
        if kind == BROKER and not is_known(each):
            raise Refused(ErrorCode.INVALID_CONFIG, f"Unknown broker config name: {each}")
    raise Refused(ErrorCode.INVALID_REQUEST, f"Cannot update these configs dynamically: [{', '.join(names)}]")


def _topic(service: "KafkaService", name: str) -> Topic:
    topic = service.topics.find(name)
    if topic is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
    return topic


def _not_null(name: str, text: str | None) -> str:
    if text is None:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {name}")
    return text


def _changed(topic: Topic, defaults: TopicConfig, changes: list[incremental.AlterableConfig]) -> dict[str, str]:
    """What the topic has of its own after some changes."""
    if len({each.name for each in changes}) < len(changes):
        raise Refused(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    own = was_set(topic.config, defaults)
    for change in changes:
        match change.config_operation:
            case 0:
                own[change.name] = _not_null(change.name, change.value)
            case 1:
                own.pop(change.name, None)
            case 2 | 3 as operation:
                own[change.name] = _list_changed(topic, change, operation == APPEND)
            case other:
                raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown operation type {other}")
    return own


def _list_changed(topic: Topic, change: incremental.AlterableConfig, adds: bool) -> str:
    setting = SETTINGS.get(change.name)
    if setting is None:
        raise Refused(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {change.name}")
    if setting.form.type != LIST:
        how = "APPEND" if adds else "SUBTRACT"
        raise Refused(ErrorCode.INVALID_CONFIG, f"Can't {how} to key {change.name} because its type is not LIST.")
    words = parts(value_of(setting, topic.config))
    changed = parts(_not_null(change.name, change.value))
    if adds:
        return ",".join([*words, *(word for word in changed if word not in words)])
    return ",".join(word for word in words if word not in changed)


def _apply(service: "KafkaService", topic: Topic, wanted: dict[str, str], validate_only: bool) -> None:
    config = made_of(wanted, topic.config, service.topics.config)
    service.core.check_writable()
    if not validate_only and config != topic.config:
        service.core.topics.alter(topic.name, None, **msgspec.to_builtins(config))
