"""The Java client: a producer, a group, transactions from reading to writing, and a share consumer."""

import subprocess
from pathlib import Path

import pytest

from tests.apache_kafka import can_compile, java, missing
from tests.process import Serve

PROGRAM = Path(__file__).parent / "java" / "RoundTrip.java"

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
    pytest.mark.skipif(not can_compile(), reason="Java here cannot run a source: there is no javac"),
    pytest.mark.xdist_group("apache-kafka"),
]


def test_a_java_program(kafka: Serve, bootstrap: str, topic: str) -> None:
    done = subprocess.run(
        java(str(PROGRAM), bootstrap, topic, f"{topic}-group"), capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == [
        "partitions 3",
        "copied 100",
        "committed 100",
        "values 100 of 100",
        "accepted 95 rejected 5 released 5 again 5",
    ], done.stdout + done.stderr
    dead = kafka.command(f"MQ.DEAD LIST {topic} GROUP {topic}-group-share")
    assert b"value-" in dead, dead
