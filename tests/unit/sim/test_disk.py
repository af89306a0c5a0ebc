"""Crashes and faults of the simulated disk. Its everyday contract is in tests/unit/log/test_disk.py."""

import errno
from collections.abc import Callable
from random import Random

import pytest

from onemq.log.disk import Disk, write_whole
from tests.sim.disk import BLOCK_BYTES, Crash, SimDisk, SimFile

SEEDS = range(300)


def new_file(disk: SimDisk, path: str, content: bytes = b"") -> SimFile:
    """A file that is durable with this content."""
    file = disk.open(path, create=True)
    file.append([content])
    file.sync()
    disk.sync_folder(path.rpartition("/")[0])
    return file


def get(disk: Disk, path: str) -> bytes | None:
    if not disk.exists(path):
        return None
    file = disk.open(path, read_only=True)
    return file.read(0, file.size())


def outcomes(run: Callable[[SimDisk], object], *paths: str) -> set[tuple[bytes | None, ...]]:
    """What the files hold after the run and a crash, over many seeds."""
    found = set()
    for seed in SEEDS:
        disk = SimDisk(Random(seed))
        run(disk)
        disk.crash()
        found.add(tuple(get(disk, path) for path in paths))
    return found


# Content


def test_synced_bytes_survive_a_crash_whole() -> None:
    def run(disk: SimDisk) -> None:
        new_file(disk, "a", b"x" * 3000).append([b"y" * 3000])

    for (content,) in outcomes(run, "a"):
        assert content is not None
        assert content.startswith(b"x" * 3000)
        assert len(content) <= 6000


def test_unsynced_bytes_are_lost_kept_cut_anywhere_or_torn_by_blocks() -> None:
    def run(disk: SimDisk) -> None:
        new_file(disk, "a", b"x" * 100).append([b"y" * 2000])

    tails = {content[100:] for (content,) in outcomes(run, "a") if content is not None}
    assert b"" in tails
    assert b"y" * 2000 in tails
    assert any(tail == b"y" * len(tail) and len(tail) not in (0, 2000) for tail in tails)
    assert any(len(tail) == 2000 and b"\0" in tail for tail in tails)
    holes = [tail for tail in tails if b"\0" in tail[: tail.rfind(b"y")]]
    assert holes, "a later block may be there without an earlier one"
    for tail in tails:
        blocks = [tail[: BLOCK_BYTES - 100]]
        blocks += [tail[start : start + BLOCK_BYTES] for start in range(BLOCK_BYTES - 100, 2000, BLOCK_BYTES)]
        assert all(len(set(block)) <= 1 for block in blocks), "blocks are written whole"


def test_unsynced_bytes_over_reserved_zeros_are_there_or_zeros_by_blocks() -> None:
    def run(disk: SimDisk) -> None:
        file = new_file(disk, "f", b"safe")
        file.reserve(2 * BLOCK_BYTES)
        file.sync()
        file.append([b"safe too"])
        file.sync()
        file.append([b"x" * BLOCK_BYTES])

    found = {content for (content,) in outcomes(run, "f")}
    first = BLOCK_BYTES - len(b"safesafe too")
    parts = [(b"x" * first, bytes(first)), (b"x" * (BLOCK_BYTES - first), bytes(BLOCK_BYTES - first))]
    end = bytes(2 * BLOCK_BYTES + 4 - len(b"safesafe too") - BLOCK_BYTES)
    assert found == {b"safesafe too" + one + two + end for one in parts[0] for two in parts[1]}


def test_files_lose_their_unsynced_bytes_independently() -> None:
    def run(disk: SimDisk) -> None:
        first, second = new_file(disk, "a"), new_file(disk, "b")
        first.append([b"first"])
        second.append([b"second"])

    found = outcomes(run, "a", "b")
    assert {(b"first", b"second"), (b"first", b""), (b"", b"second"), (b"", b"")} <= found


def test_a_second_crash_loses_nothing_more() -> None:
    for seed in SEEDS:
        disk = SimDisk(Random(seed))
        new_file(disk, "a").append([b"y" * 2000])
        content = get(disk.crash(), "a")
        assert get(disk.crash(), "a") == content


def test_an_unsynced_truncation_may_be_undone() -> None:
    def run(disk: SimDisk) -> None:
        new_file(disk, "a", b"0123456789").truncate(4)

    found = outcomes(run, "a")
    assert {(b"0123456789",), (b"0123",)} <= found
    assert found <= {(b"0123456789",), (b"0123",), (b"0123\0\0\0\0\0\0",)}


