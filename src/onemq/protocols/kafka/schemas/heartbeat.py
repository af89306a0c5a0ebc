"""Heartbeat, key 12."""

from typing import Annotated

from onemq.protocols.kafka.schema import Int16, Int32, Message, since


class HeartbeatRequest(Message):
    api_key = 12
    versions = range(0, 5)
    flexible_since = 4

    group_id: str = ""
    generation_id: Int32 = 0
    member_id: str = ""
    group_instance_id: Annotated[str | None, since(3)] = None


class HeartbeatResponse(Message):
    api_key = 12
    versions = range(0, 5)
    flexible_since = 4

    throttle_time_ms: Annotated[Int32, since(1)] = 0
    error_code: Int16 = 0
