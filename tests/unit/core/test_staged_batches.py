"""Whole batches in transactions: staged as they are, committed by one decision, moved over several turns."""

from collections.abc import Callable
from typing import Any

import pytest

from onemq.core import commit_units, commits, staged_batches, transaction
from onemq.core.commit_units import CommitUnit
from onemq.core.stream_ids import NUMBER_BITS
from onemq.core.topics import TopicConfig
from onemq.core.transaction import StagedBatch
from onemq.errors import Busy, DiskFull, InvalidArgument, NotFound, OneMQError, TooLarge, TransactionEnded
from onemq.log.batch import walk
from onemq.message import PRIORITY, STREAM_ID, header
from tests.sim.disk import SimDisk
from tests.sim.staged import compressed
from tests.unit.core.broker import DAY_MS, NOW_MS, Answers, Broker, on_both_engines, sealed, simulated

GROUP = "loader"


@pytest.fixture
def two(broker: Broker) -> Broker:
    broker.topic("t", 2)
    return broker


def stage(broker: Broker, name: str, *bodies: bytes, topic: str = "t", number: int = 0, **more: Any) -> StagedBatch:
    with broker.turn() as core:
        return core.halves.batches.stage(name, GROUP, core.topics.get(topic), number, sealed(*bodies), **more)


def commit(broker: Broker, *names: str, unit: CommitUnit | None = None) -> int:
    with broker.turn() as core:
        return core.halves.commit_all(names, unit).messages


@pytest.fixture
def small_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "TURN_BYTES_MAX", 1_000)
    monkeypatch.setattr(commits, "COMMIT_TURN_BYTES", 200)
    monkeypatch.setattr("onemq.core.transaction.RECEIVE_BYTES_MAX", 150)


# Staging and committing


def test_batches_are_seen_when_they_are_committed_and_go_where_they_were_sent(two: Broker) -> None:
    answers = Answers(two, two.group())
    with two.turn():
        answers.ask("a", most=10)
    assert stage(two, "tx", b"a", b"b") == ("tx", 2, False)
    stage(two, "tx", b"c", number=1)
    stage(two, "tx", b"d")
    assert two.all_values() == [[], []]
    assert answers.told == {}
    assert commit(two, "tx") == 4
    assert two.all_values() == [[b"a", b"b", b"d"], [b"c"]]
    assert answers.told.keys() == {"a"}
    assert len(two.core.halves) == len(two.core.halves.parking) == 0
    assert commit(two, "tx") == 4
    assert two.all_values() == [[b"a", b"b", b"d"], [b"c"]]


def test_a_batch_moves_as_it_is_with_the_time_of_its_commit(two: Broker) -> None:
    batch = compressed(sealed(b"a" * 100, b"b" * 100, timestamp_ms=5))
    with two.turn() as core:
        core.halves.batches.stage("tx", GROUP, core.topics.get("t"), 0, batch)
    two.pass_ms(70_000)
    two.send(b"before", number=0)
    commit(two, "tx")
    chunks: list[bytes] = []
    two.core.reading.batches(two.core.topics.get("t").partitions[0], 1, 1 << 20, chunks.append)
    ((position, _),) = walk(chunks[0])
    assert chunks[0][position + 61 :] == batch[61:], "the packed records are those of the producer"
    assert [(record[0], record[1], record[3]) for record in two.records()][1:] == [
        (1, NOW_MS + 70_000, b"a" * 100),
        (2, NOW_MS + 70_000, b"b" * 100),
    ]


def test_priorities_in_a_batch_count_when_it_is_committed(two: Broker) -> None:
    group = two.group()
    stage(two, "tx", b"plain")
    for pack in (bytes, compressed):
        with two.turn() as core:
            batch = pack(sealed(b"urgent", headers=((PRIORITY, b"9"),)))
            core.halves.batches.stage("tx", GROUP, core.topics.get("t"), 0, batch)
    commit(two, "tx")
    assert two.bodies(group) == [b"urgent", b"urgent", b"plain"]


def test_batches_of_a_stream_get_ids_that_grow(local: Broker) -> None:
    with local.turn() as core:
        stream = core.streams.create(b"s", TopicConfig())
        core.streams.add(stream, b"", (), (NOW_MS + DAY_MS) << NUMBER_BITS | 5)
    stage(local, "tx", b"a", b"b", topic="s")
    commit(local, "tx")
    assert [(record[3], header(record[4], STREAM_ID)) for record in local.records("s")][1:] == [
        (b"a", f"{NOW_MS + DAY_MS}-6".encode()),
        (b"b", f"{NOW_MS + DAY_MS}-7".encode()),
    ]


@pytest.mark.parametrize("how", ["kill", "power cut", "stop"])
def test_staged_batches_survive_a_restart(local: Broker, how: str) -> None:
    local.topic("t", 2, flush="async")
    stage(local, "tx", b"a", b"b", place=0)
    local.restart(how)
    assert stage(local, "tx", b"a", b"b", place=0).repeated
    stage(local, "tx", b"c", number=1, place=1)
    assert commit(local, "tx") == 3
    local.restart(how)
    assert local.all_values() == [[b"a", b"b"], [b"c"]]


