"""Random commands by hypothesis: what it draws them with, and how many there are.

    RANDOM_COMMANDS=1000000 RANDOM_SEED=7 pytest tests/interop/test_random_commands.py    more of them, and others

Each run without these draws the same ones. What differs is shortened and told as the calls that lead to it.
"""

import os
from bisect import bisect
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

COMMANDS = int(os.environ.get("RANDOM_COMMANDS", "5000"))
"""In each test of random commands."""
SEED = int(os.environ.get("RANDOM_SEED", "1"))
SEQUENCE = 100
"""How many times a server is asked before it is emptied."""

Item = TypeVar("Item")


class Drawn:
    """The part of `random.Random` that generators of commands need, drawn by hypothesis.

    The strategy `randoms` would do, but for its probabilities: they are far from those that were asked for."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self._draw = draw

    def random(self) -> float:
        """A number of hundredths. The greatest is the simplest: most options are given if it is below something."""
        return (99 - self.randrange(100)) / 100

    def randrange(self, start: int, stop: int | None = None) -> int:
        return self.randint(0, start - 1) if stop is None else self.randint(start, stop - 1)

    def randint(self, first: int, last: int) -> int:
        """Hypothesis prefers small numbers; far from zero, all are alike to it."""
        far = _FAR - first if last - first > _SMALL else 0
        return int(self._draw(_integers(first + far, last + far))) - far

    def choice(self, items: Sequence[Item]) -> Item:
        return items[self.randrange(len(items))]

    def choices(self, items: Sequence[Item], weights: Sequence[float]) -> list[Item]:
        """One of them, in a list. Weights count in hundredths."""
        ends = list(accumulate(round(100 * weight) for weight in weights))
        return [items[bisect(ends, self.randrange(ends[-1]))]]


_integers = cache(st.integers)
_FAR, _SMALL = 1_500_450, 16


def drawn(make: Callable[[Drawn], Item]) -> st.SearchStrategy[Item | None]:
    """What a generator makes; nothing, the simplest, one time in fifty, so that single ones can be taken out."""

    @st.composite
    def item(draw: Callable[[Any], Any]) -> Item | None:
        random = Drawn(draw)
        return make(random) if random.randrange(50) else None

    return item()


def run(machine: type[RuleBasedStateMachine], number: int) -> None:
    """Runs so many commands as there are to be; tests with different numbers have different ones.

    Each sequence is one of its own for hypothesis, since it varies what it has far more often than it draws anew."""
    for sequence in range(-(-COMMANDS // SEQUENCE)):
        run_state_machine_as_test(
            seed(1_000_000 * (10 * SEED + number) + sequence)(machine),
            settings=settings(
                max_examples=2,  # the simplest, which does nothing, and a random one
                stateful_step_count=SEQUENCE,
                phases=[Phase.generate, Phase.shrink],
                deadline=None,
                database=None,
                report_multiple_bugs=False,
                suppress_health_check=list(HealthCheck),
            ),
        )
