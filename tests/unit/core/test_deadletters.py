"""Dead letters (C12): why, whence and after what history, exactly after the allowed count."""

import pytest

from onemq.core.deadletters import RETENTION_MS, Death, dead_topic_name
from onemq.core.group import Group, GroupConfig
from onemq.core.redelivery import Immediate, Ladder, Redelivery
from onemq.errors import DiskFull
from onemq.limits import NAME_BYTES_MAX
from onemq.message import DEAD, ID, header, id_of, message_id
from tests.unit.core.broker import NOW_MS, SECOND_MS, Answers, Broker, sealed
from tests.unit.core.test_supply import damage


def one_message(broker: Broker, policy: Redelivery | None = None, **settings: object) -> Group:
    broker.topic()
    broker.send(b"body", key=b"key", headers=((b"colour", b"red"),))
    return broker.group(policy=policy, **settings)


def test_a_dead_letter_tells_reason_origin_count_and_history(broker: Broker) -> None:
    """C12"""
    broker.topic("orders", 2)
    broker.send(b"other", b"body", topic="orders", number=1)
    group = broker.group("orders", "billing", policy=Ladder((SECOND_MS,)))
    broker.receive(group, "worker-1")
    with broker.turn() as core:
        core.groups.fail(group, 1, [1], "no such customer")
    broker.now_ms += SECOND_MS
    broker.receive(group, "worker-2")
    broker.now_ms += 5
    with broker.turn() as core:
        core.groups.fail(group, 1, [1], "no such customer, still")
    later_ms = NOW_MS + SECOND_MS
    assert broker.deaths("orders.billing.dead") == [
        Death(
            reason="no such customer, still",
            topic="orders",
            partition=1,
            offset=1,
            group="billing",
            deliveries=2,
            at_ms=later_ms + 5,
            history=[
                (NOW_MS, "worker-1", NOW_MS, "no such customer"),
                (later_ms, "worker-2", later_ms + 5, "no such customer, still"),
            ],
        )
    ]


def test_key_body_headers_and_id_stay_as_they_were(broker: Broker) -> None:
    """C12, C11: the id never changes"""
    group = one_message(broker, Immediate(1))
    topic = broker.core.topics.get("t")
    id = id_of(topic.id, 0, broker.records()[0])
    broker.receive(group)
    broker.fail(group, 0)
    (record,) = broker.records("t.g.dead")
    assert (record[2], record[3]) == (b"key", b"body")
    assert header(record[4], b"colour") == b"red"
    assert id_of(broker.core.topics.get("t.g.dead").id, 0, record) == id == message_id(topic.id, 0, 0)
    assert [name for name, _ in record[4]] == [b"colour", ID, DEAD]


def test_a_dead_letter_that_dies_again_keeps_its_id_and_tells_of_its_last_death(broker: Broker) -> None:
    """C12"""
    group = one_message(broker, Immediate(1))
    id = message_id(broker.core.topics.get("t").id, 0, 0)
    broker.receive(group)
    broker.fail(group, 0)
    graves = broker.group("t.g.dead", "undertaker", policy=Immediate(1))
    broker.receive(graves)
    with broker.turn() as core:
        core.groups.fail(graves, 0, [0], "again")
    (record,) = broker.records("t.g.dead.undertaker.dead")
    (death,) = broker.deaths("t.g.dead.undertaker.dead")
    assert death is not None
    assert (death.topic, death.reason) == ("t.g.dead", "again")
    assert sum(name == DEAD for name, _ in record[4]) == 1
    assert id_of(99, 0, record) == id


@pytest.mark.parametrize("allowed", [1, 2, 5])
def test_a_message_is_dead_after_exactly_the_allowed_count(broker: Broker, allowed: int) -> None:
    """C12"""
    group = one_message(broker, Immediate(allowed))
    for count in range(1, allowed + 1):
        assert broker.deaths() == []
        assert [seen for _, _, seen in broker.receive(group)] == [count]
        broker.fail(group, 0)
    assert len(broker.deaths()) == 1
    assert broker.receive(group) == []
    assert group.lag == 0


@pytest.mark.parametrize("allowed", [1, 3])
def test_a_message_that_kills_its_member_each_time_is_dead_after_the_allowed_count(
    broker: Broker, allowed: int
) -> None:
    """C12"""
    group = one_message(broker, Immediate(allowed))
    for count in range(1, allowed + 1):
        with broker.turn() as core:
            core.groups.join(group, f"m{count}", leased=True)
        assert len(broker.receive(group, f"m{count}")) == 1
        with broker.turn() as core:
            core.groups.leave(group, f"m{count}", "the connection broke")
    (death,) = broker.deaths()
    assert death is not None
    assert (death.deliveries, death.reason) == (allowed, "the connection broke")
    assert [attempt[1] for attempt in death.history] == [f"m{count}" for count in range(1, allowed + 1)]
    assert broker.receive(group) == []


