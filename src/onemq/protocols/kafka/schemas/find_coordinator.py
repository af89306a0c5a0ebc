"""FindCoordinator, key 10."""

from typing import Annotated

from onemq.protocols.kafka.schema import Int8, Int16, Int32, Message, Struct, between, since, until


class FindCoordinatorRequest(Message):
    api_key = 10
    versions = range(0, 7)
    flexible_since = 3

    key: Annotated[str, until(3)] = ""
    key_type: Annotated[Int8, since(1)] = 0
    coordinator_keys: Annotated[list[str], since(4)] = []


class Coordinator(Struct):
    key: str = ""
    node_id: Int32 = 0
    host: str = ""
    port: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None


class FindCoordinatorResponse(Message):
    api_key = 10
    versions = range(0, 7)
    flexible_since = 3

    throttle_time_ms: Annotated[Int32, since(1)] = 0
    error_code: Annotated[Int16, until(3)] = 0
    error_message: Annotated[str | None, between(1, 3)] = None
    node_id: Annotated[Int32, until(3)] = 0
    host: Annotated[str, until(3)] = ""
    port: Annotated[Int32, until(3)] = 0
    coordinators: Annotated[list[Coordinator], since(4)] = []
