"""The wheel against a sorted list, and its promises with many timers at once."""

import sys
from array import array
from bisect import bisect_right, insort
from itertools import islice
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from onemq.core import wheel as wheel_module
from onemq.core.wheel import ID_END, Wheel

NOW_MS = 1_763_000_000_000
MINUTE_MS = 60_000
YEAR_MS = 365 * 86_400_000

ids = st.integers(0, ID_END - 1)
# Most times are near and collide, some fall in neighbouring windows, few are anywhere that fits.
near = st.integers(NOW_MS - 5, NOW_MS + 5)
dues = st.one_of(
    near,
    near,
    near,
    st.integers(NOW_MS - (1 << 23), NOW_MS + (1 << 24)),
    st.integers(-(1 << 63), (1 << 63) - 1),
)


class WheelAgainstSortedList(RuleBasedStateMachine):
    """Every operation in any order, with small blocks so that they are cut and joined all the time."""

    @initialize(block_keys_max=st.sampled_from([4, 16, 32]))
    def start(self, block_keys_max: int) -> None:
        self.limits = patch.multiple(
            wheel_module,
            BLOCK_KEYS_MAX=block_keys_max,
            BLOCK_KEYS_FRESH=block_keys_max * 3 // 4,
            BLOCK_KEYS_MIN=block_keys_max // 2,
        )
        self.limits.start()
        self.wheel = Wheel()
        self.model: list[tuple[int, int]] = []

    def teardown(self) -> None:
        if hasattr(self, "limits"):
            self.limits.stop()

    @rule(due_ms=dues, id=st.one_of(st.integers(0, 20), ids))
    def add(self, due_ms: int, id: int) -> None:
        self.wheel.add(due_ms, id)
        insort(self.model, (due_ms, id))

    @rule(batch=st.lists(dues, max_size=40), first_id=st.one_of(st.integers(0, 20), st.integers(0, ID_END - 40)))
    def add_many(self, batch: list[int], first_id: int) -> None:
        self.wheel.add_many(batch, first_id)
        self.model = sorted(self.model + [(due_ms, first_id + at) for at, due_ms in enumerate(batch)])

    @rule(due_ms=near, step_ms=st.integers(0, 3), count=st.integers(1, 30), first_id=st.integers(0, 20))
    def add_many_in_order(self, due_ms: int, step_ms: int, count: int, first_id: int) -> None:
        self.add_many([due_ms + at * step_ms for at in range(count)], first_id)

    @rule(now_ms=dues, limit=st.one_of(st.integers(0, 5), st.integers(0, 1000)))
    def pop_due(self, now_ms: int, limit: int) -> None:
        count = min(bisect_right(self.model, (now_ms, ID_END)), limit)
        assert self.wheel.pop_due(now_ms, limit) == [id for _, id in self.model[:count]]
        del self.model[:count]

    @rule(start=st.floats(0, 1), count=st.integers(1, 20))
    def discard_neighbours(self, start: float, count: int) -> None:
        at = int(start * len(self.model))
        for timer in self.model[at : at + count]:
            assert self.wheel.discard(*timer)
        del self.model[at : at + count]

    @rule(due_ms=dues, id=ids)
    def discard_what_may_not_be_there(self, due_ms: int, id: int) -> None:
        is_there = (due_ms, id) in self.model
        assert self.wheel.discard(due_ms, id) is is_there
        if is_there:
            self.model.remove((due_ms, id))

    @rule()
    def dump_and_load(self) -> None:
        self.wheel = Wheel.load(msgspec.msgpack.decode(msgspec.msgpack.encode(self.wheel.dump())))

    @rule(data=st.data(), due_ms=dues, id=ids)
    def iterate_from_a_position(self, data: st.DataObject, due_ms: int, id: int) -> None:
        after = data.draw(st.sampled_from([(due_ms, id), *self.model]))
        assert list(self.wheel.iterate(after)) == self.model[bisect_right(self.model, after) :]

    @rule(now_ms=dues)
    def next_due(self, now_ms: int) -> None:
        expected = max(self.model[0][0], now_ms) if self.model else None
        assert self.wheel.next_due_ms(now_ms) == expected

    @invariant()
    def holds_the_same(self) -> None:
        if hasattr(self, "wheel"):
            assert len(self.wheel) == len(self.model)
            assert list(self.wheel.iterate()) == self.model


TestWheelAgainstSortedList = WheelAgainstSortedList.TestCase
TestWheelAgainstSortedList.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)


def test_an_empty_wheel_has_nothing_due() -> None:
    wheel = Wheel()
    assert len(wheel) == 0
    assert wheel.pop_due(NOW_MS, 10) == []
    assert wheel.next_due_ms(NOW_MS) is None
    assert list(wheel.iterate()) == []
    assert list(wheel.iterate((NOW_MS, 1))) == []


