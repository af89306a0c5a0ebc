"""Ten thousand random commands to OneMQ and to redis-server: no difference in any reply, nor in what is left."""

import pytest

from tests.interop.pair import needs_redis_server
from tests.interop.random_commands import Server, check

SEQUENCES = 100
LENGTH = 100
PARTS = 10


@needs_redis_server
@pytest.mark.parametrize("part", range(PARTS))
def test_random_commands_have_the_same_effect_as_on_redis(onemq_port: int, redis_port: int, part: int) -> None:
    for seed in range(part, SEQUENCES, PARTS):
        protocol = 2 + seed // PARTS % 2
        ours, theirs = Server(onemq_port, protocol), Server(redis_port, protocol)
        told = check(seed, LENGTH, ours, theirs)
        ours.close()
        theirs.close()
        assert not told, told
