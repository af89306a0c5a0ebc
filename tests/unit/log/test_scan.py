"""A scan: all batches of a file in order, large ones too, and nothing that is damaged."""

import pytest

from onemq.errors import Corrupt
from onemq.log.batch import placed_at, read_header
from onemq.log.batch_builder import BatchBuilder
from onemq.log.records import NO_HEADERS, decode
from onemq.log.scan import SCAN_BYTES, Scanned, scan_file


class Bytes:
    """A file in memory."""

    def __init__(self, *batches: bytes) -> None:
        self.content = b"".join(batches)

    def read(self, position: int, size: int) -> bytes:
        return self.content[position : position + size]


def batch(base_offset: int, size: int = 10) -> bytes:
    builder = BatchBuilder(base_offset, 1000)
    builder.add(1000, None, b"x" * size, NO_HEADERS)
    return builder.seal()


def scan(file: Bytes, position: int = 0) -> list[Scanned]:
    return list(scan_file(file, "a file", position, len(file.content)))


def offsets(found: list[Scanned]) -> list[int]:
    return [decode(data, at, header)[0][0] for _, header, data, at in found]


@pytest.mark.parametrize("size", [10, SCAN_BYTES // 3, SCAN_BYTES - 70, SCAN_BYTES, 2 * SCAN_BYTES])
def test_every_batch_is_found_whatever_its_size(size: int) -> None:
    file = Bytes(batch(0), batch(1, size), batch(2), batch(3, size), batch(4))
    found = scan(file)
    assert offsets(found) == [0, 1, 2, 3, 4]
    assert all(read_header(file.content, position) == header for position, header, _, _ in found)
    assert offsets(scan(file, found[3][0])) == [3, 4]


@pytest.mark.parametrize("size", [10, 2 * SCAN_BYTES])
def test_a_damaged_batch_ends_the_scan_after_those_before_it(size: int) -> None:
    sound = batch(0)
    broken = bytearray(batch(1, size))
    broken[-5] ^= 1
    scanned = scan_file(Bytes(sound, broken, batch(2)), "a file", 0, len(sound) + len(broken) + len(batch(2)))
    assert offsets([next(scanned)]) == [0]
    with pytest.raises(Corrupt, match=f"a file is damaged at byte {len(sound)}"):
        next(scanned)


@pytest.mark.parametrize("size", [10, 2 * SCAN_BYTES])
def test_a_cut_batch_is_damage(size: int) -> None:
    with pytest.raises(Corrupt):
        scan(Bytes(batch(0), batch(1, size)[:-1]))


def test_offsets_that_go_back_or_beyond_the_end_are_damage() -> None:
    with pytest.raises(Corrupt):
        scan(Bytes(batch(5), placed_at(batch(0), 5)))
    file = Bytes(batch(5), batch(6))
    with pytest.raises(Corrupt):
        list(scan_file(file, "a file", 0, len(file.content), (5, 6)))
    with pytest.raises(Corrupt):
        list(scan_file(file, "a file", 0, len(file.content), (6, 7)))
    assert len(list(scan_file(file, "a file", 0, len(file.content), (5, 7)))) == 2
