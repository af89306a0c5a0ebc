"""The bitmap against a set of live ids, and what it costs."""

import random
from collections.abc import Iterable
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from onemq.core import bitmap as bitmap_module
from onemq.core.bitmap import ALL_DONE, CHUNK_IDS, Bitmap

SMALL_CHUNK_BITS = 5
SMALL_CHUNK_IDS = 1 << SMALL_CHUNK_BITS
SPAN = 20 * SMALL_CHUNK_IDS

# Counted from the low mark, so that a run does not soon have everything done.
distances = st.one_of(st.integers(-5, SMALL_CHUNK_IDS), st.integers(0, 4 * SMALL_CHUNK_IDS))
counts = st.integers(1, 2 * SMALL_CHUNK_IDS)


def ranges_of(ids: Iterable[int]) -> list[tuple[int, int]]:
    """Return the runs of consecutive ids, as (first, last + 1)."""
    ranges: list[tuple[int, int]] = []
    for id in sorted(ids):
        if ranges and ranges[-1][1] == id:
            ranges[-1] = (ranges[-1][0], id + 1)
        else:
            ranges.append((id, id + 1))
    return ranges


class BitmapAgainstSet(RuleBasedStateMachine):
    """Every operation in any order, with small chunks so that their edges are met all the time."""

    @initialize(start=st.one_of(st.integers(0, 2 * SMALL_CHUNK_IDS), st.integers(0, 1 << 60)))
    def begin(self, start: int) -> None:
        self.chunks = patch.multiple(
            bitmap_module,
            CHUNK_BITS=SMALL_CHUNK_BITS,
            CHUNK_IDS=SMALL_CHUNK_IDS,
            CHUNK_MASK=SMALL_CHUNK_IDS - 1,
            CHUNK_BYTES=SMALL_CHUNK_IDS // 8,
            ALL_DONE=bytearray(b"\xff" * (SMALL_CHUNK_IDS // 8)),
        )
        self.chunks.start()
        self.start = start
        # The ids from `end` on are never marked, so there is always a live one.
        self.end = start + SPAN
        self.live = set(range(start, self.end + 1))
        self.bitmap = Bitmap(start)

    def teardown(self) -> None:
        if hasattr(self, "chunks"):
            self.chunks.stop()

    @rule(distance=distances)
    def mark(self, distance: int) -> None:
        self.mark_all(range(self.bitmap.low + distance, self.bitmap.low + distance + 1))

    @rule(distance=distances, count=counts, ascending=st.booleans())
    def mark_a_run(self, distance: int, count: int, ascending: bool) -> None:
        run = range(self.bitmap.low + distance, self.bitmap.low + distance + count)
        self.mark_all(run if ascending else run[::-1])

    @rule(to_edge=st.integers(-1, 1))
    def mark_from_the_lowest_to_the_edge_of_its_chunk(self, to_edge: int) -> None:
        edge = (self.bitmap.low | SMALL_CHUNK_IDS - 1) + 1
        self.mark_all(range(self.bitmap.low, edge + to_edge))

    def mark_all(self, ids: range) -> None:
        for id in ids:
            if self.start <= id < self.end:
                assert self.bitmap.mark(id) is (id in self.live)
                self.live.discard(id)

    @rule(distance=distances, count=counts)
    def mark_between(self, distance: int, count: int) -> None:
        first = max(self.bitmap.low + distance, self.start)
        end = min(first + count, self.end)
        if first < end:
            self.bitmap.mark_between(first, end)
            self.live -= set(range(first, end))

    @rule(distance=distances)
    def mark_below(self, distance: int) -> None:
        end = min(self.bitmap.low + distance, self.end)
        below = {id for id in self.live if id < end}
        assert self.bitmap.mark_below(end) == len(below)
        self.live -= below

    @rule()
    def dump_and_load(self) -> None:
        dump = self.bitmap.dump()
        self.bitmap = Bitmap.load(msgspec.msgpack.decode(msgspec.msgpack.encode(dump)))
        assert self.bitmap.dump() == dump

    @rule(limit=st.integers(0, 20), distance=distances)
    def list_live_ranges(self, limit: int, distance: int) -> None:
        end = min(self.bitmap.low + distance, self.end + 1)
        expected = ranges_of(id for id in self.live if id < end)
        assert self.bitmap.ranges_live(limit, end) == expected[:limit]
        expected = ranges_of(id for id in self.live if id < self.bitmap.high)
        assert self.bitmap.ranges_live(limit) == expected[:limit]

    @rule(distance=distances, count=st.integers(0, 3 * SMALL_CHUNK_IDS))
    def ask_whether_any_is_done(self, distance: int, count: int) -> None:
        start = self.bitmap.low + distance
        end = start + count
        assert self.bitmap.has_done(start, end) is any(map(self.bitmap.is_done, range(start, end)))

    @rule(distance=distances)
    def ask_for_the_next_live_one(self, distance: int) -> None:
        start = self.bitmap.low + distance
        expected = min((id for id in self.live if id >= start), default=max(start, self.end))
        assert self.bitmap.next_live(start) == expected

    @invariant()
    def agrees(self) -> None:
        if hasattr(self, "bitmap"):
            low = min(self.live)
            done = set(range(low, self.end)) - self.live
            assert self.bitmap.low == low
            assert self.bitmap.count_done_above_low == len(done)
            assert self.bitmap.high == max(done, default=low - 1) + 1
            around = range(low - 2, self.end + SMALL_CHUNK_IDS)
            assert {id for id in around if self.bitmap.is_done(id)} == {low - 2, low - 1} | done
            assert all(index >= low >> SMALL_CHUNK_BITS for index in self.bitmap._chunks)


TestBitmapAgainstSet = BitmapAgainstSet.TestCase
TestBitmapAgainstSet.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)


def test_a_new_bitmap_has_nothing_done_from_its_low_mark_on() -> None:
    bitmap = Bitmap(100)
    assert (bitmap.low, bitmap.high, bitmap.count_done_above_low) == (100, 100, 0)
    assert bitmap.is_done(99)
    assert not bitmap.is_done(100)
    assert bitmap.ranges_live(10) == []
    assert bitmap.ranges_live(10, 105) == [(100, 105)]


def test_ids_done_in_order_take_no_memory() -> None:
    bitmap = Bitmap()
    for id in range(3 * CHUNK_IDS):
        assert bitmap.mark(id)
    assert bitmap.low == 3 * CHUNK_IDS
    assert bitmap._chunks == {}


def test_marking_twice_is_told() -> None:
    bitmap = Bitmap()
    assert bitmap.mark(5)
    assert not bitmap.mark(5)
    assert bitmap.mark(0)
    assert not bitmap.mark(0)
    assert bitmap.count_done_above_low == 1


def test_the_low_mark_passes_all_that_is_done() -> None:
    bitmap = Bitmap()
    for id in range(1, 5 * CHUNK_IDS):
        bitmap.mark(id)
    assert bitmap.low == 0
    bitmap.mark(0)
    assert bitmap.low == 5 * CHUNK_IDS
    assert bitmap.count_done_above_low == 0
    assert bitmap._chunks == {}


def test_an_old_live_id_costs_nothing_for_chunks_that_are_all_done() -> None:
    bitmap = Bitmap()
    for id in range(1, 4 * CHUNK_IDS):
        bitmap.mark(id)
    assert [bitmap._chunks[index] is ALL_DONE for index in range(4)] == [False, True, True, True]
    assert bytearray(b"\xff" * (CHUNK_IDS // 8)) == ALL_DONE
    assert bitmap.ranges_live(10) == [(0, 1)]
    assert sum(len(bits) for _, bits in bitmap.dump()["chunks"]) == CHUNK_IDS // 8


def test_ids_done_in_any_order_end_up_all_done() -> None:
    ids = list(range(1000, 1000 + 3 * CHUNK_IDS))
    random.Random(7).shuffle(ids)
    bitmap = Bitmap(1000)
    assert all(bitmap.mark(id) for id in ids)
    assert bitmap.low == 1000 + 3 * CHUNK_IDS
    assert bitmap._chunks == {}


def test_far_ids_make_few_chunks_and_long_gaps_are_one_range() -> None:
    bitmap = Bitmap()
    bitmap.mark(10**15)
    assert len(bitmap._chunks) == 1
    assert bitmap.ranges_live(10, 10**16) == [(0, 10**15), (10**15 + 1, 10**16)]
    assert bitmap.mark_below(10**15) == 10**15
    assert bitmap.low == 10**15 + 1


def test_loading_what_was_never_dumped_is_refused() -> None:
    with pytest.raises(ValueError, match="format 2: this version reads 1"):
        Bitmap.load({"version": 2, "low": 0, "chunks": []})
    with pytest.raises(ValueError, match="damaged"):
        Bitmap.load({"version": 1, "low": 0, "chunks": [[0, bytes(CHUNK_IDS)]]})
    with pytest.raises(ValueError, match="damaged"):
        Bitmap.load({"version": 1, "low": 10 * CHUNK_IDS, "chunks": [[0, b"\1"]]})


@pytest.mark.parametrize("seed", range(10))
def test_what_is_done_from_an_id_on_is_counted(seed: int) -> None:
    draw = random.Random(seed)
    bitmap = Bitmap(draw.randrange(100))
    for _ in range(300):
        first = draw.randrange(3 * CHUNK_IDS)
        if draw.random() < 0.1:
            bitmap.mark_below(first // 4)
        elif draw.random() < 0.2:
            bitmap.mark_between(first, first + draw.randrange(1, CHUNK_IDS))
        else:
            bitmap.mark(first)
    end = 5 * CHUNK_IDS
    for id in (0, bitmap.low, bitmap.low + 1, CHUNK_IDS, CHUNK_IDS + 1, *(draw.randrange(end) for _ in range(20))):
        assert bitmap.count_done_from(id) == sum(map(bitmap.is_done, range(id, end)))
