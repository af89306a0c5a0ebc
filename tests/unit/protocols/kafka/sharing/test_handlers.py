"""Share groups over the wire: fetches that acquire, acknowledgements, sessions, and those who wait."""

from typing import Any

import pytest
from msgspec.structs import astuple

from onemq.core.start import FIRST, LAST
from onemq.log.batch import walk
from onemq.log.records import decode
from onemq.protocols.kafka.errors import ErrorCode
from onemq.protocols.kafka.schemas import share_acknowledge, share_fetch
from onemq.protocols.kafka.schemas.share_acknowledge import ShareAcknowledgeRequest
from onemq.protocols.kafka.schemas.share_fetch import ShareFetchRequest
from onemq.protocols.kafka.schemas.share_group_heartbeat import ShareGroupHeartbeatRequest
from onemq.protocols.kafka.service import KafkaService
from tests.unit.protocols.kafka.fakes import Client, make_service

ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4
Acks = dict[int, list[tuple[int, int, list[int]]]]


class Consumer:
    """A member with a connection, and a share session on it."""

    def __init__(self, service: KafkaService, name: str = "m") -> None:
        self.client = Client(service)
        self.name = name
        self.epoch = 0

    def heartbeat(self, epoch: int = 0, topics: list[str] | None = None) -> Any:
        return self.client.ask(ShareGroupHeartbeatRequest("g", self.name, epoch, None, topics))

    def send(
        self, numbers: list[int] | None = None, topic: str = "t", acks: Acks | None = None, most: int = 500,
        wait_ms: int = 0, epoch: int | None = None, version: int = 2, **more: Any,
    ) -> None:  # fmt: skip
        """Fetches; the partitions of a topic are added to the session."""
        partitions = [share_fetch.FetchPartition(number) for number in numbers or ()]
        for number, batches in (acks or {}).items():
            rows = [share_fetch.AcknowledgementBatch(*batch) for batch in batches]
            partitions.append(share_fetch.FetchPartition(number, rows))
        request = ShareFetchRequest(
            "g", self.name, self.epoch if epoch is None else epoch, wait_ms, 1, 1 << 20, most, most,
            topics=[share_fetch.FetchTopic(self.id_of(topic), partitions)] if partitions else [], **more,
        )  # fmt: skip
        self.client.send(request, version)
        if epoch is None:
            self.epoch += 1

    def fetch(self, numbers: list[int] | None = None, **options: Any) -> Any:
        self.send(numbers, **options)
        (answer,) = self.client.take()
        return answer

    def acknowledge(self, acks: Acks, topic: str = "t", epoch: int | None = None, renewing: bool = False) -> Any:
        partitions = [
            share_acknowledge.AcknowledgePartition(
                number, [share_acknowledge.AcknowledgementBatch(*batch) for batch in batches]
            )
            for number, batches in acks.items()
        ]
        topics = [share_acknowledge.AcknowledgeTopic(self.id_of(topic), partitions)]
        wanted = self.epoch if epoch is None else epoch
        answer = self.client.ask(ShareAcknowledgeRequest("g", self.name, wanted, renewing, topics))
        if epoch is None:
            self.epoch += 1
        return answer

    def id_of(self, topic: str) -> bytes:
        found = self.client.service.topics.find(topic)
        return bytes(16) if found is None else self.client.service.topics.id_of(found)


@pytest.fixture
def service() -> KafkaService:
    """With a topic of two partitions, and the group `g` at its beginning."""
    service = make_service()
    service.core.tick(service.now_ms)
    service.core.topics.create("t", 2)
    service.core.create_group("t", "g", FIRST, policy=["immediate", 5], lease_ms=30_000)
    return service


def send(service: KafkaService, *bodies: bytes, topic: str = "t", number: int = 0) -> None:
    for body in bodies:
        service.core.send(topic, body, number=number)


def runs(answer: Any) -> dict[int, list[tuple[int, int, int]]]:
    """What was acquired of each partition."""
    rows = [row for topic in answer.responses for row in topic.partitions if row.acquired_records]
    return {row.partition_index: [astuple(each) for each in row.acquired_records] for row in rows}


