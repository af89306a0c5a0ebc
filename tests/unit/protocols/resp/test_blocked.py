"""Who waits for keys: served, timed out, gone, and still there after the core began anew. With a real core."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from onemq.core.core import Core
from onemq.errors import OneMQError, ReadOnly
from onemq.log.disk import OsDisk
from onemq.log.local import LocalLog
from onemq.protocols.resp.service import RespService
from tests.unit.protocols.resp.fakes import Client, encode, make_service

NOW_MS = 1_000_000


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RespService]:
    log = LocalLog(OsDisk(tmp_path))
    log.open()
    service = make_service()
    service.core = Core(log)
    service.core.recover(NOW_MS)
    service.core.tick(NOW_MS)
    yield service
    log.close()


def end_turn(service: RespService) -> None:
    def done(error: OneMQError | None) -> None:
        assert error is None

    service.core.settle()
    service.core.flush(done)


def got(client: Client) -> Any:
    """What came since the last look."""
    sent = b"".join(client.peer.sent)
    client.peer.sent.clear()
    return sent


def blocked(service: RespService, *words: str) -> Client:
    client = Client(service)
    assert client.call(*words) == b""
    assert client.session.blocked
    return client


def test_nobody_is_told_of_pushes_while_nobody_waits(service: RespService) -> None:
    client = Client(service)
    assert service.core.keys.on_push is None
    waiting = blocked(service, "BLPOP", "l", "0")
    assert service.core.keys.on_push is not None
    client.call("RPUSH", "l", "a")
    assert got(waiting) == b"*2\r\n$1\r\nl\r\n$1\r\na\r\n"
    assert service.core.keys.on_push is None
    assert waiting.session.unblock is None
    assert not waiting.session.on_lost


def test_time_is_up_at_its_millisecond(service: RespService) -> None:
    waiting = blocked(service, "BLPOP", "l", "0.0015")
    service.core.tick(NOW_MS + 1)
    assert got(waiting) == b""
    service.core.tick(NOW_MS + 2)
    assert got(waiting) == b"*-1\r\n"
    assert Client(service).ask("RPUSH", "l", "a") == 1
    assert Client(service).ask("LLEN", "l") == 1


def kill(client: Client) -> bytes:
    return encode("CLIENT", "KILL", "ID", str(client.session.id))


def test_a_client_that_is_killed_takes_nothing_from_then_on(service: RespService) -> None:
    killed, stays = blocked(service, "BLPOP", "l", "0"), blocked(service, "BLPOP", "l", "0")
    killer = Client(service)
    pushes = encode("RPUSH", "l", "a") + encode("RPUSH", "l", "b")
    assert killer.raw(kill(killed) + pushes + encode("LLEN", "l")) == b":1\r\n:1\r\n:1\r\n:1\r\n"
    assert got(stays) == b"*2\r\n$1\r\nl\r\n$1\r\na\r\n"
    assert got(killed) == b""
    assert killed.peer.closed
    killed.session.lost()
    assert service.core.keys.on_push is None


def test_one_that_is_killed_within_a_transaction_does_not_either(service: RespService) -> None:
    killed, killer = blocked(service, "BLPOP", "l", "0"), Client(service)
    killer.raw(encode("MULTI") + kill(killed) + encode("RPUSH", "l", "a") + encode("EXEC"))
    assert killer.ask("LLEN", "l") == 1


@pytest.mark.parametrize("noack", [(), ("NOACK",)])
def test_a_killed_consumer_takes_no_entries(service: RespService, noack: tuple[str, ...]) -> None:
    killer = Client(service)
    killer.call("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
    killed = blocked(service, "XREADGROUP", "GROUP", "g", "one", *noack, "BLOCK", "0", "STREAMS", "s", ">")
    killer.raw(kill(killed) + encode("XADD", "s", "1-1", "f", "v"))
    end_turn(service)
    assert killer.ask("XPENDING", "s", "g")[0] == 0
    assert killer.ask("XREADGROUP", "GROUP", "g", "two", "STREAMS", "s", ">")[0][1] == [[b"1-1", [b"f", b"v"]]]


def test_who_kills_itself_in_a_transaction_has_its_own_until_that_is_over(service: RespService) -> None:
    client, publisher = Client(service), Client(service)
    client.call("HELLO", "3")
    client.call("SUBSCRIBE", "c")
    own = encode("CLIENT", "KILL", "SKIPME", "no", "ID", str(client.session.id))
    answer = client.raw(encode("MULTI") + own + encode("PUBLISH", "c", "m") + encode("EXEC"))
    assert answer.endswith(b"*2\r\n:1\r\n>3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n:1\r\n")
    assert client.peer.closed
    assert publisher.ask("PUBLISH", "c", "m") == 0


@pytest.mark.parametrize("ends", [encode("QUIT"), b"*x\r\n"], ids=["quit", "nonsense"])
def test_who_ends_its_own_connection_gives_back_what_it_has(service: RespService, ends: bytes) -> None:
    client = Client(service)
    client.call("SUBSCRIBE", "c")
    client.raw(ends)
    assert client.peer.closed
    assert not client.session.on_lost
    assert Client(service).ask("PUBLISH", "c", "m") == 0


def test_a_client_that_is_lost_is_forgotten(service: RespService) -> None:
    waiting = blocked(service, "BLPOP", "l", "m", "10")
    waiting.session.lost()
    assert service.core.keys.on_push is None
    assert Client(service).ask("RPUSH", "l", "a") == 1
    assert Client(service).ask("LLEN", "l") == 1
    service.core.tick(NOW_MS + 20_000)
    assert got(waiting) == b""


def test_a_time_out_far_in_the_future_can_be_waited_for(service: RespService) -> None:
    waiting = blocked(service, "BLPOP", "l", "9223372036854775")
    service.core.tick(NOW_MS + 1)
    assert Client(service).ask("RPUSH", "l", "a") == 1
    assert got(waiting) == b"*2\r\n$1\r\nl\r\n$1\r\na\r\n"


class TestTheCoreBeginsAnew:
    """After a failed flush the core goes back to what the log holds. Those who waited still wait."""

    def test_and_a_later_push_serves(self, service: RespService) -> None:
        waiting = blocked(service, "BLPOP", "l", "0")
        end_turn(service)
        service.core.reset()
        assert got(waiting) == b""
        assert Client(service).ask("RPUSH", "l", "a") == 1
        assert got(waiting) == b"*2\r\n$1\r\nl\r\n$1\r\na\r\n"

    def test_and_the_time_out_still_holds(self, service: RespService) -> None:
        waiting = blocked(service, "BRPOP", "l", "5")
        service.core.reset()
        service.core.tick(NOW_MS + 4_999)
        assert got(waiting) == b""
        service.core.tick(NOW_MS + 5_000)
        assert got(waiting) == b"*-1\r\n"

    def test_and_what_was_taken_in_the_failed_turn_is_there_for_others(self, service: RespService) -> None:
        taker = Client(service)
        taker.call("RPUSH", "l", "a")
        end_turn(service)
        assert taker.ask("LPOP", "l") == b"a"
        waiting = blocked(service, "BLPOP", "l", "0")
        service.core.reset()
        assert got(waiting) == b"*2\r\n$1\r\nl\r\n$1\r\na\r\n"

    def test_and_nothing_is_taken_while_nothing_can_be_written(
        self, service: RespService, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        taker = Client(service)
        taker.call("RPUSH", "l", "a")
        end_turn(service)
        assert taker.ask("LPOP", "l") == b"a"
        waiting = blocked(service, "BLPOP", "l", "0")
        monkeypatch.setattr(LocalLog, "failure", ReadOnly("no"))
        service.core.reset()
        assert got(waiting) == b""
        assert Client(service).ask("LLEN", "l") == 1
        service.core.stage.refusal = None
        assert Client(service).ask("RPUSH", "l", "b") == 2
        assert got(waiting) == b"*2\r\n$1\r\nl\r\n$1\r\na\r\n"


WRITING = """
    LPUSH l x
    RPOP l
    LPOP l 1
    LTRIM l 0 0
    SET k v
    SET k v NX
    INCR n
    APPEND k v
    GETDEL k
    GETEX k PERSIST
    DEL l
    EXPIRE l 5
    PERSIST l
    RENAME l k
    COPY l k
    FLUSHALL
    HSET h f v
    SADD m a
    SPOP m
    SUNIONSTORE d m
    ZADD z 1 b
    ZPOPMIN z
    ZREMRANGEBYRANK z 0 1
    ZUNIONSTORE d 1 z
    LMPOP 1 l LEFT
    BLPOP l 0
    BLPOP none 0
    BLMOVE l m LEFT LEFT 0
    BLMPOP 0 1 l LEFT
    BLMPOP 0 1 none LEFT
    BZPOPMIN z 0
    BZMPOP 0 1 z MIN
"""


def test_commands_that_write_are_refused_when_the_log_cannot(service: RespService) -> None:
    client = Client(service)
    client.call("RPUSH", "l", "a")
    client.call("ZADD", "z", "1", "a")
    service.core.stage.refusal = ReadOnly("the disk is gone")
    for line in WRITING.strip().splitlines():
        assert client.call(*line.split()) == b"-MISCONF the disk is gone\r\n", line
    assert client.ask("LRANGE", "l", "0", "-1") == [b"a"]
