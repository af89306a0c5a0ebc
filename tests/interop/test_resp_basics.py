"""A running broker, talked to by clients that we did not write: redis-cli and redis-py (D1)."""

import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.needs import needs_redis_cli
from tests.process import Serve


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    folder: Path = tmp_path_factory.mktemp("broker") / "data"
    with Serve(folder) as serving:
        serving.wait_until_serving()
        yield serving


@pytest.fixture(params=[2, 3], ids=["RESP2", "RESP3"])
def client(broker: Serve, request: pytest.FixtureRequest) -> Iterator[redis.Redis]:
    once_more = Retry(NoBackoff(), 1)
    with redis.Redis(
        port=broker.port, protocol=request.param, decode_responses=True, retry=once_more
    ) as connected:
        yield connected


def redis_cli(broker: Serve, *arguments: str, stdin: str | None = None) -> str:
    command = ["redis-cli", "-p", str(broker.port), *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=30, check=True)
    return done.stdout


@needs_redis_cli
class TestRedisCli:
    def test_ping(self, broker: Serve) -> None:
        assert redis_cli(broker, "ping") == "PONG\n"

    def test_resp3(self, broker: Serve) -> None:
        assert "redis_version:7.0.15" in redis_cli(broker, "-3", "INFO", "server")
        assert "3# \"proto\" => (integer) 3" in redis_cli(broker, "--no-raw", "-3", "HELLO", "3")

    def test_commands_from_standard_input_share_a_connection(self, broker: Serve) -> None:
        assert redis_cli(broker, stdin="CLIENT SETNAME me\nCLIENT GETNAME\nECHO \"a b\"\n") == "OK\nme\na b\n"

    def test_errors_are_shown_as_redis_shows_them(self, broker: Serve) -> None:
        assert redis_cli(broker, "foo", "a") == "ERR unknown command 'foo', with args beginning with: 'a' \n\n"
        assert redis_cli(broker, "select", "1") == "ERR DB index is out of range\n\n"

    def test_the_command_documentation_that_it_asks_for_while_one_types(self, broker: Serve) -> None:
        assert "Echo the given string" in redis_cli(broker, "COMMAND", "DOCS", "echo")

    def test_a_pipe_of_raw_requests(self, broker: Serve) -> None:
        requests = "*2\r\n$4\r\nECHO\r\n$5\r\nhello\r\n" * 10_000
        assert "errors: 0, replies: 10000" in redis_cli(broker, "--pipe", stdin=requests)


class TestRedisPy:
    def test_ping_echo_and_info(self, client: redis.Redis) -> None:
        assert client.ping() is True
        assert client.echo("grün \r\n") == "grün \r\n"
        info = client.info()
        assert info["redis_version"] == "7.0.15"
        assert info["role"] == "master"

    def test_its_own_connections_are_in_the_list_with_its_name_as_library(self, client: redis.Redis) -> None:
        client.client_setname("tester")
        mine = next(each for each in client.client_list() if each["id"] == str(client.client_id()))
        assert (mine["name"], mine["lib-name"].partition("(")[0]) == ("tester", "redis-py")
        assert client.client_getname() == "tester"
        assert client.client_info()["id"] == client.client_id()

    def test_a_connection_that_was_killed_is_made_anew(self, broker: Serve, client: redis.Redis) -> None:
        with redis.Redis(port=broker.port, decode_responses=True) as other:
            number = other.client_id()
            assert client.client_kill_filter(_id=number) == 1
            assert other.client_id() != number

    def test_a_pipeline_comes_back_in_order(self, client: redis.Redis) -> None:
        with client.pipeline(transaction=False) as pipeline:
            for number in range(1_000):
                pipeline.echo(str(number))
            assert pipeline.execute() == [str(number) for number in range(1_000)]

    def test_large_values_go_both_ways(self, client: redis.Redis) -> None:
        body = "x" * (8 << 20)
        assert client.echo(body) == body

    def test_command_count_and_docs(self, client: redis.Redis) -> None:
        assert client.command_count() == len(client.command_list())
        assert "ping" in client.command()

    def test_errors_have_their_classes(self, client: redis.Redis) -> None:
        with pytest.raises(redis.ResponseError, match="unknown command 'NOPE'"):
            client.execute_command("NOPE")
        with pytest.raises(redis.AuthenticationError):
            client.execute_command("AUTH", "nobody", "x")
        with pytest.raises(redis.ResponseError, match="DB index is out of range"):
            client.select(3)

    def test_a_name_and_a_password_for_the_default_user_are_accepted(self, broker: Serve) -> None:
        with redis.Redis(port=broker.port, username="default", password="x", client_name="n", protocol=3) as named:
            assert named.client_getname() == b"n"

    def test_quit_and_reset(self, client: redis.Redis) -> None:
        assert client.execute_command("RESET") == "RESET"
        assert client.ping()


