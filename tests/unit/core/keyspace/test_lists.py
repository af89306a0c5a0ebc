import pytest

from onemq.core.keyspace import Keyspace
from onemq.core.keyspace.entries import KEYS_EXPIRED, LIST_POPPED, LIST_PUSHED, LIST_TRIMMED, LIST_VALUE_REMOVED
from onemq.errors import InvalidArgument, NotFound, WrongType


@pytest.fixture
def abcde(keys: Keyspace, staged: list) -> Keyspace:
    keys.lists.push(b"k", [b"a", b"b", b"c", b"d", b"e"], left=False)
    staged.clear()
    return keys


def everything(keys: Keyspace, key: bytes = b"k") -> list[bytes]:
    return keys.lists.range(key, 0, -1)


def test_values_are_pushed_one_after_the_other(keys: Keyspace, staged: list) -> None:
    assert keys.lists.push(b"k", [b"a", b"b"], left=True) == 2
    assert keys.lists.push(b"k", [b"c"], left=False) == 3
    assert everything(keys) == [b"b", b"a", b"c"]
    assert staged == [(LIST_PUSHED, b"k", True, [b"a", b"b"]), (LIST_PUSHED, b"k", False, [b"c"])]


def test_only_lists_that_are_there_are_pushed_to(keys: Keyspace, staged: list) -> None:
    assert keys.lists.push_existing(b"k", [b"a"], left=True) == 0
    assert staged == []
    keys.lists.push(b"k", [b"a"], left=True)
    assert keys.lists.push_existing(b"k", [b"b"], left=True) == 2


def test_values_are_popped_from_both_ends(abcde: Keyspace, staged: list) -> None:
    assert abcde.lists.pop(b"k", left=True) == [b"a"]
    assert abcde.lists.pop(b"k", left=False, count=2) == [b"e", b"d"]
    assert abcde.lists.pop(b"k", left=True, count=0) == []
    assert abcde.lists.pop(b"k", left=True, count=10) == [b"b", b"c"]
    assert abcde.lists.pop(b"k", left=True) == []
    assert [entry[3] for entry in staged] == [1, 2, 2]


def test_an_emptied_list_is_gone_with_its_expiry(abcde: Keyspace) -> None:
    abcde.expire_at(b"k", abcde.now_ms + 10)
    abcde.lists.pop(b"k", left=True, count=5)
    assert abcde.type_of(b"k") is None
    abcde.lists.push(b"k", [b"x"], left=True)
    assert abcde.expiry(b"k") is None


def test_an_expired_list_is_removed_before_it_is_pushed_to(abcde: Keyspace, staged: list) -> None:
    abcde.expire_at(b"k", abcde.now_ms + 10)
    abcde.now_ms += 10
    assert everything(abcde) == []
    staged.clear()
    assert abcde.lists.push(b"k", [b"x"], left=True) == 1
    assert staged == [(KEYS_EXPIRED, [b"k"]), (LIST_PUSHED, b"k", True, [b"x"])]


@pytest.mark.parametrize(
    ("start", "stop", "expected"),
    [
        (0, -1, b"abcde"),
        (1, 2, b"bc"),
        (-2, -1, b"de"),
        (-100, 0, b"a"),
        (3, 100, b"de"),
        (3, 2, b""),
        (5, 9, b""),
        (0, -6, b""),
    ],
)
def test_ranges_include_both_ends_and_count_from_either(
    abcde: Keyspace, start: int, stop: int, expected: bytes
) -> None:
    assert b"".join(abcde.lists.range(b"k", start, stop)) == expected
    abcde.lists.trim(b"k", start, stop)
    assert b"".join(everything(abcde)) == expected
    assert abcde.exists(b"k") == bool(expected)


def test_trimming_nothing_writes_nothing(abcde: Keyspace, staged: list) -> None:
    abcde.lists.trim(b"k", 0, 100)
    abcde.lists.trim(b"none", 0, 1)
    assert staged == []
    abcde.lists.trim(b"k", 0, 3)
    assert staged == [(LIST_TRIMMED, b"k", 0, 4)]


