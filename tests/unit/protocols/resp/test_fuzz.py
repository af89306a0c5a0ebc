"""A few seeds of the fuzz targets; `make fuzz` runs them for as long as one likes."""

import pytest

from tests.fuzz import resp_decoder, resp_session


@pytest.mark.parametrize("seed", range(100))
def test_the_decoders_agree(seed: int) -> None:
    resp_decoder.run(seed)


@pytest.mark.parametrize("seed", range(100))
def test_a_session_answers_anything(seed: int) -> None:
    resp_session.run(seed)
