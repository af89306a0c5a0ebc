"""What is shown of a query while it runs."""

import os
import signal
from typing import Any

import pytest

from onemq.pipelines.progress import Progress, follow, lag_of


class Query:
    """A streaming query that would run for ever, and gets a signal while one waits for it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.is_stopped = False
        self.recentProgress = [report(0, 5)]

    def awaitTermination(self, timeout: float) -> bool:
        os.kill(os.getpid(), self.number)
        return False

    def stop(self) -> None:
        self.is_stopped = True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_query_and_tells_what_it_did(number: int) -> None:
    before = signal.getsignal(number)
    query = Query(number)
    assert follow(query, "archive").rows == 5  # type: ignore[arg-type]
    assert query.is_stopped
    assert signal.getsignal(number) is before


def report(batch: int, rows: int, **more: Any) -> dict[str, Any]:
    return {"batchId": batch, "numInputRows": rows, "processedRowsPerSecond": 10.0, "durationMs": {}, **more}


def test_each_batch_counts_once() -> None:
    progress = Progress()
    for each in (report(0, 5), report(0, 5), report(1, 7), report(2, 0)):
        progress.take(each)
    assert (progress.batches, progress.rows) == (2, 12)
    assert str(progress) == "2 batches, 12 rows, 10 rows/s"


def test_the_lag_is_what_is_between_the_read_and_the_stored_offsets() -> None:
    sources = [{"endOffset": '{"orders": {"0": 5, "1": 7}}', "latestOffset": {"orders": {"0": 9, "1": 7}}}]
    assert lag_of(report(0, 1, sources=sources)) == 4
    assert lag_of(report(0, 1, sources=[{"endOffset": None, "latestOffset": None}])) is None
