"""AddPartitionsToTxn, key 24."""

from typing import Annotated

from onemq.protocols.kafka.schema import Int16, Int32, Int64, Message, Struct, since, until


class AddPartitionsToTxnTopic(Struct):
    name: str = ""
    partitions: list[Int32] = []


class AddPartitionsToTxnTransaction(Struct):
    transactional_id: str = ""
    producer_id: Int64 = 0
    producer_epoch: Int16 = 0
    verify_only: bool = False
    topics: list[AddPartitionsToTxnTopic] = []


class AddPartitionsToTxnRequest(Message):
    api_key = 24
    versions = range(0, 6)
    flexible_since = 3

    transactions: Annotated[list[AddPartitionsToTxnTransaction], since(4)] = []
    v3_and_below_transactional_id: Annotated[str, until(3)] = ""
    v3_and_below_producer_id: Annotated[Int64, until(3)] = 0
    v3_and_below_producer_epoch: Annotated[Int16, until(3)] = 0
    v3_and_below_topics: Annotated[list[AddPartitionsToTxnTopic], until(3)] = []


class AddPartitionsToTxnPartitionResult(Struct):
    partition_index: Int32 = 0
    partition_error_code: Int16 = 0


class AddPartitionsToTxnTopicResult(Struct):
    name: str = ""
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = []


class AddPartitionsToTxnResult(Struct):
    transactional_id: str = ""
    topic_results: list[AddPartitionsToTxnTopicResult] = []


class AddPartitionsToTxnResponse(Message):
    api_key = 24
    versions = range(0, 6)
    flexible_since = 3

    throttle_time_ms: Int32 = 0
    error_code: Annotated[Int16, since(4)] = 0
    results_by_transaction: Annotated[list[AddPartitionsToTxnResult], since(4)] = []
    results_by_topic_v3_and_below: Annotated[list[AddPartitionsToTxnTopicResult], until(3)] = []
