"""The wheel: every timer of the core, (due time, id), in order.

Time is cut into windows of 2**22 ms (70 minutes). Inside its window a timer is one 64-bit number that sorts
as (due time, id) does, so it costs 8 bytes and no Python object:

    63            42 41                                  0
    +---------------+------------------------------------+
    | due & 2**22-1 |                 id                 |   a key
    +---------------+------------------------------------+

A window keeps its keys in blocks of at most 512. The blocks are in order from the start, the keys inside a
block are sorted when they are wanted. So a step never costs more than sorting one block, though a million
timers may be due in one millisecond, and a list of them can be read page by page. An open window costs about
200 bytes: a year has 7,500 of them, so only timers strewn over many decades feel it.
"""

import sys
from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Self

ID_BITS = 42
ID_END = 1 << ID_BITS
ID_MASK = ID_END - 1
WINDOW_BITS = 64 - ID_BITS
WINDOW_MASK = (1 << WINDOW_BITS) - 1
KEY_END = 1 << 64

BLOCK_KEYS_MAX = 512
BLOCK_KEYS_FRESH = 384
"""How full blocks are made when many keys come at once: the next few shall not split them all again."""
BLOCK_KEYS_MIN = 64
"""A block that shrinks below this joins the one before it, if both together fill at most half a block."""

NEVER_MS = 1 << 63
DUMP_VERSION = 1


