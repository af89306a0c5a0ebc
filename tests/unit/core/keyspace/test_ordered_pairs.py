import random
from operator import itemgetter

import pytest

from onemq.core.keyspace import ordered_pairs
from onemq.core.keyspace.ordered_pairs import OrderedPairs, Pair


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks so small that every path over several of them is taken."""
    monkeypatch.setattr(ordered_pairs, "CHUNK_PAIRS_MAX", 8)
    monkeypatch.setattr(ordered_pairs, "_CHUNK_PAIRS_MIN", 2)


def pairs_of(numbers: range) -> list[Pair]:
    return [(float(number), b"%d" % number) for number in numbers]


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("seed", range(20))
def test_it_behaves_like_a_sorted_list(seed: int) -> None:
    choose = random.Random(seed)
    expected: list[Pair] = pairs_of(range(choose.choice([0, 1, 50])))
    ordered = OrderedPairs(list(expected))
    for _ in range(600):
        pair = (float(choose.randrange(40)), b"%d" % choose.randrange(20))
        step = choose.random()
        if pair in expected:
            assert ordered.rank(pair) == expected.index(pair)
            ordered.remove(pair)
            expected.remove(pair)
        elif step < 0.6:
            ordered.add(pair)
            expected = sorted([*expected, pair])
        elif expected:
            first = choose.randrange(len(expected))
            end = min(first + choose.choice([1, 3, 30]), len(expected))
            assert ordered.between(first, end) == expected[first:end]
            if step < 0.75:
                assert ordered.cut(first, end) == expected[first:end]
                del expected[first:end]
        assert list(ordered) == expected


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("count", [0, 1, 8, 100])
def test_scores_are_found_before_and_after(count: int) -> None:
    pairs = sorted((float(number // 3), b"%d" % number) for number in range(count))
    ordered = OrderedPairs(list(pairs))
    for score in [-1.0, 0.0, 0.5, 1.0, 7.0, 32.0, 33.0, 99.0]:
        below = sum(pair[0] < score for pair in pairs)
        not_above = sum(pair[0] <= score for pair in pairs)
        assert ordered.rank_of_first(score, itemgetter(0), after=False) == below
        assert ordered.rank_of_first(score, itemgetter(0), after=True) == not_above


def test_chunks_stay_within_their_limits() -> None:
    ordered = OrderedPairs([])
    pairs = pairs_of(range(10_000))
    random.Random(1).shuffle(pairs)
    for pair in pairs:
        ordered.add(pair)
    for pair in pairs[:9_000]:
        ordered.remove(pair)
    sizes = [len(chunk) for chunk in ordered._chunks]
    assert max(sizes) <= ordered_pairs.CHUNK_PAIRS_MAX
    assert len(sizes) <= 1_000 // (ordered_pairs.CHUNK_PAIRS_MAX // 4) + 1
    assert list(ordered) == sorted(pairs[9_000:])
