"""Search: finds what is there, over many turns if need be, and changes nothing."""

from random import Random
from typing import Any

import pytest

from onemq.core import scan
from onemq.core.filter import compile_filter
from onemq.core.scan import ScanResult
from onemq.core.search import Query
from onemq.errors import Busy, InvalidArgument, NotFound
from onemq.limits import SCANS_MAX
from onemq.message import ID, Record, message_id
from tests.sim.fingerprint import fingerprint
from tests.sim.search import expected
from tests.unit.core.broker import HOUR_MS, NOW_MS, SECOND_MS, Broker
from tests.unit.core.test_supply import damage


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """One batch at a time, and small windows: what takes one step otherwise takes many."""
    monkeypatch.setattr(scan, "SCAN_STEP_BYTES", 1)
    monkeypatch.setattr(scan, "_WINDOW", 2)
    monkeypatch.setattr(scan, "_WINDOW_MAX", 5)


def search(broker: Broker, topic: str = "t", **query: Any) -> ScanResult:
    """The result, however many turns it takes."""
    results: list[ScanResult] = []
    with broker.turn() as core:
        core.searching.search(topic, Query(**query), results.append)
    for _ in range(10_000):
        if results:
            break
        with broker.turn():
            pass
    assert len(results) == 1
    assert results[0].error is None
    return results[0]


def bodies(broker: Broker, **query: Any) -> list[bytes | None]:
    return [record[3] for _, record in search(broker, **query).found]


def test_a_key_is_found_wherever_it_is(broker: Broker) -> None:
    broker.topic(partitions=3)
    for number in range(12):
        broker.send(b"%d" % number, key=b"k%d" % (number % 4))
        broker.now_ms += SECOND_MS
    assert bodies(broker, key=b"k1") == [b"1", b"5", b"9"]
    assert bodies(broker, key=b"k1", newest=True) == [b"9", b"5", b"1"]
    assert bodies(broker, key=b"k1", newest=True, most=2) == [b"9", b"5"]
    assert bodies(broker, key=b"k1", most=1) == [b"1"]
    assert bodies(broker, key=b"nobody") == []


def test_a_time_range_is_found(broker: Broker) -> None:
    broker.topic(partitions=2)
    for number in range(10):
        broker.send(b"%d" % number)
        broker.now_ms += SECOND_MS
    first = NOW_MS + 3 * SECOND_MS
    assert bodies(broker, from_ms=first, to_ms=first + SECOND_MS) == [b"3", b"4"]
    assert bodies(broker, from_ms=first + 1, to_ms=first + SECOND_MS) == [b"4"]
    assert bodies(broker, to_ms=first, newest=True, most=2) == [b"3", b"2"]
    assert bodies(broker, from_ms=first, most=1) == [b"3"]
    assert bodies(broker, from_ms=NOW_MS + HOUR_MS) == []
    assert bodies(broker, to_ms=-5) == []
    assert len(bodies(broker, from_ms=-(2**70), to_ms=2**70)) == 10


def test_an_id_is_found_at_its_place(broker: Broker) -> None:
    topic = broker.topic(partitions=2)
    broker.send(b"a", b"b", b"c", number=1)
    id = message_id(topic.id, 1, 2)
    assert bodies(broker, id=id) == [b"c"]
    assert bodies(broker, id=id.upper()) == [b"c"]
    assert bodies(broker, id=id, number=1) == [b"c"]
    assert bodies(broker, id=id, number=0) == []
    assert bodies(broker, id=id, key=b"other") == []
    assert bodies(broker, id=message_id(topic.id, 1, 3)) == []
    assert bodies(broker, id=message_id(topic.id, 7, 0)) == []
    assert bodies(broker, id=message_id(99, 0, 0)) == []


def test_an_id_is_found_where_its_message_moved_to(broker: Broker) -> None:
    topic = broker.topic()
    broker.send(b"before")
    broker.send(b"later", deliver_at_ms=NOW_MS + SECOND_MS)
    broker.pass_ms(2 * SECOND_MS)
    schedule = broker.core.topics.find("__schedule")
    assert schedule is not None
    assert bodies(broker, id=message_id(schedule.id, 0, 0)) == [b"later"]
    assert bodies(broker, id=message_id(topic.id, 0, 1)) == []  # its place is not its id


def test_a_dead_letter_is_found_by_the_id_of_its_message(broker: Broker) -> None:
    topic = broker.topic()
    broker.send(b"bad")
    group = broker.group()
    broker.receive(group)
    with broker.turn() as core:
        core.groups.reject(group, 0, 0, "no")
    assert bodies(broker, topic="t.g.dead", id=message_id(topic.id, 0, 0)) == [b"bad"]


