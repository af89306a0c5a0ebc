"""CLIENT PAUSE and UNBLOCK, with a clock of our own."""

from onemq.errors import OneMQError
from onemq.protocols.resp import replies
from onemq.protocols.resp.command import Command
from onemq.protocols.resp.session import RespSession
from tests.unit.protocols.resp.fakes import Client, encode, make_service

RELEASE = ("EVALSHA", "c3f8721cbb97f72bc19e972846bd7aaf91901658", "1", "lock", "token")
"""Of redis-py's locks."""


def pass_time(client: Client, ms: int) -> None:
    core = client.service.core
    core.stage.now_ms += ms
    core.waiting.tick(core.stage.now_ms)


def sent(client: Client) -> bytes:
    return b"".join(client.peer.sent)


def test_everybody_waits_until_the_time_is_up_and_goes_on_in_order() -> None:
    one = Client()
    two = Client(one.service)
    assert one.call("CLIENT", "PAUSE", "100") == replies.OK
    assert one.raw(encode("PING") + encode("ECHO", "a")) == b""
    assert two.raw(encode("PING")) == b""
    late = Client(one.service)
    assert late.raw(encode("PING")) == b""
    pass_time(one, 99)
    assert sent(one) == b""
    pass_time(one, 1)
    assert (sent(one), sent(two), sent(late)) == (b"+PONG\r\n$1\r\na\r\n", b"+PONG\r\n", b"+PONG\r\n")
    assert one.call("PING") == b"+PONG\r\n"


def test_a_pause_of_writes_lets_reads_through_and_can_be_ended() -> None:
    one = Client()
    two = Client(one.service)
    one.call("CLIENT", "PAUSE", "1000", "WRITE")
    assert two.raw(encode("GET", "k") + encode("SET", "k", "v") + encode("GET", "k")) == b"$-1\r\n"
    assert one.call("CLIENT", "UNPAUSE") == replies.OK
    assert sent(two) == b"$-1\r\n+OK\r\n$1\r\nv\r\n"
    pass_time(one, 5_000)
    assert two.call("PING") == b"+PONG\r\n"


def test_a_second_pause_makes_it_only_longer_and_stricter() -> None:
    client = Client()
    client.call("CLIENT", "PAUSE", "1000", "WRITE")
    client.call("CLIENT", "PAUSE", "10", "ALL")
    assert client.call("PING") == b""
    pass_time(client, 999)
    assert sent(client) == b""
    pass_time(client, 1)
    assert sent(client) == b"+PONG\r\n"


def test_a_transaction_waits_with_what_it_writes() -> None:
    client = Client()
    other = Client(client.service)
    client.raw(encode("MULTI") + encode("SET", "k", "v"))
    other.call("CLIENT", "PAUSE", "1000", "WRITE")
    assert client.call("EXEC") == b""
    other.call("CLIENT", "UNPAUSE")
    assert sent(client) == b"*1\r\n+OK\r\n"


def test_a_script_waits_with_what_writes_alone_and_in_a_transaction() -> None:
    client = Client()
    queueing, other = Client(client.service), Client(client.service)
    other.call("SET", "lock", "token")
    queueing.raw(encode("MULTI") + encode(*RELEASE))
    other.call("CLIENT", "PAUSE", "1000", "WRITE")
    assert client.call(*RELEASE) == b""
    assert queueing.call("EXEC") == b""
    assert other.ask("GET", "lock") == b"token"
    other.call("CLIENT", "UNPAUSE")
    assert (sent(client), sent(queueing)) == (b":1\r\n", b"*1\r\n:0\r\n")


def test_one_who_leaves_is_forgotten() -> None:
    client = Client()
    other = Client(client.service)
    client.call("CLIENT", "PAUSE", "1000", "WRITE")
    other.call("SET", "k", "v")
    other.session.lost()
    client.call("CLIENT", "UNPAUSE")
    assert client.call("EXISTS", "k") == b":0\r\n"


def lingering() -> tuple[Client, Client]:
    def linger(session: RespSession, request: list[bytes]) -> bytes:
        def unblock(error: OneMQError | None) -> None:
            session.go_on(replies.integer(0) if error is None else session.refusal(error))

        session.unblock = unblock
        session.wait()
        return b""

    client = Client(make_service(Command("linger", 1, linger, "Wait", "0", "test")))
    return client, Client(client.service)


def test_unblock_answers_as_if_the_time_were_up_or_with_an_error() -> None:
    client, other = lingering()
    for how, line in ((), b":0\r\n"), (("ERROR",), b"-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n"):
        assert client.raw(encode("LINGER") + encode("PING")) == b""
        assert other.call("CLIENT", "UNBLOCK", "1", *how) == b":1\r\n"
        assert sent(client) == line + b"+PONG\r\n"
        assert other.call("CLIENT", "UNBLOCK", "1") == b":0\r\n"


def test_one_who_got_what_it_waited_for_meanwhile_is_not_answered_twice() -> None:
    client, other = lingering()
    client.call("LINGER")

    def serve(session: RespSession, request: list[bytes]) -> bytes:
        session.service.afterwards[lambda: client.session.go_on(replies.integer(7))] = None
        return replies.OK

    other.service.commands[b"serve"] = Command("serve", 1, serve, "Serve", "0", "test")  # type: ignore[index]
    other.call("MULTI")
    other.session.transaction.add(other.service.commands[b"serve"], [b"serve"])  # type: ignore[union-attr]
    other.raw(encode("CLIENT", "UNBLOCK", "1") + encode("EXEC"))
    assert sent(client) == b":7\r\n"


def test_wait_for_replicas_ends_when_its_time_is_up() -> None:
    client = Client()
    assert client.call("WAIT", "0", "0") == b":0\r\n"
    assert client.call("WAIT", "1", "50") == b""
    pass_time(client, 50)
    assert sent(client) == b":0\r\n"
    assert client.session.on_lost == {}
    assert client.call("WAIT", "1", "0") == b""
    assert Client(client.service).call("CLIENT", "UNBLOCK", "1") == b":1\r\n"
    assert sent(client) == b":0\r\n"