class OrderedKeys:
    """An ordered multiset of 64-bit numbers in blocks.

    Between each two blocks stands a fence: no key before it is above it, none after it is below it. There is
    always a block, and it is empty only if it is the only one.
    """

    __slots__ = ("_blocks", "_fences", "_first_is_sorted")

    def __init__(self, typecode: str) -> None:
        """Make an empty set of signed ("q") or unsigned ("Q") numbers."""
        self._blocks: list[array[int]] = [array(typecode)]
        self._fences: list[int] = []
        self._first_is_sorted = False

    def __bool__(self) -> bool:
        return bool(self._blocks[0])

    def parts(self) -> tuple[list["array[int]"], list[int]]:
        """Return the blocks and the fences between them."""
        return self._blocks, self._fences

    def restore(self, blocks: list["array[int]"], fences: list[int]) -> None:
        """Take over what `parts` returned."""
        self._blocks, self._fences = blocks, fences
        self._first_is_sorted = False

    def add(self, key: int) -> None:
        index = bisect_right(self._fences, key)
        block = self._blocks[index]
        if index or not self._first_is_sorted:
            block.append(key)
        else:
            insort(block, key)
        if len(block) > BLOCK_KEYS_MAX:
            # Keys beyond all others mostly come in order: then a full block is left behind, not a half one.
            in_order = index + 1 == len(self._blocks) and key == max(block)
            self._cut(index, BLOCK_KEYS_MAX if in_order else BLOCK_KEYS_MAX // 2 + 1)

    def add_many(self, keys: list[int]) -> None:
        """Add keys in any order; sorts the list given."""
        if self._fences:
            keys.sort()
        at = 0
        while at < len(keys):
            index = bisect_right(self._fences, keys[at])
            is_last = index == len(self._fences)
            end = len(keys) if is_last else bisect_left(keys, self._fences[index], at)
            block = self._blocks[index]
            block.extend(keys[at:end])
            if index == 0:
                self._first_is_sorted = False
            if len(block) > BLOCK_KEYS_MAX:
                self._cut(index, BLOCK_KEYS_FRESH)
            at = end

    def remove(self, key: int) -> bool:
        """Remove one such key; False when there is none."""
        # Equal keys may lie on both sides of a fence that equals them.
        for index in range(bisect_left(self._fences, key), bisect_right(self._fences, key) + 1):
            try:
                self._blocks[index].remove(key)
            except ValueError:
                continue
            if len(self._blocks[index]) < BLOCK_KEYS_MIN:
                self._shrink(index)
            return True
        return False

    def first(self) -> int:
        """Return the lowest key; there must be one."""
        return self._sorted_first()[0]

    def pop_below(self, end: int, limit: int) -> list[int]:
        """Remove and return the lowest keys, in order: those below `end`, at most `limit`."""
        popped: list[int] = []
        while self._blocks[0]:
            block = self._sorted_first()
            count = min(bisect_left(block, end), limit - len(popped))
            popped += block[:count]
            del block[:count]
            if block:
                break
            self._drop_first()
        return popped

    def iterate(self, after: int | None) -> Iterator[int]:
        """Yield the keys above `after`, or all, in order. They must not change meanwhile."""
        index = 0
        if after is not None:
            index = bisect_right(self._fences, after)
            keys = sorted(self._blocks[index])
            yield from keys[bisect_right(keys, after) :]
            index += 1
        for at in range(index, len(self._blocks)):
            yield from sorted(self._blocks[at])

    def between(self, after: int, until: int) -> list[int]:
        """The keys above one and up to another, in no order."""
        first, last = bisect_right(self._fences, after), bisect_right(self._fences, until)
        return [key for block in self._blocks[first : last + 1] for key in block if after < key <= until]

    def _sorted_first(self) -> "array[int]":
        block = self._blocks[0]
        if not self._first_is_sorted:
            block = self._blocks[0] = array(block.typecode, sorted(block))
            self._first_is_sorted = True
        return block

    def _cut(self, index: int, size: int) -> None:
        """Sort a block and put its keys in blocks of `size`."""
        block = self._blocks[index]
        keys = sorted(block)
        starts = range(0, len(keys), size)
        cut = [array(block.typecode, keys[start : start + size]) for start in starts]
        self._blocks[index : index + 1] = cut
        self._fences[index:index] = [keys[start] for start in starts[1:]]

    def _shrink(self, index: int) -> None:
        """Drop a block that became empty, or join it with the one before it if both are small."""
        size = len(self._blocks[index])
        if index == 0:
            if size == 0:
                self._drop_first()
        elif size == 0 or size + len(self._blocks[index - 1]) <= BLOCK_KEYS_MAX // 2:
            self._blocks[index - 1] += self._blocks.pop(index)
            del self._fences[index - 1]
            if index == 1:
                self._first_is_sorted = False

    def _drop_first(self) -> None:
        """Drop the first block, which is empty, unless it is the only one."""
        if len(self._blocks) > 1:
            del self._fences[0], self._blocks[0]
            self._first_is_sorted = False


class Wheel:
    """An ordered multiset of timers. Knows no clock: now is an argument, and may jump both ways.

    A due time is a signed 64-bit number of milliseconds, an id an int from 0 to 2**42 - 1. Ids need not be
    unique: an owner that no longer knows a timer's due time leaves it, and ignores the id when it fires.
    """

    __slots__ = ("_earliest_ms", "_order", "_size", "_windows")

    def __init__(self) -> None:
        self._order = OrderedKeys("q")
        self._windows: dict[int, OrderedKeys] = {}
        self._size = 0
        self._earliest_ms = NEVER_MS

    def __len__(self) -> int:
        return self._size

    def add(self, due_ms: int, id: int) -> None:
        """Add a timer; one in the past fires at the next `pop_due`. The same timer twice is two timers."""
        assert 0 <= id < ID_END, id
        keys = self._windows.get(due_ms >> WINDOW_BITS)
        if keys is None:
            keys = self._open(due_ms >> WINDOW_BITS)
        keys.add((due_ms & WINDOW_MASK) << ID_BITS | id)
        self._size += 1
        if due_ms < self._earliest_ms:
            self._earliest_ms = due_ms

    def add_many(self, dues: Sequence[int], first_id: int) -> None:
        """Add one timer for each due time, with consecutive ids from `first_id`.

        Quicker than `add` when all are due in the same window, as those of one batch mostly are.
        """
        assert 0 <= first_id <= ID_END - len(dues), first_id
        if not dues:
            return
        earliest_ms = min(dues)
        window = earliest_ms >> WINDOW_BITS
        if window != max(dues) >> WINDOW_BITS:
            for id, due_ms in enumerate(dues, first_id):
                self.add(due_ms, id)
            return
        keys = [(due_ms & WINDOW_MASK) << ID_BITS | id for id, due_ms in enumerate(dues, first_id)]
        (self._windows.get(window) or self._open(window)).add_many(keys)
        self._size += len(dues)
        self._earliest_ms = min(earliest_ms, self._earliest_ms)

    def discard(self, due_ms: int, id: int) -> bool:
        """Remove one such timer; False when there is none. Keeps the wheel small for owners that cancel much."""
        window = due_ms >> WINDOW_BITS
        keys = self._windows.get(window)
        if keys is None or not keys.remove((due_ms & WINDOW_MASK) << ID_BITS | id):
            return False
        self._size -= 1
        if not keys:
            self._close(window)
        if due_ms == self._earliest_ms:
            self._earliest_ms = self._find_earliest_ms()
        return True

    def pop_due(self, now_ms: int, limit: int) -> list[int]:
        """Remove and return the ids due at or before `now_ms`, in order of (due, id), at most `limit`."""
        popped: list[int] = []
        while self._earliest_ms <= now_ms and len(popped) < limit:
            window = self._earliest_ms >> WINDOW_BITS
            end = KEY_END if window < now_ms >> WINDOW_BITS else ((now_ms & WINDOW_MASK) + 1) << ID_BITS
            keys = self._windows[window]
            popped += [key & ID_MASK for key in keys.pop_below(end, limit - len(popped))]
            if not keys:
                self._close(window)
            self._earliest_ms = self._find_earliest_ms()
        self._size -= len(popped)
        return popped

    def next_due_ms(self, now_ms: int) -> int | None:
        """When to call `pop_due` next: the due time of the earliest timer, now if that is past, or None."""
        if not self._size:
            return None
        return self._earliest_ms if self._earliest_ms > now_ms else now_ms

    def iterate(self, after: tuple[int, int] | None = None) -> Iterator[tuple[int, int]]:
        """Yield (due, id) in order, from the first one above `after`.

        An iterator must not be used after the wheel has changed: go on with a new one from the last position.
        """
        window = None
        if after is not None:
            window = after[0] >> WINDOW_BITS
            yield from self._iterate_window(window, (after[0] & WINDOW_MASK) << ID_BITS | after[1])
        for following in self._order.iterate(window):
            yield from self._iterate_window(following, None)

    def ids_between(self, after_ms: int, until_ms: int, limit: int) -> list[int]:
        """Return the ids due after one time and up to another; of more than `limit` those that are due first."""
        ids: list[int] = []
        for window in range(after_ms >> WINDOW_BITS, (until_ms >> WINDOW_BITS) + 1):
            if window in self._windows and len(ids) < limit:
                start_ms = window << WINDOW_BITS
                after = ((after_ms - start_ms) << ID_BITS) + ID_MASK
                until = (min(until_ms - start_ms, WINDOW_MASK) << ID_BITS) + ID_MASK
                keys = self._windows[window].between(after, until)
                if len(ids) + len(keys) > limit:
                    keys = sorted(keys)[: limit - len(ids)]
                ids += [key & ID_MASK for key in keys]
        return ids

    def dump(self) -> dict[str, Any]:
        """Return all timers, as strings of little-endian 64-bit numbers.

        `windows` and `counts` have a number for each block, `fences` one for each block but the first of its
        window. Equal wheels may dump differently: blocks come as they are.
        """
        windows, counts, fences = array("q"), array("q"), array("Q")
        blocks: list[array[int]] = []
        for window in self._order.iterate(None):
            own_blocks, own_fences = self._windows[window].parts()
            windows.extend([window] * len(own_blocks))
            counts.extend(map(len, own_blocks))
            fences.extend(own_fences)
            blocks += own_blocks
        return {
            "version": DUMP_VERSION,
            "windows": _little_endian(windows.tobytes()),
            "counts": _little_endian(counts.tobytes()),
            "fences": _little_endian(fences.tobytes()),
            "keys": _little_endian(b"".join(blocks)),
        }

    @classmethod
    def load(cls, state: Mapping[str, Any]) -> Self:
        """Return the wheel that `dump` described. ValueError when it cannot have come from there."""
        if state.get("version") != DUMP_VERSION:
            raise ValueError(f"timers in format {state.get('version')!r}: this version reads {DUMP_VERSION}")
        windows, counts = (array("q", _little_endian(state[name])) for name in ("windows", "counts"))
        fences, keys = (array("Q", _little_endian(state[name])) for name in ("fences", "keys"))
        blocks: dict[int, list[array[int]]] = {}
        start = 0
        for window, count in zip(windows, counts, strict=True):
            blocks.setdefault(window, []).append(keys[start : start + count])
            start += count
        if start != len(keys) or len(windows) != len(blocks) + len(fences):
            raise ValueError(f"timers are damaged: {len(keys)} of {start} in {len(windows)} blocks found")
        wheel = cls()
        fence = iter(fences)
        for window, own in blocks.items():
            wheel._open(window).restore(own, list(islice(fence, len(own) - 1)))
        wheel._size = len(keys)
        wheel._earliest_ms = wheel._find_earliest_ms()
        return wheel

    def _open(self, window: int) -> OrderedKeys:
        self._order.add(window)
        keys = self._windows[window] = OrderedKeys("Q")
        return keys

    def _close(self, window: int) -> None:
        self._order.remove(window)
        del self._windows[window]

    def _find_earliest_ms(self) -> int:
        if not self._order:
            return NEVER_MS
        window = self._order.first()
        return (window << WINDOW_BITS) + (self._windows[window].first() >> ID_BITS)

    def _iterate_window(self, window: int, after: int | None) -> Iterator[tuple[int, int]]:
        keys = self._windows.get(window)
        if keys is not None:
            base_ms = window << WINDOW_BITS
            for key in keys.iterate(after):
                yield base_ms + (key >> ID_BITS), key & ID_MASK


def _little_endian(numbers: bytes) -> bytes:
    """Turn 64-bit numbers from this machine's byte order into little-endian, or back."""
    if sys.byteorder == "little":
        return numbers
    swapped = array("Q", numbers)
    swapped.byteswap()
    return swapped.tobytes()
