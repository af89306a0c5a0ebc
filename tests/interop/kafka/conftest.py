"""What the tests with Kafka's clients share: one broker, and a fresh topic for each test."""

import re
from collections.abc import Iterator
from itertools import count

import pytest

from tests.process import Serve

_numbers = count(1)


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """A OneMQ broker that speaks Kafka's protocol; `kafka.port` is that of Redis's."""
    with Serve(tmp_path_factory.mktemp("kafka") / "data", kafka=True) as serving:
        serving.wait_until_serving()
        yield serving


@pytest.fixture(scope="session")
def bootstrap(kafka: Serve) -> str:
    """Its address, as clients want it."""
    return f"127.0.0.1:{kafka.kafka_port}"


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A name that no other test has."""
    return f"{re.sub('[^a-z0-9]+', '-', request.node.name.lower())[:80]}-{next(_numbers)}"
