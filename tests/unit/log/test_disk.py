"""The contract of `Disk` and `File`, for the real and the simulated disk, and what only the real one does."""

import errno
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest

from onemq.log.disk import BUFFERS_PER_WRITE_MAX, Buffer, Disk, OsDisk, write_whole
from tests.sim.disk import SimDisk

MAKERS: dict[str, Callable[[Path], Disk]] = {
    "operating system": OsDisk,
    "simulated": lambda _: SimDisk(Random(1)),
}


@pytest.fixture(params=MAKERS)
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Disk:
    return MAKERS[request.param](tmp_path)


@pytest.fixture
def os_disk(tmp_path: Path) -> OsDisk:
    return OsDisk(tmp_path)


def put(disk: Disk, path: str, *parts: Buffer) -> None:
    file = disk.open(path, create=True)
    file.append(parts)
    file.close()


def get(disk: Disk, path: str) -> bytes:
    file = disk.open(path, read_only=True)
    content = file.read(0, file.size() + 1)
    file.close()
    return content


# Files


def test_parts_are_appended_in_order_at_the_end(disk: Disk) -> None:
    file = disk.open("a", create=True)
    file.append([b"one", bytearray(b"two"), memoryview(b"three")])
    file.append((b"", b"four"))
    assert file.read(0, 100) == b"onetwothreefour"
    assert file.size() == 15


def test_appending_no_parts_changes_nothing(disk: Disk) -> None:
    file = disk.open("a", create=True)
    file.append([])
    file.append([b""])
    assert file.size() == 0


def test_more_parts_than_the_system_takes_at_once_are_appended_by_one_call(disk: Disk) -> None:
    parts = [b"%d," % number for number in range(2 * BUFFERS_PER_WRITE_MAX + 10)]
    file = disk.open("a", create=True)
    file.append(parts)
    assert file.read(0, file.size()) == b"".join(parts)


def test_a_buffer_may_be_changed_once_it_has_been_appended(disk: Disk) -> None:
    buffer = bytearray(b"first")
    file = disk.open("a", create=True)
    file.append([buffer])
    buffer[:] = b"other, longer"
    assert get(disk, "a") == b"first"


def test_a_read_is_short_only_at_the_end_of_the_file(disk: Disk) -> None:
    put(disk, "a", b"0123456789")
    file = disk.open("a")
    assert file.read(2, 3) == b"234"
    assert file.read(8, 5) == b"89"
    assert file.read(10, 5) == b""
    assert file.read(99, 5) == b""
    assert file.read(3, 0) == b""


def test_an_append_after_a_truncation_starts_at_the_cut(disk: Disk) -> None:
    file = disk.open("a", create=True)
    file.append([b"0123456789"])
    file.truncate(4)
    assert file.size() == 4
    file.append([b"x"])
    assert file.read(0, 100) == b"0123x"


def test_appends_go_over_reserved_zeros(disk: Disk) -> None:
    file = disk.open("file", create=True)
    file.append([b"one"])
    file.reserve(5)
    assert get(disk, "file") == b"one\0\0\0\0\0"
    assert file.size() == 8
    file.append([b"t", b"wo"])
    assert get(disk, "file") == b"onetwo\0\0"
    file.reserve(4)
    assert get(disk, "file") == b"onetwo\0\0\0\0"
    file.append([b"three", b"", b"four"])
    file.append([b"."])
    assert get(disk, "file") == b"onetwothreefour."
    file.reserve(2)
    assert get(disk, "file") == b"onetwothreefour.\0\0"


def test_a_truncation_takes_reserved_zeros_along(disk: Disk) -> None:
    file = disk.open("file", create=True)
    file.append([b"one"])
    file.reserve(5)
    file.append([b"two"])
    file.truncate(3)
    assert get(disk, "file") == b"one"
    file.append([b"three"])
    assert get(disk, "file") == b"onethree"


def test_an_append_goes_to_the_end_that_another_handle_made(disk: Disk) -> None:
    first = disk.open("a", create=True)
    first.append([b"0123456789"])
    second = disk.open("a")
    second.append([b"AB"])
    second.truncate(11)
    first.append([b"-"])
    assert second.size() == 12
    assert second.read(9, 100) == b"9A-"


def test_a_reader_sees_what_is_appended_after_it_was_opened(disk: Disk) -> None:
    writer = disk.open("a", create=True)
    reader = disk.open("a", read_only=True)
    assert reader.read(0, 10) == b""
    writer.append([b"new"])
    assert reader.size() == 3
    assert reader.read(0, 10) == b"new"


def test_a_read_only_file_is_not_changed(disk: Disk) -> None:
    put(disk, "a", b"kept")
    file = disk.open("a", read_only=True)
    with pytest.raises(OSError, match="Bad file descriptor"):
        file.append([b"x"])
    with pytest.raises(OSError, match="Invalid argument"):
        file.truncate(0)
    assert file.read(0, 10) == b"kept"


def test_a_sync_leaves_the_content_alone(disk: Disk) -> None:
    file = disk.open("a", create=True)
    file.append([b"data"])
    file.sync()
    assert file.read(0, 10) == b"data"


