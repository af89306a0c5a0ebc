"""The value of a sorted set: every member's score, and the members in order of score."""

from collections.abc import Iterable
from operator import itemgetter

from onemq.core.keyspace.ordered_pairs import OrderedPairs, Pair

SCORE = itemgetter(0)
MEMBER = itemgetter(1)


class Ranking:
    """Members with scores, ordered by (score, member). Scores are floats, never NaN."""

    __slots__ = ("pairs", "scores")

    def __init__(self, scores: Iterable[float] = (), members: Iterable[bytes] = ()) -> None:
        """Takes scores and members side by side; a member that comes twice has its last score."""
        self.scores: dict[bytes, float] = dict(zip(members, scores, strict=True))
        # Sorting what is in order already, as in a snapshot, is linear.
        self.pairs = OrderedPairs(sorted(zip(self.scores.values(), self.scores, strict=True)))

    def __len__(self) -> int:
        return len(self.scores)

    def put(self, member: bytes, score: float) -> None:
        """Adds the member or changes its score."""
        old = self.scores.get(member)
        if old is not None:
            self.pairs.remove((old, member))
        self.scores[member] = score
        self.pairs.add((score, member))

    def discard(self, member: bytes) -> None:
        """Removes the member if it is there."""
        score = self.scores.pop(member, None)
        if score is not None:
            self.pairs.remove((score, member))

    def cut(self, first: int, end: int) -> list[Pair]:
        """Removes the ranks first..end-1, which must exist, and returns their pairs."""
        pairs = self.pairs.cut(first, end)
        for _, member in pairs:
            del self.scores[member]
        return pairs

    def rank(self, member: bytes) -> int | None:
        """The member's place counted from the lowest, or None."""
        score = self.scores.get(member)
        return None if score is None else self.pairs.rank((score, member))
