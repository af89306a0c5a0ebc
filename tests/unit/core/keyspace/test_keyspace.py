import msgspec
import pytest

from onemq.core.keyspace import Keyspace
from onemq.core.keyspace.entries import (
    EXPIRY_CLEARED,
    EXPIRY_SET,
    KEY_RENAMED,
    KEYS_DELETED,
    KEYS_EXPIRED,
    KEYS_FLUSHED,
)
from onemq.core.keyspace.frozen import PIECE_BYTES, PIECE_ITEMS, pieces
from onemq.core.keyspace.keyspace import EXPIRED_PER_TICK_MAX
from onemq.errors import Corrupt, InvalidArgument, NotFound, TooLarge, WrongType


def fill(keys: Keyspace) -> None:
    """One key of each type."""
    keys.strings.set(b"string", b"v")
    keys.lists.push(b"list", [b"a", b"b"], left=False)
    keys.hashes.set(b"hash", [b"f", b"v"])
    keys.sets.add(b"set", [b"b", b"a"])
    keys.sorted_sets.add(b"zset", [(2, b"b"), (1, b"a")])


def test_every_key_has_a_type(keys: Keyspace) -> None:
    fill(keys)
    for name in ("string", "list", "hash", "set", "zset"):
        assert keys.type_of(name.encode()) == name
    assert keys.type_of(b"none") is None


def test_each_type_refuses_the_others(keys: Keyspace) -> None:
    fill(keys)
    reads = {
        b"string": keys.strings.get,
        b"list": keys.lists.length,
        b"hash": keys.hashes.length,
        b"set": keys.sets.cardinality,
        b"zset": keys.sorted_sets.cardinality,
    }
    for name, read in reads.items():
        assert read(name)
        for other in reads.keys() - {name}:
            with pytest.raises(WrongType):
                read(other)


def test_deleting_counts_what_was_there(keys: Keyspace, staged: list) -> None:
    fill(keys)
    assert keys.delete(b"list", b"none", b"list", b"set") == 2
    assert staged[-1] == (KEYS_DELETED, [b"list", b"set"])
    assert keys.delete(b"list") == 0
    assert len(staged) == 6
    assert keys.count() == 3


def test_deleting_an_expired_key_removes_it_uncounted(keys: Keyspace) -> None:
    keys.strings.set(b"k", b"v", keys.now_ms + 1)
    keys.now_ms += 1
    assert keys.delete(b"k") == 0
    assert b"k" not in keys.values


def test_existing_keys_are_counted_as_often_as_named(keys: Keyspace) -> None:
    fill(keys)
    assert keys.exists(b"list", b"list", b"none", b"set") == 3


def test_flushing_leaves_nothing(keys: Keyspace, staged: list) -> None:
    fill(keys)
    keys.expire_at(b"list", keys.now_ms + 10)
    keys.flush()
    assert keys.count() == 0
    assert keys.matching(b"*") == []
    assert keys.tick(keys.now_ms) is None
    assert staged[-1] == (KEYS_FLUSHED,)
    keys.flush()
    assert staged[-2] != (KEYS_FLUSHED,)


