"""Finding the way in damaged bytes. What readers make of it is in test_segment.py."""

from random import Random

import pytest

from onemq.log.batch import placed_at
from onemq.log.salvage import first_unsound, next_sound, sound_at
from tests.sim.disk import SimDisk, SimFile
from tests.unit.log.helpers import sealed

BATCHES = [sealed(3 * number, [b"%d" % number * 30] * 3) for number in range(10)]
SIZE = sum(map(len, BATCHES))
STARTS = [sum(map(len, BATCHES[:number])) for number in range(10)]
END = 30


def file_of(data: bytes) -> SimFile:
    file = SimDisk(Random(1)).open("a", create=True)
    file.append([data])
    return file


def replaced(number: int, batch: bytes) -> SimFile:
    return file_of(b"".join([*BATCHES[:number], batch, *BATCHES[number + 1 :]]))


def test_a_sound_batch_is_seen_only_where_it_starts() -> None:
    file = file_of(b"".join(BATCHES))
    found = [position for position in range(SIZE) if sound_at(file, position, SIZE)]
    assert found == STARTS
    assert sound_at(file, STARTS[-1], SIZE - 1) is None
    assert sound_at(file, SIZE, SIZE) is None


def test_nothing_is_unsound_in_a_sound_file() -> None:
    assert first_unsound(file_of(b"".join(BATCHES)), (0, 0), SIZE, END) == (SIZE, END)


@pytest.mark.parametrize("number", [0, 4, 9])
@pytest.mark.parametrize("at", [8, 10, 16, 18, 24, 60, 80])
def test_the_damaged_batch_and_the_next_sound_one_are_found(number: int, at: int) -> None:
    batch = bytearray(BATCHES[number])
    batch[at] ^= 0x11
    file = replaced(number, bytes(batch))
    damaged = first_unsound(file, (0, 0), SIZE, END)
    assert damaged == (STARTS[number], 3 * number)
    following = (STARTS[number + 1], 3 * number + 3) if number < 9 else None
    assert next_sound(file, damaged[0], SIZE, damaged[1], END) == following


@pytest.mark.parametrize(
    ("number", "base"), [(4, 13), (4, 15), (4, 300), (4, 11), (4, 0), (9, 28), (9, 1 << 40), (0, 2)]
)
def test_a_batch_at_a_wrong_offset_is_the_damaged_one_and_not_its_neighbour(number: int, base: int) -> None:
    file = replaced(number, placed_at(BATCHES[number], base))
    assert first_unsound(file, (0, 0), SIZE, END) == (STARTS[number], 3 * number)


def test_batches_with_offsets_out_of_bounds_are_not_taken_for_the_next() -> None:
    file = file_of(b"".join(BATCHES))
    assert next_sound(file, 0, SIZE, 10, END) == (STARTS[4], 12)
    assert next_sound(file, 0, SIZE, 0, 5) is None


def test_a_batch_inside_another_ones_value_is_found_when_that_one_is_broken() -> None:
    """Whoever stores record batches in messages can trick the search, but only within the bounds of offsets."""
    inner = sealed(1, [b"inner"])
    outer = bytearray(sealed(0, [inner]))
    outer[16] = 9
    file = file_of(bytes(outer) + sealed(1, [b"next"]))
    found = next_sound(file, 0, file.size(), 0, 2)
    assert found is not None
    assert found[1] == 1


def test_the_search_goes_over_the_edges_of_its_windows() -> None:
    for gap in ((1 << 20) - 70, (1 << 20) - 17, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20):
        file = file_of(bytes(gap) + BATCHES[5] + BATCHES[6])
        assert next_sound(file, 0, file.size(), 0, END) == (gap, 15)
