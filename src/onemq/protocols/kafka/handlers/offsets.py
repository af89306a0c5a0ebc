"""OffsetCommit, OffsetFetch, OffsetDelete: how far a group is.

That is the place of the group in the core: below it, everything is acknowledged. Whatever else moves it there is seen
here, and the other way round.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onemq.core import marking
from onemq.core.marking import Place
from onemq.core.topics import Topic
from onemq.errors import InvalidArgument, OneMQError
from onemq.limits import KAFKA_REMARK_BYTES_MAX
from onemq.message import check_name
from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.errors import ErrorCode, Refused, code_of
from onemq.protocols.kafka.handlers.groups import is_in_use
from onemq.protocols.kafka.schemas.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from onemq.protocols.kafka.schemas.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from onemq.protocols.kafka.schemas.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

if TYPE_CHECKING:
    from onemq.protocols.kafka.service import KafkaService

TOPIC_IDS_SINCE = 10
MANY_GROUPS_SINCE = 8
NOWHERE = -1
"""The offset of a partition that was never committed: the client chooses where to begin."""


# Committing


def offset_commit(call: Call[OffsetCommitRequest]) -> OffsetCommitResponse:
    request = call.request
    code = call.service.groups.check_commit(
        request.group_id,
        request.member_id,
        request.group_instance_id,
        request.generation_id_or_member_epoch,
        call.version,
    )
    return OffsetCommitResponse(topics=[_commit_topic(call, each, code) for each in request.topics])


def _commit_topic(
    call: Call[OffsetCommitRequest], wanted: OffsetCommitRequestTopic, code: ErrorCode
) -> OffsetCommitResponseTopic:
    codes = [code] * len(wanted.partitions)
    if code is ErrorCode.NONE:
        try:
            topic = _topic(call.service, wanted.name, wanted.topic_id, call.version)
            codes = _commit(call, topic, wanted.partitions)
        except OneMQError as error:
            codes = [code_of(error)] * len(wanted.partitions)
    pairs = zip(wanted.partitions, codes, strict=True)
    partitions = [OffsetCommitResponsePartition(each.partition_index, code) for each, code in pairs]
    return OffsetCommitResponseTopic(wanted.name, wanted.topic_id, partitions)


def _commit(
    call: Call[OffsetCommitRequest], topic: Topic, partitions: list[OffsetCommitRequestPartition]
) -> list[ErrorCode]:
    request, numbers = call.request, [each.partition_index for each in partitions]
    epoch = request.generation_id_or_member_epoch
    stale = call.service.groups.stale(request.group_id, request.member_id, epoch, topic.id, numbers)
    fresh = [each for each in partitions if each.partition_index not in stale]
    codes = iter(commit_places(call.service, request.group_id, topic, fresh))
    return [ErrorCode.STALE_MEMBER_EPOCH if number in stale else next(codes) for number in numbers]


def _topic(service: "KafkaService", name: str, topic_id: bytes, version: int) -> Topic:
    return service.topics.get_by_id(topic_id) if version >= TOPIC_IDS_SINCE else service.topics.get(name)


def commit_places(
    service: "KafkaService", group_id: str, topic: Topic, partitions: list[OffsetCommitRequestPartition]
) -> list[ErrorCode]:
    """The code for each of them."""
    codes = [_check_place(topic, each) for each in partitions]
    good = [each for each, code in zip(partitions, codes, strict=True) if code is ErrorCode.NONE]
    places = {
        each.partition_index: Place(each.committed_offset, each.committed_metadata or "")
        for each in good
        if each.committed_offset >= 0
    }
    if places:
        check_group_name(group_id)
        if marking.commit(service.core.groups, topic, group_id, places, topic.config.default_group):
            service.core.keys.topic_changed(topic.name.encode())
    _forget(service, topic, group_id, [each.partition_index for each in good if each.committed_offset < 0])
    return codes


def check_group_name(group_id: str) -> None:
    """Raises INVALID_GROUP_ID."""
    try:
        check_name("group", group_id)
    except InvalidArgument as error:
        raise Refused(ErrorCode.INVALID_GROUP_ID, error.text) from None


def _check_place(topic: Topic, place: OffsetCommitRequestPartition) -> ErrorCode:
    if not 0 <= place.partition_index < len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if len((place.committed_metadata or "").encode()) > KAFKA_REMARK_BYTES_MAX:
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    return ErrorCode.NONE


def _forget(service: "KafkaService", topic: Topic, group_id: str, numbers: list[int]) -> None:
    group = topic.groups.get(group_id)
    if numbers and group is not None and marking.forget(service.core.groups, group, numbers):
        service.core.keys.topic_changed(topic.name.encode())


# Fetching


def offset_fetch(call: Call[OffsetFetchRequest]) -> OffsetFetchResponse:
    request, version = call.request, call.version
    if version >= MANY_GROUPS_SINCE:
        return OffsetFetchResponse(groups=[_fetch_group(call, each) for each in request.groups])
    topics = None if request.topics is None else [_as_topics(each) for each in request.topics]
    found = _fetch_group(call, OffsetFetchRequestGroup(group_id=request.group_id, topics=topics))
    return OffsetFetchResponse(topics=[_as_topic(each) for each in found.topics], error_code=found.error_code)


def _as_topics(topic: OffsetFetchRequestTopic) -> OffsetFetchRequestTopics:
    return OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)


def _as_topic(topic: OffsetFetchResponseTopics) -> OffsetFetchResponseTopic:
    rows = [
        OffsetFetchResponsePartition(each.partition_index, each.committed_offset, -1, each.metadata, each.error_code)
        for each in topic.partitions
    ]
    return OffsetFetchResponseTopic(topic.name, rows)


def _fetch_group(call: Call[OffsetFetchRequest], wanted: OffsetFetchRequestGroup) -> OffsetFetchResponseGroup:
    code = call.service.groups.check_fetch(wanted.group_id, wanted.member_id, wanted.member_epoch)
    if code is not ErrorCode.NONE:
        return OffsetFetchResponseGroup(wanted.group_id, error_code=code)
    if wanted.topics is None:
        topics = list(_all_of(call, wanted.group_id))
    else:
        topics = [_fetch_topic(call, wanted.group_id, each) for each in wanted.topics]
    return OffsetFetchResponseGroup(wanted.group_id, topics)


def _all_of(call: Call[OffsetFetchRequest], group_id: str) -> Iterator[OffsetFetchResponseTopics]:
    """What the group has committed anywhere."""
    topics = call.service.topics
    for topic in topics.all():
        group = topic.groups.get(group_id)
        begun = [each.partition.number for each in group.cursors if each.begun] if group is not None else []
        if begun:
            yield OffsetFetchResponseTopics(topic.name, topics.id_of(topic), _places(call, topic, group_id, begun))


def _fetch_topic(
    call: Call[OffsetFetchRequest], group_id: str, wanted: OffsetFetchRequestTopics
) -> OffsetFetchResponseTopics:
    by_id = call.version >= TOPIC_IDS_SINCE
    topics = call.service.topics
    topic = topics.by_id(wanted.topic_id) if by_id else topics.find(wanted.name)
    if topic is not None:
        rows = _places(call, topic, group_id, wanted.partition_indexes)
    else:
        code = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.NONE
        rows = [OffsetFetchResponsePartitions(each, NOWHERE, error_code=code) for each in wanted.partition_indexes]
    return OffsetFetchResponseTopics(wanted.name, wanted.topic_id, rows)


def _places(
    call: Call[OffsetFetchRequest], topic: Topic, group_id: str, numbers: list[int]
) -> list[OffsetFetchResponsePartitions]:
    group, owners = topic.groups.get(group_id), call.service.core.owners
    rows: list[OffsetFetchResponsePartitions] = []
    for number in numbers:
        cursor = group.cursors[number] if group is not None and 0 <= number < len(group.cursors) else None
        if call.request.require_stable and owners.is_pending(group_id, topic.id, number):
            rows.append(OffsetFetchResponsePartitions(number, NOWHERE, error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT))
        elif cursor is None or not cursor.begun:
            rows.append(OffsetFetchResponsePartitions(number, NOWHERE))
        else:
            rows.append(OffsetFetchResponsePartitions(number, cursor.low, metadata=cursor.remark_here))
    return rows


# Deleting


def offset_delete(call: Call[OffsetDeleteRequest]) -> OffsetDeleteResponse:
    request, service = call.request, call.service
    service.groups.check_is_not_shared(request.group_id)
    live = service.groups.groups.get(request.group_id)
    if live is None and not any(request.group_id in topic.groups for topic in service.topics.all()):
        return OffsetDeleteResponse(error_code=ErrorCode.GROUP_ID_NOT_FOUND)
    if live is not None and live.members and not live.is_of_consumers:
        return OffsetDeleteResponse(error_code=ErrorCode.NON_EMPTY_GROUP)
    return OffsetDeleteResponse(topics=[_delete_topic(call, each) for each in request.topics])


def _delete_topic(call: Call[OffsetDeleteRequest], wanted: OffsetDeleteRequestTopic) -> OffsetDeleteResponseTopic:
    service, group_id = call.service, call.request.group_id
    topic, live = service.topics.find(wanted.name), service.groups.groups.get(group_id)
    group = None if topic is None else topic.groups.get(group_id)
    subscribed = group is not None and is_in_use(group)
    if live is not None:
        subscribed = live.is_subscribed(wanted.name)
    rows: list[OffsetDeleteResponsePartition] = []
    numbers: list[int] = []
    for each in wanted.partitions:
        code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if subscribed else ErrorCode.NONE
        if topic is None or not 0 <= each.partition_index < len(topic.partitions):
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        elif not subscribed:
            numbers.append(each.partition_index)
        rows.append(OffsetDeleteResponsePartition(each.partition_index, code))
    if topic is not None:
        _forget(service, topic, group_id, numbers)
    return OffsetDeleteResponseTopic(wanted.name, rows)
