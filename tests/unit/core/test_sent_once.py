"""Idempotency keys for sending."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from onemq.core import sent_once as sent_once_module
from onemq.core.placed import HALF, TIMER, Placed
from onemq.core.sender import InTransaction
from onemq.core.sent_once import Keys
from onemq.errors import InvalidArgument, TooLarge
from onemq.limits import SENT_ONCE_MS, SENT_ONCE_MS_MAX
from tests.unit.core.broker import DAY_MS, NOW_MS, SECOND_MS, Broker, on_both_engines, simulated


@pytest.fixture
def once(broker: Broker) -> Broker:
    broker.topic("t", 3)
    return broker


def send(broker: Broker, body: bytes, key: bytes | None = b"order 1", topic: str = "t", **options: Any) -> Placed:
    with broker.turn() as core:
        return core.send(topic, body, once_key=key, **options)


def test_the_same_key_is_stored_once_and_the_repetition_gets_the_first_ones_place(once: Broker) -> None:
    """C14"""
    first = send(once, b"a", number=2)
    assert (first, first.duplicate) == ((2, 0), False)
    for number in (0, 2, None):
        again = send(once, b"b", number=number)
        assert (again, again.duplicate) == ((2, 0), True)
    assert not send(once, b"c", b"order 2", number=2).duplicate
    assert not send(once, b"d", None, number=2).duplicate
    assert once.all_values() == [[], [], [b"a", b"c", b"d"]]


def test_a_repetition_in_the_same_turn_is_recognised(once: Broker) -> None:
    with once.turn() as core:
        places = [core.send("t", b"x", once_key=b"k") for _ in range(3)]
    assert len(set(places)) == 1
    assert [place.duplicate for place in places] == [False, True, True]


def test_each_topic_has_its_own_keys_and_forgets_them_with_itself(once: Broker) -> None:
    once.topic("u")
    send(once, b"a")
    assert not send(once, b"a", topic="u").duplicate
    with once.turn() as core:
        core.topics.delete("t")
        core.topics.create("t")
    assert not send(once, b"b").duplicate
    assert once.values() == [b"b"]
    assert [count for _, count in once.core.sent_once] == [1, 1]


def test_a_key_is_known_for_its_own_time_to_the_millisecond(once: Broker) -> None:
    """Three days, unless the sender says otherwise."""
    send(once, b"a", b"short", once_ms=SECOND_MS)
    send(once, b"a", b"usual")
    send(once, b"a", b"long", once_ms=30 * DAY_MS)
    for passed_ms, known in (
        (SECOND_MS - 1, "short usual long"),
        (SECOND_MS, "usual long"),
        (SENT_ONCE_MS - 1, "usual long"),
        (SENT_ONCE_MS, "long"),
        (30 * DAY_MS - 1, "long"),
        (30 * DAY_MS, ""),
    ):
        once.now_ms = NOW_MS + passed_ms
        once.pass_ms(0)
        topic = once.core.topics.get("t")
        found = [key for key in ("short", "usual", "long") if once.core.sent_once.find(topic, key.encode())]
        assert " ".join(found) == known


def test_a_key_whose_time_is_up_can_be_used_again(once: Broker) -> None:
    for nth in range(5):
        first = send(once, b"%d" % nth, once_ms=SECOND_MS)
        assert not first.duplicate
        once.pass_ms(SECOND_MS - 1)
        assert send(once, b"again", once_ms=SECOND_MS) == first
        once.pass_ms(1)
    assert sorted(body or b"" for values in once.all_values() for body in values) == [b"0", b"1", b"2", b"3", b"4"]


def test_scheduled_repeated_and_half_messages_are_sent_once_too(once: Broker) -> None:
    """C14: whatever became of the first one"""
    for place, options in (
        (TIMER, {"deliver_at_ms": NOW_MS + SECOND_MS}),
        (TIMER, {"every_ms": SECOND_MS, "times": 1}),
        (HALF, {"transaction": InTransaction("shop", "tx")}),
    ):
        key = str(options).encode()
        first = send(once, b"x", key, **options)
        assert first.partition == place
        assert send(once, b"y", key, **options) == first
        assert send(once, b"z", key) == first
    with once.turn() as core:
        assert core.halves.commit("tx").messages == 1
    once.pass_ms(SECOND_MS)
    assert [body for values in once.all_values() for body in values] == [b"x"] * 3
    assert send(once, b"late", str({"transaction": InTransaction("shop", "tx")}).encode()).duplicate


def test_what_was_refused_can_be_sent_again(broker: Broker) -> None:
    broker.topic("t", message_bytes_max=10)
    with broker.turn() as core, pytest.raises(TooLarge):
        core.send("t", b"x" * 11, once_key=b"k")
    assert not send(broker, b"x", b"k").duplicate


@pytest.mark.parametrize("window_ms", [0, -1, SENT_ONCE_MS_MAX + 1])
def test_a_window_that_is_none_is_refused(once: Broker, window_ms: int) -> None:
    with once.turn() as core, pytest.raises(InvalidArgument, match="remembered for"):
        core.send("t", b"x", once_key=b"k", once_ms=window_ms)
    assert once.all_values() == [[], [], []]


@on_both_engines
def test_a_full_topic_forgets_those_first_whose_time_would_be_up_first(
    make: Callable[..., Broker], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bounded: and the operator is told, once"""
    monkeypatch.setattr(sent_once_module, "SENT_ONCE_KEYS_MAX", 3)
    told: list[str] = []
    broker = make(on_trouble=told.append)
    broker.topic()
    for key, window_ms in ((b"a", 300), (b"b", 100), (b"c", 200), (b"d", 400), (b"e", 500)):
        send(broker, b"x", key, once_ms=window_ms)
    topic = broker.core.topics.get("t")
    known = [key for key in (b"a", b"b", b"c", b"d", b"e") if broker.core.sent_once.find(topic, key)]
    assert known == [b"a", b"d", b"e"]
    assert told == ["topic 't' has too many idempotency keys: it forgets some before their time is up"]


