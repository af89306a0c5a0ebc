"""AddOffsetsToTxn, key 25."""

from onemq.protocols.kafka.schema import Int16, Int32, Int64, Message


class AddOffsetsToTxnRequest(Message):
    api_key = 25
    versions = range(0, 5)
    flexible_since = 3

    transactional_id: str = ""
    producer_id: Int64 = 0
    producer_epoch: Int16 = 0
    group_id: str = ""


class AddOffsetsToTxnResponse(Message):
    api_key = 25
    versions = range(0, 5)
    flexible_since = 3

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
