"""EVALSHA: what tests/interop does not show with the clients whose scripts they are."""

import pytest

from onemq.protocols.resp import scripts
from onemq.protocols.resp.scripts import SCRIPTS, Script
from onemq.protocols.resp.service import RespService
from tests.unit.core.broker import simulated
from tests.unit.protocols.resp.fakes import Client, encode, make_service

FAR = "9223372036854775807"


def evalsha(script: Script, *words: str) -> bytes:
    (digest,) = [each for each, (_, _, known) in SCRIPTS.items() if known is script]
    return encode("EVALSHA", digest, str(SCRIPTS[digest][0]), *words)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (scripts.lock_extend, ("lock", "mine", FAR, "0")),
        (scripts.lock_reacquire, ("lock", "mine", FAR)),
        (scripts.chord_claim_extend, ("lock", "size", "mine", FAR)),
        (scripts.chord_claim_extend, ("claim", "size", "mine", FAR)),
        (scripts.chord_cleanup, ("lock", "a", "b", "c", "d", "mine", FAR)),
    ],
)
def test_a_time_that_the_log_cannot_keep_is_refused_and_spoils_the_turn_of_nobody(
    script: Script, words: tuple[str, ...]
) -> None:
    broker = simulated()
    client = Client(RespService(broker.core, make_service().facts))
    with broker.turn():
        client.ask("SET", "lock", "mine", "PX", "60000")
        client.ask("SET", "size", "1")
        assert client.raw(evalsha(script, *words)) == b"-ERR invalid expire time in script\r\n"
    broker.restart()
    assert broker.core.keys.strings.get(b"size") == b"1"
