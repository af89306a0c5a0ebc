"""Produce, key 0."""

from typing import Annotated

from onemq.protocols.kafka.schema import (
    NO_UUID,
    Frozen,
    Int16,
    Int32,
    Int64,
    Message,
    Records,
    Struct,
    Uuid,
    since,
    tagged,
    until,
)


class PartitionProduceData(Struct):
    index: Int32 = 0
    records: Records | None = None


class TopicProduceData(Struct):
    name: Annotated[str, until(12)] = ""
    topic_id: Annotated[Uuid, since(13)] = NO_UUID
    partition_data: list[PartitionProduceData] = []


class ProduceRequest(Message):
    api_key = 0
    versions = range(3, 14)
    flexible_since = 9

    transactional_id: str | None = None
    acks: Int16 = 0
    timeout_ms: Int32 = 0
    topic_data: list[TopicProduceData] = []


class BatchIndexAndErrorMessage(Struct):
    batch_index: Int32 = 0
    batch_index_error_message: str | None = None


class LeaderIdAndEpoch(Frozen, frozen=True):
    leader_id: Int32 = -1
    leader_epoch: Int32 = -1


class PartitionProduceResponse(Struct):
    index: Int32 = 0
    error_code: Int16 = 0
    base_offset: Int64 = 0
    log_append_time_ms: Int64 = -1
    log_start_offset: Annotated[Int64, since(5)] = -1
    record_errors: Annotated[list[BatchIndexAndErrorMessage], since(8)] = []
    error_message: Annotated[str | None, since(8)] = None
    current_leader: Annotated[LeaderIdAndEpoch, since(10), tagged(0)] = LeaderIdAndEpoch()


class TopicProduceResponse(Struct):
    name: Annotated[str, until(12)] = ""
    topic_id: Annotated[Uuid, since(13)] = NO_UUID
    partition_responses: list[PartitionProduceResponse] = []


class NodeEndpoint(Struct):
    node_id: Int32 = 0
    host: str = ""
    port: Int32 = 0
    rack: str | None = None


class ProduceResponse(Message):
    api_key = 0
    versions = range(3, 14)
    flexible_since = 9

    responses: list[TopicProduceResponse] = []
    throttle_time_ms: Int32 = 0
    node_endpoints: Annotated[list[NodeEndpoint], since(10), tagged(0)] = []
