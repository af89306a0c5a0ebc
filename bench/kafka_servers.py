"""OneMQ and Apache Kafka on the same disk, for the same load."""

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bench.memory import touch_memory
from bench.processors import process_seconds
from tests.apache_kafka import ApacheKafka
from tests.kafka_raw import call
from tests.process import Serve

ASYNC = str((1 << 63) - 1)
FLUSH = {"async": ASYNC, "sync": "1"}
"""OneMQ's topics by `flush.messages`; Kafka's have its defaults, which is to leave syncing to the system."""
KAFKA_HEAP = "-Xmx1g"
"""As Kafka's own start script has it."""


@dataclass(frozen=True, slots=True)
class Target:
    """A server under load."""

    name: str
    port: int
    pid: int
    folder: Path

    def cpu_seconds(self) -> float:
        """Processor time that it has used."""
        return process_seconds(self.pid)

    def memory_mb(self) -> float:
        """Resident memory."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1000
        raise AssertionError(f"{self.name} has ended")

    def stored_mb(self) -> float:
        """What its folder holds."""
        return sum(each.stat().st_size for each in self.folder.rglob("*") if each.is_file()) / 1e6

    def create(self, topic: str, partitions: int, mode: str = "async", **settings: str) -> None:
        """Makes a topic."""
        wanted = {name.replace("_", "."): value for name, value in settings.items()}
        if self.name == "OneMQ":
            wanted["flush.messages"] = FLUSH[mode]
        self.create_all([topic], partitions, wanted)

    def create_all(self, topics: list[str], partitions: int, settings: dict[str, str]) -> None:
        configs = [{"name": name, "value": value} for name, value in settings.items()]
        wanted = {"num_partitions": partitions, "replication_factor": 1, "assignments": [], "configs": configs}
        reply = call(
            self.port, "CreateTopics", 7, timeout_ms=30_000, validate_only=False,
            topics=[{"name": topic, **wanted} for topic in topics],
        )  # fmt: skip
        assert not any(each["error_code"] for each in reply["topics"]), reply

    def delete(self, topic: str) -> None:
        """Removes a topic, so that the disk is not filled."""
        call(self.port, "DeleteTopics", 4, topic_names=[topic], timeout_ms=30_000)

    def touch_memory(self, megabytes: float) -> None:
        """To be called before a run that needs so much."""
        touch_memory(self.folder.parent, megabytes)

    def wait_for_metadata(self) -> None:
        """Returns when it tells of itself: it serves."""
        while True:
            try:
                if call(self.port, "Metadata", 12, topics=[], allow_auto_topic_creation=False)["brokers"]:
                    return
            except (OSError, AssertionError):
                time.sleep(0.01)


class Servers(NamedTuple):
    """Both, ready."""

    ours: Target
    theirs: Target


@contextmanager
def onemq(parent: str | None) -> Iterator[Target]:
    """OneMQ with an empty folder, which is removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="onemq-bench-", dir=parent))
    config = folder / "onemq.toml"
    config.write_text('[server]\nlog_level = "warning"\n')
    try:
        with Serve(folder / "data", "--config", str(config), kafka=True) as broker:
            target = Target("OneMQ", broker.kafka_port, broker.pid, folder / "data")
            target.wait_for_metadata()
            yield target
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def apache_kafka(parent: str | None) -> Iterator[Target]:
    """Apache Kafka with its defaults and an empty folder."""
    with ApacheKafka(parent=parent, heap=KAFKA_HEAP) as server:
        target = Target("Kafka", server.port, server.pid, server.folder / "data")
        target.wait_for_metadata()
        yield target


@contextmanager
def servers(parent: str | None) -> Iterator[Servers]:
    """Both at a time; the one that is not loaded rests."""
    with onemq(parent) as ours, apache_kafka(parent) as theirs:
        yield Servers(ours, theirs)
