"""EndTxn, key 26."""

from typing import Annotated

from onemq.protocols.kafka.schema import Int16, Int32, Int64, Message, since


class EndTxnRequest(Message):
    api_key = 26
    versions = range(0, 6)
    flexible_since = 3

    transactional_id: str = ""
    producer_id: Int64 = 0
    producer_epoch: Int16 = 0
    committed: bool = False


class EndTxnResponse(Message):
    api_key = 26
    versions = range(0, 6)
    flexible_since = 3

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    producer_id: Annotated[Int64, since(5)] = -1
    producer_epoch: Annotated[Int16, since(5)] = -1
