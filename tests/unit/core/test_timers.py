"""Timers of what is in memory."""

from onemq.core.timers import Timers

NOW_MS = 1_700_000_000_000
HOUR_MS = 3_600_000


def timers(**dues: int) -> tuple[Timers[str], set[str]]:
    """Some, and what is over already."""
    over: set[str] = set()
    made: Timers[str] = Timers(over.__contains__)
    for name, due_ms in dues.items():
        made.add(due_ms, name)
    return made, over


def test_things_come_when_they_are_due_in_order() -> None:
    made, _ = timers(c=3, a=1, b=1, d=9)
    assert made.pop_due(0, 10) == []
    assert made.next_due_ms(0) == 1
    assert made.pop_due(3, 2) == ["a", "b"]
    assert made.pop_due(3, 2) == ["c"]
    assert made.next_due_ms(3) == 9
    assert made.pop_due(9, 2) == ["d"]
    assert made.next_due_ms(9) is None


def test_what_is_over_does_not_pile_up_before_its_time() -> None:
    made, over = timers(first=NOW_MS + 1, last=NOW_MS + HOUR_MS)
    for number in range(10_000):
        made.add(NOW_MS + HOUR_MS - number, f"{number}")
        over.add(f"{number}")
    assert len(made) < 200
    left = made.pop_due(NOW_MS + HOUR_MS, 10_000)
    assert [each for each in left if each not in over] == ["first", "last"]
    assert len(made) == 0
    assert made.next_due_ms(NOW_MS) is None


def test_what_is_not_over_stays_however_many_they_are() -> None:
    made, _ = timers()
    for number in range(1_000):
        made.add(NOW_MS + number, f"{number}")
    assert made.pop_due(NOW_MS + 1_000, 2_000) == [f"{number}" for number in range(1_000)]
