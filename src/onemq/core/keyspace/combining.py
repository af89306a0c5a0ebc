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
    for members, weight in _smallest_first(found, weights):
        for member, score in members.items():
            weighed = _weighed(score, weight)
            scores[member] = aggregate(scores[member], weighed) if member in scores else weighed
    return _pairs(scores)


def intersection(found: Sequence[Mapping[bytes, float]], weights: Sequence[float], aggregate: Aggregate) -> list[Pair]:
    """What is in all inputs, in order."""
    (smallest, weight), *others = _smallest_first(found, weights)
    scores: dict[bytes, float] = {}
    for member, score in smallest.items():
        if all(member in members for members, _ in others):
            total = _weighed(score, weight)
            for members, other_weight in others:  # no number from one of them makes a sum 0 and is no extreme
                total = aggregate(total, members[member] * other_weight)
            scores[member] = total
    return _pairs(scores)


def difference(found: Sequence[Mapping[bytes, float]]) -> list[Pair]:
    """What is in the first input and in no other, in order."""
    first, *others = found
    return _pairs({
        member: score for member, score in first.items() if not any(member in members for members in others)
    })  # fmt: skip


def _smallest_first(
    found: Sequence[Mapping[bytes, float]], weights: Sequence[float]
) -> list[tuple[Mapping[bytes, float], float]]:
    """The inputs with their weights, in the order in which Redis adds scores up: it decides how sums are rounded."""
    return sorted(zip(found, weights, strict=True), key=lambda weighed: len(weighed[0]))


def _weighed(score: float, weight: float) -> float:
    weighed = score * weight
    return 0.0 if isnan(weighed) else weighed


def _pairs(scores: Mapping[bytes, float]) -> list[Pair]:
    return sorted((score, member) for member, score in scores.items())
