"""What the interop tests share."""

from collections.abc import Iterator

import pytest

from tests.interop.pair import Pair, connection, redis_server
from tests.interop.raw import RawPairs
from tests.process import Serve


@pytest.fixture(scope="module")
def onemq_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A OneMQ broker."""
    with Serve(tmp_path_factory.mktemp("onemq") / "data") as serving:
        serving.wait_until_serving()
        yield serving.port


@pytest.fixture(scope="module")
def redis_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A real redis-server."""
    with redis_server(tmp_path_factory.mktemp("redis")) as port:
        yield port


@pytest.fixture(params=[2, 3], ids=["RESP2", "RESP3"])
def pair(onemq_port: int, redis_port: int, request: pytest.FixtureRequest) -> Iterator[Pair]:
    """Both servers, empty, by RESP2 and by RESP3."""
    with connection(onemq_port, request.param) as ours, connection(redis_port, request.param) as theirs:
        both = Pair(ours, theirs)
        both.same("FLUSHALL")
        yield both


@pytest.fixture(params=[2, 3], ids=["RESP2", "RESP3"])
def raw_pairs(onemq_port: int, redis_port: int, request: pytest.FixtureRequest) -> Iterator[RawPairs]:
    """Raw connections to both servers, which are empty."""
    with RawPairs(onemq_port, redis_port, request.param) as pairs:
        yield pairs
