from math import inf, nan

import pytest

from onemq.core.keyspace import Keyspace
from onemq.core.keyspace.entries import KEYS_DELETED, SORTED_SET_ADDED, SORTED_SET_CUT, SORTED_SET_REMOVED
from onemq.core.keyspace.ranges import MemberRange, ScoreRange
from onemq.errors import InvalidArgument, WrongType


@pytest.fixture
def abcd(keys: Keyspace, staged: list) -> Keyspace:
    """a=1, b=2, c=2, d=3."""
    keys.sorted_sets.add(b"z", [(2, b"c"), (1, b"a"), (3, b"d"), (2, b"b")])
    staged.clear()
    return keys


def members(pairs: list[tuple[float, bytes]]) -> bytes:
    return b"".join(member for _, member in pairs)


def test_members_stand_in_order_of_score_and_then_of_bytes(abcd: Keyspace) -> None:
    assert abcd.sorted_sets.ranks(b"z", 0, -1) == [(1.0, b"a"), (2.0, b"b"), (2.0, b"c"), (3.0, b"d")]
    assert abcd.sorted_sets.cardinality(b"z") == 4
    assert abcd.sorted_sets.score(b"z", b"c") == 2.0
    assert abcd.sorted_sets.score(b"z", b"x") is None
    assert abcd.sorted_sets.score(b"none", b"x") is None


def test_adding_tells_new_from_changed(abcd: Keyspace, staged: list) -> None:
    assert abcd.sorted_sets.add(b"z", [(1, b"a"), (5, b"b"), (6, b"e")]) == (1, 1)
    assert members(abcd.sorted_sets.ranks(b"z", 0, -1)) == b"acdbe"
    assert staged == [(SORTED_SET_ADDED, b"z", [5.0, 6.0], [b"b", b"e"])]
    assert abcd.sorted_sets.add(b"z", [(1, b"a")]) == (0, 0)
    assert len(staged) == 1


def test_a_member_named_twice_is_set_twice(keys: Keyspace) -> None:
    assert keys.sorted_sets.add(b"z", [(1, b"a"), (2, b"a")]) == (1, 1)
    assert keys.sorted_sets.score(b"z", b"a") == 2.0
    assert keys.sorted_sets.add(b"y", [(1, b"a"), (2, b"a")], if_absent=True) == (1, 0)
    assert keys.sorted_sets.score(b"y", b"a") == 1.0


@pytest.mark.parametrize(
    ("condition", "result", "order"),
    [
        ({"if_absent": True}, (1, 0), b"abcdx"),
        ({"if_present": True}, (0, 2), b"cabd"),
        ({"if_greater": True}, (1, 1), b"acbdx"),
        ({"if_less": True}, (1, 1), b"cabdx"),
        ({"if_present": True, "if_greater": True}, (0, 1), b"acbd"),
    ],
)
def test_conditions_choose_what_is_added(abcd: Keyspace, condition: dict, result: tuple, order: bytes) -> None:
    assert abcd.sorted_sets.add(b"z", [(2.5, b"b"), (0, b"c"), (9, b"x")], **condition) == result
    assert members(abcd.sorted_sets.ranks(b"z", 0, -1)) == order


def test_scores_are_incremented(abcd: Keyspace, staged: list) -> None:
    assert abcd.sorted_sets.increment(b"z", b"a", 4) == 5.0
    assert abcd.sorted_sets.increment(b"z", b"new", -1.5) == -1.5
    assert members(abcd.sorted_sets.ranks(b"z", 0, -1)) == b"newbcda"
    assert staged[0] == (SORTED_SET_ADDED, b"z", [5.0], [b"a"])
    assert abcd.sorted_sets.increment(b"z", b"a", 1, if_absent=True) is None
    assert abcd.sorted_sets.increment(b"z", b"x", 1, if_present=True) is None
    assert abcd.sorted_sets.increment(b"z", b"a", 1, if_less=True) is None
    assert abcd.sorted_sets.increment(b"z", b"a", -1, if_greater=True) is None
    assert abcd.sorted_sets.increment(b"z", b"a", 0) == 5.0
    assert len(staged) == 2