def test_a_closed_file_is_not_used_by_mistake(disk: Disk) -> None:
    file = disk.open("a", create=True)
    file.close()
    file.close()
    other = disk.open("b", create=True)
    with pytest.raises(OSError, match="Bad file descriptor"):
        file.append([b"x"])
    with pytest.raises(OSError, match="Bad file descriptor"):
        file.read(0, 1)
    assert other.size() == 0


# The folder


def test_opening_an_absent_file_says_so(disk: Disk) -> None:
    with pytest.raises(FileNotFoundError):
        disk.open("absent")
    with pytest.raises(FileNotFoundError):
        disk.open("absent", read_only=True)
    with pytest.raises(FileNotFoundError):
        disk.open("no/folder", create=True)
    assert disk.list("") == []


def test_opening_an_existing_file_with_create_keeps_its_content(disk: Disk) -> None:
    put(disk, "a", b"first ")
    put(disk, "a", b"second")
    assert get(disk, "a") == b"first second"


def test_files_and_folders_exist_where_they_were_made(disk: Disk) -> None:
    disk.make_folder("one/two")
    put(disk, "one/two/a", b"")
    assert disk.exists("")
    assert disk.exists("one/two")
    assert disk.exists("one/two/a")
    assert not disk.exists("one/a")
    assert not disk.exists("none/a")
    assert not disk.exists("one/two/a/below")


def test_names_are_listed_sorted(disk: Disk) -> None:
    disk.make_folder("folder/b")
    put(disk, "folder/c", b"")
    put(disk, "folder/a", b"")
    assert disk.list("folder") == ["a", "b", "c"]
    assert disk.list("") == ["folder"]
    assert disk.list("folder/b") == []
    assert disk.list("absent") == []
    with pytest.raises(NotADirectoryError):
        disk.list("folder/a")


def test_making_a_folder_again_keeps_what_is_in_it(disk: Disk) -> None:
    disk.make_folder("one")
    put(disk, "one/a", b"kept")
    disk.make_folder("one")
    disk.make_folder("one/two")
    disk.make_folder("")
    assert get(disk, "one/a") == b"kept"


def test_a_folder_is_not_made_in_place_of_a_file(disk: Disk) -> None:
    put(disk, "a", b"kept")
    with pytest.raises(FileExistsError):
        disk.make_folder("a")
    with pytest.raises(FileExistsError):
        disk.make_folder("a/below")
    assert get(disk, "a") == b"kept"


def test_a_rename_replaces_the_file_of_that_name(disk: Disk) -> None:
    put(disk, "old", b"new content")
    put(disk, "target", b"old content, longer")
    disk.rename("old", "target")
    assert disk.list("") == ["target"]
    assert get(disk, "target") == b"new content"


def test_a_rename_moves_between_folders(disk: Disk) -> None:
    disk.make_folder("one/inner")
    disk.make_folder("two")
    put(disk, "one/inner/a", b"content")
    disk.rename("one/inner/a", "two/b")
    assert get(disk, "two/b") == b"content"
    disk.rename("two", "one/inner/two")
    assert get(disk, "one/inner/two/b") == b"content"
    assert disk.list("") == ["one"]


def test_a_rename_to_its_own_name_keeps_the_file(disk: Disk) -> None:
    put(disk, "a", b"kept")
    disk.rename("a", "a")
    assert get(disk, "a") == b"kept"


def test_a_rename_that_cannot_be_done_changes_nothing(disk: Disk) -> None:
    put(disk, "file", b"kept")
    disk.make_folder("empty")
    disk.make_folder("full/inner")
    with pytest.raises(FileNotFoundError):
        disk.rename("absent", "file")
    with pytest.raises(FileNotFoundError):
        disk.rename("file", "no/folder")
    with pytest.raises(IsADirectoryError):
        disk.rename("file", "empty")
    with pytest.raises(NotADirectoryError):
        disk.rename("empty", "file")
    with pytest.raises(OSError, match="not empty"):
        disk.rename("empty", "full")
    assert disk.list("") == ["empty", "file", "full"]
    assert get(disk, "file") == b"kept"


def test_a_handle_follows_its_file_through_rename_and_removal(disk: Disk) -> None:
    file = disk.open("a", create=True)
    file.append([b"one"])
    disk.rename("a", "b")
    file.append([b"two"])
    assert get(disk, "b") == b"onetwo"
    disk.remove("b")
    assert not disk.exists("b")
    assert file.read(0, 10) == b"onetwo"


def test_removing_what_is_absent_is_fine(disk: Disk) -> None:
    disk.remove("absent")
    disk.remove("no/folder")
    disk.remove_folder("absent")
    disk.remove_folder("no/folder")
    assert not disk.exists("absent")
    assert not disk.exists("no/folder")


def test_remove_takes_files_only_and_remove_folder_folders_only(disk: Disk) -> None:
    disk.make_folder("folder")
    put(disk, "file", b"")
    with pytest.raises(IsADirectoryError):
        disk.remove("folder")
    with pytest.raises(NotADirectoryError):
        disk.remove_folder("file")
    assert disk.list("") == ["file", "folder"]


