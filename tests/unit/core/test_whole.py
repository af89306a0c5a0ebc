"""Receiving whole batches: what is given as it is stored, what is sealed anew, and who gets which offsets."""

from functools import partial
from typing import Any

import pytest

from onemq.core.group import Group
from onemq.core.redelivery import Immediate, Ladder
from onemq.core.whole import Share, Whole
from onemq.log.batch import walk
from onemq.log.records import decode
from tests.unit.core.broker import MINUTE_MS, NOW_MS, SECOND_MS, Broker, sealed
from tests.unit.core.test_supply import SlowLog, answer

MANY = 1 << 20


@pytest.fixture
def group(broker: Broker) -> Group:
    """A group on an empty topic."""
    broker.topic()
    return broker.group()


def take(
    broker: Broker, group: Group, member: str = "m", most: int = 100, bytes_max: int = MANY, strict: bool = False,
    numbers: list[int] | None = None,
) -> list[Share]:  # fmt: skip
    """What a member gets at once."""
    told: list[list[Share]] = []
    with broker.turn() as core:
        whole = Whole(numbers or [0], bytes_max, strict)
        core.receiving.receive_whole(group, member, lambda: most, whole, told.append)
    assert len(told) == 1, "a request that does not wait is answered at once"
    return told[0]


def bodies(share: Share) -> list[bytes | None]:
    """Those of its own messages, as a client finds them in the batches."""
    own = {offset for first, last, _ in share.runs for offset in range(first, last + 1)}
    records = [record for position, header in walk(share.batches) for record in decode(share.batches, position, header)]
    return [record[3] for record in records if record[0] in own]


def send_batch(broker: Broker, *values: bytes, headers: Any = ()) -> bytes:
    """Sends a batch that a producer sealed, and gives its bytes."""
    batch = sealed(*values, headers=headers)
    with broker.turn() as core:
        core.sending.send_batch(core.topics.get("t"), 0, batch)
    return batch


def test_fresh_messages_come_as_the_bytes_that_were_stored(broker: Broker, group: Group) -> None:
    batch = send_batch(broker, b"0", b"1", b"2")
    (share,) = take(broker, group)
    assert share.runs == [(0, 2, 1)]
    assert share.batches[61:] == batch[61:]
    assert group.members["m"].in_flight == 3
    assert take(broker, group) == []


def test_a_batch_is_given_whole_although_fewer_messages_were_asked_for(broker: Broker, group: Group) -> None:
    send_batch(broker, b"0", b"1", b"2")
    send_batch(broker, b"3", b"4")
    assert [share.runs for share in take(broker, group, most=2)] == [[(0, 2, 1)]]
    assert [share.runs for share in take(broker, group, most=2)] == [[(3, 4, 1)]]


def test_a_strict_request_gets_a_part_of_a_batch_and_another_gets_the_rest(broker: Broker, group: Group) -> None:
    send_batch(broker, b"0", b"1", b"2", b"3")
    (first,) = take(broker, group, "a", most=3, strict=True)
    (second,) = take(broker, group, "b", most=3, strict=True)
    assert (first.runs, second.runs) == ([(0, 2, 1)], [(3, 3, 1)])
    assert (bodies(first), bodies(second)) == ([b"0", b"1", b"2"], [b"3"])


def test_after_so_many_bytes_no_further_batch_is_read(broker: Broker, group: Group) -> None:
    for _ in range(4):
        send_batch(broker, b"x" * 5_000)
    assert [share.runs for share in take(broker, group, bytes_max=9_000)] == [[(0, 1, 1)]]


def test_what_comes_again_is_sealed_anew_with_its_count(broker: Broker, group: Group) -> None:
    send_batch(broker, *(b"%d" % number for number in range(10)))
    take(broker, group)
    with broker.turn() as core:
        core.groups.fail(group, 0, [3, 4, 7], "broke")
    (share,) = take(broker, group)
    assert share.runs == [(3, 4, 2), (7, 7, 2)]
    assert bodies(share) == [b"3", b"4", b"7"]
    assert len(share.batches) < 100


def test_what_comes_again_and_what_is_fresh_come_together_in_order(broker: Broker, group: Group) -> None:
    send_batch(broker, b"0", b"1")
    take(broker, group)
    broker.fail(group, 0)
    send_batch(broker, b"2", b"3")
    (share,) = take(broker, group)
    assert share.runs == [(0, 0, 2), (2, 3, 1)]
    assert bodies(share) == [b"0", b"2", b"3"]


def test_a_message_is_not_given_twice_where_it_lies_in_the_first_fresh_batch(broker: Broker, group: Group) -> None:
    send_batch(broker, b"0", b"1", b"2", b"3")
    take(broker, group, most=2, strict=True)
    broker.fail(group, 1)
    (share,) = take(broker, group)
    assert (share.runs, bodies(share)) == ([(1, 1, 2)], [b"1"])
    (share,) = take(broker, group)
    assert (share.runs, bodies(share)) == ([(2, 3, 1)], [b"2", b"3"])


def test_receivers_of_single_messages_and_of_batches_share_one_group(broker: Broker, group: Group) -> None:
    send_batch(broker, *(b"%d" % number for number in range(6)))
    assert broker.bodies(group, most=2) == [b"0", b"1"]
    (share,) = take(broker, group, "k", most=2, strict=True)
    assert bodies(share) == [b"2", b"3"]
    assert broker.bodies(group, most=9) == [b"4", b"5"]
    assert group.lag == 6


