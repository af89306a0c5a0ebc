"""What has come since the last checkpoint, and whether that is enough for another one.

A start replays what came after the last checkpoint, so that must not become much. But a checkpoint writes the whole
state: where that is large, more may come in between, or the disk would be busy with snapshots.
"""

SEGMENT_BYTES_PER_JOURNAL_BYTE = 16
"""Batches that are not journaled are looked through at a start, too, so they must not pile up either."""
PATIENCE_MAX = 4
"""A large state puts checkpoints off until the journal is as large, but at most until it has so many times its usual
size."""


class Since:
    """Counts what has come."""

    def __init__(self, journal_bytes_max: int, entries_max: int) -> None:
        self._journal_bytes_max = journal_bytes_max
        self._entries_max = entries_max
        self._patience = 1.0
        self.entries = 0
        self.segment_bytes = 0
        """Of batches, journaled or not; at least, as it may count some that were removed again."""

    def start_over(self) -> None:
        """A checkpoint begins."""
        self.entries = self.segment_bytes = 0

    def wrote(self, snapshot_bytes: int) -> None:
        """The newest snapshot is of this size."""
        self._patience = min(max(snapshot_bytes / self._journal_bytes_max, 1.0), PATIENCE_MAX)

    def is_enough(self, journal_bytes: int) -> bool:
        """Whether it is time for another checkpoint, with a journal file of this size."""
        return (
            journal_bytes > self._journal_bytes_max * self._patience
            or self.entries > self._entries_max * self._patience
            or self.segment_bytes > SEGMENT_BYTES_PER_JOURNAL_BYTE * self._journal_bytes_max
        )
