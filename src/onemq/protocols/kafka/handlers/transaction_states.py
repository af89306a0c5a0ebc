"""ListTransactions, DescribeTransactions, DescribeProducers: what producers do, for those who look after them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onemq.core.owner import Owner
from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.errors import ErrorCode, Refused
from onemq.protocols.kafka.expressions import Expression, compile_expression
from onemq.protocols.kafka.schemas import describe_transactions as described
from onemq.protocols.kafka.schemas import list_transactions as listed
from onemq.protocols.kafka.schemas.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicRequest,
    TopicResponse,
)

if TYPE_CHECKING:
    from onemq.protocols.kafka.service import KafkaService

EMPTY, ONGOING, COMMITTING, COMMITTED, ABORTED = "Empty", "Ongoing", "PrepareCommit", "CompleteCommit", "CompleteAbort"
_STATES = {EMPTY, ONGOING, COMMITTING, COMMITTED, ABORTED, "PrepareAbort", "Dead", "PrepareEpochFence"}


def state_of(service: "KafkaService", owner: Owner) -> str:
    """In Kafka's words."""
    if owner.is_open:
        return ONGOING
    if service.core.owners.is_committing(owner):
        return COMMITTING
    if owner.committed is None:
        return EMPTY
    return COMMITTED if owner.committed else ABORTED


def list_transactions(call: Call[listed.ListTransactionsRequest]) -> listed.ListTransactionsResponse:
    request, service = call.request, call.service
    expression = request.transactional_id_pattern
    try:
        pattern = compile_expression(expression) if expression else None
    except Refused as refused:
        return listed.ListTransactionsResponse(error_code=refused.error)
    unknown = [each for each in request.state_filters if each not in _STATES]
    states = [
        listed.TransactionState(owner.name, service.core.owners.producer(owner).id, state_of(service, owner))
        for owner in _wanted(call, pattern)
    ]
    return listed.ListTransactionsResponse(unknown_state_filters=unknown, transaction_states=states)


def _wanted(call: Call[listed.ListTransactionsRequest], pattern: Expression | None) -> Iterator[Owner]:
    request, service = call.request, call.service
    states, ids, least_ms = request.state_filters, request.producer_id_filters, request.duration_filter
    for owner in service.core.owners:
        duration_ms = -1 if owner.begun_ms is None else service.now_ms - owner.begun_ms
        if (
            (not states or state_of(service, owner) in states)
            and (not ids or service.core.owners.producer(owner).id in ids)
            and (least_ms < 0 or duration_ms > least_ms)
            and (pattern is None or pattern.fullmatch(owner.name))
        ):
            yield owner


def describe_transactions(
    call: Call[described.DescribeTransactionsRequest],
) -> described.DescribeTransactionsResponse:
    owners = {owner.name: owner for owner in call.service.core.owners}
    states = [
        _described(call.service, owners[name])
        if name in owners
        else described.TransactionState(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, name)
        for name in call.request.transactional_ids
    ]
    return described.DescribeTransactionsResponse(transaction_states=states)


def _described(service: "KafkaService", owner: Owner) -> described.TransactionState:
    producer = service.core.owners.producer(owner)
    numbers: dict[str, list[int]] = {}
    for topic_id, number in owner.targets:
        topic = service.core.topics.by_id(topic_id)
        if topic is not None:
            numbers.setdefault(topic.name, []).append(number)
    return described.TransactionState(
        ErrorCode.NONE,
        owner.name,
        state_of(service, owner),
        owner.timeout_ms,
        -1 if owner.begun_ms is None else owner.begun_ms,
        producer.id,
        producer.epoch,
        [described.TopicData(name, some) for name, some in numbers.items()],
    )


def describe_producers(call: Call[DescribeProducersRequest]) -> DescribeProducersResponse:
    return DescribeProducersResponse(topics=[_producers_of(call.service, each) for each in call.request.topics])


def _producers_of(service: "KafkaService", wanted: TopicRequest) -> TopicResponse:
    topic = service.topics.find(wanted.name)
    partitions = 0 if topic is None else len(topic.partitions)
    rows: list[PartitionResponse] = []
    for number in wanted.partition_indexes:
        if topic is None or not 0 <= number < partitions:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            rows.append(PartitionResponse(number, code, f"there is no partition {number} of a topic {wanted.name!r}"))
        else:
            rows.append(PartitionResponse(number, active_producers=list(_states(service, topic.id, number))))
    return TopicResponse(wanted.name, rows)


def _states(service: "KafkaService", topic_id: int, number: int) -> Iterator[ProducerState]:
    for producer in service.core.producers:
        sequences = producer.sent.get((topic_id, number))
        if sequences is not None:
            yield ProducerState(producer.id, sequences.epoch, sequences.sent[-1][1], producer.seen_ms)