def test_a_value_is_found_by_its_index(abcde: Keyspace) -> None:
    assert [abcde.lists.index(b"k", index) for index in (0, 4, -1, -5, 5, -6)] == [b"a", b"e", b"e", b"a", None, None]
    assert abcde.lists.index(b"none", 0) is None
    assert abcde.lists.length(b"k") == 5
    assert abcde.lists.length(b"none") == 0


def test_a_value_is_replaced_at_its_index(abcde: Keyspace) -> None:
    abcde.lists.set_at(b"k", -1, b"E")
    abcde.lists.set_at(b"k", 0, b"A")
    assert b"".join(everything(abcde)) == b"AbcdE"
    with pytest.raises(InvalidArgument, match="index out of range"):
        abcde.lists.set_at(b"k", 5, b"x")
    with pytest.raises(NotFound, match="no such key"):
        abcde.lists.set_at(b"none", 0, b"x")


def test_a_value_is_inserted_beside_another(abcde: Keyspace) -> None:
    assert abcde.lists.insert(b"k", b"c", b"<", before=True) == 6
    assert abcde.lists.insert(b"k", b"c", b">", before=False) == 7
    assert b"".join(everything(abcde)) == b"ab<c>de"
    assert abcde.lists.insert(b"k", b"x", b"y", before=True) == -1
    assert abcde.lists.insert(b"none", b"x", b"y", before=True) == 0


@pytest.mark.parametrize(
    ("count", "removed", "rest"),
    [(0, 3, b"bb"), (1, 1, b"baba"), (2, 2, b"bba"), (9, 3, b"bb"), (-1, 1, b"abab"), (-2, 2, b"abb"), (-9, 3, b"bb")],
)
def test_equal_values_are_removed_from_either_end(
    keys: Keyspace, staged: list, count: int, removed: int, rest: bytes
) -> None:
    keys.lists.push(b"k", [b"a", b"b", b"a", b"b", b"a"], left=False)
    assert keys.lists.remove(b"k", b"a", count) == removed
    assert b"".join(everything(keys)) == rest
    assert staged[-1] == (LIST_VALUE_REMOVED, b"k", count >= 0, removed, b"a")


def test_removing_what_is_not_there_writes_nothing(abcde: Keyspace, staged: list) -> None:
    assert abcde.lists.remove(b"k", b"x") == 0
    assert abcde.lists.remove(b"none", b"x") == 0
    assert staged == []


@pytest.mark.parametrize(
    ("rank", "count", "maxlen", "expected"),
    [
        (1, 0, 0, [0, 2, 4]),
        (1, 1, 0, [0]),
        (2, 0, 0, [2, 4]),
        (-1, 1, 0, [4]),
        (-2, 0, 0, [2, 0]),
        (1, 0, 3, [0, 2]),
        (-1, 0, 1, [4]),
        (4, 1, 0, []),
    ],
)
def test_positions_of_a_value(keys: Keyspace, rank: int, count: int, maxlen: int, expected: list[int]) -> None:
    keys.lists.push(b"k", [b"a", b"b", b"a", b"b", b"a"], left=False)
    assert keys.lists.position(b"k", b"a", rank, count, maxlen) == expected
    assert keys.lists.position(b"none", b"a") == []


def test_a_value_moves_between_lists(abcde: Keyspace) -> None:
    assert abcde.lists.move(b"k", b"t", from_left=False, to_left=True) == b"e"
    assert abcde.lists.move(b"k", b"t", from_left=True, to_left=False) == b"a"
    assert everything(abcde, b"t") == [b"e", b"a"]
    assert abcde.lists.move(b"none", b"t", from_left=True, to_left=True) is None


def test_a_list_of_one_rotates_onto_itself_and_keeps_its_expiry(keys: Keyspace) -> None:
    keys.lists.push(b"k", [b"a"], left=True)
    keys.expire_at(b"k", keys.now_ms + 10)
    assert keys.lists.move(b"k", b"k", from_left=False, to_left=True) == b"a"
    assert everything(keys) == [b"a"]
    assert keys.expiry(b"k") == keys.now_ms + 10


