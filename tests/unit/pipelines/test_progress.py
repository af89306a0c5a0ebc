"""What is shown of a query while it runs."""

from typing import Any

from onemq.pipelines.progress import Progress, lag_of


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
