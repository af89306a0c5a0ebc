"""What the tests of MQ.* share."""

import pytest

from tests.unit.protocols.resp.mq.talk import Connection, Talk


@pytest.fixture
def talk() -> Talk:
    return Talk()


@pytest.fixture
def mq(talk: Talk) -> Connection:
    """A connection that speaks RESP3."""
    return talk.connect()
