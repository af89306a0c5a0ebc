"""Looking into files: every kind, sound and damaged."""

from collections import Counter
from pathlib import Path

import pytest

from onemq.errors import InvalidArgument
from onemq.log.disk import OsDisk
from onemq.log.engine import WriteSet
from onemq.log.inspect import Item, inspect, kind_of
from onemq.log.local import LocalLog
from tests.unit.log.helpers import TOPIC, append, content, create, flip, overwrite, put, segment_files


@pytest.fixture
def disk(tmp_path: Path) -> OsDisk:
    """A folder with one of everything."""
    disk = OsDisk(tmp_path)
    log = LocalLog(disk, index_interval_bytes=200, journal_reserve_bytes=0)
    log.open()
    create(log, segment_bytes=600)
    for number in range(12):
        put(log, b"%d" % number + bytes(80), key=b"k", timestamp_ms=1000 + number)
    log.checkpoint([b"the state"])
    put(log, b"journaled", journaled=True)
    put(log, b"not journaled", journaled=False)
    append(log, WriteSet(trims=[(TOPIC, 0, 1)], entries=[("x", b"\xff", 5)]))
    log.close()
    return disk


def items(disk: OsDisk, path: str, records: bool = False) -> list[Item]:
    return list(inspect(disk, path, records))


def of_kind(found: list[Item], kind: str) -> list[Item]:
    return [item for item in found if item["kind"] == kind]


def test_a_whole_folder(disk: OsDisk) -> None:
    found = items(disk, "")
    kinds = Counter(item["kind"] for item in found)
    assert (kinds["journal"], kinds["snapshot"], kinds["format"]) == (1, 1, 1)
    assert (kinds["topic"], kinds["partition"]) == (1, 1)
    assert kinds["segment"] == len(segment_files(disk))
    assert kinds["kept segment"] == 4
    assert kinds["index"] == len(segment_files(disk, suffix=".index"))
    assert kinds["batch"] == 14
    assert kinds["entry"] == 3
    assert kinds["row"] > 5
    assert not kinds["damage"]
    assert not kinds["record"]


def test_the_journal(disk: OsDisk) -> None:
    path = f"journal/{disk.list('journal')[-1]}"
    head, first, second, third = items(disk, path)
    assert (head["file"], head["first"], head["bytes"]) == (path, 14, len(content(disk, path)))
    assert (first["sequence"], first["synced"], first["entries"], first["position"]) == (14, 13, 1, 16)
    assert [row["journaled"] for item in (first, second) for row in item["batches"]] == [True, False]  # type: ignore[attr-defined]
    assert third["trims"] == [[TOPIC, 0, 1]]
    shown = items(disk, path, records=True)
    assert shown[3]["entries"] == [["x", b"\xff", 5]]
    assert shown[1]["batches"][0]["records"][0]["value"] == b"journaled"  # type: ignore[index]


def test_a_snapshot(disk: OsDisk) -> None:
    path = f"snapshots/{disk.list('snapshots')[0]}"
    found = items(disk, path)
    assert (found[0]["sequence"], found[0]["state_bytes"], "state" in found[0]) == (13, 9, False)
    assert of_kind(found, "partition")[0]["end"] == 12
    assert of_kind(found, "kept segment")[0]["path"] == segment_files(disk)[0]
    assert items(disk, path, records=True)[0]["state"] == b"the state"


def test_a_segment(disk: OsDisk) -> None:
    path = segment_files(disk)[0]
    batches = of_kind(items(disk, path), "batch")
    assert [item["offset"] for item in batches] == list(range(len(batches)))
    assert (batches[0]["position"], batches[0]["first_ms"], batches[0]["compression"]) == (0, 1000, "none")
    record = of_kind(items(disk, path, records=True), "record")[2]
    assert (record["offset"], record["key"], record["timestamp_ms"]) == (2, b"k", 1002)


def test_an_index(disk: OsDisk) -> None:
    path = segment_files(disk, suffix=".index")[1]
    base = of_kind(items(disk, segment_files(disk)[1]), "batch")[0]["offset"]
    rows = of_kind(items(disk, path), "row")
    assert (rows[0]["offset"], rows[0]["position"], rows[0]["before_ms"]) == (base, 0, -1)


