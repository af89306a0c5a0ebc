"""A RESP session: any commands with any arguments are answered, and alike whatever pieces they come in.

The core is real, over a log in memory, and its clock stands still. Nothing may fail in a way that is no
error of the protocol: `receive` lets no exception out, and the log of a transaction's bugs stays empty.
"""

import logging
from random import Random

import hiredis

from onemq.core.core import Core
from onemq.log.memory import MemoryLog
from onemq.protocols.resp.service import RespService
from tests.fuzz.streams import commands, damaged, encode, pieces
from tests.unit.protocols.resp.fakes import FakePeer, make_service

NOW_MS = 1_700_000_000_000
_MODES = (
    [b"MULTI"], [b"EXEC"], [b"DISCARD"], [b"WATCH", b"a", b"k"], [b"HELLO", b"3"], [b"HELLO", b"2"],
    [b"SUBSCRIBE", b"a"], [b"PSUBSCRIBE", b"a*"], [b"UNSUBSCRIBE"], [b"PUNSUBSCRIBE"], [b"PUBLISH", b"a", b"x"],
    [b"RESET"], [b"CLIENT", b"REPLY", b"SKIP"], [b"CLIENT", b"REPLY", b"OFF"], [b"CLIENT", b"REPLY", b"ON"],
)  # fmt: skip


class _Failures(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            raise AssertionError(self.format(record))


def run(seed: int) -> None:
    random = Random(seed)
    asked = commands(random, random.randrange(1, 60))
    plain = random.random() < 0.5
    if not plain:
        for mode in random.choices(_MODES, k=random.randrange(1, 12)):
            asked.insert(random.randrange(len(asked) + 1), mode)
    stream = b"".join(map(encode, asked))
    sound = random.random() < 0.8
    if not sound:
        stream = damaged(random, stream)
    failures = _Failures()
    logger = logging.getLogger("onemq.protocols")
    logger.addHandler(failures)
    try:
        whole = _answers([stream])
        assert _answers(list(pieces(random, stream))) == whole, "the answers depend on the pieces"
    finally:
        logger.removeHandler(failures)
    if plain and sound:
        _check_form(whole)


def _answers(parts: list[bytes]) -> bytes:
    core = Core(MemoryLog())
    core.recover(NOW_MS)
    core.tick(NOW_MS)
    service = RespService(core, make_service().facts)
    peer = FakePeer()
    session = service.connect(peer)
    for part in parts:
        session.receive(part)
    core.settle()
    errors: list[object] = []
    core.flush(errors.append)
    assert errors == [None]
    session.lost()
    assert service.sessions == {}
    return b"".join(peer.sent)


def _check_form(answers: bytes) -> None:
    """They are whole frames."""
    reader = hiredis.Reader()
    reader.feed(answers)
    while reader.gets() is not False:
        pass
    assert not reader.has_data(), "half a frame is left"
