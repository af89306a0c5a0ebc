"""XREAD and XREADGROUP with BLOCK: what keeps them from waiting is their answer."""

import pytest

from tests.unit.protocols.resp.fakes import Client, make_service


@pytest.fixture
def client() -> Client:
    made = Client(make_service())
    made.ask("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
    made.ask("XGROUP", "CREATE", "t", "g", "$", "MKSTREAM")
    return made


@pytest.mark.parametrize("claim", [(), ("CLAIM", "0")], ids=["new", "claim"])
@pytest.mark.parametrize("name", ["", "a\nb", "x" * 250])
def test_a_consumer_whose_name_is_refused_does_not_wait(client: Client, name: str, claim: tuple[str, ...]) -> None:
    reply = client.call("XREADGROUP", "GROUP", "g", name, "BLOCK", "1000", *claim, "STREAMS", "s", "t", ">", ">")
    assert reply.startswith(b"-ERR a member name ")
    assert client.call("PING") == b"+PONG\r\n"
    assert client.session.unblock is None
    assert not client.session.on_lost
    client.service.core.tick(client.service.now_ms + 2_000)
    client.ask("XADD", "s", "*", "f", "v")
    assert client.ask("XPENDING", "s", "g")[0] == 0
