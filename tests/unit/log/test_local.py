"""The local log at work: acknowledging in order, failing closed, checkpoints and cleaning beside it all."""

import errno
from collections.abc import Iterator
from random import Random

import pytest

from onemq.errors import DiskFull, OneMQError, ReadOnly
from onemq.log import distrust, journal, snapshot
from onemq.log.engine import WriteSet
from onemq.log.local import LocalLog
from onemq.log.since import PATIENCE_MAX, SEGMENT_BYTES_PER_JOURNAL_BYTE
from tests.sim.disk import SimDisk
from tests.unit.log.helpers import (
    TOPIC,
    HeldBackground,
    Outcome,
    append,
    batch,
    content,
    create,
    entries,
    put,
    records,
    segment_files,
    try_append,
    values,
)


class Stage:
    """A log with slow syncs: they, checkpoints and cleaning wait until the test lets them go."""

    def __init__(self, seed: int = 1) -> None:
        self.disk = SimDisk(Random(seed))
        self.background = HeldBackground()
        log = new_log(self.disk)
        create(log, segment_bytes=250)
        log.checkpoint([b""])
        log.close()
        self.log = self.open()

    def open(self) -> LocalLog:
        log = LocalLog(self.disk, background=self.background, inline_sync_seconds_max=0.0, journal_reserve_bytes=0)
        log.open()
        return log

    def put(self, value: bytes, sync: bool = True, journaled: bool = True) -> Outcome:
        made = batch(self.log, value, journaled=journaled)
        return try_append(self.log, WriteSet(batches=[made], entries=[("put", value)], sync=sync))

    def restart(self) -> None:
        self.disk.kill()
        self.background = HeldBackground()
        self.log = self.open()


@pytest.fixture
def stage() -> Stage:
    return Stage()


def new_log(disk: SimDisk, told: list[str] | None = None) -> LocalLog:
    """A log that tells of trouble in the list."""
    log = LocalLog(disk, on_trouble=(told if told is not None else []).append, journal_reserve_bytes=0)
    log.open()
    return log


# Acknowledging


def test_a_set_that_asks_for_it_is_acknowledged_when_it_is_synced(stage: Stage) -> None:
    outcome = stage.put(b"a")
    assert outcome.called == 0
    assert values(stage.log) == [b"a"], "it can be read before"
    stage.background.go()
    assert outcome.good


def test_a_set_that_does_not_ask_is_acknowledged_at_once(stage: Stage) -> None:
    assert stage.put(b"a", sync=False).good


def test_no_set_overtakes_an_earlier_one(stage: Stage) -> None:
    order: list[str] = []
    for number in range(6):
        made = WriteSet(entries=[("n", number)], sync=number % 3 == 0)
        stage.log.append(made, lambda error, number=number: order.append(f"{number} {error}"))  # type: ignore[misc]
    assert order == []
    stage.background.go()
    assert order == ["0 None", "1 None", "2 None"]
    stage.background.go()
    assert order == [f"{number} None" for number in range(6)]


def test_many_sets_share_a_sync(stage: Stage) -> None:
    outcomes = [stage.put(b"%d" % number) for number in range(50)]
    stage.background.go_all()
    assert all(outcome.good for outcome in outcomes)
    assert stage.log._commit.syncs == 2


def test_a_set_may_be_appended_while_another_is_acknowledged() -> None:
    log = new_log(SimDisk(Random(1)))
    create(log)
    inner = Outcome()
    log.append(WriteSet(entries=[("outer",)], sync=True), lambda error: log.append(WriteSet(sync=True), inner))
    assert inner.good


# A full disk


def test_a_set_that_does_not_fit_leaves_nothing_and_concerns_no_other(stage: Stage) -> None:
    waiting = stage.put(b"fits")
    stage.disk.limit_bytes = stage.disk.used()
    refused = stage.put(b"does not fit")
    assert isinstance(refused.error, DiskFull)
    assert stage.log.failure is refused.error
    assert waiting.called == 0
    stage.background.go_all()
    assert waiting.good
    assert values(stage.log) == [b"fits"]
    assert isinstance(stage.put(b"still full").error, DiskFull)
    assert not stage.log.try_again()
    stage.disk.limit_bytes = None
    assert stage.log.try_again()
    assert stage.log.failure is None
    later = stage.put(b"later")
    stage.background.go_all()
    assert later.good
    stage.restart()
    assert values(stage.log) == [b"fits", b"later"]
    assert entries(stage.log)[-2:] == [["put", b"fits"], ["put", b"later"]]


