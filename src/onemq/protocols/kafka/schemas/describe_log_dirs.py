"""DescribeLogDirs, key 35."""

from typing import Annotated

from onemq.protocols.kafka.schema import Int16, Int32, Int64, Message, Struct, since


class DescribableLogDirTopic(Struct):
    topic: str = ""
    partitions: list[Int32] = []


class DescribeLogDirsRequest(Message):
    api_key = 35
    versions = range(1, 6)
    flexible_since = 2

    topics: list[DescribableLogDirTopic] | None = []


class DescribeLogDirsPartition(Struct):
    partition_index: Int32 = 0
    partition_size: Int64 = 0
    offset_lag: Int64 = 0
    is_future_key: bool = False


class DescribeLogDirsTopic(Struct):
    name: str = ""
    partitions: list[DescribeLogDirsPartition] = []


class DescribeLogDirsResult(Struct):
    error_code: Int16 = 0
    log_dir: str = ""
    topics: list[DescribeLogDirsTopic] = []
    total_bytes: Annotated[Int64, since(4)] = -1
    usable_bytes: Annotated[Int64, since(4)] = -1
    is_cordoned: Annotated[bool, since(5)] = False


class DescribeLogDirsResponse(Message):
    api_key = 35
    versions = range(1, 6)
    flexible_since = 2

    throttle_time_ms: Int32 = 0
    error_code: Annotated[Int16, since(3)] = 0
    results: list[DescribeLogDirsResult] = []