@pytest.mark.usefixtures("small_turns")
@pytest.mark.parametrize("how", ["kill", "power cut", "stop"])
def test_a_commit_goes_on_after_a_restart_and_moves_each_message_once(local: Broker, how: str) -> None:
    local.topic("t")
    for number in range(30):
        stage(local, "ab"[number % 2], b"%d" % number)
    assert commit(local, "b", "a", unit=CommitUnit("u", 3)) == 30
    expected = [b"%d" % number for number in (*range(1, 30, 2), *range(0, 30, 2))]
    while local.core.halves.list():
        assert local.values() == expected[: len(local.values())]
        assert local.core.halves.unit("u") == 3
        local.restart(how)
    assert local.values() == expected
    assert len(local.core.halves.parking) == 0


@pytest.mark.usefixtures("small_turns")
def test_whoever_waits_is_told_at_the_end_of_the_turn_in_which_all_is_there(two: Broker) -> None:
    for number in range(30):
        stage(two, "large", b"%d" % number)
    told: list[int] = []
    with two.turn() as core:
        made = core.halves.commit_all(["large"])
        made.then = lambda error: told.append(len(two.values()))
    assert made.left == {"large"}
    while two.core.halves.list():
        assert told == []
        two.pass_ms(1)
    assert told == [30]


@pytest.mark.usefixtures("small_turns")
def test_small_commits_overtake_large_ones(two: Broker) -> None:
    two.topic("u")
    for number in range(30):
        stage(two, "large", b"%d" % number)
    stage(two, "small", b"small", topic="u")
    commit(two, "large")
    assert commit(two, "small") == 1
    assert two.values("u") == [b"small"]
    assert [each.name for each in two.core.halves.list()] == ["large"]


@pytest.mark.usefixtures("small_turns")
def test_a_failed_flush_tells_those_who_wait_to_commit_once_more(local: Broker) -> None:
    local.topic("t")
    for number in range(30):
        stage(local, "large", b"%d" % number)
    told: list[OneMQError | None] = []
    with local.turn() as core:
        core.halves.commit_all(["large"]).then = told.append
    assert isinstance(local.disk, SimDisk)
    local.disk.limit_bytes = local.disk.used()
    local.core.tick(local.now_ms)
    assert isinstance(local.end(), DiskFull)
    local.core.reset()
    assert [type(error) for error in told] == [Busy]
    local.disk.limit_bytes = None
    for _ in range(40):
        local.pass_ms(1_000)
    assert local.values() == [b"%d" % number for number in range(30)]
    assert commit(local, "large") == 30


# Several at once, and units


def test_all_are_committed_or_none(two: Broker) -> None:
    stage(two, "a", b"a")
    stage(two, "b", b"b")
    with two.turn() as core:
        core.halves.rollback("b")
        for error, names in ((TransactionEnded, ["a", "b"]), (NotFound, ["a", "never"])):
            for unit in (None, CommitUnit("u", 1)):
                with pytest.raises(error):
                    core.halves.commit_all(names, unit)
        with pytest.raises(NotFound):
            core.halves.rollback_all(["a", "never"])
        assert core.halves.unit("u") is None
    assert [each.name for each in two.core.halves.list()] == ["a"]
    assert commit(two, "a", "a") == 1


def test_single_messages_and_batches_are_committed_together_in_order(two: Broker) -> None:
    stage(two, "batch", b"1", b"2")
    with two.turn() as core:
        core.halves.add("single", "shop", core.topics.get("t"), b"3", number=0)
    stage(two, "last", b"4")
    assert commit(two, "batch", "single", "last") == 4
    assert two.values() == [b"1", b"2", b"3", b"4"]


def test_a_number_of_a_unit_is_committed_once_and_what_comes_again_is_dropped(local: Broker) -> None:
    local.topic("t")
    stage(local, "first", b"x")
    assert commit(local, "first", unit=CommitUnit("u", 7)) == 1
    local.restart("power cut")
    stage(local, "second", b"x")
    assert commit(local, "second", "never", unit=CommitUnit("u", 7)) == 0
    assert commit(local, unit=CommitUnit("u", 6)) == 0
    assert local.core.halves.list() == []
    with local.turn() as core, pytest.raises(TransactionEnded):
        core.halves.commit("second")
    assert local.values() == [b"x"]
    assert commit(local, unit=CommitUnit("u", 9)) == 0
    local.restart("stop")
    assert local.core.halves.unit("u") == 9


def test_there_is_room_for_so_many_units_and_old_ones_make_room(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_units, "COMMIT_UNITS_MAX", 2)
    for name in "ab":
        commit(broker, unit=CommitUnit(name, 1))
    with broker.turn() as core, pytest.raises(TooLarge):
        core.halves.commit_all([], CommitUnit("c", 1))
    commit(broker, unit=CommitUnit("a", 2))
    broker.pass_ms(30 * DAY_MS)
    commit(broker, unit=CommitUnit("c", 1))
    assert [broker.core.halves.unit(name) for name in "abc"] == [None, None, 1]
    with broker.turn() as core:
        for unit in (CommitUnit("", 1), CommitUnit("d", -1)):
            with pytest.raises(InvalidArgument):
                core.halves.commit_all([], unit)


