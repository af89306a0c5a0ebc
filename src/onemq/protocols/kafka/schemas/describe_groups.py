"""DescribeGroups, key 15."""

from typing import Annotated

from onemq.protocols.kafka.schema import INT32_MIN, Int16, Int32, Message, Struct, since


class DescribeGroupsRequest(Message):
    api_key = 15
    versions = range(0, 7)
    flexible_since = 5

    groups: list[str] = []
    include_authorized_operations: Annotated[bool, since(3)] = False


class DescribedGroupMember(Struct):
    member_id: str = ""
    group_instance_id: Annotated[str | None, since(4)] = None
    client_id: str = ""
    client_host: str = ""
    member_metadata: bytes = b""
    member_assignment: bytes = b""


class DescribedGroup(Struct):
    error_code: Int16 = 0
    error_message: Annotated[str | None, since(6)] = None
    group_id: str = ""
    group_state: str = ""
    protocol_type: str = ""
    protocol_data: str = ""
    members: list[DescribedGroupMember] = []
    authorized_operations: Annotated[Int32, since(3)] = INT32_MIN


class DescribeGroupsResponse(Message):
    api_key = 15
    versions = range(0, 7)
    flexible_since = 5

    throttle_time_ms: Annotated[Int32, since(1)] = 0
    groups: list[DescribedGroup] = []
