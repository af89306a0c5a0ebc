"""Commands that wait are served as Redis serves them: the same scenario against both, the same replies."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import redis
from redis.connection import Connection
from redis.exceptions import ResponseError

from tests.interop.forms import FormParser
from tests.interop.pair import Pair, connection, last_node, needs_redis_server, reply
from tests.interop.script import contents, same_replies

pytestmark = needs_redis_server

PATIENCE_SECONDS = 20


class Waiting:
    """A connection that sends without waiting for the reply. The forms of all replies come into the list."""

    def __init__(self, port: int, protocol: int, forms: list[str]) -> None:
        self._connection = Connection(
            port=port, protocol=protocol, socket_timeout=PATIENCE_SECONDS, parser_class=FormParser
        )
        self._connection.connect()
        self._forms = forms
        self.id = self.ask("CLIENT", "ID")

    def send(self, *words: Any) -> None:
        self._connection.send_command(*words)

    def send_all(self, *commands: tuple[Any, ...]) -> None:
        """In one packet."""
        self._connection.send_packed_command(self._connection.pack_commands(commands))

    def receive(self) -> Any:
        try:
            return self._connection.read_response()
        except ResponseError as error:
            return ("error", str(error))
        finally:
            self._forms.append(str(self._connection._get_parser().last))

    def has_reply(self) -> bool:
        return bool(self._connection.can_read(timeout=0))

    def ask(self, *words: Any) -> Any:
        self.send(*words)
        return self.receive()

    def close(self) -> None:
        self._connection.disconnect()


class Server:
    """One of the two servers, with a connection of its own and any number of waiting ones."""

    def __init__(self, port: int, protocol: int, stack: ExitStack) -> None:
        self._port = port
        self._protocol = protocol
        self._stack = stack
        self._client = stack.enter_context(connection(port, protocol))
        self.forms: list[str] = []
        """Of all replies, as they were on the wire."""
        self("FLUSHALL")

    def __call__(self, *words: Any) -> Any:
        answer = reply(self._client, *words)
        self.forms.append(str(last_node(self._client)))
        return answer

    def client(self) -> Waiting:
        waiting = Waiting(self._port, self._protocol, self.forms)
        self._stack.callback(waiting.close)
        return waiting

    def blocked(self, *words: Any) -> Waiting:
        """A client that waits in this command now."""
        waiting = self.client()
        waiting.send(*words)
        self.until_blocked(waiting)
        return waiting

    def until_blocked(self, waiting: Waiting) -> None:
        self._until(lambda: "b" in self._flags(waiting))

    def until_gone(self, waiting: Waiting) -> None:
        self._until(lambda: self._flags(waiting) == "")

    def _flags(self, waiting: Waiting) -> str:
        listed = reply(self._client, "CLIENT", "LIST", "ID", waiting.id)
        line = (listed.decode() if isinstance(listed, bytes) else listed).strip()
        facts = dict(word.split("=", 1) for word in line.split()) if line else {}
        return facts.get("flags", "")

    def _until(self, condition: Callable[[], bool]) -> None:
        give_up = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            assert time.monotonic() < give_up

    def contents(self) -> Any:
        return contents(self._client)


@pytest.fixture(params=[2, 3], ids=["RESP2", "RESP3"])
def both(onemq_port: int, redis_port: int, request: pytest.FixtureRequest) -> Iterator[list[Server]]:
    with ExitStack() as stack:
        yield [Server(port, request.param, stack) for port in (redis_port, onemq_port)]


def same(servers: list[Server], scenario: Callable[[Server], Any]) -> Any:
    """Plays the scenario on both and compares what it returns, what is stored then, and the forms of the replies."""
    expected, answer = ((scenario(server), server.contents(), server.forms) for server in servers)
    assert answer == expected
    return answer[0]


AT_ONCE = """
    RPUSH l a b c d e f g h
    BLPOP l 0
    BRPOP l 0
    BLPOP nokey l 0
    BLPOP nokey nokey l other 0.01
    BLMOVE l m LEFT RIGHT 0
    BRPOPLPUSH l m 0
    BLMPOP 0 2 nokey l LEFT
    BLMPOP 0 1 l RIGHT COUNT 10
    EXISTS l
    ZADD z 1 a 2 b 3 c 4 d 5.5 e
    BZPOPMIN z 0
    BZPOPMAX nokey z 0
    BZMPOP 0 1 z MIN
    BZMPOP 0 2 nokey z MAX COUNT 5
    EXISTS z
    BLPOP nokey 0.01
    BRPOP nokey nokey2 0.001
    BLMOVE nokey m LEFT LEFT 0.01
    BRPOPLPUSH nokey m 0.01
    BLMPOP 0.01 1 nokey LEFT
    BZPOPMIN nokey 0.01
    BZPOPMAX nokey nokey2 0.01
    BZMPOP 0.01 1 nokey MIN COUNT 3
    SET s v
    BLPOP s 0
    BRPOP nokey s l 0
    BLMOVE s m LEFT LEFT 0
    BRPOPLPUSH m s 0
    BRPOPLPUSH nokey s 0.01
    BLMPOP 0 2 nokey s LEFT
    BZPOPMIN s 0
    BZPOPMIN m 0
    BZMPOP 0 1 s MIN
    BLPOP l abc
    BLPOP l -1
    BLPOP s -1
    BLPOP l -0.0001 x
    BLPOP l ""
    BLPOP l " 1"
    BLPOP l nan
    BLPOP l inf
    BLPOP l -inf
    BLPOP l 1e400
    BLPOP l 9223372036854775807
    BLPOP l 9223372036854776
    BLPOP l 99999999999999999999
    BLPOP l 0x
    BRPOP l -1
    BLMOVE l m UP LEFT 0
    BLMOVE l m LEFT UP abc
    BLMOVE l m LEFT LEFT abc
    BLMOVE l m LEFT LEFT -1
    BRPOPLPUSH l m abc
    BLMPOP abc 1 l LEFT
    BLMPOP -1 1 l LEFT
    BLMPOP 0 0 l LEFT
    BLMPOP 0 2 l LEFT
    BLMPOP 0 1 l UP
    BLMPOP 0 1 l LEFT COUNT 0
    BLMPOP abc 0 l UP
    BZPOPMIN l abc
    BZPOPMAX l -1
    BZMPOP abc 1 z MIN
    BZMPOP 0 0 z MIN
    BZMPOP 0 1 z LEFT
    BZMPOP 0 1 z MIN COUNT -1
    BZMPOP abc 0 z LEFT
    BZMPOP abc 1 z LEFT
    BLPOP l
    BLMOVE l m LEFT LEFT
    BRPOPLPUSH l m
    BLMPOP 0 1 l
    BZPOPMIN z
    BZMPOP 0 1 z
