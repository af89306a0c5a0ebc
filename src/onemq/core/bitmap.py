"""The bitmap: which of the ids from a low mark upwards are done.

    ids        0 ...... low ....... 8191 | 8192 ...... 16383 | 16384 ...
               all done    x..xx..x      |     all done      | none done
    kept as          1 KiB of bits         one shared chunk    nothing

Everything below `low` is done and `low` itself is live; it moves up by itself. What is done above it is kept
in chunks of 8192 bits, and a chunk that is all done takes no memory of its own. Ids that are done in order
never make a chunk; one old live id costs at most a bit for each later one.
"""

from collections.abc import Mapping
from typing import Any, Self

CHUNK_BITS = 13
CHUNK_IDS = 1 << CHUNK_BITS
CHUNK_MASK = CHUNK_IDS - 1
CHUNK_BYTES = CHUNK_IDS // 8
ALL_DONE = bytearray(b"\xff" * CHUNK_BYTES)
"""Shared by all chunks without a live id. Never written to: there is no bit left to set."""
_NONE_DONE = bytearray(CHUNK_BYTES)

DUMP_VERSION = 1


class Bitmap:
    """A set of done ids that holds everything below `low`."""

    # Bits below `low` in its own chunk mean nothing: those that were done in order were never set.
    __slots__ = ("_chunks", "_counts", "_done", "_low")

    def __init__(self, low: int = 0) -> None:
        self._low = low
        self._chunks: dict[int, bytearray] = {}
        self._counts: dict[int, int] = {}
        self._done = 0

    @property
    def low(self) -> int:
        """The lowest live id."""
        return self._low

    @property
    def high(self) -> int:
        """One above the highest done id, or `low` when none above it is done. From here on all are live."""
        if not self._done:
            return self._low
        index = max(self._chunks)
        return (index << CHUNK_BITS) + int.from_bytes(self._chunks[index], "little").bit_length()

    @property
    def count_done_above_low(self) -> int:
        return self._done

    def is_done(self, id: int) -> bool:
        if id < self._low:
            return True
        chunk = self._chunks.get(id >> CHUNK_BITS)
        return chunk is not None and bool(chunk[(id & CHUNK_MASK) >> 3] >> (id & 7) & 1)

    def count_done_from(self, id: int) -> int:
        """How many ids from this one on are done."""
        if id <= self._low:
            return self._low - id + self._done
        index = id >> CHUNK_BITS
        later = sum([count for each, count in self._counts.items() if each > index])
        return later + (self._count_between(index, id, (index + 1) << CHUNK_BITS) if index in self._chunks else 0)

    def has_done(self, start: int, end: int) -> bool:
        """Whether any id from `start` on and below `end` is done."""
        if start < min(self._low, end):
            return True
        for index in range(start >> CHUNK_BITS, (end + CHUNK_MASK) >> CHUNK_BITS if self._done else 0):
            base, chunk = index << CHUNK_BITS, self._chunks.get(index)
            if chunk is not None and _first_done(chunk, max(start - base, 0)) < min(end - base, CHUNK_IDS):
                return True
        return False

    def next_live(self, id: int) -> int:
        """The lowest live id from this one on."""
        id = max(id, self._low)
        while (chunk := self._chunks.get(id >> CHUNK_BITS)) is not None:
            base = id & ~CHUNK_MASK
            live = _first_live(chunk, id - base)
            if live < CHUNK_IDS:
                return base + live
            id = base + CHUNK_IDS
        return id

    def mark(self, id: int) -> bool:
        """Mark one id as done; False when it was already."""
        if id == self._low:
            self._advance(id + 1)
            return True
        if self.is_done(id):
            return False
        index = id >> CHUNK_BITS
        chunk = self._chunks.get(index)
        if chunk is None:
            chunk = self._chunks[index] = bytearray(CHUNK_BYTES)
            self._counts[index] = 0
        chunk[(id & CHUNK_MASK) >> 3] |= 1 << (id & 7)
        self._done += 1
        self._counts[index] += 1
        if self._counts[index] == CHUNK_IDS:
            self._chunks[index] = ALL_DONE
        return True

    def mark_between(self, first: int, end: int) -> None:
        """Mark the ids from `first` to below `end` as done, many at a time."""
        if first <= self._low:
            self.mark_below(end)
            return
        for index in range(first >> CHUNK_BITS, (end - 1 >> CHUNK_BITS) + 1):
            base = index << CHUNK_BITS
            self._mark_in_chunk(index, max(first - base, 0), min(end - base, CHUNK_IDS))

    def _mark_in_chunk(self, index: int, start: int, stop: int) -> None:
        chunk = self._chunks.get(index, _NONE_DONE)
        newly = stop - start - _count_done(chunk, start, stop)
        if not newly:
            return
        bits = int.from_bytes(chunk, "little") | (1 << stop) - (1 << start)
        count = self._counts.get(index, 0) + newly
        self._chunks[index] = ALL_DONE if count == CHUNK_IDS else bytearray(bits.to_bytes(CHUNK_BYTES, "little"))
        self._counts[index] = count
        self._done += newly

    def mark_below(self, end: int) -> int:
        """Mark every id below `end` as done; return how many were live."""
        if end <= self._low:
            return 0
        newly = end - self._low
        for index in [index for index in self._chunks if index << CHUNK_BITS < end]:
            done = self._count_between(index, self._low, end)
            newly -= done
            self._done -= done
            if index < end >> CHUNK_BITS:
                self._drop(index)
        self._advance(end)
        return newly

    def ranges_live(self, limit: int, end: int | None = None) -> list[tuple[int, int]]:
        """Return the first `limit` ranges of live ids below `end`, each as (first, last + 1).

        Without `end` they stop at `high`: these are the gaps between done ids.
        """
        end = self.high if end is None else end
        ranges: list[tuple[int, int]] = []
        start = self._low
        for index in sorted(self._chunks):
            base, chunk = index << CHUNK_BITS, self._chunks[index]
            while len(ranges) < limit and start < min(base + CHUNK_IDS, end):
                stop = base + _first_done(chunk, max(start - base, 0))
                if stop == base + CHUNK_IDS:
                    break
                if start < stop:
                    ranges.append((start, min(stop, end)))
                start = base + _first_live(chunk, stop - base)
        if len(ranges) < limit and start < end:
            ranges.append((start, end))
        return ranges

    def dump(self) -> dict[str, Any]:
        """Return `low` and the chunks, each as [index, bits without the zero bytes at the end].

        No bits at all stand for a chunk that is all done.
        """
        chunks = [
            [index, b"" if chunk is ALL_DONE else bytes(chunk).rstrip(b"\0")]
            for index, chunk in sorted(self._chunks.items())
        ]
        return {"version": DUMP_VERSION, "low": self._low, "chunks": chunks}

    @classmethod
    def load(cls, state: Mapping[str, Any]) -> Self:
        """Return the bitmap that `dump` described. ValueError when it cannot have come from there."""
        if state.get("version") != DUMP_VERSION:
            raise ValueError(f"bitmap in format {state.get('version')!r}: this version reads {DUMP_VERSION}")
        bitmap = cls(state["low"])
        for index, bits in state["chunks"]:
            if len(bits) > CHUNK_BYTES or index < bitmap._low >> CHUNK_BITS:
                raise ValueError(f"bitmap is damaged: chunk {index} of {len(bits)} bytes")
            bitmap._chunks[index] = bytearray(bits.ljust(CHUNK_BYTES, b"\0")) if bits else ALL_DONE
            bitmap._counts[index] = _count_done(bitmap._chunks[index], 0, CHUNK_IDS)
            bitmap._done += bitmap._count_between(index, bitmap._low, (index + 1) << CHUNK_BITS)
        return bitmap

    def _advance(self, low: int) -> None:
        """Move the low mark to `low`, and on over all that is done from there."""
        if not low & CHUNK_MASK:
            self._drop((low - 1) >> CHUNK_BITS)
        while self._done and (chunk := self._chunks.get(low >> CHUNK_BITS)) is not None:
            base = low & ~CHUNK_MASK
            live = base + _first_live(chunk, low - base)
            self._done -= live - low
            low = live
            if low < base + CHUNK_IDS:
                break
            self._drop(base >> CHUNK_BITS)
        self._low = low
        if not self._done and self._chunks:
            self._chunks.clear()
            self._counts.clear()

    def _drop(self, index: int) -> None:
        if self._chunks.pop(index, None) is not None:
            del self._counts[index]

    def _count_between(self, index: int, low: int, end: int) -> int:
        """Count the done ids of one chunk from `low` to below `end`."""
        base = index << CHUNK_BITS
        if low <= base and base + CHUNK_IDS <= end:
            return self._counts[index]
        return _count_done(self._chunks[index], max(low - base, 0), min(end - base, CHUNK_IDS))


def _count_done(chunk: bytearray, start: int, stop: int) -> int:
    bits = int.from_bytes(chunk, "little") & (1 << stop) - 1
    return (bits >> start).bit_count()


def _first_live(chunk: bytearray, start: int) -> int:
    """Return the first position from `start` whose bit is clear, or CHUNK_IDS."""
    if chunk is ALL_DONE:
        return CHUNK_IDS
    at = start >> 3
    byte = chunk[at] | (1 << (start & 7)) - 1
    if byte == 0xFF:
        rest = chunk[at + 1 :].lstrip(b"\xff")
        if not rest:
            return CHUNK_IDS
        at, byte = CHUNK_BYTES - len(rest), rest[0]
    return (at << 3) + (~byte & byte + 1).bit_length() - 1


def _first_done(chunk: bytearray, start: int) -> int:
    """Return the first position from `start` whose bit is set, or CHUNK_IDS."""
    at = start >> 3
    byte = chunk[at] >> (start & 7) << (start & 7)
    if not byte:
        rest = chunk[at + 1 :].lstrip(b"\0")
        if not rest:
            return CHUNK_IDS
        at, byte = CHUNK_BYTES - len(rest), rest[0]
    return (at << 3) + (byte & -byte).bit_length() - 1
