"""Transactions of the Java client, and what its tools show of them."""

import subprocess
from pathlib import Path

import pytest

from tests.apache_kafka import can_compile, java, missing, tool
from tests.interop.kafka.test_transactions import SECONDS, producer
from tests.process import Serve

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
    pytest.mark.xdist_group("apache-kafka"),
]
SOURCE = Path(__file__).with_name("Transacting.java")


@pytest.mark.skipif(not can_compile(), reason="there is no compiler for Java here")
def test_the_java_client_commits_aborts_copies_and_is_fenced_off(bootstrap: str, topic: str) -> None:
    command = java(str(SOURCE), bootstrap, topic)
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == [
        *(f"{value} has no offset yet" for value in ("a", "b", "never", "c")),
        "read_committed 0:a 1:b 2:c",
        "read_uncommitted 0:a 1:b 2:c",
        "committed 3 copied",
        "read_committed 0:a 1:b 2:c",
        "ProducerFencedException",
        "read_committed 0:a 1:b 2:c 3:heir",
    ]


def test_kafka_transactions_shows_them(kafka: Serve, bootstrap: str, topic: str) -> None:
    sender = producer(bootstrap, topic)
    sender.begin_transaction()
    sender.produce(topic, b"x")
    sender.flush(SECONDS)
    listed = tool("kafka-transactions", kafka.kafka_port, "list").stdout
    (row,) = [line.split() for line in listed.splitlines() if line.startswith(topic)]
    assert row[-1] == "Ongoing"
    described = tool("kafka-transactions", kafka.kafka_port, "describe", "--transactional-id", topic).stdout
    assert f"{topic}-0" in described
    place = ("--topic", topic, "--partition", "0")
    producers = tool("kafka-transactions", kafka.kafka_port, "describe-producers", *place).stdout
    assert row[2] in producers.split() or row[1] in producers.split()
    sender.commit_transaction(SECONDS)
    found = tool("kafka-transactions", kafka.kafka_port, "find-hanging", "--broker-id", "1")
    assert found.returncode == 0, found.stdout + found.stderr


def test_the_perf_test_of_producers_sends_in_transactions(kafka: Serve, bootstrap: str, topic: str) -> None:
    options = ("--topic", topic, "--num-records", "20000", "--record-size", "100", "--throughput", "-1")
    name = ("--transactional-id", topic, "--transaction-duration-ms", "100")
    command = java("org.apache.kafka.tools.ProducerPerformance", *options, *name,
                   "--producer-props", f"bootstrap.servers={bootstrap}")  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "20000 records sent" in done.stdout
    assert kafka.command(f"XLEN {topic}") == b":20000\r\n"
