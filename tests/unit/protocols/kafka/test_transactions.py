"""InitProducerId and the steps of a transaction, as codes on the wire."""

from collections import Counter
from typing import Any

import pytest

from onemq.core import commits
from onemq.errors import DiskFull
from onemq.limits import OWNER_TIMEOUT_MS_MAX
from onemq.log.batch import TRANSACTIONAL
from onemq.log.batch_builder import BatchBuilder
from onemq.protocols.kafka.errors import ErrorCode
from onemq.protocols.kafka.schemas.add_offsets_to_txn import AddOffsetsToTxnRequest
from onemq.protocols.kafka.schemas.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from onemq.protocols.kafka.schemas.describe_producers import DescribeProducersRequest, TopicRequest
from onemq.protocols.kafka.schemas.describe_transactions import DescribeTransactionsRequest
from onemq.protocols.kafka.schemas.end_txn import EndTxnRequest
from onemq.protocols.kafka.schemas.init_producer_id import InitProducerIdRequest
from onemq.protocols.kafka.schemas.list_transactions import ListTransactionsRequest
from onemq.protocols.kafka.schemas.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from onemq.protocols.kafka.schemas.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from onemq.protocols.kafka.schemas.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.unit.protocols.kafka.fakes import NOW_MS, Client

NAME = "copier"
TIMEOUT_MS = 60_000
PRODUCE_VERSION = 11


class Transacting(Client):
    """A client with a transactional id, its topic `t` of two partitions, and what it knows of itself."""

    def __init__(self, client: Client | None = None) -> None:
        super().__init__(client.service if client is not None else None)
        self.id = self.epoch = -1
        self.sequences: Counter[int] = Counter()
        if client is None:
            self.core.topics.create("t", 2)

    def init(self, version: int = 4, **more: Any) -> ErrorCode:
        answer = self.ask(InitProducerIdRequest(NAME, **({"transaction_timeout_ms": TIMEOUT_MS} | more)), version)
        self.id, self.epoch = answer.producer_id, answer.producer_epoch
        self.sequences.clear()
        return ErrorCode(answer.error_code)

    def add(self, *numbers: int, topic: str = "t", version: int = 3) -> list[ErrorCode]:
        topics = [AddPartitionsToTxnTopic(topic, list(numbers))]
        answer = self.ask(AddPartitionsToTxnRequest([], NAME, self.id, self.epoch, topics), version)
        (result,) = answer.results_by_topic_v3_and_below
        return [ErrorCode(each.partition_error_code) for each in result.results_by_partition]

    def produce(self, *bodies: bytes, number: int = 0, name: str | None = NAME) -> tuple[ErrorCode, int]:
        builder = BatchBuilder(0, NOW_MS)
        for body in bodies:
            builder.add(NOW_MS, None, body, b"\0")
        batch = builder.seal(TRANSACTIONAL, producer=(self.id, self.epoch, self.sequences[number]))
        data = [TopicProduceData("t", partition_data=[PartitionProduceData(number, batch)])]
        answer = self.ask(ProduceRequest(name, -1, 1_000, data), PRODUCE_VERSION)
        ((partition,),) = [each.partition_responses for each in answer.responses]
        if not partition.error_code:
            self.sequences[number] += len(bodies)
        return ErrorCode(partition.error_code), partition.base_offset

    def add_group(self, group: str = "g", version: int = 3) -> ErrorCode:
        return ErrorCode(self.ask(AddOffsetsToTxnRequest(NAME, self.id, self.epoch, group), version).error_code)

    def commit_offset(
        self, offset: int, number: int = 0, topic: str = "t", metadata: str = "", **more: Any
    ) -> ErrorCode:
        partition = TxnOffsetCommitRequestPartition(number, offset, committed_metadata=metadata)
        topics = [TxnOffsetCommitRequestTopic(topic, partitions=[partition])]
        answer = self.ask(TxnOffsetCommitRequest(NAME, "g", self.id, self.epoch, topics=topics, **more), 3)
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    def end(self, committed: bool = True, version: int = 3) -> ErrorCode:
        return ErrorCode(self.ask(EndTxnRequest(NAME, self.id, self.epoch, committed), version).error_code)

    def ends(self) -> list[int]:
        return [partition.end for partition in self.core.topics.get("t").partitions]

    def state(self) -> str:
        answer = self.ask(DescribeTransactionsRequest([NAME]))
        return str(answer.transaction_states[0].transaction_state)


