import pytest

from onemq.core.keyspace import Keyspace
from onemq.core.keyspace.entries import KEYS_DELETED, SET_ADDED, SET_REMOVED, SET_STORED
from onemq.errors import WrongType


def test_members_are_added_once(keys: Keyspace, staged: list) -> None:
    assert keys.sets.add(b"s", [b"a", b"b", b"a"]) == 2
    assert keys.sets.add(b"s", [b"b", b"c"]) == 1
    assert keys.sets.add(b"s", [b"b", b"c"]) == 0
    assert keys.sets.members(b"s") == [b"a", b"b", b"c"]
    assert keys.sets.cardinality(b"s") == 3
    assert keys.sets.contains(b"s", b"c") is True
    assert keys.sets.contains(b"s", b"d") is False
    assert staged == [(SET_ADDED, b"s", [b"a", b"b"]), (SET_ADDED, b"s", [b"c"])]


def test_the_last_member_takes_the_set_along(keys: Keyspace, staged: list) -> None:
    keys.sets.add(b"s", [b"a", b"b"])
    assert keys.sets.remove(b"s", [b"a", b"x", b"a"]) == 1
    assert staged[-1] == (SET_REMOVED, b"s", [b"a"])
    assert keys.sets.remove(b"s", [b"b"]) == 1
    assert keys.type_of(b"s") is None
    assert keys.sets.remove(b"s", [b"b"]) == 0
    assert keys.sets.members(b"s") == []
    assert keys.sets.cardinality(b"s") == 0


def test_the_youngest_members_are_popped_and_named_in_the_log(keys: Keyspace, staged: list) -> None:
    keys.sets.add(b"s", [b"a", b"b", b"c"])
    assert keys.sets.pop(b"s") == [b"c"]
    assert keys.sets.pop(b"s", 0) == []
    assert keys.sets.pop(b"s", 5) == [b"b", b"a"]
    assert keys.sets.pop(b"s") == []
    assert staged[1:] == [(SET_REMOVED, b"s", [b"c"]), (SET_REMOVED, b"s", [b"b", b"a"])]


def test_a_member_moves_between_sets(keys: Keyspace) -> None:
    keys.sets.add(b"s", [b"a", b"b"])
    keys.sets.add(b"t", [b"b"])
    assert keys.sets.move(b"s", b"t", b"a") is True
    assert keys.sets.move(b"s", b"t", b"x") is False
    assert keys.sets.move(b"s", b"t", b"b") is True
    assert keys.exists(b"s") == 0
    assert keys.sets.members(b"t") == [b"b", b"a"]
    assert keys.sets.move(b"none", b"t", b"a") is False


def test_a_member_moved_onto_its_own_set_stays(keys: Keyspace, staged: list) -> None:
    keys.sets.add(b"s", [b"a"])
    assert keys.sets.move(b"s", b"s", b"a") is True
    assert keys.sets.move(b"s", b"s", b"x") is False
    assert len(staged) == 1


def test_sets_are_combined(keys: Keyspace) -> None:
    keys.sets.add(b"s", [b"a", b"b", b"c"])
    keys.sets.add(b"t", [b"b", b"c", b"d"])
    assert keys.sets.union([b"s", b"t", b"none"]) == [b"a", b"b", b"c", b"d"]
    assert keys.sets.intersection([b"s", b"t"]) == [b"b", b"c"]
    assert keys.sets.intersection([b"s", b"t", b"none"]) == []
    assert keys.sets.difference([b"s", b"t"]) == [b"a"]
    assert keys.sets.difference([b"none", b"t"]) == []


def test_combining_checks_every_type(keys: Keyspace) -> None:
    keys.strings.set(b"x", b"v")
    for combine in (keys.sets.union, keys.sets.intersection, keys.sets.difference):
        with pytest.raises(WrongType):
            combine([b"none", b"x"])


def test_a_stored_set_replaces_what_was_there(keys: Keyspace, staged: list) -> None:
    keys.strings.set(b"k", b"v", keys.now_ms + 10)
    assert keys.sets.store(b"k", [b"a", b"b", b"a"]) == 2
    assert keys.sets.members(b"k") == [b"a", b"b"]
    assert keys.expiry(b"k") is None
    assert keys.sets.store(b"k", []) == 0
    assert keys.sets.store(b"k", []) == 0
    assert keys.exists(b"k") == 0
    assert staged[1:] == [(SET_STORED, b"k", [b"a", b"b"]), (KEYS_DELETED, [b"k"])]


def test_a_hash_is_no_set(keys: Keyspace) -> None:
    keys.hashes.set(b"h", [b"f", b"v"])
    with pytest.raises(WrongType):
        keys.sets.add(b"h", [b"a"])
    with pytest.raises(WrongType):
        keys.sets.members(b"h")
