"""Cleaning: segments written anew with fewer records."""

import errno
import gzip
from random import Random

import pytest
from crc32c import crc32c

from onemq.errors import Corrupt
from onemq.log.batch import HEADER, HEADER_BYTES, is_sound, read_extent, read_header
from onemq.log.batch_builder import BatchBuilder
from onemq.log.cleaning import by_offset, last_by_key, rewrite, thin
from onemq.log.openfiles import OpenFiles
from onemq.log.records import decode, encode_headers
from onemq.log.segment import Segment
from onemq.message import Record
from tests.sim.disk import SimDisk
from tests.unit.log.helpers import content, flip, overwrite, sealed

PATH = "0-00000000000000000000.log"


@pytest.fixture
def disk() -> SimDisk:
    return SimDisk(Random(1))


def filled(disk: SimDisk, count: int = 10, path: str = PATH) -> Segment:
    segment = Segment(OpenFiles(disk, 10), path, 0, 300)
    segment.create()
    for number in range(count):
        batch = sealed(2 * number, [b"%d" % (2 * number), b"%d" % (2 * number + 1)], 1000 + number)
        segment.file.append([batch])
        base_offset, next_offset, _, max_ms = read_extent(batch)
        segment.note(base_offset, next_offset, max_ms, len(batch))
    return segment


def records_of(data: bytes) -> list[Record]:
    return decode(data, 0, read_header(data))


# One batch


def rich_batch() -> bytes:
    builder = BatchBuilder(100, 1000)
    for number in range(10):
        builder.add(1000 + 7 * number, b"k%d" % number, None if number == 3 else b"v", encode_headers([(b"h", b"w")]))
    return builder.seal(attributes=1 << 14, epoch=3)


def test_a_batch_of_which_everything_stays_is_the_same_bytes() -> None:
    batch = rich_batch()
    assert thin(b"xx" + batch + b"yy", 2, read_header(batch), lambda record: True) == batch


def test_a_batch_of_which_nothing_stays_is_gone() -> None:
    assert thin(rich_batch(), 0, read_header(rich_batch()), lambda record: False) == b""


def test_a_thinner_batch_keeps_offsets_times_headers_and_attributes() -> None:
    batch = rich_batch()
    thinner = thin(batch, 0, read_header(batch), by_offset(lambda offset: offset % 3 == 0))
    header = read_header(thinner)
    assert is_sound(thinner, 0, header)
    assert records_of(thinner) == [record for record in records_of(batch) if record[0] % 3 == 0]
    assert (header.base_offset, header.next_offset, header.record_count) == (100, 110, 3)
    assert (header.attributes, header.leader_epoch) == (1 << 14, 3)


def test_a_compressed_batch_is_thinned_uncompressed() -> None:
    batch = rich_batch()
    packed = gzip.compress(batch[HEADER_BYTES:])
    header = read_header(batch)._replace(attributes=1, length=HEADER_BYTES - 12 + len(packed))
    header = header._replace(crc=crc32c(packed, crc32c(HEADER.pack(*header)[21:])))
    compressed = HEADER.pack(*header) + packed
    thinner = thin(compressed, 0, header, by_offset(lambda offset: offset > 104))
    assert read_header(thinner).attributes == 0
    assert [record[0] for record in records_of(thinner)] == [105, 106, 107, 108, 109]


# One segment


def test_a_rewritten_segment_is_another_file_of_the_next_generation(disk: SimDisk) -> None:
    segment = filled(disk)
    before = content(disk, PATH)
    cleaned = rewrite(disk, segment, by_offset(lambda offset: offset in (4, 5, 7)))
    assert cleaned is not None
    assert cleaned.path == "0-00000000000000000000.c1.log"
    base, size, end, first_ms, max_ms = cleaned.meta
    assert (base, end, first_ms, max_ms) == (0, 20, 1000, 1009)
    assert size == len(content(disk, cleaned.path)) < len(before)
    assert content(disk, PATH) == before
    again = Segment(OpenFiles(disk, 10), cleaned.path, 0, 300)
    again.restore_meta(cleaned.meta)
    twice = rewrite(disk, again, by_offset(lambda offset: offset == 5))
    assert twice is not None
    assert twice.path == "0-00000000000000000000.c2.log"
    assert [record[3] for record in records_of(content(disk, twice.path))] == [b"5"]


