"""One connection: order, waiting, flow control, and what ends it."""

from dataclasses import replace
from struct import pack, unpack_from
from typing import Any

import pytest

from onemq.errors import NotFound, ReadOnly
from onemq.limits import KAFKA_PARKED_BYTES_MAX
from onemq.protocols.kafka.call import Call
from onemq.protocols.kafka.codec import decode
from onemq.protocols.kafka.errors import ErrorCode, Refused
from onemq.protocols.kafka.schemas.api_versions import ApiVersionsRequest, ApiVersionsResponse
from onemq.protocols.kafka.schemas.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from onemq.protocols.kafka.schemas.metadata import MetadataRequest, MetadataResponse
from onemq.protocols.kafka.service import KafkaService
from tests.unit.protocols.kafka.fakes import Client, framed, make_service

FIND = FindCoordinatorRequest(coordinator_keys=["g"])
LIST = MetadataRequest(topics=[])


class Waiting:
    """A FindCoordinator that is answered when the test wants."""

    def __init__(self) -> None:
        self.calls: list[Call[Any]] = []

    def __call__(self, call: Call[Any]) -> None:
        self.calls.append(call)


def with_handler(handler: Any, service: KafkaService | None = None) -> KafkaService:
    """A service in which FindCoordinator does something else."""
    service = service or make_service()
    service.apis[10] = replace(service.apis[10], handler=handler)
    return service


class TestOrder:
    def test_requests_that_come_together_are_answered_in_order(self) -> None:
        client = Client()
        data = b"".join(framed(LIST, 9, number) for number in range(5))
        for at in range(0, len(data), 11):
            client.session.receive(data[at : at + 11])
        assert [unpack_from(">ii", sent)[1] for sent in client.peer.sent] == list(range(5))

    def test_a_request_that_reaches_into_the_next_one_ends_the_connection(self) -> None:
        client = Client()
        whole = framed(FIND, 6)
        cut = pack(">i", len(whole) - 4 - 3) + whole[4:-3]
        client.session.receive(cut + framed(LIST, 9))
        assert client.peer.closed
        assert client.peer.sent == []

    def test_a_request_that_waits_holds_those_behind_it_on_its_connection_only(self) -> None:
        waiting = Waiting()
        client = Client(with_handler(waiting))
        client.send(FIND)
        client.send(LIST)
        other = Client(client.service)
        assert other.ask(LIST)
        assert client.take() == []
        waiting.calls[0].answer(FindCoordinatorResponse())
        first, second = client.take()
        assert isinstance(first, FindCoordinatorResponse)
        assert isinstance(second, MetadataResponse)

    def test_a_handler_may_answer_before_it_returns(self) -> None:
        client = Client(with_handler(lambda call: call.answer(FindCoordinatorResponse())))
        client.send(FIND)
        client.send(LIST)
        assert len(client.take()) == 2

    def test_some_want_no_answer(self) -> None:
        client = Client(with_handler(lambda call: call.drop()))
        client.session.receive(framed(FIND, 6))
        assert client.peer.sent == []
        assert client.ask(LIST)

    def test_a_second_answer_is_thrown_away(self) -> None:
        waiting = Waiting()
        client = Client(with_handler(waiting))
        client.send(FIND)
        for _ in range(2):
            waiting.calls[0].answer(FindCoordinatorResponse())
        assert len(client.take()) == 1