def test_a_synced_truncation_stays() -> None:
    def run(disk: SimDisk) -> None:
        file = new_file(disk, "a", b"0123456789")
        file.truncate(6)
        file.truncate(4)
        file.sync()

    assert outcomes(run, "a") == {(b"0123",)}


def test_bytes_cut_and_bytes_appended_in_their_place_may_mix_by_blocks() -> None:
    def run(disk: SimDisk) -> None:
        file = new_file(disk, "a", b"o" * 4 * BLOCK_BYTES)
        file.truncate(BLOCK_BYTES)
        file.append([b"n" * 2 * BLOCK_BYTES])

    tails = {(content or b"")[BLOCK_BYTES:] for (content,) in outcomes(run, "a")}
    old, new = b"o" * BLOCK_BYTES, b"n" * BLOCK_BYTES
    assert {b"", old * 3, new * 2, new + old * 2, old + new + old, new * 2 + old} <= tails


def test_unsynced_bytes_that_were_cut_may_come_back() -> None:
    def run(disk: SimDisk) -> None:
        file = new_file(disk, "a", b"safe ")
        file.append([b"wrong"])
        file.truncate(5)

    found = outcomes(run, "a")
    assert {(b"safe ",), (b"safe wrong",)} <= found


# Folders


def test_a_file_created_without_a_folder_sync_may_vanish_though_it_was_synced() -> None:
    def run(disk: SimDisk) -> None:
        file = disk.open("a", create=True)
        file.append([b"content"])
        file.sync()

    assert outcomes(run, "a") == {(None,), (b"content",)}


def test_a_synced_creation_stays() -> None:
    def run(disk: SimDisk) -> None:
        disk.make_folder("one/two")
        new_file(disk, "one/two/a", b"content")

    assert outcomes(run, "one/two/a") == {(b"content",)}


def test_a_folder_is_durable_once_it_is_made_even_if_an_earlier_process_began_it() -> None:
    for seed in SEEDS:
        disk = SimDisk(Random(seed))
        disk.crash_after(1)
        with pytest.raises(Crash):
            disk.make_folder("one")
        disk.kill()
        disk.make_folder("one")
        assert disk.crash().exists("one")


def test_an_unsynced_removal_may_be_undone_with_the_content() -> None:
    def run(disk: SimDisk) -> None:
        new_file(disk, "a", b"content")
        disk.remove("a")

    def run_synced(disk: SimDisk) -> None:
        run(disk)
        disk.sync_folder("")

    assert outcomes(run, "a") == {(None,), (b"content",)}
    assert outcomes(run_synced, "a") == {(None,)}


def test_an_unsynced_rename_is_done_or_undone_as_a_whole() -> None:
    def run(disk: SimDisk) -> None:
        new_file(disk, "old", b"new")
        new_file(disk, "target", b"replaced")
        disk.rename("old", "target")

    assert outcomes(run, "old", "target") == {(None, b"new"), (b"new", b"replaced")}


def test_changes_of_one_folder_survive_in_order() -> None:
    def run(disk: SimDisk) -> None:
        new_file(disk, "a", b"a")
        disk.open("b", create=True)
        disk.rename("a", "c")
        disk.remove("b")

    assert outcomes(run, "a", "b", "c") == {
        (b"a", None, None),
        (b"a", b"", None),
        (None, b"", b"a"),
        (None, None, b"a"),
    }


def test_changes_of_two_folders_survive_independently() -> None:
    def run(disk: SimDisk) -> None:
        disk.make_folder("one")
        disk.make_folder("two")
        disk.open("one/a", create=True)
        disk.open("two/b", create=True)

    found = outcomes(run, "one/a", "two/b")
    assert found == {(None, None), (None, b""), (b"", None), (b"", b"")}


def test_an_unsynced_rename_between_folders_may_be_seen_in_either() -> None:
    def run(disk: SimDisk) -> None:
        disk.make_folder("one")
        disk.make_folder("two")
        new_file(disk, "one/a", b"content")
        disk.rename("one/a", "two/a")

    content = b"content"
    found = outcomes(run, "one/a", "two/a")
    assert found == {(content, None), (None, content), (content, content), (None, None)}


def test_a_folder_removed_without_a_sync_may_come_back_with_part_of_its_files() -> None:
    def run(disk: SimDisk) -> None:
        disk.make_folder("one")
        new_file(disk, "one/a", b"a")
        new_file(disk, "one/b", b"b")
        disk.remove_folder("one")

    found = outcomes(run, "one/a", "one/b")
    assert found == {(None, None), (b"a", None), (None, b"b"), (b"a", b"b")}


# The moment of the crash


