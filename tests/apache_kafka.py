"""Apache Kafka and its Java tools for tests and measurements, from the folder that scripts/kafka fills."""

import hashlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.process import free_port

LOCK = Path(__file__).parent.parent / "scripts" / "kafka.lock"
START_SECONDS_MAX = 90
TOOL_SECONDS_MAX = 120
SMALL = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
"""For tools that run for seconds."""
CLUSTER_ID = "b25lbXEtdGVzdC1rYWZrYQ"

TOOLS = {
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-console-share-consumer": "org.apache.kafka.tools.consumer.ConsoleShareConsumer",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-share-groups": "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
    "kafka-groups": "org.apache.kafka.tools.GroupsCommand",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-acls": "org.apache.kafka.tools.AclCommand",
    "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-cluster": "org.apache.kafka.tools.ClusterTool",
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-producer-perf-test": "org.apache.kafka.tools.ProducerPerformance",
    "kafka-consumer-perf-test": "org.apache.kafka.tools.ConsumerPerformance",
    "kafka-share-consumer-perf-test": "org.apache.kafka.tools.ShareConsumerPerformance",
    "kafka-e2e-latency": "org.apache.kafka.tools.EndToEndLatency",
}


def folder() -> Path:
    """Where scripts/kafka puts what it fetches."""
    version = next(line.split()[1] for line in LOCK.read_text().splitlines() if line.startswith("version "))
    cache = os.environ.get("ONEMQ_CACHE")
    return (Path(cache) if cache else Path.home() / ".cache" / "onemq") / f"kafka-{version}"


def missing() -> str | None:
    """Why there is no Apache Kafka here; None if there is."""
    ready = folder() / "ready"
    if not ready.exists() or ready.read_text() != hashlib.sha256(LOCK.read_bytes()).hexdigest():
        return "Apache Kafka is not here: run scripts/kafka, which needs Maven Central"
    if _program("java") is None:
        return "there is no Java: set JAVA_HOME"
    return None


def _program(name: str) -> str | None:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(name, path=f"{home}/bin") if home else None
    return found or shutil.which(name)


def java(*arguments: str, heap: tuple[str, ...] = SMALL) -> list[str]:
    """The command that runs Java with Kafka's classes."""
    program = _program("java")
    assert program is not None, missing()
    return [program, *heap, "-cp", f"{folder()}/server/*", *arguments]


def tool(
    name: str, port: int, *arguments: str, typed: str | None = None, timeout: float = TOOL_SECONDS_MAX
) -> subprocess.CompletedProcess[str]:
    """One of Kafka's command-line tools against a port, to its end; `typed` is its standard input."""
    command = java(TOOLS[name], "--bootstrap-server", f"127.0.0.1:{port}", *arguments)
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, input=typed or "", check=False)


def spark_jars() -> str:
    """What Spark needs for `format("kafka")`, as its setting `spark.jars` takes it."""
    return ",".join(str(each) for each in sorted((folder() / "spark").glob("*.jar")))


def can_compile() -> bool:
    """Whether Java here can run a program from its source."""
    return _program("javac") is not None


class ApacheKafka:
    """A real Kafka: KRaft, one node, its defaults, free ports, a folder that goes with it."""

    def __init__(self, *settings: str, parent: str | None = None, heap: str = "-Xmx512m") -> None:
        """`settings` are further lines of server.properties; `heap` is for Java."""
        self.port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="onemq-kafka-", dir=parent))
        self._heap = heap
        self._process: subprocess.Popen[bytes] | None = None
        properties = [*_properties(self.port, free_port(), self.folder / "data"), *settings]
        self._properties = self.folder / "server.properties"
        self._properties.write_text("\n".join(properties) + "\n")
        self._run_to_end("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(self._properties))
        self.start()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Starts the process; it serves when `wait_until_serving` returns."""
        with (self.folder / "log").open("ab") as log:
            command = java("kafka.Kafka", str(self._properties), heap=(self._heap,))
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)

    def wait_until_serving(self) -> None:
        """Returns when it answers."""
        assert self._process is not None
        give_up = time.monotonic() + START_SECONDS_MAX
        while True:
            if self._process.poll() is not None or time.monotonic() > give_up:
                raise AssertionError(f"Apache Kafka did not start: {(self.folder / 'log').read_text()[-2000:]}")
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=5):
                    return
            except OSError:
                time.sleep(0.05)

    def stop(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _run_to_end(self, *arguments: str) -> None:
        done = subprocess.run(java(*arguments), capture_output=True, text=True, timeout=TOOL_SECONDS_MAX, check=False)
        assert done.returncode == 0, done.stderr

    def __enter__(self) -> Self:
        self.wait_until_serving()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def _properties(port: int, controller_port: int, data: Path) -> list[str]:
    """What one node on its own needs; everything else as Kafka sets it."""
    return [
        "process.roles=broker,controller",
        "node.id=1",
        f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
        "controller.listener.names=CONTROLLER",
        f"controller.quorum.voters=1@127.0.0.1:{controller_port}",
        f"log.dirs={data}",
        *(f"{each}.replication.factor=1" for each in ("offsets.topic", "transaction.state.log")),
        "share.coordinator.state.topic.replication.factor=1",
        "transaction.state.log.min.isr=1",
        "share.coordinator.state.topic.min.isr=1",
        "offsets.topic.num.partitions=4",
        "transaction.state.log.num.partitions=4",
        "share.coordinator.state.topic.num.partitions=4",
        "group.initial.rebalance.delay.ms=0",
    ]
