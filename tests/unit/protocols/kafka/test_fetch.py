"""Fetch: how much is given, how long is waited, and what a session remembers."""

from typing import Any

import pytest

from onemq.limits import MIB
from onemq.log.batch import CONTROL, TRANSACTIONAL, is_sound, walk
from onemq.log.records import NO_HEADERS
from onemq.protocols.kafka.errors import ErrorCode
from onemq.protocols.kafka.schemas.fetch import FetchPartition, FetchTopic, ForgottenTopic
from tests.unit.protocols.kafka.batches import base_offsets, fetch_request, produce_request, records_in, sealed
from tests.unit.protocols.kafka.fakes import NOW_MS, Client, make_service

NAMES = 12
"""A version in which topics have names, and there are sessions."""


@pytest.fixture
def client() -> Client:
    client = Client()
    client.core.topics.create("t", partitions=3)
    client.turn(NOW_MS)
    return client


def produce(client: Client, *batches: bytes, first: int = 0) -> None:
    producer = Client(client.service)
    answer = producer.ask(produce_request("t", *batches, first=first), 9)
    assert all(each.error_code == 0 for each in answer.responses[0].partition_responses)


def fetch(client: Client, *offsets: int, **settings: int) -> list[Any]:
    answer = client.ask(fetch_request("t", *offsets, **settings), NAMES)
    partitions: list[Any] = answer.responses[0].partitions
    return partitions


def bodies(partition: Any) -> list[bytes | None]:
    return [record[3] for record in records_in(partition.records)]


def test_batches_come_as_they_were_sent(client: Client) -> None:
    produce(client, sealed(b"a", b"b", key=b"k", headers=((b"h", b"v"),), times_ms=[5, 3]), sealed(b"c"))
    one, two = fetch(client, 0, 0)
    assert records_in(one.records) == [
        (0, 5, b"k", b"a", ((b"h", b"v"),)),
        (1, 3, b"k", b"b", ((b"h", b"v"),)),
    ]
    assert bodies(two) == [b"c"]
    assert (one.error_code, one.high_watermark, one.last_stable_offset, one.log_start_offset) == (0, 2, 2, 0)
    assert one.aborted_transactions is None
    assert fetch(client, 0, isolation_level=1)[0].aborted_transactions == []


@pytest.mark.parametrize("version", range(4, 13))
def test_every_version_with_names_is_answered(client: Client, version: int) -> None:
    produce(client, sealed(b"a"))
    answer = client.ask(fetch_request("t", 0), version)
    assert bodies(answer.responses[0].partitions[0]) == [b"a"]


@pytest.mark.parametrize("version", range(13, 19))
def test_every_version_with_ids_is_answered(client: Client, version: int) -> None:
    produce(client, sealed(b"a"))
    request = fetch_request("", 0)
    request.topics[0].topic_id = client.service.topics.id_of(client.core.topics.get("t"))
    answer = client.ask(request, version).responses[0]
    assert (answer.topic_id, bodies(answer.partitions[0])) == (request.topics[0].topic_id, [b"a"])
    request.topics[0].topic_id = b"\x01" * 16
    assert client.ask(request, version).responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_the_batch_that_holds_the_offset_comes_first(client: Client) -> None:
    for batch in (sealed(b"a", b"b"), sealed(b"c", b"d"), sealed(b"e")):
        produce(client, batch)
    client.turn()
    assert base_offsets(fetch(client, 3)[0].records) == [2, 4]


def test_offsets_that_are_not_there_are_told(client: Client) -> None:
    produce(client, sealed(b"a"))
    assert [each.error_code for each in fetch(client, 2, -1)] == [ErrorCode.OFFSET_OUT_OF_RANGE] * 2
    assert fetch(client, 1)[0].error_code == 0


def test_partitions_and_epochs_that_are_not_there_are_told(client: Client) -> None:
    assert fetch(client, 0, 0, 0, 0)[3].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    request = fetch_request("t", 0)
    request.topics[0].partitions[0].current_leader_epoch = 3
    answer = client.ask(request, NAMES).responses[0].partitions[0]
    assert answer.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


# How much


def test_a_partition_gives_no_more_than_it_may_but_one_batch(client: Client) -> None:
    for _ in range(5):
        produce(client, sealed(b"x" * 1000), sealed(b"y" * 1000))
    client.turn()
    size = len(sealed(b"x" * 1000))
    one, two = fetch(client, 0, 0, partition_max_bytes=2 * size)
    assert (len(base_offsets(one.records)), len(base_offsets(two.records))) == (2, 2)
    one, two = fetch(client, 0, 0, partition_max_bytes=size - 1)
    assert (len(base_offsets(one.records)), len(base_offsets(two.records))) == (1, 0)


