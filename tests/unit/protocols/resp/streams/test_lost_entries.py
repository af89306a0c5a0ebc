"""Pending entries whose messages are neither there nor deleted: a power cut or a restart took them."""

from typing import Any

import pytest

from onemq.core.core import Core
from onemq.protocols.resp.service import RespService, ServerFacts
from tests.unit.core.broker import Broker, simulated
from tests.unit.protocols.resp.fakes import Client

FACTS = ServerFacts("r" * 40, 77, 0, 6379, "", 50, lambda: 1, lambda: 1)


class Told:
    """Commands to a broker, each in a turn of its own."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._core: Core | None = None
        self._client: Client | None = None

    def __call__(self, line: str) -> Any:
        if self._core is not self._broker.core:  # it was started again
            self._core = self._broker.core
            self._client = Client(RespService(self._core, FACTS))
        assert self._client is not None
        with self._broker.turn():
            return self._client.ask(*line.split())


@pytest.fixture
def told() -> Told:
    """A stream with two entries and a lost one between them, all pending."""
    broker = simulated()
    tell = Told(broker)
    tell("XADD s 1-1 a b")
    tell("XGROUP CREATE s g 0")
    broker.send(b"not persistent", topic="s", persistent=False)
    tell("XADD s 9999999999999-1 a b")
    tell("XREADGROUP GROUP g alice STREAMS s >")
    broker.restart()
    return tell


def test_commands_pass_over_it(told: Told) -> None:
    entries = [[b"1-1", [b"a", b"b"]], [b"9999999999999-1", [b"a", b"b"]]]
    assert told("XRANGE s - +") == entries
    assert told("XREADGROUP GROUP g alice STREAMS s 0") == [[b"s", entries]]
    assert [row[0] for row in told("XPENDING s g - + 10")] == [b"1-1", b"9999999999999-1"]
    assert told("XPENDING s g")[:3] == [3, b"1-1", b"9999999999999-1"]
    assert told("XINFO STREAM s FULL COUNT 0")


def test_claiming_takes_it_off_the_list(told: Told) -> None:
    entries = [[b"1-1", [b"a", b"b"]], [b"9999999999999-1", [b"a", b"b"]]]
    assert told("XAUTOCLAIM s g bob 0 0") == [b"0-0", entries, []]
    assert told("XPENDING s g")[0] == 2


def test_nothing_but_lost_entries(told: Told) -> None:
    assert told("XACK s g 1-1 9999999999999-1") == 2
    assert told("XPENDING s g")[0] == 1
    assert told("XPENDING s g - + 10") == []
    assert told("XAUTOCLAIM s g bob 0 0") == [b"0-0", [], []]
    assert told("XPENDING s g") == [0, None, None, None]
