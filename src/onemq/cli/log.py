"""`onemq log`: looking into a data folder, checking it, and repairing a damaged one.

`dump` and `verify` only read, without the folder's lock, so they work beside a running broker.
"""

import base64
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from onemq.errors import FolderError

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

TEXT_CHARACTERS_MAX = 200
PROGRESS_BYTES_MIN = 256 << 20
"""What takes longer than a moment to read."""

_DATA = typer.Option(metavar="DIR", help="The data folder.")


@app.command()
def dump(
    path: Annotated[
        Path, typer.Argument(metavar="[FILE|FOLDER]", help="A file of the log, or a folder with such files.")
    ] = Path("onemq-data"),
    records: Annotated[bool, typer.Option("--records", help="Show messages and state entries, too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line.")] = False,
) -> None:
    """Shows what is in journal, snapshots, segments and indexes."""
    from onemq.log.disk import OsDisk
    from onemq.log.inspect import inspect

    if not path.exists():
        raise FolderError(f"{path} is not there")
    disk, name = (OsDisk(path), "") if path.is_dir() else (OsDisk(path.absolute().parent), path.name)
    show = _as_json if as_json else _as_text
    try:
        for item in inspect(disk, name, records):
            sys.stdout.write(show(item) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader, `head` for example, has seen enough. Python would complain once more when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@app.command()
def verify(data: Annotated[Path, _DATA] = Path("onemq-data")) -> None:
    """Checks every checksum, the order of offsets, indexes and snapshots. Status 1 if anything is wrong."""
    from onemq.log.disk import OsDisk
    from onemq.log.folder import is_in_use
    from onemq.log.verify import Verification

    _check_folder(data)
    with _progress() as (set_total, advance):
        verification = Verification(OsDisk(data), is_in_use(data), advance)
        set_total(verification.total_bytes())
        problems = 0
        for problem in verification.problems():
            print(problem)
            problems += 1
    for note in verification.notes:
        print(f"note: {note}")
    print(
        f"{verification.files} files, {verification.bytes} bytes, {verification.entries} journal entries, "
        f"{verification.batches} batches, {verification.records} messages: "
        + (f"{problems} problem{'s' * (problems > 1)}" if problems else "all sound")
    )
    if problems:
        raise typer.Exit(1)


@app.command()
def repair(
    data: Annotated[Path, _DATA] = Path("onemq-data"),
    yes: Annotated[bool, typer.Option("--yes", help="Do it.")] = False,
) -> None:
    """Gives up what cannot be read, so that a log that opened for reading only can be written to again."""
    from onemq.log import repair as repairing
    from onemq.log.disk import OsDisk
    from onemq.log.folder import FolderLock
    from onemq.log.survey import check_data_folder

    _check_folder(data)
    lock, disk = FolderLock(data), OsDisk(data)
    check_data_folder(disk)
    lock.take()
    try:
        losses = repairing.plan(disk)
        for loss in losses:
            print(loss)
        if not losses:
            print("nothing to repair: the log opens for writing")
        elif not yes:
            raise FolderError("nothing was changed; to give up the above, run this again with --yes")
        else:
            time_name = time.strftime("%Y%m%d-%H%M%S")
            repairing.repair(disk, time_name)
            print(f"repaired; what was given up is in {data / repairing.QUARANTINE / time_name}")
    finally:
        lock.release()


def _check_folder(data: Path) -> None:
    if not data.is_dir():
        raise FolderError(f"there is no data folder {data}; name one with --data")


# Showing items


def _as_json(item: dict[str, object]) -> str:
    return json.dumps(item, default=_plain, ensure_ascii=False)


def _plain(value: object) -> object:
    """Bytes in JSON: text where they are text."""
    if not isinstance(value, bytes):
        raise TypeError(type(value))
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}


_INDENT = {"format": 0, "journal": 0, "snapshot": 0, "segment": 0, "index": 0, "gone": 0, "damage": 1, "torn": 1}
_INDENT |= {"entry": 1, "batch": 1, "zeros": 1, "row": 1, "topic": 1, "partition": 2, "kept segment": 3, "record": 2}


def _as_text(item: dict[str, object]) -> str:
    """One line: the kind and the fields that say something."""
    item = dict(item)
    kind = str(item.pop("kind"))
    file = item.pop("file", None)
    words = [kind if kind not in ("damage", "torn") else kind.upper()]
    words += [str(file)] if file is not None else []
    words += [f"{name}={_shown(value)}" for name, value in item.items() if value not in (None, [], (), -1)]
    return "  " * _INDENT.get(kind, 2) + " ".join(words)


def _shown(value: object) -> str:
    if isinstance(value, bytes):
        text = value.decode() if _is_text(value) else repr(value)
    elif isinstance(value, list | tuple):
        text = "[" + ", ".join(_shown(each) for each in value) + "]"
    elif isinstance(value, dict):
        text = "{" + ", ".join(f"{name}: {_shown(each)}" for name, each in value.items()) + "}"
    else:
        return str(value)
    return text if len(text) <= TEXT_CHARACTERS_MAX else text[:TEXT_CHARACTERS_MAX] + "…"


def _is_text(value: bytes) -> bool:
    try:
        return value.decode().isprintable()
    except UnicodeDecodeError:
        return False


@contextmanager
def _progress() -> Iterator[tuple[Callable[[int], None], Callable[[int], None]]]:
    """(set the total, go on by so many bytes), shown on a terminal if it takes a while."""
    if not sys.stderr.isatty():
        yield (lambda total: None), (lambda count: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

    bar = Progress(BarColumn(), DownloadColumn(), TimeRemainingColumn(), console=Console(stderr=True), transient=True)
    with bar:
        task = bar.add_task("", total=None)
        bar.update(task, visible=False)
        yield (
            lambda total: bar.update(task, total=total, visible=total >= PROGRESS_BYTES_MIN),
            lambda count: bar.advance(task, count),
        )
