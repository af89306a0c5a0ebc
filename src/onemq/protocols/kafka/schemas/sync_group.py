"""SyncGroup, key 14."""

from typing import Annotated

from onemq.protocols.kafka.schema import Int16, Int32, Message, Struct, since


class SyncGroupRequestAssignment(Struct):
    member_id: str = ""
    assignment: bytes = b""


class SyncGroupRequest(Message):
    api_key = 14
    versions = range(0, 6)
    flexible_since = 4

    group_id: str = ""
    generation_id: Int32 = 0
    member_id: str = ""
    group_instance_id: Annotated[str | None, since(3)] = None
    protocol_type: Annotated[str | None, since(5)] = None
    protocol_name: Annotated[str | None, since(5)] = None
    assignments: list[SyncGroupRequestAssignment] = []


class SyncGroupResponse(Message):
    api_key = 14
    versions = range(0, 6)
    flexible_since = 4

    throttle_time_ms: Annotated[Int32, since(1)] = 0
    error_code: Int16 = 0
    protocol_type: Annotated[str | None, since(5)] = None
    protocol_name: Annotated[str | None, since(5)] = None
    assignment: bytes = b""
