"""What clients have sent that cannot be executed yet is limited for all of them together."""

import struct

import pytest

from onemq.errors import Busy
from onemq.limits import MIB
from onemq.protocols.backlog import Backlog, Share
from onemq.protocols.kafka.service import KafkaFacts, KafkaService
from onemq.protocols.resp.service import RespService
from tests.unit.protocols.kafka.fakes import Client as KafkaClient
from tests.unit.protocols.resp.fakes import Client, encode, make_service

REFUSED = b"-ERR all connections together have sent 8 MiB of large requests and transactions that are not complete"


@pytest.fixture
def backlog() -> Backlog:
    return Backlog(8 * MIB)


@pytest.fixture
def service(backlog: Backlog) -> RespService:
    plain = make_service()
    return RespService(plain.core, plain.facts, backlog=backlog)


def beginning(size: int) -> tuple[bytes, bytes]:
    """The first bytes of a SET of 6 MiB, and the rest."""
    request = encode("SET", "key", b"x" * 6 * MIB)
    return request[:size], request[size:]


def queue(client: Client, size: int) -> bytes:
    """Queues commands of so many bytes, half a MiB each, until one is refused; the last answer."""
    answer = client.call("MULTI")
    while size > 0 and not answer.startswith(b"-"):
        answer = client.call("SET", "key", b"x" * (MIB // 2))
        size -= MIB // 2
    return answer


class TestShares:
    def test_they_add_up(self, backlog: Backlog) -> None:
        one, other = Share(backlog), Share(backlog)
        one.resize(5)
        other.resize(7)
        one.resize(3)
        assert backlog.bytes == 10

    def test_what_would_be_too_much_changes_nothing(self, backlog: Backlog) -> None:
        one, other = Share(backlog), Share(backlog)
        one.resize(6 * MIB)
        other.resize(MIB)
        with pytest.raises(Busy):
            other.resize(3 * MIB)
        assert backlog.bytes == 7 * MIB
        one.resize(0)
        other.resize(3 * MIB)
        assert backlog.bytes == 3 * MIB


class TestIncompleteRequests:
    def test_they_count_until_they_are_complete(self, service: RespService, backlog: Backlog) -> None:
        client = Client(service)
        begun, rest = beginning(5 * MIB)
        assert client.raw(begun) == b""
        assert 5 * MIB <= backlog.bytes < 5 * MIB + 1000
        assert client.raw(rest) == b"+OK\r\n"
        assert backlog.bytes == 0
        assert client.call("STRLEN", "key") == b":%d\r\n" % (6 * MIB)

    def test_small_ones_do_not_count(self, service: RespService, backlog: Backlog) -> None:
        client = Client(service)
        assert client.raw(beginning(MIB - 1000)[0]) == b""
        assert backlog.bytes == 0

    def test_what_was_only_announced_does_not_count(self, service: RespService, backlog: Backlog) -> None:
        Client(service).raw(b"*2\r\n$3\r\nGET\r\n$67108864\r\n" + b"x" * 2 * MIB)
        assert 2 * MIB <= backlog.bytes < 2 * MIB + 1000

    def test_many_arguments_count_with_what_they_take_beside_their_bytes(
        self, service: RespService, backlog: Backlog
    ) -> None:
        Client(service).raw(b"*1000000\r\n" + b"$2\r\nab\r\n" * 100_000)
        assert backlog.bytes > 4 * MIB

    def test_one_too_many_is_told_and_disconnected_and_the_others_go_on(
        self, service: RespService, backlog: Backlog
    ) -> None:
        first, second, third = Client(service), Client(service), Client(service)
        begun, rest = beginning(5 * MIB)
        first.raw(begun)
        assert second.raw(begun).startswith(REFUSED)
        assert second.peer.closed
        assert backlog.bytes < 6 * MIB, "only the first one's are held"
        assert third.call("PING") == b"+PONG\r\n"
        assert first.raw(rest) == b"+OK\r\n"
        assert (first.peer.closed, third.peer.closed) == (False, False)

    def test_a_lost_connection_gives_its_share_back(self, service: RespService, backlog: Backlog) -> None:
        client = Client(service)
        client.raw(beginning(5 * MIB)[0])
        client.session.lost()
        assert backlog.bytes == 0

    def test_a_large_request_counts_once_when_it_is_queued(self, service: RespService, backlog: Backlog) -> None:
        client = Client(service)
        client.call("MULTI")
        begun, rest = beginning(5 * MIB)
        client.raw(begun)
        assert client.raw(rest) == b"+QUEUED\r\n"
        assert 6 * MIB < backlog.bytes < 6 * MIB + 1000
        assert client.call("EXEC") == b"*1\r\n+OK\r\n"
        assert backlog.bytes == 0


class TestTransactions:
    def test_one_too_many_is_refused_and_the_others_go_on(self, service: RespService, backlog: Backlog) -> None:
        first, second = Client(service), Client(service)
        assert queue(first, 5 * MIB) == b"+QUEUED\r\n"
        assert queue(second, 5 * MIB).startswith(REFUSED)
        assert second.call("EXEC").startswith(b"-EXECABORT")
        assert second.call("PING") == b"+PONG\r\n"
        assert first.call("EXEC").startswith(b"*10\r\n+OK\r\n")
        assert backlog.bytes == 0

    def test_small_ones_do_not_count(self, service: RespService, backlog: Backlog) -> None:
        assert queue(Client(service), MIB // 2) == b"+QUEUED\r\n"
        assert backlog.bytes == 0

    @pytest.mark.parametrize("end", ["EXEC", "DISCARD", "RESET", "NOPE"])
    def test_however_it_ends_its_share_is_given_back(self, service: RespService, backlog: Backlog, end: str) -> None:
        client = Client(service)
        queue(client, 3 * MIB)
        assert backlog.bytes > MIB
        client.call(end)
        assert backlog.bytes == 0

    def test_a_lost_connection_gives_its_share_back(self, service: RespService, backlog: Backlog) -> None:
        client = Client(service)
        queue(client, 3 * MIB)
        client.session.lost()
        assert backlog.bytes == 0


class TestKafka:
    def test_the_total_is_that_of_all_protocols(self, service: RespService, backlog: Backlog) -> None:
        first, kafka = Client(service), KafkaService(service.core, KafkaFacts(b"test" * 4), backlog=backlog)
        second, third = KafkaClient(kafka), KafkaClient(kafka)
        first.raw(beginning(4 * MIB)[0])
        produce = struct.pack(">ihhi", 50 * MIB, 0, 9, 1) + b"x" * 3 * MIB
        second.session.receive(produce)
        assert not second.peer.closed
        third.session.receive(produce)
        assert third.peer.closed
        for client in (second, third):
            client.session.lost()
        assert 4 * MIB <= backlog.bytes < 5 * MIB
