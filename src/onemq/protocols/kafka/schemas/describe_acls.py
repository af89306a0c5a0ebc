"""DescribeAcls, key 29."""

from onemq.protocols.kafka.schema import Int8, Int16, Int32, Message, Struct


class DescribeAclsRequest(Message):
    api_key = 29
    versions = range(1, 4)
    flexible_since = 2

    resource_type_filter: Int8 = 0
    resource_name_filter: str | None = ""
    pattern_type_filter: Int8 = 3
    principal_filter: str | None = ""
    host_filter: str | None = ""
    operation: Int8 = 0
    permission_type: Int8 = 0


class AclDescription(Struct):
    principal: str = ""
    host: str = ""
    operation: Int8 = 0
    permission_type: Int8 = 0


class DescribeAclsResource(Struct):
    resource_type: Int8 = 0
    resource_name: str = ""
    pattern_type: Int8 = 3
    acls: list[AclDescription] = []


class DescribeAclsResponse(Message):
    api_key = 29
    versions = range(1, 4)
    flexible_since = 2

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    resources: list[DescribeAclsResource] = []
