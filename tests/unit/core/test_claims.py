"""Claims: who takes over what others have, and how often that may be (C13)."""

import pytest

from onemq.core.group import Group
from onemq.core.redelivery import Ladder
from onemq.errors import InvalidArgument
from tests.unit.core.broker import SECOND_MS, Broker, in_flight


@pytest.fixture
def group(broker: Broker) -> Group:
    """A group on a topic with six messages, 0 to 5."""
    broker.topic()
    broker.send(*[b"%d" % number for number in range(6)])
    return broker.group()


def test_a_claim_takes_deliveries_that_were_idle_for_long_enough(broker: Broker, group: Group) -> None:
    """C13"""
    broker.receive(group, "a", most=2)
    broker.now_ms += 500
    broker.receive(group, "a", most=1)
    broker.now_ms += 500
    with broker.turn() as core:
        assert core.claims.claim(group, 0, range(10), "b", idle_ms_min=1_000) == [0, 1]
    assert in_flight(group) == {0: ("b", 2), 1: ("b", 2), 2: ("a", 1)}
    with broker.turn() as core:
        assert core.claims.claim(group, 0, [0], "c", idle_ms_min=1) == []
        core.groups.leave(group, "a")
    assert in_flight(group)[0] == ("b", 2)


def test_a_claim_may_leave_the_count_as_it_is(broker: Broker, group: Group) -> None:
    """C13: XCLAIM JUSTID"""
    broker.receive(group, "a", most=1)
    with broker.turn() as core:
        assert core.claims.claim(group, 0, [0], "b", counts=False) == [0]
    assert in_flight(group) == {0: ("b", 1)}


def test_who_claims_becomes_a_member_and_keeps_the_lease_it_had(broker: Broker, group: Group) -> None:
    """C13"""
    broker.receive(group, "a", most=2)
    with broker.turn() as core:
        core.groups.join(group, "leased", leased=True)
        core.claims.claim(group, 0, [0], "leased")
        core.claims.claim(group, 0, [1], "new")
    assert {name: member.leased for name, member in group.members.items()} == {"a": False, "leased": True, "new": False}


def test_a_claim_of_what_nobody_can_have_claims_nothing(broker: Broker, group: Group) -> None:
    broker.receive(group, "a", most=2)
    broker.acknowledge(group, 0)
    with broker.turn() as core:
        assert core.claims.claim(group, 0, [0, 2, 99], "b") == []
        with pytest.raises(InvalidArgument, match="member name"):
            core.claims.claim(group, 0, [1], "")
    assert "b" not in group.members


def test_a_message_that_was_given_back_uncounted_and_claimed_uncounted_can_fail(broker: Broker) -> None:
    """C13: it counts as handed out once."""
    broker.topic()
    broker.send(b"0")
    group = broker.group(policy=Ladder((SECOND_MS,)))
    broker.receive(group, "a")
    with broker.turn() as core:
        core.groups.give_back(group, 0, [0])
        core.claims.claim(group, 0, [0], "b", counts=False)
        core.groups.give_back(group, 0, [0])
        core.claims.claim(group, 0, [0], "b", counts=False)
    assert in_flight(group) == {0: ("b", 0)}
    assert broker.fail(group, 0) == 1
    broker.pass_ms(SECOND_MS)
    assert broker.bodies(group) == [b"0"]