def test_a_request_gets_no_more_than_it_may_but_one_batch(client: Client) -> None:
    for _ in range(5):
        produce(client, sealed(b"x" * 1000), sealed(b"y" * 1000))
    client.turn()
    size = len(sealed(b"x" * 1000))
    counts = [len(base_offsets(each.records)) for each in fetch(client, 0, 0, max_bytes=7 * size)]
    assert counts == [5, 2]
    counts = [len(base_offsets(each.records)) for each in fetch(client, 0, 0, max_bytes=1)]
    assert counts == [1, 0]


def test_a_batch_for_which_there_is_no_room_is_the_last_one_looked_at(client: Client) -> None:
    produce(client, sealed(b"x"), sealed(b"y" * 1000), sealed(b"z"))
    client.turn()
    assert [len(base_offsets(each.records)) for each in fetch(client, 0, 0, 0, max_bytes=500)] == [1, 0, 0]


def test_a_connection_gets_little_at_first_and_then_more_each_time(client: Client) -> None:
    for _ in range(50):
        produce(client, *[sealed(b"x" * 10_000)] * 3)
    client.turn()
    counts = [sum(len(base_offsets(each.records)) for each in fetch(client, 0, 0, 0)) for _ in range(4)]
    assert counts == [13, 26, 52, 104]
    counts = [sum(len(base_offsets(each.records)) for each in fetch(Client(client.service), 0, 0)) for _ in range(2)]
    assert counts == [13, 13]


def test_outside_of_a_session_a_fetch_brings_not_too_much(client: Client) -> None:
    for _ in range(5):
        produce(client, *[sealed(b"x" * 260_000)] * 3)
    client.turn()

    def counts(**settings: int) -> list[int]:
        given = fetch(client, 0, 0, 0, max_bytes=50 * MIB, partition_max_bytes=8 * MIB, **settings)
        return sorted(len(base_offsets(each.records)) for each in given)

    for _ in range(8):
        fetch(client, 0, 0, 0)
    assert counts() == [2, 5, 5]
    assert counts(min_bytes=3_400_000) == [3, 5, 5]
    assert counts(session_id=0, session_epoch=0) == [5, 5, 5]


def test_outside_of_a_session_partitions_take_turns(client: Client) -> None:
    produce(client, *[sealed(b"x" * 1000)] * 3)
    client.turn()
    room = 2 * len(sealed(b"x" * 1000))
    given = [[bool(each.records) for each in fetch(client, 0, 0, 0, max_bytes=room)] for _ in range(3)]
    assert given == [[True, True, False], [True, False, True], [False, True, True]]


def test_who_wants_more_at_least_gets_it_at_first(client: Client) -> None:
    for _ in range(30):
        produce(client, sealed(b"x" * 10_000))
    client.turn()
    size = 25 * len(sealed(b"x" * 10_000))
    assert len(base_offsets(fetch(client, 0, min_bytes=size)[0].records)) == 25


def test_who_wants_more_than_fits_gets_what_fits_at_once(client: Client) -> None:
    for _ in range(3):
        produce(client, sealed(b"x" * 1000))
    client.turn()
    size = 2 * len(sealed(b"x" * 1000)) + 10
    for limits in ({"max_bytes": size}, {"partition_max_bytes": size}):
        assert len(base_offsets(fetch(client, 0, min_bytes=size, max_wait_ms=500, **limits)[0].records)) == 2


# How long


def test_without_messages_it_waits_for_the_first_one(client: Client) -> None:
    client.send(fetch_request("t", 0, max_wait_ms=500, min_bytes=1), NAMES)
    client.turn(NOW_MS + 100)
    assert client.take() == []
    produce(client, sealed(b"a"))
    client.turn()
    (answer,) = client.take()
    assert bodies(answer.responses[0].partitions[0]) == [b"a"]


def test_it_waits_no_longer_than_asked(client: Client) -> None:
    client.send(fetch_request("t", 0, max_wait_ms=500, min_bytes=1), NAMES)
    client.turn(NOW_MS + 499)
    assert client.take() == []
    client.turn(NOW_MS + 500)
    (answer,) = client.take()
    assert answer.responses[0].partitions[0].records == b""


