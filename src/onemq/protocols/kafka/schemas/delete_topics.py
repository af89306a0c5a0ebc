"""DeleteTopics, key 20."""

from typing import Annotated

from onemq.protocols.kafka.schema import NO_UUID, Int16, Int32, Message, Struct, Uuid, nullable_since, since, until


class DeleteTopicState(Struct):
    name: str | None = None
    topic_id: Uuid = NO_UUID


class DeleteTopicsRequest(Message):
    api_key = 20
    versions = range(1, 7)
    flexible_since = 4

    topics: Annotated[list[DeleteTopicState], since(6)] = []
    topic_names: Annotated[list[str], until(5)] = []
    timeout_ms: Int32 = 0


class DeletableTopicResult(Struct):
    name: Annotated[str | None, nullable_since(6)] = ""
    topic_id: Annotated[Uuid, since(6)] = NO_UUID
    error_code: Int16 = 0
    error_message: Annotated[str | None, since(5)] = None


class DeleteTopicsResponse(Message):
    api_key = 20
    versions = range(1, 7)
    flexible_since = 4

    throttle_time_ms: Int32 = 0
    responses: list[DeletableTopicResult] = []
