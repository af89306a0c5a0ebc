"""MULTI and WATCH beyond what a comparison with Redis shows: durability, limits, other modes."""

import pytest

from onemq.core.core import Core
from onemq.core.keyspace import Keyspace
from onemq.core.topics import TopicConfig
from onemq.errors import ReadOnly
from onemq.limits import RESP_NAMES_BYTES_MAX, RESP_TRANSACTION_BYTES_MAX
from onemq.log.memory import MemoryLog
from onemq.protocols.resp import replies, transactions
from onemq.protocols.resp.command import Command
from onemq.protocols.resp.service import RespService
from onemq.protocols.resp.session import RespSession
from tests.unit.protocols.resp.fakes import Client, encode, make_service

RELEASE = ("EVALSHA", "c3f8721cbb97f72bc19e972846bd7aaf91901658", "1", "lock", "token")
"""Of redis-py's locks."""
ABORTED = b"-EXECABORT Transaction discarded because of previous errors.\r\n"


def service_over(core: Core) -> RespService:
    return RespService(core, make_service().facts)


@pytest.fixture
def core() -> Core:
    core = Core(MemoryLog())
    core.recover(1)
    core.tick(2)
    return core


def test_commands_run_while_the_session_is_atomic_and_only_then() -> None:
    seen: list[bool] = []

    def look(session: RespSession, request: list[bytes]) -> bytes:
        seen.append(session.atomic)
        return replies.OK

    client = Client(make_service(Command("look", 1, look, "Look", "0", "test")))
    client.raw(encode("LOOK") + encode("MULTI") + encode("LOOK") * 2 + encode("EXEC") + encode("LOOK"))
    assert seen == [False, True, True, False]


def test_what_is_to_be_done_afterwards_is_done_after_the_whole() -> None:
    order: list[str] = []

    def act(session: RespSession, request: list[bytes]) -> bytes:
        order.append("act")
        session.service.afterwards[lambda: order.append("afterwards")] = None
        return replies.OK

    client = Client(make_service(Command("act", 1, act, "Act", "0", "test")))
    client.raw(encode("MULTI") + encode("ACT") * 2 + encode("EXEC"))
    assert order == ["act", "act", "afterwards", "afterwards"]


def test_what_was_left_by_a_command_that_failed_is_done_as_well() -> None:
    order: list[str] = []

    def fail(session: RespSession, request: list[bytes]) -> bytes:
        session.service.afterwards[lambda: order.append("afterwards")] = None
        raise ReadOnly("no")

    client = Client(make_service(Command("fail", 1, fail, "Fail", "0", "test")))
    assert client.call("FAIL") == b"-MISCONF no\r\n"
    assert order == ["afterwards"]


def test_a_bug_in_one_command_does_not_stop_the_others() -> None:
    def fail(session: RespSession, request: list[bytes]) -> bytes:
        raise ZeroDivisionError

    client = Client(make_service(Command("fail", 1, fail, "Fail", "0", "test")))
    reply = client.raw(encode("MULTI") + encode("PING") + encode("FAIL") + encode("PING") + encode("EXEC"))
    assert reply.endswith(b"*3\r\n+PONG\r\n-ERR internal error, the server's log has the details\r\n+PONG\r\n")
    assert not client.session.atomic


def test_everything_is_in_one_set_and_survives_together(core: Core) -> None:
    """Also what goes to an async topic, whose batches are otherwise only referenced."""
    core.topics.create("s", 1, TopicConfig(flush="async"))
    core.flush(lambda error: None)
    sets = []
    append = core.log.append

    def watch_append(writes: object, done: object) -> None:
        sets.append(writes)
        append(writes, done)  # type: ignore[arg-type]

    core.log.append = watch_append  # type: ignore[method-assign, assignment]
    client = Client(service_over(core))
    requests = [("XADD", "s", "1-1", "f", "v"), ("SET", "k", "v"), ("RPUSH", "l", "x")]
    client.raw(encode("MULTI") + b"".join(encode(*words) for words in requests) + encode("EXEC"))
    core.settle()
    core.flush(lambda error: None)
    (written,) = sets
    assert len(written.entries) >= 2
    assert [batch.journaled for batch in written.batches] == [True]
    assert written.sync


