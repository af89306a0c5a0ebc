"""The data folder: its lock, its format, and what else may lie in it."""

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from onemq.errors import FolderError
from onemq.log import folder
from onemq.log.disk import OsDisk
from onemq.log.folder import FolderLock, check_format, id_of, is_in_use, prepare
from tests.process import may_write, obey_file_modes
from tests.sim.disk import Crash, SimDisk


def test_the_lock_makes_the_folder_and_keeps_others_out(tmp_path: Path) -> None:
    root = tmp_path / "a" / "b"
    lock = FolderLock(root)
    lock.take()
    assert is_in_use(root)
    with pytest.raises(FolderError, match="in use by another OneMQ"):
        FolderLock(root).take()
    lock.release()
    assert not is_in_use(root)
    other = FolderLock(root)
    other.take()
    other.release()
    other.release()


def test_a_folder_nobody_uses_is_not_in_use(tmp_path: Path) -> None:
    assert not is_in_use(tmp_path)
    assert not is_in_use(tmp_path / "missing")
    assert list(tmp_path.iterdir()) == []


def test_the_lock_goes_with_the_process(tmp_path: Path) -> None:
    code = f"from onemq.log.folder import *; lock = FolderLock(Path({str(tmp_path)!r})); lock.take()"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert (tmp_path / "lock").exists()
    lock = FolderLock(tmp_path)
    lock.take()
    lock.release()


def test_the_data_has_an_id_that_stays(tmp_path: Path) -> None:
    disk = OsDisk(tmp_path)
    prepare(disk)
    first, other = b"f" * 16, b"o" * 16
    assert id_of(disk, other, keep=False) == other
    assert id_of(disk, first, keep=True) == first
    assert id_of(disk, other, keep=True) == first
    check_format(disk)


def test_an_id_that_cannot_be_written_is_told_all_the_same() -> None:
    disk = SimDisk(Random(1))
    prepare(disk)
    disk.limit_bytes = 0
    assert id_of(disk, b"f" * 16, keep=True) == b"f" * 16
    check_format(disk)


@pytest.mark.parametrize("id", ["", "f" * 31, "F" * 32, 7, None])
def test_an_id_that_is_none_is_damage(tmp_path: Path, id: object) -> None:
    (tmp_path / "onemq.json").write_text(json.dumps({"format": 1, "id": id}))
    with pytest.raises(FolderError, match="is damaged"):
        check_format(OsDisk(tmp_path))


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(FolderError, match="choose another one with --data"):
        FolderLock(tmp_path / "file" / "data").take()


def test_a_folder_without_rights_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    if may_write(tmp_path):
        pytest.skip("root cannot give up its rights here")
    code = f"from onemq.log.folder import *; FolderLock(Path({str(tmp_path)!r})).take()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, preexec_fn=obey_file_modes
    )
    assert "FolderError" in done.stderr
    assert "Permission denied; give it rights" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_new_folder_is_prepared_once(tmp_path: Path) -> None:
    disk = OsDisk(tmp_path)
    check_format(disk)
    prepare(disk)
    assert {path.name for path in tmp_path.iterdir()} == {"journal", "snapshots", "topics", "onemq.json"}
    check_format(disk)
    prepare(disk)


def test_a_crash_while_preparing_leaves_a_folder_that_can_be_prepared() -> None:
    for seed in range(100):
        disk = SimDisk(Random(seed))
        disk.crash_after(seed % 11 + 1)
        with suppress(Crash):
            prepare(disk)
        disk.crash()
        check_format(disk)
        prepare(disk)
        check_format(disk)
        assert [disk.exists(name) for name in folder.FOLDERS] == [True] * 3


def test_a_newer_format_is_refused_and_nothing_is_touched(tmp_path: Path) -> None:
    (tmp_path / "onemq.json").write_text('{"format": 2}')
    with pytest.raises(FolderError, match="format 2, newer than this OneMQ reads"):
        check_format(OsDisk(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["onemq.json"]


@pytest.mark.parametrize("text", ["", "hello", "[]", "{}", '{"format": "x"}', '{"format": null}'])
def test_a_damaged_format_file_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "onemq.json").write_text(text)
    with pytest.raises(FolderError, match=r"onemq\.json is damaged"):
        check_format(OsDisk(tmp_path))


def test_a_folder_with_strangers_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.doc").write_text("important")
    with pytest.raises(FolderError, match=r"not OneMQ's \(thesis\.doc\)"):
        check_format(OsDisk(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.doc"]


@pytest.mark.parametrize("name", ["lock", "lost+found", "journal", "onemq.json.tmp"])
def test_what_a_crash_or_a_file_system_leaves_is_no_stranger(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    check_format(OsDisk(tmp_path))