def test_a_timer_never_fires_early() -> None:
    wheel = Wheel()
    wheel.add(NOW_MS, 7)
    assert wheel.pop_due(NOW_MS - 1, 10) == []
    assert wheel.next_due_ms(NOW_MS - 1) == NOW_MS
    assert wheel.pop_due(NOW_MS, 10) == [7]
    assert wheel.next_due_ms(NOW_MS) is None


def test_when_a_timer_is_overdue_the_next_call_is_wanted_now() -> None:
    wheel = Wheel()
    wheel.add(NOW_MS - 1000, 7)
    assert wheel.next_due_ms(NOW_MS) == NOW_MS


def test_timers_of_the_same_time_fire_in_the_order_of_their_ids() -> None:
    wheel = Wheel()
    for id in (5, 3, ID_END - 1, 0, 4):
        wheel.add(NOW_MS, id)
    assert wheel.pop_due(NOW_MS, 10) == [0, 3, 4, 5, ID_END - 1]


def test_the_same_timer_twice_fires_twice() -> None:
    wheel = Wheel()
    wheel.add_many([NOW_MS, NOW_MS], 1)
    wheel.add(NOW_MS, 1)
    assert wheel.pop_due(NOW_MS, 10) == [1, 1, 2]


def test_equal_timers_in_several_blocks_are_discarded_one_by_one() -> None:
    wheel = Wheel()
    wheel.add_many([NOW_MS] * 2000, 0)
    for _ in range(1500):
        wheel.add(NOW_MS, 1000)
    for _ in range(1501):
        assert wheel.discard(NOW_MS, 1000)
    assert not wheel.discard(NOW_MS, 1000)
    assert wheel.pop_due(NOW_MS, 3000) == [id for id in range(2000) if id != 1000]


def test_timers_stay_in_order_when_others_join_a_block_that_is_sorted_already() -> None:
    wheel = Wheel()
    wheel.add_many(range(NOW_MS, NOW_MS + 600), 0)
    assert wheel.pop_due(NOW_MS + 600, 300) == list(range(300))
    wheel.add_many([NOW_MS + 350, NOW_MS + 1], 1000)
    wheel.add(NOW_MS + 300, 2000)
    assert wheel.pop_due(NOW_MS + 600, 3) == [1001, 300, 2000]
    # The second block gets timers out of order, then shrinks until it is joined with the first.
    wheel.add_many([NOW_MS + 598, NOW_MS + 500], 3000)
    for id in range(384, 580):
        assert wheel.discard(NOW_MS + id, id)
    (keys,) = wheel._windows.values()
    assert len(keys.parts()[0]) == 1
    expected = [*range(301, 351), 1000, *range(351, 384), 3001, *range(580, 599), 3000, 599]
    assert wheel.pop_due(NOW_MS + 600, 1000) == expected


def test_a_clock_that_jumps_back_leaves_timers_waiting_and_takes_new_ones() -> None:
    wheel = Wheel()
    wheel.add_many(range(NOW_MS, NOW_MS + 100), 0)
    assert wheel.pop_due(NOW_MS + 9, 100) == list(range(10))
    earlier_ms = NOW_MS - YEAR_MS
    assert wheel.pop_due(earlier_ms, 100) == []
    wheel.add(earlier_ms + 5, 1000)
    assert wheel.next_due_ms(earlier_ms) == earlier_ms + 5
    assert wheel.pop_due(earlier_ms + 5, 100) == [1000]
    assert wheel.pop_due(NOW_MS + 10, 100) == [10]


def test_a_clock_that_jumps_years_ahead_fires_all_in_order_in_slices() -> None:
    wheel = Wheel()
    times = [NOW_MS + at * 7_919_000_003 % (3 * YEAR_MS) for at in range(5000)]
    wheel.add_many(times, 0)
    fired: list[int] = []
    while (due_ms := wheel.next_due_ms(NOW_MS + 10 * YEAR_MS)) is not None:
        popped = wheel.pop_due(due_ms, 64)
        assert 0 < len(popped) <= 64
        fired += popped
    assert fired == sorted(range(5000), key=lambda id: (times[id], id))


def test_lists_can_be_paged_through_while_timers_come_and_go() -> None:
    wheel = Wheel()
    wheel.add_many([NOW_MS + at % 50 for at in range(3000)], 0)
    expected = sorted((NOW_MS + id % 50, id) for id in range(3000))
    listed: list[tuple[int, int]] = []
    while page := list(islice(wheel.iterate(listed[-1] if listed else None), 70)):
        listed += page
        wheel.add(NOW_MS - 1, 5000 + len(listed))
        wheel.pop_due(NOW_MS - 1, 10)
    assert listed == expected