def test_a_new_member_gets_the_increment_as_its_score(abcd: Keyspace) -> None:
    assert str(abcd.sorted_sets.increment(b"z", b"new", -0.0)) == "-0.0"
    assert str(abcd.sorted_sets.score(b"z", b"new")) == "0.0"


def test_no_score_is_ever_not_a_number(keys: Keyspace, staged: list) -> None:
    keys.sorted_sets.add(b"z", [(inf, b"a")])
    with pytest.raises(InvalidArgument, match=r"resulting score is not a number \(NaN\)"):
        keys.sorted_sets.increment(b"z", b"a", -inf)
    with pytest.raises(InvalidArgument, match="not a valid float"):
        keys.sorted_sets.add(b"z", [(1, b"b"), (nan, b"c")])
    assert len(staged) == 1
    assert keys.sorted_sets.cardinality(b"z") == 1


def test_the_last_member_takes_the_sorted_set_along(abcd: Keyspace, staged: list) -> None:
    assert abcd.sorted_sets.remove(b"z", [b"a", b"x", b"a"]) == 1
    assert staged == [(SORTED_SET_REMOVED, b"z", [b"a"])]
    assert abcd.sorted_sets.remove(b"z", [b"b", b"c", b"d"]) == 3
    assert abcd.exists(b"z") == 0
    assert abcd.sorted_sets.remove(b"z", [b"b"]) == 0


def test_ranks_count_from_both_ends(abcd: Keyspace) -> None:
    assert abcd.sorted_sets.rank(b"z", b"a") == 0
    assert abcd.sorted_sets.rank(b"z", b"c") == 2
    assert abcd.sorted_sets.rank(b"z", b"c", reverse=True) == 1
    assert abcd.sorted_sets.rank(b"z", b"x") is None
    assert abcd.sorted_sets.rank(b"none", b"x") is None
    assert members(abcd.sorted_sets.ranks(b"z", 1, 2)) == b"bc"
    assert members(abcd.sorted_sets.ranks(b"z", -2, -1)) == b"cd"
    assert members(abcd.sorted_sets.ranks(b"z", 0, 1, reverse=True)) == b"dc"
    assert members(abcd.sorted_sets.ranks(b"z", -1, -1, reverse=True)) == b"a"
    assert abcd.sorted_sets.ranks(b"z", 4, 9) == []
    assert abcd.sorted_sets.ranks(b"none", 0, -1) == []


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (ScoreRange(), b"abcd"),
        (ScoreRange(2, 3), b"bcd"),
        (ScoreRange(2, 3, low_open=True), b"d"),
        (ScoreRange(1, 2, high_open=True), b"a"),
        (ScoreRange(2, 2), b"bc"),
        (ScoreRange(2, 2, low_open=True), b""),
        (ScoreRange(3, 1), b""),
        (ScoreRange(4, 5), b""),
        (ScoreRange(inf, inf, low_open=True), b""),
    ],
)
def test_ranges_of_scores(abcd: Keyspace, wanted: ScoreRange, expected: bytes) -> None:
    assert members(abcd.sorted_sets.range(b"z", wanted)) == expected
    assert members(abcd.sorted_sets.range(b"z", wanted, reverse=True)) == expected[::-1]
    assert abcd.sorted_sets.count(b"z", wanted) == len(expected)
    assert abcd.sorted_sets.remove_range(b"z", wanted) == len(expected)
    assert abcd.sorted_sets.cardinality(b"z") == 4 - len(expected)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (MemberRange(), b"abcd"),
        (MemberRange(b"b"), b"bcd"),
        (MemberRange(b"b", low_open=True), b"cd"),
        (MemberRange(None, b"c"), b"abc"),
        (MemberRange(None, b"c", high_open=True), b"ab"),
        (MemberRange(b"aa", b"cc"), b"bc"),
        (MemberRange(b"c", b"a"), b""),
    ],
)
def test_ranges_of_members_of_equal_score(keys: Keyspace, wanted: MemberRange, expected: bytes) -> None:
    keys.sorted_sets.add(b"z", [(0, b"d"), (0, b"b"), (0, b"a"), (0, b"c")])
    assert members(keys.sorted_sets.range(b"z", wanted)) == expected
    assert members(keys.sorted_sets.range(b"z", wanted, reverse=True)) == expected[::-1]
    assert keys.sorted_sets.count(b"z", wanted) == len(expected)
    assert keys.sorted_sets.remove_range(b"z", wanted) == len(expected)


