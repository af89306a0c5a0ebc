"""Turns: one for all connections, output in order and only when durable, and what happens when it is not."""

import asyncio
import logging

import pytest

from onemq.errors import OneMQError, ReadOnly
from onemq.limits import TICK_INTERVAL_MAX_MS, TURN_BYTES_MAX
from onemq.net.turn import Turns
from tests.unit.net.fakes import FakeCore, FakeLoop


class FakeOutlet:
    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._output: list[bytes] = []
        self.released: list[bytes] = []
        self.failed: list[str] = []

    def say(self, data: bytes) -> None:
        """What a session does when it is asked something."""
        self._turns.begin(len(data))
        self.send(data)

    def send(self, data: bytes) -> None:
        if not self._output:
            self._turns.touch(self)
        self._output.append(data)

    def collect(self) -> bytes:
        data = b"".join(self._output)
        self._output.clear()
        return data

    def release(self, data: bytes) -> None:
        self.released.append(data)

    def fail(self, error: OneMQError) -> None:
        self._output.clear()
        self.failed.append(error.text)


class World:
    """Turns over a fake core and loop, with a clock that stands still unless it is moved."""

    def __init__(self, instant: bool = True) -> None:
        self.core = FakeCore(instant)
        self.loop = FakeLoop()
        self.now_ms = 1_000
        self.broken = 0
        self.turns = Turns(self.core, self.loop, clock_ms=lambda: self.now_ms, on_broken=self._break)  # type: ignore[arg-type]
        self.first, self.second = FakeOutlet(self.turns), FakeOutlet(self.turns)

    def _break(self) -> None:
        self.broken += 1

    def turn(self, outlet: FakeOutlet, data: bytes) -> None:
        """One turn with one thing asked."""
        self.now_ms += 5
        outlet.say(data)
        self.loop.iterate()


def test_everything_of_one_iteration_is_one_turn() -> None:
    world = World()
    world.first.say(b"a")
    world.second.say(b"b")
    world.first.say(b"c")
    assert world.core.calls == ["tick"]
    assert world.first.released == []
    world.loop.iterate()
    assert world.core.calls == ["tick", "settle", "flush"]
    assert (world.first.released, world.second.released) == ([b"ac"], [b"b"])


def test_the_next_iteration_is_the_next_turn() -> None:
    world = World()
    world.turn(world.first, b"a")
    world.turn(world.first, b"b")
    assert world.core.calls == ["tick", "settle", "flush"] * 2
    assert world.first.released == [b"a", b"b"]


def test_the_core_is_told_the_time_once_a_millisecond() -> None:
    world = World()
    for _ in range(3):
        world.first.say(b"a")
        world.loop.iterate()
    world.now_ms += 5
    world.first.say(b"a")
    assert world.core.ticks == [1_000, 1_005]


def test_turns_that_follow_each_other_closely_do_not_all_look_for_what_is_due() -> None:
    world = World()
    world.first.say(b"a")
    world.loop.iterate()
    world.now_ms += 1
    world.first.say(b"a")
    assert world.core.calls == ["tick", "settle", "flush", "set_time"]


def test_they_do_when_the_last_look_said_that_something_is_due() -> None:
    world = World()
    world.core.due_ms = 1_001
    world.first.say(b"a")
    world.loop.iterate()
    world.now_ms += 1
    world.first.say(b"a")
    assert world.core.ticks == [1_000, 1_001]


def test_a_clock_that_goes_back_is_told_as_well() -> None:
    world = World()
    world.turn(world.first, b"a")
    world.now_ms -= 500
    world.first.say(b"a")
    assert world.core.ticks == [1_005, 505]


def test_output_waits_until_the_turn_is_durable() -> None:
    world = World(instant=False)
    world.turn(world.first, b"a")
    assert world.first.released == []
    world.core.flushes[0](None)
    assert world.first.released == [b"a"]


def test_output_leaves_in_the_order_of_turns_whatever_is_durable_first() -> None:
    world = World(instant=False)
    for data in (b"a", b"b", b"c"):
        world.turn(world.first, data)
    world.turn(world.second, b"d")
    world.core.flushes[2](None)
    world.core.flushes[1](None)
    world.core.flushes[3](None)
    assert (world.first.released, world.second.released) == ([], [])
    world.core.flushes[0](None)
    assert (world.first.released, world.second.released) == ([b"a", b"b", b"c"], [b"d"])


def test_a_turn_that_wrote_nothing_waits_for_those_before_it() -> None:
    world = World(instant=False)
    world.turn(world.first, b"write")
    world.core.instant = True
    world.turn(world.second, b"read")
    assert world.second.released == []
    world.core.flushes[0](None)
    assert (world.first.released, world.second.released) == ([b"write"], [b"read"])


