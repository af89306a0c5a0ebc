"""What a group has not acknowledged, as runs of offsets."""

from random import Random

from onemq.core.backlog import backlog
from onemq.core.cursor import Cursor
from tests.unit.core.broker import Broker


def offsets_in(cursor: Cursor) -> list[int]:
    runs, further = backlog(cursor, 0, 1000)
    assert further is None
    return [offset for first, last in runs for offset in range(first, last + 1)]


def test_it_is_what_is_in_flight_and_what_was_never_handed_out(broker: Broker) -> None:
    broker.topic()
    group = broker.group()
    with broker.turn() as core:
        for number in range(10):
            core.send("t", str(number).encode())
    broker.receive(group, most=6)
    broker.acknowledge(group, 0, 1, 3, 4)
    cursor = group.cursors[0]
    assert backlog(cursor, 0, 10) == ([(2, 2), (5, 5), (6, 9)], None)
    assert backlog(cursor, 0, 1) == ([(2, 2)], 5)
    assert backlog(cursor, 5, 10) == ([(5, 5), (6, 9)], None)
    broker.acknowledge(group, 2, 5)
    assert backlog(cursor, 0, 10) == ([(6, 9)], None)


def test_priorities_are_exact_whatever_overtakes_what(broker: Broker) -> None:
    """B10"""
    random = Random(7)
    broker.topic()
    group = broker.group()
    stored, done = 0, set()
    for _ in range(60):
        with broker.turn() as core:
            for _ in range(random.randrange(6)):
                core.send("t", b"x", priority=random.choice((0, 4, 4, 9)))
                stored += 1
        got = [record[0] for _, record, _ in broker.receive(group, most=random.randrange(1, 6))]
        chosen = [offset for offset in got if random.random() < 0.7]
        if chosen:
            broker.acknowledge(group, *chosen)
        done.update(chosen)
        assert offsets_in(group.cursors[0]) == sorted(set(range(stored)) - done)
