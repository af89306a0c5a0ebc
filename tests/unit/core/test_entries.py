"""Runs of offsets: how entries write down what was delivered and acknowledged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onemq.core.entries import offsets_of, runs_of


@pytest.mark.parametrize(
    ("offsets", "runs"),
    [
        ([7], [7, 7]),
        ([7, 8, 9], [7, 9]),
        ([7, 9], [7, 7, 9, 9]),
        ([0, 1, 3, 4, 5, 9], [0, 1, 3, 5, 9, 9]),
    ],
)
def test_neighbours_are_one_run(offsets: list[int], runs: list[int]) -> None:
    assert runs_of(offsets) == runs


@given(st.sets(st.integers(0, 200), min_size=1))
def test_runs_give_back_the_offsets_they_were_made_of(offsets: set[int]) -> None:
    assert list(offsets_of(runs_of(sorted(offsets)))) == sorted(offsets)
