"""DescribeConfigs, key 32."""

from typing import Annotated

from onemq.protocols.kafka.schema import Int8, Int16, Int32, Message, Struct, since


class DescribeConfigsResource(Struct):
    resource_type: Int8 = 0
    resource_name: str = ""
    configuration_keys: list[str] | None = []


class DescribeConfigsRequest(Message):
    api_key = 32
    versions = range(1, 5)
    flexible_since = 4

    resources: list[DescribeConfigsResource] = []
    include_synonyms: bool = False
    include_documentation: Annotated[bool, since(3)] = False


class DescribeConfigsSynonym(Struct):
    name: str = ""
    value: str | None = ""
    source: Int8 = 0


class DescribeConfigsResourceResult(Struct):
    name: str = ""
    value: str | None = ""
    read_only: bool = False
    config_source: Int8 = -1
    is_sensitive: bool = False
    synonyms: list[DescribeConfigsSynonym] = []
    config_type: Annotated[Int8, since(3)] = 0
    documentation: Annotated[str | None, since(3)] = ""


class DescribeConfigsResult(Struct):
    error_code: Int16 = 0
    error_message: str | None = None
    resource_type: Int8 = 0
    resource_name: str = ""
    configs: list[DescribeConfigsResourceResult] = []


class DescribeConfigsResponse(Message):
    api_key = 32
    versions = range(1, 5)
    flexible_since = 4

    throttle_time_ms: Int32 = 0
    results: list[DescribeConfigsResult] = []
