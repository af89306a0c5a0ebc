"""Lingering: the loop stays awake for a moment for a client that is alone, as long as that is worth while."""

from itertools import count

from onemq.net.lingering import LINGER_SECONDS, TRIED_AGAIN_AFTER, TRUST_MAX, TURN_SECONDS_MIN, Lingering
from onemq.net.turn import Turns
from onemq.protocols import Arrived
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

    def end_turn(self, seconds: float = LINGER_SECONDS) -> None:
        self.lingering.end(lambda: self._pass(seconds))

    def _pass(self, seconds: float) -> None:
        self.now += seconds

    def answer(self, comes: bool, seconds: float = LINGER_SECONDS) -> int:
        """A client is answered, and its next request comes at once or not. Returns how often it was looked for."""
        self.comes, self.looks = comes, 0
        self.end_turn(seconds)
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


def test_it_does_not_look_after_turns_that_take_little_time() -> None:
    assert World().answer(comes=True, seconds=TURN_SECONDS_MIN / 2) == 0


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


class Inlet(FakeOutlet):
    """A connection whose requests are gathered."""

    def take_alike(self, arrived: Arrived, at: int) -> int:
        return 0

    def take(self, data: bytes) -> None:
        self.send(data)

    def ask(self, data: bytes) -> None:
        self._turns.gather(self, data)  # type: ignore[arg-type]


def test_turns_linger_after_one_small_request_and_not_after_several() -> None:
    loop, now = FakeLoop(), count(0.0, LINGER_SECONDS)
    turns = Turns(FakeCore(), loop, clock_ms=lambda: 1_000, lingers=True)  # type: ignore[arg-type]
    assert turns._lingering is not None
    turns._lingering._clock = lambda: next(now)  # every turn takes long enough
    first, second = Inlet(turns), Inlet(turns)
    first.ask(b"a")
    second.ask(b"b")
    loop.iterate()
    assert not turns._lingering._is_looking
    first.ask(b"c")
    loop.iterate()
    assert turns._lingering._is_looking
    first.ask(b"d")
    loop.iterate()
    first.say(b"e")
    loop.settle_down()
    assert first.released == [b"a", b"c", b"d", b"e"]
