"""JoinGroup, SyncGroup, Heartbeat, LeaveGroup: members of classic groups."""

from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.errors import ErrorCode
from onemq.protocols.kafka.groups.member import Join
from onemq.protocols.kafka.schemas.heartbeat import HeartbeatRequest, HeartbeatResponse
from onemq.protocols.kafka.schemas.join_group import JoinGroupRequest, JoinGroupResponse
from onemq.protocols.kafka.schemas.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberResponse
from onemq.protocols.kafka.schemas.sync_group import SyncGroupRequest, SyncGroupResponse

MANY_MEMBERS_SINCE = 3


def join_group(call: Call[JoinGroupRequest]) -> JoinGroupResponse | None:
    host = call.session.peer.address.rpartition(":")[0].strip("[]")
    join = Join(call.request, call.version, call.client_id or "", f"/{host}", call.answer)
    call.on_lost = join.lost
    call.service.groups.join(join)
    return None


def sync_group(call: Call[SyncGroupRequest]) -> SyncGroupResponse | None:
    call.service.groups.sync(call.request, call.answer)
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