class TestFlowControl:
    def test_nothing_is_executed_while_the_peer_does_not_take_our_answers(self) -> None:
        client = Client()
        client.peer.congested = True
        client.send(LIST)
        assert client.take() == []
        client.peer.congested = False
        client.session.resume()
        assert len(client.take()) == 1

    def test_a_client_that_sends_far_ahead_of_a_wait_is_not_read(self) -> None:
        waiting = Waiting()
        client = Client(with_handler(waiting))
        client.send(FIND)
        one = framed(LIST, 9)
        for _ in range(KAFKA_PARKED_BYTES_MAX // len(one)):
            client.session.receive(one)
        assert not client.peer.held
        client.session.receive(one * 2)
        assert client.peer.held
        waiting.calls[0].answer(FindCoordinatorResponse())
        assert not client.peer.held

    def test_a_large_request_on_its_way_is_read(self) -> None:
        client = Client()
        client.session.receive(pack(">ih", 50_000_000, 0) + bytes(2 * KAFKA_PARKED_BYTES_MAX))
        assert not client.peer.held


class TestLost:
    def test_whoever_waits_is_told_and_its_answer_goes_nowhere(self) -> None:
        told: list[str] = []
        waiting = Waiting()
        client = Client(with_handler(waiting))
        client.send(FIND)
        waiting.calls[0].on_lost = lambda: told.append("call")
        client.session.on_lost[lambda: told.append("session")] = None
        client.session.lost()
        assert told == ["call", "session"]
        waiting.calls[0].answer(FindCoordinatorResponse())
        assert client.peer.sent == []
        assert client.service.sessions == {}

    def test_an_answered_call_is_not_told(self) -> None:
        waiting = Waiting()
        client = Client(with_handler(waiting))
        client.send(FIND)
        waiting.calls[0].on_lost = lambda: pytest.fail("it was answered")
        waiting.calls[0].answer(FindCoordinatorResponse())
        client.session.lost()


class TestErrors:
    @pytest.mark.parametrize(
        ("error", "code"),
        [
            (NotFound("no"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            (ReadOnly("no"), ErrorCode.KAFKA_STORAGE_ERROR),
            (Refused(ErrorCode.GROUP_ID_NOT_FOUND, "no"), ErrorCode.GROUP_ID_NOT_FOUND),
        ],
    )
    def test_what_a_handler_refuses_is_answered(self, error: Exception, code: ErrorCode) -> None:
        def handler(call: Call[Any]) -> None:
            raise error

        client = Client(with_handler(handler))
        answer = client.ask(FIND, 1)
        assert (answer.error_code, answer.error_message) == (code, "no")
        assert client.ask(LIST)

    def test_an_unknown_api_ends_the_connection(self) -> None:
        client = Client()
        client.session.receive(pack(">ihhih", 10, 999, 0, 1, -1) + framed(LIST, 9))
        assert client.peer.closed
        assert client.peer.sent == []

    @pytest.mark.parametrize("version", [-1, 14])
    def test_a_version_that_was_not_offered_ends_the_connection(self, version: int) -> None:
        client = Client()
        client.session.receive(pack(">ihhih", 10, 3, version, 1, -1))
        assert client.peer.closed

    @pytest.mark.parametrize("body", [b"\0\x05ab", b"\0\x02\xff\xff", b"\xff\xff\x01", b"\xff\xff\0\x09a"])
    def test_a_header_or_a_body_that_is_none_ends_the_connection(self, body: bytes) -> None:
        client = Client()
        data = pack(">hhi", 3, 9, 1) + body
        client.session.receive(pack(">i", len(data)) + data)
        assert client.peer.closed

    def test_those_before_it_are_answered_and_those_after_it_are_not(self) -> None:
        client = Client()
        client.session.receive(framed(LIST, 9) + pack(">ih", -5, 3) + framed(LIST, 9))
        assert len(client.peer.sent) == 1
        assert client.peer.closed
        client.session.receive(framed(LIST, 9))


class TestApiVersions:
    @pytest.mark.parametrize("version", range(5))
    def test_tells_what_is_served(self, version: int) -> None:
        client = Client()
        answer = client.ask(ApiVersionsRequest("librdkafka", "2"), version)
        rows = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
        assert rows == {api.key: (api.shown_first, api.last) for api in client.service.apis.values()}
        assert rows[3] == (0, 13)

    @pytest.mark.parametrize("version", [6, 1000, -7])
    def test_an_unknown_version_is_answered_in_version_0_with_the_versions_that_are_known(self, version: int) -> None:
        client = Client()
        client.session.receive(pack(">ihhih", 20, 18, version, 77, -1) + b"whatever !")
        data = client.peer.sent.pop()
        assert unpack_from(">ii", data) == (len(data) - 4, 77)
        answer = decode(ApiVersionsResponse, 0, data, 8)
        assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
        assert 18 in {each.api_key for each in answer.api_keys}
        assert client.ask(ApiVersionsRequest()).error_code == 0

    def test_a_client_that_looks_for_another_cluster_is_sent_away(self) -> None:
        client = Client()
        own = client.service.cluster_id
        assert client.ask(ApiVersionsRequest(cluster_id=own, node_id=1), 5).error_code == 0
        for request in (ApiVersionsRequest(cluster_id="other"), ApiVersionsRequest(cluster_id=own, node_id=2)):
            assert client.ask(request, 5).error_code == ErrorCode.REBOOTSTRAP_REQUIRED
