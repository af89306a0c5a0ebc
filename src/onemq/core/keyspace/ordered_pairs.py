"""Pairs (score, member) kept in order: the half of a sorted set that answers by rank and range.

The pairs stand in chunks of at most CHUNK_PAIRS_MAX, each a sorted list, with the last pair of
every chunk in a list beside them:

    lasts     [ (3.0, c),                    (7.0, f),             (9.0, h) ]
    chunks    [ [(1.0, a),(2.0, b),(3.0, c)], [(5.0, e),(7.0, f)], [(9.0, h)] ]
    starts    [ 0, 3, 5, 6 ]         the rank of each chunk's first pair, then the number of pairs

Finding a place is two calls of `bisect`, making room moves at most one chunk's pointers, all of it in C.
One flat list takes six times as long to add and remove a pair among 100,000; a skip list or tree would
keep several Python objects per member and walk them in Python. `sortedcontainers` has the same two
levels and measures the same (10 us to add and remove; a rank 6 us against 3 here, but 18 us against 33
for a change followed by a rank). It is hardly maintained any more and most of it is for other needs, so
these hundred lines stand here instead.

`starts` is made when a rank behind the first chunk is asked for and forgotten when a size changes.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator
from itertools import accumulate, chain
from typing import Any

Pair = tuple[float, bytes]

CHUNK_PAIRS_MAX = 1024
_CHUNK_PAIRS_MIN = CHUNK_PAIRS_MAX // 4


class OrderedPairs:
    """A sorted sequence of distinct pairs. Ranks count from 0, ranges are half-open."""

    __slots__ = ("_chunks", "_lasts", "_starts")

    def __init__(self, pairs: list[Pair]) -> None:
        """Takes the pairs in order."""
        self._chunks: list[list[Pair]] = []
        self._starts: list[int] | None = None
        filled = CHUNK_PAIRS_MAX // 2
        self._set_chunks([pairs[at : at + filled] for at in range(0, len(pairs), filled)])

    def __iter__(self) -> Iterator[Pair]:
        return chain.from_iterable(self._chunks)

    def add(self, pair: Pair) -> None:
        """Adds a pair that is not there yet."""
        lasts = self._lasts
        at = bisect_left(lasts, pair)
        if at < len(lasts):
            chunk = self._chunks[at]
            insort(chunk, pair)
        elif at:
            at -= 1
            chunk = self._chunks[at]
            chunk.append(pair)
            lasts[at] = pair
        else:
            self._set_chunks([[pair]])
            return
        self._starts = None
        if len(chunk) > CHUNK_PAIRS_MAX:
            self._split(at)

    def remove(self, pair: Pair) -> None:
        """Removes a pair that is there."""
        at = bisect_left(self._lasts, pair)
        chunk = self._chunks[at]
        del chunk[bisect_left(chunk, pair)]
        self._shrunk(at)

    def rank(self, pair: Pair) -> int:
        """How many pairs come before one that is there."""
        at = bisect_left(self._lasts, pair)
        return self._start(at) + bisect_left(self._chunks[at], pair)

    def rank_of_first(self, value: Any, key: Callable[[Pair], Any], *, after: bool) -> int:
        """The rank of the first pair whose `key(pair)` is not below the value, with `after` above it.

        The pairs must be in the order of the key too. The number of pairs when there is none.
        """
        search = bisect_right if after else bisect_left
        at = search(self._lasts, value, key=key)
        if at == len(self._lasts):
            return self._start(at)
        return self._start(at) + search(self._chunks[at], value, key=key)

    def between(self, first: int, end: int) -> list[Pair]:
        """The pairs of the ranks first..end-1, which must exist."""
        at, offset = self._locate(first)
        wanted = end - first
        found = self._chunks[at][offset : offset + wanted]
        while len(found) < wanted:
            at += 1
            found += self._chunks[at][: wanted - len(found)]
        return found

    def cut(self, first: int, end: int) -> list[Pair]:
        """Removes the pairs of the ranks first..end-1, which must exist, and returns them."""
        at, offset = self._locate(first)
        chunk = self._chunks[at]
        wanted = end - first
        found = chunk[offset : offset + wanted]
        del chunk[offset : offset + wanted]
        if len(found) == wanted:
            self._shrunk(at)
            return found
        while len(found) < wanted:
            at += 1
            chunk = self._chunks[at]
            missing = wanted - len(found)
            found += chunk[:missing]
            del chunk[:missing]
        self._set_chunks([chunk for chunk in self._chunks if chunk])
        return found

    def _set_chunks(self, chunks: list[list[Pair]]) -> None:
        self._chunks = chunks
        self._lasts = [chunk[-1] for chunk in chunks]
        self._starts = None

    def _start(self, at: int) -> int:
        """The rank of the chunk's first pair; of one chunk too many, the number of pairs."""
        return self._chunk_starts()[at] if at else 0

    def _chunk_starts(self) -> list[int]:
        if self._starts is None:
            self._starts = list(accumulate(map(len, self._chunks), initial=0))
        return self._starts

    def _locate(self, rank: int) -> tuple[int, int]:
        """The chunk that holds the rank, and the place in it."""
        if rank < len(self._chunks[0]):
            return 0, rank
        starts = self._chunk_starts()
        at = bisect_right(starts, rank) - 1
        return at, rank - starts[at]

    def _split(self, at: int) -> None:
        chunk = self._chunks[at]
        half = len(chunk) // 2
        self._chunks[at : at + 1] = [chunk[:half], chunk[half:]]
        self._lasts[at : at + 1] = [chunk[half - 1], chunk[-1]]

    def _shrunk(self, at: int) -> None:
        """Puts things right after the chunk lost pairs: drops it when empty, merges it when small."""
        self._starts = None
        chunk = self._chunks[at]
        if len(chunk) < _CHUNK_PAIRS_MIN and len(self._chunks) > 1:
            at = max(at - 1, 0)
            chunk = self._chunks[at]
            chunk += self._chunks.pop(at + 1)
            del self._lasts[at + 1]
        if not chunk:
            self._set_chunks([])
            return
        self._lasts[at] = chunk[-1]
        if len(chunk) > CHUNK_PAIRS_MAX:
            self._split(at)
