"""What becomes of acquired messages."""

import pytest

from onemq.core.group import Group
from onemq.core.redelivery import Immediate, Ladder
from onemq.protocols.kafka.errors import ErrorCode, Refused
from onemq.protocols.kafka.schemas.share_fetch import AcknowledgementBatch
from onemq.protocols.kafka.sharing.settling import ACCEPT, GAP, REJECT, RELEASE, RENEW, Settlement
from tests.unit.core.broker import MINUTE_MS, SECOND_MS, Broker, in_memory

Batch = tuple[int, int, list[int]]


@pytest.fixture
def broker() -> Broker:
    """With ten messages."""
    broker = in_memory()
    broker.topic()
    broker.send(*(b"%d" % number for number in range(10)))
    return broker


def acquired(broker: Broker, **settings: object) -> Group:
    """A group whose member has all of them."""
    group = broker.group(**settings)  # type: ignore[arg-type]
    broker.receive(group)
    return group


def settle(broker: Broker, group: Group, *batches: Batch, member: str = "m", renewing: bool = False) -> None:
    with broker.turn() as core:
        rows = [AcknowledgementBatch(*batch) for batch in batches]
        Settlement(rows, renewing).carry_out(core, group, 0, member)


def refusal(broker: Broker, group: Group, *batches: Batch, member: str = "m") -> ErrorCode:
    with pytest.raises(Refused) as refused:
        settle(broker, group, *batches, member=member)
    broker.end()
    return refused.value.error


def in_flight(group: Group) -> list[int]:
    return sorted(offset for offset, each in group.cursors[0].unacknowledged.items() if each.member is not None)


def test_accepted_messages_are_done(broker: Broker) -> None:
    group = acquired(broker)
    settle(broker, group, (0, 3, [ACCEPT]), (6, 7, [ACCEPT, ACCEPT]))
    assert in_flight(group) == [4, 5, 8, 9]
    assert group.lag == 4


def test_gaps_are_done(broker: Broker) -> None:
    group = acquired(broker)
    settle(broker, group, (0, 9, [ACCEPT] * 5 + [GAP] * 5))
    assert group.lag == 0


def test_released_messages_come_again_and_count(broker: Broker) -> None:
    group = acquired(broker)
    settle(broker, group, (2, 3, [RELEASE]))
    assert [(record[0], count) for _, record, count in broker.receive(group, "n")] == [(2, 2), (3, 2)]


def test_released_messages_follow_the_policy(broker: Broker) -> None:
    group = acquired(broker, policy=Ladder((10 * SECOND_MS,)))
    settle(broker, group, (2, 2, [RELEASE]))
    assert broker.receive(group, "n") == []
    broker.pass_ms(10 * SECOND_MS)
    assert [record[0] for _, record, _ in broker.receive(group, "n")] == [2]
    settle(broker, group, (2, 2, [RELEASE]), member="n")
    assert [(death.reason, death.offset) for death in broker.deaths() if death] == [("released by its consumer", 2)]


def test_a_message_released_as_often_as_allowed_is_dead(broker: Broker) -> None:
    group = acquired(broker, policy=Immediate(1))
    settle(broker, group, (2, 2, [RELEASE]))
    assert len(broker.deaths()) == 1


def test_rejected_messages_are_dead_letters(broker: Broker) -> None:
    group = acquired(broker)
    settle(broker, group, (1, 2, [REJECT]))
    assert [(death.reason, death.offset) for death in broker.deaths() if death] == [
        ("rejected by its consumer", 1),
        ("rejected by its consumer", 2),
    ]
    assert group.lag == 8


def test_renewed_messages_stay_longer(broker: Broker) -> None:
    group = acquired(broker, lease_ms=MINUTE_MS)
    broker.pass_ms(MINUTE_MS - 1)
    settle(broker, group, (1, 2, [RENEW]), renewing=True)
    broker.pass_ms(1)
    assert in_flight(group) == [1, 2]
    broker.pass_ms(MINUTE_MS)
    assert in_flight(group) == []


def test_one_request_settles_each_message_in_its_own_way(broker: Broker) -> None:
    group = acquired(broker)
    settle(broker, group, (0, 3, [ACCEPT, RELEASE, REJECT, RENEW]), (5, 6, [RELEASE]), renewing=True)
    assert in_flight(group) == [3, 4, 7, 8, 9]
    assert [record[0] for _, record, _ in broker.receive(group, "n")] == [1, 5, 6]


@pytest.mark.parametrize(
    "batches",
    [
        [(3, 2, [ACCEPT])],
        [(-1, 2, [ACCEPT])],
        [(0, 3, [])],
        [(0, 3, [ACCEPT, ACCEPT])],
        [(0, 0, [5])],
        [(0, 0, [-1])],
        [(0, 0, [RENEW])],
        [(0, 1 << 62, [ACCEPT])],
        [(20, 20, [ACCEPT])],
    ],
)
def test_what_makes_no_sense_is_refused(broker: Broker, batches: list[Batch]) -> None:
    group = acquired(broker)
    assert refusal(broker, group, *batches) == ErrorCode.INVALID_REQUEST
    assert group.lag == 10


def test_nothing_happens_if_a_message_is_not_the_members(broker: Broker) -> None:
    group = acquired(broker)
    settle(broker, group, (4, 4, [ACCEPT]))
    assert refusal(broker, group, (0, 9, [ACCEPT])) == ErrorCode.INVALID_RECORD_STATE
    assert refusal(broker, group, (0, 0, [ACCEPT]), (4, 4, [REJECT])) == ErrorCode.INVALID_RECORD_STATE
    assert refusal(broker, group, (0, 3, [ACCEPT]), (3, 4, [ACCEPT])) == ErrorCode.INVALID_RECORD_STATE
    assert refusal(broker, group, (0, 1, [ACCEPT]), member="n") == ErrorCode.INVALID_RECORD_STATE
    assert group.lag == 9


def test_a_lock_that_ended_is_not_the_members_any_more(broker: Broker) -> None:
    group = acquired(broker, lease_ms=MINUTE_MS)
    broker.pass_ms(MINUTE_MS)
    assert refusal(broker, group, (0, 0, [ACCEPT])) == ErrorCode.INVALID_RECORD_STATE


def test_what_is_done_already_stays_done(broker: Broker) -> None:
    group = acquired(broker)
    for _ in range(2):
        settle(broker, group, (0, 3, [ACCEPT]))
    assert group.lag == 6


def test_what_retention_has_taken_is_done(broker: Broker) -> None:
    group = acquired(broker)
    with broker.turn() as core:
        core.topics.trim(group.topic, group.topic.partitions[0], 5)
    settle(broker, group, (0, 6, [ACCEPT]))
    assert in_flight(group) == [7, 8, 9]