def test_those_who_wait_are_served_in_the_turn_that_serves_them() -> None:
    world = World()
    world.core.at_settle = lambda: world.second.send(b"delivery") if world.core.calls.count("settle") == 1 else None
    world.turn(world.first, b"a")
    assert world.second.released == [b"delivery"]


def test_output_without_a_turn_makes_one() -> None:
    world = World()
    world.first.send(b"push")
    world.loop.iterate()
    assert world.core.calls == ["settle", "flush"]
    assert world.first.released == [b"push"]


def test_a_turn_that_grew_too_large_ends_before_the_next_request() -> None:
    world = World()
    world.first.say(bytes(TURN_BYTES_MAX))
    world.second.say(b"b")
    assert world.core.calls == ["tick", "settle", "flush"]
    assert len(world.first.released) == 1
    assert world.second.released == []
    world.loop.settle_down()
    assert world.second.released == [b"b"]


class TestFailure:
    def test_nobody_is_told_anything_of_the_failed_turn_or_later_ones(self) -> None:
        world = World(instant=False)
        world.turn(world.first, b"stored")
        world.turn(world.second, b"lost")
        world.turn(world.first, b"later")
        third = FakeOutlet(world.turns)
        third.say(b"of the running turn")
        world.core.flushes[0](None)
        world.core.flushes[1](ReadOnly("the disk failed"))
        world.loop.settle_down()
        assert world.first.released == [b"stored"]
        assert world.second.released == third.released == []
        for outlet in (world.first, world.second, third):
            assert outlet.failed == ["the disk failed"]

    def test_the_core_goes_back_after_whoever_reported_the_failure_has_returned(self) -> None:
        world = World(instant=False)
        world.turn(world.first, b"a")
        world.core.flushes[0](ReadOnly("x"))
        assert "reset" not in world.core.calls
        world.loop.iterate()
        assert world.core.calls.count("reset") == 1

    def test_later_turns_that_become_durable_afterwards_say_nothing(self) -> None:
        world = World(instant=False)
        world.turn(world.first, b"a")
        world.turn(world.second, b"b")
        world.core.flushes[0](ReadOnly("x"))
        world.loop.settle_down()
        world.core.flushes[1](None)
        assert (world.second.released, world.second.failed) == ([], ["x"])

    def test_the_server_goes_on(self) -> None:
        world = World(instant=False)
        world.turn(world.first, b"a")
        world.core.flushes[0](ReadOnly("x"))
        world.loop.settle_down()
        world.core.instant = True
        world.turn(world.second, b"read")
        assert (world.second.released, world.broken) == ([b"read"], 0)

    def test_those_who_waited_are_told_by_the_core(self) -> None:
        world = World(instant=False)
        world.core.at_reset = lambda: world.second.send(b"-you waited in vain")
        world.turn(world.first, b"a")
        world.core.flushes[0](ReadOnly("x"))
        world.core.instant = True
        world.loop.settle_down()
        assert world.second.released == [b"-you waited in vain"]

    @pytest.mark.parametrize("step", ["at_settle", "at_tick", "at_flush"])
    def test_a_mistake_in_the_core_fails_its_turn_only(self, step: str, caplog: pytest.LogCaptureFixture) -> None:
        def stumble() -> None:
            setattr(world.core, step, lambda: None)
            raise ZeroDivisionError

        world = World()
        setattr(world.core, step, stumble)
        with caplog.at_level(logging.ERROR):
            world.turn(world.first, b"a")
            world.loop.settle_down()
        assert "ZeroDivisionError" in caplog.text
        assert world.first.released == []
        assert world.first.failed[0].startswith("internal error")
        world.turn(world.second, b"b")
        assert world.second.released == [b"b"]

    def test_a_core_that_cannot_go_back_ends_the_server(self) -> None:
        def stumble() -> None:
            raise OSError

        world = World(instant=False)
        world.core.at_reset = stumble
        world.turn(world.first, b"a")
        world.core.flushes[0](ReadOnly("x"))
        world.loop.settle_down()
        assert world.broken == 1


