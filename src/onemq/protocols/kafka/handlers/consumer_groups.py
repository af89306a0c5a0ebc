"""ConsumerGroupHeartbeat, ConsumerGroupDescribe: groups whose partitions the broker shares out (KIP-848)."""

from collections.abc import Iterable

from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.errors import ErrorCode
from onemq.protocols.kafka.groups.assignors import Place
from onemq.protocols.kafka.groups.consumer import ConsumerGroup
from onemq.protocols.kafka.groups.consumer_member import ConsumerMember
from onemq.protocols.kafka.operations import GROUP_OPERATIONS
from onemq.protocols.kafka.schema import INT32_MIN
from onemq.protocols.kafka.schemas.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
    TopicPartitions,
)
from onemq.protocols.kafka.schemas.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

_OF_THIS_PROTOCOL = 1
"""The type of a member that is none of a classic group."""


def consumer_group_heartbeat(call: Call[ConsumerGroupHeartbeatRequest]) -> ConsumerGroupHeartbeatResponse:
    host = call.session.peer.address.rpartition(":")[0].strip("[]")
    return call.service.groups.consume(call.request, call.version, call.client_id or "", f"/{host}")


def consumer_group_describe(call: Call[ConsumerGroupDescribeRequest]) -> ConsumerGroupDescribeResponse:
    operations = GROUP_OPERATIONS if call.request.include_authorized_operations else INT32_MIN
    return ConsumerGroupDescribeResponse(
        groups=[_described(call, each, operations) for each in dict.fromkeys(call.request.group_ids)]
    )


def _described(call: Call[ConsumerGroupDescribeRequest], name: str, operations: int) -> DescribedGroup:
    group = call.service.groups.groups.get(name)
    if not isinstance(group, ConsumerGroup):
        text = f"there is no consumer group {name!r}"
        return DescribedGroup(ErrorCode.GROUP_ID_NOT_FOUND, text, name)
    return DescribedGroup(
        group_id=name,
        group_state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.epoch,
        assignor_name=group.assignor,
        members=[_member(call, group, each) for each in group.members.values()],
        authorized_operations=operations,
    )


def _member(call: Call[ConsumerGroupDescribeRequest], group: ConsumerGroup, member: ConsumerMember) -> Member:
    return Member(
        member_id=member.id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.host,
        subscribed_topic_names=sorted(member.topics),
        subscribed_topic_regex=member.regex or "",
        assignment=_assignment(call, group, member.assigned),
        target_assignment=_assignment(call, group, group.target.get(member.id, ())),
        member_type=_OF_THIS_PROTOCOL,
    )


def _assignment(
    call: Call[ConsumerGroupDescribeRequest], group: ConsumerGroup, places: Iterable[Place]
) -> Assignment:
    topics = call.service.topics
    rows = group.by_name(places).items()
    return Assignment([TopicPartitions(topics.id_of(topics.get(name)), name, numbers) for name, numbers in rows])
