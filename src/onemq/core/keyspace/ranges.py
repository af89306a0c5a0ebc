"""Ranges of a sorted set: by score and by member. Each says which ranks it covers."""

from dataclasses import dataclass
from math import inf

from onemq.core.keyspace.ranking import MEMBER, SCORE, Ranking


@dataclass(frozen=True, slots=True)
class ScoreRange:
    """Scores from `low` to `high`, an open end not included."""

    low: float = -inf
    high: float = inf
    low_open: bool = False
    high_open: bool = False

    def ranks(self, ranking: Ranking) -> tuple[int, int]:
        """The half-open range of ranks; the end is not above the first if nothing is in it."""
        find = ranking.pairs.rank_of_first
        return find(self.low, SCORE, after=self.low_open), find(self.high, SCORE, after=not self.high_open)


@dataclass(frozen=True, slots=True)
class MemberRange:
    """Members from `low` to `high` by their bytes, an open end not included; None is no limit.

    Meant for sorted sets whose scores are all equal; with others, which members come is not defined.
    """

    low: bytes | None = None
    high: bytes | None = None
    low_open: bool = False
    high_open: bool = False

    def ranks(self, ranking: Ranking) -> tuple[int, int]:
        """The half-open range of ranks; the end is not above the first if nothing is in it."""
        find = ranking.pairs.rank_of_first
        first = 0 if self.low is None else find(self.low, MEMBER, after=self.low_open)
        end = len(ranking) if self.high is None else find(self.high, MEMBER, after=not self.high_open)
        return first, end


Range = ScoreRange | MemberRange
