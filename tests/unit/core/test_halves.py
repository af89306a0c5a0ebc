"""Half messages and their transactions."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from onemq.core import commits as commits_module
from onemq.core import transaction as transaction_module
from onemq.core import transactions as transactions_module
from onemq.core.topics import HALF_NAME
from onemq.errors import DiskFull, InvalidArgument, NotFound, TooLarge, TransactionEnded
from onemq.limits import TRANSACTION_CHECK_MS, TRANSACTION_UNHEARD_MS_MAX
from onemq.message import ID, PRODUCER_GROUP, TRANSACTION, header, id_of, message_id
from tests.unit.core.broker import DAY_MS, NOW_MS, Answers, Broker, on_both_engines, simulated
from tests.unit.core.test_checks import GROUP, Producers, add


@pytest.fixture
def half(broker: Broker) -> Broker:
    broker.topic()
    return broker


# Committing and rolling back


def test_a_half_message_is_invisible_until_it_is_committed(half: Broker) -> None:
    """B6"""
    answers = Answers(half, half.group())
    with half.turn():
        answers.ask("a")
    add(half, b"x")
    assert half.values() == []
    assert answers.told == {}
    assert half.core.stats()["messages"] == 0
    with half.turn() as core:
        assert core.halves.commit("tx")[:2] == (True, 1)
    assert half.values() == [b"x"]
    assert answers.told == {"a": [b"x"]}
    assert len(half.core.halves) == len(half.core.halves.parking) == 0


def test_a_half_message_that_is_rolled_back_is_never_seen(half: Broker) -> None:
    """B6"""
    add(half, b"x")
    with half.turn() as core:
        assert core.halves.rollback("tx")[:2] == (False, 1)
    half.pass_ms(30 * DAY_MS)
    assert half.values() == []
    assert len(half.core.halves) == len(half.core.halves.parking) == 0


def test_key_body_headers_and_id_arrive_as_sent(half: Broker) -> None:
    """B6"""
    with half.turn() as core:
        headers = ((b"h", b"v"), (b"n", None), (TRANSACTION, b"forged"))
        placed = core.halves.add("tx", GROUP, core.topics.get("t"), b"body", b"key", headers)
        place = core.topics.find(HALF_NAME)
        assert place is not None
        core.halves.commit("tx")
    (record,) = half.records()
    assert (record[2], record[3]) == (b"key", b"body")
    assert record[4][:2] == ((b"h", b"v"), (b"n", None))
    assert {name for name, _ in record[4]} == {b"h", b"n", TRANSACTION, PRODUCER_GROUP, ID}
    assert (header(record[4], TRANSACTION), header(record[4], PRODUCER_GROUP)) == (b"tx", GROUP.encode())
    assert id_of(99, 0, record) == message_id(place.id, 0, placed.offset)


def test_a_transaction_without_a_name_is_named_after_its_first_message(half: Broker) -> None:
    one, other = add(half, b"x", None), add(half, b"y", None)
    assert one.transaction == half.core.halves.parking.message_id(one.offset)
    add(half, b"z", other.transaction)
    following = half.core.halves.parking.message_id(other.offset + 3)
    add(half, b"taken", following)
    assert add(half, b"w", None).transaction == following + "+"
    with half.turn() as core:
        assert core.halves.commit(other.transaction).messages == 2
    assert half.values() == [b"y", b"z"]


def test_many_messages_for_several_topics_are_seen_together(broker: Broker) -> None:
    """B6"""
    broker.topic("t", 3)
    broker.topic("u")
    for number in range(6):
        add(broker, b"%d" % number, topic="tu"[number % 2], **({"number": 1} if number == 2 else {}))
        add(broker, b"other %d" % number, "other", topic="u")
    with broker.turn() as core:
        assert core.halves.commit("tx").messages == 6
    assert sorted(body or b"" for values in broker.all_values() for body in values) == [b"0", b"2", b"4"]
    assert b"2" in broker.values("t", 1)
    assert broker.values("u") == [b"1", b"3", b"5"]


def test_an_end_can_be_repeated_and_says_so(half: Broker) -> None:
    for name, end in (("a", "commit"), ("b", "rollback")):
        add(half, name.encode(), name)
        for again in (False, True, True):
            with half.turn() as core:
                ended = getattr(core.halves, end)(name)
            assert (ended.again, ended.messages, ended.committed) == (again, 1, end == "commit")
    assert half.values() == [b"a"]


def test_a_transaction_cannot_end_in_two_ways(half: Broker) -> None:
    add(half, b"a", "a")
    add(half, b"b", "b")
    with half.turn() as core:
        core.halves.commit("a")
        core.halves.rollback("b")
        with pytest.raises(TransactionEnded, match="transaction 'a' was committed"):
            core.halves.rollback("a")
        for call in (core.halves.commit, core.halves.unknown):
            with pytest.raises(TransactionEnded, match="transaction 'b' was rolled back"):
                call("b")
        with pytest.raises(TransactionEnded, match="begin another one"):
            core.halves.add("a", GROUP, core.topics.get("t"), b"late")
    assert half.values() == [b"a"]


def test_how_a_transaction_ended_is_known_for_a_day(half: Broker) -> None:
    add(half, b"a", "a")
    with half.turn() as core:
        core.halves.commit("a")
    half.pass_ms(DAY_MS - 1)
    with half.turn() as core:
        assert core.halves.commit("a").again
    half.pass_ms(1)
    with half.turn() as core, pytest.raises(NotFound, match="no transaction 'a'"):
        core.halves.commit("a")
    add(half, b"b", "a")
    with half.turn() as core:
        assert not core.halves.commit("a").again
    assert half.values() == [b"a", b"b"]


def test_only_so_many_ended_transactions_are_remembered(half: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions_module, "TRANSACTIONS_ENDED_MAX", 2)
    for name in "abc":
        add(half, b"x", name)
        with half.turn() as core:
            core.halves.commit(name)
    with half.turn() as core:
        with pytest.raises(NotFound):
            core.halves.commit("a")
        assert core.halves.commit("b").again


def test_what_makes_no_sense_is_refused_and_nothing_is_parked(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    broker.topic("t", 2, message_bytes_max=100)
    add(broker, b"x", "known")
    monkeypatch.setattr(transactions_module, "TRANSACTIONS_OPEN_MAX", 1)
    monkeypatch.setattr(transaction_module, "TRANSACTION_MESSAGES_MAX", 1)
    with broker.turn() as core:
        topic = core.topics.get("t")
        for error, name, group, options in (
            (InvalidArgument, "known", "other", {}),
            (InvalidArgument, "", GROUP, {}),
            (InvalidArgument, "known", "", {}),
            (InvalidArgument, "known", GROUP, {"check_after_ms": -1}),
            (InvalidArgument, "known", GROUP, {"check_after_ms": TRANSACTION_UNHEARD_MS_MAX + 1}),
            (TooLarge, "known", GROUP, {}),
            (TooLarge, "new", GROUP, {}),
            (TooLarge, None, GROUP, {}),
        ):
            with pytest.raises(error):
                core.halves.add(name, group, topic, b"", **options)
        monkeypatch.undo()
        for error, body, number in ((TooLarge, b"x" * 101, None), (InvalidArgument, b"", 2)):
            with pytest.raises(error):
                core.halves.add("new", GROUP, topic, body, number=number)
        for call in (core.halves.commit, core.halves.rollback, core.halves.unknown):
            with pytest.raises(NotFound):
                call("never")
    assert len(broker.core.halves.parking) == 1


def test_open_transactions_can_be_listed(half: Broker) -> None:
    add(half, b"x", "a")
    add(half, b"y", "b", "other")
    half.pass_ms(10)
    add(half, b"z", "a", check_after_ms=5_000)
    (row,) = half.core.halves.list(GROUP)
    assert row == ("a", GROUP, 2, NOW_MS, 0, NOW_MS + 10 + 5_000, False)
    assert [each.name for each in half.core.halves.list()] == ["a", "b"]


@on_both_engines
def test_a_message_whose_topic_is_gone_is_dropped_loudly_and_the_others_come(make: Callable[..., Broker]) -> None:
    told: list[str] = []
    broker = make(on_trouble=told.append)
    broker.topic("t")
    broker.topic("u")
    add(broker, b"x")
    add(broker, b"y", topic="u")
    with broker.turn() as core:
        core.topics.delete("t")
        core.halves.commit("tx")
    assert told == ["half message 0 cannot be delivered and is dropped: topic 't' does not exist any more"]
    assert broker.values("u") == [b"y"]


def test_nothing_is_committed_and_nobody_is_asked_while_messages_are_refused(half: Broker) -> None:
    """A4: a full disk must not make transactions fail for good."""
    producers = Producers(half, "p")
    add(half, b"x")
    half.core.sending.refusal = DiskFull("full")
    with pytest.raises(DiskFull):
        half.core.halves.commit("tx")
    assert half.core.halves.tick(half.now_ms + DAY_MS) is not None
    assert producers.asked == []
    half.core.sending.refusal = None
    with half.turn() as core:
        core.halves.commit("tx")
    assert half.values() == [b"x"]


# More than one set


@pytest.fixture
def small_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits_module, "TURN_BYTES_MAX", 1_000)
    monkeypatch.setattr(commits_module, "COMMIT_TURN_BYTES", 1_000)
    monkeypatch.setattr("onemq.core.transaction.RECEIVE_BYTES_MAX", 300)


@pytest.mark.usefixtures("small_turns")
def test_a_large_transaction_is_committed_over_several_turns(half: Broker) -> None:
    bodies = [b"%d" % number for number in range(40)]
    for body in bodies:
        add(half, body)
    with half.turn() as core:
        assert core.halves.commit("tx").messages == 40
    seen = [len(half.values())]
    while half.core.halves.list():
        assert half.core.tick(half.now_ms) == half.now_ms
        with half.turn() as core:
            assert core.halves.commit("tx")[:2] == (True, 40)
            with pytest.raises(TransactionEnded):
                core.halves.rollback("tx")
            with pytest.raises(TransactionEnded):
                core.halves.add("tx", GROUP, core.topics.get("t"), b"late")
        seen.append(len(half.values()))
    assert len(seen) > 2
    assert all(one < other for one, other in pairwise(seen))
    assert half.values() == bodies
    with half.turn() as core:
        assert core.halves.commit("tx")[:2] == (True, 40)
    assert len(half.core.halves.parking) == 0


@pytest.mark.usefixtures("small_turns")
@pytest.mark.parametrize("how", ["kill", "power cut"])
def test_a_large_transaction_goes_on_after_each_crash(how: str) -> None:
    broker = simulated()
    broker.topic(flush="async")
    bodies = [b"%d" % number for number in range(40)]
    for body in bodies:
        add(broker, body)
    broker.core.tick(broker.now_ms)
    broker.core.halves.commit("tx")
    broker.restart(how)  # before the turn ended
    assert broker.values() == []
    with broker.turn() as core:
        core.halves.commit("tx")
    for _ in range(10):
        broker.core.tick(broker.now_ms)
        broker.restart(how)
    assert broker.values() == bodies
    assert broker.core.halves.list() == []


@pytest.mark.usefixtures("small_turns")
def test_transactions_that_fit_no_turn_together_follow_each_other_whole(half: Broker) -> None:
    for name in "ab":
        for number in range(6):
            add(half, b"%d" % number, name)
    with half.turn() as core:
        core.halves.commit("a")
        core.halves.commit("b")
    assert len(half.values()) == 6
    half.pass_ms(0)
    assert len(half.values()) == 12


# Restarts


@pytest.mark.parametrize("how", ["kill", "stop", "power cut"])
@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_a_transaction_survives_a_restart_between_all_steps(how: str, end: str) -> None:
    """B6: killed before, between and after the steps"""
    broker = simulated()
    broker.topic(flush="async")
    broker.core.tick(broker.now_ms)
    broker.core.halves.add("tx", GROUP, broker.core.topics.get("t"), b"never stored")
    broker.restart("kill")
    with pytest.raises(NotFound):
        getattr(broker.core.halves, end)("tx")
    for body in (b"x", b"y"):
        add(broker, body)
        broker.restart(how)
    for nth in (1, 2):
        producers = Producers(broker, "p")
        broker.pass_ms(TRANSACTION_CHECK_MS)
        assert producers.asked == [("p", "tx", nth)]
        broker.pass_ms(1)
        with broker.turn() as core:
            core.send("t", b"", deliver_at_ms=broker.now_ms + 100 * DAY_MS)  # synced, and the check with it
        broker.restart(how)
        assert broker.values() == []
    assert broker.core.halves.list()[0].checks == 2
    with broker.turn() as core:
        getattr(core.halves, end)("tx")
    for _ in range(2):
        broker.restart(how)
        assert broker.values() == ([b"x", b"y"] if end == "commit" else [])
        with broker.turn() as core:
            assert getattr(core.halves, end)("tx").again


def test_listeners_stay_when_the_state_is_taken_from_the_log_again() -> None:
    broker = simulated()
    broker.topic()
    producers = Producers(broker, "p", "q")
    add(broker, b"x")
    broker.core.reset()
    broker.pass_ms(TRANSACTION_CHECK_MS)
    assert len(producers.asked) == 1
    for cancel in producers.cancels.values():
        cancel()
    broker.pass_ms(TRANSACTION_CHECK_MS)
    assert len(producers.asked) == 1


def test_a_clock_that_goes_back_does_not_keep_a_check_from_coming(half: Broker) -> None:
    producers = Producers(half, "p")
    add(half, b"x", "a")
    half.pass_ms(-DAY_MS)
    add(half, b"y", "a")
    half.pass_ms(TRANSACTION_CHECK_MS)
    assert producers.asked == [("p", "a", 1)]


def test_done_half_messages_are_dropped_by_housekeeping() -> None:
    broker = simulated()
    broker.topic()
    add(broker, b"kept", "open")
    with broker.turn() as core:
        for _ in range(3_000):
            core.halves.add("tx", GROUP, core.topics.get("t"), b"x" * 100)
    with broker.turn() as core:
        core.halves.rollback("tx")
    parking = broker.core.halves.parking
    assert len(parking) == 1
    assert parking.low == 0
    keep = parking.live_copy()
    assert [offset for offset in range(3_001) if keep(offset)] == [0]
    with broker.turn() as core:
        core.halves.commit("open")
    assert parking.low == 3_001
    assert broker.values() == [b"kept"]
