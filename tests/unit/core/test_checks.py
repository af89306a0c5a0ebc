"""Checking back: producers are asked what became of their transactions."""

from collections.abc import Callable

import pytest

from onemq.core.parking import target_of
from onemq.core.transaction import Half
from onemq.errors import TransactionEnded
from onemq.limits import TRANSACTION_CHECK_MS, TRANSACTION_CHECKS_MAX, TRANSACTION_UNHEARD_MS_MAX
from onemq.message import Record, id_of
from tests.unit.core.broker import DAY_MS, SECOND_MS, Broker, simulated

GROUP = "shop"


@pytest.fixture
def half(broker: Broker) -> Broker:
    broker.topic()
    return broker


def add(
    broker: Broker, body: bytes, name: str | None = "tx", group: str = GROUP, topic: str = "t", **more: int
) -> Half:
    with broker.turn() as core:
        return core.halves.add(name, group, core.topics.get(topic), body, **more)  # type: ignore[arg-type]


class Producers:
    """Those who listen for a producer group, and what they were asked."""

    def __init__(self, broker: Broker, *names: str, group: str = GROUP) -> None:
        self.asked: list[tuple[str, str, int]] = []
        self.records: list[Record] = []
        self.answers: dict[str, Callable[[str], object]] = {}
        self.cancels = {name: broker.core.halves.listen(group, self._ask(name)) for name in names}

    def _ask(self, name: str) -> Callable[[str, int, Record], None]:
        def ask(transaction: str, nth: int, record: Record) -> None:
            self.asked.append((name, transaction, nth))
            self.records.append(record)
            if name in self.answers:
                self.answers[name](transaction)

        return ask


def test_a_producer_is_asked_after_a_minute_and_every_minute_fifteen_times_then_it_is_rolled_back() -> None:
    """B6: to the millisecond"""
    told: list[str] = []
    broker = simulated(on_trouble=told.append)
    broker.topic()
    producers = Producers(broker, "p")
    add(broker, b"x")
    for nth in range(1, TRANSACTION_CHECKS_MAX + 1):
        broker.pass_ms(TRANSACTION_CHECK_MS - 1)
        assert len(producers.asked) == nth - 1
        broker.pass_ms(1)
        assert producers.asked[-1] == ("p", "tx", nth)
        assert broker.core.halves.list()[0].checks == nth
    broker.pass_ms(TRANSACTION_CHECK_MS - 1)
    assert len(broker.core.halves) == 1
    broker.pass_ms(1)
    assert len(broker.core.halves) == 0
    assert len(producers.asked) == 15
    assert told == ["transaction 'tx' is rolled back: it was not ended though its producers were asked 15 times"]
    broker.pass_ms(DAY_MS - 1)
    with broker.turn() as core, pytest.raises(TransactionEnded, match="rolled back"):
        core.halves.commit("tx")
    assert broker.values() == []


def test_a_message_can_have_its_own_time_before_the_first_check(half: Broker) -> None:
    """B6: immunity time"""
    producers = Producers(half, "p")
    add(half, b"x", "a", check_after_ms=5_000)
    add(half, b"y", "b", check_after_ms=0)
    half.pass_ms(0)
    assert producers.asked == [("p", "b", 1)]
    half.pass_ms(4_999)
    assert len(producers.asked) == 1
    half.pass_ms(1)
    assert producers.asked[1:] == [("p", "a", 1)]
    half.pass_ms(TRANSACTION_CHECK_MS)
    assert sorted(producers.asked[2:]) == [("p", "a", 2), ("p", "b", 2)]


def test_who_is_asked_sees_the_first_message_and_may_answer_at_once(half: Broker) -> None:
    producers = Producers(half, "p")
    producers.answers["p"] = half.core.halves.commit
    first = add(half, b"x")
    add(half, b"y")
    half.pass_ms(TRANSACTION_CHECK_MS)
    (record,) = producers.records
    assert record[3] == b"x"
    assert target_of(record) == "t"
    assert id_of(0, 0, record) == half.core.halves.parking.message_id(first.offset)
    assert half.values() == [b"x", b"y"]
    half.pass_ms(DAY_MS)
    assert len(producers.asked) == 1