class TestExpiry:
    def test_a_key_is_invisible_from_its_time_on(self, keys: Keyspace) -> None:
        fill(keys)
        at_ms = keys.now_ms + 10
        assert keys.expire_at(b"list", at_ms) is True
        assert keys.expiry(b"list") == at_ms
        keys.now_ms = at_ms - 1
        assert keys.lists.length(b"list") == 2
        keys.now_ms = at_ms
        assert keys.lists.length(b"list") == 0
        assert keys.exists(b"list") == 0
        assert keys.type_of(b"list") is None
        assert keys.expiry(b"list") is None
        assert keys.persist(b"list") is False
        assert keys.count() == 4
        assert b"list" not in keys.matching(b"*")
        assert b"list" not in keys.scan(0)[1]

    def test_a_tick_removes_what_is_due_and_says_when_to_come_back(self, keys: Keyspace, staged: list) -> None:
        now_ms = keys.now_ms
        for number in range(1, 5):
            keys.strings.set(b"%d" % number, b"v", now_ms + number * 10)
        staged.clear()
        assert keys.tick(now_ms + 9) == now_ms + 10
        assert keys.tick(now_ms + 25) == now_ms + 30
        assert staged == [(KEYS_EXPIRED, [b"1", b"2"])]
        assert keys.tick(now_ms + 100) is None
        assert keys.count() == 0

    def test_a_tick_does_a_bounded_amount_of_work(self, keys: Keyspace, staged: list) -> None:
        for number in range(EXPIRED_PER_TICK_MAX + 1):
            keys.strings.set(b"%d" % number, b"v", keys.now_ms + 10)
        staged.clear()
        due_ms = keys.tick(keys.now_ms + 20)
        assert due_ms is not None
        assert due_ms <= keys.now_ms
        assert keys.count() == 0
        assert keys.tick(keys.now_ms) is None
        assert [len(entry[1]) for entry in staged] == [EXPIRED_PER_TICK_MAX, 1]

    def test_the_last_expiry_set_is_the_one_that_holds(self, keys: Keyspace) -> None:
        now_ms = keys.now_ms
        keys.strings.set(b"later", b"v", now_ms + 10)
        keys.expire_at(b"later", now_ms + 100)
        keys.strings.set(b"sooner", b"v", now_ms + 100)
        keys.expire_at(b"sooner", now_ms + 10)
        keys.strings.set(b"stays", b"v", now_ms + 10)
        keys.persist(b"stays")
        keys.tick(now_ms + 10)
        assert sorted(keys.matching(b"*")) == [b"later", b"stays"]
        assert keys.tick(now_ms + 100) is None
        assert keys.matching(b"*") == [b"stays"]

    def test_an_expiry_set_again_after_deletion_holds_once(self, keys: Keyspace, staged: list) -> None:
        for _ in range(2):
            keys.strings.set(b"k", b"v", keys.now_ms + 10)
            keys.delete(b"k")
        keys.strings.set(b"k", b"v", keys.now_ms + 10)
        staged.clear()
        keys.tick(keys.now_ms + 10)
        assert staged == [(KEYS_EXPIRED, [b"k"])]

    def test_a_time_that_has_come_removes_the_key(self, keys: Keyspace, staged: list) -> None:
        fill(keys)
        assert keys.expire_at(b"list", keys.now_ms) is True
        assert staged[-1] == (KEYS_DELETED, [b"list"])
        assert keys.expire_at(b"list", keys.now_ms + 10) is False

    def test_persisting_takes_the_expiry_away(self, keys: Keyspace, staged: list) -> None:
        keys.strings.set(b"k", b"v")
        assert keys.persist(b"k") is False
        keys.expire_at(b"k", keys.now_ms + 10)
        assert keys.persist(b"k") is True
        assert staged[1:] == [(EXPIRY_SET, b"k", keys.now_ms + 10), (EXPIRY_CLEARED, b"k")]
        keys.tick(keys.now_ms + 20)
        assert keys.exists(b"k") == 1

    @pytest.mark.parametrize(
        ("condition", "without", "earlier", "later"),
        [
            ("if_absent", True, False, False),
            ("if_present", False, True, True),
            ("if_greater", False, False, True),
            ("if_less", True, True, False),
        ],
    )
    def test_conditions_compare_with_the_old_expiry(
        self, keys: Keyspace, condition: str, without: bool, earlier: bool, later: bool
    ) -> None:
        old_ms = keys.now_ms + 100
        for at_ms, expiring, expected in [
            (old_ms, False, without),
            (old_ms - 1, True, earlier),
            (old_ms + 1, True, later),
        ]:
            keys.strings.set(b"k", b"v", old_ms if expiring else None)
            assert keys.expire_at(b"k", at_ms, **{condition: True}) is expected
            assert (keys.expiry(b"k") == at_ms) is expected

    def test_a_clock_that_jumps_back_brings_no_removed_key_back(self, keys: Keyspace) -> None:
        now_ms = keys.now_ms
        keys.strings.set(b"k", b"v", now_ms + 10)
        keys.tick(now_ms + 10)
        keys.tick(now_ms)
        assert keys.exists(b"k") == 0

    def test_stale_times_do_not_pile_up(self, keys: Keyspace) -> None:
        for number in range(20_000):
            keys.strings.set(b"k", b"v", keys.now_ms + 1000 + number)
        assert len(keys.deadlines._heap) < 2_000
        for number in range(20_000):
            keys.strings.set(b"%d" % number, b"v", keys.now_ms + 1000 + number)
        keys.delete(*keys.matching(b"*"))
        keys.strings.set(b"k", b"v", keys.now_ms + 1000)
        assert len(keys.deadlines._heap) < 2_000


