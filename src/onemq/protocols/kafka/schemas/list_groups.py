"""ListGroups, key 16."""

from typing import Annotated

from onemq.protocols.kafka.schema import Int16, Int32, Message, Struct, since


class ListGroupsRequest(Message):
    api_key = 16
    versions = range(0, 6)
    flexible_since = 3

    states_filter: Annotated[list[str], since(4)] = []
    types_filter: Annotated[list[str], since(5)] = []


class ListedGroup(Struct):
    group_id: str = ""
    protocol_type: str = ""
    group_state: Annotated[str, since(4)] = ""
    group_type: Annotated[str, since(5)] = ""


class ListGroupsResponse(Message):
    api_key = 16
    versions = range(0, 6)
    flexible_since = 3

    throttle_time_ms: Annotated[Int32, since(1)] = 0
    error_code: Int16 = 0
    groups: list[ListedGroup] = []
