"""Ordered groups: by key, and by partition."""

import pytest

from onemq import limits
from onemq.core.group import Group, GroupConfig
from onemq.core.redelivery import ORDERED_POLICY, Immediate
from onemq.message import ORDER_KEY
from tests.unit.core.broker import SECOND_MS, Answers, Broker

RESTARTS = pytest.mark.parametrize("how", ["kill", "stop", "power cut"])


def by_key(broker: Broker, **settings: object) -> Group:
    broker.topic()
    return broker.group(order="key", policy=ORDERED_POLICY, **settings)


def by_partition(broker: Broker, partitions: int = 1, **settings: object) -> Group:
    broker.topic(partitions=partitions)
    return broker.group(order="partition", policy=ORDERED_POLICY, **settings)


def send(broker: Broker, *bodies: bytes) -> None:
    """Messages whose key is their first letter."""
    for body in bodies:
        broker.send(body, key=body[:1])


# By key


def test_one_message_of_a_key_is_handed_out_at_a_time_and_others_go_on(broker: Broker) -> None:
    group = by_key(broker)
    send(broker, b"a1", b"a2", b"b1", b"a3", b"b2")
    assert broker.bodies(group, "m") == [b"a1", b"b1"]
    assert broker.bodies(group, "n") == []
    broker.acknowledge(group, 0)
    assert broker.bodies(group, "n") == [b"a2"]
    broker.acknowledge(group, 2, 1)
    assert broker.bodies(group, "m") == [b"a3", b"b2"]
    broker.acknowledge(group, 3, 4)
    assert group.lag == 0


def test_messages_without_a_key_have_no_order(broker: Broker) -> None:
    group = by_key(broker)
    broker.send(b"1", b"2")
    assert broker.bodies(group) == [b"1", b"2"]


def test_an_order_key_counts_more_than_the_key(broker: Broker) -> None:
    group = by_key(broker)
    broker.send(b"1", key=b"k", headers=((ORDER_KEY, b"x"),))
    broker.send(b"2", key=b"k", headers=((ORDER_KEY, b"y"),))
    broker.send(b"3", key=b"l", headers=((ORDER_KEY, b"x"),))
    assert broker.bodies(group) == [b"1", b"2"]


def test_a_failed_message_blocks_its_key_until_it_is_done_a_second_later(broker: Broker) -> None:
    group = by_key(broker)
    send(broker, b"a1", b"a2", b"b1")
    broker.bodies(group, most=1)
    broker.fail(group, 0)
    assert broker.bodies(group) == [b"b1"]
    broker.pass_ms(SECOND_MS)
    assert [(record[3], count) for _, record, count in broker.receive(group)] == [(b"a1", 2)]
    broker.acknowledge(group, 0)
    assert broker.bodies(group) == [b"a2"]


def test_a_dead_letter_lets_its_key_go_on(broker: Broker) -> None:
    broker.topic()
    group = broker.group(order="key", policy=Immediate(1))
    send(broker, b"a1", b"a2")
    broker.bodies(group)
    broker.fail(group, 0)
    assert broker.values("t.g.dead") == [b"a1"]
    assert broker.bodies(group) == [b"a2"]


def test_a_receiver_that_waits_gets_the_next_of_a_key_when_the_first_is_done(broker: Broker) -> None:
    group = by_key(broker)
    send(broker, b"a1", b"a2")
    broker.bodies(group)
    answers = Answers(broker, group)
    with broker.turn():
        answers.ask("n")
    assert answers.told == {}
    broker.acknowledge(group, 0)
    assert answers.told == {"n": [b"a2"]}


def test_what_is_done_when_it_is_handed_out_frees_its_key_at_once(broker: Broker) -> None:
    group = by_key(broker)
    send(broker, b"a1", b"a2", b"b1")
    got: list[bytes | None] = []
    with broker.turn() as core:
        core.receiving.receive(group, "m", 10, lambda handed: got.extend(r[3] for _, r, _ in handed), in_flight=False)
    assert sorted(got, key=str) == [b"a1", b"a2", b"b1"]
    assert got.index(b"a1") < got.index(b"a2")
    assert group.lag == 0


def test_keys_are_locked_across_partitions(broker: Broker) -> None:
    broker.topic(partitions=2)
    group = broker.group(order="key")
    broker.send(b"1", key=b"k", number=0)
    broker.send(b"2", key=b"k", number=1)
    (number, record, _), *rest = broker.receive(group)
    assert rest == []
    broker.acknowledge(group, record[0], number=number)
    assert len(broker.receive(group)) == 1