def test_a_request_waits_for_messages(broker: Broker, group: Group) -> None:
    told: list[list[Share]] = []
    with broker.turn() as core:
        whole = Whole([0], MANY, False)
        core.receiving.receive_whole(group, "m", lambda: 10, whole, told.append, broker.now_ms + MINUTE_MS)
    assert told == []
    broker.send(b"a")
    assert [share.runs for share in told[0]] == [[(0, 0, 1)]]


def test_a_request_that_waits_is_told_when_its_time_is_up(broker: Broker, group: Group) -> None:
    told: list[list[Share]] = []
    with broker.turn() as core:
        whole = Whole([0], MANY, False)
        core.receiving.receive_whole(group, "m", lambda: 10, whole, told.append, broker.now_ms + SECOND_MS)
    broker.pass_ms(SECOND_MS)
    assert told == [[]]


def test_a_request_that_may_take_nothing_now_gets_nothing(broker: Broker, group: Group) -> None:
    broker.send(b"a")
    assert take(broker, group, most=0) == []
    assert group.lag == 1


def test_only_the_named_partitions_are_looked_at(broker: Broker) -> None:
    broker.topic(partitions=3)
    group = broker.group()
    for number in range(3):
        broker.send(b"%d" % number, number=number)
    shares = take(broker, group, numbers=[2, 0])
    assert [(share.number, bodies(share)) for share in shares] == [(0, [b"0"]), (2, [b"2"])]


def test_a_filter_is_honoured(broker: Broker) -> None:
    broker.topic()
    group = broker.group(filter="a")
    broker.send(b"0", headers=[(b"_tag", b"a")])
    broker.send(b"1", headers=[(b"_tag", b"b")])
    broker.send(b"2", headers=[(b"_tag", b"a")])
    (share,) = take(broker, group)
    assert (share.runs, bodies(share)) == ([(0, 0, 1), (2, 2, 1)], [b"0", b"2"])


def test_priorities_are_honoured_from_one_request_to_the_next(broker: Broker, group: Group) -> None:
    broker.send(b"low")
    broker.send(b"high", headers=[(b"_pri", b"9")])
    assert [bodies(share) for share in take(broker, group, most=1, strict=True)] == [[b"high"]]
    assert [bodies(share) for share in take(broker, group, most=1, strict=True)] == [[b"low"]]


def test_expired_messages_are_passed_over(broker: Broker) -> None:
    broker.topic(expires_ms=MINUTE_MS)
    group = broker.group()
    broker.send(b"old")
    broker.pass_ms(2 * MINUTE_MS)
    broker.send(b"new")
    assert [bodies(share) for share in take(broker, group)] == [[b"new"]]


def test_messages_that_say_when_they_expire_are_looked_at(broker: Broker, group: Group) -> None:
    for body, expires_ms in ((b"old", broker.now_ms + 1), (b"new", broker.now_ms + 2 * MINUTE_MS)):
        send_batch(broker, body, headers=[(b"_exp", b"%d" % expires_ms)])
    batch = send_batch(broker, b"plain", b"\x08" * 200)
    broker.pass_ms(MINUTE_MS)
    (share,) = take(broker, group, most=1)
    assert (share.runs, bodies(share)) == ([(1, 1, 1)], [b"new"])
    (share,) = take(broker, group)
    assert share.batches[61:] == batch[61:]


def test_deleted_messages_are_left_out(broker: Broker, group: Group) -> None:
    send_batch(broker, b"0", b"1", b"2")
    with broker.turn() as core:
        core.removing.delete_at(group.topic, 0, [1])
    (share,) = take(broker, group)
    assert (share.runs, bodies(share)) == ([(0, 0, 1), (2, 2, 1)], [b"0", b"2"])


def test_a_worn_out_message_becomes_a_dead_letter(broker: Broker) -> None:
    broker.topic()
    group = broker.group(policy=Immediate(2))
    broker.send(b"0")
    for count in (1, 2):
        assert [share.runs for share in take(broker, group)] == [[(0, 0, count)]]
        broker.fail(group, 0, reason="broke")
    assert take(broker, group) == []
    assert [death.reason for death in broker.deaths() if death] == ["broke"]


def test_a_retry_comes_when_it_is_due(broker: Broker) -> None:
    broker.topic()
    group = broker.group(policy=Ladder((10 * SECOND_MS,)))
    broker.send(b"0")
    take(broker, group)
    broker.fail(group, 0)
    assert take(broker, group) == []
    broker.pass_ms(10 * SECOND_MS)
    assert [share.runs for share in take(broker, group)] == [[(0, 0, 2)]]


def test_a_lease_that_ends_brings_the_messages_back(broker: Broker) -> None:
    broker.topic()
    group = broker.group(lease_ms=30 * SECOND_MS)
    broker.send(b"0", b"1")
    take(broker, group, "a")
    broker.pass_ms(30 * SECOND_MS)
    assert [share.runs for share in take(broker, group, "b")] == [[(0, 1, 2)]]


def test_a_read_that_takes_long_serves_those_who_wait_when_it_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Broker, "_open", lambda self: SlowLog())
    broker = Broker(None)
    broker.topic()
    broker.send(b"0", b"1")
    group = broker.group()
    told: dict[str, list[Share]] = {}
    with broker.turn() as core:
        for name in "ab":
            note = partial(told.__setitem__, name)
            core.receiving.receive_whole(group, name, lambda: 1, Whole([0], MANY, True), note, NOW_MS + MINUTE_MS)
    assert told == {}
    for _ in range(2):
        answer(broker)
    assert {name: shares[0].runs for name, shares in told.items()} == {"a": [(0, 0, 1)], "b": [(1, 1, 1)]}
