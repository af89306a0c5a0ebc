"""Commit units: up to which number the work of somebody who counts it is committed.

Somebody who does numbered pieces of work, each committed once (a streaming query and its micro-batches), names a unit
and the number with each commit. A number that is not higher than the last one was committed before, whatever the
crash in between made of those who asked for it.
"""

from typing import Any, NamedTuple

from onemq.errors import InvalidArgument, TooLarge
from onemq.limits import COMMIT_UNIT_MS, COMMIT_UNITS_MAX
from onemq.message import check_name


class CommitUnit(NamedTuple):
    """A numbered piece of somebody's work."""

    name: str
    number: int


class CommitUnits:
    """All units, the least recently used first."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, int]] = {}
        """Name -> (highest number, when it was last used)."""

    def number(self, name: str, now_ms: int) -> int | None:
        """The highest number that is committed, or None if the unit is not known (any more)."""
        number, used_ms = self._known.get(name, (None, 0))
        return None if number is None or _is_old(used_ms, now_ms) else number

    def is_committed(self, unit: CommitUnit, now_ms: int) -> bool:
        """Whether the number was committed before. Raises `InvalidArgument`, and `TooLarge` if there is no room for
        another unit."""
        check_name("unit", unit.name)
        if unit.number < 0:
            raise InvalidArgument(f"the number of a unit counts from 0 on, it cannot be {unit.number}")
        highest = self.number(unit.name, now_ms)
        if unit.name not in self._known and len(self._known) >= COMMIT_UNITS_MAX:
            _, oldest_ms = next(iter(self._known.values()))
            if not _is_old(oldest_ms, now_ms):
                raise TooLarge(f"{COMMIT_UNITS_MAX} units are remembered, each for 30 days after its last commit")
        return highest is not None and unit.number <= highest

    def used(self, name: str, number: int | None, now_ms: int) -> None:
        """A commit named the unit; with a number if that is the highest now. What an entry says."""
        highest, _ = self._known.pop(name, (0, 0))
        self._known[name] = (highest if number is None else number, now_ms)
        while _is_old(next(iter(self._known.values()))[1], now_ms):
            del self._known[next(iter(self._known))]

    def dump(self) -> list[list[object]]:
        """For the snapshot."""
        return [[name, number, used_ms] for name, (number, used_ms) in self._known.items()]

    def load(self, rows: Any) -> None:
        """The reverse of `dump`."""
        self._known = {name: (number, used_ms) for name, number, used_ms in rows}


def _is_old(used_ms: int, now_ms: int) -> bool:
    return used_ms + COMMIT_UNIT_MS <= now_ms
