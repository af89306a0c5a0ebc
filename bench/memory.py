"""The memory of a virtual machine, as far as it decides what a run measures."""

from pathlib import Path

_MEGABYTE = bytes(10**6)


def touch_memory(folder: Path, megabytes: float) -> None:
    """Has the system use as much of its cache as it is about to need; the folder is on any disk. A virtual machine may
    give back memory that was free for two seconds, and getting it again takes several times as long as writing to it:
    whose run that falls into must not decide."""
    path = folder / "touched"
    with path.open("wb", buffering=0) as file:
        for _ in range(int(megabytes * 1.2)):
            file.write(_MEGABYTE)
    path.unlink()
