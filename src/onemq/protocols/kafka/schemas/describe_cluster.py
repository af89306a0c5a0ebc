"""DescribeCluster, key 60."""

from typing import Annotated

from onemq.protocols.kafka.schema import INT32_MIN, Int8, Int16, Int32, Message, Struct, since


class DescribeClusterRequest(Message):
    api_key = 60
    versions = range(0, 3)
    flexible_since = 0

    include_cluster_authorized_operations: bool = False
    endpoint_type: Annotated[Int8, since(1)] = 1
    include_fenced_brokers: Annotated[bool, since(2)] = False


class DescribeClusterBroker(Struct):
    broker_id: Int32 = 0
    host: str = ""
    port: Int32 = 0
    rack: str | None = None
    is_fenced: Annotated[bool, since(2)] = False


class DescribeClusterResponse(Message):
    api_key = 60
    versions = range(0, 3)
    flexible_since = 0

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    endpoint_type: Annotated[Int8, since(1)] = 1
    cluster_id: str = ""
    controller_id: Int32 = -1
    brokers: list[DescribeClusterBroker] = []
    cluster_authorized_operations: Int32 = INT32_MIN
