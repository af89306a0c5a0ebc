"""Union, intersection and difference of sorted sets and sets; in a set every member has the score 1."""

from collections.abc import Callable, Mapping, Sequence
from math import isnan

from onemq.core.keyspace.ordered_pairs import Pair
from onemq.core.keyspace.ranking import Ranking
from onemq.core.keyspace.table import Table
from onemq.core.keyspace.values import Members
from onemq.errors import WrongType

Aggregate = Callable[[float, float], float]
"""The score of a member from those that it has in two inputs."""


def add_scores(one: float, other: float) -> float:
    """The sum; infinities of both signs are 0 together."""
    total = one + other
    return 0.0 if isnan(total) else total


def inputs(keys: Table, names: Sequence[bytes]) -> list[dict[bytes, float]]:
    """The scores of each input, empty for one that is not there. Raises WrongType."""
    return [_scores(keys, name) for name in names]


def _scores(keys: Table, name: bytes) -> dict[bytes, float]:
    try:
        ranking = keys.reading(name, Ranking)
    except WrongType:
        return dict.fromkeys(keys.reading(name, Members) or (), 1.0)
    return {} if ranking is None else ranking.scores


def union(found: Sequence[Mapping[bytes, float]], weights: Sequence[float], aggregate: Aggregate) -> list[Pair]:
    """What is in any input, in order."""
    scores: dict[bytes, float] = {}
    for members, weight in zip(found, weights, strict=True):
        for member, score in members.items():
            weighed = _weighed(score, weight)
            scores[member] = aggregate(scores[member], weighed) if member in scores else weighed
    return _pairs(scores)


def intersection(found: Sequence[Mapping[bytes, float]], weights: Sequence[float], aggregate: Aggregate) -> list[Pair]:
    """What is in all inputs, in order."""
    smallest = min(found, key=len)
    scores: dict[bytes, float] = {}
    for member in smallest:
        if all(member in members for members in found):
            first, *others = (
                _weighed(members[member], weight) for members, weight in zip(found, weights, strict=True)
            )
            for other in others:
                first = aggregate(first, other)
            scores[member] = first
    return _pairs(scores)


def difference(found: Sequence[Mapping[bytes, float]]) -> list[Pair]:
    """What is in the first input and in no other, in order."""
    first, *others = found
    return _pairs({
        member: score for member, score in first.items() if not any(member in members for members in others)
    })  # fmt: skip


def _weighed(score: float, weight: float) -> float:
    weighed = score * weight
    return 0.0 if isnan(weighed) else weighed


def _pairs(scores: Mapping[bytes, float]) -> list[Pair]:
    return sorted((score, member) for member, score in scores.items())