def test_all_transactions_with_a_prefix_are_rolled_back_but_for_those_that_commit(
    two: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "TURN_BYTES_MAX", 1)
    monkeypatch.setattr(commits, "COMMIT_TURN_BYTES", 1)
    for name in ("q-1", "q-2", "q-3", "other"):
        stage(two, name, b"x", number=0)
        stage(two, name, b"y", number=1)
    with two.turn() as core:
        core.halves.commit_all(["q-2"])
        assert core.halves.rollback_prefix("q-") == 4
        with pytest.raises(InvalidArgument):
            core.halves.rollback_prefix("")
    two.pass_ms(1)
    assert two.all_values() == [[b"x"], [b"y"]]
    assert [each.name for each in two.core.halves.list()] == ["other"]


# What is refused, and what goes wrong


def test_what_makes_no_sense_is_refused_and_nothing_is_staged(two: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    stage(two, "known", b"x")
    with two.turn() as core:
        topic = core.topics.get("t")
        core.halves.add("single", GROUP, topic, b"x")
        for error, name, group, number, batch in (
            (InvalidArgument, "known", "other", 0, sealed(b"x")),
            (InvalidArgument, "known", GROUP, 2, sealed(b"x")),
            (InvalidArgument, "single", GROUP, 0, sealed(b"x")),
            (OneMQError, "new", GROUP, 0, b"junk"),
            (OneMQError, "new", GROUP, 0, sealed(b"x")[:-1]),
        ):
            with pytest.raises(error):
                core.halves.batches.stage(name, group, topic, number, batch)
        with pytest.raises(InvalidArgument):
            core.halves.add("known", GROUP, topic, b"x")
        for module, limit in ((transaction, "STAGED_BYTES_MAX"), (staged_batches, "STAGED_RUNS_MAX")):
            with monkeypatch.context() as patch:
                patch.setattr(module, limit, 1)
                with pytest.raises(TooLarge):
                    core.halves.batches.stage("known", GROUP, topic, 0, sealed(b"x"))
    assert len(two.core.halves.parking) == 2


def test_rows_of_open_transactions_are_few_and_counted(two: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(50):
        stage(two, "a", b"x" * 100)
    stage(two, "b", b"x", number=1)
    monkeypatch.setattr(staged_batches, "STAGED_RUNS_MAX", 2)
    with pytest.raises(TooLarge):
        stage(two, "b", b"x")
    with two.turn():
        pass
    assert commit(two, "a") == 50
    stage(two, "b", b"x")


@on_both_engines
def test_a_commit_whose_topic_is_gone_is_refused_until_there_is_one(make: Callable[..., Broker]) -> None:
    told: list[str] = []
    broker = make(on_trouble=told.append)
    broker.topic("t", 3)
    stage(broker, "tx", b"a", number=2)
    with broker.turn() as core:
        core.topics.delete("t")
    with broker.turn() as core, pytest.raises(NotFound, match="topic 't' does not exist any more"):
        core.halves.commit_all(["tx"])
    broker.topic("t", 2)
    commit(broker, "tx")
    assert broker.all_values() == [[b"a"], []], "to its number modulo the partitions"
    assert told == []


@pytest.mark.usefixtures("small_turns")
@on_both_engines
def test_what_goes_to_a_topic_that_is_deleted_during_the_commit_is_told_of(make: Callable[..., Broker]) -> None:
    told: list[str] = []
    broker = make(on_trouble=told.append)
    broker.topic("t")
    for number in range(30):
        stage(broker, "tx", b"%d" % number)
    with broker.turn() as core:
        core.halves.commit_all(["tx"])
        core.topics.delete("t")
    for _ in range(30):
        broker.pass_ms(1)
    assert len(broker.core.halves) == 0
    assert "topic 't' does not exist any more" in told[0]


def test_a_batch_that_cannot_be_read_is_told_of_and_the_others_come() -> None:
    told: list[str] = []
    broker = simulated(on_trouble=told.append)
    broker.topic("t")
    for body in (b"first", b"broken", b"last"):
        stage(broker, "tx", body)
    disk = broker.disk
    assert isinstance(disk, SimDisk)
    for path in list(disk.files()):
        if path.endswith(".log") and "journal" not in path:
            file = disk.open(path, read_only=True)
            position = file.read(0, file.size()).find(b"broken")
            if position >= 0:
                disk.flip_bit(path, position)
    commit(broker, "tx")
    assert broker.values() == [b"first", b"last"]
    assert len(told) == 1
    assert len(broker.core.halves) == 0


def test_old_snapshots_know_neither_batches_nor_units(broker: Broker) -> None:
    broker.topic("t")
    with broker.turn() as core:
        core.halves.add("tx", "shop", core.topics.get("t"), b"x")
    end, done, rows, ended, *_ = broker.core.halves.dump()  # type: ignore[misc]
    fresh = simulated().core.halves
    fresh.load([end, done, [row[:9] for row in rows], ended])
    assert [each.name for each in fresh.list()] == ["tx"]
