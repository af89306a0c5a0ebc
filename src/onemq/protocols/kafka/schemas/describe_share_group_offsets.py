"""DescribeShareGroupOffsets, key 90."""

from typing import Annotated

from onemq.protocols.kafka.schema import NO_UUID, Int16, Int32, Int64, Message, Struct, Uuid, since


class DescribeShareGroupOffsetsRequestTopic(Struct):
    topic_name: str = ""
    partitions: list[Int32] = []


class DescribeShareGroupOffsetsRequestGroup(Struct):
    group_id: str = ""
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None = []


class DescribeShareGroupOffsetsRequest(Message):
    api_key = 90
    versions = range(0, 2)
    flexible_since = 0

    groups: list[DescribeShareGroupOffsetsRequestGroup] = []


class DescribeShareGroupOffsetsResponsePartition(Struct):
    partition_index: Int32 = 0
    start_offset: Int64 = 0
    leader_epoch: Int32 = 0
    lag: Annotated[Int64, since(1)] = -1
    error_code: Int16 = 0
    error_message: str | None = None


class DescribeShareGroupOffsetsResponseTopic(Struct):
    topic_name: str = ""
    topic_id: Uuid = NO_UUID
    partitions: list[DescribeShareGroupOffsetsResponsePartition] = []


class DescribeShareGroupOffsetsResponseGroup(Struct):
    group_id: str = ""
    topics: list[DescribeShareGroupOffsetsResponseTopic] = []
    error_code: Int16 = 0
    error_message: str | None = None


class DescribeShareGroupOffsetsResponse(Message):
    api_key = 90
    versions = range(0, 2)
    flexible_since = 0

    throttle_time_ms: Int32 = 0
    groups: list[DescribeShareGroupOffsetsResponseGroup] = []
