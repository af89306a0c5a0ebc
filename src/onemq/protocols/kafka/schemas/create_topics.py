"""CreateTopics, key 19."""

from typing import Annotated

from onemq.protocols.kafka.schema import NO_UUID, Int8, Int16, Int32, Message, Struct, Uuid, since, tagged


class CreatableReplicaAssignment(Struct):
    partition_index: Int32 = 0
    broker_ids: list[Int32] = []


class CreatableTopicConfig(Struct):
    name: str = ""
    value: str | None = ""


class CreatableTopic(Struct):
    name: str = ""
    num_partitions: Int32 = 0
    replication_factor: Int16 = 0
    assignments: list[CreatableReplicaAssignment] = []
    configs: list[CreatableTopicConfig] = []


class CreateTopicsRequest(Message):
    api_key = 19
    versions = range(2, 8)
    flexible_since = 5

    topics: list[CreatableTopic] = []
    timeout_ms: Int32 = 60000
    validate_only: bool = False


class CreatableTopicConfigs(Struct):
    name: str = ""
    value: str | None = ""
    read_only: bool = False
    config_source: Int8 = -1
    is_sensitive: bool = False


class CreatableTopicResult(Struct):
    name: str = ""
    topic_id: Annotated[Uuid, since(7)] = NO_UUID
    error_code: Int16 = 0
    error_message: str | None = None
    topic_config_error_code: Annotated[Int16, since(5), tagged(0)] = 0
    num_partitions: Annotated[Int32, since(5)] = -1
    replication_factor: Annotated[Int16, since(5)] = -1
    configs: Annotated[list[CreatableTopicConfigs] | None, since(5)] = []


class CreateTopicsResponse(Message):
    api_key = 19
    versions = range(2, 8)
    flexible_since = 5

    throttle_time_ms: Int32 = 0
    topics: list[CreatableTopicResult] = []
