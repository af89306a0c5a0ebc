"""Snapshots: whole or not there."""

import errno
from random import Random
from struct import pack

import msgspec
import pytest
from crc32c import crc32c

from onemq.errors import FolderError
from onemq.log import snapshot
from tests.sim.disk import Crash, SimDisk
from tests.unit.log.helpers import content, flip, overwrite

TOPICS = [[1, "orders", 1, 1000, 0, [[0, 5, [["topics/orders~1/0-0.log", [0, 99, 5, 1, 2]]]]]]]


@pytest.fixture
def disk() -> SimDisk:
    made = SimDisk(Random(1))
    made.make_folder("snapshots")
    return made


def test_a_snapshot_comes_back(disk: SimDisk) -> None:
    snapshot.write(disk, 7, TOPICS, [b"state"])
    assert snapshot.read(disk, 7) == snapshot.Snapshot(7, TOPICS, b"state")


def test_a_state_in_pieces_is_their_sum_and_is_written_with_rests_in_between(disk: SimDisk) -> None:
    state = [b"a", b"", *(bytes([number]) * 40_000 for number in range(20)), b"z"]
    rests: list[int] = []
    size = snapshot.write(disk, 7, TOPICS, iter(state), lambda: rests.append(1))
    assert size == len(content(disk, snapshot.path_of(7)))
    assert len(rests) > 5
    assert snapshot.read(disk, 7) == snapshot.Snapshot(7, TOPICS, b"".join(state))


def test_a_snapshot_of_version_1_is_read(disk: SimDisk) -> None:
    body = msgspec.msgpack.encode([TOPICS, b"state"])
    overwrite(disk, snapshot.path_of(7), pack(">4sIQI", b"OMQS", 1, 7, crc32c(body)) + body)
    assert snapshot.read(disk, 7) == snapshot.Snapshot(7, TOPICS, b"state")
    flip(disk, snapshot.path_of(7), 30)
    assert snapshot.read(disk, 7) is None


def test_snapshots_are_listed_in_order_without_strangers(disk: SimDisk) -> None:
    for sequence in (30, 4, 100):
        snapshot.write(disk, sequence, [], [b""])
    for name in ("x.snapshot", f"{5:020d}.snapshot.tmp", "5.snapshot"):
        overwrite(disk, f"snapshots/{name}", b"")
    assert snapshot.list_files(disk) == [4, 30, 100]


def test_all_but_the_two_newest_are_removed(disk: SimDisk) -> None:
    assert snapshot.remove_old(disk) == 0
    for sequence in (1, 2, 3, 4):
        snapshot.write(disk, sequence, [], [b""])
    assert snapshot.remove_old(disk) == 3
    assert snapshot.list_files(disk) == [3, 4]
    assert snapshot.remove_old(disk) == 3


def test_a_flipped_bit_anywhere_but_in_the_version_is_noticed(disk: SimDisk) -> None:
    snapshot.write(disk, 7, TOPICS, [b"state" * 10])
    path = snapshot.path_of(7)
    for position in range(len(content(disk, path))):
        if 4 <= position < 8:
            continue
        flip(disk, path, position)
        assert snapshot.read(disk, 7) is None, position
        flip(disk, path, position)
    assert snapshot.read(disk, 7) is not None


def test_a_cut_snapshot_is_noticed(disk: SimDisk) -> None:
    snapshot.write(disk, 7, TOPICS, [b"state"])
    data = content(disk, snapshot.path_of(7))
    for size in range(len(data)):
        overwrite(disk, snapshot.path_of(7), data[:size])
        assert snapshot.read(disk, 7) is None


def test_trailing_bytes_are_noticed(disk: SimDisk) -> None:
    snapshot.write(disk, 7, TOPICS, [b"state"])
    overwrite(disk, snapshot.path_of(7), content(disk, snapshot.path_of(7)) + b"\0")
    assert snapshot.read(disk, 7) is None


def test_a_newer_format_is_refused(disk: SimDisk) -> None:
    snapshot.write(disk, 7, TOPICS, [b"state"])
    data = bytearray(content(disk, snapshot.path_of(7)))
    data[7] = 9
    overwrite(disk, snapshot.path_of(7), bytes(data))
    with pytest.raises(FolderError, match="format 9, newer than this OneMQ reads"):
        snapshot.read(disk, 7)


def test_a_crash_while_writing_leaves_the_snapshot_whole_or_not_there() -> None:
    outcomes = set()
    for seed in range(200):
        disk = SimDisk(Random(seed))
        disk.make_folder("snapshots")
        disk.crash_after(seed % 6 + 1)
        try:
            snapshot.write(disk, 3, TOPICS, [bytes(2000)])
            done = True
        except Crash:
            done = False
        disk.crash()
        there = snapshot.list_files(disk) == [3]
        outcomes.add(there)
        assert there or not done
        assert not there or snapshot.read(disk, 3) == snapshot.Snapshot(3, TOPICS, bytes(2000))
    assert outcomes == {True, False}


def test_a_full_disk_leaves_no_temporary_file(disk: SimDisk) -> None:
    disk.fail_next("append", errno.ENOSPC)
    with pytest.raises(OSError, match="No space"):
        snapshot.write(disk, 3, TOPICS, [b"state"])
    assert disk.list("snapshots") == []
