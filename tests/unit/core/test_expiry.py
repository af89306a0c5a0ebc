"""Expiry: messages that are of no use any more are dropped or become dead letters."""

from onemq.core.redelivery import Backoff
from onemq.message import EXPIRES
from tests.unit.core.broker import MINUTE_MS, NOW_MS, SECOND_MS, Broker, sealed


def expiring(at_ms: int) -> dict[str, object]:
    return {"headers": ((EXPIRES, b"%d" % at_ms),)}


def test_a_message_that_says_when_it_expires_is_handed_out_before_and_not_after(broker: Broker) -> None:
    broker.topic()
    group = broker.group()
    broker.send(b"early", **expiring(NOW_MS + SECOND_MS))
    assert broker.bodies(group) == [b"early"]
    broker.send(b"late", **expiring(NOW_MS + SECOND_MS))
    broker.send(b"after")
    broker.pass_ms(SECOND_MS)
    assert broker.bodies(group) == [b"after"]
    assert broker.acknowledge(group, 0, 2) == 2
    assert group.lag == 0


def test_a_topic_says_it_for_all_of_its_messages_and_the_earlier_one_counts(broker: Broker) -> None:
    broker.topic(expires_ms=MINUTE_MS)
    group = broker.group()
    broker.send(b"own", **expiring(NOW_MS + SECOND_MS))
    broker.send(b"longer", **expiring(NOW_MS + 2 * MINUTE_MS))
    broker.send(b"plain")
    broker.pass_ms(SECOND_MS)
    assert broker.bodies(group, most=1) == [b"longer"]
    broker.pass_ms(MINUTE_MS)
    assert broker.bodies(group) == []


def test_a_header_that_is_no_time_is_no_expiry(broker: Broker) -> None:
    broker.topic()
    group = broker.group()
    for value in (b"", b"soon", b"-1", b"9" * 40):
        broker.send(b"x", headers=((EXPIRES, value),))
    assert len(broker.bodies(group)) == 4


def test_a_message_that_expires_while_it_waits_for_its_retry_does_not_come_again(broker: Broker) -> None:
    broker.topic()
    group = broker.group(policy=Backoff())
    broker.send(b"x", **expiring(NOW_MS + 500))
    assert broker.bodies(group) == [b"x"]
    broker.fail(group, 0)
    broker.pass_ms(SECOND_MS)
    assert broker.bodies(group) == []
    assert group.lag == 0


def test_expired_messages_become_dead_letters_where_the_topic_wants_it(broker: Broker) -> None:
    broker.topic(expires_ms=SECOND_MS, expired="dead")
    group = broker.group()
    broker.send(b"a", b"b")
    broker.receive(group, most=1)
    broker.fail(group, 0)
    broker.now_ms += SECOND_MS
    assert broker.bodies(group) == []
    deaths = broker.deaths()
    assert [(death.reason, death.offset, death.deliveries) for death in deaths if death] == [
        ("expired", 0, 1),
        ("expired", 1, 0),
    ]
    assert group.lag == 0
    assert broker.values("t.g.dead") == [b"a", b"b"]


def test_expired_messages_become_dead_letters_also_if_nobody_asks(broker: Broker) -> None:
    broker.topic(expired="dead", partitions=2)
    group = broker.group()
    for number in (0, 1):
        broker.send(b"x%d" % number, number=number, **expiring(NOW_MS + SECOND_MS))
        broker.send(b"stays", number=number)
    broker.pass_ms(10 * SECOND_MS)
    assert sorted(body for body in broker.values("t.g.dead") if body) == [b"x0", b"x1"]
    assert group.lag == 2


def test_a_changed_expiry_counts_for_what_was_read_ahead(broker: Broker) -> None:
    broker.topic()
    group = broker.group()
    broker.send(b"a", b"b", b"c")
    assert broker.bodies(group, most=1) == [b"a"]
    with broker.turn() as core:
        core.topics.alter("t", expires_ms=SECOND_MS)
    broker.pass_ms(SECOND_MS)
    assert broker.bodies(group) == []


def test_messages_without_headers_are_taken_the_short_way(broker: Broker) -> None:
    broker.topic()
    group = broker.group()
    broker.send(b"a", b"b")
    with broker.turn() as core:
        taken = core.receiving.take_fresh(group, "m", 2, True)
        assert taken is not None
        assert [record[3] for record in taken] == [b"a", b"b"]


def test_messages_that_may_expire_are_not(broker: Broker) -> None:
    broker.topic()
    group = broker.group()
    broker.send(b"a", **expiring(NOW_MS))
    with broker.turn() as core:
        assert core.receiving.take_fresh(group, "m", 1, True) is None


def test_messages_with_other_headers_are_taken_the_short_way_too(broker: Broker) -> None:
    broker.topic()
    group = broker.group()
    broker.send(b"a", headers=((b"x", b"1"), (EXPIRES, b"1")))
    with broker.turn() as core:
        taken = core.receiving.take_fresh(group, "m", 1, True)
        assert taken is not None
        assert [record[3] for record in taken] == [b"a"], "a header after the sender's own is the sender's own"


def test_messages_of_ready_made_batches_expire_too(broker: Broker) -> None:
    topic = broker.topic()
    group = broker.group()
    with broker.turn() as core:
        core.sending.send_batch(topic, 0, sealed(b"a", headers=((EXPIRES, b"%d" % NOW_MS),)))
        core.sending.append(topic, 0, sealed(b"b", headers=((EXPIRES, b"%d" % NOW_MS),)))
        core.sending.append(topic, 0, sealed(b"c"))
    assert broker.bodies(group) == [b"c"]


def test_scheduled_messages_expire_too(broker: Broker) -> None:
    broker.topic()
    group = broker.group()
    broker.send(b"a", deliver_at_ms=NOW_MS + SECOND_MS, **expiring(NOW_MS + SECOND_MS))
    broker.send(b"b", deliver_at_ms=NOW_MS + SECOND_MS, **expiring(NOW_MS + MINUTE_MS))
    broker.pass_ms(SECOND_MS)
    assert broker.bodies(group) == [b"b"]


def test_messages_of_the_last_run_expire_too(local: Broker) -> None:
    local.topic()
    local.group()
    local.send(b"a", **expiring(NOW_MS + SECOND_MS))
    local.restart()
    local.now_ms += SECOND_MS
    assert local.bodies(local.core.groups.get("t", "g")) == []


def test_expired_ones_stay_buried_after_a_restart(local: Broker) -> None:
    local.topic(expires_ms=SECOND_MS, expired="dead")
    group = local.group()
    local.send(b"a")
    local.now_ms += SECOND_MS
    assert local.bodies(group) == []
    local.restart("power cut")
    assert local.values("t.g.dead") == [b"a"]
    assert local.core.groups.get("t", "g").lag == 0
