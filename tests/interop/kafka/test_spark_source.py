"""Spark's own Kafka source and sink against OneMQ: batch and stream."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.apache_kafka import missing, spark_jars
from tests.process import Serve

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
    pytest.mark.xdist_group("apache-kafka"),
]
COPIES = 2000


def test_spark_reads_and_writes_batches_and_streams(tmp_path: Path) -> None:
    with Serve(tmp_path / "data", kafka=True) as broker:
        broker.wait_until_serving()
        address = f"127.0.0.1:{broker.kafka_port}"
        admin = AdminClient({"bootstrap.servers": address})
        for made in admin.create_topics([NewTopic(name, 3, 1) for name in ("rows", "copies")]).values():
            made.result(30)
        command = [sys.executable, "-m", "tests.interop.kafka.spark_program"]
        done = subprocess.run(
            [*command, address, spark_jars(), str(tmp_path / "checkpoint")], capture_output=True, text=True,
            timeout=500, check=False, env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "TZ": "UTC"},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
        assert len(set(_consumed(address, COPIES))) == COPIES


def _consumed(address: str, count: int) -> list[bytes]:
    """What a consumer of Kafka gets of what Spark wrote."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": "after", "auto.offset.reset": "earliest"})
    consumer.subscribe(["copies"])
    found: list[bytes] = []
    while len(found) < count:
        messages = consumer.consume(1000, timeout=30)
        assert messages
        found += [message.value() or b"" for message in messages]
    consumer.close()
    return found
