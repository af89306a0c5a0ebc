"""Regulars: a few clients who ask again and again are served together where a flush takes long."""

import pytest

from onemq.net.lingering import FLUSH_SECONDS_MIN, LINGER_SECONDS
from onemq.net.regulars import REGULARS_MAX, WAIT_SECONDS, Regulars
from onemq.net.trust import TRIED_AGAIN_AFTER, TRUST_MAX
from onemq.net.turn import Turns
from onemq.protocols import Arrived
from tests.unit.net.fakes import FakeCore, FakeLoop
from tests.unit.net.test_turn import FakeOutlet

WHO = [object() for _ in range(REGULARS_MAX + 2)]


class World:
    """A clock that moves when told."""

    def __init__(self) -> None:
        self.now = 1.0
        self.regulars = Regulars(lambda: self.now)

    def serve(self, *who: int, seconds: float = FLUSH_SECONDS_MIN) -> None:
        self.regulars.served([(WHO[each], b"") for each in who], seconds)

    def wait_in_vain(self) -> bool:
        """One of two comes, and the other one does not. Returns whether it was waited for."""
        self.serve(1, 2)
        waited = self.regulars.are_missing(1)
        if waited:
            self.now += WAIT_SECONDS
            assert not self.regulars.are_missing(1)
        return waited


def test_those_of_the_last_turn_are_waited_for() -> None:
    world = World()
    world.serve(1, 2, 3)
    assert [world.regulars.are_missing(count) for count in (1, 1, 2, 3)] == [True, True, True, False]


def test_those_who_went_by_turns_are_waited_for() -> None:
    world = World()
    world.serve(1)
    world.serve(2)
    assert [world.regulars.are_missing(count) for count in (1, 2)] == [True, False]


def test_one_who_is_alone_waits_for_nobody() -> None:
    world = World()
    world.serve(1, 2)
    world.serve(1)
    world.serve(1)
    assert not world.regulars.are_missing(1)


def test_the_wait_is_bounded() -> None:
    world = World()
    world.serve(1, 2, 3)
    assert world.regulars.are_missing(1)
    world.now += 0.6 * WAIT_SECONDS
    assert world.regulars.are_missing(2)
    world.now += 0.6 * WAIT_SECONDS
    assert not world.regulars.are_missing(2)


@pytest.mark.parametrize(
    ("count", "seconds"), [(2, FLUSH_SECONDS_MIN / 2), (2, 0.0), (REGULARS_MAX + 1, FLUSH_SECONDS_MIN)]
)
def test_nobody_is_waited_for_where_flushes_are_quick_or_many_ask(count: int, seconds: float) -> None:
    world = World()
    world.serve(*range(count), seconds=seconds)
    assert not world.regulars.are_missing(1)


def test_nobody_is_waited_for_after_a_turn_of_many_and_the_next_one() -> None:
    world = World()
    world.serve(1, 2)
    world.serve(*range(REGULARS_MAX + 1))
    assert not world.regulars.are_missing(1)
    world.serve(1, 2)
    assert not world.regulars.are_missing(1)
    world.serve(1, 2)
    assert world.regulars.are_missing(1)