class TestHostileInput:
    """None of this may disturb others, so each test ends with a PING on another connection."""

    @pytest.fixture(autouse=True)
    def _others_are_undisturbed(self, broker: Serve) -> Iterator[None]:
        yield
        assert broker.command("PING") == b"+PONG\r\n"

    def exchange(self, broker: Serve, data: bytes) -> bytes:
        """All that comes back until the broker closes."""
        with socket.create_connection(("127.0.0.1", broker.port), timeout=10) as connection:
            connection.sendall(data)
            parts = []
            while part := connection.recv(65_536):
                parts.append(part)
            return b"".join(parts)

    @pytest.mark.parametrize(
        ("data", "text"),
        [
            (b"*99999999999\r\n", b"invalid multibulk length"),
            (b"*1\r\n$99999999999\r\n", b"invalid bulk length"),
            (b"*1\r\n$-5\r\n", b"invalid bulk length"),
            (b"*1\r\n" * 100, b"expected '$', got '*'"),
            (b"x" * 65_537, b"too big inline request"),
            (b'ECHO "\r\n', b"unbalanced quotes in request"),
        ],
    )
    def test_broken_requests_are_answered_and_the_connection_closed(
        self, broker: Serve, data: bytes, text: bytes
    ) -> None:
        assert self.exchange(broker, data) == b"-ERR Protocol error: %b\r\n" % text

    def test_half_a_request_and_silence_is_just_a_connection(self, broker: Serve) -> None:
        with socket.create_connection(("127.0.0.1", broker.port)) as connection:
            connection.sendall(b"*2\r\n$4\r\nECHO\r\n$1000000\r\nabc")
            assert broker.command("PING") == b"+PONG\r\n"

    def test_a_client_that_asks_for_much_and_reads_nothing_does_not_make_memory_grow(self, broker: Serve) -> None:
        body = bytes(1 << 20)
        request = b"*2\r\n$4\r\nECHO\r\n$%d\r\n%b\r\n" % (len(body), body)
        before = resident_bytes(broker.pid)
        with socket.create_connection(("127.0.0.1", broker.port)) as connection:
            connection.settimeout(1)
            with pytest.raises(TimeoutError):
                connection.sendall(request * 200)
            assert broker.command("PING") == b"+PONG\r\n"
            assert resident_bytes(broker.pid) - before < 64 << 20

    def test_many_idle_connections_are_cheap(self, broker: Serve) -> None:
        count = 500
        before = resident_bytes(broker.pid)
        connections = [socket.create_connection(("127.0.0.1", broker.port)) for _ in range(count)]
        for connection in connections:
            connection.sendall(b"*2\r\n$4\r\nECHO\r\n$9000\r\n" + bytes(9_000) + b"\r\n")
        for connection in connections:
            with connection.makefile("rb") as file:
                file.read(9_000 + 9)
        each = (resident_bytes(broker.pid) - before) / count
        for connection in connections:
            connection.close()
        assert each < 20_000


def resident_bytes(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096