def acknowledged(answer: Any) -> list[int]:
    """What became of acknowledgements."""
    rows = [row for topic in answer.responses for row in topic.partitions]
    return [getattr(row, "acknowledge_error_code", row.error_code) for row in rows]


# Heartbeats


def test_a_heartbeat_is_told_what_to_fetch_and_when_to_come_again(service: KafkaService) -> None:
    answer = Consumer(service).heartbeat(0, ["t"])
    (row,) = answer.assignment.topic_partitions
    assert (answer.error_code, answer.member_id, answer.heartbeat_interval_ms) == (0, "m", 5_000)
    assert (row.topic_id, row.partitions) == (service.topics.id_of(service.topics.get("t")), [0, 1])


def test_a_heartbeat_of_an_unknown_member_is_refused(service: KafkaService) -> None:
    assert Consumer(service).heartbeat(7).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    Consumer(service, "n").heartbeat(0, ["t"])
    assert Consumer(service).heartbeat(7).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_that_sends_no_heartbeats_loses_what_it_has(service: KafkaService) -> None:
    consumer = Consumer(service)
    consumer.heartbeat(0, ["t"])
    send(service, b"0")
    consumer.fetch([0])
    service.core.groups.alter(service.core.groups.get("t", "g"), service.topics.get("t").config.group)
    consumer.client.turn(service.now_ms + 45_000)
    assert runs(Consumer(service, "n").fetch([0])) == {0: [(0, 0, 2)]}
    assert consumer.fetch().error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


# Fetches


def test_a_fetch_acquires_what_is_there(service: KafkaService) -> None:
    send(service, b"0", b"1")
    send(service, b"2", number=1)
    answer = Consumer(service).fetch([0, 1])
    assert runs(answer) == {0: [(0, 1, 1)], 1: [(0, 0, 1)]}
    assert answer.acquisition_lock_timeout_ms == 30_000
    rows = {row.partition_index: bytes(row.records) for row in answer.responses[0].partitions}
    bodies = [each[3] for data in rows.values() for at, header in walk(data) for each in decode(data, at, header)]
    assert bodies == [b"0", b"1", b"2"]


def test_later_fetches_name_no_partitions(service: KafkaService) -> None:
    consumer = Consumer(service)
    assert runs(consumer.fetch([0, 1])) == {}
    send(service, b"0")
    assert runs(consumer.fetch()) == {0: [(0, 0, 1)]}


def test_a_forgotten_partition_is_fetched_no_more(service: KafkaService) -> None:
    consumer = Consumer(service)
    consumer.fetch([0, 1])
    send(service, b"0")
    send(service, b"1", number=1)
    forgotten = [share_fetch.ForgottenTopic(consumer.id_of("t"), [0])]
    assert runs(consumer.fetch(forgotten_topics_data=forgotten)) == {1: [(0, 0, 1)]}


def test_two_members_share_a_partition(service: KafkaService) -> None:
    one, other = Consumer(service, "m"), Consumer(service, "n")
    send(service, b"0", b"1", b"2", b"3")
    assert runs(one.fetch([0], most=2, share_acquire_mode=1)) == {0: [(0, 1, 1)]}
    assert runs(other.fetch([0], most=9, share_acquire_mode=1)) == {0: [(2, 3, 1)]}


def test_a_fetch_waits_for_messages(service: KafkaService) -> None:
    consumer = Consumer(service)
    consumer.send([0, 1], wait_ms=500)
    consumer.client.turn()
    assert consumer.client.take() == []
    send(service, b"0", number=1)
    consumer.client.turn()
    (answer,) = consumer.client.take()
    assert runs(answer) == {1: [(0, 0, 1)]}


