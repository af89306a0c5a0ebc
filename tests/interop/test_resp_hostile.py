"""Clients that mean harm or know no better: a clear error or a closed connection, memory flat, others undisturbed."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
import redis

from onemq.limits import BACKLOG_BYTES_MAX, RESP_TRANSACTION_BYTES_MAX
from tests.crowd import RESERVED_FILES, crowd, file_limit, resident_bytes
from tests.interop.pair import needs_redis_server
from tests.process import Serve

MIB = 1 << 20


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    with Serve(tmp_path_factory.mktemp("hostile") / "data") as serving:
        serving.wait_until_serving()
        yield serving


@pytest.fixture(autouse=True)
def _others_are_undisturbed(broker: Serve) -> Iterator[None]:
    """Another client, connected all the time, is answered in the end; so is a new one."""
    with redis.Redis(port=broker.port, single_connection_client=True) as other:
        other.set("mine", "kept")
        yield
        assert other.get("mine") == b"kept"
    assert broker.command("PING") == b"+PONG\r\n"


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=10)


def exchange(port: int, data: bytes) -> bytes:
    """All that comes back until the server closes."""
    parts = []
    with connect(port) as connection, suppress(ConnectionError):
        connection.sendall(data)
        while part := connection.recv(65_536):
            parts.append(part)
    return b"".join(parts)


BROKEN = [
    b"*99999999999\r\n",
    b"*2147483648\r\n",
    b"*-99999999999999999999\r\n",
    b"*1\r\n$99999999999\r\n",
    b"*1\r\n$-5\r\n",
    b"*1\r\n$abc\r\n",
    b"*abc\r\n",
    b"*1\r\n" * 10_000,
    b"*3\r\n$3\r\nSET\r\n*1\r\n$1\r\na\r\n",
    b"*1\r\n:5\r\n",
    b"*1\r\n%1\r\n",
    b"*1" + b"0" * 70_000,
    b"*1\r\n$" + b"1" * 70_000,
    b"x" * 70_000,
    b'ECHO "a\r\n',
    b"ECHO 'a'b\r\n",
]


@needs_redis_server
@pytest.mark.parametrize("data", BROKEN, ids=lambda data: repr(data[:20]))
def test_broken_requests_are_answered_as_redis_does_and_the_connection_ends(
    broker: Serve, redis_port: int, data: bytes
) -> None:
    """After a request that is fine, which is answered first."""
    first = b"*1\r\n$4\r\nPING\r\n"
    answer = exchange(broker.port, first + data)
    assert answer == exchange(redis_port, first + data)
    assert answer.startswith(b"+PONG\r\n-ERR Protocol error: ")


def test_lengths_that_redis_would_take_and_onemq_does_not(broker: Serve) -> None:
    assert exchange(broker.port, b"*1\r\n$%d\r\n" % (65 * MIB)) == b"-ERR Protocol error: invalid bulk length\r\n"
    assert exchange(broker.port, b"*2000000\r\n") == b"-ERR Protocol error: invalid multibulk length\r\n"


def test_half_frames_cost_what_was_sent_and_no_more(broker: Serve) -> None:
    before = resident_bytes(broker.pid)
    giant = b"*2\r\n$4\r\nECHO\r\n$67108864\r\nabc"
    halves = [b"*1000000\r\n", giant, b"*2\r\n$4\r\nECHO", b"*1\r\n$4", b"*", b"SET a "]
    connections = [connect(broker.port) for _ in range(300)]
    for number, connection in enumerate(connections):
        connection.sendall(halves[number % len(halves)])
    assert broker.command("PING") == b"+PONG\r\n"
    assert resident_bytes(broker.pid) - before < 16 * MIB
    for connection in connections:
        connection.close()


def test_a_frame_byte_by_byte_is_just_slow(broker: Serve) -> None:
    with connect(broker.port) as connection:
        for byte in b"*2\r\n$4\r\nECHO\r\n$5\r\nhello\r\n":
            connection.sendall(bytes([byte]))
        assert connection.recv(100) == b"$5\r\nhello\r\n"


def test_a_flood_of_errors_and_unknown_commands(broker: Serve) -> None:
    before = resident_bytes(broker.pid)
    unknown, wrong = b"*2\r\n$4\r\nNOPE\r\n$200\r\n" + b"x" * 200 + b"\r\n", b"*1\r\n$3\r\nGET\r\n"
    rubbish = unknown + wrong + b"*2\r\n$4\r\nINCR\r\n$4\r\nmine\r\n"
    with connect(broker.port) as connection:
        for _ in range(50):
            connection.sendall(rubbish * 200)
            lines = 0
            while lines < 600:
                lines += connection.recv(1 << 20).count(b"\r\n")
    assert resident_bytes(broker.pid) - before < 32 * MIB


@pytest.mark.parametrize(
    "request_",
    [
        b"*2\r\n$4\r\nECHO\r\n$100000\r\n" + b"x" * 100_000 + b"\r\n",
        b"*1\r\n$7\r\nCOMMAND\r\n",
        b"*1\r\n$4\r\nNOPE\r\n",
        b"*1\r\n$5\r\nMULTI\r\n" + b"*1\r\n$7\r\nCOMMAND\r\n" * 20 + b"*1\r\n$4\r\nEXEC\r\n",
    ],
    ids=["large replies", "much for little", "errors", "transactions"],
)
def test_a_client_that_asks_on_and_on_and_never_reads_is_stopped(broker: Serve, request_: bytes) -> None:
    """Its requests are not read any more; so its own sending does not go on."""
    before = resident_bytes(broker.pid)
    with connect(broker.port) as connection:
        connection.settimeout(1)
        many = request_ * (1 + MIB // len(request_))
        with pytest.raises((TimeoutError, ConnectionError)):
            for _ in range(200):
                connection.sendall(many)
        assert broker.command("PING") == b"+PONG\r\n"
        assert resident_bytes(broker.pid) - before < 16 * MIB


def test_a_client_that_sends_on_while_it_waits_is_held(broker: Serve) -> None:
    before = resident_bytes(broker.pid)
    with connect(broker.port) as connection:
        connection.sendall(b"BLPOP nothing 0\r\n")
        connection.settimeout(1)
        with pytest.raises(TimeoutError):
            for _ in range(200):
                connection.sendall(b"*1\r\n$4\r\nPING\r\n" * 75_000)
        assert resident_bytes(broker.pid) - before < 32 * MIB
        broker.command("RPUSH nothing x")


def test_endless_transactions_are_refused_before_memory_ends(broker: Serve) -> None:
    """And what they held is there for the next one."""
    body = b"x" * MIB
    request = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n%b\r\n" % (len(body), body)
    before, most = resident_bytes(broker.pid), 0
    for _ in range(3):
        with connect(broker.port) as connection, connection.makefile("rb") as answers:
            connection.sendall(b"MULTI\r\n")
            assert answers.readline() == b"+OK\r\n"
            answer = b"+QUEUED\r\n"
            while answer == b"+QUEUED\r\n":
                connection.sendall(request)
                answer = answers.readline()
                most = max(most, resident_bytes(broker.pid) - before)
            expected = b"-ERR the commands of a transaction can take %d bytes" % RESP_TRANSACTION_BYTES_MAX
            assert answer.startswith(expected)
            connection.sendall(b"EXEC\r\n")
            assert answers.readline().startswith(b"-EXECABORT")
    assert most < RESP_TRANSACTION_BYTES_MAX + 32 * MIB


def test_the_unfinished_requests_of_all_connections_together_are_limited(broker: Serve) -> None:
    """Each of them is one that would be taken. Those that go beyond the limit are told so."""
    before, chunk = resident_bytes(broker.pid), b"x" * MIB
    with ExitStack() as stack, redis.Redis(port=broker.port, single_connection_client=True) as other:
        refused = 0
        for _ in range(24):
            connection = stack.enter_context(connect(broker.port))
            connection.sendall(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n" % (64 * MIB))
            with suppress(ConnectionError):
                for _ in range(60):
                    connection.sendall(chunk)
            assert other.ping()
            connection.setblocking(False)
            with suppress(BlockingIOError):
                assert connection.recv(1000).startswith(b"-ERR all connections together have sent 1024 MiB of")
                refused += 1
            assert resident_bytes(broker.pid) - before < BACKLOG_BYTES_MAX + 128 * MIB
        assert refused == 24 - BACKLOG_BYTES_MAX // (60 * MIB)
        assert other.set("k", "small")
    while int(broker.info()["connected_clients"]) > 2:
        pass
    whole = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n%b\r\n" % (60 * MIB, chunk * 60)
    with connect(broker.port) as connection:  # there is room again
        connection.sendall(whole)
        assert connection.recv(100) == b"+OK\r\n"
    assert broker.command("DEL k") == b":1\r\n"


def test_a_browser_is_not_answered(broker: Serve) -> None:
    assert exchange(broker.port, b"POST / HTTP/1.1\r\nHost: x\r\n\r\nSET a 1\r\n") == b""


def test_connections_that_come_and_go_leave_nothing(broker: Serve) -> None:
    def come_and_go() -> None:
        for _ in range(200):
            with connect(broker.port) as connection:
                connection.sendall(b"SUBSCRIBE a\r\nPSUBSCRIBE b*\r\nPING\r\n")
                connection.recv(10)
            with connect(broker.port) as connection:
                connection.sendall(b"WATCH a b\r\nMULTI\r\nSET a 1\r\n")
                connection.recv(10)

    with redis.Redis(port=broker.port) as client:
        come_and_go()
        before, there = resident_bytes(broker.pid), client.info("clients")["connected_clients"]
        for _ in range(4):
            come_and_go()
        assert resident_bytes(broker.pid) - before < 2 * MIB
        while client.info("clients")["connected_clients"] > there:
            pass
        assert client.pubsub_channels() == []
        assert client.info("stats")["pubsub_patterns"] == 0


COUNT = 10_000


@pytest.mark.skipif(file_limit() < COUNT + RESERVED_FILES, reason="too few files may be open: raise ulimit -Hn")
def test_ten_thousand_idle_connections_take_less_than_20_kb_each(tmp_path: Path) -> None:
    config = tmp_path / "onemq.toml"
    config.write_text(f"[server]\nmax_connections = {COUNT + 100}\n")
    with Serve(tmp_path / "data", "--config", str(config)) as broker:
        broker.wait_until_serving()
        before = resident_bytes(broker.pid)
        with crowd(broker.port, COUNT):
            each = (resident_bytes(broker.pid) - before) / COUNT
            with redis.Redis(port=broker.port) as client:
                assert client.info("clients")["connected_clients"] >= COUNT
                client.set("a", "b")
                assert client.get("a") == b"b"
        assert each < 20_000


def test_one_too_many_is_told_so(tmp_path: Path) -> None:
    config = tmp_path / "onemq.toml"
    config.write_text("[server]\nmax_connections = 3\n")
    with Serve(tmp_path / "data", "--config", str(config)) as broker:
        broker.wait_until_serving()
        with connect(broker.port) as one, connect(broker.port) as two, connect(broker.port) as three:
            for connection in (one, two, three):
                connection.sendall(b"PING\r\n")
                assert connection.recv(100) == b"+PONG\r\n"
            assert exchange(broker.port, b"PING\r\n") == b"-ERR max number of clients reached\r\n"
            one.sendall(b"PING\r\n")
            assert one.recv(100) == b"+PONG\r\n"
