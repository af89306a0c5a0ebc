"""A note that a sync failed, left for the next start.

After a failed sync the system may hold bytes in its cache that will never reach the disk and that no
later sync writes, though reading finds them. So the next start writes everything again that came after
the last checkpoint, and the note goes when a new checkpoint is there. Leaving it is a best effort: the
disk that fails to sync may fail to keep the note, too. So a checkpoint that was begun and not finished
counts as such a note (log/recovery.py), and the journal is copied after every unclean stop (log/local.py).
"""

from contextlib import suppress

from onemq.log.disk import Disk, write_whole

PATH = "sync-failed"


def leave(disk: Disk) -> None:
    """Leaves the note, if the disk takes it."""
    with suppress(OSError):
        write_whole(disk, PATH, [b"a sync failed; the next start writes again what came after the last checkpoint\n"])


def is_there(disk: Disk) -> bool:
    """Whether the last run left the note."""
    return disk.exists(PATH)


def clear(disk: Disk) -> None:
    """A checkpoint made it obsolete."""
    disk.remove(PATH)
    disk.sync_folder("")