def test_it_waits_for_as_many_bytes_as_asked(client: Client) -> None:
    size = len(sealed(b"x" * 100))
    client.send(fetch_request("t", 0, 0, max_wait_ms=500, min_bytes=3 * size), NAMES)
    produce(client, sealed(b"x" * 100))
    client.turn(NOW_MS + 1)
    produce(client, sealed(b"y" * 100), first=1)
    client.turn(NOW_MS + 2)
    assert client.take() == []
    produce(client, sealed(b"z" * 100))
    client.turn(NOW_MS + 3)
    one, two = client.take()[0].responses[0].partitions
    assert (bodies(one), bodies(two)) == ([b"x" * 100, b"z" * 100], [b"y" * 100])


def test_what_was_not_stored_in_the_end_is_not_given(client: Client) -> None:
    """A turn that failed is taken back, also from those who wait for more."""
    client.send(fetch_request("t", 0, max_wait_ms=500, min_bytes=10_000), NAMES)
    produce(client, sealed(b"lost"))
    client.core.settle()
    client.core.reset()
    client.turn(NOW_MS + 500)
    (answer,) = client.take()
    partition = answer.responses[0].partitions[0]
    assert (partition.error_code, partition.records) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, b"")


def test_an_error_is_told_at_once(client: Client) -> None:
    answers = fetch(client, 0, 99, max_wait_ms=500, min_bytes=1)
    assert [each.error_code for each in answers] == [0, ErrorCode.OFFSET_OUT_OF_RANGE]


def test_who_waits_is_told_that_the_topic_is_gone(client: Client) -> None:
    client.send(fetch_request("t", 0, max_wait_ms=500, min_bytes=1), NAMES)
    client.core.topics.delete("t")
    client.turn()
    (answer,) = client.take()
    assert answer.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_whoever_leaves_waits_no_more(client: Client) -> None:
    client.send(fetch_request("t", 0, max_wait_ms=500, min_bytes=1), NAMES)
    partition = client.core.topics.get("t").partitions[0]
    assert partition.waiting
    client.session.lost()
    assert not partition.waiting


def test_requests_behind_a_waiting_one_wait_too(client: Client) -> None:
    client.send(fetch_request("t", 0, max_wait_ms=500, min_bytes=1), NAMES)
    client.send(fetch_request("t", 0), NAMES)
    assert client.take() == []
    produce(client, sealed(b"a"))
    client.turn()
    assert [bodies(each.responses[0].partitions[0]) for each in client.take()] == [[b"a"], [b"a"]]


def test_messages_that_did_not_survive_are_passed_over(client: Client) -> None:
    topic = client.core.topics.get("t")
    client.core.sending.send(topic, b"void", None, NO_HEADERS, 0, persistent=False)
    client.turn()
    produce(client, sealed(b"a"))
    client.turn()
    topic.partitions[0].boot = 1
    assert bodies(fetch(client, 0, partition_max_bytes=1)[0]) == [b"a"]


# Sessions (KIP-227)


def session_request(client: Client, id: int, epoch: int, *parts: tuple[int, int], forget: tuple[int, ...] = ()) -> Any:
    topics = [FetchTopic("t", partitions=[FetchPartition(number, fetch_offset=at, partition_max_bytes=1 << 20)])
              for number, at in parts]  # fmt: skip
    request = fetch_request("t", session_id=id, session_epoch=epoch)
    request.topics = topics
    request.forgotten_topics_data = [ForgottenTopic("t", partitions=list(forget))] if forget else []
    return client.ask(request, NAMES)


def told(answer: Any) -> list[tuple[int, list[bytes | None]]]:
    return [(each.partition_index, bodies(each)) for topic in answer.responses for each in topic.partitions]


def test_a_session_tells_only_what_has_changed(client: Client) -> None:
    first = session_request(client, 0, 0, (0, 0), (1, 0), (2, 0))
    assert first.session_id > 0
    assert [number for number, _ in told(first)] == [0, 1, 2]
    assert told(session_request(client, first.session_id, 1)) == []
    produce(client, sealed(b"a"), first=1)
    assert told(session_request(client, first.session_id, 2)) == [(1, [b"a"])]
    assert told(session_request(client, first.session_id, 3, (1, 1))) == []
    assert told(session_request(client, first.session_id, 4, (1, 0), forget=(0, 2))) == [(1, [b"a"])]


def test_a_session_tells_errors_again_and_again(client: Client) -> None:
    id = session_request(client, 0, 0, (0, 99), (1, 0)).session_id
    assert [number for number, _ in told(session_request(client, id, 1))] == [0]
    assert [number for number, _ in told(session_request(client, id, 2))] == [0]


def test_a_session_tells_once_that_an_error_is_over(client: Client) -> None:
    id = session_request(client, 0, 0, (0, 99), (1, 0)).session_id
    assert told(session_request(client, id, 1, (0, 0))) == [(0, [])]
    assert told(session_request(client, id, 2)) == []


