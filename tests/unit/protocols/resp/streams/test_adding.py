"""XADD beyond what a comparison with Redis shows: what is refused leaves no trace, and ids only grow."""

from typing import Any

import hiredis
import pytest

from onemq.protocols.resp.service import RespService
from tests.unit.core.broker import SECOND_MS, Broker, simulated
from tests.unit.protocols.resp.fakes import Client, make_service

TOO_LARGE = "x" * (5 << 20)


class Told:
    """Commands to a broker, each in a turn of its own."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self._client = Client(RespService(broker.core, make_service().facts))

    def __call__(self, *words: str) -> Any:
        with self.broker.turn():
            return self._client.ask(*words)

    def is_refused(self, *words: str) -> bool:
        return isinstance(self(*words), hiredis.ReplyError)


@pytest.fixture
def told() -> Told:
    return Told(simulated())


def ids(told: Told) -> list[tuple[int, int]]:
    """Those of the stream `s`, in its order."""
    return [(int(ms), int(number)) for ms, number in (id.split(b"-") for id, _ in told("XRANGE", "s", "-", "+"))]


def test_ids_grow_behind_one_that_is_ahead_of_the_time_also_after_a_refused_entry(told: Told) -> None:
    told("XADD", "s", "9999999999999-0", "f", "v")
    assert told.is_refused("XADD", "s", "*", "f", TOO_LARGE)
    told("XADD", "s", "*", "_delay", "100ms", "f", "late")
    told.broker.pass_ms(SECOND_MS)
    told.broker.send(b"from elsewhere", topic="s")
    found = ids(told)
    assert len(found) == 3
    assert found == sorted(found)
