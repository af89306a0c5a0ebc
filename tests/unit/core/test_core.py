"""The core as a whole: turns, the state in bytes, restarts, and flushes that fail."""

import errno
from pathlib import Path
from typing import Any

import msgspec
import pytest

from onemq.core.core import STATE_VERSION, Core
from onemq.core.receive import Handed
from onemq.core.redelivery import Backoff, Immediate, Ladder
from onemq.core.start import FIRST
from onemq.errors import DiskFull, FolderError, NotFound, OneMQError, ReadOnly
from onemq.log import snapshot
from onemq.log.disk import OsDisk
from onemq.log.engine import Done, Log, WriteSet
from onemq.log.local import LocalLog
from onemq.log.memory import MemoryLog
from tests.sim.disk import SimDisk
from tests.sim.fingerprint import first_difference
from tests.unit.core.broker import (
    DAY_MS,
    HOUR_MS,
    MINUTE_MS,
    NOW_MS,
    SECOND_MS,
    Answers,
    Broker,
    sealed,
    simulated,
    state,
)


def busy(broker: Broker) -> Broker:
    """A bit of everything: topics, groups in all states, timers, producers, keys."""
    broker.topic("stream", 3, retention_ms=DAY_MS)
    broker.topic("queue", kind="queue", flush="async")
    broker.topic("gone")
    broker.send(*[b"%d" % number for number in range(30)], topic="stream")
    broker.send(b"a", b"b", b"c", b"d", b"e", topic="queue")
    broker.group("stream", "reader", policy=Ladder((SECOND_MS, HOUR_MS)))
    broker.group("stream", "other", lease_ms=HOUR_MS, dead_topic="graves")
    queue = broker.group("queue", "workers", policy=Immediate(2))
    with broker.turn() as core:
        core.groups.join(queue, "kept", leased=False)
    broker.receive(queue, "kept", most=4)
    broker.fail(queue, 0, reason="it broke")
    broker.fail(queue, 1, delay_ms=HOUR_MS)
    broker.acknowledge(queue, 2)
    reader = broker.core.groups.get("stream", "reader")
    broker.receive(reader, "unleased", most=12)
    broker.fail(reader, 0, 2)
    other = broker.core.groups.get("stream", "other")
    broker.receive(other, most=7)
    with broker.turn() as core:
        core.groups.reject(other, 0, 0, "not wanted")
        core.claims.claim(reader, 1, range(10), "claimer")
        core.topics.delete("gone")
        core.topics.alter("stream", partitions=4)
    for delay_ms in (SECOND_MS, HOUR_MS, 40 * DAY_MS):
        broker.send(b"later", topic="queue", deliver_at_ms=broker.now_ms + delay_ms)
    with broker.turn() as core:
        core.schedule.cancel(0)
        core.schedule.move(2, broker.now_ms + DAY_MS)
        producer = core.producers.open("billing")
        core.send("queue", b"once", producer=(producer.id, 0, 7))
        core.keys.strings.set(b"s", b"value")
        core.keys.lists.push(b"l", [b"1", b"2"], True)
        core.keys.expire_at(b"s", broker.now_ms + HOUR_MS)
    return broker


