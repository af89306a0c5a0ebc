"""The analysts: what Spark makes of the evening, by OneMQ's pipelines, and whether it agrees with the books.

Every pipeline is called as on the command line, in this process, so that all of them share one Spark session.
"""

import contextlib
import io
import json
import os
import shlex
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from books import Account, Books, all_of
from orders import TOPIC
from service import RESULTS
from story import Story

import onemq
from onemq.cli.main import app
from onemq.pipelines.session import check_installed, session

MINUTES_TOPIC = "orders-per-minute"
SMALL = {
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
"""Settings for short work on a small machine: Java compiles quickly rather than well."""
LATEST = "2m"
"""Longer than orders are under way: windows wait so long before they are closed."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that Spark and the books both have counted."""

    what: str
    spark: int
    books: int

    @property
    def agrees(self) -> bool:
        return self.spark == self.books


class Analysts:
    """One Spark session, and what was found with it."""

    def __init__(self, story: Story, mq: onemq.Client, url: str, folder: Path) -> None:
        self._story = story
        self._mq = mq
        self._folder = folder
        os.environ["ONEMQ_URL"] = url
        self.findings: list[Finding] = []
        self.summaries: dict[str, dict[str, Any]] = {}
        self.minutes: dict[datetime, int] = {}
        """Orders per minute, of the windows that are closed."""

    def start(self) -> None:
        self._story.act("Spark looks at the same topics")
        begun = time.perf_counter()
        with _stderr_to(self._folder / "spark.log"):
            self._spark = session(None, "OneMQ demo", SMALL)
        self._story.say(f"Spark {self._spark.version} is there after {time.perf_counter() - begun:.0f} s.")

    def stop(self) -> None:
        self._spark.stop()

    def count_minutes(self, books: Books) -> None:
        """Windows by event time, written to a topic when they are closed."""
        shape = ["--time", "placed", "--size", "1m", "--aggregate", "sum(amount)", "--watermark", LATEST]
        places = ["--to", f"topic:{MINUTES_TOPIC}", "--checkpoint", self._place("window")]
        found = self._run("window", TOPIC, *shape, *places)
        results = [message.json() for message in all_of(self._mq, MINUTES_TOPIC)]
        self.minutes = {_time(result["window_start"]): int(result["count"]) for result in results}
        same = sum(books.minutes.get(minute) == count for minute, count in self.minutes.items())
        self._find("window: orders read", found["messages"], books.sent)
        self._find("window: orders too late for their minute", found["late"], 0)
        self._find("window: minutes with the right count", same, len(self.minutes))
        closed = _last_closed(found)
        self._find("window: minutes closed", len(results), sum(minute <= closed for minute in books.minutes))
        self._story.say(
            f"{len(results)} of {len(books.minutes)} minutes are closed and in the topic {MINUTES_TOPIC}; "
            "the last ones still wait for late orders."
        )

    def archive(self, books: Books) -> None:
        """All topics to Parquet."""
        dead = [f"{TOPIC}.{service}.dead" for service in RESULTS]
        found = self._run("archive", TOPIC, *RESULTS.values(), *dead, "--to", self._place("lake"))
        done = sum(account.handled + sum(account.dead.values()) for account in books.accounts)
        self._find("archive: messages in Parquet", found["messages"], books.sent + done)

    def reconcile(self, account: Account, sent: str) -> None:
        """What was sent against what one service has done."""
        service = account.service
        sides = ["--sent", sent, "--handled", f"topic:{RESULTS[service]}", "--dead", f"{TOPIC}/{service}"]
        found = self._run("reconcile", *sides, "--by", "orderno", "--report", self._place(f"reconcile-{service}"))
        self._find(f"reconcile {service}: handled", found["handled"], account.handled)
        self._find(f"reconcile {service}: dead", found["dead"], sum(account.dead.values()))
        for what in ("lost", "duplicated"):
            self._find(f"reconcile {service}: {what}", found[what], 0)

    @property
    def are_content(self) -> bool:
        """Whether Spark has found what the books say, and nothing that is wrong."""
        return all(finding.agrees for finding in self.findings)

    def told(self) -> dict[str, Any]:
        """For report.json."""
        return {"findings": [asdict(finding) for finding in self.findings], "summaries": self.summaries}

    def _run(self, *words: str) -> dict[str, Any]:
        """A pipeline; its summary."""
        self._story.say(f"$ onemq pipeline {shlex.join(words)}")
        begun, output = time.perf_counter(), io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
            app(["pipeline", *words, "--json"], prog_name="onemq", standalone_mode=False)
        found: dict[str, Any] = json.loads(output.getvalue().splitlines()[-1])
        self._story.say(f"[dim]{time.perf_counter() - begun:.0f} s[/]")
        self.summaries[f"{words[0]} {len(self.summaries) + 1}"] = found
        return found

    def _find(self, what: str, spark: int, books: int) -> None:
        self.findings.append(Finding(what, spark, books))

    def _place(self, name: str) -> str:
        return str(self._folder / name)


def reason_without_spark() -> str | None:
    """Why Spark cannot run here, in a sentence; None: it can."""
    try:
        check_installed()
    except onemq.OneMQError as problem:
        return problem.text
    return None


@contextlib.contextmanager
def _stderr_to(path: Path) -> Iterator[None]:
    """Processes that are started here write their errors to a file: Java has much to say."""
    before = os.dup(2)
    try:
        with path.open("ab") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def _last_closed(summary: dict[str, Any]) -> datetime:
    """The last minute that ends before the watermark."""
    watermark = _time(summary["watermark"])
    return datetime.fromtimestamp(watermark.timestamp() // 60 * 60 - 60, UTC)
