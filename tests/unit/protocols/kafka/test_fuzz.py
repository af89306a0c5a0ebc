"""A few seeds of the fuzz target; `make fuzz` runs it for as long as one likes."""

import pytest

from tests.fuzz import kafka_session


@pytest.mark.parametrize("seed", range(20))
def test_a_session_answers_anything_or_hangs_up(seed: int) -> None:
    kafka_session.run(seed)
