"""Lanes: the offsets of each priority, and how far a group has come in them."""

from array import array
from random import Random
from typing import Any

import pytest

from onemq.core.lanes import PRIORITY_MARK, LanePositions, Lanes, priority_in
from onemq.limits import LANE_STREAK_MAX
from onemq.log.records import NO_HEADERS, encode_headers
from onemq.message import DUE, ID, PRIORITY, PRIORITY_DEFAULT, STREAM_ID, Record


def lanes_with(*priorities: int) -> Lanes:
    """Messages of these priorities at offsets 0, 1, 2, ..."""
    lanes = Lanes()
    for offset, priority in enumerate(priorities):
        if priority != PRIORITY_DEFAULT:
            lanes.add(offset, priority)
    return lanes


def record(offset: int) -> Record:
    return offset, 0, None, b"", ()


def test_lanes_know_the_priority_of_each_message_the_highest_first() -> None:
    lanes = lanes_with(4, 0, 9, 4, 9)
    assert [lanes.priority_of(offset) for offset in range(6)] == [4, 0, 9, 4, 9, 4]
    assert [(priority, lane.tolist()) for priority, lane in lanes] == [(9, [2, 4]), (0, [1])]
    assert len(lanes) == 3


def test_what_is_forgotten_is_in_the_default_lane_and_empty_lanes_are_gone() -> None:
    lanes = lanes_with(0, 9, 9, 1)
    lanes.trim(2)
    assert [lanes.priority_of(offset) for offset in range(4)] == [4, 4, 9, 1]
    lanes.cut(3)
    assert [(priority, lane.tolist()) for priority, lane in lanes] == [(9, [2])]
    lanes.trim(3)
    assert not lanes


@pytest.mark.parametrize("seed", range(20))
def test_what_lanes_count_and_find_is_what_a_walk_would(seed: int) -> None:
    random = Random(seed)
    priorities = [random.choice([4, 0, 7, 9, 9, 9]) for _ in range(200)]
    lanes, end = lanes_with(*priorities), len(priorities)
    positions = LanePositions(random.randrange(end))
    positions.places = {9: random.randrange(end)}
    others = [offset for offset, priority in enumerate(priorities) if priority != 4]
    waiting = [offset for offset in others if offset >= positions.of(priorities[offset])]
    for first in range(0, end, 7):
        assert lanes.count_between(first, end - 3) == sum(first <= offset < end - 3 for offset in others)
        found = next((offset for offset in range(first, end) if priorities[offset] == 4), end)
        assert lanes.default_from(first, end) == found
        kept = lanes.only_default([record(offset) for offset in range(first, end)])
        assert [each[0] for each in kept] == [offset for offset in range(first, end) if priorities[offset] == 4]
        is_waiting = positions.waiting_copy(lanes, first)
        assert [offset for offset in range(end) if is_waiting(offset)] == [each for each in waiting if each < first]
    assert positions.count_waiting(lanes) == len(waiting)
    assert positions.has_waiting(lanes) == bool(waiting)
    firsts = {priorities[offset]: offset for offset in reversed(waiting)}
    assert positions.first_waiting(lanes) == sorted(firsts.items(), reverse=True)


def test_a_million_messages_in_a_row_are_passed_in_a_few_steps() -> None:
    lanes = Lanes({9: array("q", range(1_000_000))})
    assert lanes.default_from(0, 2_000_000) == 1_000_000
    assert lanes.default_from(0, 1_000_000) == 1_000_000
    assert lanes.default_from(999_999, 500_000) == 999_999


def test_the_highest_lane_is_picked_until_the_oldest_message_has_its_turn() -> None:
    positions = LanePositions(0)
    waiting = [(9, 100), (4, 7), (0, 3)]
    pick = positions.pick(waiting)
    assert (pick.priority, pick.most) == (9, LANE_STREAK_MAX)
    positions.took(pick, LANE_STREAK_MAX - 1)
    pick = positions.pick(waiting)
    assert (pick.priority, pick.most) == (9, 1)
    positions.took(pick, 1)
    pick = positions.pick(waiting)
    assert (pick.priority, pick.most) == (0, 1)
    positions.took(pick, 1)
    assert positions.pick(waiting).most == LANE_STREAK_MAX


def test_while_nothing_lower_waits_nobody_is_in_a_streak() -> None:
    positions = LanePositions(0)
    positions.took(positions.pick([(9, 0), (4, 1)]), 10)
    positions.took(positions.pick([(9, 10)]), 1_000)
    assert positions.pick([(9, 0), (4, 1)]).most == LANE_STREAK_MAX


@pytest.mark.parametrize(
    ("headers", "priority"),
    [
        ((), 4),
        (((PRIORITY, b"9"),), 9),
        (((PRIORITY, b"0"), (b"a", b"b")), 0),
        (((STREAM_ID, b"1-1"), (DUE, b"5"), (PRIORITY, b"7"), (ID, b"x")), 7),
        (((b"a", b"b"), (PRIORITY, b"9")), 4),
        (((b"_f", b"-"), (PRIORITY, b"9")), 4),
        (((PRIORITY, b"10"),), 4),
        (((PRIORITY, b""),), 4),
        (((PRIORITY, None),), 4),
        (((PRIORITY, b"high"),), 4),
        (((b"a", PRIORITY_MARK + b"\x029"),), 4),
    ],
)
def test_a_priority_is_known_by_its_header_if_only_reserved_ones_stand_before_it(headers: Any, priority: int) -> None:
    encoded = encode_headers(headers)
    assert priority_in(encoded) == priority
    if priority != PRIORITY_DEFAULT:
        assert PRIORITY_MARK in encoded
    assert PRIORITY_MARK not in NO_HEADERS