def test_the_answer_that_nobody_knows_yet_changes_nothing(half: Broker) -> None:
    producers = Producers(half, "p")
    producers.answers["p"] = half.core.halves.unknown
    add(half, b"x")
    for _ in range(3):
        half.pass_ms(TRANSACTION_CHECK_MS)
    assert [nth for _, _, nth in producers.asked] == [1, 2, 3]


def test_a_further_message_is_a_sign_of_life(half: Broker) -> None:
    """A job that stages rows for an hour is not asked meanwhile."""
    producers = Producers(half, "p")
    for _ in range(60):
        add(half, b"x")
        half.pass_ms(TRANSACTION_CHECK_MS - 1)
    assert producers.asked == []
    half.pass_ms(1)
    assert len(producers.asked) == 1


def test_listeners_take_turns_and_each_group_has_its_own(half: Broker) -> None:
    producers, others = Producers(half, "p", "q"), Producers(half, "o", group="other")
    for name in "abcd":
        add(half, b"x", name)
    add(half, b"x", "e", "other")
    half.pass_ms(TRANSACTION_CHECK_MS)
    assert [(who, name) for who, name, _ in producers.asked] == [("p", "a"), ("q", "b"), ("p", "c"), ("q", "d")]
    assert others.asked == [("o", "e", 1)]
    producers.cancels["q"]()
    producers.cancels["q"]()
    half.pass_ms(TRANSACTION_CHECK_MS)
    assert {who for who, _, _ in producers.asked[4:]} == {"p"}


def test_while_nobody_listens_no_check_counts_and_who_comes_is_asked_soon(half: Broker) -> None:
    """B6: the producer may be down for long"""
    add(half, b"x", "a")
    half.pass_ms(TRANSACTION_CHECK_MS)
    add(half, b"y", "b")
    half.pass_ms(2 * DAY_MS)
    producers = Producers(half, "p")
    half.pass_ms(1)
    assert sorted(producers.asked) == [("p", "a", 1), ("p", "b", 1)]
    producers.cancels["p"]()
    half.pass_ms(DAY_MS)
    assert len(producers.asked) == 2
    producers = Producers(half, "p")
    half.pass_ms(0)
    assert sorted(producers.asked) == [("p", "a", 2), ("p", "b", 2)]


def test_after_three_days_without_anybody_to_ask_it_is_rolled_back() -> None:
    told: list[str] = []
    broker = simulated(on_trouble=told.append)
    broker.topic()
    add(broker, b"x")
    add(broker, b"y", "committed")
    broker.pass_ms(TRANSACTION_CHECK_MS)
    broker.pass_ms(TRANSACTION_UNHEARD_MS_MAX - 1)
    with broker.turn() as core:
        assert len(core.halves) == 2
        core.halves.commit("committed")
    broker.pass_ms(TRANSACTION_CHECK_MS)
    assert len(broker.core.halves) == 0
    assert len(told) == 1
    assert told[0].startswith("transaction 'tx' is rolled back: it waited for days")


def test_producers_find_their_transactions_after_the_broker_was_down_for_long() -> None:
    broker = simulated()
    broker.topic()
    add(broker, b"x")
    broker.now_ms += 10 * TRANSACTION_UNHEARD_MS_MAX
    broker.restart()
    broker.pass_ms(SECOND_MS)
    producers = Producers(broker, "p")
    broker.pass_ms(1)
    assert producers.asked == [("p", "tx", 1)]


def test_a_listener_that_goes_before_it_is_asked_leaves_the_rest_to_the_next(half: Broker) -> None:
    producers = Producers(half, "p", "q")
    producers.answers["p"] = lambda name: [cancel() for cancel in producers.cancels.values()]
    add(half, b"x", "a")
    add(half, b"y", "b")
    half.pass_ms(TRANSACTION_CHECK_MS)
    assert producers.asked == [("p", "a", 1)]
    late = Producers(half, "r")
    half.pass_ms(1)
    assert late.asked == [("r", "b", 1)]
