"""Random stream commands to OneMQ and a real redis-server: no reply differs.

    RANDOM_COMMANDS=100000 pytest tests/interop/test_random_streams.py     # more of them, from other seeds

Sequences that delete entries leave out the estimates of XINFO (entries-read and lag); the others compare them.
"""

import os

import pytest

from tests.interop.pair import Pair, needs_redis_server
from tests.interop.streams_random import check

pytestmark = needs_redis_server

COMMANDS = int(os.environ.get("RANDOM_COMMANDS", "5000"))
"""In each kind of sequences and version of RESP."""
SEQUENCE = 250
FIRST_SEED = int(os.environ.get("RANDOM_SEED", "1"))


@pytest.mark.parametrize("plain", [True, False], ids=["without deletions", "with deletions"])
def test_no_reply_differs(pair: Pair, plain: bool) -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + -(-COMMANDS // SEQUENCE)):
        check(pair, seed, SEQUENCE, plain)
