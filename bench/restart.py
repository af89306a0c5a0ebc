"""Restarting: a broker with ten million messages is killed, and serves again; its memory; its indexes."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.broker import open_core, turn_done
from bench.report import Result
from onemq.core.topics import TopicConfig

BODY = b"x" * 100
FAR_MS = 3 * 10**12


def restart(parent: str | None, quick: bool) -> Iterator[Result]:
    """Fills a folder in another process, kills that with -9, and measures what comes after."""
    messages, scheduled = (200_000, 20_000) if quick else (10_000_000, 1_000_000)
    folder = Path(tempfile.mkdtemp(prefix="onemq-bench-", dir=parent))
    try:
        rss = _fill_and_kill(folder, messages, scheduled)
        name = f"memory of the filling process, {messages:,} stored + {scheduled:,} scheduled"
        yield Result(name, rss, "MB", 300, False)
        yield from _serve_again(folder, messages, scheduled)
        yield from _rebuild_indexes(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fill_and_kill(folder: Path, messages: int, scheduled: int) -> float:
    command = [sys.executable, "-m", "bench.restart", str(folder), str(messages), str(scheduled)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        rss = resident_mb(process.pid)
        process.send_signal(signal.SIGKILL)
    assert line == "ready\n", "the filling process failed"
    return rss


def fill(folder: Path, messages: int, scheduled: int) -> None:
    """Runs in the process that is going to be killed."""
    core = open_core(folder)
    core.tick(1)
    core.topics.create("stored", 1)
    core.topics.create("later", 1, TopicConfig(flush="async"))
    core.flush(turn_done)
    for turn in range(messages // 100):
        core.tick(2 + turn)
        for _ in range(100):
            core.send("stored", BODY)
        core.settle()
        if turn % 10 == 0:
            core.flush(turn_done)
    core.flush(turn_done)
    for number in range(scheduled):
        core.send("later", BODY, deliver_at_ms=FAR_MS + number * 7919 % 86_400_000)
        if number % 1000 == 0:
            core.flush(turn_done)
    core.flush(turn_done)
    print("ready", flush=True)
    signal.pause()


def _serve_again(folder: Path, messages: int, scheduled: int) -> Iterator[Result]:
    from tests.process import Serve

    started = time.perf_counter()
    with Serve(folder) as broker:
        broker.wait_until_serving()
        elapsed = time.perf_counter() - started
        info = broker.info()
        assert int(info["messages"]) >= messages, info
        assert int(info["scheduled"]) == scheduled, info
        rss = resident_mb(broker.pid)
    yield Result("restart after kill -9 until PING is answered", elapsed, "s", 5, False)
    yield Result("memory of the broker after that restart", rss, "MB", 300, False)


def _rebuild_indexes(folder: Path) -> Iterator[Result]:
    for path in folder.rglob("*.index"):
        path.unlink()
    core = open_core(folder)
    topic = core.topics.get("stored")
    partition = core.log._registry.partition(topic.id, 0)  # type: ignore[attr-defined]
    size = sum(segment.size for segment in partition.segments)
    started = time.perf_counter()
    for segment in partition.segments:
        segment.replace_index()
        assert segment.index.positions
    elapsed = time.perf_counter() - started
    found: list[int] = []
    core.reading.records(topic.partitions[0], topic.partitions[0].end // 2, 4096, lambda r, _: found.append(r[0][0]))
    assert found == [topic.partitions[0].end // 2]
    core.log.close()
    yield Result("indexes rebuilt from scratch", size / elapsed / 1e6, "MB/s", 100)
    started = time.perf_counter()
    for turn in range(1000):
        core.tick(100 + turn)
    micros = (time.perf_counter() - started) * 1e3
    yield Result("a tick with all those timers and none due", micros, "µs", 100, False)


def resident_mb(pid: int) -> float:
    """Resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError(f"no VmRSS for {pid}")


if __name__ == "__main__":
    fill(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    os._exit(0)
