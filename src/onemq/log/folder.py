"""The data folder: who may use it, which format it has, and which data it is.

`onemq.json` names the format and has the id that the data keeps wherever the folder goes; `lock` is held by the process
that uses the folder. A folder of a newer format is refused before anything in it is touched.

To raise the format: count `FORMAT` up, teach `recovery` to read the older one, and write it down in
docs/storage-format.md.
"""

import fcntl
import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from onemq.errors import FolderError
from onemq.log import distrust
from onemq.log.disk import FOLDER_MODE, Disk, write_whole

FORMAT = 1
FORMAT_FILE = "onemq.json"
LOCK_FILE = "lock"
FOLDERS = ("journal", "snapshots", "topics")
_ID = re.compile("[0-9a-f]{32}")


class FolderLock:
    """Keeps other processes from using the folder while it is held."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._descriptor = -1

    def take(self) -> None:
        """Makes the folder if need be and locks it, or raises `FolderError`."""
        try:
            self._root.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            self._descriptor = os.open(self._root / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as problem:
            raise FolderError(
                f"cannot use the data folder {self._root}: {problem.strerror}; "
                "give it rights or choose another one with --data"
            ) from None
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.release()
            raise FolderError(
                f"the data folder {self._root} is in use by another OneMQ; stop that one or choose another folder"
            ) from None

    def release(self) -> None:
        """Gives the folder free."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def is_in_use(root: Path) -> bool:
    """Whether a process holds the folder's lock."""
    try:
        descriptor = os.open(root / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def check_format(disk: Disk) -> None:
    """Raises `FolderError` if the folder is of a newer format or is no data folder; writes nothing."""
    if not disk.exists(FORMAT_FILE):
        ours = (LOCK_FILE, *FOLDERS, FORMAT_FILE + ".tmp", distrust.PATH, "quarantine", "lost+found")
        strangers = [name for name in disk.list("") if name not in ours]
        if strangers:
            raise FolderError(
                f"the data folder has files that are not OneMQ's ({strangers[0]}): choose an empty folder with --data"
            )
        return
    facts = _read(disk)
    found = facts["format"]
    if found > FORMAT:
        raise FolderError(
            f"the data folder has format {found}, newer than this OneMQ reads ({FORMAT}): "
            "upgrade OneMQ or choose another folder with --data"
        )


def _read(disk: Disk) -> dict[str, Any]:
    file = disk.open(FORMAT_FILE, read_only=True)
    text = file.read(0, file.size())
    file.close()
    try:
        facts = json.loads(text)
        if not _ID.fullmatch(facts.get("id", "0" * 32)):
            raise ValueError
        return {**facts, "format": int(facts["format"])}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise FolderError(f"{FORMAT_FILE} is damaged: it should read " + f'{{"format": {FORMAT}}}') from None


def is_new(disk: Disk) -> bool:
    """Whether nothing was ever kept in the folder."""
    return not disk.exists(FORMAT_FILE)


def id_of(disk: Disk, otherwise: bytes, keep: bool) -> bytes:
    """The 16 bytes that name the data of a folder. One that has none gets the other ones, and keeps them if it can be
    written."""
    facts = _read(disk)
    if "id" in facts:
        return bytes.fromhex(facts["id"])
    with suppress(OSError):
        if keep:
            write_whole(disk, FORMAT_FILE, [json.dumps({**facts, "id": otherwise.hex()}).encode()])
    return otherwise


def prepare(disk: Disk) -> None:
    """Makes a new folder ready; fine if it is."""
    if disk.exists(FORMAT_FILE):
        return
    for name in FOLDERS:
        disk.make_folder(name)
    write_whole(disk, FORMAT_FILE, [json.dumps({"format": FORMAT}).encode()])
