"""The calls of administrators: ShareGroupDescribe, and what a share group has dealt with, shown, set and deleted."""

from typing import TYPE_CHECKING

from onemq.core.group import Group
from onemq.core.topics import Topic
from onemq.errors import OneMQError
from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.errors import ErrorCode, Refused, code_of
from onemq.protocols.kafka.identity import LEADER_EPOCH
from onemq.protocols.kafka.operations import GROUP_OPERATIONS
from onemq.protocols.kafka.schema import INT32_MIN
from onemq.protocols.kafka.schemas.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from onemq.protocols.kafka.schemas.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)
from onemq.protocols.kafka.schemas.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from onemq.protocols.kafka.schemas.share_group_describe import (
    Assignment,
    DescribedGroup,
    Member,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    TopicPartitions,
)
from onemq.protocols.kafka.sharing.members import ShareMember
from onemq.protocols.kafka.sharing.places import find_topic, group_to_use, groups_of

if TYPE_CHECKING:
    from onemq.protocols.kafka.service import KafkaService

_ASSIGNOR = "simple"
_NOTHING_YET = -1


def share_group_describe(call: Call[ShareGroupDescribeRequest]) -> ShareGroupDescribeResponse:
    request = call.request
    operations = GROUP_OPERATIONS if request.include_authorized_operations else INT32_MIN
    ids = dict.fromkeys(request.group_ids)
    return ShareGroupDescribeResponse(groups=[_described(call.service, id, operations) for id in ids])


def _described(service: "KafkaService", id: str, operations: int) -> DescribedGroup:
    try:
        _check_exists(service, id)
    except Refused as error:
        return DescribedGroup(error.error, error.text, id)
    group = service.sharing.members.groups.get(id)
    epoch = 0 if group is None else group.epoch
    members = [] if group is None else [_member(service, member) for member in group.members.values()]
    return DescribedGroup(
        group_id=id,
        group_state="Stable" if members else "Empty",
        group_epoch=epoch,
        assignment_epoch=epoch,
        assignor_name=_ASSIGNOR,
        members=members,
        authorized_operations=operations,
    )


def _member(service: "KafkaService", member: ShareMember) -> Member:
    topics = [service.core.topics.by_id(number) for number in member.assigned]
    rows = [
        TopicPartitions(service.topics.id_of(topic), topic.name, list(range(member.assigned[topic.id])))
        for topic in topics
        if topic is not None
    ]
    client = member.client
    named = (member.id, member.rack, member.epoch, client.id, client.host, member.topics)
    return Member(*named, assignment=Assignment(rows))


def _check_exists(service: "KafkaService", id: str) -> None:
    if not service.sharing.exists(id):
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no share group {id!r}")


def _check_empty(service: "KafkaService", id: str) -> None:
    if service.sharing.has_members(id):
        raise Refused(ErrorCode.NON_EMPTY_GROUP, f"share group {id!r} has members: stop them first")


# Where a group is


def describe_share_group_offsets(call: Call[DescribeShareGroupOffsetsRequest]) -> DescribeShareGroupOffsetsResponse:
    return DescribeShareGroupOffsetsResponse(groups=[_places(call.service, group) for group in call.request.groups])


def _places(
    service: "KafkaService", asked: DescribeShareGroupOffsetsRequestGroup
) -> DescribeShareGroupOffsetsResponseGroup:
    try:
        _check_exists(service, asked.group_id)
    except Refused as error:
        text = error.text
        return DescribeShareGroupOffsetsResponseGroup(asked.group_id, error_code=error.error, error_message=text)
    if asked.topics is None:
        wanted = [(each.topic.name, list(range(len(each.cursors)))) for each in groups_of(service.core, asked.group_id)]
    else:
        wanted = [(each.topic_name, each.partitions) for each in asked.topics]
    rows = [_places_in(service, asked.group_id, name, numbers) for name, numbers in wanted]
    return DescribeShareGroupOffsetsResponseGroup(asked.group_id, rows)


def _places_in(
    service: "KafkaService", id: str, name: str, numbers: list[int]
) -> DescribeShareGroupOffsetsResponseTopic:
    topic = find_topic(service.core, name)
    if topic is None:
        code, text = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}"
        rows = [_place_unknown(number, code, text) for number in numbers]
        return DescribeShareGroupOffsetsResponseTopic(name, partitions=rows)
    rows = [_place(topic, topic.groups.get(id), number) for number in numbers]
    return DescribeShareGroupOffsetsResponseTopic(name, service.topics.id_of(topic), rows)


def _place(topic: Topic, group: Group | None, number: int) -> DescribeShareGroupOffsetsResponsePartition:
    if not 0 <= number < len(topic.partitions):
        return _place_unknown(number, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{topic.name!r} has no partition {number}")
    if group is None:
        return _place_unknown(number, ErrorCode.NONE, None)
    cursor = group.cursors[number]
    return DescribeShareGroupOffsetsResponsePartition(number, cursor.low, LEADER_EPOCH, cursor.lag)


def _place_unknown(number: int, code: ErrorCode, text: str | None) -> DescribeShareGroupOffsetsResponsePartition:
    return DescribeShareGroupOffsetsResponsePartition(number, _NOTHING_YET, LEADER_EPOCH, -1, code, text)


# Where it goes on


def alter_share_group_offsets(call: Call[AlterShareGroupOffsetsRequest]) -> AlterShareGroupOffsetsResponse:
    request, service = call.request, call.service
    _check_empty(service, request.group_id)
    rows = []
    for named in request.topics:
        topic = find_topic(service.core, named.topic_name)
        told = [_alter(service, request.group_id, topic, partition) for partition in named.partitions]
        id = {} if topic is None else {"topic_id": service.topics.id_of(topic)}
        rows.append(AlterShareGroupOffsetsResponseTopic(named.topic_name, partitions=told, **id))
    return AlterShareGroupOffsetsResponse(responses=rows)


def _alter(
    service: "KafkaService", id: str, topic: Topic | None, asked: AlterShareGroupOffsetsRequestPartition
) -> AlterShareGroupOffsetsResponsePartition:
    number = asked.partition_index
    try:
        if topic is None or not 0 <= number < len(topic.partitions):
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "there is no such topic or partition")
        group = group_to_use(service.core, topic, id)
        assert group is not None, "a group that begins at the end is there at once"
        partition = topic.partitions[number]
        service.core.groups.seek(group, number, min(max(asked.start_offset, partition.start), partition.end))
    except OneMQError as error:
        return AlterShareGroupOffsetsResponsePartition(number, code_of(error), error.text)
    return AlterShareGroupOffsetsResponsePartition(number)


def delete_share_group_offsets(call: Call[DeleteShareGroupOffsetsRequest]) -> DeleteShareGroupOffsetsResponse:
    """The group of each topic is deleted: it begins anew when a member comes."""
    request, service = call.request, call.service
    _check_exists(service, request.group_id)
    _check_empty(service, request.group_id)
    rows = [_delete(service, request.group_id, named.topic_name) for named in request.topics]
    return DeleteShareGroupOffsetsResponse(responses=rows)


def _delete(service: "KafkaService", id: str, name: str) -> DeleteShareGroupOffsetsResponseTopic:
    topic = find_topic(service.core, name)
    if topic is None:
        code, text = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}"
        return DeleteShareGroupOffsetsResponseTopic(name, error_code=code, error_message=text)
    group = topic.groups.get(id)
    if group is not None:
        service.core.groups.delete(group)
        service.core.keys.topic_changed(name.encode())
    return DeleteShareGroupOffsetsResponseTopic(name, service.topics.id_of(topic))