@pytest.mark.parametrize("suffix", [".journal", ".snapshot", ".log", ".index"])
@pytest.mark.parametrize("harm", ["flipped", "cut", "empty"])
def test_damage_is_an_item_among_others(disk: OsDisk, suffix: str, harm: str) -> None:
    folder = {".journal": "journal", ".snapshot": "snapshots"}.get(suffix, "topics/topic-1~1")
    path = next(f"{folder}/{name}" for name in disk.list(folder) if name.endswith(suffix))
    data = content(disk, path)
    if harm == "flipped":
        flip(disk, path, len(data) // 2)
    else:
        overwrite(disk, path, data[: len(data) - 5 if harm == "cut" else 0])
    found = [item for item in items(disk, path, records=True) if item["kind"] in ("damage", "torn")]
    if harm == "empty" and suffix in (".log", ".index", ".journal"):
        assert found == []
    else:
        assert found
        assert found[0]["file"] == path
        assert isinstance(found[0]["position"], int)


def test_reading_goes_on_behind_damage(disk: OsDisk) -> None:
    path = segment_files(disk)[0]
    batches = of_kind(items(disk, path), "batch")
    flip(disk, path, int(str(batches[1]["position"])) + 16)
    again = items(disk, path)
    assert [item["offset"] for item in of_kind(again, "batch")] == [0, *[item["offset"] for item in batches[2:]]]
    journal = f"journal/{disk.list('journal')[0]}"
    entries = of_kind(items(disk, journal), "entry")
    flip(disk, journal, int(str(entries[0]["position"])) + 30)
    assert len(of_kind(items(disk, journal), "entry")) == len(entries) - 1
    assert len(of_kind(items(disk, journal), "damage")) == 1


def test_files_elsewhere_and_ends_in_quarantine_can_be_looked_at(disk: OsDisk, tmp_path: Path) -> None:
    journal = content(disk, f"journal/{disk.list('journal')[0]}")
    overwrite(disk, "copy.journal", journal)
    assert len(of_kind(items(disk, "copy.journal"), "entry")) == 3
    overwrite(disk, "00000000000000000014.journal.from-99", journal[99:])
    assert len(of_kind(items(disk, "00000000000000000014.journal.from-99"), "entry")) == 2
    overwrite(disk, "0-00000000000000000000.log.from-7", content(disk, segment_files(disk)[0]))
    assert of_kind(items(disk, "0-00000000000000000000.log.from-7"), "batch")


def test_other_files_are_refused_alone_and_passed_over_in_a_folder(disk: OsDisk) -> None:
    overwrite(disk, "notes.txt", b"hello")
    with pytest.raises(InvalidArgument, match=r"notes\.txt is no file of OneMQ's log"):
        items(disk, "notes.txt")
    assert not any(item.get("file") == "notes.txt" for item in items(disk, ""))
    assert kind_of("notes.txt") is None


def test_a_file_that_goes_meanwhile_is_told(disk: OsDisk) -> None:
    assert items(disk, "journal/00000000000000000099.journal") == [
        {"kind": "gone", "file": "journal/00000000000000000099.journal"}
    ]


def test_records_that_cannot_be_decoded_do_not_stop_the_rest(disk: OsDisk) -> None:
    path = segment_files(disk)[-1]
    data = content(disk, path)
    overwrite(disk, path, data)
    shown = items(disk, path, records=True)
    assert len(of_kind(shown, "record")) == sum(int(str(item["records"])) for item in of_kind(shown, "batch"))


def test_newer_formats_are_told(disk: OsDisk) -> None:
    for folder, position in (("journal", 7), ("snapshots", 7)):
        path = f"{folder}/{disk.list(folder)[0]}"
        flip(disk, path, position, 0x04)
        assert "newer" in str(of_kind(items(disk, path), "damage")[0]["text"])
    overwrite(disk, "onemq.json", b"nonsense")
    assert of_kind(items(disk, "onemq.json"), "damage")
