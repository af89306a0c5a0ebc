"""ListTransactions, key 66."""

from typing import Annotated

from onemq.protocols.kafka.schema import Int16, Int32, Int64, Message, Struct, since


class ListTransactionsRequest(Message):
    api_key = 66
    versions = range(0, 3)
    flexible_since = 0

    state_filters: list[str] = []
    producer_id_filters: list[Int64] = []
    duration_filter: Annotated[Int64, since(1)] = -1
    transactional_id_pattern: Annotated[str | None, since(2)] = None


class TransactionState(Struct):
    transactional_id: str = ""
    producer_id: Int64 = 0
    transaction_state: str = ""


class ListTransactionsResponse(Message):
    api_key = 66
    versions = range(0, 3)
    flexible_since = 0

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    unknown_state_filters: list[str] = []
    transaction_states: list[TransactionState] = []
