"""JoinGroup, key 11."""

from typing import Annotated

from onemq.protocols.kafka.schema import Int16, Int32, Message, Struct, nullable_since, since


class JoinGroupRequestProtocol(Struct):
    name: str = ""
    metadata: bytes = b""


class JoinGroupRequest(Message):
    api_key = 11
    versions = range(0, 10)
    flexible_since = 6

    group_id: str = ""
    session_timeout_ms: Int32 = 0
    rebalance_timeout_ms: Annotated[Int32, since(1)] = -1
    member_id: str = ""
    group_instance_id: Annotated[str | None, since(5)] = None
    protocol_type: str = ""
    protocols: list[JoinGroupRequestProtocol] = []
    reason: Annotated[str | None, since(8)] = None


class JoinGroupResponseMember(Struct):
    member_id: str = ""
    group_instance_id: Annotated[str | None, since(5)] = None
    metadata: bytes = b""


class JoinGroupResponse(Message):
    api_key = 11
    versions = range(0, 10)
    flexible_since = 6

    throttle_time_ms: Annotated[Int32, since(2)] = 0
    error_code: Int16 = 0
    generation_id: Int32 = -1
    protocol_type: Annotated[str | None, since(7)] = None
    protocol_name: Annotated[str | None, nullable_since(7)] = ""
    leader: str = ""
    skip_assignment: Annotated[bool, since(9)] = False
    member_id: str = ""
    members: list[JoinGroupResponseMember] = []
