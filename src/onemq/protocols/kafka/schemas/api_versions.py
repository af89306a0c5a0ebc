"""ApiVersions, key 18."""

from typing import Annotated

from onemq.protocols.kafka.schema import Int16, Int32, Int64, Message, Struct, since, tagged


class ApiVersionsRequest(Message):
    api_key = 18
    versions = range(0, 6)
    flexible_since = 3

    client_software_name: Annotated[str, since(3)] = ""
    client_software_version: Annotated[str, since(3)] = ""
    cluster_id: Annotated[str | None, since(5)] = None
    node_id: Annotated[Int32, since(5)] = -1


class ApiVersion(Struct):
    api_key: Int16 = 0
    min_version: Int16 = 0
    max_version: Int16 = 0


class SupportedFeatureKey(Struct):
    name: str = ""
    min_version: Int16 = 0
    max_version: Int16 = 0


class FinalizedFeatureKey(Struct):
    name: str = ""
    max_version_level: Int16 = 0
    min_version_level: Int16 = 0


class ApiVersionsResponse(Message):
    api_key = 18
    versions = range(0, 6)
    flexible_since = 3

    error_code: Int16 = 0
    api_keys: list[ApiVersion] = []
    throttle_time_ms: Annotated[Int32, since(1)] = 0
    supported_features: Annotated[list[SupportedFeatureKey], since(3), tagged(0)] = []
    finalized_features_epoch: Annotated[Int64, since(3), tagged(1)] = -1
    finalized_features: Annotated[list[FinalizedFeatureKey], since(3), tagged(2)] = []
    zk_migration_ready: Annotated[bool, since(3), tagged(3)] = False
