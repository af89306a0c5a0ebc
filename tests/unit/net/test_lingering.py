"""Lingering: the loop stays awake for a moment for a client that is alone, as long as that is worth while."""

from onemq.net.lingering import LINGER_SECONDS, TRIED_AGAIN_AFTER, TRUST_MAX, Lingering
from onemq.net.turn import Turns
from tests.unit.net.fakes import FakeCore, FakeLoop
from tests.unit.net.test_turn import FakeOutlet


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

    def answer(self, comes: bool) -> int:
        """A client is answered, and its next request comes at once or not. Returns how often it was looked for."""
        self.comes, self.looks = comes, 0
        self.lingering.begin()
        self.loop.settle_down()
        return self.looks


def test_it_looks_until_something_comes() -> None:
    world = World()
    world.lingering.begin()
    for _ in range(4):
        world.loop.iterate()
    assert world.looks == 4
    world.comes = True
    world.loop.settle_down()
    assert world.looks == 5


def test_it_looks_for_a_bounded_time() -> None:
    assert World().answer(comes=False) == 10


def test_another_answer_meanwhile_begins_the_time_anew() -> None:
    world = World()
    world.lingering.begin()
    for _ in range(5):
        world.loop.iterate()
    world.lingering.begin()
    world.loop.settle_down()
    assert 10 < world.looks <= 16


def test_it_ends_where_it_is_for_nothing_and_is_tried_again_later() -> None:
    world = World()
    found = [world.answer(comes=False) > 0 for _ in range(TRUST_MAX // 2 + TRIED_AGAIN_AFTER)]
    assert found == [True] * (TRUST_MAX // 2) + [False] * (TRIED_AGAIN_AFTER - 1) + [True]
    assert not any(world.answer(comes=False) for _ in range(TRIED_AGAIN_AFTER - 1))
    assert world.answer(comes=True)
    assert world.answer(comes=True)


def test_turns_linger_after_one_answer_and_not_after_several() -> None:
    loop = FakeLoop()
    turns = Turns(FakeCore(), loop, clock_ms=lambda: 1_000, lingers=True)  # type: ignore[arg-type]
    first, second = FakeOutlet(turns), FakeOutlet(turns)
    first.say(b"a")
    second.say(b"b")
    loop.iterate()
    assert not loop.has_more
    first.say(b"c")
    loop.iterate()
    assert loop.has_more
    first.say(b"d")
    loop.iterate()
    assert first.released == [b"a", b"c", b"d"]
