"""Metadata, key 3."""

from typing import Annotated

from onemq.protocols.kafka.schema import (
    INT32_MIN,
    NO_UUID,
    Int16,
    Int32,
    Message,
    Struct,
    Uuid,
    between,
    nullable_since,
    since,
)


class MetadataRequestTopic(Struct):
    topic_id: Annotated[Uuid, since(10)] = NO_UUID
    name: Annotated[str | None, nullable_since(10)] = ""


class MetadataRequest(Message):
    api_key = 3
    versions = range(0, 14)
    flexible_since = 9

    topics: Annotated[list[MetadataRequestTopic] | None, nullable_since(1)] = []
    allow_auto_topic_creation: Annotated[bool, since(4)] = True
    include_cluster_authorized_operations: Annotated[bool, between(8, 10)] = False
    include_topic_authorized_operations: Annotated[bool, since(8)] = False


class MetadataResponseBroker(Struct):
    node_id: Int32 = 0
    host: str = ""
    port: Int32 = 0
    rack: Annotated[str | None, since(1)] = None


class MetadataResponsePartition(Struct):
    error_code: Int16 = 0
    partition_index: Int32 = 0
    leader_id: Int32 = 0
    leader_epoch: Annotated[Int32, since(7)] = -1
    replica_nodes: list[Int32] = []
    isr_nodes: list[Int32] = []
    offline_replicas: Annotated[list[Int32], since(5)] = []


class MetadataResponseTopic(Struct):
    error_code: Int16 = 0
    name: Annotated[str | None, nullable_since(12)] = ""
    topic_id: Annotated[Uuid, since(10)] = NO_UUID
    is_internal: Annotated[bool, since(1)] = False
    partitions: list[MetadataResponsePartition] = []
    topic_authorized_operations: Annotated[Int32, since(8)] = INT32_MIN


class MetadataResponse(Message):
    api_key = 3
    versions = range(0, 14)
    flexible_since = 9

    throttle_time_ms: Annotated[Int32, since(3)] = 0
    brokers: list[MetadataResponseBroker] = []
    cluster_id: Annotated[str | None, since(2)] = None
    controller_id: Annotated[Int32, since(1)] = -1
    topics: list[MetadataResponseTopic] = []
    cluster_authorized_operations: Annotated[Int32, between(8, 10)] = INT32_MIN
    error_code: Annotated[Int16, since(13)] = 0