@pytest.fixture
def client() -> Transacting:
    made = Transacting()
    assert made.init() is ErrorCode.NONE
    return made


# Ids


@pytest.mark.parametrize("version", range(6))
def test_each_producer_without_a_transactional_id_gets_a_new_id(version: int) -> None:
    client = Client()
    answers = [client.ask(InitProducerIdRequest(None), version) for _ in range(3)]
    assert [(each.error_code, each.producer_epoch) for each in answers] == [(0, 0)] * 3
    assert len({each.producer_id for each in answers}) == 3


@pytest.mark.parametrize("version", range(6))
def test_a_transactional_id_keeps_its_producer_id_and_gets_the_next_epoch(version: int) -> None:
    client = Transacting()
    found = []
    for _ in range(3):
        assert client.init(version) is ErrorCode.NONE
        found.append((client.id, client.epoch))
    assert found == [(client.id, epoch) for epoch in range(3)]


def test_a_producer_that_says_who_it_was_goes_on_or_is_told_that_another_one_came(client: Transacting) -> None:
    first = {"producer_id": client.id, "producer_epoch": client.epoch}
    assert client.init(**first) is ErrorCode.NONE
    assert client.epoch == 1
    assert client.init(**first) is ErrorCode.NONE
    assert client.epoch == 1, "the answer may have been lost"
    assert client.init() is ErrorCode.NONE
    assert client.init(**first) is ErrorCode.PRODUCER_FENCED
    assert (client.id, client.epoch) == (-1, -1)
    assert client.init(3, **first) is ErrorCode.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"transaction_timeout_ms": 0}, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ({"transaction_timeout_ms": OWNER_TIMEOUT_MS_MAX + 1}, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ({"producer_epoch": 3}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_makes_no_sense_is_refused(client: Transacting, changes: dict[str, int], code: ErrorCode) -> None:
    assert client.init(**changes) is code


def test_an_empty_transactional_id_is_refused() -> None:
    request = InitProducerIdRequest("", transaction_timeout_ms=TIMEOUT_MS)
    assert Client().ask(request, 4).error_code == ErrorCode.INVALID_REQUEST


# A transaction


def test_messages_and_offsets_are_there_after_the_commit(client: Transacting) -> None:
    assert client.add(0, 1) == [ErrorCode.NONE] * 2
    assert client.produce(b"a", b"b") == (ErrorCode.NONE, -1)
    assert client.add_group() is ErrorCode.NONE
    assert client.commit_offset(0, metadata="so far") is ErrorCode.NONE
    assert client.ends() == [0, 0]
    assert client.end() is ErrorCode.NONE
    assert client.ends() == [2, 0]
    request = OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic("t", [0, 1])])
    rows = client.ask(request, 5).topics[0].partitions
    assert [(each.committed_offset, each.metadata) for each in rows] == [(0, "so far"), (-1, "")]


def test_nothing_is_there_after_an_abort(client: Transacting) -> None:
    client.add(0)
    client.produce(b"a")
    client.add_group()
    client.commit_offset(0)
    assert client.end(committed=False) is ErrorCode.NONE
    assert client.ends() == [0, 0]
    assert "g" not in client.core.topics.get("t").groups


@pytest.mark.parametrize("committed", [True, False])
def test_an_end_is_answered_again_in_the_same_way(client: Transacting, committed: bool) -> None:
    assert client.end(committed) is ErrorCode.INVALID_TXN_STATE
    client.add(0)
    for _ in range(2):
        assert client.end(committed) is ErrorCode.NONE
        assert client.end(not committed) is ErrorCode.INVALID_TXN_STATE