def busy(disk: SimDisk) -> None:
    """One mutating operation of each kind."""
    file = disk.open("a", create=True)
    file.append([b"0123456789"])
    file.sync()
    file.truncate(5)
    disk.rename("a", "b")
    disk.remove("b")
    disk.make_folder("one")  # two operations: make it, and sync the folder above
    disk.sync_folder("")


def test_every_mutating_operation_is_counted_and_can_be_the_last() -> None:
    disk = SimDisk(Random(0))
    busy(disk)
    assert disk.operations == 9
    for operations in range(1, 10):
        disk = SimDisk(Random(operations))
        disk.crash_after(operations)
        with pytest.raises(Crash):
            busy(disk)
        assert disk.operations == operations
        assert disk.crashed
        disk.crash()
        assert not disk.crashed
    disk = SimDisk(Random(0))
    disk.crash_after(10)
    busy(disk)


def test_after_the_crash_every_call_raises_until_it_is_settled() -> None:
    disk = SimDisk(Random(0))
    file = new_file(disk, "a", b"content")
    disk.crash_after(1)
    with pytest.raises(Crash):
        file.sync()
    calls: list[Callable[[], object]] = [
        lambda: file.append([b""]),
        lambda: file.read(0, 1),
        file.size,
        lambda: file.truncate(0),
        file.sync,
        lambda: disk.open("a"),
        lambda: disk.exists("a"),
        lambda: disk.list(""),
        lambda: disk.make_folder("b"),
        lambda: disk.rename("a", "b"),
        lambda: disk.remove("a"),
        lambda: disk.remove_folder("a"),
        lambda: disk.sync_folder(""),
        disk.free,
    ]
    for call in calls:
        with pytest.raises(Crash):
            call()
    file.close()
    assert get(disk.crash(), "a") == b"content"


@pytest.mark.parametrize("restart", [SimDisk.crash, SimDisk.kill])
def test_handles_of_before_a_restart_are_dead(restart: Callable[[SimDisk], SimDisk]) -> None:
    disk = SimDisk(Random(0))
    file = new_file(disk, "a", b"content")
    restart(disk)
    with pytest.raises(Crash):
        file.append([b"from the grave"])
    with pytest.raises(Crash):
        file.read(0, 1)
    assert get(disk, "a") == b"content"


def test_an_operation_that_crashes_may_have_been_done() -> None:
    found = set()
    for seed in SEEDS:
        disk = SimDisk(Random(seed))
        new_file(disk, "a", b"content")
        disk.crash_after(1)
        with pytest.raises(Crash):
            disk.rename("a", "b")
        found.add(tuple(disk.kill().list("")))
    assert found == {("a",), ("b",)}


def test_a_sync_that_crashes_may_have_made_the_bytes_safe() -> None:
    found = set()
    for seed in SEEDS:
        disk = SimDisk(Random(seed))
        file = new_file(disk, "a")
        file.append([b"y" * 5000])
        disk.crash_after(1)
        with pytest.raises(Crash):
            file.sync()
        found.add(get(disk.crash(), "a"))
    assert {b"", b"y" * 5000} < found


def test_a_killed_process_keeps_what_it_wrote_and_part_of_the_append_under_way() -> None:
    found = set()
    for seed in SEEDS:
        disk = SimDisk(Random(seed))
        file = disk.open("a", create=True)
        file.append([b"written "])
        disk.crash_after(1)
        with pytest.raises(Crash):
            file.append([b"under", b"way"])
        found.add(get(disk.kill(), "a"))
    assert {b"written ", b"written underway"} < found
    assert all(content is not None and b"written underway".startswith(content) for content in found)


def test_what_a_killed_process_wrote_is_still_unsynced() -> None:
    def run(disk: SimDisk) -> None:
        new_file(disk, "a").append([b"content"])
        disk.kill()

    assert {(b"",), (b"content",)} <= outcomes(run, "a")


def test_write_whole_is_all_or_nothing_whenever_it_crashes() -> None:
    old, new = b"old" * 500, b"new" * 700
    found = set()
    for seed in SEEDS:
        disk = SimDisk(Random(seed))
        write_whole(disk, "a", [old])
        disk.crash_after(1 + seed % 6)
        try:
            write_whole(disk, "a", [new])
            expected = {new}
        except Crash:
            expected = {old, new}
        content = get(disk.crash() if seed % 7 else disk.kill(), "a")
        assert content in expected, seed
        found.add(content)
        write_whole(disk, "a", [b"after"])
        assert get(disk.crash(), "a") == b"after"
    assert found == {old, new}