def test_a_fetch_that_waits_is_answered_when_its_time_is_up(service: KafkaService) -> None:
    consumer = Consumer(service)
    consumer.send([0, 1], wait_ms=500)
    consumer.client.turn(service.now_ms + 499)
    assert consumer.client.take() == []
    consumer.client.turn(service.now_ms + 1)
    (answer,) = consumer.client.take()
    assert (answer.error_code, runs(answer)) == (0, {})


def test_a_fetch_waits_for_any_of_several_topics(service: KafkaService) -> None:
    service.core.topics.create("u", 1)
    service.core.create_group("u", "g", LAST)
    consumer = Consumer(service)
    consumer.fetch([0])
    consumer.send([0], topic="u", wait_ms=500)
    consumer.client.turn()
    send(service, b"0", topic="u")
    consumer.client.turn()
    (answer,) = consumer.client.take()
    assert [topic.topic_id for topic in answer.responses] == [consumer.id_of("u")]
    assert not service.core.groups.get("t", "g").waiting
    send(service, b"1")
    assert runs(consumer.fetch()) == {0: [(0, 0, 1)]}


def test_a_lost_connection_asks_for_nothing_any_more(service: KafkaService) -> None:
    consumer = Consumer(service)
    consumer.send([0], wait_ms=500)
    consumer.client.session.lost()
    send(service, b"0")
    consumer.client.turn()
    assert service.core.groups.get("t", "g").cursors[0].unacknowledged == {}


def test_a_lost_connection_gives_messages_back_at_once(service: KafkaService) -> None:
    consumer = Consumer(service)
    send(service, b"0")
    consumer.fetch([0])
    consumer.client.session.lost()
    assert runs(Consumer(service, "n").fetch([0])) == {0: [(0, 0, 2)]}


def test_a_fetch_for_nothing_is_answered_at_once(service: KafkaService) -> None:
    send(service, b"0")
    assert runs(Consumer(service).fetch([0], most=0, wait_ms=500)) == {}


@pytest.mark.parametrize(
    ("topic", "number", "code"), [("x", 0, "UNKNOWN_TOPIC_ID"), ("t", 7, "UNKNOWN_TOPIC_OR_PARTITION")]
)
def test_what_is_not_there_is_told_at_once(service: KafkaService, topic: str, number: int, code: str) -> None:
    answer = Consumer(service).fetch([number], topic=topic, wait_ms=500)
    assert [row.error_code for row in answer.responses[0].partitions] == [ErrorCode[code]]


def test_a_deleted_topic_is_told_once(service: KafkaService) -> None:
    consumer = Consumer(service)
    consumer.fetch([0, 1])
    id = consumer.id_of("t")
    service.core.topics.delete("t")
    answer = consumer.fetch(wait_ms=500)
    assert [(topic.topic_id, len(topic.partitions)) for topic in answer.responses] == [(id, 2)]
    assert consumer.fetch(wait_ms=500).responses == []


