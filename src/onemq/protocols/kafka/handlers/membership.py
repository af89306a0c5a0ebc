"""JoinGroup, SyncGroup, Heartbeat, LeaveGroup: members of classic groups."""

from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.errors import ErrorCode
from onemq.protocols.kafka.groups.member import Join
from onemq.protocols.kafka.schemas.heartbeat import HeartbeatRequest, HeartbeatResponse
from onemq.protocols.kafka.schemas.join_group import JoinGroupRequest, JoinGroupResponse
from onemq.protocols.kafka.schemas.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberResponse
from onemq.protocols.kafka.schemas.sync_group import SyncGroupRequest, SyncGroupResponse

MANY_MEMBERS_SINCE = 3
PROTOCOL_SINCE = 5
"""From this version on a member must say in SyncGroup what it has agreed to."""


def join_group(call: Call[JoinGroupRequest]) -> JoinGroupResponse | None:
    host = call.session.peer.address.rpartition(":")[0].strip("[]")
    join = Join(call.request, call.version, call.client_id or "", f"/{host}", call.answer)
    call.on_lost = join.lost
    call.service.groups.join(join)
    return None


def sync_group(call: Call[SyncGroupRequest]) -> SyncGroupResponse | None:
    request = call.request
    if call.version >= PROTOCOL_SINCE and (request.protocol_type is None or request.protocol_name is None):
        return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    call.service.groups.sync(request, call.answer)
    return None


def heartbeat(call: Call[HeartbeatRequest]) -> HeartbeatResponse:
    request = call.request
    code = call.service.groups.heartbeat(
        request.group_id, request.member_id, request.group_instance_id, request.generation_id
    )
    return HeartbeatResponse(error_code=code)


def leave_group(call: Call[LeaveGroupRequest]) -> LeaveGroupResponse:
    request, groups = call.request, call.service.groups
    if call.version < MANY_MEMBERS_SINCE:
        return LeaveGroupResponse(error_code=groups.leave(request.group_id, request.member_id, None))
    results = [
        MemberResponse(
            each.member_id,
            each.group_instance_id,
            groups.leave(request.group_id, each.member_id, each.group_instance_id),
        )
        for each in request.members
    ]
    invalid = any(each.error_code == ErrorCode.INVALID_GROUP_ID for each in results)
    if invalid:
        return LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    return LeaveGroupResponse(members=results)