def test_a_repeated_batch_is_taken_once(client: Transacting) -> None:
    client.add(0)
    client.produce(b"a")
    client.sequences[0] = 0
    assert client.produce(b"a") == (ErrorCode.NONE, -1)
    client.sequences[0] = 5
    assert client.produce(b"z")[0] is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    client.end()
    assert client.ends() == [1, 0]


@pytest.mark.parametrize(("version", "code"), [(1, ErrorCode.INVALID_PRODUCER_EPOCH), (2, ErrorCode.PRODUCER_FENCED)])
def test_a_former_self_is_fenced_off_with_the_code_that_its_version_knows(
    client: Transacting, version: int, code: ErrorCode
) -> None:
    client.add(0)
    client.add_group()
    heir = Transacting(client)
    heir.init()
    assert client.add(0, version=version) == [code]
    assert client.add_group(version=version) is code
    assert client.end(version=version) is code
    assert client.produce(b"x")[0] is ErrorCode.INVALID_PRODUCER_EPOCH
    assert client.commit_offset(0) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_another_producer_id_or_an_unknown_transactional_id_is_told(client: Transacting) -> None:
    client.id += 1
    assert client.add(0) == [ErrorCode.INVALID_PRODUCER_ID_MAPPING]
    assert client.end() is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert client.produce(b"x")[0] is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert client.produce(b"x", name="nobody")[0] is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert client.produce(b"x", name=None)[0] is ErrorCode.INVALID_RECORD


def test_what_was_not_added_is_not_taken(client: Transacting) -> None:
    assert client.produce(b"x")[0] is ErrorCode.INVALID_TXN_STATE
    assert client.commit_offset(0) is ErrorCode.INVALID_TXN_STATE
    client.add(0)
    assert client.produce(b"x", number=1)[0] is ErrorCode.INVALID_TXN_STATE
    assert client.commit_offset(0) is ErrorCode.INVALID_TXN_STATE


def test_all_partitions_are_added_or_none(client: Transacting) -> None:
    unknown, spared = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.OPERATION_NOT_ATTEMPTED
    assert client.add(0, 7, 1) == [spared, unknown, spared]
    assert client.add(0, topic="nowhere") == [unknown]
    assert client.state() == "Empty"


def test_offsets_are_checked_when_they_are_told(client: Transacting) -> None:
    client.add_group()
    assert client.commit_offset(0, number=9) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert client.commit_offset(0, topic="nowhere") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert client.commit_offset(0, metadata="x" * 5_000) is ErrorCode.OFFSET_METADATA_TOO_LARGE
    more = {"generation_id_or_member_epoch": 3, "member_id": "gone"}
    assert client.commit_offset(0, **more) is ErrorCode.ILLEGAL_GENERATION
    assert client.add_group("") is ErrorCode.INVALID_GROUP_ID


def test_a_commit_that_moves_is_answered_when_all_is_there(
    client: Transacting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "TURN_BYTES_MAX", 100)
    monkeypatch.setattr(commits, "COMMIT_TURN_BYTES", 50)
    client.add(0, 1)
    for number in (0, 1, 0, 1):
        client.produce(b"x" * 100, number=number)
    client.turn()
    client.send(EndTxnRequest(NAME, client.id, client.epoch, True), 3)
    assert client.take() == []
    other = Transacting(client)
    other.id, other.epoch = client.id, client.epoch
    assert other.state() == "PrepareCommit"
    assert other.add(0) == [ErrorCode.CONCURRENT_TRANSACTIONS]
    assert other.init() is ErrorCode.CONCURRENT_TRANSACTIONS
    for _ in range(10):
        client.turn()
    assert [each.error_code for each in client.take()] == [0]
    assert other.state() == "CompleteCommit"


