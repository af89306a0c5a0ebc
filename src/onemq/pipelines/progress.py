"""A streaming query while it runs: how far it is, shown on standard error, and what it did in the end."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

LOOK_SECONDS = 0.2
LINE_SECONDS = 10.0
"""Without a terminal, a line is written so often."""


@dataclass(slots=True)
class Progress:
    """What a query has done since it was started."""

    batches: int = 0
    rows: int = 0
    rows_per_second: float = 0.0
    lag: int | None = None
    """Messages that are stored and not yet read, as far as the source tells."""
    seconds: float = 0.0
    last_batch: int = -1

    def take(self, report: dict[str, Any]) -> None:
        """Adds a report of Spark; the same one may come again."""
        if report["batchId"] <= self.last_batch or not _did_something(report):
            return
        self.last_batch = report["batchId"]
        self.batches += 1
        self.rows += report["numInputRows"]
        self.rows_per_second = float(report.get("processedRowsPerSecond") or 0.0)
        self.lag = lag_of(report)

    def __str__(self) -> str:
        batches = "batch" if self.batches == 1 else "batches"
        words = [f"{self.batches} {batches}", f"{self.rows:,} rows", f"{self.rows_per_second:,.0f} rows/s"]
        return ", ".join([*words, *([] if self.lag is None else [f"lag {self.lag:,}"])])


def run_query(writer: DataStreamWriter, what: str, once: bool, interval: str | None = None) -> Progress:
    """Runs a query and shows its progress.

    Once: everything that is there now, then it ends. Else it goes on until Ctrl-C or SIGTERM, with a batch each
    interval (`10 seconds`), or as soon as there is something. Raises what the query failed with.
    """
    if once:
        writer = writer.trigger(availableNow=True)
    elif interval is not None:
        writer = writer.trigger(processingTime=interval)
    return follow(writer.start(), what)


def follow(query: StreamingQuery, what: str) -> Progress:
    """Shows the progress of a query until it ends, or is interrupted; then it is stopped."""
    progress, begun = Progress(), time.monotonic()
    with _asked_to_stop() as asked, shown(what) as show:
        while not query.awaitTermination(LOOK_SECONDS):  # type: ignore[arg-type]
            _take_all(progress, query)
            show(str(progress))
            if asked.is_set():
                query.stop()
                break
    _take_all(progress, query)
    progress.seconds = time.monotonic() - begun
    return progress


@contextmanager
def shown(what: str) -> Iterator[Callable[[str], None]]:
    """Yields what is to be called with how far the work is: a line that changes, or now and then a new one."""
    if not sys.stderr.isatty():
        yield _lines(what)
        return
    from rich.console import Console

    with Console(stderr=True).status(what) as status:
        yield lambda text: status.update(f"{what}: {text}")


@contextmanager
def _asked_to_stop() -> Iterator[threading.Event]:
    """Set by Ctrl-C or SIGTERM, which must not break into a call to Java; only the main thread may hear of them."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: asked.set()) for number in signals]
    try:
        yield asked
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)


def lag_of(report: dict[str, Any]) -> int | None:
    """How many offsets the sources of a report have left to read; None if they do not tell."""
    lags = [_distance(source.get("endOffset"), source.get("latestOffset")) for source in report.get("sources", [])]
    known = [lag for lag in lags if lag is not None]
    return sum(known) if known else None


def _distance(end: Any, latest: Any) -> int | None:
    """The sum of the differences between numbers at the same place in two documents."""
    end, latest = (_document(each) for each in (end, latest))
    if isinstance(end, int) and isinstance(latest, int):
        return max(0, latest - end)
    if not isinstance(end, dict) or not isinstance(latest, dict):
        return None
    parts = [_distance(end.get(name), value) for name, value in latest.items()]
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def _document(value: Any) -> Any:
    """Spark gives offsets as text in some versions, as documents in others."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return None


def _take_all(progress: Progress, query: StreamingQuery) -> None:
    for report in query.recentProgress:
        progress.take(json.loads(report.json) if hasattr(report, "json") else dict(report))


def _did_something(report: dict[str, Any]) -> bool:
    return bool(report.get("numInputRows")) or "addBatch" in report.get("durationMs", {})


def _lines(what: str) -> Callable[[str], None]:
    last, told = time.monotonic(), ""

    def show(text: str) -> None:
        nonlocal last, told
        if text != told and time.monotonic() - last >= LINE_SECONDS:
            last, told = time.monotonic(), text
            print(f"{what}: {text}", file=sys.stderr, flush=True)

    return show
