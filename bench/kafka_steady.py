"""Ten minutes at the full rate with retention: nothing may grow, and nothing may become slower."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from statistics import mean

from bench.kafka_servers import Target
from bench.report import Result
from tests.kafka_raw import call

PARTITIONS = 12
SIZE = 1024
RETENTION_BYTES = 64 << 20
SEGMENT_BYTES = 16 << 20
LOOKS = 20
"""How often it is looked at; the first and the last quarter are compared."""


def steady(target: Target, seconds: float) -> Iterator[Result]:
    """confluent-kafka sends as quickly as it can."""
    target.create("steady", PARTITIONS, retention_bytes=str(RETENTION_BYTES), segment_bytes=str(SEGMENT_BYTES))
    wanted = {
        "do": "produce", "port": target.port, "topic": "steady", "count": 1 << 60, "size": SIZE, "compression": "none",
        "partitions": PARTITIONS,
    }  # fmt: skip
    load = subprocess.Popen([sys.executable, "-m", "bench.kafka_client", json.dumps(wanted)])
    rates, memory, stored = [], [], []
    try:
        for _ in range(LOOKS):
            before, start = _end(target), time.perf_counter()
            time.sleep(seconds / LOOKS)
            assert load.poll() is None, "the producer has ended"
            rates.append((_end(target) - before) * SIZE / 1e6 / (time.perf_counter() - start))
            memory.append(target.memory_mb())
            stored.append(target.stored_mb())
            print(f"{rates[-1]:.1f} MB/s, {memory[-1]:.0f} MB, {stored[-1]:.0f} MB stored", file=sys.stderr, flush=True)
    finally:
        load.kill()
        load.wait()
    quarter = LOOKS // 4
    name = f"Kafka: {seconds / 60:g} minutes at the full rate: "
    rate = mean(rates[-quarter:]) / mean(rates[:quarter])
    growth = mean(memory[-quarter:]) / mean(memory[quarter : 2 * quarter])
    yield Result(name + "rate of the last quarter", rate, "of the first", 0.9)
    yield Result(name + "memory in the last quarter", growth, "of the second", 1.1, False)
    yield Result(name + "stored", max(stored[quarter:]), "MB", 3 * PARTITIONS * RETENTION_BYTES / 1e6, False)


def _end(target: Target) -> int:
    """How many messages were ever stored."""
    asked = [{"partition_index": number, "timestamp": -1} for number in range(PARTITIONS)]
    topics = [{"name": "steady", "partitions": asked}]
    reply = call(target.port, "ListOffsets", 4, replica_id=-1, isolation_level=0, topics=topics)
    return sum(int(each["offset"]) for each in reply["topics"][0]["partitions"])