def test_a_message_that_is_never_acknowledged_in_time_is_dead_after_the_allowed_count(broker: Broker) -> None:
    """C12"""
    group = one_message(broker, Immediate(2), lease_ms=SECOND_MS)
    for _ in range(2):
        assert len(broker.receive(group)) == 1
        broker.pass_ms(SECOND_MS)
    (death,) = broker.deaths()
    assert death is not None
    assert (death.deliveries, death.reason) == (2, "not acknowledged in time")


def test_a_message_that_kills_the_broker_each_time_is_dead_after_the_allowed_count(local: Broker) -> None:
    """C12"""
    group = one_message(local, Immediate(2))
    for _ in range(2):
        with local.turn() as core:
            core.groups.join(group, "m", leased=True)
        assert len(local.receive(group)) == 1
        local.restart()
        group = local.core.groups.get("t", "g")
    (death,) = local.deaths()
    assert death is not None
    assert (death.deliveries, death.reason) == (2, "the broker restarted")


def test_claims_count_and_the_one_too_many_makes_a_dead_letter(broker: Broker) -> None:
    """C12, C13: members that keep their deliveries die, too."""
    group = one_message(broker, Immediate(2))
    broker.receive(group, "a")
    with broker.turn() as core:
        assert core.claims.claim(group, 0, [0], "b") == [0]
        assert core.claims.claim(group, 0, [0], "c") == []
    (death,) = broker.deaths()
    assert death is not None
    assert (death.deliveries, death.reason) == (2, "claimed from 'b', but handed out as often as allowed")
    assert group.lag == 0


def test_a_rejected_message_is_a_dead_letter_whatever_the_policy_says(broker: Broker) -> None:
    """C9, C12"""
    for policy in (None, Ladder()):
        group = broker.group(name=f"{policy is None}", policy=policy) if policy else one_message(broker)
        broker.receive(group)
        with broker.turn() as core:
            assert core.groups.reject(group, 0, 0, "not JSON")
            assert not core.groups.reject(group, 0, 0, "not JSON")
        (death,) = broker.deaths(dead_topic_name(group))
        assert death is not None
        assert (death.reason, death.deliveries, death.history[0][3]) == ("not JSON", 1, "not JSON")
        assert group.lag == 0


def test_each_group_has_dead_letters_of_its_own(broker: Broker) -> None:
    """C12"""
    one = one_message(broker, Immediate(1))
    two = broker.group(name="h", policy=Immediate(1))
    for group in (one, two):
        broker.receive(group)
        broker.fail(group, 0)
    assert [len(broker.deaths(name)) for name in ("t.g.dead", "t.h.dead")] == [1, 1]


def test_groups_may_share_a_topic_for_their_dead_letters(broker: Broker) -> None:
    """C12"""
    one = one_message(broker, Immediate(1), dead_topic="graves")
    two = broker.group(name="h", policy=Immediate(1), dead_topic="graves")
    for group in (one, two):
        broker.receive(group)
        broker.fail(group, 0)
    assert [death.group for death in broker.deaths("graves") if death] == ["g", "h"]
    assert broker.core.topics.find("t.g.dead") is None


def test_a_topic_for_dead_letters_that_is_there_already_is_used_as_it_is(broker: Broker) -> None:
    """C12: with more partitions and smaller messages than would do"""
    broker.topic("graves", 3, message_bytes_max=2)
    group = one_message(broker, Immediate(1), dead_topic="graves")
    broker.receive(group)
    broker.fail(group, 0)
    assert sorted(len(values) for values in broker.all_values("graves")) == [0, 0, 1]


def test_topics_of_dead_letters_are_marked_and_kept_three_days(broker: Broker) -> None:
    """C12: never consumed by accident"""
    group = one_message(broker, Immediate(1))
    broker.receive(group)
    broker.fail(group, 0)
    config = broker.core.topics.get("t.g.dead").config
    assert (config.dead, config.retention_ms) == (True, RETENTION_MS) == (True, 3 * 24 * 3600 * 1000)
    broker.pass_ms(RETENTION_MS)
    assert len(broker.deaths()) == 1
    broker.pass_ms(SECOND_MS)
    broker.pass_ms(10 * SECOND_MS)
    assert broker.deaths() == []


def test_a_dead_letter_and_the_acknowledgement_of_the_original_are_one_set(local: Broker) -> None:
    """C12: whatever turn is the last to survive, the message is in one of both places."""
    group = one_message(local, Immediate(1))
    local.receive(group)
    with local.turn() as core:
        core.groups.fail(group, 0, [0], "it broke")
        assert group.lag == 0
    local.restart("power cut")
    assert len(local.deaths()) == 1
    assert local.core.groups.get("t", "g").lag == 0


def test_a_turn_that_does_not_survive_leaves_the_message_in_flight(local: Broker) -> None:
    group = one_message(local, Immediate(1))
    local.receive(group)
    local.core.tick(local.now_ms)
    local.core.groups.fail(group, 0, [0], "it broke")
    local.restart("power cut")
    assert local.deaths() == []
    assert len(local.core.groups.get("t", "g").cursors[0].unacknowledged) == 1


