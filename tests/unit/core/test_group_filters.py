"""Groups with a filter: what does not match is passed over."""

import pytest

from onemq import limits
from onemq.errors import InvalidArgument
from onemq.message import TAG
from tests.unit.core.broker import Answers, Broker


def tagged(tag: bytes) -> dict[str, object]:
    return {"headers": ((TAG, tag),)}


def test_only_what_matches_is_handed_out_and_the_rest_counts_as_done(broker: Broker) -> None:
    broker.topic()
    group = broker.group(filter="a || b")
    for tag in b"xaxbx":
        broker.send(b"of " + bytes([tag]), **tagged(bytes([tag])))
    assert broker.bodies(group) == [b"of a", b"of b"]
    assert group.lag == 2
    broker.acknowledge(group, 1, 3)
    assert group.lag == 0
    assert group.cursors[0].low == 5


def test_a_filter_may_ask_for_headers_and_for_the_id(broker: Broker) -> None:
    topic = broker.topic(partitions=2)
    broker.send(b"a", b"b", number=1)
    broker.send(b"red", headers=((b"colour", b"red"),))
    group = broker.group(filter=f"colour = 'red' OR id = '{topic.id:x}-1-1'")
    assert sorted(body for body in broker.bodies(group) if body) == [b"b", b"red"]


def test_a_filter_that_is_none_is_refused_and_told(broker: Broker) -> None:
    broker.topic()
    with pytest.raises(InvalidArgument):
        broker.group(filter="colour = ")


def test_a_receiver_waits_until_something_matches(broker: Broker) -> None:
    broker.topic()
    answers = Answers(broker, broker.group(filter="a"))
    with broker.turn():
        answers.ask("m")
    broker.send(b"x", **tagged(b"x"))
    assert answers.told == {}
    broker.send(b"a", **tagged(b"a"))
    assert answers.told == {"m": [b"a"]}


def test_a_long_run_that_does_not_match_takes_several_turns(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SCREENED_PER_TURN_MAX", 10)
    broker.topic()
    group = broker.group(filter="a")
    with broker.turn() as core:
        for _ in range(25):
            core.send("t", b"x", headers=((TAG, b"x"),))
        core.send("t", b"a", headers=((TAG, b"a"),))
    answers = Answers(broker, group)
    with broker.turn():
        answers.ask("m", wait_ms=None)
    assert group.cursors[0].next == 10
    broker.now_ms += 1
    assert broker.core.tick(broker.now_ms) == broker.now_ms, "there is more to do at once"
    broker.end()
    assert (group.cursors[0].next, answers.told) == (20, {})
    broker.pass_ms(1)
    assert answers.told == {"m": [b"a"]}


def test_a_changed_filter_counts_for_what_was_not_handed_out_yet(broker: Broker) -> None:
    broker.topic()
    group = broker.group(filter="a")
    for tag in (b"a", b"b", b"a"):
        broker.send(tag, **tagged(tag))
    assert broker.bodies(group, most=1) == [b"a"]
    with broker.turn() as core:
        core.groups.alter(group, type(group.config)(filter="b"))
    assert broker.bodies(group) == [b"b"]


@pytest.mark.parametrize("how", ["kill", "stop", "power cut"])
def test_a_filter_and_what_it_passed_survive_a_restart(local: Broker, how: str) -> None:
    local.topic()
    group = local.group(filter="a")
    local.send(b"x", **tagged(b"x"))
    assert local.bodies(group) == []
    local.restart(how)
    group = local.core.groups.get("t", "g")
    assert group.cursors[0].next == 1
    local.send(b"x", **tagged(b"x"))
    local.send(b"a", **tagged(b"a"))
    assert local.bodies(group) == [b"a"]