@pytest.mark.parametrize("room", range(0, 700, 35))
def test_however_little_fits_the_log_is_as_before(room: int) -> None:
    disk = SimDisk(Random(room))
    log = new_log(disk)
    create(log, partitions=2, segment_bytes=250)
    put(log, b"before", partition=1)
    disk.limit_bytes = disk.used() + room
    writes = WriteSet(
        batches=[batch(log, bytes(90)), batch(log, bytes(90), partition=1)],
        trims=[(TOPIC, 1, 1)],
        deletes=[TOPIC],
        entries=[("x",)],
        sync=True,
    )
    outcome = try_append(log, writes)
    disk.limit_bytes = None
    if outcome.error is None:
        return
    assert isinstance(outcome.error, DiskFull)
    assert (values(log), values(log, partition=1)) == ([], [b"before"])
    assert log.try_again()
    put(log, b"after")
    disk.kill()
    log = new_log(disk)
    assert (values(log), values(log, partition=1)) == ([b"after"], [b"before"])


def test_a_checkpoint_that_does_not_fit_can_be_tried_again() -> None:
    for room in (0, 5, 17, 40, 100):
        disk = SimDisk(Random(1))
        log = new_log(disk)
        create(log)
        for number in range(20):
            put(log, b"%d" % number, journaled=number % 2 == 0)
        disk.limit_bytes = disk.used() + room
        log.checkpoint([b"state" * 100])
        disk.limit_bytes = None
        assert isinstance(log.failure, DiskFull), room
        assert log.try_again()
        put(log, b"after")
        if room > 16:
            assert log.checkpoint_due()
        log.checkpoint([b"new state"])
        assert log.failure is None
        disk.crash()
        log = new_log(disk)
        assert log.replay().state == b"new state"
        assert values(log) == [*(b"%d" % number for number in range(20)), b"after"]


def test_cleaning_that_does_not_fit_leaves_everything_as_it_was() -> None:
    disk = SimDisk(Random(1))
    told: list[str] = []
    log = new_log(disk, told)
    create(log, segment_bytes=250)
    for number in range(10):
        put(log, b"%d" % number + bytes(80))
    before, files = values(log), segment_files(disk)
    disk.limit_bytes = disk.used() + 10
    freed: list[int] = []
    log.clean(TOPIC, 0, lambda offset: offset % 2 == 0, freed.append)
    disk.limit_bytes = None
    assert freed == [0]
    assert values(log) == before
    assert segment_files(disk) == files
    assert any("cleaning" in note for note in told)
    assert log.failure is None or log.try_again()


# A failed sync


def test_after_a_failed_sync_nothing_is_acknowledged_and_reads_go_on(stage: Stage) -> None:
    acknowledged = stage.put(b"good")
    stage.background.go_all()
    doubtful = [stage.put(b"x"), stage.put(b"y", sync=False), stage.put(b"z")]
    stage.disk.fail_next("sync", errno.EIO)
    stage.background.go_all()
    for outcome in doubtful:
        assert outcome.called == 1
        assert isinstance(outcome.error, ReadOnly)
    assert acknowledged.good
    assert isinstance(stage.put(b"late").error, ReadOnly)
    assert not stage.log.try_again()
    assert values(stage.log) == [b"good"]
    assert distrust.is_there(stage.disk)
    stage.restart()
    assert values(stage.log) == [b"good"]


def test_after_a_failed_sync_trims_deletes_and_changes_are_undone(stage: Stage) -> None:
    outcome = stage.put(b"a" + bytes(200))
    outcome = stage.put(b"b")
    stage.background.go_all()
    assert outcome.good
    before = values(stage.log)
    stage.log.append(WriteSet(trims=[(TOPIC, 0, 1)]), Outcome())
    stage.log.append(WriteSet(deletes=[TOPIC]), Outcome())
    stage.disk.fail_next("sync", errno.EIO)
    stage.background.go_all()
    assert values(stage.log) == before
    assert stage.log.bounds(TOPIC, 0) == (0, 2)


def test_a_sync_that_another_one_has_made_unnecessary_may_fail(stage: Stage) -> None:
    outcome = stage.put(b"a")
    stage.log.checkpoint([b"covers it"])
    stage.disk.fail_next("sync", errno.EIO)
    stage.background.go_all()
    assert outcome.good
    assert isinstance(stage.log.failure, ReadOnly)
    assert values(stage.log) == [b"a"]
    stage.disk.crash()
    stage.restart()
    assert values(stage.log) == [b"a"]


