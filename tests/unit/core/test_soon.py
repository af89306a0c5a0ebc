"""Messages that are due soon are read ahead of their time; that changes nothing but when they are read."""

from random import Random

import pytest

from onemq.core.soon import LEAD_MS, READ_PER_TURN, WINDOW_MS, Soon
from tests.unit.core.broker import Broker, in_memory

COUNT = 3 * READ_PER_TURN


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    monkeypatch.setattr(Soon, "least", 2)
    broker = in_memory()
    broker.topic()
    return broker


def schedule(broker: Broker, dues: list[int]) -> list[int]:
    with broker.turn() as core:
        return [core.send("t", b"%d" % due, deliver_at_ms=due)[1] for due in dues]


def test_they_come_at_their_time_and_in_its_order(broker: Broker) -> None:
    start = broker.now_ms + 10 * WINDOW_MS
    dues = [start + each for each in Random(1).choices(range(3 * WINDOW_MS), k=COUNT)]
    schedule(broker, dues)
    came: list[int] = []
    while broker.now_ms < start + 3 * WINDOW_MS:
        broker.pass_ms(7)
        new = [int(body or b"") for body in broker.values()[len(came) :]]
        assert all(due <= broker.now_ms for due in new)
        came += new
    assert came == sorted(dues)


def test_what_is_cancelled_or_moved_after_it_was_read_does_not_come_at_its_old_time(broker: Broker) -> None:
    start = broker.now_ms + LEAD_MS // 2
    ids = schedule(broker, [start + each for each in range(10)])
    broker.pass_ms(1)
    with broker.turn() as core:
        core.schedule.cancel(ids[0])
        core.schedule.move(ids[1], start + WINDOW_MS)
    broker.pass_ms(LEAD_MS)
    assert broker.values() == [b"%d" % (start + each) for each in range(2, 10)]
    broker.pass_ms(2 * WINDOW_MS)
    assert broker.values()[8:] == [b"%d" % (start + 1)]


def test_a_clock_that_went_back_does_not_stop_it(broker: Broker) -> None:
    start = broker.now_ms
    schedule(broker, [start + 1, start + 2])
    broker.pass_ms(100 * WINDOW_MS)
    broker.now_ms = start
    schedule(broker, [start + 10, start + 20])
    broker.pass_ms(WINDOW_MS)
    assert broker.values() == [b"%d" % (start + each) for each in (1, 2, 10, 20)]