def test_somebody_who_waits_for_dead_letters_gets_them(broker: Broker) -> None:
    group = one_message(broker, Immediate(1), dead_topic="graves")
    broker.topic("graves")
    answers = Answers(broker, broker.group("graves", "undertaker"))
    with broker.turn():
        answers.ask("a")
    broker.receive(group)
    broker.fail(group, 0)
    assert answers.told == {"a": [b"body"]}


def test_a_message_sent_and_failed_in_one_turn_is_buried_in_that_turn(broker: Broker) -> None:
    group = one_message(broker, Immediate(1))
    with broker.turn() as core:
        core.send("t", b"second")
        core.receiving.receive(group, "m", 10, lambda handed: None)
        core.groups.fail(group, 0, [0, 1], "it broke")
    assert broker.values("t.g.dead") == [b"body", b"second"]


def test_the_watermark_does_not_keep_a_message_from_being_set_aside(broker: Broker) -> None:
    """A4, C12: setting aside is what makes room."""
    group = one_message(broker, Immediate(1))
    broker.receive(group)
    with broker.turn() as core:
        core.sending.refusal = DiskFull("full")
        core.groups.fail(group, 0, [0], "it broke")
    assert len(broker.deaths()) == 1


def test_a_message_without_a_body_stays_without_one(broker: Broker) -> None:
    """A8: a tombstone is not an empty message."""
    topic = broker.topic()
    group = broker.group(policy=Immediate(1))
    with broker.turn() as core:
        core.sending.send_batch(topic, 0, sealed(None, key=b"k"))
    broker.receive(group)
    broker.fail(group, 0)
    assert broker.values("t.g.dead") == [None]


def test_what_is_compacted_away_before_its_burial_is_acknowledged_without_a_dead_letter(broker: Broker) -> None:
    group = one_message(broker, Immediate(1))
    topic = broker.core.topics.get("t")
    broker.receive(group)
    with broker.turn() as core:
        core.topics.trim(topic, topic.partitions[0], 1)
    assert broker.fail(group, 0) == 0
    assert group.lag == 0
    assert broker.deaths() == []


def test_messages_over_a_count_that_was_lowered_are_buried_instead_of_handed_out(broker: Broker) -> None:
    """C12"""
    group = one_message(broker)
    for _ in range(3):
        broker.receive(group)
        broker.fail(group, 0, reason="it broke")
    with broker.turn() as core:
        core.groups.alter(group, GroupConfig(policy=Immediate(2).to_entry()))
    assert broker.receive(group) == []
    (death,) = broker.deaths()
    assert death is not None
    assert (death.deliveries, death.reason) == (3, "it broke")


def test_a_dead_topic_that_was_deleted_is_made_again(broker: Broker) -> None:
    group = one_message(broker, Immediate(1))
    broker.send(b"second")
    broker.receive(group)
    broker.fail(group, 0)
    with broker.turn() as core:
        core.topics.delete("t.g.dead")
    broker.fail(group, 1)
    assert broker.values("t.g.dead") == [b"second"]


def test_names_that_are_too_long_together_still_give_a_topic_for_each_group(broker: Broker) -> None:
    """C12"""
    names = ["x" * NAME_BYTES_MAX, "x" * (NAME_BYTES_MAX - 1), "\U0001f600" * 62]
    for name in names:
        broker.topic(name)
        broker.send(b"body", topic=name)
        group = broker.group(name, "\U0001f600" * 62, policy=Immediate(1))
        broker.receive(group)
        broker.fail(group, 0)
        assert broker.values(dead_topic_name(group)) == [b"body"]
    assert len(broker.core.topics) == 6


def test_many_at_once_are_dead_letters_each_with_its_own_history(broker: Broker) -> None:
    broker.topic()
    broker.send(*[b"%d" % number for number in range(100)])
    group = broker.group(policy=Immediate(2))
    broker.receive(group, "early", most=30)
    with broker.turn() as core:
        core.groups.fail(group, 0, range(30), "not yet")
        core.groups.join(group, "lost", leased=True)
    broker.receive(group, "lost")
    with broker.turn() as core:
        assert core.groups.leave(group, "lost", "gone") == 100
    deaths = [death for death in broker.deaths() if death is not None]
    assert [(death.offset, len(death.history), death.reason) for death in deaths] == [
        (offset, 2, "gone") for offset in range(30)
    ]
    assert [record[3] for record in broker.records("t.g.dead")] == [b"%d" % number for number in range(30)]
    assert sorted(group.cursors[0].unacknowledged) == list(range(30, 100))


def test_a_damaged_message_among_many_costs_no_other_its_dead_letter(local: Broker) -> None:
    local.topic()
    for number in range(6):
        local.send(b"%d" % number + b"-" * 20)
    group = local.group(policy=Immediate(1))
    local.receive(group)
    damage(local, 3)
    with local.turn() as core:
        assert core.groups.fail(group, 0, range(6), "no") == 6
    assert [death.offset for death in local.deaths() if death is not None] == [0, 1, 2, 4, 5]
    assert not group.cursors[0].unacknowledged