def test_iterating_changes_nothing() -> None:
    wheel = Wheel()
    wheel.add_many([NOW_MS + at * 7919 % 100_000 for at in range(3000)], 0)
    before = wheel.dump()
    assert len(list(wheel.iterate())) == 3000
    assert len(list(wheel.iterate((NOW_MS + 50_000, 3)))) < 3000
    assert wheel.dump() == before


@pytest.mark.parametrize("spread_ms", [1, MINUTE_MS, YEAR_MS])
def test_many_timers_take_few_bytes_and_no_object_each(spread_ms: int) -> None:
    count = 50_000
    wheel = Wheel()
    for id in range(count):
        wheel.add(NOW_MS + id * 7_919_000_003 % spread_ms, id)
    blocks = [block for keys in wheel._windows.values() for block in keys.parts()[0]]
    assert all(isinstance(block, array) and len(block) <= 512 for block in blocks)
    assert len(blocks) <= count // 256 + YEAR_MS // (1 << 22) + 1
    assert sum(len(block) * block.itemsize for block in blocks) == 8 * count
    wheel.pop_due(NOW_MS + YEAR_MS, count // 2)
    assert len(wheel) == count // 2


def test_timers_added_in_order_leave_full_blocks_behind() -> None:
    wheel = Wheel()
    for id in range(5121):
        wheel.add(NOW_MS + id // 500, id)
    (keys,) = wheel._windows.values()
    assert [len(block) for block in keys.parts()[0]] == [512] * 10 + [1]


def test_discarding_most_timers_joins_blocks() -> None:
    wheel = Wheel()
    wheel.add_many([NOW_MS] * 50_000, 0)
    for id in range(50_000):
        if id % 100:
            assert wheel.discard(NOW_MS, id)
    (keys,) = wheel._windows.values()
    assert len(keys.parts()[0]) < 10
    assert wheel.pop_due(NOW_MS, 1000) == list(range(0, 50_000, 100))
    assert wheel._windows == {}


def test_a_wheel_is_the_same_after_dump_and_load() -> None:
    wheel = Wheel()
    wheel.add_many([NOW_MS + at * 7919 % (1 << 24) for at in range(10_000)], 0)
    wheel.add_many([NOW_MS - YEAR_MS] * 1000, 0)
    wheel.pop_due(NOW_MS, 300)
    loaded = Wheel.load(wheel.dump())
    assert len(loaded) == len(wheel) == 10_700
    assert list(loaded.iterate()) == list(wheel.iterate())
    assert loaded.next_due_ms(0) == NOW_MS - YEAR_MS


def test_a_dump_reads_the_same_on_a_machine_of_the_other_byte_order() -> None:
    wheel = Wheel()
    wheel.add(NOW_MS, 5)
    dump = wheel.dump()
    assert dump["keys"] == ((NOW_MS & (1 << 22) - 1) << 42 | 5).to_bytes(8, "little")
    swapped = {name: value[::-1] if isinstance(value, bytes) else value for name, value in dump.items()}
    with patch.object(sys, "byteorder", "big"):
        assert wheel.dump() == swapped
        assert list(Wheel.load(swapped).iterate()) == [(NOW_MS, 5)]


def test_loading_what_was_never_dumped_is_refused() -> None:
    wheel = Wheel()
    wheel.add_many([NOW_MS, NOW_MS + YEAR_MS], 0)
    dump = wheel.dump()
    with pytest.raises(ValueError, match="format 2: this version reads 1"):
        Wheel.load({**dump, "version": 2})
    with pytest.raises(ValueError, match="damaged"):
        Wheel.load({**dump, "keys": dump["keys"][:8]})
    with pytest.raises(ValueError, match="damaged"):
        Wheel.load({**dump, "fences": dump["keys"][:8]})


@pytest.mark.parametrize("id", [-1, ID_END])
def test_an_id_that_does_not_fit_is_a_broken_invariant(id: int) -> None:
    with pytest.raises(AssertionError):
        Wheel().add(NOW_MS, id)
    with pytest.raises(AssertionError):
        Wheel().add_many([NOW_MS], id)


@given(st.lists(st.tuples(dues, ids)))
def test_what_goes_in_comes_out_sorted(timers: list[tuple[int, int]]) -> None:
    wheel = Wheel()
    for due_ms, id in timers:
        wheel.add(due_ms, id)
    assert wheel.pop_due((1 << 63) - 1, len(timers)) == [id for _, id in sorted(timers)]
