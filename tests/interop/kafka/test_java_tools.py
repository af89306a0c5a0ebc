"""Kafka's own command-line tools, which are the Java client, against OneMQ."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.apache_kafka import TOOLS, java, missing, tool
from tests.process import Serve

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
    pytest.mark.xdist_group("apache-kafka"),
]


def run(kafka: Serve, name: str, *arguments: str, typed: str | None = None) -> str:
    """What a tool printed; it ended well."""
    done = tool(name, kafka.kafka_port, *arguments, typed=typed)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_kafka_topics(kafka: Serve, topic: str) -> None:
    options = ("--partitions", "3", "--config", "retention.ms=60000")
    assert f"Created topic {topic}." in run(kafka, "kafka-topics", "--create", "--topic", topic, *options)
    again = tool("kafka-topics", kafka.kafka_port, "--create", "--topic", topic)
    assert f"Topic '{topic}' already exists." in again.stdout
    run(kafka, "kafka-topics", "--alter", "--topic", topic, "--partitions", "4")
    described = run(kafka, "kafka-topics", "--describe", "--topic", topic)
    assert re.search("PartitionCount: 4\tReplicationFactor: 1\tConfigs: retention.ms=60000", described)
    assert described.count("Leader: 1\tReplicas: 1\tIsr: 1") == 4
    assert topic in run(kafka, "kafka-topics", "--list").splitlines()
    run(kafka, "kafka-topics", "--delete", "--topic", topic)
    assert topic not in run(kafka, "kafka-topics", "--list").splitlines()


def test_kafka_configs(kafka: Serve, topic: str) -> None:
    run(kafka, "kafka-topics", "--create", "--topic", topic, "--config", "segment.bytes=2000000")
    added = "cleanup.policy=[compact,delete],onemq.expires.ms=5000"
    change = ("--add-config", added, "--delete-config", "segment.bytes")
    run(kafka, "kafka-configs", "--alter", "--topic", topic, *change)
    told = run(kafka, "kafka-configs", "--describe", "--topic", topic)
    assert "cleanup.policy=compact,delete" in told
    assert "onemq.expires.ms=5000" in told
    assert "segment.bytes" not in told
    assert "log.dirs=" in run(kafka, "kafka-configs", "--describe", "--broker", "1", "--all")


def test_console_producer_and_consumer(kafka: Serve, topic: str) -> None:
    run(kafka, "kafka-topics", "--create", "--topic", topic)
    lines = "".join(f"{number}:line {number}\n" for number in range(100))
    properties = ("--reader-property", "parse.key=true", "--reader-property", "key.separator=:")
    run(kafka, "kafka-console-producer", "--topic", topic, *properties, "--compression-codec", "zstd", typed=lines)
    shown = run(
        kafka, "kafka-console-consumer", "--topic", topic, "--from-beginning", "--max-messages", "100",
        "--group", f"{topic}-group", "--formatter-property", "print.key=true",
        "--formatter-property", "key.separator=:",
    )  # fmt: skip
    assert sorted(shown.splitlines()) == sorted(lines.splitlines())
    groups = run(kafka, "kafka-consumer-groups", "--describe", "--group", f"{topic}-group")
    assert re.search(rf"{topic}-group\s+{topic}\s+0\s+100\s+100\s+0", groups), groups
    run(
        kafka, "kafka-consumer-groups", "--group", f"{topic}-group", "--topic", topic, "--reset-offsets",
        "--to-offset", "40", "--execute",
    )  # fmt: skip
    groups = run(kafka, "kafka-consumer-groups", "--describe", "--group", f"{topic}-group")
    assert re.search(rf"{topic}\s+0\s+40\s+100\s+60", groups), groups
    assert f"{topic}-group" in run(kafka, "kafka-consumer-groups", "--list")
    assert f"{topic}-group" in run(kafka, "kafka-groups", "--list")
    run(kafka, "kafka-consumer-groups", "--delete", "--group", f"{topic}-group")
    assert f"{topic}-group" not in run(kafka, "kafka-consumer-groups", "--list")
    assert run(kafka, "kafka-get-offsets", "--topic", topic).strip() == f"{topic}:0:100"


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_both_group_protocols(kafka: Serve, topic: str, protocol: str) -> None:
    """The old one, in which clients divide the partitions, and that of KIP-848, in which the broker does."""
    run(kafka, "kafka-topics", "--create", "--topic", topic, "--partitions", "3")
    run(kafka, "kafka-console-producer", "--topic", topic, typed="".join(f"{number}\n" for number in range(50)))
    shown = run(
        kafka, "kafka-console-consumer", "--topic", topic, "--group", f"{topic}-group", "--from-beginning",
        "--max-messages", "50", "--command-property", f"group.protocol={protocol}",
    )  # fmt: skip
    assert sorted(map(int, shown.split())) == list(range(50))


def test_perf_tests(kafka: Serve, topic: str) -> None:
    run(kafka, "kafka-topics", "--create", "--topic", topic, "--partitions", "3", "--config", "flush.messages=10000")
    produced = run(
        kafka, "kafka-producer-perf-test", "--topic", topic, "--num-records", "50000", "--record-size", "100",
        "--throughput", "-1", "--command-property", "compression.type=lz4",
    )  # fmt: skip
    assert "50000 records sent" in produced
    consumed = run(
        kafka, "kafka-consumer-perf-test", "--topic", topic, "--num-records", "50000", "--timeout", "20000",
        "--hide-header",
    )  # fmt: skip
    assert int(consumed.split(",")[4]) >= 50_000


def test_transactions(kafka: Serve, topic: str) -> None:
    """The perf test sends in transactions; a consumer that reads what is committed gets all of it."""
    run(kafka, "kafka-topics", "--create", "--topic", topic)
    run(
        kafka, "kafka-producer-perf-test", "--topic", topic, "--num-records", "5000", "--record-size", "100",
        "--throughput", "-1", "--transactional-id", f"{topic}-tx", "--transaction-duration-ms", "50",
    )  # fmt: skip
    shown = run(
        kafka, "kafka-console-consumer", "--topic", topic, "--from-beginning", "--max-messages", "5000",
        "--isolation-level", "read_committed",
    )  # fmt: skip
    assert len(shown.splitlines()) == 5000
    listed = subprocess.run(
        java(TOOLS["kafka-transactions"], "--bootstrap-server", f"127.0.0.1:{kafka.kafka_port}", "list"),
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert f"{topic}-tx" in listed.stdout, listed.stdout + listed.stderr


def test_share_consumer(kafka: Serve, topic: str) -> None:
    """A queue: every message goes to one of the group, and is acknowledged by itself."""
    group = f"{topic}-group"
    run(kafka, "kafka-topics", "--create", "--topic", topic)
    run(kafka, "kafka-configs", "--alter", "--group", group, "--add-config", "share.auto.offset.reset=earliest")
    run(kafka, "kafka-console-producer", "--topic", topic, typed="".join(f"{number}\n" for number in range(50)))
    shown = run(kafka, "kafka-console-share-consumer", "--topic", topic, "--group", group, "--max-messages", "50")
    assert sorted(map(int, shown.split())) == list(range(50))
    assert group in run(kafka, "kafka-share-groups", "--list")
    told = run(kafka, "kafka-share-groups", "--describe", "--group", group)
    assert topic in told


def test_records_are_deleted(kafka: Serve, topic: str, tmp_path: Path) -> None:
    run(kafka, "kafka-topics", "--create", "--topic", topic)
    run(kafka, "kafka-console-producer", "--topic", topic, typed="a\nb\nc\n")
    wanted = tmp_path / "offsets.json"
    wanted.write_text(f'{{"partitions": [{{"topic": "{topic}", "partition": 0, "offset": 2}}], "version": 1}}')
    assert "low_watermark: 2" in run(kafka, "kafka-delete-records", "--offset-json-file", str(wanted))
    assert run(kafka, "kafka-get-offsets", "--topic", topic, "--time", "earliest").strip() == f"{topic}:0:2"


def test_sizes_and_versions(kafka: Serve) -> None:
    assert '"logDirs"' in run(kafka, "kafka-log-dirs", "--describe")
    versions = run(kafka, "kafka-broker-api-versions")
    assert "Produce(0): 0 to" in versions