def test_a_rewritten_segment_is_durable(disk: SimDisk) -> None:
    cleaned = rewrite(disk, filled(disk), by_offset(lambda offset: offset == 4))
    assert cleaned is not None
    size = len(content(disk, cleaned.path))
    disk.crash()
    assert len(content(disk, cleaned.path)) == size


def test_a_segment_of_which_everything_stays_is_not_written_anew(disk: SimDisk) -> None:
    assert rewrite(disk, filled(disk), lambda record: True) is None
    assert disk.list("") == [PATH]


def test_a_segment_of_which_nothing_stays_is_an_empty_file(disk: SimDisk) -> None:
    cleaned = rewrite(disk, filled(disk), lambda record: False)
    assert cleaned is not None
    assert cleaned.meta[:3] == [0, 0, 20]
    assert content(disk, cleaned.path) == b""


def test_what_an_unfinished_rewrite_left_is_overwritten(disk: SimDisk) -> None:
    overwrite(disk, "0-00000000000000000000.c1.log", b"x" * 5000)
    cleaned = rewrite(disk, filled(disk), by_offset(lambda offset: offset == 4))
    assert cleaned is not None
    assert len(content(disk, cleaned.path)) == cleaned.meta[1]


def test_a_damaged_segment_is_left_alone(disk: SimDisk) -> None:
    segment = filled(disk)
    flip(disk, PATH, segment.size // 2)
    with pytest.raises(Corrupt, match=PATH):
        rewrite(disk, segment, lambda record: False)
    assert disk.list("") == [PATH]


def test_a_full_disk_leaves_nothing_of_the_new_file(disk: SimDisk) -> None:
    segment = filled(disk)
    disk.fail_next("append", errno.ENOSPC)
    with pytest.raises(OSError, match="No space"):
        rewrite(disk, segment, by_offset(lambda offset: offset % 2 == 0))
    assert disk.list("") == [PATH]


# Choosing by key


def scans(*batches: bytes) -> list[list[tuple[object, bytes, int]]]:
    return [[(read_header(batch), batch, 0)] for batch in batches]


def test_the_last_record_of_a_key_is_kept() -> None:
    batches = [sealed(0, [b"a"], key=b"k"), sealed(1, [b"b"], key=b"k"), sealed(2, [b"c"], key=b"other")]
    keep = last_by_key(scans(*batches), 0)  # type: ignore[arg-type]
    assert [keep(records_of(batch)[0]) for batch in batches] == [False, True, True]


def test_records_without_key_are_kept() -> None:
    batches = [sealed(0, [b"a"]), sealed(1, [b"b"])]
    keep = last_by_key(scans(*batches), 0)  # type: ignore[arg-type]
    assert [keep(records_of(batch)[0]) for batch in batches] == [True, True]


def test_a_last_record_without_value_is_kept_only_while_it_is_young() -> None:
    batches = [sealed(0, [None], 100, b"old"), sealed(1, [None], 500, b"young"), sealed(2, [b"v"], 50, b"value")]
    keep = last_by_key(scans(*batches), 500)  # type: ignore[arg-type]
    assert [keep(records_of(batch)[0]) for batch in batches] == [False, True, True]


def test_a_record_behind_what_was_looked_at_is_kept() -> None:
    keep = last_by_key(scans(sealed(5, [b"a"], key=b"k")), 0)  # type: ignore[arg-type]
    assert keep((9, 0, b"k", b"later", ()))
    assert keep((9, 0, b"new", b"later", ()))
