"""A partition: which segment a batch goes to, and undoing. Reading and trimming are in test_contract.py."""

from collections.abc import Sequence
from random import Random

import pytest

from onemq.errors import OffsetOutOfRange
from onemq.log.batch import walk
from onemq.log.batch_builder import BatchBuilder
from onemq.log.behind import WriteBehind
from onemq.log.disk import Buffer
from onemq.log.openfiles import OpenFiles
from onemq.log.partition import RELATIVE_OFFSET_MAX, Partition
from onemq.log.records import NO_HEADERS, decode
from tests.sim.disk import SimDisk, SimFile
from tests.unit.log.helpers import sealed


@pytest.fixture
def disk() -> SimDisk:
    made = SimDisk(Random(1))
    made.make_folder("t")
    return made


@pytest.fixture
def partition(disk: SimDisk) -> Partition:
    made = Partition(OpenFiles(disk, 10), WriteBehind(300), "t", 2, 200)
    made.segment_bytes = 500
    return made


def append(partition: Partition, *values: bytes, timestamp_ms: int = 1000, base: int | None = None) -> None:
    base = partition.end if base is None else base
    partition.append(sealed(base, values, timestamp_ms), may_wait=True)


def offsets(partition: Partition) -> list[int]:
    offset, found = partition.start, list[int]()
    while data := partition.read(offset, 1 << 20):
        found += [record[0] for position, header in walk(data) for record in decode(data, position, header)]
        offset = found[-1] + 1
    return found


def bases(partition: Partition) -> list[int]:
    return [segment.base for segment in partition.segments]


def test_files_are_named_after_the_partition_and_the_first_offset(partition: Partition, disk: SimDisk) -> None:
    append(partition, b"x")
    assert disk.list("t") == ["2-00000000000000000000.log"]
    assert partition.path(7, 3) == "t/2-00000000000000000007.c3.log"


def test_a_full_segment_is_followed_by_a_new_one(partition: Partition) -> None:
    for _ in range(12):
        append(partition, bytes(100))
    assert bases(partition) == [0, 2, 4, 6, 8, 10]
    assert offsets(partition) == list(range(12))


def test_a_batch_larger_than_a_segment_gets_its_own(partition: Partition) -> None:
    append(partition, b"x")
    append(partition, bytes(5000))
    append(partition, b"x")
    assert bases(partition) == [0, 1, 2]


def test_an_old_segment_is_followed_by_a_new_one(partition: Partition) -> None:
    partition.segment_ms = 100
    for timestamp_ms in (1000, 1100, 1101, 1150, 1300):
        append(partition, b"x", timestamp_ms=timestamp_ms)
    assert bases(partition) == [0, 2, 4]


def test_batches_of_old_and_new_messages_share_a_segment(partition: Partition) -> None:
    """What counts is the latest of its first batch; else each batch would have a file of its own."""
    partition.segment_ms = 100
    for number in range(4):
        builder = BatchBuilder(2 * number, 1000 + number)
        builder.add(1000 + number, None, b"old", NO_HEADERS)
        builder.add(1500 + number, None, b"new", NO_HEADERS)
        partition.append(builder.seal(), may_wait=False)
    assert bases(partition) == [0]


def test_a_segment_never_covers_more_offsets_than_its_index_can_hold(partition: Partition) -> None:
    append(partition, b"x")
    append(partition, b"y", base=RELATIVE_OFFSET_MAX + 10)
    assert bases(partition) == [0, RELATIVE_OFFSET_MAX + 10]
    assert offsets(partition) == [0, RELATIVE_OFFSET_MAX + 10]


def test_batches_that_come_together_go_where_they_would_go_one_by_one() -> None:
    for seed in range(30):
        random = Random(seed)
        groups = [[random.choice((1, 100, 150)) for _ in range(random.randrange(1, 6))] for _ in range(6)]
        bytes_max, age_ms_max = random.choice((300, 1_000)), random.choice((0, 5))
        together, one_by_one = (_made(bytes_max, age_ms_max) for _ in range(2))
        for number, sizes in enumerate(groups):
            end = together.end
            batches = [sealed(end + at, [bytes(size)], 1000 + number + at) for at, size in enumerate(sizes)]
            given = together.append_all(batches)
            assert given == [one_by_one.append(batch, may_wait=False).base for batch in batches]
        assert together.meta() == one_by_one.meta()
        assert offsets(together) == offsets(one_by_one) == list(range(together.end))


def _made(bytes_max: int, age_ms_max: int) -> Partition:
    disk = SimDisk(Random(1))
    disk.make_folder("t")
    made = Partition(OpenFiles(disk, 10), WriteBehind(300), "t", 2, 200)
    made.segment_bytes, made.segment_ms = bytes_max, age_ms_max
    return made


def test_batches_that_come_together_and_fit_are_one_write(
    partition: Partition, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(partition, b"0")
    batches = [sealed(offset, [b"x"]) for offset in range(1, 4)]
    append_to_file, writes = SimFile.append, list[int]()

    def note(file: SimFile, parts: Sequence[Buffer]) -> None:
        writes.append(len(parts))
        append_to_file(file, parts)

    monkeypatch.setattr(SimFile, "append", note)
    partition.append_all(batches)
    assert writes == [4]  # with the one that waited
    assert offsets(partition) == [0, 1, 2, 3]


@pytest.mark.parametrize("before", [0, 1, 5])
@pytest.mark.parametrize("after", [1, 2, 9])
def test_a_mark_brings_everything_back(partition: Partition, disk: SimDisk, before: int, after: int) -> None:
    for _ in range(before):
        append(partition, bytes(120))
    meta, files, mark = partition.meta(), disk.list("t"), partition.mark()
    for _ in range(after):
        append(partition, bytes(120), timestamp_ms=9000)
    for path in partition.restore(mark):
        disk.remove(path)
    assert partition.meta() == meta
    assert disk.list("t") == files
    assert offsets(partition) == list(range(before))
    append(partition, b"again")
    assert offsets(partition) == list(range(before + 1))


def test_a_batch_before_the_end_is_a_mistake_of_ours(partition: Partition) -> None:
    append(partition, b"a", b"b")
    with pytest.raises(AssertionError, match="must come after"):
        append(partition, b"c", base=1)


def test_many_empty_segments_are_read_over(partition: Partition, disk: SimDisk) -> None:
    for _ in range(20):
        append(partition, bytes(400))
    for segment in partition.segments[2:18]:
        segment.cut(0, segment.end)
        segment.file.truncate(0)
    assert offsets(partition) == [0, 1, 18, 19]
    assert partition.read(5, 100) == partition.read(18, 100)


def test_offsets_outside_the_bounds_are_refused(partition: Partition) -> None:
    append(partition, b"a", b"b", b"c")
    partition.trim(1)
    for offset in (0, 4):
        with pytest.raises(OffsetOutOfRange, match="1 to 3"):
            partition.read(offset, 100)


def test_the_segment_being_written_expires_by_age_but_not_by_size(partition: Partition) -> None:
    append(partition, bytes(100))
    assert partition.expired(None, 0, None) == 0
    assert partition.expired(1001, None, None) == 1


def test_a_small_segment_being_written_is_not_given_up_each_time_a_queue_runs_empty(partition: Partition) -> None:
    append(partition, bytes(100))
    assert partition.expired(None, None, 1) == 0
    partition.segment_bytes = 10 << 20
    append(partition, bytes(2 << 20))
    assert partition.expired(None, None, 2) == 2