def test_nothing_moves_to_another_type(abcde: Keyspace) -> None:
    abcde.strings.set(b"s", b"v")
    with pytest.raises(WrongType):
        abcde.lists.move(b"k", b"s", from_left=True, to_left=True)
    assert abcde.lists.length(b"k") == 5
    assert abcde.lists.move(b"none", b"s", from_left=True, to_left=True) is None


def test_waiters_hear_of_every_push_after_it_was_staged(keys: Keyspace, staged: list, pushed: list) -> None:
    keys.lists.push(b"k", [b"a"], left=True)
    keys.lists.push_existing(b"k", [b"b"], left=True)
    keys.lists.push_existing(b"none", [b"b"], left=True)
    keys.lists.move(b"k", b"t", from_left=True, to_left=True)
    keys.lists.pop(b"k", left=True)
    assert pushed == [b"k", b"k", b"t"]


def test_a_waiter_may_take_the_value_at_once(keys: Keyspace, staged: list) -> None:
    taken: list[bytes] = []
    keys.on_push = lambda key: taken.extend(keys.lists.pop(key, left=True))
    assert keys.lists.push(b"k", [b"a"], left=True) == 1
    assert taken == [b"a"]
    assert keys.exists(b"k") == 0
    assert [entry[0] for entry in staged] == [LIST_PUSHED, LIST_POPPED]


def test_the_far_end_of_a_long_list_is_read_and_trimmed(keys: Keyspace) -> None:
    keys.lists.push(b"k", [b"%d" % number for number in range(10_000)], left=False)
    assert keys.lists.range(b"k", 9_990, 9_992) == [b"9990", b"9991", b"9992"]
    keys.lists.trim(b"k", -2, -1)
    assert everything(keys) == [b"9998", b"9999"]


def test_pushes_that_follow_each_other_are_one_entry(keys: Keyspace, staged: list) -> None:
    keys.lists.push(b"k", [b"a"], left=True)
    keys.lists.push(b"k", [b"b", b"c"], left=True)
    keys.lists.push(b"k", [b"d"], left=False)
    keys.lists.push(b"other", [b"e"], left=False)
    keys.lists.push(b"other", [b"f"], left=False)
    assert staged == [
        (LIST_PUSHED, b"k", True, [b"a", b"b", b"c"]),
        (LIST_PUSHED, b"k", False, [b"d"]),
        (LIST_PUSHED, b"other", False, [b"e", b"f"]),
    ]


def test_pops_that_follow_each_other_are_one_entry(keys: Keyspace, staged: list) -> None:
    keys.lists.push(b"k", [b"a", b"b", b"c", b"d"], left=False)
    staged.clear()
    assert [keys.lists.pop_one(b"k", left=True) for _ in range(2)] == [b"a", b"b"]
    assert keys.lists.pop_one(b"k", left=False) == b"d"
    assert staged == [(LIST_POPPED, b"k", True, 2), (LIST_POPPED, b"k", False, 1)]


def test_an_entry_that_was_taken_away_is_left_alone(keys: Keyspace, staged: list) -> None:
    keys.lists.push(b"k", [b"a"], left=True)
    taken = staged.copy()
    staged.clear()
    keys.lists.push(b"k", [b"b"], left=True)
    assert taken == [(LIST_PUSHED, b"k", True, [b"a"])]
    assert staged == [(LIST_PUSHED, b"k", True, [b"b"])]


def test_one_value_is_popped_like_others(keys: Keyspace) -> None:
    assert keys.lists.pop_one(b"k", left=True) is None
    keys.strings.set(b"s", b"v")
    with pytest.raises(WrongType):
        keys.lists.pop_one(b"s", left=True)
    keys.lists.push(b"k", [b"a"], left=True)
    keys.expire_at(b"k", keys.now_ms + 10)
    keys.now_ms += 10
    assert keys.lists.pop_one(b"k", left=True) is None
