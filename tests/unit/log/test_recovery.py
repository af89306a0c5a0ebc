"""What a start makes of what a crash left. Random crashes are in test_crashes.py; each case here once went wrong
or easily could."""

import errno
from random import Random

import pytest

from onemq.errors import FolderError, NotFound
from onemq.log import journal, snapshot
from onemq.log.engine import Batch, WriteSet
from onemq.log.local import LocalLog
from onemq.log.recovery import Report
from tests.sim.disk import Crash, SimDisk
from tests.unit.log.helpers import (
    TOPIC,
    append,
    batch,
    content,
    create,
    entries,
    overwrite,
    place,
    put,
    records,
    sealed,
    segment_files,
    try_append,
    values,
)


@pytest.fixture
def disk() -> SimDisk:
    return SimDisk(Random(1))


def opened(disk: SimDisk) -> LocalLog:
    log = LocalLog(disk, index_interval_bytes=200, journal_reserve_bytes=0)
    report = log.open()
    assert not report.damage, report
    return log


def restarted(disk: SimDisk) -> LocalLog:
    disk.kill()
    return opened(disk)


def lose_unsynced(disk: SimDisk, path: str, keep: int) -> None:
    """What a power cut may do to the unsynced end of a segment."""
    disk.cut(path, keep)


# Clean and unclean stops


def test_a_new_folder_is_empty_and_clean(disk: SimDisk) -> None:
    log = opened(disk)
    assert log.report == Report()
    assert log.report.clean
    assert log.replay().state is None
    assert entries(log) == []


def test_after_a_checkpoint_nothing_is_replayed(disk: SimDisk) -> None:
    log = opened(disk)
    create(log)
    put(log, b"a")
    log.checkpoint([b"the state"])
    log.close()
    log = opened(disk)
    assert log.report.clean
    assert log.replay().state == b"the state"
    assert entries(log) == []
    assert values(log) == [b"a"]


def test_after_a_kill_everything_is_there_and_the_entries_are_replayed(disk: SimDisk) -> None:
    log = opened(disk)
    create(log, partitions=2)
    put(log, b"a")
    log.checkpoint([b"state"])
    put(log, b"b", partition=1, journaled=False, sync=False)
    append(log, WriteSet(entries=[("x", 1), ("y", 2)]))
    log = restarted(disk)
    assert log.report.entries == 2
    assert not log.report.clean
    assert log.replay().state == b"state"
    assert entries(log) == [["put", 0], ["x", 1], ["y", 2]]
    assert (values(log), values(log, partition=1)) == ([b"a"], [b"b"])


def test_replaying_is_possible_at_any_time(disk: SimDisk) -> None:
    log = opened(disk)
    create(log)
    for number in range(3):
        append(log, WriteSet(entries=[("n", number)]))
        assert entries(log) == [["n", each] for each in range(number + 1)]


def test_sequences_and_offsets_go_on_after_restarts(disk: SimDisk) -> None:
    log = opened(disk)
    create(log)
    for number in range(5):
        put(log, b"%d" % number)
        if number % 2:
            log.checkpoint([b""])
        log = restarted(disk)
    assert [(record[0], record[3]) for record in records(log)] == [(number, b"%d" % number) for number in range(5)]


def test_a_torn_tail_of_the_journal_is_cut_and_told(disk: SimDisk) -> None:
    log = opened(disk)
    create(log)
    put(log, b"kept")
    put(log, b"torn")
    disk.kill()
    path = journal.path_of(1)
    disk.cut(path, len(content(disk, path)) - 3)
    log = opened(disk)
    assert values(log) == [b"kept"]
    assert log.report.torn_bytes > 0
    assert any(path in note and "unfinished bytes" in note for note in log.report.notes)
    put(log, b"next")
    assert values(restarted(disk)) == [b"kept", b"next"]


def test_what_the_journal_does_not_vouch_for_is_cut_off(disk: SimDisk) -> None:
    log = opened(disk)
    create(log)
    put(log, b"a")
    path = segment_files(disk)[0]
    disk.open(path).append([sealed(1, [b"never acknowledged"])])
    overwrite(disk, "topics/topic-1~1/0-00000000000000000009.log", b"left over")
    disk.make_folder("topics/gone~99")
    log = restarted(disk)
    assert values(log) == [b"a"]
    assert segment_files(disk) == [path]
    assert disk.list("topics") == ["topic-1~1"]
    assert len(content(disk, path)) == log.stored_bytes(TOPIC, 0)


