"""DeleteGroups, key 42."""

from typing import Annotated

from onemq.protocols.kafka.schema import Int16, Int32, Message, Struct, since


class DeleteGroupsRequest(Message):
    api_key = 42
    versions = range(0, 4)
    flexible_since = 2

    groups_names: list[str] = []


class DeletableGroupResult(Struct):
    group_id: str = ""
    error_code: Int16 = 0
    error_message: Annotated[str | None, since(3)] = None


class DeleteGroupsResponse(Message):
    api_key = 42
    versions = range(0, 4)
    flexible_since = 2

    throttle_time_ms: Int32 = 0
    results: list[DeletableGroupResult] = []