def test_a_filter_is_one_condition_among_others(broker: Broker) -> None:
    topic = broker.topic(partitions=2)
    for number in range(20):
        broker.send(b"%d" % number, key=b"k", number=number % 2, headers=((b"n", b"%d" % number),))
        broker.now_ms += SECOND_MS
    assert bodies(broker, filter=compile_filter("n > 16")) == [b"17", b"18", b"19"]
    assert bodies(broker, filter=compile_filter("n > 16"), key=b"x") == []
    assert bodies(broker, filter=compile_filter("n > 10"), key=b"k", number=0, most=2) == [b"12", b"14"]
    assert bodies(broker, filter=compile_filter(f"id = '{message_id(topic.id, 1, 4)}'")) == [b"9"]


def test_what_this_turn_sent_is_found(broker: Broker) -> None:
    results: list[ScanResult] = []
    with broker.turn() as core:
        core.topics.create("t")
        core.send("t", b"new", key=b"k")
        core.searching.search("t", Query(key=b"k"), results.append)
    broker.pass_ms(1)
    broker.pass_ms(1)
    assert [record[3] for _, record in results[0].found] == [b"new"]


def test_what_was_deleted_or_trimmed_is_not_found(broker: Broker) -> None:
    topic = broker.topic()
    broker.send(b"a", b"b", b"c", key=b"k")
    with broker.turn() as core:
        core.topics.trim(topic, topic.partitions[0], 1)
    assert bodies(broker, key=b"k") == [b"b", b"c"]
    assert bodies(broker, key=b"k", newest=True) == [b"c", b"b"]
    assert bodies(broker, id=message_id(topic.id, 0, 0)) == []


def test_messages_that_come_during_a_search_are_not_waited_for(broker: Broker) -> None:
    broker.topic()
    for _ in range(10):
        broker.send(b"old", key=b"k")
    results: list[ScanResult] = []
    with broker.turn() as core:
        core.searching.search("t", Query(key=b"k", most=100), results.append)
        core.send("t", b"new", key=b"k")
    for _ in range(20):
        broker.send(b"new", key=b"k")
    assert [record[3] for _, record in results[0].found] == [b"old"] * 10


def test_a_search_over_many_turns_asks_for_the_next_one_and_changes_nothing(broker: Broker) -> None:
    broker.topic()
    for _ in range(30):
        broker.send(b"x")
    before = fingerprint(broker.core)
    results: list[ScanResult] = []
    broker.core.tick(broker.now_ms)
    broker.core.searching.search("t", Query(key=b"k"), results.append)
    turns = 0
    while not results:
        assert len(broker.core.scans) == 1
        assert broker.core.tick(broker.now_ms) == broker.now_ms or results
        turns += 1
    assert 5 < turns < 30
    assert len(broker.core.scans) == 0
    assert broker.core.tick(broker.now_ms) != broker.now_ms
    assert broker.core.stage.take() is None
    assert fingerprint(broker.core) == before


def test_searches_take_turns(broker: Broker) -> None:
    broker.topic()
    for _ in range(40):
        broker.send(b"x")
    broker.topic("small")
    broker.send(b"y", b"y", topic="small")
    told: list[str] = []
    with broker.turn() as core:
        core.searching.search("t", Query(key=b"x"), lambda result: told.append("large"))
        core.searching.search("small", Query(key=b"x"), lambda result: told.append("small"))
    for _ in range(40):
        broker.pass_ms(1)
    assert told == ["small", "large"]


def test_a_cancelled_search_is_never_answered(broker: Broker) -> None:
    broker.topic()
    for _ in range(10):
        broker.send(b"x")
    results: list[ScanResult] = []
    with broker.turn() as core:
        under_way = core.searching.search("t", Query(key=b"k"), results.append)
    assert under_way is not None
    under_way.cancel()
    for _ in range(20):
        broker.pass_ms(1)
    assert not results
    assert len(broker.core.scans) == 0


def test_no_more_searches_are_taken_than_allowed(broker: Broker) -> None:
    broker.topic()
    for _ in range(10):
        broker.send(b"x")
    with broker.turn() as core:
        scans = [core.searching.search("t", Query(key=b"k"), lambda result: None) for _ in range(SCANS_MAX)]
        with pytest.raises(Busy):
            core.searching.search("t", Query(key=b"k"), lambda result: None)
        assert scans[0] is not None
        scans[0].cancel()
        core.searching.search("t", Query(key=b"k"), lambda result: None)