def test_the_same_seed_crashes_in_the_same_way() -> None:
    def state(seed: int) -> list[bytes | None]:
        disk = SimDisk(Random(seed))
        for number in range(5):
            disk.open(f"{number}", create=True).append([b"y" * 2000])
        disk.crash()
        return [get(disk, f"{number}") for number in range(5)]

    assert [state(seed) for seed in range(20)] == [state(seed) for seed in range(20)]


# Faults


def test_a_full_disk_refuses_an_append_maybe_after_a_prefix() -> None:
    sizes = set()
    for seed in SEEDS:
        disk = SimDisk(Random(seed), limit_bytes=100)
        file = disk.open("a", create=True)
        file.append([b"x" * 60])
        assert disk.free() == (40, 100)
        with pytest.raises(OSError, match="No space") as raised:
            file.append([b"y" * 41])
        assert raised.value.errno == errno.ENOSPC
        assert disk.free() == (100 - file.size(), 100)
        sizes.add(file.size())
    assert {60, 100} < sizes
    assert max(sizes) == 100


def test_removing_truncating_and_raising_the_limit_make_room() -> None:
    disk = SimDisk(Random(0), limit_bytes=100)
    first, second = disk.open("a", create=True), disk.open("b", create=True)
    first.append([b"x" * 50])
    second.append([b"y" * 50])
    assert disk.free() == (0, 100)
    second.truncate(10)
    assert disk.free() == (40, 100)
    disk.remove("a")
    assert disk.free() == (90, 100)
    disk.limit_bytes = 1000
    second.append([b"z" * 900])
    assert disk.free() == (90, 1000)


def test_write_whole_on_a_full_disk_keeps_the_old_content_and_gives_the_space_back() -> None:
    disk = SimDisk(Random(0), limit_bytes=100)
    write_whole(disk, "a", [b"x" * 60])
    with pytest.raises(OSError, match="No space"):
        write_whole(disk, "a", [b"y" * 60])
    assert disk.list("") == ["a"]
    assert get(disk, "a") == b"x" * 60


def test_the_next_operation_of_a_kind_fails_as_asked() -> None:
    disk = SimDisk(Random(0))
    file = new_file(disk, "a", b"content")
    disk.fail_next("truncate", errno.EIO)
    disk.fail_next("rename", errno.EROFS)
    disk.fail_next("read", errno.EIO)
    disk.fail_next("read", errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        file.truncate(0)
    with pytest.raises(OSError, match="Read-only"):
        disk.rename("a", "b")
    for _ in range(2):
        with pytest.raises(OSError, match="Input/output"):
            file.read(0, 7)
    assert file.read(0, 7) == b"content"
    file.truncate(0)
    disk.rename("a", "b")


def test_a_failed_append_may_leave_a_prefix() -> None:
    found = set()
    for seed in SEEDS:
        disk = SimDisk(Random(seed))
        file = disk.open("a", create=True)
        disk.fail_next("append", errno.EIO)
        with pytest.raises(OSError, match="Input/output"):
            file.append([b"0123", b"456789"])
        found.add(file.read(0, 100))
    assert {b"", b"0123456789"} < found
    assert all(b"0123456789".startswith(content) for content in found)


def test_bytes_of_a_failed_sync_may_be_lost_though_a_later_sync_succeeds() -> None:
    def run(disk: SimDisk) -> None:
        file = new_file(disk, "a", b"x" * BLOCK_BYTES)
        file.append([b"y" * 2 * BLOCK_BYTES])
        disk.fail_next("sync", errno.EIO)
        with pytest.raises(OSError, match="Input/output"):
            file.sync()
        file.append([b"z" * BLOCK_BYTES])
        file.sync()
        assert file.read(BLOCK_BYTES, 1) == b"y"

    found = {content for (content,) in outcomes(run, "a") if content is not None}
    before, lost, kept, after = (byte * BLOCK_BYTES for byte in (b"x", b"\0", b"y", b"z"))
    assert found == {before + first + second + after for first in (kept, lost) for second in (kept, lost)}


def test_damage_to_synced_data_stays() -> None:
    disk = SimDisk(Random(0))
    for path in ("flipped", "cut", "lost"):
        new_file(disk, path, b"0123456789")
    disk.flip_bit("flipped", 3)
    disk.cut("cut", 4)
    disk.lose("lost")
    disk.crash()
    flipped = get(disk, "flipped")
    assert flipped is not None
    difference = [left ^ right for left, right in zip(flipped, b"0123456789", strict=True)]
    assert [index for index, bits in enumerate(difference) if bits] == [3]
    assert difference[3].bit_count() == 1
    assert get(disk, "cut") == b"0123"
    assert list(disk.files()) == ["cut", "flipped"]