def test_a_connection_that_is_lost_while_its_commit_moves_is_not_waited_for(
    client: Transacting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "TURN_BYTES_MAX", 100)
    monkeypatch.setattr(commits, "COMMIT_TURN_BYTES", 50)
    client.add(0, 1)
    for number in (0, 1, 0, 1):
        client.produce(b"x" * 100, number=number)
    client.turn()
    client.send(EndTxnRequest(NAME, client.id, client.epoch, True), 3)
    client.session.lost()
    for _ in range(10):
        client.turn()
    assert client.ends() == [2, 2]


def test_when_its_time_is_up_a_transaction_is_rolled_back(client: Transacting) -> None:
    client.add(0)
    client.produce(b"x")
    client.turn(NOW_MS + TIMEOUT_MS)
    assert client.end() is ErrorCode.PRODUCER_FENCED
    assert client.ends() == [0, 0]
    assert client.init(producer_id=client.id, producer_epoch=client.epoch) is ErrorCode.NONE


def test_limits_and_a_full_disk_are_told(client: Transacting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onemq.core.owners.OWNER_PLACES_MAX", 1)
    assert client.add(0, 1) == [ErrorCode.POLICY_VIOLATION] * 2
    client.add(0)
    monkeypatch.setattr("onemq.core.transaction.STAGED_BYTES_MAX", 100)
    client.produce(b"x")
    assert client.produce(b"x" * 100)[0] is ErrorCode.POLICY_VIOLATION
    client.core.sending.refusal = DiskFull("full")
    assert client.end() is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert client.produce(b"x")[0] is ErrorCode.COORDINATOR_NOT_AVAILABLE
    client.core.sending.refusal = None
    assert client.end() is ErrorCode.NONE


# Looking


def test_transactions_are_listed_by_state_id_time_and_name(client: Transacting) -> None:
    def listed(**filters: Any) -> list[tuple[str, int, str]]:
        answer = client.ask(ListTransactionsRequest(**filters))
        rows = answer.transaction_states
        return [(each.transactional_id, each.producer_id, each.transaction_state) for each in rows]

    assert listed() == [(NAME, client.id, "Empty")]
    client.add(0)
    expected = [(NAME, client.id, "Ongoing")]
    assert listed(state_filters=["Ongoing"]) == listed(producer_id_filters=[client.id]) == expected
    assert listed(state_filters=["Empty"]) == listed(producer_id_filters=[99]) == []
    assert listed(transactional_id_pattern="c.*r") == expected
    assert listed(transactional_id_pattern="c") == []
    client.turn(NOW_MS + 1_000)
    assert listed(duration_filter=999) == expected
    assert listed(duration_filter=1_000) == []
    assert client.ask(ListTransactionsRequest(["Nonsense"])).unknown_state_filters == ["Nonsense"]
    broken = client.ask(ListTransactionsRequest(transactional_id_pattern="("))
    assert broken.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_a_transaction_is_described(client: Transacting) -> None:
    client.add(0, 1)
    found, unknown = client.ask(DescribeTransactionsRequest([NAME, "nobody"])).transaction_states
    assert (found.transaction_state, found.transaction_timeout_ms) == ("Ongoing", TIMEOUT_MS)
    assert (found.producer_id, found.producer_epoch) == (client.id, client.epoch)
    assert found.transaction_start_time_ms == NOW_MS
    assert [(each.topic, each.partitions) for each in found.topics] == [("t", [0, 1])]
    assert unknown.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    client.end(committed=False)
    assert client.state() == "CompleteAbort"


def test_producers_of_a_partition_are_described(client: Transacting) -> None:
    client.add(0)
    client.produce(b"a", b"b")
    topics = [TopicRequest("t", [0, 1, 9]), TopicRequest("nowhere", [0])]
    first, other = client.ask(DescribeProducersRequest(topics)).topics
    assert [each.error_code for each in first.partitions] == [0, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    (state,) = first.partitions[0].active_producers
    assert (state.producer_id, state.producer_epoch, state.last_sequence) == (client.id, client.epoch, 1)
    assert state.current_txn_start_offset == -1
    assert first.partitions[1].active_producers == []
    assert other.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
