"""AlterConfigs, key 33."""

from onemq.protocols.kafka.schema import Int8, Int16, Int32, Message, Struct


class AlterableConfig(Struct):
    name: str = ""
    value: str | None = ""


class AlterConfigsResource(Struct):
    resource_type: Int8 = 0
    resource_name: str = ""
    configs: list[AlterableConfig] = []


class AlterConfigsRequest(Message):
    api_key = 33
    versions = range(0, 3)
    flexible_since = 2

    resources: list[AlterConfigsResource] = []
    validate_only: bool = False


class AlterConfigsResourceResponse(Struct):
    error_code: Int16 = 0
    error_message: str | None = None
    resource_type: Int8 = 0
    resource_name: str = ""


class AlterConfigsResponse(Message):
    api_key = 33
    versions = range(0, 3)
    flexible_since = 2

    throttle_time_ms: Int32 = 0
    responses: list[AlterConfigsResourceResponse] = []