def test_where_it_is_for_nothing_it_ends_and_is_tried_again_later() -> None:
    world = World()
    found = [world.wait_in_vain() for _ in range(TRUST_MAX // 2 + TRIED_AGAIN_AFTER)]
    assert found == [True] * (TRUST_MAX // 2) + [False] * (TRIED_AGAIN_AFTER - 1) + [True]


def test_if_some_of_many_come_it_was_worth_while() -> None:
    world = World()
    for _ in range(3 * TRUST_MAX):
        world.serve(*range(REGULARS_MAX))
        assert world.regulars.are_missing(1)
        world.now += WAIT_SECONDS
        assert not world.regulars.are_missing(2)


class Inlet(FakeOutlet):
    """A connection whose requests are gathered."""

    def take_alike(self, arrived: Arrived, at: int) -> int:
        return 0

    def take(self, data: bytes) -> None:
        self.send(data)

    def ask(self, data: bytes) -> None:
        self._turns.gather(self, data)  # type: ignore[arg-type]


class Served:
    """Turns whose flushes take a while."""

    def __init__(self, flush_seconds: float = FLUSH_SECONDS_MIN) -> None:
        self.now = 1.0
        self.loop, self.core = FakeLoop(), FakeCore(at_flush=lambda: self.move(flush_seconds))
        self.turns = Turns(self.core, self.loop, clock_ms=lambda: 1_000, lingers=True, stopwatch=lambda: self.now)  # type: ignore[arg-type]
        self.first, self.second = Inlet(self.turns), Inlet(self.turns)

    def move(self, seconds: float) -> None:
        self.now += seconds

    @property
    def flushes(self) -> int:
        return self.core.calls.count("flush")


def test_two_who_go_by_turns_come_to_be_served_together() -> None:
    served = Served()
    served.first.ask(b"a")
    served.loop.iterate()
    served.second.ask(b"b")  # it came while the first one was synced
    served.loop.iterate()
    assert served.flushes == 2
    served.first.ask(b"c")
    served.loop.iterate()
    assert (served.flushes, served.first.released) == (2, [b"a"])
    served.second.ask(b"d")
    served.loop.iterate()
    assert served.flushes == 3
    assert (served.first.released, served.second.released) == ([b"a", b"c"], [b"b", b"d"])


def test_who_waits_for_one_that_does_not_come_is_served_in_the_end() -> None:
    served = Served()
    served.first.ask(b"a")
    served.second.ask(b"b")
    served.loop.iterate()
    served.first.ask(b"c")
    served.loop.iterate()
    assert served.first.released == [b"a"]
    served.move(WAIT_SECONDS)
    served.loop.iterate()
    assert served.first.released == [b"a", b"c"]


def test_who_asks_alone_again_and_again_is_served_at_once() -> None:
    served = Served()
    for number in range(2):
        served.first.ask(b"%d" % number)
        assert served.flushes == number
        served.loop.iterate()
    for number in range(2, 5):
        served.first.ask(b"%d" % number)
        assert served.flushes == number + 1
    served.second.ask(b"a")
    served.first.ask(b"5")
    assert served.flushes == 5
    served.loop.iterate()
    assert (served.flushes, served.second.released) == (6, [b"a"])
    assert served.first.released == [b"%d" % number for number in range(6)]


def test_who_is_served_at_once_comes_after_what_was_asked_before() -> None:
    served = Served()
    for _ in range(2):
        served.first.ask(b"a")
        served.loop.iterate()
    served.second.say(b"b")  # not gathered: a turn has begun
    served.first.ask(b"c")
    assert served.flushes == 2
    served.loop.iterate()
    assert (served.flushes, served.first.released, served.second.released) == (3, [b"a", b"a", b"c"], [b"b"])


def test_turns_of_many_wait_for_nobody() -> None:
    served = Served()
    many = [Inlet(served.turns) for _ in range(REGULARS_MAX + 1)]
    for some in (many[:2], many):
        for inlet in some:
            inlet.ask(b"a")
        served.loop.iterate()  # for more of them, two looks
        served.loop.iterate()
        served.loop.iterate()
    assert served.flushes == 2
    many[0].ask(b"b")
    served.loop.iterate()
    assert served.flushes == 3


@pytest.mark.parametrize(("flush_seconds", "lingers"), [(FLUSH_SECONDS_MIN, True), (FLUSH_SECONDS_MIN / 2, False)])
def test_turns_linger_after_long_flushes(flush_seconds: float, lingers: bool) -> None:
    served = Served(flush_seconds)
    served.first.ask(b"a")
    served.second.ask(b"b")
    served.loop.iterate()
    assert bool(served.loop._soon) == lingers
    served.move(LINGER_SECONDS)
    served.loop.settle_down()
    assert not served.loop._soon
