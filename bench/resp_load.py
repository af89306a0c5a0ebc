"""Load over the Redis protocol: redis-benchmark where one fixed command will do, else prepared commands of our own.

Both load any server alike: so many connections, each with so many requests under way, and give the same numbers.
"""

import csv
import select
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bench.memory import touch_memory
from bench.processors import process_seconds

_BYTES_PER_MESSAGE = 400
"""At most what either server takes in memory, and of the system's cache, for one of 100 bytes."""


class Run(NamedTuple):
    """What one run measured."""

    rate: float
    """Requests per second."""
    p50_ms: float
    p99_ms: float
    cpu_us: float
    """Processor time of the server per request, in microseconds: hardly touched by what else the machine does."""


@dataclass(frozen=True, slots=True)
class Target:
    """A server under load."""

    name: str
    port: int
    pid: int
    folder: Path
    """On the disk that it writes to."""

    def cpu_seconds(self) -> float:
        """Processor time that its process has taken so far."""
        return process_seconds(self.pid)

    def touch_memory(self, messages: int) -> None:
        """To be called before a run in which so many messages are written or handed out."""
        touch_memory(self.folder, messages * _BYTES_PER_MESSAGE / 1e6)

    def resident_mb(self) -> float:
        """Memory of its process."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1000
        raise AssertionError("no VmRSS")


def encode(*words: bytes) -> bytes:
    """A request as it travels."""
    return b"*%d\r\n" % len(words) + b"".join([b"$%d\r\n%b\r\n" % (len(word), word) for word in words])


def redis_benchmark(target: Target, words: Sequence[str], requests: int, connections: int, depth: int) -> Run:
    """One fixed command, by redis-benchmark."""
    options = ["-p", target.port, "-c", connections, "-P", depth, "-n", requests, "--csv"]
    cpu = target.cpu_seconds()
    command = ["redis-benchmark", *map(str, options), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    cpu = target.cpu_seconds() - cpu
    rows = list(csv.DictReader(done.stdout.splitlines()))
    if done.returncode != 0 or len(rows) != 1:
        raise RuntimeError(f"redis-benchmark {words[0]} on {target.name}: {done.stderr.strip() or done.stdout.strip()}")
    (row,) = rows
    return Run(float(row["rps"]), float(row["p50_latency_ms"]), float(row["p99_latency_ms"]), cpu / requests * 1e6)


def drive(target: Target, requests: Sequence[bytes], connections: int, depth: int, reply_lines: int = 1) -> Run:
    """Encoded requests, each sent once, whose replies have so many lines each."""
    batches = [(b"".join(requests[at : at + depth]), at) for at in range(0, len(requests), depth)]
    load = _Load(target, iter(batches), len(requests), depth, reply_lines)
    cpu = target.cpu_seconds()
    started = time.perf_counter()
    load.run(min(connections, len(batches)))
    elapsed = time.perf_counter() - started
    cpu = target.cpu_seconds() - cpu
    waits = sorted(load.waits)
    p50, p99 = waits[len(waits) // 2], waits[len(waits) * 99 // 100]
    return Run(len(requests) / elapsed, p50 * 1000, p99 * 1000, cpu / len(requests) * 1e6)


class _Load:
    """Connections that take batches from the same pile until it is empty."""

    def __init__(
        self, target: Target, batches: Iterator[tuple[bytes, int]], total: int, depth: int, reply_lines: int
    ) -> None:
        self._target = target
        self._batches = batches
        self._total = total
        self._depth = depth
        self._reply_lines = reply_lines
        self.waits: list[float] = []

    def run(self, connections: int) -> None:
        sockets = {}
        waiting: dict[int, tuple[int, float]] = {}  # lines still to come, and since when
        poller = select.epoll()
        for _ in range(connections):
            connection = socket.create_connection(("127.0.0.1", self._target.port))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sockets[connection.fileno()] = connection
            poller.register(connection, select.EPOLLIN)
        try:
            for number, connection in sockets.items():
                if left := self._send(connection):
                    waiting[number] = left
            clock, waits = time.perf_counter, self.waits
            while waiting:
                for number, _ in poller.poll():
                    connection = sockets[number]
                    lines, since = waiting[number]
                    lines -= self._lines(connection.recv(1 << 18))
                    if lines:
                        waiting[number] = (lines, since)
                        continue
                    waits.append(clock() - since)
                    if left := self._send(connection):
                        waiting[number] = left
                    else:
                        del waiting[number]
        finally:
            poller.close()
            for connection in sockets.values():
                connection.close()

    def _send(self, connection: socket.socket) -> tuple[int, float] | None:
        batch, at = next(self._batches, (b"", 0))
        if not batch:
            return None
        since = time.perf_counter()
        connection.sendall(batch)
        return min(self._depth, self._total - at) * self._reply_lines, since

    def _lines(self, data: bytes) -> int:
        if not data or data[0] == 45 or b"\n-" in data:  # 45 is "-", an error
            raise RuntimeError(f"{self._target.name} answered {data[:200]!r}")
        return data.count(b"\n")
