"""The folder in which the demo leaves its results."""

import shutil
from pathlib import Path

MARK = ".onemq-demo"
"""By this file a folder of an earlier demo is known, and may be emptied."""


def prepared(folder: Path) -> Path:
    """An empty folder. What an earlier demo left there goes; anything else is left alone: ends the program."""
    if folder.exists() and any(folder.iterdir()):
        if not (folder / MARK).exists():
            raise SystemExit(f"{folder} is not empty, and no earlier demo made it: name another one with --folder")
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).touch()
    return folder.resolve()
