"""Whether a log takes writes; if not, why, and whether they may be tried again.

It fails closed: after a write or a sync that failed nothing is appended. A full disk may have room again; after a
failed sync nobody knows what the disk holds, so only a restart, which looks, goes on.
"""

from onemq.errors import DiskFull, OneMQError, ReadOnly
from onemq.log.disk import OUT_OF_SPACE


class Health:
    """Well until it is told otherwise."""

    __slots__ = ("can_retry", "failure")

    def __init__(self) -> None:
        self.failure: OneMQError | None = None
        """Why nothing can be appended now."""
        self.can_retry = False

    def fail(self, failure: OneMQError) -> None:
        """Refuses every further set, until a restart."""
        self.failure, self.can_retry = failure, False

    def could_not_write(self, problem: OSError) -> None:
        """Refuses further sets; after a full disk until there is room again."""
        self.can_retry = problem.errno in OUT_OF_SPACE
        if self.can_retry:
            self.failure = DiskFull(
                f"the disk is full ({problem.strerror}): free some space; reads go on, writes are refused"
            )
        else:
            self.failure = ReadOnly(
                f"writing to the log failed ({problem}); reads go on, writes are refused: check the disk"
            )