def test_a_partition_with_too_many_held_back_waits(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HELD_PER_PARTITION_MAX", 10)
    group = by_key(broker)
    with broker.turn() as core:
        for number in range(200):
            core.send("t", b"%d" % number, b"same")
        core.send("t", b"other", b"other")
    assert broker.bodies(group) == [b"0"]
    assert group.cursors[0].next == 11
    got = [0]
    for _ in range(200):
        broker.acknowledge(group, *got)
        got = [record[0] for _, record, _ in broker.receive(group)]
        assert group.locks is not None
        assert group.locks.held(0) <= 10
    broker.acknowledge(group, *got)
    assert group.lag == 0


def test_those_held_back_cannot_be_claimed(broker: Broker) -> None:
    group = by_key(broker)
    send(broker, b"a1", b"a2")
    broker.bodies(group)
    with broker.turn() as core:
        assert core.claims.claim(group, 0, [0, 1], "n") == [0]


@RESTARTS
def test_who_waits_for_whom_survives_a_restart(local: Broker, how: str) -> None:
    group = by_key(local)
    send(local, b"a1", b"b1", b"a2", b"a3", b"b2")
    local.bodies(group)
    local.acknowledge(group, 0)
    assert local.bodies(group) == [b"a2"]
    local.restart(how)
    group = local.core.groups.get("t", "g")
    assert local.bodies(group) == []
    local.acknowledge(group, 1)
    assert local.bodies(group) == [b"b2"]
    local.acknowledge(group, 2)
    assert local.bodies(group) == [b"a3"]
    local.acknowledge(group, 3, 4)
    assert group.lag == 0


def test_a_seek_and_a_trim_free_what_waited(broker: Broker) -> None:
    topic = broker.topic()
    group = broker.group(order="key")
    send(broker, b"a1", b"a2", b"a3")
    assert broker.bodies(group) == [b"a1"]
    with broker.turn() as core:
        core.topics.trim(topic, topic.partitions[0], 1)
    assert broker.bodies(group) == [b"a2"]
    with broker.turn() as core:
        core.groups.seek(group, 0, 1)
    assert broker.bodies(group) == [b"a2"]


def test_an_order_that_comes_later_waits_for_what_was_handed_out_before(broker: Broker) -> None:
    broker.topic()
    group = broker.group()
    send(broker, b"a1", b"a2", b"a3", b"b1")
    assert broker.bodies(group, most=2) == [b"a1", b"a2"]
    with broker.turn() as core:
        core.groups.alter(group, GroupConfig(order="key"))
    assert broker.bodies(group) == []
    broker.acknowledge(group, 0)
    assert broker.bodies(group) == []
    broker.fail(group, 1)
    assert broker.bodies(group) == [b"a2"], "what was handed out before comes again"
    broker.acknowledge(group, 1)
    assert broker.bodies(group) == [b"a3", b"b1"]


def test_what_an_order_held_back_is_free_when_the_order_is_given_up(broker: Broker) -> None:
    group = by_key(broker)
    send(broker, b"a1", b"a2", b"a3")
    assert broker.bodies(group) == [b"a1"]
    with broker.turn() as core:
        core.groups.alter(group, GroupConfig())
    assert broker.bodies(group) == [b"a2", b"a3"]
    broker.acknowledge(group, 0, 1, 2)
    assert group.lag == 0


@RESTARTS
def test_a_changed_order_survives_a_restart(local: Broker, how: str) -> None:
    local.topic()
    group = local.group()
    send(local, b"a1", b"a2")
    local.bodies(group, most=1)
    with local.turn() as core:
        core.groups.alter(group, GroupConfig(order="key"))
    local.restart(how)
    group = local.core.groups.get("t", "g")
    assert local.bodies(group) == []
    local.acknowledge(group, 0)
    assert local.bodies(group) == [b"a2"]


# By partition


def test_a_partition_is_with_one_member_at_a_time(broker: Broker) -> None:
    group = by_partition(broker, partitions=2)
    for number in (0, 1):
        broker.send(b"1", b"2", b"3", number=number)
    mine = {number for number, _, _ in broker.receive(group, "m", most=2)}
    assert len(mine) == 1
    others = {number for number, _, _ in broker.receive(group, "n")}
    assert others == {0, 1} - mine
    assert broker.receive(group, "o") == []
    assert broker.bodies(group, "m") == [b"3"], "the one who has it may have more"


def test_a_partition_goes_to_another_member_when_everything_is_acknowledged(broker: Broker) -> None:
    group = by_partition(broker)
    broker.send(b"1", b"2", b"3")
    broker.receive(group, "m", most=2)
    answers = Answers(broker, group)
    with broker.turn():
        answers.ask("n")
    broker.acknowledge(group, 0)
    assert answers.told == {}
    broker.acknowledge(group, 1)
    assert answers.told == {"n": [b"3"]}


def test_what_was_handed_out_after_a_failed_message_comes_again_after_it(broker: Broker) -> None:
    group = by_partition(broker)
    broker.send(b"1", b"2", b"3", b"4", b"5")
    broker.receive(group, most=4)
    assert broker.fail(group, 1) == 1
    broker.acknowledge(group, 0)
    assert broker.bodies(group) == []
    broker.pass_ms(SECOND_MS)
    handed = [(record[3], count) for _, record, count in broker.receive(group, "n")]
    assert handed == [(b"2", 2), (b"3", 1), (b"4", 1), (b"5", 1)]


def test_messages_given_back_come_again_in_order(broker: Broker) -> None:
    group = by_partition(broker)
    broker.send(b"1", b"2", b"3")
    broker.receive(group)
    with broker.turn() as core:
        assert core.groups.give_back(group, 0, [1]) == 1
    handed = [(record[3], count) for _, record, count in broker.receive(group, most=1)]
    assert handed == [(b"2", 1)]
    assert broker.bodies(group) == [b"3"]


def test_a_message_with_an_earlier_retry_still_waits_for_those_before_it(broker: Broker) -> None:
    group = by_partition(broker)
    broker.send(b"1", b"2")
    broker.receive(group)
    broker.fail(group, 1, delay_ms=0)
    broker.fail(group, 0, delay_ms=10 * SECOND_MS)
    assert broker.bodies(group) == []
    broker.pass_ms(10 * SECOND_MS)
    assert broker.bodies(group) == [b"1", b"2"]


def test_a_dead_letter_lets_its_partition_go_on(broker: Broker) -> None:
    broker.topic()
    group = broker.group(order="partition", policy=Immediate(2))
    broker.send(b"1", b"2", b"3")
    for _ in range(2):
        assert broker.bodies(group)[:1] == [b"1"]
        broker.fail(group, 0)
    assert broker.values("t.g.dead") == [b"1"]


def test_a_leased_member_that_leaves_frees_its_partition(broker: Broker) -> None:
    group = by_partition(broker)
    broker.send(b"1", b"2")
    with broker.turn() as core:
        core.groups.join(group, "m", leased=True)
    broker.receive(group, "m", most=1)
    assert broker.bodies(group, "n") == []
    with broker.turn() as core:
        core.groups.leave(group, "m")
    assert broker.bodies(group, "n") == [b"1", b"2"]


def test_a_partition_is_claimed_as_a_whole(broker: Broker) -> None:
    group = by_partition(broker)
    broker.send(b"1", b"2")
    broker.receive(group, "m")
    with broker.turn() as core:
        assert core.claims.claim(group, 0, [1], "n") == []
        assert core.claims.claim(group, 0, [0, 1], "n") == [0, 1]
        assert core.groups.give_back(group, 0, [0]) == 1
        assert core.claims.claim(group, 0, [1], "o") == [], "an earlier one comes first"


def test_an_order_of_partitions_that_comes_later_waits_until_one_member_is_left(broker: Broker) -> None:
    broker.topic()
    group = broker.group()
    broker.send(b"1", b"2", b"3")
    broker.receive(group, "m", most=1)
    broker.receive(group, "n", most=1)
    with broker.turn() as core:
        core.groups.alter(group, GroupConfig(order="partition"))
    assert broker.bodies(group, "m") == []
    broker.acknowledge(group, 1)
    assert broker.bodies(group, "n") == []
    assert broker.bodies(group, "m") == [b"3"]


def test_the_policy_of_ordered_groups_tries_every_second_for_ever() -> None:
    assert ORDERED_POLICY.max_deliveries is None
    assert {ORDERED_POLICY.delay_ms(count, 7) for count in (1, 2, 100)} == {SECOND_MS}