def test_a_search_in_a_topic_that_goes_ends_with_an_error(broker: Broker) -> None:
    broker.topic()
    for _ in range(10):
        broker.send(b"x")
    results: list[ScanResult] = []
    with broker.turn() as core:
        core.searching.search("t", Query(key=b"k"), results.append)
        core.topics.delete("t")
    broker.pass_ms(1)
    assert isinstance(results[0].error, NotFound)


def test_after_a_reset_those_who_search_are_told(broker: Broker) -> None:
    broker.topic()
    for _ in range(10):
        broker.send(b"x")
    results: list[ScanResult] = []
    with broker.turn() as core:
        core.searching.search("t", Query(key=b"k"), results.append)
    broker.core.reset()
    assert isinstance(results[0].error, Busy)


def test_damaged_messages_are_passed_over_and_told(local: Broker) -> None:
    local.topic()
    for number in range(6):
        local.send(b"%d" % number + b"-" * 20, key=b"k")
    damage(local, 3)
    for newest in (False, True):
        result = search(local, key=b"k", newest=newest)
        numbers = [int((record[3] or b"").rstrip(b"-")) for _, record in result.found]
        assert sorted(numbers, reverse=newest) == numbers
        assert numbers == ([5, 4, 2, 1, 0] if newest else [0, 1, 2, 4, 5])
        assert result.damage
    topic = local.core.topics.get("t")
    assert search(local, id=message_id(topic.id, 0, 3)).damage


def test_a_result_is_bounded_in_bytes(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "SEARCH_BYTES_MAX", 250)
    broker.topic(partitions=2)
    for number in range(10):
        broker.send(b"%d" % number * 100, key=b"k", number=number % 2)
        broker.now_ms += SECOND_MS
    assert search(broker, key=b"k", number=0).cut
    assert bodies(broker, key=b"k", number=0) == [b"0" * 100, b"2" * 100]
    assert bodies(broker, key=b"k", number=0, newest=True) == [b"8" * 100, b"6" * 100]
    result = search(broker, key=b"k")
    assert result.cut
    assert 1 <= len(result.found) <= 2
    assert not search(broker, key=b"k", number=0, most=2).cut


@pytest.mark.parametrize(
    "query", [{"most": 0}, {"most": 10_001}, {"id": "x"}, {"id": "1-2"}, {"id": ""}, {"number": 5}]
)
def test_what_makes_no_sense_is_refused(broker: Broker, query: dict[str, Any]) -> None:
    broker.topic()
    with broker.turn() as core:
        with pytest.raises(InvalidArgument):
            core.searching.search("t", Query(**query), lambda result: None)
        with pytest.raises(NotFound):
            core.searching.search("nothing", Query(), lambda result: None)


@pytest.mark.parametrize("seed", range(20))
def test_a_search_finds_what_a_look_at_everything_finds(broker: Broker, seed: int) -> None:
    random = Random(seed)
    topic = broker.topic(partitions=random.randint(1, 3))
    ids = [message_id(77, 0, number) for number in range(5)]
    for _ in range(random.randint(0, 30)):
        broker.now_ms += random.choice([0, 1, 1000, -500])
        headers = ((ID, random.choice(ids).encode()),) if random.random() < 0.3 else ()
        amount = b"%d" % random.randint(0, 9)
        some = [b"x"] * random.randint(1, 4)
        broker.send(*some, key=random.choice([None, b"a", b"b"]), headers=(*headers, (b"amount", amount)))
    stored = {number: broker.records(number=number) for number in range(len(topic.partitions))}
    ids += [message_id(topic.id, number, random.randint(0, 10)) for number in stored]
    for _ in range(20):
        query = Query(
            id=random.choice([None, None, random.choice(ids)]),
            key=random.choice([None, None, b"a"]),
            from_ms=random.choice([None, broker.now_ms - random.randint(0, 20_000)]),
            to_ms=random.choice([None, broker.now_ms - random.randint(0, 10_000)]),
            filter=random.choice([None, compile_filter("amount > 4")]),
            number=random.choice([None, None, *stored]),
            most=random.choice([1, 3, 10, 1000]),
            newest=random.random() < 0.5,
        )
        results: list[ScanResult] = []
        with broker.turn() as core:
            core.searching.search("t", query, results.append)
        while not results:
            broker.core.tick(broker.now_ms)
        found: list[tuple[int, Record]] = results[0].found
        assert found == expected(topic.id, stored, query, stored), query
