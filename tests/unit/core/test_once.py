"""Groups that must not hand out a business key again."""

import pytest

from onemq import limits
from onemq.core.group import Group, GroupConfig
from onemq.core.redelivery import Immediate
from onemq.errors import InvalidArgument
from tests.unit.core.broker import DAY_MS, HOUR_MS, Broker

RESTARTS = pytest.mark.parametrize("how", ["kill", "stop", "power cut"])


def once(broker: Broker, what: str = "key", **settings: object) -> Group:
    broker.topic()
    return broker.group(once=what, **settings)


def test_a_key_that_was_acknowledged_is_passed_over(broker: Broker) -> None:
    group = once(broker)
    broker.send(b"1", key=b"order 1")
    assert broker.bodies(group) == [b"1"]
    broker.acknowledge(group, 0)
    broker.send(b"2", key=b"order 1")
    broker.send(b"3", key=b"order 2")
    assert broker.bodies(group) == [b"3"]
    assert group.lag == 1
    with broker.turn() as core:
        assert core.groups.once_seen(group, b"order 1")
        assert not core.groups.once_seen(group, b"order 2")


def test_a_second_message_waits_while_the_first_is_unacknowledged(broker: Broker) -> None:
    group = once(broker)
    broker.send(b"1", b"2", key=b"k")
    assert broker.bodies(group) == [b"1"]
    assert broker.bodies(group, "n") == []
    broker.acknowledge(group, 0)
    assert broker.bodies(group, "n") == []
    assert group.lag == 0


def test_a_second_message_gets_its_chance_when_the_first_becomes_a_dead_letter(broker: Broker) -> None:
    group = once(broker, policy=Immediate(1))
    broker.send(b"1", b"2", key=b"k")
    broker.bodies(group)
    broker.fail(group, 0)
    assert broker.bodies(group) == [b"2"]


def test_a_header_or_the_id_can_be_the_key(broker: Broker) -> None:
    group = once(broker, "header:payment")
    for payment in (b"7", b"8", b"7"):
        broker.send(b"of " + payment, headers=((b"payment", payment),))
    broker.send(b"without", b"without")
    assert broker.bodies(group) == [b"of 7", b"of 8", b"without", b"without"]
    other = broker.group(name="by id", once="id")
    assert len(broker.bodies(other)) == 5
    assert not broker.core.groups.once_seen(other, b"1-0-0")
    broker.acknowledge(other, 0)
    assert broker.core.groups.once_seen(other, b"1-0-0")


def test_keys_are_forgotten_after_their_time(broker: Broker) -> None:
    group = once(broker, once_ms=HOUR_MS)
    broker.send(b"1", key=b"k")
    broker.bodies(group)
    broker.acknowledge(group, 0)
    broker.now_ms += HOUR_MS
    broker.send(b"2", key=b"k")
    assert broker.bodies(group) == [b"2"]


def test_housekeeping_forgets_them_for_good(broker: Broker) -> None:
    group = once(broker, once_ms=HOUR_MS)
    broker.send(b"1", key=b"k")
    broker.bodies(group)
    broker.acknowledge(group, 0)
    assert group.once_keys is not None
    assert len(group.once_keys) == 1
    broker.pass_ms(DAY_MS)
    assert len(group.once_keys) == 0


def test_the_oldest_are_forgotten_first_when_there_are_too_many(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "ONCE_KEYS_MAX", 32)
    group = once(broker)
    for number in range(33):
        broker.send(b"x", key=b"%d" % number)
    broker.bodies(group)
    for number in range(33):
        broker.acknowledge(group, number)
    seen = [broker.core.groups.once_seen(group, b"%d" % number) for number in range(33)]
    assert seen == [False] * 3 + [True] * 30


@RESTARTS
def test_what_was_acknowledged_and_what_waits_survive_a_restart(local: Broker, how: str) -> None:
    group = once(local)
    local.send(b"1", b"2", key=b"a")
    local.send(b"3", b"4", key=b"b")
    local.bodies(group)
    local.acknowledge(group, 0)
    local.restart(how)
    group = local.core.groups.get("t", "g")
    assert local.core.groups.once_seen(group, b"a")
    assert local.bodies(group) == []
    local.acknowledge(group, 2)
    local.send(b"5", key=b"a")
    local.send(b"6", key=b"b")
    assert local.bodies(group) == []
    assert group.lag == 0


def test_the_acknowledgement_and_its_memory_are_one_unit(broker: Broker) -> None:
    group = once(broker)
    broker.send(b"1", key=b"k")
    broker.bodies(group)
    with broker.turn() as core:
        unit = core.unit()
        unit.acknowledge(group, 0, [0])
        assert not core.groups.once_seen(group, b"k")
        unit.commit()
        assert core.groups.once_seen(group, b"k")


def test_keys_are_kept_apart_from_those_of_another_choice(broker: Broker) -> None:
    group = once(broker)
    broker.send(b"1", key=b"k")
    broker.bodies(group)
    with broker.turn() as core:
        core.groups.alter(group, GroupConfig(once="header:h"))
    broker.send(b"2", headers=((b"h", b"k"),))
    assert broker.bodies(group) == [], "what was handed out by the old rule must be done first"
    broker.acknowledge(group, 0)
    assert broker.bodies(group) == [b"2"]


def test_a_group_that_gives_it_up_forgets(broker: Broker) -> None:
    group = once(broker)
    broker.send(b"1", b"2", key=b"k")
    broker.bodies(group)
    with broker.turn() as core:
        core.groups.alter(group, GroupConfig())
    assert broker.bodies(group) == [b"2"]
    broker.acknowledge(group, 0, 1)
    assert not broker.core.groups.once_seen(group, b"k")


def test_an_order_and_once_together_keep_both(broker: Broker) -> None:
    broker.topic()
    group = broker.group(order="key", once="header:h")
    broker.send(b"a1", key=b"a", headers=((b"h", b"1"),))
    broker.send(b"b2", key=b"b", headers=((b"h", b"1"),))
    broker.send(b"b3", key=b"b", headers=((b"h", b"2"),))
    broker.send(b"c4", key=b"c", headers=((b"h", b"3"),))
    assert broker.bodies(group) == [b"a1", b"c4"]
    broker.acknowledge(group, 0)
    assert broker.bodies(group) == [b"b3"]
    broker.acknowledge(group, 2, 3)
    assert group.lag == 0


@pytest.mark.parametrize("what", ["", "body", "header:", "keys"])
def test_what_is_no_key_is_refused(broker: Broker, what: str) -> None:
    broker.topic()
    with pytest.raises(InvalidArgument, match="once must be"):
        broker.group(once=what)


def test_a_time_that_makes_no_sense_is_refused(broker: Broker) -> None:
    broker.topic()
    with pytest.raises(InvalidArgument, match="once_ms"):
        broker.group(once="key", once_ms=0)
