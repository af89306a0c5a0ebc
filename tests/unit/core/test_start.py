"""Starting points (C5): first, last, an offset, a time."""

import pytest

from onemq.core.start import FIRST, LAST, Start
from onemq.errors import AlreadyExists, InvalidArgument, NotFound
from tests.unit.core.broker import NOW_MS, SECOND_MS, Broker, on_both_engines, sealed, simulated


@pytest.fixture
def history(broker: Broker) -> Broker:
    """Five messages, a second apart, in one partition."""
    broker.topic()
    for second in range(5):
        broker.now_ms = NOW_MS + second * SECOND_MS
        broker.send(b"%d" % second)
    return broker


def received(broker: Broker, start: Start) -> list[bytes | None]:
    return broker.bodies(broker.group(start=start))


def test_first_begins_with_the_oldest_message(history: Broker) -> None:
    """C5"""
    assert received(history, FIRST) == [b"0", b"1", b"2", b"3", b"4"]


def test_last_begins_with_the_next_message_to_come(history: Broker) -> None:
    """C5"""
    group = history.group(start=LAST)
    assert history.bodies(group) == []
    history.send(b"next")
    assert history.bodies(group) == [b"next"]


@pytest.mark.parametrize(("offset", "expected"), [(0, b"01234"), (3, b"34"), (5, b""), (99, b"")])
def test_an_offset_begins_there_or_at_the_end(history: Broker, offset: int, expected: bytes) -> None:
    """C5"""
    assert b"".join(body or b"" for body in received(history, Start("offset", offset))) == expected


@pytest.mark.parametrize(
    ("time_ms", "expected"),
    [(0, b"01234"), (0 + 2000, b"234"), (2001, b"34"), (1999, b"234"), (4000, b"4"), (4001, b"")],
)
def test_a_time_begins_with_the_first_message_stored_then_or_later(
    history: Broker, time_ms: int, expected: bytes
) -> None:
    """C5"""
    start = Start("time", NOW_MS + time_ms if time_ms else 0)
    assert b"".join(body or b"" for body in received(history, start)) == expected


def test_an_offset_below_zero_is_refused(history: Broker) -> None:
    with history.turn() as core, pytest.raises(InvalidArgument, match="0 or more"):
        core.create_group("t", "g", Start("offset", -1))
    assert history.core.topics.get("t").groups == {}


def test_an_offset_that_retention_has_taken_begins_with_what_is_kept(history: Broker) -> None:
    """C5"""
    topic = history.core.topics.get("t")
    with history.turn() as core:
        core.topics.trim(topic, topic.partitions[0], 2)
    assert received(history, Start("offset", 1)) == [b"2", b"3", b"4"]


@on_both_engines
def test_each_partition_has_its_own_position(make: type) -> None:
    """C5"""
    broker: Broker = make()
    broker.topic("t", 3)
    broker.send(b"a0", b"a1", number=0)
    broker.now_ms += SECOND_MS
    broker.send(b"b0", number=1)
    broker.send(b"a2", number=0)
    by_time = broker.group(name="time", start=Start("time", broker.now_ms))
    by_offset = broker.group(name="offset", start=Start("offset", 1))
    last = broker.group(name="last", start=LAST)
    assert [cursor.next for cursor in by_time.cursors] == [2, 0, 0]
    assert [cursor.next for cursor in by_offset.cursors] == [1, 1, 0]
    assert [cursor.next for cursor in last.cursors] == [3, 1, 0]


@pytest.mark.parametrize("logged", [0, 2], ids=["all staged", "partly staged"])
def test_starting_points_see_the_messages_of_the_same_turn(broker: Broker, logged: int) -> None:
    """C5"""
    topic = broker.topic()
    if logged:
        broker.send(*[b"logged"] * logged)
    broker.now_ms += 10
    with broker.turn() as core:
        core.send("t", b"staged")
        core.sending.send_batch(topic, 0, sealed(b"made later", timestamp_ms=broker.now_ms + 1))
        expected = {
            FIRST: 0,
            LAST: logged + 2,
            Start("offset", logged + 1): logged + 1,
            Start("time", broker.now_ms): logged,
            Start("time", broker.now_ms + 1): logged + 1,
            Start("time", broker.now_ms + 2): logged + 2,
        }
        for place, start in enumerate(expected):
            core.create_group("t", f"g{place}", start)
        found = [core.groups.get("t", f"g{place}").cursors[0].next for place in range(len(expected))]
    assert found == list(expected.values())


def test_then_is_called_when_the_group_is_there(broker: Broker) -> None:
    broker.topic()
    seen: list[bool] = []
    with broker.turn() as core:
        core.create_group("t", "g", Start("time", 0), lambda: seen.append("g" in core.topics.get("t").groups))
    assert seen == [True]


def test_a_group_exists_once_per_topic_and_only_on_a_topic(broker: Broker) -> None:
    broker.topic("t")
    broker.topic("u")
    broker.group("t", "g")
    broker.group("u", "g")
    with broker.turn() as core:
        with pytest.raises(AlreadyExists, match="'t' has a group 'g'"):
            core.create_group("t", "g", FIRST)
        with pytest.raises(NotFound, match="no group 'h'"):
            core.groups.get("t", "h")
        with pytest.raises(NotFound):
            core.create_group("v", "g", FIRST)


def test_the_position_of_a_group_survives_a_restart() -> None:
    """C5"""
    broker = simulated()
    broker.topic()
    broker.send(b"0", b"1", b"2")
    broker.group(start=Start("offset", 1))
    broker.restart()
    assert broker.bodies(broker.core.groups.get("t", "g")) == [b"1", b"2"]
