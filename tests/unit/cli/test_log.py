"""`onemq log dump | verify | repair` as a user meets them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from onemq.cli.log import app
from onemq.errors import FolderError, InvalidArgument
from onemq.log import journal
from onemq.log.disk import OsDisk
from onemq.log.folder import FolderLock
from onemq.log.local import LocalLog
from tests.unit.log.helpers import create, flip, put, segment_files, values


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    disk = OsDisk(folder)
    disk.make_folder("")
    log = LocalLog(disk)
    log.open()
    create(log, segment_bytes=500)
    for number in range(9):
        put(log, b"message %d" % number, bytes([255, 0]) * 40, key=b"key")
        if number == 4:
            log.checkpoint([b"state"])
    log.close()
    return folder


@pytest.fixture
def damaged(data: Path) -> Path:
    disk = OsDisk(data)
    first = journal.list_files(disk)[-1]
    entry = list(journal.JournalFile(disk, first).entries())[1]
    flip(disk, journal.path_of(first), entry.position + 40)
    return data


# dump


def test_dump_shows_every_kind_of_file_in_lines(data: Path) -> None:
    result = run("dump", data)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    for start in ("journal journal/", "format onemq.json", "snapshot snapshots/", "segment topics/", "index topics/"):
        assert any(line.startswith(start) for line in lines), start
    assert any("entry sequence=7" in line and "entries=1" in line for line in lines)
    assert "message 3" not in result.stdout


def test_dump_shows_messages_when_asked(data: Path) -> None:
    result = run("dump", data, "--records")
    assert "key=key value=message 3" in result.stdout
    assert "\\xff" in result.stdout


def test_dump_shortens_long_values(data: Path) -> None:
    log = LocalLog(OsDisk(data))
    log.open()
    put(log, b"x" * 5000)
    log.close()
    assert max(map(len, run("dump", data, "--records").stdout.splitlines())) < 1500


def test_dump_gives_one_json_object_per_line_with_everything(data: Path) -> None:
    items = [json.loads(line) for line in run("dump", data, "--records", "--json").stdout.splitlines()]
    records = [item for item in items if item["kind"] == "record"]
    entries = [item for item in items if item["kind"] == "entry"]
    journaled = [record for entry in entries for batch in entry["batches"] for record in batch["records"]]
    assert {record["offset"] for record in [*records, *journaled]} == set(range(18))
    assert (records[0]["key"], records[0]["value"]) == ("key", "message 0")
    assert list(records[1]["value"]) == ["base64"]


def test_dump_takes_a_single_file(data: Path) -> None:
    path = data / segment_files(OsDisk(data))[0]
    lines = run("dump", path).stdout.splitlines()
    assert lines[0].startswith(f"segment {path.name}")
    assert lines[1].startswith("  batch position=0")


def test_dump_works_beside_a_running_broker_and_changes_nothing(data: Path) -> None:
    lock = FolderLock(data)
    lock.take()
    before = {path: path.read_bytes() for path in data.rglob("*") if path.is_file()}
    for path in data.rglob("*"):
        path.chmod(0o500 if path.is_dir() else 0o400)
    assert run("dump", data).exit_code == 0
    assert run("verify", "--data", data).exit_code == 0
    for path in data.rglob("*"):
        path.chmod(0o700)
    assert {path: path.read_bytes() for path in data.rglob("*") if path.is_file()} == before
    lock.release()


def test_dump_tells_damage_and_goes_on(damaged: Path) -> None:
    lines = run("dump", damaged / "journal").stdout.splitlines()
    assert sum("DAMAGE" in line for line in lines) == 1
    assert sum(line.startswith("  entry") for line in lines) == 3


def test_dump_refuses_what_is_not_there_or_not_ours(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match="is not there"):
        run("dump", tmp_path / "missing")
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(InvalidArgument, match="is no file of OneMQ's log"):
        run("dump", tmp_path / "notes.txt")


def test_dump_ends_quietly_when_nobody_reads_on(data: Path) -> None:
    command = f"{sys.executable} -m onemq log dump --records {data} | head -n 1"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert result.stdout.count("\n") == 1
    assert result.stderr == ""


# verify


def test_verify_says_that_all_is_sound(data: Path) -> None:
    result = run("verify", "--data", data)
    assert result.exit_code == 0
    assert result.stdout.endswith("18 messages: all sound\n")


def test_verify_names_file_and_byte_and_ends_with_status_1(damaged: Path) -> None:
    segment = segment_files(OsDisk(damaged))[0]
    flip(OsDisk(damaged), segment, 80)
    result = run("verify", "--data", damaged)
    assert result.exit_code == 1
    assert f"{segment}: byte 0: a batch cannot be read (offsets 0 to 1)" in result.stdout
    assert "is damaged at byte" in result.stdout
    assert result.stdout.endswith("2 problems\n")


def test_verify_works_while_a_broker_writes(data: Path) -> None:
    lock, log = FolderLock(data), LocalLog(OsDisk(data))
    lock.take()
    log.open()
    put(log, b"new")
    assert run("verify", "--data", data).exit_code == 0
    log.close()
    lock.release()


@pytest.mark.parametrize("command", ["verify", "repair"])
def test_what_is_no_data_folder_is_refused(tmp_path: Path, command: str) -> None:
    with pytest.raises(FolderError, match="there is no data folder"):
        run(command, "--data", tmp_path / "missing")
    with pytest.raises(FolderError, match="no data folder of OneMQ"):
        run(command, "--data", tmp_path)
    assert list(tmp_path.iterdir()) == []


# repair


def test_repair_asks_first_and_changes_nothing(damaged: Path) -> None:
    before = {path: path.read_bytes() for path in (damaged / "journal").iterdir()}
    result = CliRunner().invoke(app, ["repair", "--data", str(damaged)])
    assert "are given up" in result.stdout
    assert isinstance(result.exception, FolderError)
    assert "run this again with --yes" in result.exception.text
    assert {path: path.read_bytes() for path in (damaged / "journal").iterdir()} == before
    assert not (damaged / "quarantine").exists()


def test_repair_gives_up_the_damage_and_says_where_it_is(damaged: Path) -> None:
    result = run("repair", "--data", damaged, "--yes")
    assert result.exit_code == 0
    quarantine = next((damaged / "quarantine").iterdir())
    assert f"is in {quarantine}" in result.stdout
    assert any((quarantine / "journal").iterdir())
    log = LocalLog(OsDisk(damaged))
    log.open()
    assert log.failure is None
    put(log, b"next")
    assert len(values(log)) == 13
    log.close()
    assert run("verify", "--data", damaged).exit_code == 0
    assert "nothing to repair" in run("repair", "--data", damaged).stdout


def test_repair_needs_the_folder_for_itself(damaged: Path) -> None:
    lock = FolderLock(damaged)
    lock.take()
    with pytest.raises(FolderError, match="in use by another OneMQ"):
        run("repair", "--data", damaged, "--yes")
    lock.release()


# The command as a whole


def test_errors_are_one_line_and_status_1(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "onemq", "log", "verify", "--data", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("onemq: this is no data folder")
