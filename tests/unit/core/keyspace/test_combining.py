"""Unions, intersections and differences of sorted sets, with sets among them."""

from math import inf

import pytest

from onemq.core.keyspace import Keyspace
from onemq.core.keyspace.combining import add_scores, difference, inputs, intersection, union
from onemq.errors import WrongType


def test_inputs_are_sorted_sets_and_sets(keys: Keyspace) -> None:
    keys.sorted_sets.add(b"z", [(2.5, b"a")])
    keys.sets.add(b"m", [b"b"])
    assert inputs(keys, [b"z", b"m", b"none"]) == [{b"a": 2.5}, {b"b": 1.0}, {}]
    keys.strings.set(b"s", b"v")
    with pytest.raises(WrongType):
        inputs(keys, [b"z", b"s"])


def test_a_key_whose_time_has_come_is_no_input(keys: Keyspace) -> None:
    keys.sets.add(b"m", [b"b"])
    keys.expire_at(b"m", keys.now_ms + 1)
    keys.now_ms += 1
    assert inputs(keys, [b"m"]) == [{}]


def test_scores_are_weighed_and_aggregated() -> None:
    found = [{b"a": 1.0, b"b": 2.0}, {b"a": 10.0, b"c": 3.0}]
    assert union(found, [1.0, 2.0], add_scores) == [(2.0, b"b"), (6.0, b"c"), (21.0, b"a")]
    assert union(found, [1.0, 1.0], min) == [(1.0, b"a"), (2.0, b"b"), (3.0, b"c")]
    assert intersection(found, [1.0, -1.0], add_scores) == [(-9.0, b"a")]
    assert intersection(found, [1.0, 1.0], max) == [(10.0, b"a")]
    assert difference(found) == [(2.0, b"b")]


def test_what_would_be_no_number_is_zero() -> None:
    assert union([{b"a": inf}, {b"a": -inf}], [1.0, 1.0], add_scores) == [(0.0, b"a")]
    assert union([{b"a": inf}], [0.0], add_scores) == [(0.0, b"a")]


def test_scores_are_added_up_from_the_smallest_input_on() -> None:
    found = [{b"a": 0.3, b"b": 1.0, b"c": 1.0}, {b"a": 0.2, b"b": 1.0}, {b"a": 0.1}]
    assert intersection(found, [1.0] * 3, add_scores) == [((0.1 + 0.2) + 0.3, b"a")]
    assert union(found, [1.0] * 3, add_scores)[0] == ((0.1 + 0.2) + 0.3, b"a")


def test_what_is_no_number_in_a_larger_input_is_no_extreme() -> None:
    found = [{b"a": 5.0}, {b"a": inf, b"b": 1.0}]
    assert intersection(found, [1.0, 0.0], min) == [(5.0, b"a")]
    assert intersection(found, [-1.0, 0.0], max) == [(-5.0, b"a")]
    assert intersection(found, [1.0, 0.0], add_scores) == [(0.0, b"a")]
