"""What a start would find in a folder, without starting: recovery tried out on an overlay."""

from typing import NamedTuple

from onemq.errors import FolderError
from onemq.log import distrust, folder
from onemq.log.behind import WriteBehind
from onemq.log.disk import Disk
from onemq.log.openfiles import OpenFiles
from onemq.log.overlay import Overlay
from onemq.log.recovery import Recovery, Report
from onemq.log.topicfiles import Registry

_INDEX_INTERVAL_BYTES = 4096
_OPEN_FILES_MAX = 1024


class Survey(NamedTuple):
    """The topics as a start would have them, over what the folder would then be."""

    disk: Overlay
    registry: Registry
    recovery: Recovery

    @property
    def report(self) -> Report:
        """What the start would report."""
        return self.recovery.report


def survey(disk: Disk) -> Survey:
    """Tries a start. Raises `FolderError` where that would."""
    check_data_folder(disk)
    overlay = Overlay(disk)
    overlay.remove(distrust.PATH)  # nothing needs to be written again here
    registry = Registry(OpenFiles(overlay, _OPEN_FILES_MAX), WriteBehind(), _INDEX_INTERVAL_BYTES)
    recovery = Recovery(overlay, registry)
    recovery.run()
    return Survey(overlay, registry, recovery)


def check_data_folder(disk: Disk) -> None:
    """Raises `FolderError` unless this is a data folder of a format that can be read."""
    if not disk.exists(folder.FORMAT_FILE):
        raise FolderError(f"this is no data folder of OneMQ: {folder.FORMAT_FILE} is missing in it")
    folder.check_format(disk)