@pytest.mark.parametrize("kind", ["append", "truncate"])
@pytest.mark.parametrize("journaled", [True, False])
def test_any_other_error_of_the_disk_stops_writing_until_a_restart(kind: str, journaled: bool) -> None:
    disk = SimDisk(Random(1))
    log = new_log(disk)
    create(log)
    put(log, b"a")
    disk.fail_next("append", errno.EROFS)
    if kind == "truncate":
        disk.fail_next("truncate", errno.EROFS)
    outcome = try_append(log, WriteSet(batches=[batch(log, b"b", journaled=journaled)], sync=True))
    assert isinstance(outcome.error, ReadOnly)
    assert not log.try_again()
    assert values(log) == [b"a"]
    disk.kill()
    found = values(new_log(disk))
    if journaled and kind == "truncate":  # the journal may have all of it, and nobody could remove that
        assert found in ([b"a"], [b"a", b"b"])
    else:
        assert found == [b"a"]


# Checkpoints


def test_a_checkpoint_is_due_when_the_journal_is_long() -> None:
    log = LocalLog(SimDisk(Random(1)), journal_bytes=1000, checkpoint_entries=5)
    log.open()
    create(log)
    assert not log.checkpoint_due()
    put(log, bytes(2000))
    assert log.checkpoint_due()
    log.checkpoint([b""])
    assert not log.checkpoint_due()
    append(log, WriteSet(entries=[("x",)] * 6))
    assert log.checkpoint_due()


def test_a_large_state_puts_the_next_checkpoint_off_also_after_a_restart() -> None:
    disk = SimDisk(Random(1))
    log = LocalLog(disk, journal_bytes=1000, checkpoint_entries=10)
    log.open()
    create(log)
    log.checkpoint([bytes(2500)])
    for entries_between in (20, 20):
        append(log, WriteSet(entries=[("x",)] * entries_between))
        assert not log.checkpoint_due()
        append(log, WriteSet(entries=[("x",)] * 6))
        assert log.checkpoint_due()
        log.checkpoint([bytes(2500)])
        log.close()
        log = LocalLog(disk, journal_bytes=1000, checkpoint_entries=10)
        log.open()
    log.checkpoint([bytes(1_000_000)])
    append(log, WriteSet(entries=[("x",)] * (PATIENCE_MAX * 10 + 1)))
    assert log.checkpoint_due()


@pytest.mark.parametrize("removed", ["deleted", "trimmed", ""])
def test_async_batches_make_a_checkpoint_due_unless_they_were_removed_again(removed: str) -> None:
    log = LocalLog(SimDisk(Random(1)), journal_bytes=10_000)
    log.open()
    much = SEGMENT_BYTES_PER_JOURNAL_BYTE * 10_000 * 2 // 3
    for number in range(1, 4):
        create(log, topic=number)
        put(log, bytes(much), topic=number, journaled=False)
        assert log.checkpoint_due() == (number > 1 and not removed)
        if removed == "deleted":
            append(log, WriteSet(deletes=[number]))
        elif removed == "trimmed":
            append(log, WriteSet(trims=[(number, 0, 1)]))


def test_before_a_checkpoint_the_journal_is_synced_in_the_background() -> None:
    disk, background = SimDisk(Random(1)), HeldBackground()
    log = LocalLog(disk, journal_bytes=1000, background=background)
    log.open()
    create(log)
    append(log, WriteSet(entries=[("x", bytes(2000))]))
    assert not log.checkpoint_due()
    append(log, WriteSet(entries=[("y", bytes(2000))]))
    assert not log.checkpoint_due()
    background.go_all()
    assert log.checkpoint_due()
    log.checkpoint([b"state"])
    background.go_all()
    assert not log.checkpoint_due()
    append(log, WriteSet(entries=[("z", bytes(2000))], sync=True))
    assert log.checkpoint_due()  # everything is synced


def test_when_the_sync_before_a_checkpoint_fails_nothing_more_is_acknowledged() -> None:
    disk, background = SimDisk(Random(1)), HeldBackground()
    log = LocalLog(disk, journal_bytes=1000, background=background)
    log.open()
    create(log)
    append(log, WriteSet(entries=[("x", bytes(2000))]))
    disk.fail_next("sync", errno.EIO)
    assert not log.checkpoint_due()
    background.go_all()
    assert isinstance(log.failure, ReadOnly)
    refused = Outcome()
    log.append(WriteSet(entries=[("y",)]), refused)
    assert isinstance(refused.error, ReadOnly)