class TestClock:
    def test_what_is_due_is_done_without_anybody_asking(self) -> None:
        world = World()
        world.turn(world.first, b"a")
        world.core.due_ms = world.now_ms + 300
        world.loop.advance(0.002)  # the look after the turn learns of it
        assert world.loop.next_timer == 0.3
        world.now_ms += 300
        world.core.due_ms = None
        world.loop.advance(0.3)
        assert world.core.calls[-3:] == ["tick", "settle", "flush"]
        assert world.loop.next_timer is None

    def test_what_a_turn_scheduled_is_learnt_two_milliseconds_later(self) -> None:
        world = World()
        world.turn(world.first, b"a")
        assert world.loop.next_timer == 0.002

    @pytest.mark.parametrize(("soon_ms", "delay"), [(None, 0.02), (0, 0.002), (1, 0.002), (7, 0.007), (900, 0.02)])
    def test_the_clock_is_looked_at_no_sooner_than_need_be(self, soon_ms: int | None, delay: float) -> None:
        world = World()
        begins_ms = world.now_ms + 5
        world.core.soon_ms = None if soon_ms is None else begins_ms + soon_ms
        world.turn(world.first, b"a")
        assert world.loop.next_timer == pytest.approx(delay)

    def test_what_the_next_turn_schedules_is_learnt_as_soon_as_ever(self) -> None:
        world = World()
        world.core.soon_ms = None
        world.turn(world.first, b"a")
        world.core.soon_ms = 0
        world.turn(world.first, b"b")
        assert world.loop.next_timer == 0.002

    def test_while_turns_go_on_the_clock_is_not_looked_at_beside_them(self) -> None:
        world = World()
        world.turn(world.first, b"a")
        for _ in range(9):
            world.loop.advance(0.0003)
            world.turn(world.first, b"b")
        assert len(world.core.ticks) == 10
        world.loop.advance(0.0003)
        world.loop.advance(0.0017)
        assert len(world.core.ticks) == 11

    def test_what_is_due_is_done_although_turns_go_on(self) -> None:
        world = World()
        world.turn(world.first, b"a")
        world.core.due_ms = world.now_ms + 2
        world.loop.advance(0.0018)
        world.turn(world.first, b"b")
        world.now_ms += 1
        ticks = len(world.core.ticks)
        world.loop.advance(0.0004)
        assert len(world.core.ticks) == ticks + 1

    def test_a_server_that_nobody_asks_anything_sleeps(self) -> None:
        world = World()
        world.turn(world.first, b"a")
        world.loop.advance(0.002)
        ticks = len(world.core.ticks)
        world.loop.advance(100)
        assert len(world.core.ticks) == ticks

    def test_the_clock_is_looked_at_once_a_second_because_it_may_jump(self) -> None:
        world = World()
        world.core.due_ms = 10_000_000
        world.turn(world.first, b"a")
        world.loop.advance(0.002)
        assert world.loop.next_timer == TICK_INTERVAL_MAX_MS / 1000
        world.loop.advance(TICK_INTERVAL_MAX_MS / 1000)
        assert len(world.core.ticks) == 3

    def test_what_is_overdue_is_done_at_once(self) -> None:
        world = World()
        world.core.due_ms = 5
        world.turn(world.first, b"a")
        assert world.loop.next_timer == 0

    def test_stop_ends_the_looking(self) -> None:
        world = World()
        world.turn(world.first, b"a")
        world.turns.stop()
        assert world.loop.next_timer is None


def test_quiet_waits_for_the_running_turn_and_the_unfinished_ones() -> None:
    async def scenario() -> None:
        core = FakeCore(instant=False)
        turns = Turns(core, asyncio.get_running_loop())
        outlet = FakeOutlet(turns)
        await turns.quiet()
        outlet.say(b"a")
        waiting = asyncio.ensure_future(turns.quiet())
        while not core.flushes:
            await asyncio.sleep(0)
        assert not waiting.done()
        core.flushes[0](None)
        await waiting
        assert outlet.released == [b"a"]
        turns.stop()

    asyncio.run(scenario())


# A clock that jumps.


def test_catching_up_goes_on_until_nothing_is_due() -> None:
    async def test() -> None:
        core, now_ms = FakeCore(), 1_000
        turns = Turns(core, asyncio.get_running_loop(), clock_ms=lambda: now_ms)
        core.due_ms = now_ms
        core.at_settle = lambda: setattr(core, "due_ms", now_ms + 1 if len(core.ticks) > 2 else now_ms)
        await turns.catch_up()
        assert core.ticks == [1_000] * 4
        turns.stop()

    asyncio.run(test())


def test_catching_up_ends_a_turn_that_began_before_the_jump() -> None:
    async def test() -> None:
        core, times = FakeCore(), [1_000]
        turns = Turns(core, asyncio.get_running_loop(), clock_ms=lambda: times[-1])
        turns.begin()
        times.append(9_000)
        await turns.catch_up()
        assert core.ticks == [1_000, 9_000]
        turns.stop()

    asyncio.run(test())
