"""Lingering: the loop stays awake for a moment for clients whom it has answered, as long as that is worth while."""

from onemq.net.lingering import FLUSH_SECONDS_MIN, LINGER_SECONDS, Lingering
from onemq.net.trust import TRIED_AGAIN_AFTER, TRUST_MAX
from tests.unit.net.fakes import FakeLoop


class World:
    """A clock that moves by a tenth of the time at each look."""

    def __init__(self) -> None:
        self.loop = FakeLoop()
        self.now = 0.0
        self.comes = False
        self.looks = 0
        self.lingering = Lingering(self.loop, self._look, self._clock)  # type: ignore[arg-type]

    def _look(self) -> bool:
        self.looks += 1
        return self.comes

    def _clock(self) -> float:
        self.now += LINGER_SECONDS / 10
        return self.now

    def end_turn(self, flush_seconds: float = FLUSH_SECONDS_MIN) -> None:
        self.lingering.answered(flush_seconds)

    def answer(self, comes: bool, flush_seconds: float = FLUSH_SECONDS_MIN) -> int:
        """A client is answered, and its next request comes at once or not. Returns how often it was looked for."""
        self.comes, self.looks = comes, 0
        self.end_turn(flush_seconds)
        self.loop.settle_down()
        return self.looks


def test_it_looks_until_something_comes() -> None:
    world = World()
    world.end_turn()
    for _ in range(4):
        world.loop.iterate()
    assert world.looks == 4
    world.comes = True
    world.loop.settle_down()
    assert world.looks == 5


def test_it_looks_for_a_bounded_time() -> None:
    assert World().answer(comes=False) == 10


def test_it_does_not_look_after_flushes_that_take_little_time() -> None:
    assert World().answer(comes=True, flush_seconds=FLUSH_SECONDS_MIN / 2) == 0


def test_another_answer_meanwhile_begins_the_time_anew() -> None:
    world = World()
    world.end_turn()
    for _ in range(5):
        world.loop.iterate()
    world.end_turn()
    world.loop.settle_down()
    assert 10 < world.looks <= 16


def test_it_ends_where_it_is_for_nothing_and_is_tried_again_later() -> None:
    world = World()
    found = [world.answer(comes=False) > 0 for _ in range(TRUST_MAX // 2 + TRIED_AGAIN_AFTER)]
    assert found == [True] * (TRUST_MAX // 2) + [False] * (TRIED_AGAIN_AFTER - 1) + [True]
    assert not any(world.answer(comes=False) for _ in range(TRIED_AGAIN_AFTER - 1))
    assert world.answer(comes=True)
    assert world.answer(comes=True)


def test_who_is_answered_while_it_looks_was_worth_it() -> None:
    world = World()
    for _ in range(TRUST_MAX // 2 - 1):
        assert world.answer(comes=False)
    world.end_turn()
    for _ in range(TRUST_MAX):  # each asks, and is answered, before the look for it
        world.end_turn()
    world.loop.settle_down()
    assert [world.answer(comes=False) > 0 for _ in range(TRUST_MAX // 2)] == [True] * (TRUST_MAX // 2 - 1) + [False]