def test_the_thread_of_a_checkpoint_takes_the_state_and_rests(stage: Stage) -> None:
    taken: list[int] = []

    def state() -> Iterator[bytes]:
        for number in range(4):
            taken.append(number)
            yield bytes(100_000)

    stage.put(b"a")
    stage.log.checkpoint(state())
    assert taken == []
    stage.background.go_all()
    assert taken == [0, 1, 2, 3]
    assert stage.background.rests >= 4


def test_sets_go_on_while_a_checkpoint_runs(stage: Stage) -> None:
    first = stage.put(b"before", journaled=False)
    stage.log.checkpoint([b"state"])
    assert not stage.log.checkpoint_due()
    second = stage.put(b"meanwhile", journaled=False)
    stage.log.checkpoint([b"ignored: one is running"])
    stage.background.go_all()
    assert first.good
    assert second.good
    stage.restart()
    assert stage.log.replay().state == b"state"
    assert entries(stage.log) == [["put", b"meanwhile"]]
    assert values(stage.log) == [b"before", b"meanwhile"]


def test_a_checkpoint_survives_that_a_topic_goes_while_it_runs(stage: Stage) -> None:
    stage.put(b"a")
    stage.log.checkpoint([b"state"])
    stage.log.append(WriteSet(deletes=[TOPIC], entries=[("deleted",)]), Outcome())
    checkpoint, sync = stage.background.held.pop(1), stage.background.held.pop(0)
    stage.background.held += [sync, checkpoint]
    stage.background.go_all()
    assert stage.log.failure is None
    stage.restart()
    assert entries(stage.log) == [["deleted"]]


def test_a_checkpoint_whose_sync_fails_stops_writing_but_loses_nothing() -> None:
    disk = SimDisk(Random(1))
    log = new_log(disk)
    create(log)
    put(log, b"a")
    disk.fail_next("sync_folder", errno.EIO)
    log.checkpoint([b"state"])
    assert isinstance(log.failure, ReadOnly)
    assert not log.try_again()
    disk.crash()
    assert values(new_log(disk)) == [b"a"]


def test_a_second_checkpoint_without_a_set_in_between_harms_nothing() -> None:
    disk = SimDisk(Random(1))
    log = new_log(disk)
    create(log)
    put(log, b"a")
    log.checkpoint([b"state"])
    disk.fail_next("append", errno.EIO)
    log.checkpoint([b"state"])
    disk.crash()
    log = new_log(disk)
    assert log.failure is None
    assert values(log) == [b"a"]


def test_old_files_that_cannot_be_removed_are_told_and_removed_later() -> None:
    disk = SimDisk(Random(1))
    told: list[str] = []
    log = new_log(disk, told)
    create(log)
    for number in range(3):
        put(log, b"%d" % number)
        if number == 2:
            disk.fail_next("remove", errno.EIO)
        log.checkpoint([b""])
    assert log.failure is None
    assert any("could not be removed" in note for note in told)
    put(log, b"x")
    log.checkpoint([b""])
    assert len(snapshot.list_files(disk)) == 2
    assert len(journal.list_files(disk)) == 2


# Cleaning


def test_cleaning_beside_appends_trims_and_deletes_puts_in_place_only_what_still_fits(stage: Stage) -> None:
    for number in range(6):
        stage.put(b"%d" % number + bytes(200), sync=False)
    freed: list[int] = []
    stage.log.clean(TOPIC, 0, lambda offset: offset % 2 == 0, freed.append)
    assert freed == []
    stage.put(b"6", sync=False)
    stage.log.append(WriteSet(trims=[(TOPIC, 0, 2)]), Outcome())
    stage.background.go_all()
    assert freed[0] > 0
    assert [record[0] for record in records(stage.log)] == [2, 4, 5, 6]
    assert [path.rpartition("-")[2].lstrip("0") for path in segment_files(stage.disk)] == [
        "2.log",
        "3.c1.log",
        "4.log",
        "5.log",
        "6.log",
    ]
    stage.log.clean(TOPIC, 0, lambda offset: False, freed.append)
    stage.log.append(WriteSet(deletes=[TOPIC]), Outcome())
    stage.background.go_all()
    assert freed[1] == 0


