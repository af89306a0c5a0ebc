"""DeleteAcls, key 31."""

from onemq.protocols.kafka.schema import Int8, Int16, Int32, Message, Struct


class DeleteAclsFilter(Struct):
    resource_type_filter: Int8 = 0
    resource_name_filter: str | None = ""
    pattern_type_filter: Int8 = 3
    principal_filter: str | None = ""
    host_filter: str | None = ""
    operation: Int8 = 0
    permission_type: Int8 = 0


class DeleteAclsRequest(Message):
    api_key = 31
    versions = range(1, 4)
    flexible_since = 2

    filters: list[DeleteAclsFilter] = []


class DeleteAclsMatchingAcl(Struct):
    error_code: Int16 = 0
    error_message: str | None = None
    resource_type: Int8 = 0
    resource_name: str = ""
    pattern_type: Int8 = 3
    principal: str = ""
    host: str = ""
    operation: Int8 = 0
    permission_type: Int8 = 0


class DeleteAclsFilterResult(Struct):
    error_code: Int16 = 0
    error_message: str | None = None
    matching_acls: list[DeleteAclsMatchingAcl] = []


class DeleteAclsResponse(Message):
    api_key = 31
    versions = range(1, 4)
    flexible_since = 2

    throttle_time_ms: Int32 = 0
    filter_results: list[DeleteAclsFilterResult] = []
