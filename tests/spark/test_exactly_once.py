"""Kills: a driver at the worst moments, tasks, an executor. In the end each row is there once and in order per key."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from onemq.log.batch import walk
from onemq.log.records import decode

FILES, ROWS, KEYS = 5, 200, 11
RUN_SECONDS_MAX = 600
KILLS = int(os.environ.get("ONEMQ_SPARK_KILLS", "1"))
"""How often the driver is killed at a random time."""


class Copy:
    """A folder of rows, and the program that copies them to a topic."""

    def __init__(self, folder: Path, servers: str, topic: str, master: str, die: str = "") -> None:
        self.topic, self.marks = topic, folder / "marks"
        self.marks.mkdir()
        source = folder / "source"
        source.mkdir()
        for number in range(FILES):
            file = source / f"{number}.json"
            rows = range(number * ROWS, (number + 1) * ROWS)
            file.write_text("".join(json.dumps({"key": f"k{row % KEYS}", "value": str(row)}) + "\n" for row in rows))
            os.utime(file, (1_000_000_000 + number, 1_000_000_000 + number))
        options = {
            "master": master, "servers": servers, "source": source, "topic": topic, "marks": self.marks, "die": die,
            "checkpoint": folder / "checkpoint",
        }  # fmt: skip
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        self._command = [sys.executable, "-m", "tests.spark.copier", *words]
        self._log = folder / "log"
        self.checkpoint = folder / "checkpoint"

    def start(self) -> "subprocess.Popen[bytes]":
        with self._log.open("ab") as log:
            return subprocess.Popen(self._command, stdout=log, stderr=log, start_new_session=True)

    def run(self) -> int:
        """One run to its end; nothing of it is left."""
        process = self.start()
        try:
            return process.wait(RUN_SECONDS_MAX)
        finally:
            self.end(process)

    def run_and_kill(self) -> None:
        """One run that is killed at a random time after it has got further."""
        before, process = self.batches(), self.start()
        try:
            while self.batches() == before and process.poll() is None:
                time.sleep(0.01)
            time.sleep(random.uniform(0, 1))
        finally:
            self.end(process)

    def batches(self) -> int:
        """How many batches the query has planned."""
        return len(list(self.checkpoint.glob("offsets/[0-9]*")))

    def end(self, process: "subprocess.Popen[bytes]") -> None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def log(self) -> str:
        return self._log.read_text(errors="replace")[-4000:]


def stored(connection, topic):
    """(partition, key, value) of each message, in the order of the log."""
    rows = []
    for number in range(3):
        offset = 0
        while True:
            reply = connection.call("MQ.FETCH", topic, number, offset)
            if reply["next"] == offset:
                break
            data, offset = reply["batches"], reply["next"]
            for position, header in walk(data):
                rows += [(number, each[2].decode(), int(each[3])) for each in decode(data, position, header)]
    return rows


def check_once_and_in_order(connection, topic):
    rows = stored(connection, topic)
    assert sorted(number for _, _, number in rows) == list(range(FILES * ROWS))
    assert all(key == f"k{number % KEYS}" for _, key, number in rows)
    for key in {key for _, key, _ in rows}:
        mine = [(partition, number) for partition, k, number in rows if k == key]
        assert mine == sorted(mine)
        assert len({partition for partition, _ in mine}) == 1
    assert connection.call("MQ.TX", "LIST", "GROUP", "spark") == []


def test_a_driver_that_is_killed_again_and_again_writes_each_row_once(broker, connection, tmp_path):
    copy = Copy(tmp_path, f"127.0.0.1:{broker.port}", "copied", "local[2,4]", "committed:1")
    assert copy.run() == -signal.SIGKILL, copy.log()
    assert [each.name for each in copy.marks.iterdir()] == ["committed:1"]
    for _ in range(KILLS):
        copy.run_and_kill()
    assert copy.run() == 0, copy.log()
    check_once_and_in_order(connection, "copied")


def test_an_executor_that_is_killed_loses_and_doubles_nothing(broker, connection, cluster, tmp_path):
    copy = Copy(tmp_path, f"127.0.0.1:{broker.port}", "from-cluster", cluster.url)
    process = copy.start()
    try:
        while not list(copy.checkpoint.glob("commits/1")):
            assert process.poll() is None, copy.log()
            time.sleep(0.05)
        cluster.kill_executor()
        assert process.wait(RUN_SECONDS_MAX) == 0, copy.log()
    finally:
        copy.end(process)
    check_once_and_in_order(connection, "from-cluster")
