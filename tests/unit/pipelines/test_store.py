"""An archive whose writers are killed after every single operation on its files."""

import fnmatch
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from onemq.errors import InvalidArgument, OneMQError
from onemq.pipelines.files import File
from onemq.pipelines.store import Archive, Ends, Snapshot

DATE = "topic=orders/date=2026-11-16"


class Killed(Exception):
    """The process ends here."""


class Disk:
    """Files as `Files` has them, in a folder; the process is killed before an operation that changes something."""

    def __init__(self, root: Path, operations: int = 1_000_000) -> None:
        self.root, self.url, self.left = root, f"file:{root}", operations

    def exists(self, name: str) -> bool:
        return (self.root / name).exists()

    def children(self, folder: str) -> list[str]:
        return sorted(each.name for each in (self.root / folder).iterdir()) if self.exists(folder) else []

    def matching(self, pattern: str) -> list[str]:
        names = (str(each.relative_to(self.root)) for each in self.root.rglob("*"))
        depth = pattern.count("/")
        return sorted(name for name in names if name.count("/") == depth and fnmatch.fnmatch(name, pattern))

    def sized(self, folder: str) -> list[File]:
        return [File(f"{folder}/{name}", (self.root / folder / name).stat().st_size) for name in self.children(folder)]

    def read_text(self, name: str) -> str:
        return (self.root / name).read_text()

    def write_text(self, name: str, text: str) -> None:
        draft = f"{name}.draft"
        self._change()
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / draft).write_text(text)
        self.move(draft, name)

    def move(self, name: str, target: str) -> None:
        self._change()
        (self.root / target).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).rename(self.root / target)

    def delete(self, name: str) -> None:
        self._change()
        path = self.root / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def escape(self, text: str) -> str:
        return text

    def _change(self) -> None:
        if not self.left:
            raise Killed
        self.left -= 1


def opened(root: Path, operations: int = 1_000_000) -> Archive:
    return Archive(Disk(root, operations))  # type: ignore[arg-type]


def staged(archive: Archive, name: str, *contents: str) -> str:
    """A staging folder with a file for each."""
    staging = archive.stage(name)
    for number, content in enumerate(contents):
        path = archive.files.root / staging / f"table=messages/{DATE}/part-{number}.parquet"  # type: ignore[attr-defined]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return staging


def ends(offset: int) -> Ends:
    return {"orders": {"id": 1, "partitions": {"0": offset}}}


def contents(root: Path, snapshot: Snapshot) -> list[str]:
    names = [name for files in snapshot.files["messages"].values() for name in files]
    return sorted((root / name).read_text() for name in names)


def plain(root: Path) -> list[str]:
    """What somebody sees who reads the folders alone."""
    return sorted(path.read_text() for path in root.glob("messages/topic=*/date=*/*.parquet"))


def moments(root: Path, prepare: Callable[[Archive], None], act: Callable[[Archive], None]) -> Iterator[Path]:
    """A folder for each operation before which the actor is killed; the last one is not killed any more."""
    for operations in range(100):
        folder = root / str(operations)
        prepare(opened(folder))
        archive = opened(folder, operations)
        try:
            act(archive)
        except Killed:
            yield folder
        else:
            yield folder
            return
    raise AssertionError("it never ended")


def write(batch: int, *rows: str, offset: int) -> Callable[[Archive], None]:
    def act(archive: Archive) -> None:
        archive.finish_batches()
        newest = archive.newest_batch()
        if newest is None or newest.batch is None or newest.batch < batch:
            archive.commit_batch(staged(archive, "b", *rows), "query", batch, ends(offset))

    return act


def test_a_batch_is_there_once_wherever_its_writer_is_killed(tmp_path: Path) -> None:
    def prepare(archive: Archive) -> None:
        archive.prepare(None)
        write(0, "one", offset=1)(archive)

    second = write(1, "two", "three", offset=3)
    for number, folder in enumerate(moments(tmp_path, prepare, second)):
        seen = opened(folder).snapshot()
        expected = {1: ["one"], 3: ["one", "three", "two"]}
        assert contents(folder, seen) == expected[seen.ends["orders"]["partitions"]["0"]], number
        assert set(plain(folder)) <= {"one", "two", "three"}
        second(opened(folder))
        assert plain(folder) == contents(folder, opened(folder).snapshot()) == ["one", "three", "two"]
        assert opened(folder).files.children("_onemq/staging") == []
        assert opened(folder).files.children("_onemq/batches") == ["0000000002.json"]
    assert number > 5


