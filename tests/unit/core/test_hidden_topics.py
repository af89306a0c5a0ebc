"""A topic that is made under a name that a key has: nothing of either is lost, and a restart changes nothing."""

import pytest

from onemq.errors import AlreadyExists, WrongType
from tests.unit.core.broker import Broker


def seen(broker: Broker) -> tuple[str | None, bool]:
    core = broker.core
    return core.keys.type_of(b"s"), core.topics.find("s") is not None


def hide(broker: Broker) -> None:
    """A string, and then a topic of the same name."""
    with broker.turn() as core:
        core.keys.strings.set(b"s", b"text")
        core.topics.create("s")


def test_the_key_is_what_is_seen(broker: Broker) -> None:
    hide(broker)
    assert seen(broker) == ("string", True)
    with pytest.raises(WrongType):
        broker.core.streams.get(b"s")


@pytest.mark.parametrize("checkpoint", [False, True])
def test_the_topic_is_seen_when_the_key_goes(local: Broker, checkpoint: bool) -> None:
    hide(local)
    with local.turn() as core:
        core.keys.delete(b"s")
    assert seen(local) == ("stream", True)
    if checkpoint:
        local.core.log.checkpoint(local.core.dump())
    local.restart()
    assert seen(local) == ("stream", True)


def test_a_restart_changes_nothing(local: Broker) -> None:
    hide(local)
    local.core.log.checkpoint(local.core.dump())
    with local.turn() as core:
        core.keys.strings.set(b"s", b"other")
    local.restart()
    assert seen(local) == ("string", True)


def test_flushing_takes_both(local: Broker) -> None:
    hide(local)
    with local.turn() as core:
        core.keys.flush()
    assert seen(local) == (None, False)
    local.restart()
    assert seen(local) == (None, False)


def test_a_stream_cannot_take_the_name_and_the_key_stays(broker: Broker) -> None:
    hide(broker)
    with broker.turn() as core:
        core.topics.create("other")
        with pytest.raises(AlreadyExists):
            core.keys.rename(b"other", b"s")
    assert seen(broker) == ("string", True)
    assert broker.core.keys.type_of(b"other") == "stream"
