"""AddPartitionsToTxn, AddOffsetsToTxn, TxnOffsetCommit, EndTxn: the steps of a transaction.

A producer with a transactional id is an owner of transactions in the core: what it sends waits outside the partitions,
and moves there, with the offsets, when it commits. So nothing that is not committed can be read by anybody.
"""

from collections.abc import Iterable

from onemq.core.marking import Place
from onemq.core.topics import Topic
from onemq.errors import Busy, DiskFull, Fenced, NotFound, OneMQError, ReadOnly, TransactionTooLarge
from onemq.limits import KAFKA_REMARK_BYTES_MAX
from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.errors import ErrorCode, code_of
from onemq.protocols.kafka.handlers.offsets import check_group_name
from onemq.protocols.kafka.schemas.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from onemq.protocols.kafka.schemas.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
)
from onemq.protocols.kafka.schemas.end_txn import EndTxnRequest, EndTxnResponse
from onemq.protocols.kafka.schemas.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

_FENCED_SINCE = 2


def transaction_code(error: OneMQError, knows_fenced: bool) -> ErrorCode:
    """The code for what owners of transactions raise; `knows_fenced`: the version has a code of its own for those whose
    place was taken."""
    if isinstance(error, Fenced):
        return ErrorCode.PRODUCER_FENCED if knows_fenced else ErrorCode.INVALID_PRODUCER_EPOCH
    if isinstance(error, NotFound):
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if isinstance(error, Busy):
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if isinstance(error, TransactionTooLarge):
        return ErrorCode.POLICY_VIOLATION
    if isinstance(error, DiskFull | ReadOnly):
        return ErrorCode.COORDINATOR_NOT_AVAILABLE  # clients ask again
    return code_of(error)


# Beginning


def add_partitions_to_txn(call: Call[AddPartitionsToTxnRequest]) -> AddPartitionsToTxnResponse:
    """All partitions are added, or none is."""
    request = call.request
    unknown = {(each.name, number) for each in request.v3_and_below_topics for number in _unknown(call, each)}
    code = ErrorCode.OPERATION_NOT_ATTEMPTED
    if not unknown:
        identity = request.v3_and_below_producer_id, request.v3_and_below_producer_epoch
        targets = [(topic, number) for topic, numbers in _targets(call) for number in numbers]
        try:
            call.service.core.owners.begin(request.v3_and_below_transactional_id, identity, targets)
            code = ErrorCode.NONE
        except OneMQError as error:
            code = transaction_code(error, call.version >= _FENCED_SINCE)
    return AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=[_added(each, code, unknown) for each in request.v3_and_below_topics]
    )


def _targets(call: Call[AddPartitionsToTxnRequest]) -> Iterable[tuple[Topic, list[int]]]:
    for each in call.request.v3_and_below_topics:
        yield call.service.topics.get(each.name), each.partitions


def _unknown(call: Call[AddPartitionsToTxnRequest], wanted: AddPartitionsToTxnTopic) -> list[int]:
    topic = call.service.topics.find(wanted.name)
    partitions = 0 if topic is None else len(topic.partitions)
    return [number for number in wanted.partitions if not 0 <= number < partitions]


def _added(
    topic: AddPartitionsToTxnTopic, code: ErrorCode, unknown: set[tuple[str, int]]
) -> AddPartitionsToTxnTopicResult:
    results = [
        AddPartitionsToTxnPartitionResult(
            number, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if (topic.name, number) in unknown else code
        )
        for number in topic.partitions
    ]
    return AddPartitionsToTxnTopicResult(topic.name, results)


def add_offsets_to_txn(call: Call[AddOffsetsToTxnRequest]) -> AddOffsetsToTxnResponse:
    request = call.request
    try:
        check_group_name(request.group_id)
        identity = request.producer_id, request.producer_epoch
        call.service.core.owners.begin(request.transactional_id, identity, groups=[request.group_id])
    except OneMQError as error:
        return AddOffsetsToTxnResponse(error_code=transaction_code(error, call.version >= _FENCED_SINCE))
    return AddOffsetsToTxnResponse()


# Offsets


def txn_offset_commit(call: Call[TxnOffsetCommitRequest]) -> TxnOffsetCommitResponse:
    """The offsets wait for the end of the transaction."""
    request = call.request
    code = call.service.groups.check_commit(
        request.group_id,
        request.member_id,
        request.group_instance_id,
        request.generation_id_or_member_epoch,
        call.version,
        transactional=True,
    )
    return TxnOffsetCommitResponse(topics=[_commit_topic(call, each, code) for each in request.topics])


def _commit_topic(
    call: Call[TxnOffsetCommitRequest], wanted: TxnOffsetCommitRequestTopic, code: ErrorCode
) -> TxnOffsetCommitResponseTopic:
    codes = [code] * len(wanted.partitions)
    if code is ErrorCode.NONE:
        topic = call.service.topics.find(wanted.name)
        codes = [_check_place(topic, each) for each in wanted.partitions]
        good = [each for each, code in zip(wanted.partitions, codes, strict=True) if code is ErrorCode.NONE]
        if topic is not None and good:
            code = _stage_offsets(call, topic, good)
            codes = [code if each is ErrorCode.NONE else each for each in codes]
    pairs = zip(wanted.partitions, codes, strict=True)
    partitions = [TxnOffsetCommitResponsePartition(each.partition_index, code) for each, code in pairs]
    return TxnOffsetCommitResponseTopic(wanted.name, partitions=partitions)


def _check_place(topic: Topic | None, place: TxnOffsetCommitRequestPartition) -> ErrorCode:
    if topic is None or not 0 <= place.partition_index < len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if len((place.committed_metadata or "").encode()) > KAFKA_REMARK_BYTES_MAX:
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    return ErrorCode.NONE


def _stage_offsets(
    call: Call[TxnOffsetCommitRequest], topic: Topic, partitions: list[TxnOffsetCommitRequestPartition]
) -> ErrorCode:
    request = call.request
    places = {each.partition_index: Place(each.committed_offset, each.committed_metadata or "") for each in partitions}
    identity = request.producer_id, request.producer_epoch
    try:
        call.service.core.owners.commit_offsets(request.transactional_id, identity, request.group_id, topic, places)
    except OneMQError as error:
        return transaction_code(error, knows_fenced=False)
    return ErrorCode.NONE


# The end


def end_txn(call: Call[EndTxnRequest]) -> EndTxnResponse | None:
    """Answers when everything is where it goes."""
    request, core = call.request, call.service.core

    def answer(error: OneMQError | None) -> None:
        call.answer(EndTxnResponse(error_code=_end_code(call, error)))

    try:
        made = core.owners.end(
            request.transactional_id, (request.producer_id, request.producer_epoch), request.committed
        )
    except OneMQError as error:
        return EndTxnResponse(error_code=_end_code(call, error))
    if not made.left:
        return EndTxnResponse()
    made.then = answer
    call.on_lost = lambda: core.halves.commits.forget(made)
    return None


def _end_code(call: Call[EndTxnRequest], error: OneMQError | None) -> ErrorCode:
    return ErrorCode.NONE if error is None else transaction_code(error, call.version >= _FENCED_SINCE)