def test_partitions_take_turns_in_a_session(client: Client) -> None:
    produce(client, *[sealed(b"x" * 100)] * 3)
    id = session_request(client, 0, 0, (0, 0), (1, 0), (2, 0)).session_id
    request = fetch_request("t", session_id=id, session_epoch=1, max_bytes=1)
    request.topics = []
    first = told(client.ask(request, NAMES))
    request.session_epoch = 2
    second = told(client.ask(request, NAMES))
    assert {number for number, got in first if got} != {number for number, got in second if got}


def test_wrong_sessions_and_epochs_are_told(client: Client) -> None:
    id = session_request(client, 0, 0, (0, 0)).session_id
    assert session_request(client, id + 1, 1).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert session_request(client, id, 7).error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert session_request(client, id, -1, (0, 0)).session_id == 0
    assert session_request(client, id, 1).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_session_of_which_nothing_is_left_ends(client: Client) -> None:
    id = session_request(client, 0, 0, (0, 0)).session_id
    assert session_request(client, id, 1, forget=(0,)).session_id == 0
    assert len(client.service.fetch_sessions) == 0


def test_beyond_the_limit_clients_go_without_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onemq.protocols.kafka.fetch_sessions.KAFKA_FETCH_SESSIONS_MAX", 2)
    client = Client(make_service())
    client.core.topics.create("t", partitions=3)
    client.turn(NOW_MS)
    ids = [session_request(client, 0, 0, (0, 0)).session_id for _ in range(3)]
    assert [id > 0 for id in ids] == [True, True, False]
    client.turn(NOW_MS + 121_000)
    assert session_request(client, 0, 0, (0, 0)).session_id


# Where there is nothing


def stream_of(client: Client, *bodies: bytes) -> None:
    """A stream, in batches of one message, and a mark at its end."""
    for body in bodies:
        client.core.send("t", body, number=0)
        client.turn()


def delete(client: Client, *offsets: int) -> None:
    client.core.removing.delete_at(client.core.topics.get("t"), 0, offsets)
    client.turn()


def next_offset(records: Any) -> int:
    """Where a client goes on."""
    *_, (_, header) = walk(bytes(records))
    return header.next_offset


def test_deleted_messages_are_passed_over_without_being_read(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    stream_of(client, *[b"x" * 1000] * 100, b"end")
    delete(client, *range(10, 100))
    monkeypatch.setattr("onemq.core.fetching.RECEIVE_BYTES_MAX", 1000)
    assert bodies(fetch(client, 10)[0]) == [b"end"]
    assert bodies(fetch(client, 55)[0]) == [b"end"]


def test_a_deleted_message_that_is_asked_for_is_not_given_with_its_batch(client: Client) -> None:
    produce(client, sealed(b"a", b"b", b"c"))
    client.turn()
    delete(client, 1)
    assert bodies(fetch(client, 1)[0]) == [b"c"]


def test_a_client_is_told_to_go_on_where_everything_was_deleted(client: Client) -> None:
    stream_of(client, b"a", b"b", b"c")
    delete(client, 1, 2)
    (part,) = fetch(client, 1, max_wait_ms=1000)
    ((_, header),) = walk(bytes(part.records))
    assert (header.base_offset, header.next_offset, header.attributes) == (2, 3, TRANSACTIONAL | CONTROL)
    assert is_sound(bytes(part.records), 0, header)
    stream_of(client, b"d")
    assert bodies(fetch(client, 3)[0]) == [b"d"]


def test_a_client_comes_across_any_stretch_of_what_was_not_persistent(client: Client) -> None:
    """It was not kept over a restart, and takes many reads: each answer leads further."""
    for _ in range(200):
        client.core.send("t", b"x" * 20_000, number=0, persistent=False)
        client.turn()
    stream_of(client, b"end")
    partition = client.core.topics.get("t").partitions[0]
    partition.boot = 200  # as after a restart
    offset, answers = 0, 0
    while b"end" not in bodies(part := fetch(client, offset)[0]):
        assert next_offset(part.records) > offset
        offset, answers = next_offset(part.records), answers + 1
    assert answers < 10


def test_what_fills_the_answer_is_not_waited_for(client: Client) -> None:
    """Though it is less than the client wants at least: there is no room for more."""
    produce(client, sealed(b"x" * 90_000), sealed(b"y" * 90_000))
    client.turn()
    one, two = fetch(client, 0, 0, min_bytes=100_000, max_wait_ms=1000)
    assert (len(base_offsets(one.records)), len(base_offsets(two.records))) == (1, 0)
