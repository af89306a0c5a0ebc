"""IncrementalAlterConfigs, key 44."""

from onemq.protocols.kafka.schema import Int8, Int16, Int32, Message, Struct


class AlterableConfig(Struct):
    name: str = ""
    config_operation: Int8 = 0
    value: str | None = ""


class AlterConfigsResource(Struct):
    resource_type: Int8 = 0
    resource_name: str = ""
    configs: list[AlterableConfig] = []


class IncrementalAlterConfigsRequest(Message):
    api_key = 44
    versions = range(0, 2)
    flexible_since = 1

    resources: list[AlterConfigsResource] = []
    validate_only: bool = False


class AlterConfigsResourceResponse(Struct):
    error_code: Int16 = 0
    error_message: str | None = None
    resource_type: Int8 = 0
    resource_name: str = ""


class IncrementalAlterConfigsResponse(Message):
    api_key = 44
    versions = range(0, 2)
    flexible_since = 1

    throttle_time_ms: Int32 = 0
    responses: list[AlterConfigsResourceResponse] = []