def test_a_queue_that_takes_too_much_is_refused_and_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "RESP_TRANSACTION_BYTES_MAX", 10_000)
    client = Client()
    assert client.call("MULTI") == replies.OK
    assert client.call("ECHO", b"x" * 9_000) == b"+QUEUED\r\n"
    assert client.call("ECHO", b"x" * 9_000).startswith(b"-ERR the commands of a transaction can take 10000 bytes")
    assert client.session.transaction is not None
    assert len(client.session.transaction) == 0
    assert client.call("PING") == b"+QUEUED\r\n"
    assert len(client.session.transaction) == 0
    assert client.call("EXEC") == ABORTED
    assert RESP_TRANSACTION_BYTES_MAX >= 64 << 20


def test_watching_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "RESP_NAMES_BYTES_MAX", 1_000)
    client = Client()
    assert client.call("WATCH", "a", "b", "c") == replies.OK
    problem = b"-ERR the keys that a connection watches can take 1000 bytes together\r\n"
    assert client.call("WATCH", *map(str, range(10))) == problem
    assert client.call("UNWATCH") == replies.OK
    assert client.call("WATCH", "a", "b", "c") == replies.OK
    assert RESP_NAMES_BYTES_MAX >= 1 << 20


def test_a_key_that_is_refused_takes_nothing_of_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "RESP_NAMES_BYTES_MAX", 1_000)
    client = Client()
    for _ in range(2):
        assert client.call("WATCH", "x" * 900).startswith(b"-ERR the keys that a connection watches")
    assert client.call("WATCH", "a") == replies.OK


def test_a_script_counts_as_a_write_so_that_what_goes_with_it_survives_with_it() -> None:
    client = Client()
    client.call("MQ.TOPIC", "CREATE", "t", "FLUSH", "async")
    client.raw(encode("SET", "lock", "token") + encode("MULTI") + encode(*RELEASE) + encode("XADD", "t", "*", "f", "v"))
    assert client.ask("EXEC")[0] == 1
    assert [partition.journaled for partition in client.service.core.stage.partitions] == [True]


def test_writes_are_refused_while_queueing_if_nothing_can_be_written() -> None:
    client = Client()
    client.call("MULTI")
    client.service.core.stage.refusal = ReadOnly("the disk failed")
    assert client.call("SET", "a", "1") == b"-MISCONF the disk failed\r\n"
    assert client.call("EXEC") == ABORTED


def test_exec_is_refused_if_nothing_can_be_written_any_more() -> None:
    client = Client()
    client.call("MULTI")
    assert client.call("SET", "a", "1") == b"+QUEUED\r\n"
    client.service.core.stage.refusal = ReadOnly("the disk failed")
    assert client.call("EXEC") == b"-EXECABORT Transaction discarded because of: MISCONF the disk failed\r\n"
    assert client.call("PING") == b"+PONG\r\n"


def test_watched_keys_are_forgotten_with_the_connection() -> None:
    client = Client()
    keys = client.service.core.keys
    client.call("WATCH", "a", "b")
    assert set(keys.watched) == {b"a", b"b"}
    client.session.lost()
    assert keys.watched == {}


def test_after_the_core_began_anew_watched_keys_count_as_changed() -> None:
    client = Client()
    client.call("WATCH", "a")
    client.service.core.keys = Keyspace([])
    client.call("MULTI")
    assert client.call("EXEC") == b"*-1\r\n"
    assert client.call("WATCH", "a") == replies.OK
    client.call("MULTI")
    assert client.call("EXEC") == b"*0\r\n"


def test_a_pipeline_changes_its_mode_on_the_way() -> None:
    client = Client()
    parts = ("PING", "MULTI", "PING", "EXEC", "PING", "MULTI", "DISCARD", "PING")
    reply = client.raw(b"".join(encode(part) for part in parts))
    assert reply == b"+PONG\r\n+OK\r\n+QUEUED\r\n*1\r\n+PONG\r\n+PONG\r\n+OK\r\n+OK\r\n+PONG\r\n"


def test_a_large_reply_is_handed_over_in_parts_and_stays_whole() -> None:
    client = Client()
    body = b"x" * 10_000
    client.raw(encode("MULTI") + encode("ECHO", body) * 30)
    reply = client.call("EXEC")
    assert reply == b"*30\r\n" + (b"$10000\r\n" + body + b"\r\n") * 30
    assert len(client.peer.sent) > 1


def test_what_is_ended_amid_a_transaction_runs_to_its_end() -> None:
    client = Client()
    address = client.peer.address
    client.raw(encode("MULTI") + encode("CLIENT", "KILL", address) + encode("SET", "k", "v"))
    assert client.call("EXEC") == b"*2\r\n+OK\r\n+OK\r\n"
    assert client.peer.closed
    assert client.service.core.keys.exists(b"k")