def test_a_folder_is_removed_with_all_within(disk: Disk) -> None:
    disk.make_folder("one/two/three")
    put(disk, "one/a", b"a")
    put(disk, "one/two/three/b", b"b")
    put(disk, "kept", b"c")
    disk.remove_folder("one")
    assert disk.list("") == ["kept"]
    disk.make_folder("one")
    assert disk.list("one") == []


def test_a_folder_can_be_synced_and_an_absent_one_cannot(disk: Disk) -> None:
    disk.make_folder("one")
    disk.sync_folder("one")
    disk.sync_folder("")
    with pytest.raises(FileNotFoundError):
        disk.sync_folder("absent")


def test_free_space_is_part_of_all_space(disk: Disk) -> None:
    free, total = disk.free()
    assert 0 < free <= total


# Whole files


def test_write_whole_makes_and_replaces_a_file(disk: Disk) -> None:
    disk.make_folder("one")
    for path in ("a", "one/a"):
        write_whole(disk, path, [b"first, ", b"longer"])
        write_whole(disk, path, [b"second"])
        assert get(disk, path) == b"second"
    assert disk.list("one") == ["a"]


def test_write_whole_does_not_mind_what_a_crash_left_behind(disk: Disk) -> None:
    put(disk, "a.tmp", b"half of an earlier and longer version")
    write_whole(disk, "a", [b"content"])
    assert get(disk, "a") == b"content"
    assert disk.list("") == ["a"]


# Only of the operating system


def test_partial_writes_are_continued(os_disk: OsDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(3)
    writev = os.writev

    def write_a_part(descriptor: int, parts: Sequence[Buffer]) -> int:
        whole = b"".join(parts)
        return writev(descriptor, [whole[: random.randint(1, min(len(whole), 40))]])

    monkeypatch.setattr(os, "writev", write_a_part)
    parts = [random.randbytes(random.choice((0, 1, 10, 100))) for _ in range(300)]
    file = os_disk.open("a", create=True)
    file.append(parts)
    file.append([b"", b"end", b""])
    assert file.read(0, 100_000) == b"".join(parts) + b"end"


def test_a_disk_that_takes_nothing_is_an_error_and_no_endless_loop(
    os_disk: OsDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "writev", lambda descriptor, parts: 0)
    with pytest.raises(OSError, match="took none"):
        os_disk.open("a", create=True).append([b"data"])


def test_short_reads_before_the_end_are_continued(os_disk: OsDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda file, size, start: pread(file, min(size, 3), start))
    put(os_disk, "a", b"0123456789")
    file = os_disk.open("a")
    assert file.read(0, 10) == b"0123456789"
    assert file.read(5, 100) == b"56789"
    assert file.read(1, 3) == b"123"


def test_a_missing_data_folder_is_made_with_those_above_it(tmp_path: Path) -> None:
    disk = OsDisk(tmp_path / "srv" / "onemq")
    assert disk.list("") == []
    assert not disk.exists("")
    disk.make_folder("topics")
    assert (tmp_path / "srv" / "onemq" / "topics").is_dir()


def test_every_new_folder_is_synced_in_its_parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
    )
    OsDisk(tmp_path / "data").make_folder("one/two")
    assert synced == [str(tmp_path), str(tmp_path / "data"), str(tmp_path / "data/one")]


def test_files_and_folders_are_private(os_disk: OsDisk, tmp_path: Path) -> None:
    os_disk.make_folder("one")
    put(os_disk, "one/a", b"")
    assert stat.S_IMODE((tmp_path / "one").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "one" / "a").stat().st_mode) == 0o600


def test_the_data_folder_stays_where_it_was_when_the_process_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    disk = OsDisk("data")
    disk.make_folder("")
    monkeypatch.chdir("/")
    put(disk, "a", b"here")
    assert (tmp_path / "data" / "a").read_bytes() == b"here"


def test_what_cannot_be_looked_up_is_not_taken_for_absent(os_disk: OsDisk) -> None:
    with pytest.raises(OSError, match="too long"):
        os_disk.exists("a" * 10_000)


def test_a_file_system_that_cannot_sync_folders_is_accepted_and_other_errors_are_not(
    os_disk: OsDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_with(code: int) -> Callable[[int], None]:
        def fsync(descriptor: int) -> None:
            raise OSError(code, os.strerror(code))

        return fsync

    monkeypatch.setattr(os, "fsync", fail_with(errno.EINVAL))
    os_disk.sync_folder("")
    monkeypatch.setattr(os, "fsync", fail_with(errno.EIO))
    with pytest.raises(OSError, match="Input/output"):
        os_disk.sync_folder("")


def test_a_file_system_that_takes_no_advice_does_no_harm(os_disk: OsDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> None:
        raise OSError(errno.EINVAL, "no advice here")

    monkeypatch.setattr(os, "posix_fadvise", refuse, raising=False)
    file = os_disk.open("a", create=True)
    file.append([b"one"])
    file.let_go(0, 3)
    file.sync()
    assert file.read(0, 3) == b"one"