def test_a_member_gets_no_more_while_it_has_very_many(service: KafkaService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onemq.protocols.kafka.sharing.fetching.SHARE_IN_FLIGHT_MAX", 2)
    consumer = Consumer(service)
    for number in (0, 1):
        send(service, b"0", b"1", number=number)
        consumer.client.turn()
    assert runs(consumer.fetch([0, 1])) in ({0: [(0, 1, 1)]}, {1: [(0, 1, 1)]})
    assert runs(consumer.fetch()) == {}


# Acknowledgements


def test_acknowledgements_travel_with_the_next_fetch(service: KafkaService) -> None:
    consumer = Consumer(service)
    send(service, b"0", b"1", b"2")
    consumer.fetch([0])
    answer = consumer.fetch(acks={0: [(0, 1, [ACCEPT]), (2, 2, [RELEASE])]})
    assert (acknowledged(answer), runs(answer)) == ([0], {0: [(2, 2, 2)]})


def test_acknowledgements_travel_alone(service: KafkaService) -> None:
    consumer = Consumer(service)
    send(service, b"0", b"1")
    consumer.fetch([0])
    assert acknowledged(consumer.acknowledge({0: [(0, 1, [ACCEPT, REJECT])]})) == [0]
    consumer.client.turn()
    assert service.core.groups.get("t", "g").lag == 0
    assert service.topics.get("t.g.dead").partitions[0].end == 1


def test_what_is_not_the_members_is_refused_partition_by_partition(service: KafkaService) -> None:
    consumer = Consumer(service)
    send(service, b"0")
    send(service, b"1", number=1)
    Consumer(service, "n").fetch([1])
    consumer.fetch([0, 1])
    answer = consumer.acknowledge({0: [(0, 0, [ACCEPT])], 1: [(0, 0, [ACCEPT])]})
    assert acknowledged(answer) == [0, ErrorCode.INVALID_RECORD_STATE]


def test_a_renewal_needs_its_mark(service: KafkaService) -> None:
    consumer = Consumer(service)
    send(service, b"0")
    consumer.fetch([0])
    assert acknowledged(consumer.acknowledge({0: [(0, 0, [RENEW])]})) == [ErrorCode.INVALID_REQUEST]
    assert acknowledged(consumer.acknowledge({0: [(0, 0, [RENEW])]}, renewing=True)) == [0]


def test_the_last_request_acknowledges_and_gives_the_rest_back_untried(service: KafkaService) -> None:
    consumer = Consumer(service)
    send(service, b"0", b"1")
    consumer.fetch([0])
    assert acknowledged(consumer.fetch(acks={0: [(0, 0, [ACCEPT])]}, epoch=-1)) == [0]
    assert runs(Consumer(service, "n").fetch([0])) == {0: [(1, 1, 1)]}


def test_a_session_can_be_closed_by_an_acknowledgement(service: KafkaService) -> None:
    consumer = Consumer(service)
    send(service, b"0", b"1")
    consumer.fetch([0])
    consumer.acknowledge({0: [(0, 0, [ACCEPT])]}, epoch=-1)
    assert consumer.fetch().error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


# Sessions


def test_the_first_request_acknowledges_nothing(service: KafkaService) -> None:
    consumer = Consumer(service)
    assert consumer.fetch(acks={0: [(0, 0, [ACCEPT])]}).error_code == ErrorCode.INVALID_REQUEST


def test_an_acknowledgement_opens_no_session(service: KafkaService) -> None:
    answer = Consumer(service).acknowledge({0: [(0, 0, [ACCEPT])]}, epoch=0)
    assert answer.error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH


def test_a_wrong_epoch_changes_nothing(service: KafkaService) -> None:
    consumer = Consumer(service)
    send(service, b"0")
    consumer.fetch([0])
    refused = consumer.acknowledge({0: [(0, 0, [ACCEPT])]}, epoch=5)
    assert refused.error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert service.core.groups.get("t", "g").lag == 1
    assert acknowledged(consumer.acknowledge({0: [(0, 0, [ACCEPT])]})) == [0]


@pytest.mark.parametrize("name", ["", None])
def test_a_request_without_a_member_is_refused(service: KafkaService, name: str | None) -> None:
    client = Client(service)
    assert client.ask(ShareFetchRequest("g", name)).error_code == ErrorCode.INVALID_REQUEST
    assert client.ask(ShareAcknowledgeRequest(None, "m", 1)).error_code == ErrorCode.INVALID_REQUEST


def test_a_request_settles_no_more_than_it_may(service: KafkaService, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many partitions it names, and however often."""
    monkeypatch.setattr("onemq.protocols.kafka.sharing.handlers.SHARE_SETTLED_MAX", 10)
    send(service, *[b"x"] * 8)
    send(service, *[b"y"] * 8, number=1)
    consumer = Consumer(service)
    consumer.heartbeat(topics=["t"])
    consumer.fetch([0, 1])
    answer = consumer.acknowledge({0: [(0, 7, [ACCEPT])], 1: [(0, 7, [ACCEPT])]})
    codes = {each.partition_index: each.error_code for each in answer.responses[0].partitions}
    assert codes == {0: ErrorCode.NONE, 1: ErrorCode.INVALID_REQUEST}
