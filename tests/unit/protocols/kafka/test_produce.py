"""Produce: what is taken, and what is answered to what is not."""

import pytest

from onemq.core.topics import TopicConfig
from onemq.errors import DiskFull
from onemq.limits import KAFKA_AHEAD_MS_MAX
from onemq.protocols.kafka.errors import ErrorCode
from onemq.protocols.kafka.schemas.produce import PartitionProduceResponse
from tests.unit.protocols.kafka.batches import counted, fetch_request, produce_request, records_in, sealed
from tests.unit.protocols.kafka.fakes import NOW_MS, Client

VERSION = 12


@pytest.fixture
def client() -> Client:
    client = Client()
    client.core.topics.create("t", partitions=3)
    client.turn(NOW_MS)
    return client


def produce(client: Client, *batches: bytes | None, **settings: int) -> list[PartitionProduceResponse]:
    answer = client.ask(produce_request("t", *batches, **settings), VERSION)
    responses: list[PartitionProduceResponse] = answer.responses[0].partition_responses
    return responses


def refused(client: Client, batch: bytes | None) -> int:
    (answer,) = produce(client, batch)
    assert answer.base_offset == -1
    assert answer.error_message
    assert client.core.topics.get("t").partitions[0].end == 0
    return answer.error_code


def test_batches_get_their_offsets(client: Client) -> None:
    answers = produce(client, sealed(b"a", b"b"), sealed(b"c"))
    assert [(each.index, each.error_code, each.base_offset) for each in answers] == [(0, 0, 0), (1, 0, 0)]
    answers = produce(client, sealed(b"d"), sealed(b"e"))
    assert [each.base_offset for each in answers] == [2, 1]
    assert [each.log_append_time_ms for each in answers] == [-1, -1]


@pytest.mark.parametrize("version", range(3, 13))
def test_every_version_is_answered(client: Client, version: int) -> None:
    answer = client.ask(produce_request("t", sealed(b"a")), version)
    assert answer.responses[0].partition_responses[0].error_code == 0


def test_topics_can_be_named_by_their_ids(client: Client) -> None:
    request = produce_request("", sealed(b"a"))
    request.topic_data[0].topic_id = client.service.topics.id_of(client.core.topics.get("t"))
    assert client.ask(request, 13).responses[0].partition_responses[0].error_code == 0
    request.topic_data[0].topic_id = b"\x01" * 16
    answer = client.ask(request, 13).responses[0].partition_responses[0]
    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_who_wants_no_answer_gets_none(client: Client) -> None:
    client.send(produce_request("t", sealed(b"a"), acks=0), VERSION)
    client._asked.clear()
    assert client.take() == []
    assert client.core.topics.get("t").partitions[0].end == 1
    assert not client.session.ended


def test_who_wants_no_answer_is_disconnected_if_something_was_not_stored(client: Client) -> None:
    client.send(produce_request("t", b"x" * 100, acks=0), VERSION)
    client._asked.clear()
    assert client.take() == []
    assert client.session.ended


def test_other_acks_are_refused(client: Client) -> None:
    (answer,) = produce(client, sealed(b"a"), acks=2)
    assert answer.error_code == ErrorCode.INVALID_REQUIRED_ACKS


def test_unknown_topics_and_partitions_are_told(client: Client) -> None:
    answer = client.ask(produce_request("nothing", sealed(b"a")), VERSION)
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    answers = produce(client, sealed(b"a"), sealed(b"b"), first=2)
    assert [each.error_code for each in answers] == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_the_brokers_own_topics_are_not_there(client: Client) -> None:
    client.core.topics.ensure_internal("__half")
    answer = client.ask(produce_request("__half", sealed(b"a")), VERSION)
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


GOOD = sealed(b"one", b"two")