class WatchedLog:
    """Stands before a log and notes what that is asked to append."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self.asked: list[WriteSet] = []

    def append(self, writes: WriteSet, done: Done) -> None:
        self.asked.append(writes)
        self._log.append(writes, done)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


def watch(broker: Broker) -> list[WriteSet]:
    """What the core asks its log to append from here on."""
    watched = WatchedLog(broker.log)
    broker.core.log = watched  # type: ignore[assignment]
    return watched.asked


# Turns


def test_a_turn_that_changes_nothing_asks_the_log_for_nothing(broker: Broker) -> None:
    broker.topic()
    broker.group()
    with broker.turn() as core:
        core.topics.get("t")
    asked = watch(broker)
    done: list[object] = []
    broker.core.settle()
    broker.core.flush(done.append)
    assert (asked, done) == ([], [None])


def test_a_turn_is_one_set_and_waits_for_the_disk_if_any_part_asks_for_it(broker: Broker) -> None:
    """A2"""
    broker.topic("sync")
    broker.topic("async", flush="async")
    asked = watch(broker)
    broker.send(b"1", topic="async")
    with broker.turn() as core:
        core.send("async", b"2")
        core.send("sync", b"3")
        core.create_group("async", "g", FIRST)
    assert [writes.sync for writes in asked] == [False, True]
    assert [[batch.journaled for batch in writes.batches] for writes in asked] == [[False], [False, True]]
    assert [len(writes.entries) for writes in asked] == [0, 1]


def test_the_tick_returns_the_earliest_of_all_due_times(broker: Broker) -> None:
    broker.topic()
    with broker.turn() as core:
        core.waiting.wait(core.topics.get("t").partitions, broker.now_ms + 400, lambda: None)
        core.send("t", b"later", deliver_at_ms=broker.now_ms + 300)
        core.keys.strings.set(b"s", b"value")
        core.keys.expire_at(b"s", broker.now_ms + 200)
    assert broker.core.tick(broker.now_ms) == broker.now_ms + 200


def test_numbers_for_people_leave_out_what_is_the_brokers_own(broker: Broker) -> None:
    broker.topic("t", 2)
    broker.send(b"1", b"2", b"3")
    broker.group()
    broker.send(b"later", deliver_at_ms=broker.now_ms + HOUR_MS)
    stats = broker.core.stats()
    assert {name: stats[name] for name in ("topics", "groups", "messages", "scheduled", "keys")} == {
        "topics": 1, "groups": 1, "messages": 3, "scheduled": 1, "keys": 0,
    }  # fmt: skip


def test_the_same_calls_at_the_same_times_give_the_same_state() -> None:
    """Law 4: the core is deterministic."""
    one, two = busy(simulated()), busy(simulated())
    assert list(one.core.dump()) == list(two.core.dump())
    assert first_difference(state(one.core), state(two.core)) is None


# The state in bytes


def test_what_is_dumped_and_loaded_is_the_same_state(local: Broker) -> None:
    busy(local)
    loaded = Core(local.log)
    loaded.stage.now_ms = local.now_ms
    loaded._load(b"".join(local.core.dump()))
    loaded.topics.place_all()
    assert first_difference(state(loaded), state(local.core)) is None
    assert loaded.stats() == local.core.stats()


@pytest.mark.parametrize("how", ["kill", "stop", "power cut"])
def test_a_restart_finds_everything_as_it_was_but_for_leases(local: Broker, how: str) -> None:
    """Law 1: the log is the truth."""
    busy(local)
    with local.turn() as core:
        core.send("stream", b"sync", number=0)  # so that a power cut takes nothing that was asked for before
    before = state(local.core)
    local.restart(how)
    after = state(local.core)
    if how == "power cut":  # async messages may be lost
        before["topics"].pop("queue"), after["topics"].pop("queue")
        before.pop("dues"), after.pop("dues")
    assert first_difference(after, before) is None


def test_after_a_clean_stop_there_is_nothing_to_replay(local: Broker) -> None:
    busy(local)
    local.restart("stop")
    assert isinstance(local.log, LocalLog)
    assert (local.log.report.entries, local.log.report.clean) == (0, True)


def test_a_restart_right_after_another_changes_nothing(local: Broker) -> None:
    busy(local)
    local.restart()
    once = state(local.core)
    local.restart()
    local.restart("stop")
    assert first_difference(state(local.core), once) is None


def test_the_broker_lives_on_real_files_too(tmp_path: Path) -> None:
    broker = Broker(OsDisk(tmp_path))
    busy(broker)
    before = state(broker.core)
    broker.restart("stop")
    assert first_difference(state(broker.core), before) is None
    group = broker.core.groups.get("queue", "workers")
    assert broker.bodies(group) == [b"a", b"e", b"once"]
    broker.log.close()


def test_checkpoints_in_the_middle_of_everything_lose_nothing() -> None:
    """Every turn may be the one after which the state is written down."""
    broker = simulated()
    assert isinstance(broker.log, LocalLog)
    broker.log._since._entries_max = 0
    busy(broker)
    assert len(snapshot.list_files(broker.log._disk)) == snapshot.KEPT
    before = state(broker.core)
    broker.restart()
    assert first_difference(state(broker.core), before) is None


def test_a_state_of_a_newer_version_is_refused(local: Broker) -> None:
    newer = msgspec.msgpack.encode([STATE_VERSION + 1])
    with pytest.raises(FolderError, match="newer than this OneMQ reads"):
        Core(local.log)._load(newer)


def test_an_entry_that_is_not_known_is_refused(local: Broker) -> None:
    with pytest.raises(FolderError, match="kind 99"):
        Core(local.log)._apply([[99, 1]])


def test_a_log_in_memory_starts_empty() -> None:
    core = Core(MemoryLog())
    core.recover(NOW_MS)
    assert list(core.topics) == []


# Recovery


def test_a_restart_ends_the_leases_of_the_last_run_and_draws_the_consequences(local: Broker) -> None:
    """C11, C12"""
    local.topic()
    local.send(b"0", b"1")
    once = local.group(name="once", policy=Immediate(1))
    twice = local.group(name="twice", policy=Backoff(initial_delay_ms=HOUR_MS))
    for group in (once, twice):
        with local.turn() as core:
            core.groups.join(group, "m", leased=True)
        local.receive(group)
    local.restart()
    once, twice = (local.core.groups.get("t", name) for name in ("once", "twice"))
    assert once.lag == 0
    assert [death.reason for death in local.deaths("t.once.dead") if death] == ["the broker restarted"] * 2
    assert local.bodies(twice, "n") == [b"0", b"1"], "back at once, without the delay of a failure"


def test_a_power_cut_takes_the_end_of_async_topics_and_groups_follow() -> None:
    """A2: async may lose what was not yet synced, and never more"""
    lost = 0
    for seed in range(30):
        broker = simulated()
        assert isinstance(broker.disk, SimDisk)
        broker.disk._random.seed(seed)
        broker.topic("t", flush="async")
        broker.topic("sync")
        group = broker.group()
        for number in range(10):
            broker.send(b"%d" % number)
        broker.receive(group, most=8)
        broker.acknowledge(group, 0, 5)
        broker.send(b"sync", topic="sync")
        broker.restart("power cut")
        kept = len(broker.values())
        lost += 10 - kept
        assert broker.values() == [b"%d" % number for number in range(kept)]
        cursor = broker.core.groups.get("t", "g").cursors[0]
        assert cursor.next == min(8, kept)
        assert sorted(cursor.unacknowledged) == [offset for offset in (1, 2, 3, 4, 6, 7) if offset < kept]
        assert broker.send(b"next") == [(0, kept)]
        assert broker.values("sync") == [b"sync"]
    assert lost > 0, "some seeds must lose something for this to mean anything"


# Flushes that fail


def failing(broker: Broker, kind: str = "sync", code: int = errno.EIO) -> OneMQError:
    """Lets the flush of the turn under way fail, and returns why; then the core is reset."""
    assert isinstance(broker.disk, SimDisk)
    broker.disk.fail_next(kind, code)
    error = broker.end()
    assert error is not None
    broker.core.reset()
    return error


@pytest.mark.parametrize(
    ("kind", "code", "error"),
    [("sync", errno.EIO, ReadOnly), ("append", errno.EIO, ReadOnly), ("append", errno.ENOSPC, DiskFull)],
)
def test_what_a_failed_flush_did_not_store_never_happened(
    local: Broker, kind: str, code: int, error: type[OneMQError]
) -> None:
    """A2: after a failed write or sync nothing more is acknowledged"""
    busy(local)
    before, values = state(local.core), local.values("queue")
    local.core.tick(local.now_ms)
    local.core.send("queue", b"never", deliver_at_ms=local.now_ms + 1)
    local.core.send("queue", b"never")
    local.core.topics.create("never")
    local.core.topics.delete("stream")
    local.core.groups.acknowledge(local.core.groups.get("queue", "workers"), 0, [3])
    local.core.keys.strings.set(b"s", b"never")
    assert isinstance(failing(local, kind, code), error)
    assert first_difference(state(local.core), before) is None
    assert local.values("queue") == values
    assert local.core.read_only is not None


def test_those_who_wait_are_told_when_a_flush_fails(local: Broker) -> None:
    local.topic()
    answers = Answers(local, local.group())
    told: list[str] = []
    with local.turn() as core:
        answers.ask("a")
        core.waiting.wait(core.topics.get("t").partitions, local.now_ms + MINUTE_MS, lambda: told.append("reader"))
    local.core.tick(local.now_ms)
    local.core.topics.create("never")
    failing(local)
    assert answers.told == {"a": []}
    assert told == ["reader"]


def test_those_who_ask_again_when_told_find_the_state_as_it_is_now(local: Broker) -> None:
    """A push consumer that asks for more whenever it is answered must not end up in what was thrown away."""
    local.topic()
    local.group()
    got: list[list[bytes | None]] = []

    def take(handed: list[Handed]) -> None:
        got.append([record[3] for _, record, _ in handed])
        ask()

    def ask() -> None:
        core = local.core
        core.receiving.receive(core.groups.get("t", "g"), "m", 1, take, local.now_ms + DAY_MS)

    with local.turn():
        ask()
    local.core.tick(local.now_ms)
    local.core.send("t", b"never")
    assert isinstance(local.disk, SimDisk)
    local.disk.fail_next("append", errno.ENOSPC)
    assert isinstance(local.end(), DiskFull)
    local.core.log.try_again()
    local.core.reset()
    local.send(b"1")
    assert got == [[b"never"], [], [b"1"]]


def test_members_and_messages_that_are_not_persistent_outlive_a_failed_flush(local: Broker) -> None:
    """A3: it is no restart"""
    local.topic()
    group = local.group()
    local.send(b"0", b"1", persistent=False)
    with local.turn() as core:
        core.groups.join(group, "m", leased=True)
    local.receive(group, most=1)
    local.core.tick(local.now_ms)
    local.core.send("t", b"never")
    failing(local, "append", errno.ENOSPC)
    local.pass_ms(SECOND_MS)
    group = local.core.groups.get("t", "g")
    assert group.members["m"].leased
    assert local.bodies(group) == [b"1"]


def test_after_a_failed_sync_reads_go_on_and_every_change_is_refused(local: Broker) -> None:
    """A2: fail closed"""
    busy(local)
    local.core.tick(local.now_ms)
    local.core.topics.create("never")
    failing(local)
    core, group = local.core, local.core.groups.get("queue", "workers")
    before = state(core)
    assert len(local.values("stream")) == 10
    core.tick(local.now_ms + DAY_MS)
    for call in (
        lambda: core.send("queue", b""),
        lambda: core.send("queue", b"", deliver_at_ms=local.now_ms + 1),
        lambda: core.sending.send_batch(group.topic, 0, sealed(b"")),
        lambda: core.topics.create("new"),
        lambda: core.topics.alter("queue", partitions=9),
        lambda: core.topics.delete("queue"),
        lambda: core.create_group("queue", "new", FIRST),
        lambda: core.groups.delete(group),
        lambda: core.groups.seek(group, 0, 0),
        lambda: core.groups.join(group, "new", leased=True),
        lambda: core.groups.leave(group, "kept"),
        lambda: core.groups.acknowledge(group, 0, [3]),
        lambda: core.groups.fail(group, 0, [3], "it broke"),
        lambda: core.groups.give_back(group, 0, [3]),
        lambda: core.groups.reject(group, 0, 3, "bad"),
        lambda: core.claims.claim(group, 0, [3], "new"),
        lambda: core.receiving.receive(group, "m", 1, lambda handed: None),
        lambda: core.schedule.cancel(1),
        lambda: core.schedule.move(1, local.now_ms),
        lambda: core.producers.open(),
        lambda: core.unit().commit(),
        lambda: core.check_writable(),
    ):
        with pytest.raises(ReadOnly, match="restart OneMQ"):
            call()
    assert first_difference(state(core) | {"dues": {}}, before | {"dues": {}}) is None
    core.settle()
    done: list[object] = []
    core.flush(done.append)
    assert done == [None], "nothing was staged"


def test_after_a_full_disk_the_broker_goes_on_by_itself_when_there_is_room(local: Broker) -> None:
    """A4"""
    local.topic()
    assert isinstance(local.disk, SimDisk)
    local.core.tick(local.now_ms)
    local.core.send("t", b"never")
    local.disk.limit_bytes = local.disk.used()
    assert isinstance(local.end(), DiskFull)
    local.core.reset()
    local.now_ms += SECOND_MS
    local.core.tick(local.now_ms)
    with pytest.raises(DiskFull):
        local.core.send("t", b"still full")
    local.disk.limit_bytes = None
    local.pass_ms(SECOND_MS)
    local.send(b"welcome")
    assert local.values() == [b"welcome"]
    assert local.core.read_only is None


def test_a_group_held_from_before_a_reset_is_gone(local: Broker) -> None:
    """Sessions look it up again: the old object belongs to what was thrown away."""
    local.topic()
    group = local.group()
    local.core.tick(local.now_ms)
    local.core.topics.create("never")
    failing(local, "append", errno.ENOSPC)
    local.pass_ms(SECOND_MS)
    with local.turn() as core:
        with pytest.raises(NotFound, match="any more"):
            core.groups.acknowledge(group, 0, [0])
        core.groups.acknowledge(core.groups.get("t", "g"), 0, [0])


def test_trouble_is_still_told_after_a_reset() -> None:
    told: list[str] = []
    broker = simulated(on_trouble=told.append)
    broker.topic()
    broker.send(b"x", deliver_at_ms=broker.now_ms + 1)
    with broker.turn() as core:
        core.topics.delete("t")
    broker.core.tick(broker.now_ms)
    broker.core.topics.create("never")
    failing(broker, "append", errno.ENOSPC)
    broker.pass_ms(SECOND_MS)
    assert len(told) == 1
