"""The fuzz target of filters, over a few seeds; `make fuzz` goes on for ever."""

import pytest

from tests.fuzz import filters


@pytest.mark.parametrize("start", range(0, 200, 50))
def test_random_filters_mean_what_a_slow_evaluator_says(start: int) -> None:
    for seed in range(start, start + 50):
        filters.run(seed)
