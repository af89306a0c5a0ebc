"""A real standalone cluster for tests: a master and workers, each a Java process started by spark-class."""

import json
import os
import signal
import subprocess
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import pyspark

from tests.process import free_port

START_SECONDS_MAX = 90
_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class Cluster:
    """A master and two workers of one core and 1 GB each, on free ports of 127.0.0.1."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self.folder = folder
        self.port, self.web_port = free_port(), free_port()
        self.url = f"spark://127.0.0.1:{self.port}"
        self._workers = workers
        self._files: list[IO[bytes]] = []
        self._processes: list[subprocess.Popen[bytes]] = []
        self._start("master", "org.apache.spark.deploy.master.Master",
                    "--port", str(self.port), "--webui-port", str(self.web_port))  # fmt: skip

    def wait_until_ready(self) -> None:
        """Returns when all workers are registered; they are started when the master is there."""
        self._wait(lambda state: True)
        for number in range(self._workers):
            self._start(f"worker-{number}", "org.apache.spark.deploy.worker.Worker", self.url, "--cores", "1",
                        "--memory", "1g", "--work-dir", str(self.folder / f"work-{number}"))  # fmt: skip
        self._wait(lambda state: state["aliveworkers"] == self._workers)

    def state(self) -> dict[str, Any]:
        """What the master tells of itself."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.web_port}/json/", timeout=10) as answer:
            state: dict[str, Any] = json.load(answer)
            return state

    def executors(self) -> list[int]:
        """The process numbers of the executors that run now: the children of the workers (Linux)."""
        return children({each.pid for each in self._processes[1:]})

    def kill_executor(self) -> int:
        """SIGKILL to one executor, when there is one; its number."""
        give_up = time.monotonic() + START_SECONDS_MAX
        while not (running := self.executors()):
            assert time.monotonic() < give_up, "no executor runs"
            time.sleep(0.05)
        os.kill(running[0], signal.SIGKILL)
        return running[0]

    def _start(self, name: str, *command: str) -> None:
        log = (self.folder / f"{name}.log").open("wb")
        environment = os.environ | {
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": _JAVA_OPTIONS,
            "SPARK_NO_DAEMONIZE": "1",
        }
        spark_class = Path(pyspark.__file__).parent / "bin" / "spark-class"
        self._files.append(log)
        self._processes.append(
            subprocess.Popen(
                [str(spark_class), *command, "--host", "127.0.0.1"], stdout=log, stderr=log, env=environment,
                start_new_session=True,
            )
        )  # fmt: skip

    def _wait(self, is_ready: Any) -> None:
        give_up = time.monotonic() + START_SECONDS_MAX
        while True:
            try:
                if is_ready(self.state()):
                    return
            except (OSError, ValueError):
                pass
            assert all(each.poll() is None for each in self._processes), self._logs()
            assert time.monotonic() < give_up, self._logs()
            time.sleep(0.1)

    def _logs(self) -> str:
        return "\n".join(each.read_text(errors="replace")[-2000:] for each in sorted(self.folder.glob("*.log")))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in reversed(self._processes):  # workers first: they end their executors
            each.terminate()
        for each in self._processes:
            try:
                each.wait(20)
            except subprocess.TimeoutExpired:
                each.kill()
                each.wait()
        for log in self._files:
            log.close()


def children(parents: set[int]) -> list[int]:
    """The processes that these have started (Linux)."""
    return [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit() and _parent(each) in parents]


def _parent(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0