"""


def test_there_is_something_or_the_time_is_up_or_it_is_wrong(pair: Pair) -> None:
    same_replies(pair, AT_ONCE)


def test_those_who_wait_are_served_in_order_of_arrival(both: list[Server]) -> None:
    def scenario(server: Server) -> Any:
        waiting = [server.blocked(command, "l", 0) for command in ("BLPOP", "BRPOP", "BLPOP", "BLPOP")]
        pushed = [server("RPUSH", "l", "a", "b"), server("LPUSH", "l", "c", "d", "e")]
        return pushed, [client.receive() for client in waiting]

    same(both, scenario)


def test_one_client_waits_for_several_keys(both: list[Server]) -> None:
    def scenario(server: Server) -> Any:
        first = server.blocked("BLPOP", "a", "b", "c", 0)
        second = server.blocked("BRPOP", "c", "a", 0)
        third = server.blocked("BLPOP", "b", "b", 0)
        server("RPUSH", "c", "1")
        server("RPUSH", "b", "2")
        server("RPUSH", "a", "3")
        return [client.receive() for client in (first, second, third)]

    same(both, scenario)


@pytest.mark.parametrize(
    ("command", "push"),
    [
        (("BLPOP", "k", 0), ("RPUSH", "k", "a", "b")),
        (("BRPOP", "k", 0), ("RPUSH", "k", "a", "b")),
        (("BLMPOP", 0, 1, "k", "RIGHT", "COUNT", 5), ("RPUSH", "k", "a", "b", "c")),
        (("BLMPOP", 0, 1, "k", "LEFT", "COUNT", 2), ("LPUSH", "k", "a", "b", "c")),
        (("BLMOVE", "k", "t", "LEFT", "RIGHT", 0), ("RPUSH", "k", "a", "b")),
        (("BLMOVE", "k", "k", "LEFT", "RIGHT", 0), ("RPUSH", "k", "a", "b")),
        (("BRPOPLPUSH", "k", "t", 0), ("RPUSH", "k", "a", "b")),
        (("BLPOP", "k", 0), ("LMOVE", "source", "k", "LEFT", "LEFT")),
        (("BLPOP", "k", 0), ("RPOPLPUSH", "source", "k")),
        (("BLPOP", "k", 0), ("RENAME", "source", "k")),
        (("BLPOP", "k", 0), ("RENAMENX", "source", "k")),
        (("BLPOP", "k", 0), ("COPY", "source", "k")),
        (("BLMPOP", 0, 2, "other", "k", "LEFT", "COUNT", 2), ("RENAME", "source", "k")),
        (("BZPOPMIN", "k", 0), ("ZADD", "k", "2", "a", "1", "b")),
        (("BZPOPMAX", "k", 0), ("ZADD", "k", "2", "a", "1", "b")),
        (("BZPOPMIN", "k", 0), ("ZINCRBY", "k", "2.5", "a")),
        (("BZPOPMIN", "k", 0), ("ZUNIONSTORE", "k", "1", "zsource")),
        (("BZPOPMIN", "k", 0), ("ZRANGESTORE", "k", "zsource", "0", "-1")),
        (("BZPOPMIN", "k", 0), ("RENAME", "zsource", "k")),
        (("BZMPOP", 0, 1, "k", "MAX", "COUNT", 2), ("ZADD", "k", "2", "a", "1", "b", "3", "c")),
    ],
    ids=lambda words: " ".join(map(str, words)),
)
def test_each_command_is_served(both: list[Server], command: tuple[Any, ...], push: tuple[Any, ...]) -> None:
    def scenario(server: Server) -> Any:
        server("RPUSH", "source", "x", "y", "z")
        server("ZADD", "zsource", "1", "x", "2", "y")
        waiting = server.blocked(*command)
        return server(*push), waiting.receive(), waiting.ask("PING")

    same(both, scenario)


def test_a_chain_of_moves(both: list[Server]) -> None:
    def scenario(server: Server) -> Any:
        last = server.blocked("BLPOP", "c", 0)
        second = server.blocked("BLMOVE", "b", "c", "LEFT", "RIGHT", 0)
        first = server.blocked("BRPOPLPUSH", "a", "b", 0)
        return server("RPUSH", "a", "x"), first.receive(), second.receive(), last.receive()

    same(both, scenario)


def test_a_ring_of_moves_ends(both: list[Server]) -> None:
    def scenario(server: Server) -> Any:
        ring = [
            server.blocked("BLMOVE", "a", "b", "LEFT", "LEFT", 0),
            server.blocked("BLMOVE", "b", "a", "LEFT", "LEFT", 0),
            server.blocked("BLMOVE", "a", "b", "LEFT", "LEFT", 0),
        ]
        return server("RPUSH", "a", "x"), [client.receive() for client in ring]

    same(both, scenario)


def test_a_move_to_a_key_of_another_type_fails_and_takes_nothing(both: list[Server]) -> None:
    def scenario(server: Server) -> Any:
        server("SET", "target", "v")
        moving = server.blocked("BLMOVE", "l", "target", "LEFT", "LEFT", 0)
        popping = server.blocked("BLPOP", "l", 0)
        return server("RPUSH", "l", "a"), moving.receive(), popping.receive()

    same(both, scenario)


def test_a_key_of_another_type_leaves_them_waiting(both: list[Server]) -> None:
    def scenario(server: Server) -> Any:
        waiting = server.blocked("BLPOP", "k", 0)
        replies = [
            server("SET", "k", "v"), server("DEL", "k"), server("ZADD", "k", "1", "a"), server("DEL", "k"),
            server("SADD", "k", "x"), server("HSET", "h", "f", "v"), server("RENAME", "h", "k"),
        ]  # fmt: skip
        assert not waiting.has_reply()
        sorted_set = server.blocked("BZPOPMIN", "z", 0)
        server("RPUSH", "z", "not for you")
        server("DEL", "z")
        server("RPUSH", "l", "at last")
        replies.append(server("RENAME", "l", "k"))
        server("ZADD", "z", "1", "member")
        return replies, waiting.receive(), sorted_set.receive()

    same(both, scenario)


def test_lists_and_sorted_sets_of_one_name(both: list[Server]) -> None:
    def scenario(server: Server) -> Any:
        for_a_list = server.blocked("BLPOP", "k", 0)
        for_a_sorted_set = server.blocked("BZPOPMIN", "k", 0)
        server("ZADD", "k", "1", "a")
        server("RPUSH", "k", "b")
        return for_a_list.receive(), for_a_sorted_set.receive()

    same(both, scenario)


def test_what_is_left_stays_for_others(both: list[Server]) -> None:
    def scenario(server: Server) -> Any:
        waiting = server.blocked("BLMPOP", 0, 1, "l", "LEFT", "COUNT", 2)
        server("RPUSH", "l", "a", "b", "c")
        return waiting.receive(), server("BLPOP", "l", 0)

    same(both, scenario)


class TestTransactions:
    def test_commands_in_a_transaction_do_not_wait(self, pair: Pair) -> None:
        pair.same("RPUSH", "l", "a", "b", "c", "d")
        pair.same("ZADD", "z", 1, "a", 2, "b")
        pair.same("MULTI")
        for command in (
            ("BLPOP", "nokey", 0), ("BRPOP", "nokey", "nokey2", 0), ("BLMOVE", "nokey", "m", "LEFT", "LEFT", 0),
            ("BRPOPLPUSH", "nokey", "m", 0), ("BLMPOP", 0, 1, "nokey", "LEFT"), ("BZPOPMIN", "nokey", 0),
            ("BZPOPMAX", "nokey", 0), ("BZMPOP", 0, 1, "nokey", "MIN"), ("BLPOP", "l", 0), ("BLMOVE", "l", "m",
            "LEFT", "LEFT", 0), ("BZPOPMIN", "z", 0), ("BLMPOP", 0, 1, "l", "RIGHT"), ("BLPOP", "z", 0),
        ):  # fmt: skip
            pair.same(*command)
        pair.same("EXEC", alike=lambda answers: [str(answer) for answer in answers])

    def test_pushes_in_a_transaction_serve_when_it_is_over(self, both: list[Server]) -> None:
        def scenario(server: Server) -> Any:
            first = server.blocked("BLPOP", "a", "b", 0)
            second = server.blocked("BRPOP", "b", "a", 0)
            client = server.client()
            commands = [
                ("MULTI",), ("RPUSH", "b", "1", "2"), ("RPUSH", "a", "3"), ("LLEN", "b"), ("LPUSH", "b", "4"),
                ("LLEN", "a"), ("EXEC",),
            ]  # fmt: skip
            client.send_all(*commands)
            return [client.receive() for _ in commands], first.receive(), second.receive()

        same(both, scenario)

    def test_what_is_gone_at_the_end_of_a_transaction_serves_nobody(self, both: list[Server]) -> None:
        def scenario(server: Server) -> Any:
            waiting = server.blocked("BLPOP", "a", 0)
            client = server.client()
            commands = [("MULTI",), ("RPUSH", "a", "1"), ("DEL", "a"), ("EXEC",)]
            client.send_all(*commands)
            answers = [client.receive() for _ in commands]
            assert not waiting.has_reply()
            client.send_all(("MULTI",), ("RPUSH", "a", "1"), ("DEL", "a"), ("RPUSH", "a", "2", "3"), ("EXEC",))
            return answers, waiting.receive()

        same(both, scenario)


class TestEndsOfWaiting:
    def test_times_that_are_up_one_after_the_other(self, both: list[Server]) -> None:
        def scenario(server: Server) -> Any:
            long = server.blocked("BLPOP", "l", 0.2)
            short = server.blocked("BLPOP", "l", 0.05)
            for_ever = server.blocked("BLPOP", "l", 0)
            answers = [short.receive(), long.receive()]
            return answers, server("RPUSH", "l", "a", "b"), for_ever.receive(), server("LLEN", "l")

        same(both, scenario)

    def test_a_client_that_goes_takes_nothing(self, both: list[Server]) -> None:
        def scenario(server: Server) -> Any:
            gone = server.blocked("BLPOP", "l", "m", 0)
            stays = server.blocked("BLPOP", "l", 0)
            gone.close()
            server.until_gone(gone)
            return server("RPUSH", "l", "a"), stays.receive(), server("RPUSH", "m", "b"), server("LLEN", "m")

        same(both, scenario)

    def test_a_client_that_is_killed_takes_nothing(self, both: list[Server]) -> None:
        def scenario(server: Server) -> Any:
            killed = server.blocked("BZPOPMIN", "z", 0)
            answer = server("CLIENT", "KILL", "ID", killed.id)
            server.until_gone(killed)
            return answer, server("ZADD", "z", "1", "a"), server("ZCARD", "z")

        same(both, scenario)

    @pytest.mark.parametrize("reason", [(), ("TIMEOUT",), ("ERROR",), ("error",)])
    @pytest.mark.parametrize(
        "command",
        [
            ("BLPOP", "l", 0),
            ("BLMOVE", "l", "m", "LEFT", "LEFT", 0),
            ("BLMPOP", 0, 1, "l", "LEFT"),
            ("BZPOPMAX", "z", 0),
        ],
    )
    def test_client_unblock(self, both: list[Server], command: tuple[Any, ...], reason: tuple[str, ...]) -> None:
        def scenario(server: Server) -> Any:
            waiting = server.blocked(*command)
            answers = [server("CLIENT", "UNBLOCK", waiting.id, *reason), waiting.receive()]
            answers.append(server("CLIENT", "UNBLOCK", waiting.id, *reason))
            return answers, server("RPUSH", "l", "a"), server("ZADD", "z", "1", "a"), waiting.ask("PING")

        same(both, scenario)

    def test_client_unblock_of_others(self, pair: Pair) -> None:
        pair.same("CLIENT", "UNBLOCK", 999_999)
        pair.same("CLIENT", "UNBLOCK", "abc")
        pair.same("CLIENT", "UNBLOCK", 1, "NOPE")
        pair.same("CLIENT", "UNBLOCK")


def test_further_requests_wait_for_their_turn(both: list[Server]) -> None:
    def scenario(server: Server) -> Any:
        client = server.client()
        client.send_all(
            ("PING",), ("BLPOP", "l", 0), ("RPUSH", "m", "from me"), ("LLEN", "l"), ("BLPOP", "n", 0), ("PING",)
        )
        server.until_blocked(client)
        other = server.blocked("BLPOP", "m", 0)
        pushed = server("RPUSH", "l", "a", "b")
        got = other.receive()
        server.until_blocked(client)
        server("RPUSH", "n", "z")
        return pushed, got, [client.receive() for _ in range(6)]

    same(both, scenario)


def test_a_long_chain_of_clients_that_push_when_they_are_served(both: list[Server]) -> None:
    length = 100

    def scenario(server: Server) -> Any:
        clients = []
        for number in range(length):
            client = server.client()
            client.send_all(("BLPOP", f"l{number}", 0), ("RPUSH", f"l{number + 1}", str(number)))
            clients.append(client)
        for client in clients:
            server.until_blocked(client)
        server("RPUSH", "l0", "go")
        return [(client.receive(), client.receive()) for client in clients], server("BLPOP", f"l{length}", 0)

    same(both, scenario)


def test_a_pipeline_that_pushes_and_pops_itself(both: list[Server]) -> None:
    def scenario(server: Server) -> Any:
        client = server.client()
        commands = [words for n in range(5) for words in (("RPUSH", "l", n), ("BLPOP", "l", 0), ("BLPOP", "l", 0.001))]
        client.send_all(*commands)
        return [client.receive() for _ in commands]

    same(both, scenario)


def test_many_workers_get_every_task_once(onemq_port: int) -> None:
    with ExitStack() as stack:
        server = Server(onemq_port, 2, stack)
        workers = [server.client() for _ in range(20)]
        for worker in workers:
            for _ in range(50):
                worker.send("BRPOP", "tasks", "urgent", 0)
        for number in range(1_000):
            server("LPUSH", "urgent" if number % 7 == 0 else "tasks", number)
        got = [worker.receive() for worker in workers for _ in range(50)]
        assert sorted(int(task) for _, task in got) == list(range(1_000))
        assert server("DBSIZE") == 0


def test_redis_py(onemq_port: int) -> None:
    with redis.Redis(port=onemq_port, decode_responses=True) as client:
        client.flushall()
        assert client.blpop("l", timeout=0.01) is None
        client.rpush("l", "a", "b", "c", "d")
        assert client.brpop(["k", "l"], timeout=1) == ("l", "d")
        assert client.blmove("l", "m", timeout=1) == "a"
        assert client.brpoplpush("l", "m", timeout=1) == "c"
        assert client.blmpop(1, 1, "l", direction="LEFT") == ["l", ["b"]]
        client.zadd("z", {"a": 1.5})
        assert client.bzpopmin("z", timeout=1) == ("z", "a", 1.5)