def test_strangers_are_left_alone(disk: SimDisk) -> None:
    log = opened(disk)
    create(log)
    put(log, b"a")
    strangers = ["topics/notes.txt", "topics/topic-1~1/backup.log", "topics/my backup/x", "journal/readme", "x.txt"]
    disk.make_folder("topics/my backup")
    for path in strangers:
        overwrite(disk, path, b"precious")
    log = restarted(disk)
    log.checkpoint([b""])
    restarted(disk)
    assert [content(disk, path) for path in strangers] == [b"precious"] * len(strangers)


# Batches that a power cut took


def test_journaled_batches_that_are_not_in_their_segment_are_written_again(disk: SimDisk) -> None:
    log = opened(disk)
    create(log, segment_bytes=250)
    for number in range(6):
        put(log, b"%d" % number + bytes(80))
    disk.kill()
    for path in segment_files(disk)[1:]:
        disk.lose(path)
    lose_unsynced(disk, segment_files(disk)[0], 100)
    log = opened(disk)
    assert [value and value[:1] for value in values(log)] == [b"0", b"1", b"2", b"3", b"4", b"5"]
    assert log.report.rewritten_batches >= 5
    assert log.report.lost_batches == 0


def test_unjournaled_batches_that_are_gone_are_given_up_and_told(disk: SimDisk) -> None:
    log = opened(disk)
    create(log)
    put(log, b"kept")
    log.checkpoint([b""])
    size = log.stored_bytes(TOPIC, 0)
    put(log, b"lost", journaled=False)
    put(log, b"lost too", journaled=False)
    disk.kill()
    lose_unsynced(disk, segment_files(disk)[0], size + 3)
    log = opened(disk)
    assert values(log) == [b"kept"]
    assert log.report.lost_batches == 2
    assert any("offset 1 on were lost" in note for note in log.report.notes)
    assert log.checkpoint_due(), "the journal speaks of what is gone: a checkpoint should settle that soon"
    assert log.bounds(TOPIC, 0) == (0, 1)


def test_a_journaled_batch_behind_lost_ones_keeps_its_offset(disk: SimDisk) -> None:
    log = opened(disk)
    create(log)
    put(log, b"lost", b"lost", journaled=False)
    put(log, b"kept")
    disk.kill()
    lose_unsynced(disk, segment_files(disk)[0], 0)
    log = opened(disk)
    assert [(record[0], record[3]) for record in records(log)] == [(2, b"kept")]
    put(log, b"next")
    assert [record[0] for record in records(restarted(disk))] == [2, 3]


def test_after_a_loss_a_batch_that_only_its_segment_has_survives_a_kill(disk: SimDisk) -> None:
    log = opened(disk)
    create(log)
    put(log, b"lost", journaled=False)
    disk.kill()
    lose_unsynced(disk, segment_files(disk)[0], 0)
    log = opened(disk)
    put(log, b"new", journaled=False, sync=False)
    put(log, b"newer", journaled=False, sync=False)
    assert values(restarted(disk)) == [b"new", b"newer"]


def test_a_lost_segment_does_not_disturb_the_next_batch(disk: SimDisk) -> None:
    """The next batch starts below the segment that a lost one had opened."""
    log = opened(disk)
    create(log, segment_bytes=150)
    put(log, b"kept")
    log.checkpoint([b""])
    put(log, bytes(60), journaled=False)
    put(log, bytes(60), journaled=False)
    disk.kill()
    for path in segment_files(disk)[1:]:
        disk.lose(path)
    log = opened(disk)
    put(log, b"next")
    assert [record[0] for record in records(log)] == [0, 1]
    assert [record[0] for record in records(restarted(disk))] == [0, 1]


# Files that sets removed


def test_a_segment_that_got_a_batch_and_was_then_trimmed_away_is_not_missed(disk: SimDisk) -> None:
    log = opened(disk)
    create(log, segment_bytes=250)
    put(log, bytes(60))
    log.checkpoint([b""])
    put(log, bytes(60))
    put(log, bytes(60))
    append(log, WriteSet(trims=[(TOPIC, 0, 2)], sync=True))
    assert len(segment_files(disk)) == 1
    log = restarted(disk)
    assert log.bounds(TOPIC, 0) == (2, 3)
    assert [record[0] for record in records(log)] == [2]


def test_a_batch_of_which_a_trim_left_some_is_written_again_if_its_file_is_gone(disk: SimDisk) -> None:
    log = opened(disk)
    create(log)
    put(log, b"a", b"b", b"c", b"d")
    append(log, WriteSet(trims=[(TOPIC, 0, 2)], sync=True))
    put(log, b"e")
    disk.kill()
    disk.lose(segment_files(disk)[0])
    assert values(opened(disk)) == [b"c", b"d", b"e"]


