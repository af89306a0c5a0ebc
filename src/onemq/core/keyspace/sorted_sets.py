"""Sorted sets: distinct members with scores, read in the order of (score, member).

Commands that return members with their scores return pairs `(score, member)`. The four conditions
of `add` and `increment` go by these words:

    if_absent    only new members            if_greater   known members only up
    if_present   only known members          if_less      known members only down
"""

from collections.abc import Sequence
from math import isnan

from onemq.core.keyspace.entries import (
    KEYS_DELETED,
    SORTED_SET_ADDED,
    SORTED_SET_CUT,
    SORTED_SET_REMOVED,
    SORTED_SET_STORED,
    Appliers,
    Entry,
)
from onemq.core.keyspace.indexes import clip
from onemq.core.keyspace.ordered_pairs import Pair
from onemq.core.keyspace.ranges import Range
from onemq.core.keyspace.ranking import Ranking
from onemq.core.keyspace.table import Table
from onemq.errors import InvalidArgument


class SortedSets:
    """The commands on sorted sets. All raise WrongType for a key of another type; no key is an empty one."""

    def __init__(self, keys: Table) -> None:
        self._keys = keys

    def appliers(self) -> Appliers:
        """What applies each kind of entry."""
        return {
            SORTED_SET_ADDED: self._added,
            SORTED_SET_REMOVED: self._removed,
            SORTED_SET_CUT: self._cut,
            SORTED_SET_STORED: self._stored,
        }

    def add(
        self,
        key: bytes,
        pairs: Sequence[Pair],
        *,
        if_absent: bool = False,
        if_present: bool = False,
        if_greater: bool = False,
        if_less: bool = False,
    ) -> tuple[int, int]:
        """Sets the scores of members, one after the other, where the conditions hold.

        Returns how many members are new, and how many known ones changed their score.
        Raises InvalidArgument for a score that is no number; nothing is added then.
        """
        ranking = self._keys.writing(key, Ranking)
        known = ranking.scores if ranking is not None else {}
        changes: dict[bytes, float] = {}
        added = updated = 0
        for score, member in pairs:
            if isnan(score):
                raise InvalidArgument("value is not a valid float")
            old = changes.get(member, known.get(member))
            if not _wanted(old, score, if_absent, if_present, if_greater, if_less):
                continue
            if old is None:
                added += 1
            elif old == score:
                continue
            else:
                updated += 1
            changes[member] = score + 0.0  # never -0.0
        if changes:
            self._put(key, changes, pushed=added > 0)
        return added, updated

    def increment(
        self,
        key: bytes,
        member: bytes,
        by: float,
        *,
        if_absent: bool = False,
        if_present: bool = False,
        if_greater: bool = False,
        if_less: bool = False,
    ) -> float | None:
        """Adds to the score of a member, or adds the member with this score; returns the sum.

        None if a condition did not hold. Raises InvalidArgument if the sum is no number.
        """
        ranking = self._keys.writing(key, Ranking)
        old = ranking.scores.get(member) if ranking is not None else None
        score = by if old is None else old + by
        if not _wanted(old, score, if_absent, if_present, if_greater, if_less):
            return None
        if isnan(score):
            raise InvalidArgument("resulting score is not a number (NaN)")
        if score != old:
            self._put(key, {member: score + 0.0}, pushed=old is None)  # never -0.0, whatever is answered
        return score

    def remove(self, key: bytes, members: Sequence[bytes]) -> int:
        """Removes members; returns how many were in."""
        ranking = self._keys.writing(key, Ranking)
        if ranking is None:
            return 0
        gone = [member for member in dict.fromkeys(members) if member in ranking.scores]
        if gone:
            entry = (SORTED_SET_REMOVED, key, gone)
            self._removed(entry)
            self._keys.stage(entry)
        return len(gone)

    def remove_ranks(self, key: bytes, start: int, stop: int) -> int:
        """Removes the ranks `start` to `stop`, both included, negative from the end; returns how many."""
        ranking = self._keys.writing(key, Ranking)
        return 0 if ranking is None else len(self._take(key, *clip(start, stop, len(ranking))))

    def remove_range(self, key: bytes, wanted: Range) -> int:
        """Removes a range of scores or members; returns how many were in it."""
        ranking = self._keys.writing(key, Ranking)
        return 0 if ranking is None else len(self._take(key, *wanted.ranks(ranking)))

    def pop_min(self, key: bytes, count: int = 1) -> list[Pair]:
        """Removes and returns up to `count` pairs, lowest first."""
        ranking = self._keys.writing(key, Ranking)
        return [] if ranking is None else self._take(key, 0, min(count, len(ranking)))

    def pop_max(self, key: bytes, count: int = 1) -> list[Pair]:
        """Removes and returns up to `count` pairs, highest first."""
        ranking = self._keys.writing(key, Ranking)
        if ranking is None:
            return []
        length = len(ranking)
        return self._take(key, max(length - count, 0), length)[::-1]

    def store(self, key: bytes, pairs: Sequence[Pair]) -> int:
        """Puts a sorted set of these pairs in place of whatever is there; returns how many members it has.

        Without pairs the key is gone.
        """
        keys = self._keys
        scores = {member: score + 0.0 for score, member in pairs}
        if scores:
            entry: tuple[object, ...] = (SORTED_SET_STORED, key, list(scores.values()), list(scores))
            self._stored(entry)
            keys.stage(entry)
            if keys.on_push is not None:
                keys.on_push(key)
        elif key in keys.values:
            entry = (KEYS_DELETED, [key])
            keys.removed(entry)
            keys.stage(entry)
        return len(scores)

    def score(self, key: bytes, member: bytes) -> float | None:
        """The score of a member, or None."""
        ranking = self._keys.reading(key, Ranking)
        return None if ranking is None else ranking.scores.get(member)

    def rank(self, key: bytes, member: bytes, reverse: bool = False) -> int | None:
        """The place of a member, counted from 0 at the lowest, with `reverse` at the highest, or None."""
        ranking = self._keys.reading(key, Ranking)
        rank = None if ranking is None else ranking.rank(member)
        if ranking is None or rank is None:
            return None
        return len(ranking) - 1 - rank if reverse else rank

    def cardinality(self, key: bytes) -> int:
        """The number of members."""
        ranking = self._keys.reading(key, Ranking)
        return 0 if ranking is None else len(ranking)

    def count(self, key: bytes, wanted: Range) -> int:
        """The number of members in a range of scores or members."""
        ranking = self._keys.reading(key, Ranking)
        if ranking is None:
            return 0
        first, end = wanted.ranks(ranking)
        return max(end - first, 0)

    def ranks(self, key: bytes, start: int, stop: int, reverse: bool = False) -> list[Pair]:
        """The pairs of the ranks `start` to `stop`, both included, negative from the end.

        With `reverse` ranks count from the highest, and the highest comes first.
        """
        ranking = self._keys.reading(key, Ranking)
        if ranking is None:
            return []
        first, end = clip(start, stop, len(ranking))
        if reverse:
            first, end = len(ranking) - end, len(ranking) - first
        return _pairs(ranking, first, end, reverse)

    def range(
        self, key: bytes, wanted: Range, reverse: bool = False, offset: int = 0, count: int | None = None
    ) -> list[Pair]:
        """The pairs in a range of scores or members, with `reverse` highest first.

        Skips the first `offset` of them and returns at most `count`, all of them if it is negative.
        """
        ranking = self._keys.reading(key, Ranking)
        if ranking is None or offset < 0:
            return []
        first, end = wanted.ranks(ranking)
        size = max(end - first - offset, 0)
        if count is not None and 0 <= count < size:
            size = count
        if reverse:
            return _pairs(ranking, end - offset - size, end - offset, reverse)
        return _pairs(ranking, first + offset, first + offset + size, reverse)

    def _put(self, key: bytes, scores: dict[bytes, float], pushed: bool) -> None:
        entry = (SORTED_SET_ADDED, key, list(scores.values()), list(scores))
        self._added(entry)
        self._keys.stage(entry)
        if pushed and self._keys.on_push is not None:
            self._keys.on_push(key)

    def _take(self, key: bytes, first: int, end: int) -> list[Pair]:
        if end <= first:
            return []
        entry = (SORTED_SET_CUT, key, first, end)
        pairs = self._cut(entry)
        self._keys.stage(entry)
        return pairs

    def _added(self, entry: Entry) -> None:
        _, key, scores, members = entry
        keys = self._keys
        ranking = keys.values.get(key)
        if ranking is None:
            keys.create(key, Ranking(scores, members))
        else:
            for score, member in zip(scores, members, strict=True):
                ranking.put(member, score)
        if keys.watched:
            keys.changed(key)

    def _removed(self, entry: Entry) -> None:
        _, key, members = entry
        ranking = self._keys.values[key]
        for member in members:
            ranking.discard(member)
        self._shrunk(key, ranking)

    def _cut(self, entry: Entry) -> list[Pair]:
        _, key, first, end = entry
        ranking = self._keys.values[key]
        pairs: list[Pair] = ranking.cut(first, end)
        self._shrunk(key, ranking)
        return pairs

    def _stored(self, entry: Entry) -> None:
        _, key, scores, members = entry
        self._keys.put(key, Ranking(scores, members))
        if self._keys.watched:
            self._keys.changed(key)

    def _shrunk(self, key: bytes, ranking: Ranking) -> None:
        if not ranking:
            self._keys.drop(key)
        if self._keys.watched:
            self._keys.changed(key)


def _pairs(ranking: Ranking, first: int, end: int, reverse: bool) -> list[Pair]:
    if end <= first:
        return []
    pairs = ranking.pairs.between(first, end)
    return pairs[::-1] if reverse else pairs


def _wanted(
    old: float | None, score: float, if_absent: bool, if_present: bool, if_greater: bool, if_less: bool
) -> bool:
    if old is None:
        return not if_present
    return not (if_absent or (if_greater and score <= old) or (if_less and score >= old))
