"""Where batches and their records begin.

That must be found one after the other, since each tells its size only. What can be guessed is guessed, and checked for
many together: bulk data mostly is made of records of one size, and of batches that look like each other. A guess is
right if everything that it takes for the size of a record is the one that was expected: then the next one is there.
"""

from collections.abc import Iterator
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from onemq.log.batch import HEADER_BYTES, LENGTH_PREFIX_BYTES
from onemq.log.records import record_starts

Numbers = NDArray[np.int64]
Bytes = NDArray[np.uint8]

_LENGTH = Struct(">8xi")
_GUESS_MIN = 128
"""Of so many records it pays to guess that they have one size."""
_RUN_MIN = 32
"""So many that have it make the guess worth while."""
_RECORD_BYTES_MIN = 7


def batch_starts(data: bytes) -> Numbers:
    """Where each whole batch begins."""
    starts = []
    position, end = 0, len(data)
    while position + HEADER_BYTES <= end:
        size: int = LENGTH_PREFIX_BYTES + _LENGTH.unpack_from(data, position)[0]
        if size < HEADER_BYTES or position + size > end:
            break
        starts.append(position)
        position += size
    return np.array(starts, np.int64)


def all_record_starts(data: bytes, first: Numbers, end: Numbers, count: Numbers) -> Numbers:
    """Where the records of batches begin: so many of each, which fill the data from the first to the end. Raises
    IndexError if that cannot be; whoever looks into the records must check that each ends where the next begins."""
    room = end - first
    if (count < 0).any() or (count > room // _RECORD_BYTES_MIN).any() or room[count == 0].any():
        raise IndexError
    starts = np.zeros(int(count.sum()), np.int64)
    slots = np.cumsum(count) - count
    buffer = np.frombuffer(data, np.uint8)
    alone = np.flatnonzero(count == 1)
    starts[slots[alone]] = first[alone]
    for group in _alike(room, count):
        leader, others = int(group[0]), group[1:]
        found = _starts(data, buffer, int(first[leader]), int(end[leader]), int(count[leader]))
        starts[slots[leader] : slots[leader] + len(found)] = found
        if len(others):
            strange = _like(buffer, found, first[leader], others, first, slots, starts)
            for each in strange.tolist():
                found = _starts(data, buffer, int(first[each]), int(end[each]), int(count[each]))
                starts[slots[each] : slots[each] + len(found)] = found
    return starts


def _alike(size: Numbers, count: Numbers) -> Iterator[Numbers]:
    """The batches of several records, those of the same size and count together."""
    several = np.flatnonzero(count > 1)
    order = several[np.lexsort((count[several], size[several]))]
    changes = (np.diff(size[order]) != 0) | (np.diff(count[order]) != 0)
    yield from (group for group in np.split(order, np.flatnonzero(changes) + 1) if len(group))


def _like(
    buffer: Bytes, found: Numbers, leader_first: int, others: Numbers, first: Numbers, slots: Numbers, starts: Numbers
) -> Numbers:
    """Puts the starts of batches that look like another one to the others. Returns those that do not."""
    guesses = first[others][:, None] + (found - leader_first)
    same = np.ones(len(others), np.bool_)
    lead = buffer.take(found)
    byte = 0
    while True:
        same &= (buffer.take(guesses + byte, mode="clip") == lead).all(axis=1)
        if not (lead > 0x7F).any():
            break
        byte += 1
        lead = buffer.take(found + byte, mode="clip")
    places = slots[others[same]][:, None] + np.arange(len(found))
    starts[places] = guesses[same]
    return others[~same]


def _starts(data: bytes, buffer: Bytes, position: int, end: int, count: int) -> Numbers:
    """Where so many records of one batch begin."""
    pieces: list[Numbers] = []
    pace = _RUN_MIN
    while count > 0:
        run, size = _run(data, buffer, position, end, count) if count >= _GUESS_MIN else (0, 0)
        if run >= _RUN_MIN:
            pieces.append(np.arange(position, position + run * size, size, dtype=np.int64))
            position += run * size
        else:
            run = min(count, pace)
            found = record_starts(data, position, run)
            position = found.pop()
            pieces.append(np.fromiter(found, np.int64, run))
            pace *= 4
        count -= run
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def _run(data: bytes, buffer: Bytes, position: int, end: int, count: int) -> tuple[int, int]:
    """How many records have the size of the first, and that size."""
    size = record_starts(data, position, 1)[1] - position
    most = min(count, (end - position) // size)
    same = buffer[position : position + most * size : size] == data[position]
    at = position
    while data[at] > 0x7F:
        at += 1
        same &= buffer[at : at + most * size : size] == data[at]
    return most if same.all() else int(same.argmin()), size
