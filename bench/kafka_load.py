"""The loads for both servers: Kafka's own Java tools, and confluent-kafka, which is the C library librdkafka."""

import json
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

from bench.kafka_servers import Target
from tests.apache_kafka import TOOLS, java

HEAP = ("-Xmx512m",)
SECONDS_MAX = 600
_RECORDS = re.compile(r"^(\d+) records sent, ([\d.]+) records/sec \(([\d.]+) MB/sec\)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Run:
    """What one run gave."""

    mb_per_second: float
    """Million bytes of bodies."""
    cpu_ms_per_mb: float
    """Processor time of the server."""


@dataclass(frozen=True, slots=True)
class Load:
    """One combination."""

    size: int
    compression: str
    partitions: int
    count: int

    @property
    def megabytes(self) -> float:
        return self.size * self.count / 1e6


def java_produce(target: Target, topic: str, load: Load) -> Run:
    """kafka-producer-perf-test with the client's defaults (acks=all, idempotent). Its first tenth is left out of the
    rate: Java is slow at first."""
    warm = load.count // 10
    output, cpu = _java(
        target, "kafka-producer-perf-test", "--topic", topic, "--num-records", str(load.count),
        "--record-size", str(load.size), "--throughput", "-1", "--warmup-records", str(warm),
        "--command-property", f"compression.type={load.compression}",
    )  # fmt: skip
    records = _RECORDS.findall(output)
    assert records, output
    return Run(float(records[-1][1]) * load.size / 1e6, cpu / load.megabytes * 1e3)


def java_consume(target: Target, topic: str, load: Load) -> Run:
    """kafka-consumer-perf-test from the beginning; the rate is that of fetching, without joining the group."""
    output, cpu = _java(
        target, "kafka-consumer-perf-test", "--topic", topic, "--num-records", str(load.count),
        "--group", f"{topic}-{time.monotonic_ns()}", "--timeout", "60000", "--hide-header",
    )  # fmt: skip
    line = next(line for line in reversed(output.splitlines()) if line.count(",") >= 9)
    fields = [each.strip() for each in line.split(",")]
    consumed, fetch_ms = int(fields[4]), float(fields[7])
    assert consumed >= load.count, output
    return Run(consumed * load.size / 1e3 / fetch_ms, cpu / load.megabytes * 1e3)


def c_produce(target: Target, topic: str, load: Load) -> Run:
    """confluent-kafka's producer."""
    return _c(target, topic, "produce", load)


def c_consume(target: Target, topic: str, load: Load) -> Run:
    """confluent-kafka's consumer, assigned to all partitions."""
    return _c(target, topic, "consume", load)


def _c(target: Target, topic: str, do: str, load: Load) -> Run:
    cpu = target.cpu_seconds()
    found = client(
        do=do, port=target.port, topic=topic, count=load.count, size=load.size, compression=load.compression,
        partitions=load.partitions,
    )  # fmt: skip
    cpu = target.cpu_seconds() - cpu
    return Run(load.megabytes / found["seconds"], cpu / load.megabytes * 1e3)


def client(**wanted: Any) -> dict[str, float]:
    """One load of bench/kafka_client.py."""
    command = [sys.executable, "-m", "bench.kafka_client", json.dumps(wanted)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def _java(target: Target, name: str, *arguments: str) -> tuple[str, float]:
    cpu = target.cpu_seconds()
    command = java(TOOLS[name], "--bootstrap-server", f"127.0.0.1:{target.port}", *arguments, heap=HEAP)
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, target.cpu_seconds() - cpu