class TestRename:
    def test_value_and_expiry_move(self, keys: Keyspace, staged: list) -> None:
        fill(keys)
        keys.expire_at(b"list", keys.now_ms + 10)
        keys.expire_at(b"set", keys.now_ms + 20)
        staged.clear()
        assert keys.rename(b"list", b"set") is True
        assert keys.lists.range(b"set", 0, -1) == [b"a", b"b"]
        assert keys.expiry(b"set") == keys.now_ms + 10
        assert keys.exists(b"list") == 0
        assert staged == [(KEY_RENAMED, b"list", b"set")]

    def test_the_expiry_of_the_old_target_does_not_stay(self, keys: Keyspace) -> None:
        keys.strings.set(b"a", b"1")
        keys.strings.set(b"b", b"2", keys.now_ms + 10)
        keys.rename(b"a", b"b")
        assert keys.expiry(b"b") is None

    def test_a_key_renamed_to_itself_stays(self, keys: Keyspace, staged: list) -> None:
        keys.strings.set(b"a", b"1", keys.now_ms + 10)
        assert keys.rename(b"a", b"a") is True
        assert keys.rename(b"a", b"a", if_absent=True) is False
        assert len(staged) == 1

    def test_only_a_key_that_is_there_is_renamed(self, keys: Keyspace) -> None:
        keys.strings.set(b"a", b"1", keys.now_ms + 10)
        keys.now_ms += 10
        with pytest.raises(NotFound, match="no such key"):
            keys.rename(b"a", b"b")

    def test_a_target_in_the_way_is_respected_on_request(self, keys: Keyspace) -> None:
        keys.strings.set_many([b"a", b"b"], [b"1", b"2"])
        assert keys.rename(b"a", b"b", if_absent=True) is False
        keys.expire_at(b"b", keys.now_ms + 10)
        keys.now_ms += 10
        assert keys.rename(b"a", b"b", if_absent=True) is True
        assert keys.strings.get(b"b") == b"1"

    def test_waiters_hear_of_a_list_under_its_new_name(self, keys: Keyspace, pushed: list) -> None:
        fill(keys)
        pushed.clear()
        keys.rename(b"list", b"l")
        keys.rename(b"zset", b"z")
        keys.rename(b"set", b"s")
        assert pushed == [b"l", b"z"]


class TestWatch:
    def test_every_change_of_a_watched_key_changes_its_version(self, keys: Keyspace) -> None:
        versions = [keys.watch(b"k")]
        changes = [
            lambda: keys.strings.set(b"k", b"1"),
            lambda: keys.strings.increment(b"k", 1),
            lambda: keys.expire_at(b"k", keys.now_ms + 10),
            lambda: keys.persist(b"k"),
            lambda: keys.delete(b"k"),
            lambda: keys.lists.push(b"k", [b"a", b"b", b"c"], left=True),
            lambda: keys.lists.set_at(b"k", 0, b"x"),
            lambda: keys.lists.pop(b"k", left=True),
            lambda: keys.rename(b"k", b"other"),
            lambda: keys.rename(b"other", b"k"),
            lambda: keys.lists.move(b"k", b"other", from_left=True, to_left=True),
            lambda: keys.lists.move(b"other", b"k", from_left=True, to_left=True),
            keys.flush,
        ]
        for change in changes:
            change()
            assert keys.version(b"k") not in versions
            versions.append(keys.version(b"k"))

    def test_reading_and_other_keys_change_nothing(self, keys: Keyspace) -> None:
        fill(keys)
        version = keys.watch(b"list")
        keys.lists.range(b"list", 0, -1)
        keys.sets.add(b"set", [b"new"])
        keys.lists.remove(b"list", b"not there")
        assert keys.delete(b"none") == 0
        assert keys.version(b"list") == version

    def test_expiry_is_a_change_whether_or_not_a_tick_came(self, keys: Keyspace) -> None:
        for step in (lambda: None, lambda: keys.tick(keys.now_ms)):
            keys.strings.set(b"k", b"v", keys.now_ms + 10)
            version = keys.watch(b"k")
            keys.now_ms += 10
            step()
            assert keys.version(b"k") != version
            keys.unwatch(b"k")

    def test_a_key_that_had_expired_before_it_was_watched_does_not_change(self, keys: Keyspace) -> None:
        keys.strings.set(b"k", b"v", keys.now_ms + 10)
        keys.now_ms += 10
        version = keys.watch(b"k")
        keys.tick(keys.now_ms)
        assert keys.version(b"k") == version

    def test_flushing_does_not_change_what_was_not_there(self, keys: Keyspace) -> None:
        fill(keys)
        version = keys.watch(b"none")
        keys.flush()
        assert keys.version(b"none") == version

    def test_nothing_is_kept_for_keys_that_nobody_watches(self, keys: Keyspace) -> None:
        keys.watch(b"k")
        keys.watch(b"k")
        keys.unwatch(b"k")
        assert keys.watched
        keys.unwatch(b"k")
        fill(keys)
        assert not keys.watched


