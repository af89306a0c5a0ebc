"""Deadlines of those who wait."""

from dataclasses import dataclass

from onemq.core.deadlines import Deadlines


@dataclass
class Waiter:
    name: str
    over: bool = False


def deadlines(**dues: int) -> tuple[Deadlines[Waiter], dict[str, Waiter]]:
    made: Deadlines[Waiter] = Deadlines(lambda waiter: waiter.over)
    waiters = {name: Waiter(name) for name in dues}
    for name, due_ms in dues.items():
        made.add(due_ms, waiters[name])
    return made, waiters


def test_those_whose_time_is_up_come_in_order_of_time_then_of_arrival() -> None:
    made, _ = deadlines(c=3, a=1, b=1, d=9)
    assert [waiter.name for waiter in made.pop_due(0)] == []
    assert made.next_due_ms() == 1
    assert [waiter.name for waiter in made.pop_due(3)] == ["a", "b", "c"]
    assert made.next_due_ms() == 9


def test_those_who_no_longer_wait_are_passed_over() -> None:
    made, waiters = deadlines(a=1, b=2, c=3)
    waiters["a"].over = waiters["b"].over = True
    assert [waiter.name for waiter in made.pop_due(0)] == []
    assert made.next_due_ms() == 3
    waiters["c"].over = True
    assert list(made.pop_due(0)) == []
    assert made.next_due_ms() is None


def test_all_who_still_wait_can_be_had_at_once() -> None:
    made, waiters = deadlines(b=2, a=1, c=3)
    waiters["a"].over = True
    assert [waiter.name for waiter in made.pop_all()] == ["b", "c"]
    assert len(made) == 0


def test_those_who_no_longer_wait_do_not_pile_up_behind_one_who_does() -> None:
    made, _ = deadlines(first=1)
    for number in range(10_000):
        waiter = Waiter(f"{number}")
        made.add(1_000_000, waiter)
        waiter.over = True
    assert len(made) < 200
    assert [waiter.name for waiter in made.pop_due(2_000_000)] == ["first"]
