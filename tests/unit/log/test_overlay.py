"""The overlay: everything a disk does, and nothing of it on the disk below."""

from random import Random

import pytest

from onemq.log.disk import Disk, write_whole
from onemq.log.overlay import Overlay
from tests.sim.disk import SimDisk
from tests.unit.log.helpers import content, overwrite


@pytest.fixture
def below() -> SimDisk:
    disk = SimDisk(Random(1))
    disk.make_folder("f/g")
    overwrite(disk, "a", b"0123456789")
    overwrite(disk, "f/b", b"b")
    return disk


@pytest.fixture
def overlay(below: SimDisk) -> Overlay:
    return Overlay(below)


def everything(disk: Disk) -> dict[str, bytes]:
    return {name: content(disk, name) for name in ("a", "f/b") if disk.exists(name)}


def test_what_lies_below_is_seen(overlay: Overlay, below: SimDisk) -> None:
    assert everything(overlay) == everything(below)
    assert overlay.list("") == ["a", "f"]
    assert overlay.list("f") == ["b", "g"]
    assert overlay.exists("f")
    assert not overlay.exists("x")
    assert overlay.free() == below.free()
    with pytest.raises(FileNotFoundError):
        overlay.open("x")


def test_appending_and_cutting_do_not_reach_below(overlay: Overlay, below: SimDisk) -> None:
    file = overlay.open("a")
    file.append([b"ab", b"c"])
    assert file.read(8, 10) == b"89abc"
    assert file.read(11, 1) == b"b"
    assert file.read(13, 5) == b""
    file.truncate(11)
    assert file.read(0, 100) == b"0123456789a"
    file.truncate(4)
    file.append([b"X"])
    assert overlay.open("a").read(0, 100) == b"0123X"
    assert file.read(2, 2) == b"23"
    assert file.size() == 5
    file.sync()
    file.close()
    assert content(below, "a") == b"0123456789"
    assert content(overlay, "a") == b"0123X"


def test_files_come_and_go(overlay: Overlay, below: SimDisk) -> None:
    overlay.open("n/new", create=True).append([b"n"])
    overlay.remove("a")
    overlay.remove("missing")
    overlay.rename("f/b", "f/c")
    assert overlay.list("") == ["f", "n"]
    assert overlay.list("f") == ["c", "g"]
    assert content(overlay, "f/c") == b"b"
    assert not overlay.exists("a")
    assert overlay.exists("n")
    with pytest.raises(FileNotFoundError):
        overlay.open("a", read_only=True)
    overlay.open("a", create=True).append([b"again"])
    assert content(overlay, "a") == b"again"
    overlay.remove_folder("f")
    assert overlay.list("f") == []
    assert everything(below) == {"a": b"0123456789", "f/b": b"b"}
    assert below.list("") == ["a", "f"]


def test_a_file_can_be_written_whole(overlay: Overlay, below: SimDisk) -> None:
    write_whole(overlay, "a", [b"other"])
    assert content(overlay, "a") == b"other"
    assert overlay.list("") == ["a", "f"]
    assert content(below, "a") == b"0123456789"


def test_a_file_that_is_cut_below_meanwhile_reads_short(overlay: Overlay, below: SimDisk) -> None:
    file = overlay.open("a")
    file.append([b"tail"])
    below.open("a").truncate(3)
    assert file.read(0, 100) == b"012"