class TestScan:
    def scanned(self, keys: Keyspace, count: int = 10) -> list[bytes]:
        cursor, found = keys.scan(0, count)
        while cursor:
            cursor, more = keys.scan(cursor, count)
            found += more
        return found

    @pytest.mark.parametrize("count", [1, 7, 100, 5000])
    def test_a_scan_finds_every_key_once_if_nothing_changes(self, keys: Keyspace, count: int) -> None:
        names = [b"%d" % number for number in range(2500)]
        for name in names:
            keys.strings.set(name, b"v")
        assert sorted(self.scanned(keys, count)) == sorted(names)

    def test_an_empty_keyspace_is_scanned_at_once(self, keys: Keyspace) -> None:
        assert keys.scan(0) == (0, [])
        assert keys.scan(17) == (0, [])

    def test_what_stays_is_found_however_much_comes_and_goes(self, keys: Keyspace) -> None:
        stays = {b"stays-%d" % number for number in range(500)}
        for name in stays:
            keys.strings.set(name, b"v")
        found: set[bytes] = set()
        cursor, number = 0, 0
        while True:
            cursor, page = keys.scan(cursor, 10)
            found.update(page)
            if not cursor:
                break
            for _ in range(20):
                keys.strings.set(b"passes-%d" % number, b"v")
                keys.delete(b"passes-%d" % (number - 100))
                number += 1
        assert stays <= found

    def test_a_scan_goes_on_after_a_restart(self, keys: Keyspace) -> None:
        for number in range(100):
            keys.strings.set(b"%d" % number, b"v")
        keys.delete(*(b"%d" % number for number in range(50)))
        cursor, found = keys.scan(0, 10)
        restarted = Keyspace([])
        restarted.load(keys.dump())
        while cursor:
            cursor, page = restarted.scan(cursor, 10)
            found += page
        assert set(found) == set(keys.matching(b"*"))

    def test_pattern_and_type_narrow_what_is_found(self, keys: Keyspace) -> None:
        fill(keys)
        assert sorted(keys.scan(0, 10, b"*set")[1]) == [b"set", b"zset"]
        assert keys.scan(0, 10, type_name="hash")[1] == [b"hash"]
        assert keys.scan(0, 10, b"*set", "hash")[1] == []

    def test_numbers_of_gone_keys_do_not_pile_up(self, keys: Keyspace) -> None:
        for _ in range(20_000):
            keys.lists.push(b"k", [b"v"], left=True)
            keys.lists.pop(b"k", left=True)
        assert len(keys.order._keys) < 2_000


def test_keys_are_matched_by_pattern(keys: Keyspace) -> None:
    fill(keys)
    assert keys.matching(b"*set") == [b"set", b"zset"]
    assert len(keys.matching(b"*")) == 5
    with pytest.raises(TooLarge):
        keys.matching(b"x" * 5000)


