"""OffsetFetch, key 9."""

from typing import Annotated

from onemq.protocols.kafka.schema import (
    NO_UUID,
    Int16,
    Int32,
    Int64,
    Message,
    Struct,
    Uuid,
    between,
    nullable_since,
    since,
    until,
)


class OffsetFetchRequestTopic(Struct):
    name: str = ""
    partition_indexes: list[Int32] = []


class OffsetFetchRequestTopics(Struct):
    name: Annotated[str, until(9)] = ""
    topic_id: Annotated[Uuid, since(10)] = NO_UUID
    partition_indexes: list[Int32] = []


class OffsetFetchRequestGroup(Struct):
    group_id: str = ""
    member_id: Annotated[str | None, since(9)] = None
    member_epoch: Annotated[Int32, since(9)] = -1
    topics: list[OffsetFetchRequestTopics] | None = []


class OffsetFetchRequest(Message):
    api_key = 9
    versions = range(1, 11)
    flexible_since = 6

    group_id: Annotated[str, until(7)] = ""
    topics: Annotated[list[OffsetFetchRequestTopic] | None, until(7), nullable_since(2)] = []
    groups: Annotated[list[OffsetFetchRequestGroup], since(8)] = []
    require_stable: Annotated[bool, since(7)] = False


class OffsetFetchResponsePartition(Struct):
    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Annotated[Int32, since(5)] = -1
    metadata: str | None = ""
    error_code: Int16 = 0


class OffsetFetchResponseTopic(Struct):
    name: str = ""
    partitions: list[OffsetFetchResponsePartition] = []


class OffsetFetchResponsePartitions(Struct):
    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Int32 = -1
    metadata: str | None = ""
    error_code: Int16 = 0


class OffsetFetchResponseTopics(Struct):
    name: Annotated[str, until(9)] = ""
    topic_id: Annotated[Uuid, since(10)] = NO_UUID
    partitions: list[OffsetFetchResponsePartitions] = []


class OffsetFetchResponseGroup(Struct):
    group_id: str = ""
    topics: list[OffsetFetchResponseTopics] = []
    error_code: Int16 = 0


class OffsetFetchResponse(Message):
    api_key = 9
    versions = range(1, 11)
    flexible_since = 6

    throttle_time_ms: Annotated[Int32, since(3)] = 0
    topics: Annotated[list[OffsetFetchResponseTopic], until(7)] = []
    error_code: Annotated[Int16, between(2, 7)] = 0
    groups: Annotated[list[OffsetFetchResponseGroup], since(8)] = []
