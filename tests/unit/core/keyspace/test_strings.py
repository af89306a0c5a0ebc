import pytest

from onemq.core.keyspace import Keyspace, strings
from onemq.core.keyspace.entries import KEYS_DELETED, KEYS_EXPIRED, STRING_REPLACED, STRING_SET
from onemq.errors import InvalidArgument, TooLarge, WrongType


def test_a_string_is_read_as_it_was_set(keys: Keyspace, staged: list) -> None:
    assert keys.strings.get(b"k") is None
    assert keys.strings.set(b"k", b"\x00v") is True
    assert keys.strings.get(b"k") == b"\x00v"
    assert keys.strings.length(b"k") == 2
    assert keys.strings.length(b"none") == 0
    assert staged == [(STRING_SET, b"k", b"\x00v")]


def test_setting_replaces_any_type_and_takes_the_expiry_away(keys: Keyspace) -> None:
    keys.lists.push(b"k", [b"x"], left=True)
    keys.expire_at(b"k", keys.now_ms + 10)
    keys.strings.set(b"k", b"v")
    assert keys.type_of(b"k") == "string"
    assert keys.expiry(b"k") is None


def test_conditions_decide_whether_a_string_is_set(keys: Keyspace, staged: list) -> None:
    assert keys.strings.set(b"k", b"1", if_present=True) is False
    assert keys.strings.set(b"k", b"1", if_absent=True) is True
    assert keys.strings.set(b"k", b"2", if_absent=True) is False
    assert keys.strings.get(b"k") == b"1"
    assert keys.strings.set(b"k", b"3", if_present=True) is True
    assert len(staged) == 2


def test_an_expired_key_counts_as_absent_for_conditions(keys: Keyspace) -> None:
    keys.strings.set(b"k", b"1", keys.now_ms + 10)
    keys.now_ms += 10
    assert keys.strings.set(b"k", b"2", if_present=True) is False
    assert keys.strings.set(b"k", b"2", if_absent=True) is True
    assert keys.expiry(b"k") is None


def test_the_expiry_is_kept_only_on_request(keys: Keyspace) -> None:
    at_ms = keys.now_ms + 10
    keys.strings.set(b"k", b"1", at_ms)
    keys.strings.set(b"k", b"2", keep_ttl=True)
    assert keys.expiry(b"k") == at_ms
    keys.strings.set(b"k", b"3")
    assert keys.expiry(b"k") is None


def test_keeping_the_expiry_of_an_expired_key_keeps_nothing(keys: Keyspace, staged: list) -> None:
    keys.strings.set(b"k", b"1", keys.now_ms + 10)
    keys.now_ms += 10
    keys.strings.set(b"k", b"2", keep_ttl=True)
    assert keys.expiry(b"k") is None
    assert keys.strings.get(b"k") == b"2"
    assert staged[1:] == [(KEYS_EXPIRED, [b"k"]), (STRING_REPLACED, b"k", b"2")]


def test_a_string_that_is_born_expired_leaves_no_key(keys: Keyspace, staged: list) -> None:
    keys.strings.set(b"k", b"1")
    assert keys.strings.set(b"k", b"2", keys.now_ms) is True
    assert keys.strings.set(b"other", b"2", keys.now_ms) is True
    assert keys.count() == 0
    assert staged[1:] == [(KEYS_DELETED, [b"k"])]


def test_many_are_set_at_once_and_the_last_of_two_wins(keys: Keyspace) -> None:
    keys.strings.set_many([b"a", b"b", b"a"], [b"1", b"2", b"3"])
    assert keys.strings.get(b"a") == b"3"
    assert keys.strings.get(b"b") == b"2"


def test_appending_grows_the_string_and_keeps_its_expiry(keys: Keyspace) -> None:
    assert keys.strings.append(b"k", b"ab") == 2
    keys.expire_at(b"k", keys.now_ms + 10)
    assert keys.strings.append(b"k", b"c") == 3
    assert keys.strings.get(b"k") == b"abc"
    assert keys.expiry(b"k") == keys.now_ms + 10


def test_a_string_does_not_outgrow_its_limit(keys: Keyspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strings, "STRING_BYTES_MAX", 3)
    keys.strings.append(b"k", b"abc")
    with pytest.raises(TooLarge):
        keys.strings.append(b"k", b"d")
    assert keys.strings.get(b"k") == b"abc"


def test_incrementing_counts_from_zero_and_logs_the_result(keys: Keyspace, staged: list) -> None:
    assert keys.strings.increment(b"k", 5) == 5
    assert keys.strings.increment(b"k", -7) == -2
    assert keys.strings.get(b"k") == b"-2"
    assert staged[-1] == (STRING_REPLACED, b"k", b"-2")


@pytest.mark.parametrize("text", [b"", b" 1", b"1 ", b"+1", b"01", b"-0", b"1_0", b"1.0", b"x", b"9" * 19, b"1" * 5000])
def test_what_is_not_written_as_an_integer_is_not_incremented(keys: Keyspace, text: bytes) -> None:
    keys.strings.set(b"k", text)
    with pytest.raises(InvalidArgument, match="value is not an integer or out of range"):
        keys.strings.increment(b"k", 1)
    assert keys.strings.get(b"k") == text


def test_a_sum_beyond_64_bits_is_refused(keys: Keyspace) -> None:
    keys.strings.set(b"k", b"%d" % (2**63 - 1))
    with pytest.raises(InvalidArgument, match="would overflow"):
        keys.strings.increment(b"k", 1)
    keys.strings.set(b"k", b"%d" % -(2**63))
    with pytest.raises(InvalidArgument, match="would overflow"):
        keys.strings.increment(b"k", -1)


def test_other_types_are_refused(keys: Keyspace) -> None:
    keys.sets.add(b"k", [b"m"])
    for call in (
        lambda: keys.strings.get(b"k"),
        lambda: keys.strings.length(b"k"),
        lambda: keys.strings.append(b"k", b"x"),
        lambda: keys.strings.increment(b"k", 1),
    ):
        with pytest.raises(WrongType, match=r"^Operation against a key holding the wrong kind of value$"):
            call()
