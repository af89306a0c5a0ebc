"""A few seeds of the fuzz targets; `make fuzz` runs them for as long as one likes."""

import pytest

from tests.fuzz import batches, resp_decoder, resp_session


@pytest.mark.parametrize("seed", range(100))
def test_the_decoders_agree(seed: int) -> None:
    resp_decoder.run(seed)


@pytest.mark.parametrize("seed", range(100))
def test_a_session_answers_anything(seed: int) -> None:
    resp_session.run(seed)


@pytest.mark.parametrize("seed", range(100))
def test_a_batch_is_refused_or_can_be_read(seed: int) -> None:
    batches.run(seed)
