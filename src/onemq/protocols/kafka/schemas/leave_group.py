"""LeaveGroup, key 13."""

from typing import Annotated

from onemq.protocols.kafka.schema import Int16, Int32, Message, Struct, since, until


class MemberIdentity(Struct):
    member_id: str = ""
    group_instance_id: str | None = None
    reason: Annotated[str | None, since(5)] = None


class LeaveGroupRequest(Message):
    api_key = 13
    versions = range(0, 6)
    flexible_since = 4

    group_id: str = ""
    member_id: Annotated[str, until(2)] = ""
    members: Annotated[list[MemberIdentity], since(3)] = []


class MemberResponse(Struct):
    member_id: str = ""
    group_instance_id: str | None = ""
    error_code: Int16 = 0


class LeaveGroupResponse(Message):
    api_key = 13
    versions = range(0, 6)
    flexible_since = 4

    throttle_time_ms: Annotated[Int32, since(1)] = 0
    error_code: Int16 = 0
    members: Annotated[list[MemberResponse], since(3)] = []
