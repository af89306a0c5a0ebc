import pytest

from onemq.core.keyspace import Keyspace
from onemq.core.keyspace.entries import HASH_DELETED, HASH_SET
from onemq.errors import InvalidArgument, WrongType


def test_fields_are_set_and_read(keys: Keyspace, staged: list) -> None:
    assert keys.hashes.set(b"h", [b"a", b"1"]) == 1
    assert keys.hashes.set(b"h", [b"a", b"2", b"b", b"3", b"c", b"4"]) == 2
    assert keys.hashes.get(b"h", b"a") == b"2"
    assert keys.hashes.get(b"h", b"x") is None
    assert keys.hashes.get(b"none", b"a") is None
    assert keys.hashes.get_many(b"h", [b"c", b"x", b"a"]) == [b"4", None, b"2"]
    assert keys.hashes.all(b"h") == {b"a": b"2", b"b": b"3", b"c": b"4"}
    assert keys.hashes.keys(b"h") == [b"a", b"b", b"c"]
    assert keys.hashes.values(b"h") == [b"2", b"3", b"4"]
    assert keys.hashes.length(b"h") == 3
    assert staged[0] == (HASH_SET, b"h", [b"a", b"1"])


def test_a_field_named_twice_is_new_once(keys: Keyspace) -> None:
    assert keys.hashes.set(b"h", [b"a", b"1", b"a", b"2"]) == 1
    assert keys.hashes.get(b"h", b"a") == b"2"


def test_no_key_reads_as_an_empty_hash(keys: Keyspace) -> None:
    assert keys.hashes.all(b"h") == {}
    assert keys.hashes.keys(b"h") == keys.hashes.values(b"h") == []
    assert keys.hashes.length(b"h") == 0
    assert keys.hashes.exists(b"h", b"a") is False
    assert keys.hashes.get_many(b"h", [b"a"]) == [None]


def test_a_field_is_set_if_absent(keys: Keyspace) -> None:
    assert keys.hashes.set_if_absent(b"h", b"a", b"1") is True
    assert keys.hashes.set_if_absent(b"h", b"a", b"2") is False
    assert keys.hashes.set_if_absent(b"h", b"b", b"") is True
    assert keys.hashes.set_if_absent(b"h", b"b", b"2") is False
    assert keys.hashes.all(b"h") == {b"a": b"1", b"b": b""}


def test_the_last_field_takes_the_hash_along(keys: Keyspace, staged: list) -> None:
    keys.hashes.set(b"h", [b"a", b"1", b"b", b"2"])
    assert keys.hashes.delete(b"h", [b"a", b"x", b"a"]) == 1
    assert staged[-1] == (HASH_DELETED, b"h", [b"a"])
    assert keys.hashes.exists(b"h", b"a") is False
    assert keys.hashes.exists(b"h", b"b") is True
    assert keys.hashes.delete(b"h", [b"b"]) == 1
    assert keys.exists(b"h") == 0
    assert keys.hashes.delete(b"h", [b"b"]) == 0
    assert len(staged) == 3


def test_a_number_in_a_field_is_incremented(keys: Keyspace, staged: list) -> None:
    assert keys.hashes.increment(b"h", b"n", 3) == 3
    assert keys.hashes.increment(b"h", b"n", -5) == -2
    assert staged[-1] == (HASH_SET, b"h", [b"n", b"-2"])


def test_what_is_no_number_is_not_incremented(keys: Keyspace) -> None:
    keys.hashes.set(b"h", [b"n", b"x", b"max", b"%d" % (2**63 - 1)])
    with pytest.raises(InvalidArgument, match="hash value is not an integer"):
        keys.hashes.increment(b"h", b"n", 1)
    with pytest.raises(InvalidArgument, match="would overflow"):
        keys.hashes.increment(b"h", b"max", 1)


def test_a_copy_is_handed_out(keys: Keyspace) -> None:
    keys.hashes.set(b"h", [b"a", b"1"])
    keys.hashes.all(b"h").clear()
    assert keys.hashes.length(b"h") == 1


def test_a_set_is_no_hash(keys: Keyspace) -> None:
    keys.sets.add(b"s", [b"m"])
    with pytest.raises(WrongType):
        keys.hashes.get(b"s", b"m")
    with pytest.raises(WrongType):
        keys.hashes.set(b"s", [b"m", b"1"])