class TestSnapshot:
    def test_a_loaded_keyspace_is_the_dumped_one(self, keys: Keyspace) -> None:
        fill(keys)
        keys.expire_at(b"list", keys.now_ms + 10)
        loaded = Keyspace([])
        loaded.load(msgspec.msgpack.decode(msgspec.msgpack.encode(keys.dump())))
        assert loaded.dump()["values"] == keys.dump()["values"]
        assert loaded.matching(b"*") == keys.matching(b"*")
        assert loaded.tick(keys.now_ms) == keys.now_ms + 10
        assert loaded.sets.pop(b"set") == [b"a"]
        assert loaded.sorted_sets.rank(b"zset", b"b") == 1

    def test_the_pieces_of_a_snapshot_are_what_it_is_as_a_whole(self, keys: Keyspace) -> None:
        fill(keys)
        many = [b"%d" % number for number in range(3 * PIECE_ITEMS + 1)]
        keys.lists.push(b"many", list(many), left=False)
        keys.lists.push(b"large", [bytes(PIECE_BYTES), b"small", bytes(PIECE_BYTES - 1)], left=False)
        keys.hashes.set(b"many fields", many[1:])
        keys.sets.add(b"many members", many)
        keys.sorted_sets.add(b"many scores", [(number / 2, b"%d" % number) for number in range(PIECE_BYTES // 8)])
        keys.strings.set(b"large string", bytes(PIECE_BYTES + 1))
        for name in many:
            keys.strings.set(b"string " + name, name)
            keys.expire_at(b"string " + name, keys.now_ms + 10)
        dump = keys.dump()
        found = list(pieces(dump))
        assert (dump["keys"], dump["values"], dump["expires_at_ms"]) == ([], [], [])  # let go
        assert msgspec.msgpack.decode(b"".join(found)) == msgspec.msgpack.decode(msgspec.msgpack.encode(keys.dump()))
        assert max(map(len, found)) < 3 * PIECE_BYTES

    def test_a_snapshot_does_not_change_with_the_keyspace(self, keys: Keyspace) -> None:
        fill(keys)
        snapshot = keys.dump()
        before = msgspec.msgpack.encode(snapshot)
        keys.lists.push(b"list", [b"x"], left=True)
        keys.hashes.set(b"hash", [b"x", b"x"])
        keys.sets.add(b"set", [b"x"])
        keys.sorted_sets.add(b"zset", [(0, b"x")])
        keys.expire_at(b"string", keys.now_ms + 10)
        keys.delete(b"string")
        assert msgspec.msgpack.encode(snapshot) == before

    def test_an_unknown_snapshot_is_refused(self) -> None:
        keys = Keyspace([])
        with pytest.raises(Corrupt, match="unknown version 2"):
            keys.load({"version": 2})
        state = Keyspace([]).dump()
        with pytest.raises(Corrupt, match="unknown value"):
            keys.load({**state, "keys": [b"k"], "values": [[9, []]]})


class TestCopy:
    def test_copies_share_nothing(self, keys: Keyspace) -> None:
        keys.lists.push(b"l", [b"a"], left=True)
        keys.hashes.set(b"h", [b"f", b"v"])
        keys.sorted_sets.add(b"z", [(1.0, b"m")])
        for name in (b"l", b"h", b"z"):
            assert keys.copy(name, name + b"2")
        keys.lists.push(b"l", [b"b"], left=True)
        keys.hashes.set(b"h", [b"f", b"w"])
        keys.sorted_sets.add(b"z", [(5.0, b"m")])
        assert keys.lists.range(b"l2", 0, -1) == [b"a"]
        assert keys.hashes.get(b"h2", b"f") == b"v"
        assert keys.sorted_sets.score(b"z2", b"m") == 1.0

    def test_the_expiry_is_copied_and_the_target_counts_as_changed(self, keys: Keyspace) -> None:
        keys.strings.set(b"k", b"v", expires_at_ms=keys.now_ms + 5)
        version = keys.watch(b"t")
        assert keys.copy(b"k", b"t")
        assert keys.expiry(b"t") == keys.now_ms + 5
        assert keys.version(b"t") != version
        assert not keys.copy(b"k", b"t")
        assert not keys.copy(b"none", b"t", replace=True)

    def test_a_topic_cannot_be_copied(self, keys: Keyspace) -> None:
        keys.topic_created(b"t")
        with pytest.raises(InvalidArgument):
            keys.copy(b"t", b"u")


def test_any_key_is_a_key_that_is_there(keys: Keyspace) -> None:
    assert keys.any_key(7) is None
    for number in range(10):
        keys.strings.set(b"%d" % number, b"v")
    keys.delete(b"3", b"4")
    found = {keys.any_key(number) for number in range(20)}
    assert found == {b"%d" % number for number in range(10) if number not in (3, 4)}


def test_setting_a_string_over_a_topic_removes_the_topic_also_if_the_expiry_stays(keys: Keyspace) -> None:
    removed: list[bytes] = []
    keys.on_topic_removed = removed.append
    keys.topic_created(b"t")
    keys.expire_at(b"t", keys.now_ms + 5)
    keys.strings.set(b"t", b"v", keep_ttl=True)
    assert removed == [b"t"]
    assert keys.strings.get(b"t") == b"v"
    assert keys.expiry(b"t") == keys.now_ms + 5
