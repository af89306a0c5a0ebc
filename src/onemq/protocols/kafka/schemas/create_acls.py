"""CreateAcls, key 30."""

from onemq.protocols.kafka.schema import Int8, Int16, Int32, Message, Struct


class AclCreation(Struct):
    resource_type: Int8 = 0
    resource_name: str = ""
    resource_pattern_type: Int8 = 3
    principal: str = ""
    host: str = ""
    operation: Int8 = 0
    permission_type: Int8 = 0


class CreateAclsRequest(Message):
    api_key = 30
    versions = range(1, 4)
    flexible_since = 2

    creations: list[AclCreation] = []


class AclCreationResult(Struct):
    error_code: Int16 = 0
    error_message: str | None = None


class CreateAclsResponse(Message):
    api_key = 30
    versions = range(1, 4)
    flexible_since = 2

    throttle_time_ms: Int32 = 0
    results: list[AclCreationResult] = []
