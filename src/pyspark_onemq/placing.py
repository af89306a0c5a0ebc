"""Which partition each row goes to: as it says itself, by its key as every producer does it, or in turn."""

from typing import Any

import numpy as np
import pyarrow.compute as pc
from crc32c import crc32c

from onemq.errors import InvalidArgument
from onemq.limits import KIB
from pyspark_onemq.encoding import Numbers

RUN_BYTES = 256 * KIB
"""Rows without a key go to one partition until it has got so much, then to the next: batches stay large."""


class Turn:
    """Whose turn it is among the partitions of one topic, for rows without a key."""

    def __init__(self, first: int) -> None:
        self._run = first
        self._bytes = 0

    def place(self, sizes: Numbers, partitions: int) -> Numbers:
        """The partitions of rows of these sizes."""
        ends = self._bytes + np.cumsum(sizes)
        runs = self._run + (ends - sizes) // RUN_BYTES
        if len(ends):
            self._run += int(ends[-1] // RUN_BYTES)
            self._bytes = int(ends[-1] % RUN_BYTES)
        return np.asarray(runs % partitions, np.int64)


def place(topic: str, partitions: int, asked: Any | None, key: Any | None, sizes: Numbers, turn: Turn) -> Numbers:
    """The partition of each row. `asked` is an integer column and counts where it is not null, then `key`."""
    placed = np.full(len(sizes), -1, np.int64)
    if asked is not None:
        placed = _asked(topic, partitions, asked)
    if partitions == 1:
        return np.zeros(len(sizes), np.int64)
    if key is not None:
        open_ = placed < 0 if key.null_count == 0 else (placed < 0) & np.asarray(key.is_valid())
        placed[open_] = _by_key(key if open_.all() else key.filter(open_), partitions)
    left = placed < 0
    if left.any():
        placed[left] = turn.place(sizes[left], partitions)
    return placed


def _asked(topic: str, partitions: int, asked: Any) -> Numbers:
    found = np.asarray(pc.fill_null(asked, -1)).astype(np.int64)
    wrong = np.asarray(asked.is_valid()) & ((found < 0) | (found >= partitions))
    if wrong.any():
        raise InvalidArgument(f"topic {topic!r} has partitions 0 to {partitions - 1}, not {found[wrong][0]}")
    return found


def _by_key(keys: Any, partitions: int) -> Numbers:
    return np.fromiter((crc32c(key) for key in keys.to_pylist()), np.int64, len(keys)) % partitions