@pytest.mark.parametrize(
    ("batch", "code"),
    [
        (GOOD[:-1] + b"x", ErrorCode.CORRUPT_MESSAGE),
        (GOOD[:-1], ErrorCode.INVALID_RECORD),
        (GOOD[:8] + bytes(4) + GOOD[12:], ErrorCode.CORRUPT_MESSAGE),
        (None, ErrorCode.INVALID_RECORD),
        (b"", ErrorCode.INVALID_RECORD),
        (b"short", ErrorCode.INVALID_RECORD),
        (GOOD + GOOD, ErrorCode.INVALID_RECORD),
        (GOOD[:16] + b"\x01" + GOOD[17:], ErrorCode.INVALID_RECORD),
        (sealed(b"a", attributes=1 << 5), ErrorCode.INVALID_RECORD),
        (sealed(b"a", b"b", last_delta=7), ErrorCode.INVALID_RECORD),
        (sealed(b"a", attributes=5), ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        (sealed(b"a", attributes=1 << 14), ErrorCode.INVALID_RECORD),
        (sealed(b"a", attributes=1 << 6), ErrorCode.INVALID_RECORD),
        (counted(sealed(b"a"), 0), ErrorCode.INVALID_RECORD),
        (counted(sealed(b"a"), -1), ErrorCode.INVALID_RECORD),
        (counted(sealed(b"a"), 2), ErrorCode.INVALID_RECORD),
        (counted(sealed(b"a"), (1 << 31) - 1), ErrorCode.INVALID_RECORD),
        (counted(sealed(b"a", attributes=1), 1_000_001), ErrorCode.MESSAGE_TOO_LARGE),
        (sealed(b"a", times_ms=[-(1 << 62)]), ErrorCode.INVALID_TIMESTAMP),
        (sealed(b"a", producer=(77, 0, -1)), ErrorCode.INVALID_RECORD),
        (counted(GOOD, 0)[:-1] + b"x", ErrorCode.CORRUPT_MESSAGE),
        (sealed(b"x" * (5 << 20)), ErrorCode.MESSAGE_TOO_LARGE),
        (sealed(b"a", times_ms=[NOW_MS + KAFKA_AHEAD_MS_MAX + 1]), ErrorCode.INVALID_TIMESTAMP),
        (sealed(b"a", producer=(77, 0, 0)), ErrorCode.UNKNOWN_PRODUCER_ID),
        (sealed(b"a", headers=((b"_due", b"soon"),)), ErrorCode.INVALID_RECORD),
    ],
    ids=["checksum", "cut", "length", "null", "empty", "short", "two", "format", "control", "gap", "compression",
         "not persistent", "horizon", "none", "negative", "one too many", "very many", "packed", "old",
         "sequence", "count and checksum", "large", "time", "producer", "due"],
)  # fmt: skip
def test_what_is_wrong_is_told_as_kafka_does(client: Client, batch: bytes | None, code: ErrorCode) -> None:
    assert refused(client, batch) == code


def test_zstd_needs_a_version_that_knows_it(client: Client) -> None:
    request = produce_request("t", sealed(b"a", attributes=4))
    answers = [client.ask(request, version).responses[0].partition_responses[0].error_code for version in (6, 7)]
    assert answers == [ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, 0]


def test_a_full_disk_is_told(client: Client) -> None:
    client.core.sending.refusal = DiskFull("full")
    assert refused(client, GOOD) == ErrorCode.KAFKA_STORAGE_ERROR


def test_the_topic_may_say_that_messages_have_the_brokers_time(client: Client) -> None:
    client.core.topics.create("stamped", config=TopicConfig(message_time="broker"))
    client.turn(NOW_MS + 5)
    request = produce_request("stamped", sealed(b"a", times_ms=[7]))
    (answer,) = client.ask(request, VERSION).responses[0].partition_responses
    assert (answer.error_code, answer.log_append_time_ms) == (0, NOW_MS + 5)
    fetched = client.ask(fetch_request("stamped", 0), 12).responses[0].partitions[0].records
    assert [record[1] for record in records_in(fetched)] == [NOW_MS + 5]


# Idempotent producers


def test_a_batch_that_is_sent_again_is_answered_the_same_and_stored_once(client: Client) -> None:
    id = client.core.producers.open().id
    for sequence in range(5):
        assert produce(client, sealed(b"a", producer=(id, 0, sequence)))[0].base_offset == sequence
    client.turn()
    answers = [produce(client, sealed(b"a", producer=(id, 0, sequence)))[0] for sequence in range(5)]
    assert [(each.error_code, each.base_offset) for each in answers] == [(0, offset) for offset in range(5)]
    assert client.core.topics.get("t").partitions[0].end == 5


def test_a_gap_in_the_sequence_is_refused(client: Client) -> None:
    id = client.core.producers.open().id
    produce(client, sealed(b"a", b"b", producer=(id, 0, 0)))
    (answer,) = produce(client, sealed(b"d", producer=(id, 0, 3)))
    assert (answer.error_code, answer.base_offset) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert produce(client, sealed(b"c", producer=(id, 0, 2)))[0].error_code == 0


def test_sequences_count_in_each_partition(client: Client) -> None:
    id = client.core.producers.open().id
    answers = produce(client, sealed(b"a", producer=(id, 0, 0)), sealed(b"b", producer=(id, 0, 0)))
    assert [each.error_code for each in answers] == [0, 0]


def test_an_old_epoch_is_fenced(client: Client) -> None:
    id = client.core.producers.open("name").id
    assert client.core.producers.open("name").epoch == 1
    (answer,) = produce(client, sealed(b"a", producer=(id, 0, 0)))
    assert answer.error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert produce(client, sealed(b"a", producer=(id, 1, 0)))[0].error_code == 0
