"""A broker over each engine."""

import pytest

from tests.unit.core.broker import ENGINES, Broker, simulated


@pytest.fixture(params=ENGINES)
def broker(request: pytest.FixtureRequest) -> Broker:
    """Over both engines, one after the other."""
    return ENGINES[request.param]()


@pytest.fixture
def local() -> Broker:
    """Over files on a simulated disk: it can be restarted."""
    return simulated()