def test_compaction_does_not_drop_a_record_in_favour_of_one_that_a_power_cut_takes() -> None:
    for seed in range(30):
        disk = SimDisk(Random(seed))
        log = new_log(disk)
        create(log, segment_bytes=150)
        for number in range(6):
            put(log, b"%d" % number + bytes(60), key=b"k", journaled=False)
        log.checkpoint([b""])
        put(log, b"new", key=b"k", journaled=False)
        freed: list[int] = []
        log.compact(TOPIC, 0, 0, freed.append)
        assert freed[0] > 0
        disk.crash()
        assert records(new_log(disk))[-1][3] == b"new"


def test_a_failed_sync_before_compaction_fails_closed() -> None:
    disk = SimDisk(Random(1))
    log = new_log(disk)
    create(log, segment_bytes=150)
    for number in range(6):
        put(log, b"%d" % number + bytes(60), key=b"k")
    disk.fail_next("sync", errno.EIO)
    log.compact(TOPIC, 0, 0, lambda freed: None)
    assert isinstance(log.failure, ReadOnly)
    assert len(values(log)) == 6


def test_a_damaged_segment_is_not_cleaned_and_the_rest_goes_on() -> None:
    disk = SimDisk(Random(1))
    told: list[str] = []
    log = new_log(disk, told)
    create(log, segment_bytes=150)
    for number in range(6):
        put(log, b"%d" % number + bytes(60))
    disk.flip_bit(segment_files(disk)[1], 90)
    freed: list[int] = []
    log.clean(TOPIC, 0, lambda offset: offset == 0, freed.append)
    assert freed == [0]
    assert any(segment_files(disk)[1] in note for note in told)
    put(log, b"next")
    assert not any(".c" in path for path in segment_files(disk))


def test_compaction_waits_until_half_of_it_is_new() -> None:
    disk = SimDisk(Random(1))
    log = new_log(disk)
    create(log, segment_bytes=150)
    for number in range(9):
        put(log, b"%d" % number + bytes(60), key=b"%d" % number)
    freed: list[int] = []
    log.compact(TOPIC, 0, 0, freed.append)
    put(log, b"other" + bytes(60), key=b"0")
    log.compact(TOPIC, 0, 0, freed.append)
    assert freed == [0, 0]
    for number in range(9):
        put(log, b"%d" % number + bytes(60), key=b"0")
    log.compact(TOPIC, 0, 0, freed.append)
    assert freed[2] > 0


def test_closing_twice_is_fine() -> None:
    disk = SimDisk(Random(1))
    log = new_log(disk)
    create(log)
    append(log, WriteSet(batches=[batch(log, b"kept")]))
    log.close()
    log.close()
    assert values(new_log(disk)) == [b"kept"]


def test_space_is_told() -> None:
    disk = SimDisk(Random(1), limit_bytes=100_000)
    log = new_log(disk)
    create(log)
    assert log.free_ratio() > 0.9
    put(log, bytes(80_000), journaled=False)
    assert log.free_ratio() < 0.3
    assert len(content(disk, segment_files(disk)[0])) == log.stored_bytes(TOPIC, 0)


def test_every_failure_is_one_of_ours() -> None:
    for code in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EMFILE):
        disk = SimDisk(Random(1))
        log = new_log(disk)
        create(log)
        disk.fail_next("append", code)
        outcome = try_append(log, WriteSet(batches=[batch(log, b"x")]))
        assert isinstance(outcome.error, OneMQError)
        assert isinstance(outcome.error, DiskFull) == (code in (errno.ENOSPC, errno.EDQUOT))


@pytest.mark.parametrize("trimmed", [False, True])
@pytest.mark.parametrize("segment_bytes", [1 << 20, 100])
def test_one_batch_that_is_synced_is_the_same_after_a_restart(trimmed: bool, segment_bytes: int) -> None:
    """It reaches its segment after the journal; but not if it trims itself away, or begins a new segment."""
    disk = SimDisk(Random(1))
    log = new_log(disk)
    create(log, segment_bytes=segment_bytes)
    for number in range(5):
        made = batch(log, b"%d" % number * 40)
        append(log, WriteSet(batches=[made], trims=[(TOPIC, 0, number + 1)] if trimmed else [], sync=True))
    before = log.bounds(TOPIC, 0), values(log)
    assert before == ((5, 5), []) if trimmed else ((0, 5), [b"%d" % number * 40 for number in range(5)])
    disk.kill()
    log = new_log(disk)
    assert (log.bounds(TOPIC, 0), values(log)) == before
