"""InitProducerId, key 22."""

from typing import Annotated

from onemq.protocols.kafka.schema import Int16, Int32, Int64, Message, since


class InitProducerIdRequest(Message):
    api_key = 22
    versions = range(0, 7)
    flexible_since = 2

    transactional_id: str | None = ""
    transaction_timeout_ms: Int32 = 0
    producer_id: Annotated[Int64, since(3)] = -1
    producer_epoch: Annotated[Int16, since(3)] = -1
    enable2_pc: Annotated[bool, since(6)] = False
    keep_prepared_txn: Annotated[bool, since(6)] = False


class InitProducerIdResponse(Message):
    api_key = 22
    versions = range(0, 7)
    flexible_since = 2

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    producer_id: Int64 = -1
    producer_epoch: Int16 = 0
    ongoing_txn_producer_id: Annotated[Int64, since(6)] = -1
    ongoing_txn_producer_epoch: Annotated[Int16, since(6)] = -1
