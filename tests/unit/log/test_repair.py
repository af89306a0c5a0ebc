"""Repair: a damaged folder opens for writing again, what was sound stays, and the rest is put aside."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from onemq.errors import FolderError
from onemq.log import journal, snapshot
from onemq.log.disk import Disk, OsDisk
from onemq.log.engine import WriteSet
from onemq.log.inspect import inspect
from onemq.log.local import LocalLog
from onemq.log.repair import plan, repair
from onemq.log.verify import Verification
from tests.unit.log.helpers import (
    TOPIC,
    append,
    content,
    create,
    entries,
    flip,
    overwrite,
    put,
    records,
    segment_files,
    values,
)

OTHER = 2
COUNT = 30


@pytest.fixture
def disk(tmp_path: Path) -> OsDisk:
    """Thirty messages in segments of five, every third not journaled; the last ten are after the snapshot."""
    disk = OsDisk(tmp_path)
    log = opened(disk)
    create(log, TOPIC, segment_bytes=900)
    create(log, OTHER)
    for number in range(COUNT):
        put(log, b"%d" % number + bytes(100), journaled=number % 3 > 0)
        put(log, b"other %d" % number, topic=OTHER)
        if number in (9, 19):
            log.checkpoint([b"state %d" % number])
    log.close()
    return disk


def opened(disk: Disk) -> LocalLog:
    log = LocalLog(disk, index_interval_bytes=300, journal_reserve_bytes=0)
    log.open()
    return log


def everything(disk: OsDisk, root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def damage_journal(disk: Disk) -> int:
    """Damages the journal after message 24; returns the position."""
    first = journal.list_files(disk)[-1]
    entry = list(journal.JournalFile(disk, first).entries())[10]
    flip(disk, journal.path_of(first), entry.position + 40)
    return entry.position


def lose_last_journal(disk: Disk) -> None:
    disk.remove(journal.path_of(journal.list_files(disk)[-1]))


def damage_journal_head(disk: Disk) -> None:
    flip(disk, journal.path_of(journal.list_files(disk)[-1]), 2)


def damage_earlier_journal(disk: Disk) -> None:
    disk.remove(snapshot.path_of(snapshot.list_files(disk)[-1]))
    path = journal.path_of(journal.list_files(disk)[-2])
    overwrite(disk, path, content(disk, path)[:-3])


def lose_journal_in_between(disk: Disk) -> None:
    disk.remove(snapshot.path_of(snapshot.list_files(disk)[-1]))
    files = journal.list_files(disk)
    disk.rename(journal.path_of(files[-1]), journal.path_of(files[-1] + 3))


def settle(disk: Disk) -> None:
    log = opened(disk)
    log.checkpoint([b"settled"])
    log.close()


def cut_last_segment(disk: Disk) -> None:
    settle(disk)
    path = segment_files(disk)[-1]
    overwrite(disk, path, content(disk, path)[:400])


def lose_last_segment(disk: Disk) -> None:
    settle(disk)
    disk.remove(segment_files(disk)[-1])


def lose_last_segments_of_both(disk: Disk) -> None:
    settle(disk)
    for path in segment_files(disk)[-2:]:
        disk.remove(path)
    overwrite(disk, segment_files(disk, OTHER)[-1], b"")


HARMS: dict[str, tuple[Callable[[Disk], object], int]] = {
    "journal damaged in the middle": (damage_journal, 25),
    "last journal file lost": (lose_last_journal, 20),
    "head of the journal damaged": (damage_journal_head, 20),
    "earlier journal file damaged": (damage_earlier_journal, 20),
    "journal file in between lost": (lose_journal_in_between, 20),
    "last segment cut": (cut_last_segment, 27),
    "last segment lost": (lose_last_segment, 25),
    "last segments lost": (lose_last_segments_of_both, 20),
}


@pytest.mark.parametrize("harm", HARMS)
def test_a_damaged_folder_opens_for_writing_again_with_what_was_sound(disk: OsDisk, harm: str) -> None:
    damage, kept = HARMS[harm]
    damage(disk)
    broken = opened(disk)
    assert broken.failure is not None
    broken.close()
    losses = plan(disk)
    assert losses
    assert repair(disk, "now") == losses
    log = opened(disk)
    assert log.failure is None, log.report
    assert [record[0] for record in records(log)] == list(range(kept))
    end = log.bounds(TOPIC, 0)[1]
    put(log, b"next")
    assert records(log)[-1][0] == end >= kept
    log.close()
    log = opened(disk)
    assert values(log)[-1] == b"next"
    log.checkpoint([b""])
    log.close()
    assert list(Verification(disk).problems()) == []
    assert plan(disk) == []


@pytest.mark.parametrize("harm", HARMS)
def test_a_plan_changes_nothing(disk: OsDisk, tmp_path: Path, harm: str) -> None:
    HARMS[harm][0](disk)
    before = everything(disk, tmp_path)
    assert plan(disk)
    assert everything(disk, tmp_path) == before


@pytest.mark.parametrize("harm", HARMS)
def test_repair_destroys_nothing(disk: OsDisk, tmp_path: Path, harm: str) -> None:
    HARMS[harm][0](disk)
    before = everything(disk, tmp_path)
    repair(disk, "now")
    opened(disk).close()
    after = everything(disk, tmp_path)
    aside = {name.removeprefix("quarantine/now/"): data for name, data in after.items() if "quarantine" in name}
    for name, data in before.items():
        if name.endswith((".index", "lock")) or after.get(name) == data or aside.get(name) == data:
            continue
        kept = after.get(name, b"")
        if kept.startswith(data):  # with what only the journal had
            continue
        ends = [data for aside_name, data in aside.items() if aside_name.startswith(f"{name}.from-")]
        assert data in [kept[: len(data) - len(end)] + end for end in ends], name


def test_what_is_given_up_is_said(disk: OsDisk) -> None:
    position = damage_journal(disk)
    path = journal.path_of(journal.list_files(disk)[-1])
    losses = [str(loss) for loss in plan(disk)]
    assert losses[0].startswith(f"{path}: ")
    assert f"from byte {position} on" in losses[0]
    assert "9 entries" in losses[0]
    assert "everything after entry" in losses[1]


def test_entries_before_the_damage_stay(disk: OsDisk) -> None:
    damage_journal(disk)
    repair(disk, "now")
    log = opened(disk)
    assert log.replay().state == b"state 19"
    assert len(entries(log)) == 10


def test_what_was_put_aside_can_be_looked_at(disk: OsDisk) -> None:
    damage_journal(disk)
    repair(disk, "now")
    found = list(inspect(disk, "quarantine/now", records=True))
    stored = [
        record["value"]
        for item in found
        if item["kind"] == "entry"
        for row in item["batches"]  # type: ignore[attr-defined]
        for record in row.get("records", [])
    ]
    assert b"other 29" in stored
    assert any(item["kind"] == "record" and str(item["value"]).startswith("b'27") for item in found)


def test_offsets_of_lost_messages_are_not_used_again(disk: OsDisk) -> None:
    cut_last_segment(disk)
    repair(disk, "now")
    log = opened(disk)
    put(log, b"next")
    assert [record[0] for record in records(log)] == [*range(27), 30]


def test_messages_that_the_journal_still_has_are_not_lost_with_their_segment(disk: OsDisk) -> None:
    log = opened(disk)
    for number in range(30, 36):
        put(log, b"%d" % number + bytes(50))
        if number == 32:
            log.checkpoint([b""])
    log.close()
    path = segment_files(disk)[-1]
    overwrite(disk, path, content(disk, path)[:150])
    repair(disk, "now")
    assert [record[0] for record in records(opened(disk))] == [*range(31), 33, 34, 35]


def test_files_that_given_up_sets_had_removed_are_given_up_too(disk: OsDisk) -> None:
    log = opened(disk)
    first = journal.list_files(disk)[-1]
    size = len(content(disk, journal.path_of(first)))
    append(log, WriteSet(deletes=[OTHER], sync=True))
    append(log, WriteSet(trims=[(TOPIC, 0, 22)], sync=True))
    put(log, b"later")
    log.close()
    flip(disk, journal.path_of(first), size + 10)
    assert opened(disk).failure is not None
    repair(disk, "now")
    log = opened(disk)
    assert log.failure is None
    assert log.bounds(TOPIC, 0)[0] == 0
    assert [record[0] for record in records_from(log, 20)] == list(range(20, 30))
    put(log, b"back again", topic=OTHER)
    assert values_from(log, OTHER, log.bounds(OTHER, 0)[1] - 1) == [b"back again"]


def records_from(log: LocalLog, start: int) -> list[tuple[int, object]]:
    append(log, WriteSet(trims=[(TOPIC, 0, start)]))
    return [(record[0], record[3]) for record in records(log)]


def values_from(log: LocalLog, topic: int, start: int) -> list[bytes | None]:
    append(log, WriteSet(trims=[(topic, 0, start)]))
    return values(log, topic)


def test_a_sound_folder_needs_no_repair(disk: OsDisk, tmp_path: Path) -> None:
    before = everything(disk, tmp_path)
    assert plan(disk) == []
    assert repair(disk, "now") == []
    assert everything(disk, tmp_path) == before


def test_damage_that_leaves_the_log_writable_is_left_alone(disk: OsDisk) -> None:
    flip(disk, segment_files(disk)[0], 100)
    assert plan(disk) == []


def test_a_folder_that_cannot_be_repaired_is_told(disk: OsDisk) -> None:
    for sequence in snapshot.list_files(disk):
        flip(disk, snapshot.path_of(sequence), 30)
    with pytest.raises(FolderError, match="restore the data folder from a backup"):
        plan(disk)


def test_any_damage_can_be_repaired_or_needs_none(disk: OsDisk, tmp_path: Path) -> None:
    original = everything(disk, tmp_path)
    random = Random(5)
    for round_number in range(25):
        harmed = random.choice([name for name in original if name.endswith((".log", ".journal", ".index"))])
        data = bytearray(original[harmed])
        at = random.randrange(len(data))
        if random.random() < 0.5:
            data[at] ^= 1 << random.randrange(8)
        else:
            del data[at:]
        overwrite(disk, harmed, bytes(data))
        repair(disk, f"round-{round_number}")
        log = opened(disk)
        assert log.failure is None, (harmed, at)
        put(log, b"next")
        log.close()
        for name in everything(disk, tmp_path):
            disk.remove(name)
        for name, content_before in original.items():
            overwrite(disk, name, content_before)
