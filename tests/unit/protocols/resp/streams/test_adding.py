"""XADD beyond what a comparison with Redis shows: what is refused leaves no trace, and ids only grow."""

from typing import Any

import hiredis
import pytest

from onemq.core.topics import TopicConfig
from onemq.protocols.resp.service import RespService
from tests.unit.core.broker import NOW_MS, SECOND_MS, Broker, simulated
from tests.unit.protocols.resp.fakes import Client, make_service

BYTES_MAX = 1000
TOO_LARGE = "x" * (BYTES_MAX + 1)


class Told:
    """Commands to a broker, each in a turn of its own."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        config = TopicConfig(message_bytes_max=BYTES_MAX)
        self._client = Client(RespService(broker.core, make_service().facts, topic_config=config))

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


@pytest.mark.parametrize(
    "words",
    [
        ("XADD", "s", "*", "f", TOO_LARGE),
        ("XADD", "s", "1-1", "f", TOO_LARGE),
        ("XADD", "s", "0-*", "f", TOO_LARGE),
        ("XADD", "s", "*", "_delay", "1s", "f", TOO_LARGE),
        ("XADD", "s", "*", "_deliver_at", "99999999999999999", "f", "v"),
        ("XADD", "s", "1-1", "_delay", "1s", "f", "v"),
        ("XGROUP", "CREATE", "s", "a\nb", "$", "MKSTREAM"),
    ],
    ids=lambda words: " ".join(words)[:40],
)
def test_what_is_refused_leaves_no_stream_behind(told: Told, words: tuple[str, ...]) -> None:
    assert told.is_refused(*words)
    assert told("EXISTS", "s") == 0
    assert told("XADD", "s", "*", "f", "v")


@pytest.mark.parametrize("id", ["*", "1-1", "0-*", f"{NOW_MS}-0"])
def test_an_entry_as_large_as_can_be_makes_a_stream(told: Told, id: str) -> None:
    """What is asked before the stream is made is what is asked when the entry is added."""
    sizes = range(BYTES_MAX - 60, BYTES_MAX + 2)
    taken = [size for size in sizes if not told.is_refused("XADD", f"new{size}", id, "_body", "x" * size)]
    assert 0 < len(taken) < len(sizes)
    assert told("DBSIZE") == len(taken)