def test_keys_whose_time_is_up_make_room_for_others(once: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sent_once_module, "SENT_ONCE_KEYS_MAX", 100)
    told: list[Any] = []
    once.core.sent_once.on_full = told.append
    for round in range(10):
        with once.turn() as core:
            for number in range(90):
                core.send("t", b"x", once_key=b"%d-%d" % (round, number), once_ms=SECOND_MS)
        once.pass_ms(SECOND_MS)
    assert told == []
    assert all(count <= 100 for _, count in once.core.sent_once)


@pytest.mark.parametrize("how", ["kill", "stop", "power cut"])
@pytest.mark.parametrize("flush", ["sync", "async"])
def test_keys_survive_restarts_together_with_their_messages(how: str, flush: str) -> None:
    """C14: killed between all steps"""
    broker = simulated()
    broker.topic(flush=flush)
    broker.core.tick(broker.now_ms)
    broker.core.send("t", b"never stored", once_key=b"k")
    broker.restart("kill")
    placed = send(broker, b"x", b"k")
    assert not placed.duplicate
    if flush == "async" and how == "power cut":
        with broker.turn() as core:
            core.send("t", b"", deliver_at_ms=broker.now_ms + 100 * DAY_MS)  # synced, and what came before with it
    for _ in range(2):
        broker.restart(how)
        again = send(broker, b"y", b"k")
        assert (again, again.duplicate) == (placed, True)
        assert broker.values() == [b"x"]
    broker.pass_ms(SENT_ONCE_MS)
    assert not send(broker, b"z", b"k").duplicate


def test_a_key_and_its_message_on_an_async_topic_are_lost_together_or_not_at_all() -> None:
    for _ in range(20):
        broker = simulated()
        broker.topic(flush="async")
        send(broker, b"x", b"k")
        broker.restart("power cut")
        known = broker.core.sent_once.find(broker.core.topics.get("t"), b"k") is not None
        assert broker.values() == ([b"x"] if known else [])


def test_keys_are_the_same_after_a_snapshot_whatever_was_kept_and_dropped() -> None:
    """Also in what they drop later."""
    random = Random(5)
    live, now_ms = Keys(), 0
    for step in range(3_000):
        now_ms += random.randint(0, 20)
        key = b"%016d" % random.randint(0, 150)
        if live.find(key, now_ms) is None:
            live.keep(key, (now_ms + random.choice([10, 500, 5_000]), 0, step), now_ms)
        if step % 500 == 0:
            copy = Keys.from_rows(live.rows())
            for number in range(50):
                for keys in (live, copy):
                    keys.keep(b"%015dx" % number, (now_ms + 50 + number, 0, 0), now_ms + number)
            assert copy.rows() == live.rows()