def test_a_trim_past_the_end_is_the_same_after_a_restart(disk: SimDisk) -> None:
    log = opened(disk)
    create(log)
    put(log, b"a")
    append(log, WriteSet(trims=[(TOPIC, 0, 99)]))
    assert log.bounds(TOPIC, 0) == (1, 1)
    assert restarted(disk).bounds(TOPIC, 0) == (1, 1)


def test_a_segment_that_lost_messages_is_not_trimmed_while_later_batches_are_in_it(disk: SimDisk) -> None:
    log = opened(disk)
    create(log)
    put(log, b"0")
    log.checkpoint([b""])
    put(log, b"1", b"2", journaled=False)
    append(log, WriteSet(trims=[(TOPIC, 0, 1)], sync=True))
    put(log, b"3")
    disk.kill()
    size = len(content(disk, segment_files(disk)[0]))
    lose_unsynced(disk, segment_files(disk)[0], size // 2)
    for _ in range(2):
        log = opened(disk)
        assert values(log) == [b"3"]
        disk.kill()


def test_a_deleted_topic_stays_deleted_whatever_is_left_of_it(disk: SimDisk) -> None:
    log = opened(disk)
    create(log, 1)
    create(log, 2)
    put(log, b"a", topic=1)
    log.checkpoint([b""])
    put(log, b"b", topic=1)
    append(log, WriteSet(deletes=[1], sync=True))
    disk.kill()
    disk.make_folder("topics/topic-1~1")
    overwrite(disk, "topics/topic-1~1/0-00000000000000000000.log", b"came back")
    log = opened(disk)
    with pytest.raises(NotFound):
        log.bounds(1, 0)
    assert disk.list("topics") == ["topic-2~2"]


def test_a_set_that_deletes_removes_files_only_when_it_is_durable(disk: SimDisk) -> None:
    """A killed process leaves a delete in the journal that no sync covers. A start must not act on it before."""
    for seed in range(60):
        disk = SimDisk(Random(seed))
        log = opened(disk)
        create(log, 1)
        put(log, b"precious")
        log.checkpoint([b""])
        disk.fail_next("sync", errno.EIO)
        disk.crash_after(2)
        with pytest.raises(Crash):
            log.append(WriteSet(deletes=[1], sync=True), lambda error: None)
        disk.kill()
        disk.crash_after(seed % 12 + 1)
        try:
            opened(disk)
        except Crash:
            disk.crash()
            log = opened(disk)
            try:
                assert values(log) == [b"precious"]
            except NotFound:
                assert disk.list("topics") == []


def test_a_cleaned_segment_takes_the_place_of_the_old_one(disk: SimDisk) -> None:
    log = opened(disk)
    create(log, segment_bytes=200)
    for number in range(8):
        put(log, b"%d" % number + bytes(50), journaled=number % 2 == 0)
    for keep in (2, 4):
        log.clean(TOPIC, 0, lambda offset, keep=keep: offset % keep == 0, lambda freed: None)  # type: ignore[misc]
        before = [record[0] for record in records(log)]
        log = restarted(disk)
        assert [record[0] for record in records(log)] == before
    put(log, b"next")
    assert records(restarted(disk))[-1][:1] == (8,)
    assert any(".c1" in path for path in segment_files(disk))


def test_an_unfinished_cleaning_leaves_nothing(disk: SimDisk) -> None:
    log = opened(disk)
    create(log, segment_bytes=200)
    for number in range(8):
        put(log, b"%d" % number + bytes(50))
    before = values(log)
    disk.crash_after(4)
    with pytest.raises(Crash):
        log.clean(TOPIC, 0, lambda offset: False, lambda freed: None)
    log = restarted(disk)
    assert values(log) == before
    assert not any(".c" in path for path in segment_files(disk))


def test_batches_appended_to_a_cleaned_segment_are_not_taken_for_cleaned_ones(disk: SimDisk) -> None:
    log = opened(disk)
    create(log, segment_bytes=250)
    put(log, b"0" + bytes(60))
    put(log, b"1" + bytes(60))
    put(log, b"2" + bytes(200), journaled=False)
    log.clean(TOPIC, 0, lambda offset: offset == 0, lambda freed: None)
    disk.kill()
    disk.lose(segment_files(disk)[-1])  # the segment that was written to held unsynced messages only
    log = opened(disk)
    assert [record[0] for record in records(log)] == [0]
    put(log, b"3")
    put(log, b"4", journaled=False, sync=False)
    assert [record[3] for record in records(restarted(disk))][1:] == [b"3", b"4"]


# Snapshots


def test_the_older_snapshot_serves_if_the_newest_is_damaged(disk: SimDisk) -> None:
    log = opened(disk)
    create(log, segment_bytes=200)
    put(log, b"0" + bytes(90))
    log.checkpoint([b"older"])
    put(log, b"1" + bytes(90), journaled=False)
    put(log, b"2" + bytes(90))
    append(log, WriteSet(trims=[(TOPIC, 0, 1)]))
    log.checkpoint([b"newest"])
    put(log, b"3")
    newest = snapshot.list_files(disk)[-1]
    disk.kill()
    disk.flip_bit(snapshot.path_of(newest), 25)
    log = opened(disk)
    assert any(snapshot.path_of(newest) in note for note in log.report.notes)
    assert log.replay().state == b"older"
    assert entries(log) == [["put", 1], ["put", 2], ["put", 3]]
    assert [value and value[:1] for value in values(log)] == [b"1", b"2", b"3"]
    assert snapshot.list_files(disk) == [newest - 3], "a damaged one is not counted among the two that are kept"


def test_two_snapshots_and_the_journal_after_the_older_one_are_kept(disk: SimDisk) -> None:
    log = opened(disk)
    create(log)
    for number in range(5):
        put(log, b"%d" % number)
        log.checkpoint([b"%d" % number])
    assert snapshot.list_files(disk) == [5, 6]
    assert journal.list_files(disk) == [6, 7]


def test_index_rows_of_an_unfinished_checkpoint_do_no_harm(disk: SimDisk) -> None:
    log = opened(disk)
    create(log)
    for _ in range(3):
        for _ in range(20):
            put(log, bytes(50))
        disk.fail_next("rename", errno.EIO)
        log.checkpoint([b""])
        assert log.failure is not None
        log = restarted(disk)
    log.checkpoint([b""])
    log = restarted(disk)
    assert [record[0] for record in records(log)] == list(range(60))
    assert len(content(disk, segment_files(disk, suffix=".index")[0])) < 60 * 16


# What cannot be


def test_a_folder_without_its_journal_is_refused_and_not_emptied(disk: SimDisk) -> None:
    log = opened(disk)
    create(log)
    put(log, b"a")
    disk.kill()
    disk.lose(journal.path_of(1))
    with pytest.raises(FolderError, match="journal is missing"):
        LocalLog(disk).open()
    assert segment_files(disk) != []


def test_an_error_of_the_disk_is_told_as_one_of_the_folder(disk: SimDisk) -> None:
    opened(disk)
    disk.fail_next("read", errno.EACCES)
    with pytest.raises(FolderError, match="Permission denied"):
        LocalLog(disk).open()


def test_a_set_with_a_topic_that_is_not_there_does_not_spoil_the_journal(disk: SimDisk) -> None:
    log = opened(disk)
    create(log)
    with pytest.raises(NotFound):
        log.append(WriteSet(trims=[(9, 0, 1)]), lambda error: None)
    put(log, b"a")
    assert values(restarted(disk)) == [b"a"]


def test_more_partitions_that_could_not_be_stored_are_forgotten(disk: SimDisk) -> None:
    log = opened(disk)
    create(log)
    disk.limit_bytes = disk.used()
    outcome = try_append(log, WriteSet(creates=[place(partitions=4), place(2)], entries=[("x",)]))
    assert outcome.error is not None
    disk.limit_bytes = None
    assert log.try_again()
    for topic, partition in ((TOPIC, 1), (2, 0)):
        with pytest.raises(NotFound):
            log.bounds(topic, partition)
    put(log, b"a")
    log.checkpoint([b""])
    assert values(restarted(disk)) == [b"a"]


def test_a_batch_is_read_where_it_was_put_after_any_number_of_restarts(disk: SimDisk) -> None:
    log = opened(disk)
    create(log, segment_bytes=400)
    for number in range(30):
        made = [Batch(TOPIC, 0, 2 * number, sealed(2 * number, [b"%d" % number] * 2), number % 3 > 0)]
        append(log, WriteSet(batches=made, sync=number % 2 > 0))
        if number % 4 == 0:
            log = restarted(disk)
    assert batch(log, b"x").base_offset == 60
    assert [record[3] for record in records(log)] == [b"%d" % (number // 2) for number in range(60)]
