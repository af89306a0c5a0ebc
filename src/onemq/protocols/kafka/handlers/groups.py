"""ListGroups, DescribeGroups, DeleteGroups.

A group is shown if it has members here, or had some until recently, or if it has a place in any topic, whatever
protocol made it.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from onemq.core.group import Group
from onemq.errors import OneMQError
from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.errors import ErrorCode, code_of
from onemq.protocols.kafka.groups.classic import ClassicGroup, State
from onemq.protocols.kafka.operations import GROUP_OPERATIONS
from onemq.protocols.kafka.schema import INT32_MIN
from onemq.protocols.kafka.schemas.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from onemq.protocols.kafka.schemas.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from onemq.protocols.kafka.schemas.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse

if TYPE_CHECKING:
    from onemq.protocols.kafka.service import KafkaService

GROUP_NOT_FOUND_SINCE = 6
CLASSIC = "classic"
SHARE = "share"


def list_groups(call: Call[ListGroupsRequest]) -> ListGroupsResponse:
    states = {each.lower() for each in call.request.states_filter}
    types = {each.lower() for each in call.request.types_filter}
    return ListGroupsResponse(
        groups=[
            each
            for each in _all(call.service)
            if (not states or each.group_state.lower() in states) and (not types or each.group_type.lower() in types)
        ]
    )


def _all(service: "KafkaService") -> list[ListedGroup]:
    listed = {
        name: ListedGroup(name, group.protocol_type or "", group.state, group.type)
        for name, group in service.groups.groups.items()
    }
    for name in service.sharing.settings.names():
        if service.sharing.has_members(name):
            listed[name] = ListedGroup(name, SHARE, State.STABLE, SHARE)
        else:
            listed.setdefault(name, ListedGroup(name, SHARE, State.EMPTY, SHARE))
    for topic in service.topics.all():
        for name, group in topic.groups.items():
            if name not in listed:
                listed[name] = ListedGroup(name, "", State.EMPTY, CLASSIC)
            if is_in_use(group) and name not in service.groups.groups:
                listed[name].group_state = State.STABLE
    return list(listed.values())


def is_in_use(group: Group) -> bool:
    """Whether members of other protocols are there now."""
    return bool(group.waiting) or any(each.leased or each.in_flight for each in group.members.values())


def describe_groups(call: Call[DescribeGroupsRequest]) -> DescribeGroupsResponse:
    places = groups_named(call.service, call.request.groups)
    groups = [_described(call, name, some) for name, some in places.items()]
    if call.request.include_authorized_operations:
        for each in groups:
            each.authorized_operations = GROUP_OPERATIONS if not each.error_code else INT32_MIN
    return DescribeGroupsResponse(groups=groups)


def _described(call: Call[DescribeGroupsRequest], name: str, groups: list[Group]) -> DescribedGroup:
    live = call.service.groups.groups.get(name)
    if isinstance(live, ClassicGroup):
        return _described_live(live)
    if groups and live is None:
        members = [DescribedGroupMember(each) for each in sorted({each for group in groups for each in _users(group)})]
        return DescribedGroup(group_id=name, group_state=State.STABLE if members else State.EMPTY, members=members)
    if call.version >= GROUP_NOT_FOUND_SINCE:
        text = f"there is no classic group {name!r}"
        return DescribedGroup(ErrorCode.GROUP_ID_NOT_FOUND, text, group_id=name, group_state=State.DEAD)
    return DescribedGroup(group_id=name, group_state=State.DEAD)


def _users(group: Group) -> list[str]:
    return [each.name for each in group.members.values() if each.leased or each.in_flight]


def _described_live(group: ClassicGroup) -> DescribedGroup:
    is_stable = group.state is State.STABLE
    return DescribedGroup(
        group_id=group.name,
        group_state=group.state,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol or "") if is_stable else "",
        members=[
            DescribedGroupMember(
                each.id,
                each.instance_id,
                each.client_id,
                each.host,
                each.metadata(group.protocol) if is_stable else b"",
                each.assignment,
            )
            for each in group.members.values()
        ],
    )


def delete_groups(call: Call[DeleteGroupsRequest]) -> DeleteGroupsResponse:
    places = groups_named(call.service, call.request.groups_names)
    return DeleteGroupsResponse(results=[_delete(call.service, name, some) for name, some in places.items()])


def _delete(service: "KafkaService", name: str, groups: list[Group]) -> DeletableGroupResult:
    busy = service.groups.is_busy(name) or service.sharing.has_members(name)
    if busy or any(is_in_use(each) for each in groups):
        return DeletableGroupResult(name, ErrorCode.NON_EMPTY_GROUP, f"the group {name!r} has members")
    known = service.groups.forget(name) or service.sharing.settings.is_known(name)
    if not known and not groups:
        return DeletableGroupResult(name, ErrorCode.GROUP_ID_NOT_FOUND, f"there is no group {name!r}")
    try:
        service.sharing.settings.forget(name)
        for group in groups:
            service.core.groups.delete(group)
            service.core.keys.topic_changed(group.topic.name.encode())
    except OneMQError as error:
        return DeletableGroupResult(name, code_of(error), error.text)
    return DeletableGroupResult(name)


def groups_named(service: "KafkaService", names: Iterable[str]) -> dict[str, list[Group]]:
    """Each group's places, in all topics that it has one in; none for those that have none. Each name counts once."""
    found: dict[str, list[Group]] = {name: [] for name in names}
    for topic in service.topics.all():
        for name in found.keys() & topic.groups.keys():
            found[name].append(topic.groups[name])
    return found