def test_a_compaction_changes_no_row_wherever_it_is_killed(tmp_path: Path) -> None:
    def prepare(archive: Archive) -> None:
        archive.prepare(None)
        for batch in range(3):
            write(batch, str(batch), offset=batch + 1)(archive)

    def compact(archive: Archive) -> None:
        archive.finish_compactions()
        small = archive.files.matching(f"messages/{DATE}/b*.parquet")[:2]
        if small:
            done = archive.compactions()
            archive.commit_compaction(staged(archive, f"c{len(done) + 1:010}", "0+1"), done, small)

    for number, folder in enumerate(moments(tmp_path, prepare, compact)):
        assert contents(folder, opened(folder).snapshot()) in (["0", "1", "2"], ["0+1", "2"]), number
        seen = plain(folder)
        assert not ({"0", "1"} & set(seen) and "0+1" in seen), "a reader of the folders sees a row twice"
        opened(folder).finish_compactions()
        assert plain(folder) == contents(folder, opened(folder).snapshot())
        assert plain(folder) in (["0", "1", "2"], ["0+1", "2"])
    assert number > 5
    assert plain(folder) == ["0+1", "2"]


def test_the_newest_batch_may_be_compacted_before_its_writer_has_cleaned_up(tmp_path: Path) -> None:
    def prepare(archive: Archive) -> None:
        archive.prepare(None)

    for folder in moments(tmp_path, prepare, write(0, "one", "two", offset=2)):
        archive = opened(folder)
        if small := archive.files.matching(f"messages/{DATE}/b*.parquet"):
            was = contents(folder, archive.snapshot())
            archive.commit_compaction(staged(archive, "c0000000001", "+".join(plain(folder))), [], small)
            assert sorted("+".join(contents(folder, archive.snapshot())).split("+")) == was == ["one", "two"]
        write(0, "one", "two", offset=2)(opened(folder))
        assert sorted("+".join(plain(folder)).split("+")) == ["one", "two"]
        assert contents(folder, opened(folder).snapshot()) == plain(folder)


def test_a_reader_leaves_out_what_is_written_after_it_began(tmp_path: Path) -> None:
    archive = opened(tmp_path)
    archive.prepare(None)
    write(0, "one", offset=1)(archive)
    (tmp_path / f"messages/{DATE}/b0000000002-00.parquet").write_text("two")
    (tmp_path / f"messages/{DATE}/somebody-elses.parquet").write_text("three")
    assert contents(tmp_path, archive.snapshot()) == ["one"]
    assert contents(tmp_path, archive.snapshot(["mails"])) == []


def test_two_compactors_do_not_compact_the_same_rows(tmp_path: Path) -> None:
    archive = opened(tmp_path)
    archive.prepare(None)
    write(0, "one", offset=1)(archive)
    small = archive.files.matching(f"messages/{DATE}/*.parquet")
    archive.commit_compaction(staged(archive, "c0000000001", "one"), [], small)
    with pytest.raises(OneMQError, match="somebody else"):
        archive.commit_compaction(staged(archive, "c0000000001", "one"), [], small)
    assert plain(tmp_path) == ["one"]


def test_the_end_of_topics_that_are_not_read_any_more_is_kept(tmp_path: Path) -> None:
    archive = opened(tmp_path)
    archive.commit_batch(staged(archive, "b"), "query", 0, {"old": {"id": 7, "partitions": {"0": 5}}})
    archive.commit_batch(staged(archive, "b"), "query", 1, ends(3))
    assert archive.snapshot().ends == {"old": {"id": 7, "partitions": {"0": 5}}, **ends(3)}


def test_an_archive_has_one_schema(tmp_path: Path) -> None:
    archive = opened(tmp_path)
    assert archive.prepare(None) is None
    assert archive.prepare("a INT") == "a INT"
    assert archive.prepare(None) == archive.schema() == "a INT"
    with pytest.raises(InvalidArgument, match="another URL"):
        archive.prepare("b INT")
    (tmp_path / "_onemq/archive.json").write_text(json.dumps({"version": 2, "schema": None}))
    with pytest.raises(OneMQError, match="version 2"):
        archive.schema()