@pytest.mark.parametrize(
    ("offset", "count", "forward", "backward"),
    [(0, 2, b"ab", b"dc"), (1, 2, b"bc", b"cb"), (3, 5, b"d", b"a"), (4, 1, b"", b""), (1, -1, b"bcd", b"cba"),
     (0, 0, b"", b""), (2, None, b"cd", b"ba"), (-1, 2, b"", b"")],
)  # fmt: skip
def test_a_range_is_limited(abcd: Keyspace, offset: int, count: int | None, forward: bytes, backward: bytes) -> None:
    assert members(abcd.sorted_sets.range(b"z", ScoreRange(), False, offset, count)) == forward
    assert members(abcd.sorted_sets.range(b"z", ScoreRange(), True, offset, count)) == backward


def test_no_key_has_empty_ranges(keys: Keyspace) -> None:
    assert keys.sorted_sets.range(b"z", ScoreRange()) == []
    assert keys.sorted_sets.count(b"z", ScoreRange()) == 0
    assert keys.sorted_sets.remove_range(b"z", ScoreRange()) == 0
    assert keys.sorted_sets.remove_ranks(b"z", 0, -1) == 0
    assert keys.sorted_sets.pop_min(b"z") == keys.sorted_sets.pop_max(b"z") == []
    assert keys.sorted_sets.cardinality(b"z") == 0


def test_lowest_and_highest_are_popped(abcd: Keyspace, staged: list) -> None:
    assert abcd.sorted_sets.pop_min(b"z") == [(1.0, b"a")]
    assert abcd.sorted_sets.pop_max(b"z", 2) == [(3.0, b"d"), (2.0, b"c")]
    assert abcd.sorted_sets.pop_max(b"z", 0) == []
    assert abcd.sorted_sets.pop_max(b"z", 9) == [(2.0, b"b")]
    assert abcd.exists(b"z") == 0
    assert staged == [(SORTED_SET_CUT, b"z", 0, 1), (SORTED_SET_CUT, b"z", 1, 3), (SORTED_SET_CUT, b"z", 0, 1)]


def test_ranks_are_removed(abcd: Keyspace) -> None:
    assert abcd.sorted_sets.remove_ranks(b"z", -3, -2) == 2
    assert members(abcd.sorted_sets.ranks(b"z", 0, -1)) == b"ad"
    assert abcd.sorted_sets.remove_ranks(b"z", 2, 5) == 0


def test_a_stored_sorted_set_replaces_what_was_there(keys: Keyspace, staged: list, pushed: list) -> None:
    keys.strings.set(b"k", b"v")
    assert keys.sorted_sets.store(b"k", [(2, b"b"), (1, b"a")]) == 2
    assert keys.sorted_sets.ranks(b"k", 0, -1) == [(1.0, b"a"), (2.0, b"b")]
    assert keys.sorted_sets.store(b"k", []) == 0
    assert keys.exists(b"k") == 0
    assert staged[-1] == (KEYS_DELETED, [b"k"])
    assert pushed == [b"k"]


def test_waiters_hear_of_new_members_only(keys: Keyspace, pushed: list) -> None:
    keys.sorted_sets.add(b"z", [(1, b"a")])
    keys.sorted_sets.add(b"z", [(2, b"a")])
    keys.sorted_sets.increment(b"z", b"a", 1)
    keys.sorted_sets.increment(b"z", b"b", 1)
    assert pushed == [b"z", b"z"]


def test_other_types_are_refused(keys: Keyspace) -> None:
    keys.strings.set(b"k", b"v")
    with pytest.raises(WrongType):
        keys.sorted_sets.add(b"k", [(1, b"a")])
    with pytest.raises(WrongType):
        keys.sorted_sets.score(b"k", b"a")
