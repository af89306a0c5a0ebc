"""A stream on a real cluster keeps each message once, whatever is killed while it runs."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from pyspark.sql import SparkSession

from pyspark_onemq.connection import Connection
from tests.process import Serve
from tests.spark.archiver import OFFSETS_PER_BATCH
from tests.spark.cluster import Cluster, children
from tests.spark.source import send

MESSAGES = 7 * OFFSETS_PER_BATCH
WAIT_SECONDS_MAX = 300


class Archiver:
    """The driver in a process of its own."""

    def __init__(self, cluster: Cluster, port: int, folder: Path, log: IO[str]) -> None:
        words = [cluster.url, f"127.0.0.1:{port}", "orders", str(folder)]
        command = [sys.executable, "-m", "tests.spark.archiver", *words]
        self._commits = folder / "checkpoint" / "commits"
        self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=Path(__file__).parents[2])

    def wait_for_batch(self, number: int) -> None:
        """Returns when a micro-batch is committed, or a later one."""
        give_up = time.monotonic() + WAIT_SECONDS_MAX
        while not any(int(each.name) >= number for each in self._commits.glob("[0-9]*")):
            assert self._process.poll() is None, "the driver has ended"
            assert time.monotonic() < give_up, "the driver comes to no end"
            time.sleep(0.02)

    def kill(self) -> None:
        """SIGKILL to Python and Java, if they run."""
        if self._process.poll() is not None:
            return
        for each in [self._process.pid, *children({self._process.pid})]:
            os.kill(each, signal.SIGKILL)
        self._process.wait()

    def wait(self) -> int:
        return self._process.wait(WAIT_SECONDS_MAX)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()


def test_a_stream_outlives_its_executor_its_broker_and_its_driver(
    spark: SparkSession, cluster: Cluster, tmp_path: Path
) -> None:
    with Serve(tmp_path / "data") as broker, (tmp_path / "driver.log").open("w") as log:
        broker.wait_until_serving()
        fill(broker)
        with Archiver(cluster, broker.port, tmp_path, log) as driver:
            driver.wait_for_batch(0)
            cluster.kill_executor()
            driver.wait_for_batch(1)
            broker.kill()
            with Serve(tmp_path / "data", port=broker.port) as restarted:
                driver.wait_for_batch(3)
                driver.kill()
                with Archiver(cluster, broker.port, tmp_path, log) as second:
                    assert second.wait() == 0, (tmp_path / "driver.log").read_text()[-3000:]
                assert lag(restarted) == 0
    rows = spark.read.parquet(str(tmp_path / "rows")).collect()
    assert sorted((row["partition"], row["offset"], row["value"]) for row in rows) == [
        (number, place, str(2 * place + number)) for number in range(2) for place in range(MESSAGES // 2)
    ]


def fill(broker: Serve) -> None:
    with Connection(f"127.0.0.1:{broker.port}") as connection:
        connection.call("MQ.TOPIC", "CREATE", "orders", "PARTITIONS", 2)
        for number in range(2):
            send(connection, "orders", range(number, MESSAGES, 2), "PARTITION", number)


def lag(broker: Serve) -> int:
    with Connection(f"127.0.0.1:{broker.port}") as connection:
        return int(connection.call("MQ.GROUP", "INFO", "orders", "archiver")["lag"])
