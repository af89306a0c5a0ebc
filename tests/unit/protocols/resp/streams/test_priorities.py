"""Streams that get messages with priorities from elsewhere: groups hand these out first, everything else stays."""

from typing import Any

import pytest

from onemq.protocols.resp.service import RespService
from tests.unit.core.broker import NOW_MS, Broker, simulated
from tests.unit.protocols.resp.fakes import Client
from tests.unit.protocols.resp.streams.test_lost_entries import FACTS


class Told:
    """Commands to a broker, each in a turn of its own."""

    def __init__(self) -> None:
        self.broker: Broker = simulated()
        self._client = Client(RespService(self.broker.core, FACTS))

    def __call__(self, line: str) -> Any:
        with self.broker.turn():
            return self._client.ask(*line.split())


@pytest.fixture
def tell() -> Told:
    """A stream with entries of several priorities, at offsets 0 to 3, and a group."""
    tell = Told()
    tell("XADD s * body a")
    tell("XGROUP CREATE s g 0")
    tell.broker.send(b"low", topic="s", priority=0)
    tell.broker.send(b"high", topic="s", priority=9)
    tell("XADD s * body b")
    return tell


def received(reply: Any) -> list[bytes]:
    """The ids of a reply to XREADGROUP."""
    return [id for id, _ in reply[0][1]] if reply is not None else []


def entry(offset: int) -> bytes:
    return b"%d-%d" % (NOW_MS, offset)


def test_a_group_reads_by_priority_and_acknowledges_by_id(tell: Told) -> None:
    assert received(tell("XREADGROUP GROUP g c COUNT 2 STREAMS s >")) == [entry(2), entry(0)]
    assert tell(f"XACK s g {entry(0).decode()} {entry(2).decode()}") == 2
    assert received(tell("XREADGROUP GROUP g c STREAMS s >")) == [entry(3), entry(1)]
    assert tell("XPENDING s g")[0] == 2
    assert received(tell("XREADGROUP GROUP g c STREAMS s 0")) == [entry(1), entry(3)]


def test_what_reads_by_id_sees_the_order_in_which_entries_came(tell: Told) -> None:
    assert [id for id, _ in tell("XRANGE s - +")] == [entry(offset) for offset in range(4)]
    assert received(tell("XREAD STREAMS s 0")) == [entry(offset) for offset in range(4)]


def test_the_lag_counts_what_was_overtaken(tell: Told) -> None:
    tell("XREADGROUP GROUP g c COUNT 3 STREAMS s >")
    (group,) = tell("XINFO GROUPS s")
    assert dict(zip(group[::2], group[1::2], strict=True))[b"lag"] == 1


def test_an_entry_that_was_overtaken_is_not_deleted_as_acknowledged(tell: Told) -> None:
    tell("XREADGROUP GROUP g c NOACK COUNT 3 STREAMS s >")
    assert tell(f"XDELEX s ACKED IDS 2 {entry(1).decode()} {entry(2).decode()}") == [2, 1]


def test_a_field_that_has_the_name_of_the_priority_is_the_senders_own(tell: Told) -> None:
    tell("XADD t * _pri 9")
    tell("XADD t * a 1 _pri 9")
    tell("XADD t * body b _pri 9 c 3")
    assert tell.broker.core.topics.get("t").partitions[0].lanes is None
